/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* coding_check: a command that the project declared. A model chooses which, and nothing else. */
#include "prism-tool-table-private.h"

#include <string.h>

#define MOST_SUMMARY 4096

static const PrismToolCheck *
find_check (PrismToolRun *run, const char *name, GError **error)
{
  g_autoptr (GString) names = g_string_new (NULL);
  g_autofree char *shown = NULL;

  for (guint i = 0; i < run->settings->checks->len; i++)
    {
      const PrismToolCheck *check = run->settings->checks->pdata[i];
      if (g_str_equal (check->name, name))
        return check;
      g_string_append_printf (names, "%s%s", i > 0 ? ", " : "", check->name);
    }
  shown = prism_visible_text (name, 64, NULL);
  prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "no check is called “%s”; send one of: %s", shown, names->str);
  return NULL;
}

static gboolean
begin (PrismToolRun *run, GError **error)
{
  PrismToolSettings *settings = run->settings;
  gboolean may;

  g_mutex_lock (&settings->lock);
  may = settings->checks_running < (guint)prism_tool_limit (run, PRISM_TOOL_LIMIT_CHECKS_AT_ONCE);
  settings->checks_running += may;
  g_mutex_unlock (&settings->lock);
  return may || prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "a check is running already; wait for its end");
}

static void
end (PrismToolRun *run)
{
  g_mutex_lock (&run->settings->lock);
  run->settings->checks_running--;
  g_mutex_unlock (&run->settings->lock);
}

/* Its last lines, and as much of them as may be. */
static char *
tail_of (PrismToolRun *run, PrismResult *result, gsize most)
{
  g_autofree char *out = prism_result_dup_stdout_text (result);
  g_autofree char *err = prism_result_dup_stderr_text (result);
  g_autofree char *all =
      g_strconcat (out, *err != '\0' && *out != '\0' && !g_str_has_suffix (out, "\n") ? "\n" : "", err, NULL);
  gint64 most_lines = prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_LINES), lines = 0;
  gsize length = strlen (all), at = length;

  while (at > 0 && length - at < most)
    {
      if (at < length && all[at - 1] == '\n' && ++lines == most_lines)
        break;
      at--;
    }
  return g_utf8_make_valid (all + at, -1);
}

static gint64
timeout_of (PrismToolRun *run, const PrismToolCheck *check)
{
  return check->timeout_ms > 0 ? check->timeout_ms : prism_tool_limit (run, PRISM_TOOL_LIMIT_CHECK_TIMEOUT_S) * 1000;
}

static gboolean
may_run (PrismToolRun *run, const PrismToolCheck *check, GError **error)
{
  const PrismToolAsk ask = { .kind = "check",
                             .operation = check->name,
                             .risk = PRISM_RISK_MEDIUM,
                             .effect = PRISM_EFFECT_EXTERNAL_MUTATION,
                             .argv = (const char *const *)check->argv };

  return prism_tool_authorize (run, &ask, error);
}

static PrismResult *
run_it (PrismToolRun *run, const PrismToolCheck *check, GError **error)
{
  g_autoptr (PrismCommand) command = prism_command_new ((const char *const *)check->argv);
  GError *fault = NULL;
  PrismResult *result;

  if (!begin (run, error))
    return NULL;
  prism_command_set_timeout_ms (command, timeout_of (run, check));
  prism_command_set_max_output_bytes (command, prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_TOTAL_BYTES));
  result = prism_tree_exec (run->settings->place, command, run->cancellable, &fault);
  end (run);
  if (result == NULL)
    prism_tool_take_fault (error, fault);
  return result;
}

static void
add_end (PrismToolRun *run, const PrismToolCheck *check, PrismResult *result)
{
  prism_tool_add_string (run, "name", check->name);
  json_builder_set_member_name (run->metadata, "exitCode");
  if (prism_result_get_outcome (result) == PRISM_OUTCOME_EXITED)
    json_builder_add_int_value (run->metadata, prism_result_get_exit_code (result));
  else
    json_builder_add_null_value (run->metadata);
  prism_tool_add_boolean (run, "timedOut", prism_result_get_timed_out (result));
}

/* --- of its own ----------------------------------------------------------------------------------- */

static gboolean
answer_check (PrismToolRun *run, const PrismToolCheck *check, PrismResult *result, GError **error)
{
  g_autofree char *summary = tail_of (run, result, (gsize)prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_BYTES));

  prism_tool_result_add_text (run->result, summary);
  add_end (run, check, result);
  switch (prism_result_get_outcome (result))
    {
    case PRISM_OUTCOME_EXITED:
      prism_tool_say (run, "[check %s: exit status %d]", check->name, prism_result_get_exit_code (result));
      return TRUE;
    case PRISM_OUTCOME_SIGNALLED:
      prism_tool_say (run, "[check %s: ended by signal %d]", check->name, prism_result_get_term_signal (result));
      return TRUE;
    case PRISM_OUTCOME_TIMED_OUT:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_TIMEOUT, "check %s: ended after %g s", check->name,
                              (double)timeout_of (run, check) / 1000);
    case PRISM_OUTCOME_CANCELLED:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_CANCELLED, "cancelled");
    default:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "check %s: ended for a limit", check->name);
    }
}

gboolean
prism_tool_run_check (PrismToolRun *run, GError **error)
{
  const PrismToolCheck *check = find_check (run, prism_tool_get_string (run, "name"), error);
  g_autoptr (PrismResult) result = check != NULL && may_run (run, check, error) ? run_it (run, check, error) : NULL;

  return result != NULL && answer_check (run, check, result, error);
}

/* --- for a hand-over ------------------------------------------------------------------------------- */

gboolean
prism_tool_checks_may_run (PrismToolRun *run, JsonArray *names, GError **error)
{
  for (guint i = 0; names != NULL && i < json_array_get_length (names); i++)
    if (find_check (run, json_array_get_string_element (names, i), error) == NULL)
      return FALSE;
  for (guint i = 0; names != NULL && i < json_array_get_length (names); i++)
    if (!may_run (run, find_check (run, json_array_get_string_element (names, i), NULL), error))
      return FALSE;
  return TRUE;
}

static gboolean
add_check (PrismToolRun *run, const PrismToolCheck *check, GError **error)
{
  g_autoptr (PrismResult) result = run_it (run, check, error);
  g_autofree char *summary = result != NULL ? tail_of (run, result, MOST_SUMMARY) : NULL;

  if (result == NULL)
    return FALSE;
  if (prism_result_get_outcome (result) == PRISM_OUTCOME_CANCELLED)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_CANCELLED, "cancelled");
  json_builder_begin_object (run->metadata);
  add_end (run, check, result);
  prism_tool_add_string (run, "summary", summary);
  json_builder_end_object (run->metadata);
  if (prism_result_get_outcome (result) == PRISM_OUTCOME_EXITED)
    prism_tool_say (run, "[check %s: exit status %d]", check->name, prism_result_get_exit_code (result));
  else
    prism_tool_say (run, "[check %s: did not end by itself]", check->name);
  return TRUE;
}

gboolean
prism_tool_add_checks (PrismToolRun *run, JsonArray *names, GError **error)
{
  gboolean well = TRUE;

  json_builder_set_member_name (run->metadata, "checks");
  json_builder_begin_array (run->metadata);
  for (guint i = 0; well && names != NULL && i < json_array_get_length (names); i++)
    well = add_check (run, find_check (run, json_array_get_string_element (names, i), NULL), error);
  json_builder_end_array (run->metadata);
  return well;
}
