/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* coding_check: a command that the project declared. A model chooses which, and nothing else. */
#include "prism-tool-table-private.h"
#include "prism-tool-tail-private.h"

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
end_of (const PrismToolTail *tail, gsize most, gboolean *whole)
{
  gboolean in_line;
  gsize from = prism_tool_tail_shown_from (tail, most, &in_line), size = tail->held->len - from;

  *whole = size == tail->total;
  return g_utf8_make_valid (size > 0 ? (const char *)tail->held->data + from : "", (gssize)size);
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
run_it (PrismToolRun *run, const PrismToolCheck *check, PrismToolTail *tail, GError **error)
{
  g_autoptr (PrismCommand) command = prism_command_new ((const char *const *)check->argv);
  PrismResult *result;

  prism_tool_tail_init (tail, run, (gsize)prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_BYTES),
                        prism_tool_limit (run, PRISM_TOOL_LIMIT_CHECK_OUTPUT_BYTES), FALSE);
  if (!begin (run, error))
    return NULL;
  prism_command_set_timeout_ms (command, timeout_of (run, check));
  result = prism_tool_tail_exec (tail, command, error);
  end (run);
  return result;
}

/* The outcome in words; whether it ended by itself. */
static gboolean
say_end (PrismToolRun *run, const PrismToolCheck *check, const PrismToolTail *tail, PrismResult *result, char **words)
{
  const char *reason = prism_result_get_reason (result);
  PrismOutcome outcome = prism_tool_tail_get_outcome (tail, result);

  switch (outcome)
    {
    case PRISM_OUTCOME_EXITED:
      *words = g_strdup_printf ("exit status %d", prism_result_get_exit_code (result));
      return TRUE;
    case PRISM_OUTCOME_SIGNALLED:
      *words = g_strdup_printf ("ended by signal %d", prism_result_get_term_signal (result));
      return TRUE;
    case PRISM_OUTCOME_TIMED_OUT:
      *words = g_strdup_printf ("ended after %g s", (double)timeout_of (run, check) / 1000);
      return FALSE;
    case PRISM_OUTCOME_OUTPUT_LIMIT:
      *words = tail->over ? g_strdup_printf (
                   "ended: it wrote more than %" G_GINT64_FORMAT " bytes (check-output-bytes)", tail->limit)
                          : g_strdup ("ended: it wrote more than the sandbox takes");
      return FALSE;
    case PRISM_OUTCOME_WALL_EXCEEDED:
      *words = g_strdup ("ended with the sandbox, whose time was up");
      return FALSE;
    case PRISM_OUTCOME_CANCELLED:
      *words = g_strdup ("cancelled");
      return FALSE;
    default:
      *words =
          g_strdup_printf ("how it ended is not known%s%s", reason != NULL ? ": " : "", reason != NULL ? reason : "");
      return FALSE;
    }
}

/* name, exitCode, summary, timedOut, and whether the summary is all that it said. */
static void
add_end (PrismToolRun *run, const PrismToolCheck *check, const PrismToolTail *tail, PrismResult *result)
{
  PrismOutcome outcome = prism_tool_tail_get_outcome (tail, result);
  gboolean whole;
  g_autofree char *summary = end_of (tail, MOST_SUMMARY, &whole);

  prism_tool_add_string (run, "name", check->name);
  json_builder_set_member_name (run->metadata, "exitCode");
  if (outcome == PRISM_OUTCOME_EXITED)
    json_builder_add_int_value (run->metadata, prism_result_get_exit_code (result));
  else
    json_builder_add_null_value (run->metadata);
  prism_tool_add_boolean (run, "timedOut", outcome == PRISM_OUTCOME_TIMED_OUT);
  prism_tool_add_boolean (run, "outputLimitExceeded", outcome == PRISM_OUTCOME_OUTPUT_LIMIT);
  prism_tool_add_string (run, "summary", summary);
  prism_tool_add_boolean (run, "truncation", !whole);
  prism_tool_add_integer (run, "totalOutputBytes", (gint64)tail->total);
}

/* --- of its own ----------------------------------------------------------------------------------- */

static gboolean
answer_check (
    PrismToolRun *run, const PrismToolCheck *check, const PrismToolTail *tail, PrismResult *result, GError **error)
{
  PrismOutcome outcome = prism_tool_tail_get_outcome (tail, result);
  gboolean whole;
  g_autofree char *shown = end_of (tail, tail->most, &whole);
  g_autofree char *words = NULL;

  if (outcome == PRISM_OUTCOME_CANCELLED)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_CANCELLED, "cancelled");
  prism_tool_result_add_text (run->result, shown);
  if (!whole)
    prism_tool_say (run, "[the end of %" G_GUINT64_FORMAT " bytes; the rest was not kept]", tail->total);
  add_end (run, check, tail, result);
  if (!say_end (run, check, tail, result, &words))
    return prism_tool_fail (error,
                            outcome == PRISM_OUTCOME_TIMED_OUT       ? PRISM_TOOL_ERROR_TIMEOUT
                            : outcome == PRISM_OUTCOME_OUTPUT_LIMIT  ? PRISM_TOOL_ERROR_LIMIT
                            : outcome == PRISM_OUTCOME_WALL_EXCEEDED ? PRISM_TOOL_ERROR_LIMIT
                                                                     : PRISM_TOOL_ERROR_FAILED,
                            "check %s: %s", check->name, words);
  prism_tool_say (run, "[check %s: %s]", check->name, words);
  return TRUE;
}

gboolean
prism_tool_run_check (PrismToolRun *run, GError **error)
{
  const PrismToolCheck *check = find_check (run, prism_tool_get_string (run, "name"), error);
  g_auto (PrismToolTail) tail = { .spill = -1 };
  g_autoptr (PrismResult) result =
      check != NULL && may_run (run, check, error) ? run_it (run, check, &tail, error) : NULL;

  return result != NULL && answer_check (run, check, &tail, result, error);
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
  g_auto (PrismToolTail) tail = { .spill = -1 };
  g_autoptr (PrismResult) result = run_it (run, check, &tail, error);
  g_autofree char *words = NULL;

  if (result == NULL)
    return FALSE;
  if (prism_tool_tail_get_outcome (&tail, result) == PRISM_OUTCOME_CANCELLED)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_CANCELLED, "cancelled");
  json_builder_begin_object (run->metadata);
  add_end (run, check, &tail, result);
  json_builder_end_object (run->metadata);
  say_end (run, check, &tail, result, &words);
  prism_tool_say (run, "[check %s: %s]", check->name, words);
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
