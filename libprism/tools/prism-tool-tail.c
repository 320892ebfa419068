/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command says, as it comes: its end is held, all of it goes to a file without a name
 * where that is wanted, and it is ended where it says too much. TRUST: none; bytes are bytes. */
#include "prism-tool-tail-private.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "prism-fd-private.h"

#define MOST_PROGRESS 160

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
spill (PrismToolTail *self, const guint8 *data, gsize size)
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

void
prism_tool_tail_begin_spill (PrismToolTail *self)
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
report (PrismToolTail *self)
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
  PrismToolTail *self = data;
  gsize size;
  const guint8 *at = g_bytes_get_data (bytes, &size);

  self->total += size;
  if (self->total > (guint64)self->limit)
    {
      self->over = TRUE;
      g_cancellable_cancel (self->ends);
    }
  else if (self->keep && self->total > self->most)
    {
      prism_tool_tail_begin_spill (self);
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

gsize
prism_tool_tail_shown_from (const PrismToolTail *self, gsize most_bytes, gboolean *in_line)
{
  const char *text = (const char *)self->held->data;
  gint64 most = prism_tool_limit (self->run, PRISM_TOOL_LIMIT_OUTPUT_LINES), lines = 0;
  gsize least = self->held->len > most_bytes ? self->held->len - most_bytes : 0;
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
pass_on (GCancellable *from, GCancellable *to)
{
  g_cancellable_cancel (to);
}

PrismResult *
prism_tool_tail_exec (PrismToolTail *self, PrismCommand *command, GError **error)
{
  PrismToolRun *run = self->run;
  g_autoptr (GCancellable) ends = g_cancellable_new ();
  GError *fault = NULL;
  PrismResult *result;
  gulong id = 0;

  self->ends = ends;
  prism_command_set_capture (command, FALSE);
  prism_command_set_max_output_bytes (command, self->limit);
  g_signal_connect (command, "output", G_CALLBACK (output_came), self);
  if (run->cancellable != NULL)
    id = g_cancellable_connect (run->cancellable, G_CALLBACK (pass_on), ends, NULL);
  result = prism_tree_exec (run->settings->place, command, ends, &fault);
  g_cancellable_disconnect (run->cancellable, id);
  g_signal_handlers_disconnect_by_data (command, self);
  self->ends = NULL;
  if (result == NULL)
    prism_tool_take_fault (error, fault);
  return result;
}

PrismOutcome
prism_tool_tail_get_outcome (const PrismToolTail *self, PrismResult *result)
{
  if (self->over && !g_cancellable_is_cancelled (self->run->cancellable))
    return PRISM_OUTCOME_OUTPUT_LIMIT;
  return prism_result_get_outcome (result);
}

void
prism_tool_tail_init (PrismToolTail *self, PrismToolRun *run, gsize most, gint64 limit, gboolean keep)
{
  *self = (PrismToolTail){
    .run = run, .held = g_byte_array_new (), .most = most, .limit = limit, .keep = keep, .spill = -1
  };
}

void
prism_tool_tail_clear (PrismToolTail *self)
{
  g_clear_pointer (&self->held, g_byte_array_unref);
  prism_clear_fd (&self->spill);
}
