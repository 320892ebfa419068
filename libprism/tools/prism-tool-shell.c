/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shell: one command line, where the composition's commands run. The last part of its output
 * is shown. Where that is not all, all of it goes to a file that commands can read: while the
 * command runs, to one without a name; under a name only once it has ended as it should. */
#include "prism-tool-table-private.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "prism-fd-private.h"

#define MOST_PROGRESS 160

/* --- the tail of what comes ------------------------------------------------------------------ */

typedef struct
{
  PrismToolRun *run;
  GByteArray *held;
  gsize most;
  guint64 total;
  gint64 reported;
  int spill; /* all of it, once that is more than is held; -1: not yet */
  int spill_error;
  GCancellable *ends; /* cancelled when it wrote too much: a sandbox's own limit may be another */
  gboolean over;
} Tail;

/* Without a name: gone with the descriptor, however this ends. */
static int
open_spill (void)
{
  g_autofree char *path = NULL;
  int fd = open (g_get_tmp_dir (), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

  if (fd >= 0)
    return fd;
  path = g_build_filename (g_get_tmp_dir (), "prism-XXXXXX", NULL);
  fd = g_mkstemp_full (path, O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0)
    g_unlink (path);
  return fd;
}

static void
spill (Tail *self, const guint8 *data, gsize size)
{
  while (size > 0 && self->spill_error == 0)
    {
      ssize_t n = write (self->spill, data, size);
      if (n < 0 && errno != EINTR)
        self->spill_error = errno;
      if (n > 0)
        {
          data += n;
          size -= (gsize)n;
        }
    }
}

/* From now on, and what came before. */
static void
begin_spill (Tail *self)
{
  if (self->spill >= 0 || self->spill_error != 0)
    return;
  self->spill = open_spill ();
  if (self->spill < 0)
    self->spill_error = errno;
  spill (self, self->held->data, self->held->len);
}

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
  if (self->total > (guint64)prism_tool_limit (self->run, PRISM_TOOL_LIMIT_OUTPUT_TOTAL_BYTES))
    {
      self->over = TRUE;
      g_cancellable_cancel (self->ends);
    }
  else if (self->total > self->most)
    {
      begin_spill (self);
      spill (self, at, size);
    }
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

/* Gives what was spilled a name where the commands are. */
static gboolean
keep_spill (PrismToolRun *run, Tail *tail, char **path, GError **error)
{
  g_autoptr (GMappedFile) file = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) wrong = NULL;
  GError *fault = NULL;

  begin_spill (tail);
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
say_cut (PrismToolRun *run, const Tail *tail, gsize size, gboolean in_line, const char *path)
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
answer_output (PrismToolRun *run, Tail *tail, gboolean ended, GError **error)
{
  gboolean in_line, kept = TRUE;
  gsize from = shown_from (run, tail, &in_line), size = tail->held->len - from;
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
answer_result (PrismToolRun *run, PrismResult *result, PrismOutcome outcome, gint64 timeout_ms, GError **error)
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
      return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT,
                              "ended: it wrote more than %" G_GINT64_FORMAT " bytes (output-total-bytes)",
                              prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_TOTAL_BYTES));
    default:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_FAILED, "how it ended is not known%s%s",
                              prism_result_get_reason (result) != NULL ? ": " : "",
                              prism_result_get_reason (result) != NULL ? prism_result_get_reason (result) : "");
    }
}

static PrismOutcome
outcome_of (PrismToolRun *run, const Tail *tail, PrismResult *result)
{
  if (tail->over && !g_cancellable_is_cancelled (run->cancellable))
    return PRISM_OUTCOME_OUTPUT_LIMIT;
  return prism_result_get_outcome (result);
}

static void
pass_on (GCancellable *from, GCancellable *to)
{
  g_cancellable_cancel (to);
}

/* What could not be kept is said last: how the command ended is in the metadata. */
static gboolean
answer (PrismToolRun *run, Tail *tail, PrismResult *result, gint64 timeout_ms, GError **error)
{
  PrismOutcome outcome = outcome_of (run, tail, result);
  gboolean ended = outcome == PRISM_OUTCOME_EXITED || outcome == PRISM_OUTCOME_SIGNALLED;
  g_autoptr (GError) unkept = NULL;

  answer_output (run, tail, ended, &unkept);
  if (!answer_result (run, result, outcome, timeout_ms, error))
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
  g_autoptr (GCancellable) ends = g_cancellable_new ();
  g_autoptr (PrismResult) result = NULL;
  GError *fault = NULL;
  Tail tail = { .run = run,
                .held = g_byte_array_new (),
                .most = (gsize)prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_BYTES),
                .spill = -1,
                .ends = ends };
  gulong id = 0;
  gboolean done;

  prism_command_set_timeout_ms (command, timeout_ms);
  prism_command_set_capture (command, FALSE);
  prism_command_set_max_output_bytes (command, prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_TOTAL_BYTES));
  g_signal_connect (command, "output", G_CALLBACK (output_came), &tail);
  if (run->cancellable != NULL)
    id = g_cancellable_connect (run->cancellable, G_CALLBACK (pass_on), ends, NULL);
  result = prism_tree_exec (run->settings->place, command, ends, &fault);
  g_cancellable_disconnect (run->cancellable, id);
  if (result == NULL)
    prism_tool_take_fault (error, fault);
  done = result != NULL && answer (run, &tail, result, timeout_ms, error);
  g_signal_handlers_disconnect_by_data (command, &tail);
  g_byte_array_unref (tail.held);
  prism_clear_fd (&tail.spill);
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
