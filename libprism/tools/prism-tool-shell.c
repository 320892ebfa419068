/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shell: one command line, where the composition's commands run. Its output is kept as it
 * comes, the last part of it; what does not fit is counted, and said. */
#include "prism-tool-table-private.h"

#include <string.h>

#define MOST_PROGRESS 160

/* --- the tail of what comes ------------------------------------------------------------------ */

typedef struct
{
  PrismToolRun *run;
  GByteArray *held;
  gsize most;
  guint64 total;
  gint64 reported;
} Tail;

/* Its last line that is not empty, for who waits. */
static void
report (Tail *self)
{
  gint64 now = g_get_monotonic_time ();
  const char *text = (const char *)self->held->data;
  gsize end = self->held->len, start;
  g_autofree char *line = NULL;

  if (now - self->reported < G_USEC_PER_SEC / 4)
    return;
  self->reported = now;
  while (end > 0 && g_ascii_isspace (text[end - 1]))
    end--;
  for (start = end; start > 0 && text[start - 1] != '\n' && end - start < MOST_PROGRESS;)
    start--;
  line = g_strndup (text + start, end - start);
  if (*line != '\0')
    prism_tool_operation_report (self->run->operation, line);
}

static void
output_came (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer data)
{
  Tail *self = data;
  gsize size;
  const guint8 *at = g_bytes_get_data (bytes, &size);

  self->total += size;
  if (size > self->most)
    {
      at += size - self->most;
      size = self->most;
    }
  g_byte_array_append (self->held, at, (guint)size);
  if (self->held->len > 2 * self->most)
    g_byte_array_remove_range (self->held, 0, self->held->len - (guint)self->most);
  report (self);
}

/* From which byte on it is shown: at most so many lines, and whole ones where there are. */
static gsize
shown_from (PrismToolRun *run, const Tail *self, gboolean *in_line)
{
  const char *text = (const char *)self->held->data;
  gint64 most = prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_LINES), lines = 0;
  gsize least = self->held->len > self->most ? self->held->len - self->most : 0;
  gsize at = self->held->len;

  *in_line = FALSE;
  if (at > 0 && text[at - 1] == '\n')
    at--;
  while (at > least)
    {
      const char *before = memrchr (text, '\n', at);
      gsize start = before != NULL ? (gsize)(before - text) + 1 : 0;

      if (lines == most)
        return MIN (at + 1, self->held->len);
      if (start < least || (start == 0 && self->total > self->held->len))
        {
          *in_line = lines == 0;
          return lines == 0 ? least : MIN (at + 1, self->held->len);
        }
      lines++;
      if (start == 0)
        return 0;
      at = start - 1;
    }
  return at == 0 ? 0 : at + 1;
}

static void
answer_output (PrismToolRun *run, const Tail *tail)
{
  gboolean in_line;
  gsize from = shown_from (run, tail, &in_line), size = tail->held->len - from;
  gboolean whole = size == tail->total;
  g_autofree char *valid = g_utf8_make_valid (size > 0 ? (const char *)tail->held->data + from : "", (gssize)size);

  prism_tool_result_add_text (run->result, valid);
  if (!whole)
    prism_tool_say (run,
                    in_line ? "[the last %" G_GSIZE_FORMAT " bytes of one long line, of %" G_GUINT64_FORMAT
                              " bytes in all; send the output to a file to read it]"
                            : "[the last %" G_GSIZE_FORMAT " bytes of %" G_GUINT64_FORMAT
                              "; send the output to a file to read all of it]",
                    size, tail->total);
  prism_tool_add_boolean (run, "truncation", !whole);
  prism_tool_add_integer (run, "totalOutputBytes", (gint64)tail->total);
}

/* --- how it ended -------------------------------------------------------------------------------- */

static gboolean
answer_result (PrismToolRun *run, PrismResult *result, gint64 timeout_ms, GError **error)
{
  PrismOutcome outcome = prism_result_get_outcome (result);
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
      return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT,
                              "ended: it wrote more than %" G_GINT64_FORMAT " bytes (output-total-bytes)",
                              prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_TOTAL_BYTES));
    default:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_FAILED, "how it ended is not known%s%s",
                              prism_result_get_reason (result) != NULL ? ": " : "",
                              prism_result_get_reason (result) != NULL ? prism_result_get_reason (result) : "");
    }
}

static gboolean
run_line (PrismToolRun *run, const char *line, gint64 timeout_ms, GError **error)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell (line);
  g_autoptr (PrismResult) result = NULL;
  GError *fault = NULL;
  Tail tail = { .run = run,
                .held = g_byte_array_new (),
                .most = (gsize)prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_BYTES) };
  gboolean done;

  prism_command_set_timeout_ms (command, timeout_ms);
  prism_command_set_capture (command, FALSE);
  prism_command_set_max_output_bytes (command, prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_TOTAL_BYTES));
  g_signal_connect (command, "output", G_CALLBACK (output_came), &tail);
  result = prism_tree_exec (run->settings->place, command, run->cancellable, &fault);
  if (result == NULL)
    prism_tool_take_fault (error, fault);
  else
    answer_output (run, &tail);
  done = result != NULL && answer_result (run, result, timeout_ms, error);
  g_signal_handlers_disconnect_by_data (command, &tail);
  g_byte_array_unref (tail.held);
  return done;
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
