/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shell: one command line, where the composition's commands run. The last part of its output
 * is shown. Where that is not all, all of it goes to a file that commands can read: while the
 * command runs, to one without a name; under a name only once it has ended as it should. */
#include "prism-tool-table-private.h"
#include "prism-tool-tail-private.h"

#include <string.h>

/* Gives what was spilled a name where the commands are. */
static gboolean
keep_spill (PrismToolRun *run, PrismToolTail *tail, char **path, GError **error)
{
  g_autoptr (GMappedFile) file = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) wrong = NULL;
  GError *fault = NULL;

  prism_tool_tail_begin_spill (tail);
  if (tail->spill_error == 0)
    file = g_mapped_file_new_from_fd (tail->spill, FALSE, &wrong);
  if (file == NULL)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_FAILED, "%s",
                            wrong != NULL ? wrong->message : g_strerror (tail->spill_error));
  bytes = g_mapped_file_get_bytes (file);
  *path = prism_tree_keep (run->settings->place, ".log", bytes, run->cancellable, &fault);
  if (*path == NULL)
    prism_tool_take_fault (error, fault);
  return *path != NULL;
}

static void
say_cut (PrismToolRun *run, const PrismToolTail *tail, gsize size, gboolean in_line, const char *path)
{
  g_autofree char *where =
      path != NULL ? g_strconcat ("; all of it: ", path, NULL) : g_strdup ("; the rest was not kept");

  prism_tool_say (run,
                  in_line ? "[the last %" G_GSIZE_FORMAT " bytes of one long line, of %" G_GUINT64_FORMAT
                            " bytes in all%s]"
                          : "[the last %" G_GSIZE_FORMAT " bytes of %" G_GUINT64_FORMAT "%s]",
                  size, tail->total, where);
}

/* @ended: as it should, so that all of the output is kept. FALSE: it cannot be. */
static gboolean
answer_output (PrismToolRun *run, PrismToolTail *tail, gboolean ended, GError **error)
{
  gboolean in_line, kept = TRUE;
  gsize from = prism_tool_tail_shown_from (tail, tail->most, &in_line), size = tail->held->len - from;
  gboolean whole = size == tail->total;
  g_autofree char *valid = g_utf8_make_valid (size > 0 ? (const char *)tail->held->data + from : "", (gssize)size);
  g_autofree char *path = NULL;

  prism_tool_result_add_text (run->result, valid);
  if (!whole && ended)
    kept = keep_spill (run, tail, &path, error);
  if (!kept)
    g_prefix_error (error, "the command ended, but its whole output cannot be kept; send less of it to the output: ");
  if (!whole)
    say_cut (run, tail, size, in_line, path);
  if (path != NULL)
    prism_tool_add_string (run, "fullOutputPath", path);
  prism_tool_add_boolean (run, "truncation", !whole);
  prism_tool_add_integer (run, "totalOutputBytes", (gint64)tail->total);
  prism_tool_add_boolean (run, "outputStorageFailed", !kept);
  return kept;
}

/* --- how it ended -------------------------------------------------------------------------------- */

static gboolean
answer_result (
    PrismToolRun *run, PrismResult *result, PrismOutcome outcome, gboolean over, gint64 timeout_ms, GError **error)
{
  gboolean exited = outcome == PRISM_OUTCOME_EXITED;

  json_builder_set_member_name (run->metadata, "exitCode");
  if (exited)
    json_builder_add_int_value (run->metadata, prism_result_get_exit_code (result));
  else
    json_builder_add_null_value (run->metadata);
  prism_tool_add_boolean (run, "outputLimitExceeded", outcome == PRISM_OUTCOME_OUTPUT_LIMIT);
  prism_tool_add_integer (run, "durationMs", prism_result_get_duration_us (result) / 1000);
  switch (outcome)
    {
    case PRISM_OUTCOME_EXITED:
      if (prism_result_get_exit_code (result) != 0)
        prism_tool_say (run, "[exit status %d]", prism_result_get_exit_code (result));
      return TRUE;
    case PRISM_OUTCOME_SIGNALLED:
      prism_tool_say (run, "[ended by signal %d]", prism_result_get_term_signal (result));
      return TRUE;
    case PRISM_OUTCOME_TIMED_OUT:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_TIMEOUT,
                              "ended after %g s; send a larger timeout, or run it in parts", (double)timeout_ms / 1000);
    case PRISM_OUTCOME_CANCELLED:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_CANCELLED, "cancelled");
    case PRISM_OUTCOME_OUTPUT_LIMIT:
      if (!over)
        return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "ended: it wrote more than the sandbox takes");
      return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT,
                              "ended: it wrote more than %" G_GINT64_FORMAT " bytes (output-total-bytes)",
                              prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_TOTAL_BYTES));
    case PRISM_OUTCOME_WALL_EXCEEDED:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "ended with the sandbox, whose time was up");
    default:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_FAILED, "how it ended is not known%s%s",
                              prism_result_get_reason (result) != NULL ? ": " : "",
                              prism_result_get_reason (result) != NULL ? prism_result_get_reason (result) : "");
    }
}

/* What could not be kept is said last: how the command ended is in the metadata. */
static gboolean
answer (PrismToolRun *run, PrismToolTail *tail, PrismResult *result, gint64 timeout_ms, GError **error)
{
  PrismOutcome outcome = prism_tool_tail_get_outcome (tail, result);
  gboolean ended = outcome == PRISM_OUTCOME_EXITED || outcome == PRISM_OUTCOME_SIGNALLED;
  g_autoptr (GError) unkept = NULL;

  answer_output (run, tail, ended, &unkept);
  if (!answer_result (run, result, outcome, tail->over, timeout_ms, error))
    return FALSE;
  if (unkept == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&unkept));
  return FALSE;
}

static gboolean
run_line (PrismToolRun *run, const char *line, gint64 timeout_ms, GError **error)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell (line);
  g_auto (PrismToolTail) tail = { .spill = -1 };
  g_autoptr (PrismResult) result = NULL;

  prism_tool_tail_init (&tail, run, (gsize)prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_BYTES),
                        prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_TOTAL_BYTES), TRUE);
  prism_command_set_timeout_ms (command, timeout_ms);
  result = prism_tool_tail_exec (&tail, command, error);
  return result != NULL && answer (run, &tail, result, timeout_ms, error);
}

static gboolean
run_shell (PrismToolRun *run, gint64 timeout_ms, GError **error)
{
  g_autofree char *line = g_strdup (prism_tool_get_string (run, "command"));
  const PrismToolAsk ask = { .kind = "shell",
                             .operation = "execute",
                             .risk = PRISM_RISK_HIGH,
                             .effect = PRISM_EFFECT_EXTERNAL_MUTATION,
                             .command = &line };

  if (strspn (line, " \t\r\n") == strlen (line))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "command: is empty; send a command line");
  return prism_tool_authorize (run, &ask, error) && run_line (run, line, timeout_ms, error);
}

gboolean
prism_tool_run_shell (PrismToolRun *run, GError **error)
{
  gint64 timeout_s = 0;

  return prism_tool_get_bounded (run, "timeout", PRISM_TOOL_LIMIT_SHELL_TIMEOUT_S, &timeout_s, error)
         && run_shell (run, timeout_s * 1000, error);
}

gboolean
prism_tool_run_bash (PrismToolRun *run, GError **error)
{
  if (prism_tool_get_boolean (run, "run_in_background", FALSE))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_NOT_SUPPORTED,
                            "run_in_background: nothing runs on when the call is over; leave it out");
  return run_shell (run, prism_tool_get_integer (run, "timeout", 120000), error);
}
