/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* coding_check: a command that the project declared. A model chooses which, and nothing else. */
#include "prism-tool-table-private.h"

#include <string.h>

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
tail_of (PrismToolRun *run, PrismResult *result)
{
  g_autofree char *out = prism_result_dup_stdout_text (result);
  g_autofree char *err = prism_result_dup_stderr_text (result);
  g_autofree char *all =
      g_strconcat (out, *err != '\0' && *out != '\0' && !g_str_has_suffix (out, "\n") ? "\n" : "", err, NULL);
  gint64 most_lines = prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_LINES), lines = 0;
  gsize most = (gsize)prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_BYTES), length = strlen (all), at = length;

  while (at > 0 && length - at < most)
    {
      if (at < length && all[at - 1] == '\n' && ++lines == most_lines)
        break;
      at--;
    }
  return g_utf8_make_valid (all + at, -1);
}

static gboolean
run_it (PrismToolRun *run, const PrismToolCheck *check, GError **error)
{
  g_autoptr (PrismCommand) command = prism_command_new ((const char *const *)check->argv);
  gint64 timeout_ms =
      check->timeout_ms > 0 ? check->timeout_ms : prism_tool_limit (run, PRISM_TOOL_LIMIT_CHECK_TIMEOUT_S) * 1000;
  GError *fault = NULL;
  g_autoptr (PrismResult) result = NULL;
  g_autofree char *summary = NULL;

  prism_command_set_timeout_ms (command, timeout_ms);
  prism_command_set_max_output_bytes (command, prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_TOTAL_BYTES));
  result = prism_tree_exec (run->settings->place, command, run->cancellable, &fault);
  if (result == NULL)
    {
      prism_tool_take_fault (error, fault);
      return FALSE;
    }
  summary = tail_of (run, result);
  prism_tool_result_add_text (run->result, summary);
  prism_tool_add_string (run, "name", check->name);
  json_builder_set_member_name (run->metadata, "exitCode");
  if (prism_result_get_outcome (result) == PRISM_OUTCOME_EXITED)
    json_builder_add_int_value (run->metadata, prism_result_get_exit_code (result));
  else
    json_builder_add_null_value (run->metadata);
  prism_tool_add_boolean (run, "timedOut", prism_result_get_timed_out (result));
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
                              (double)timeout_ms / 1000);
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
  gboolean done;

  if (check == NULL)
    return FALSE;
  {
    const PrismToolAsk ask = { .kind = "check",
                               .operation = check->name,
                               .risk = PRISM_RISK_MEDIUM,
                               .effect = PRISM_EFFECT_EXTERNAL_MUTATION,
                               .argv = (const char *const *)check->argv };
    if (!prism_tool_authorize (run, &ask, error) || !begin (run, error))
      return FALSE;
  }
  done = run_it (run, check, error);
  end (run);
  return done;
}
