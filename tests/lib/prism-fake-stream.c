/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The fake backend reads a command's pipes: one chunk, its handlers, the next. */
#include "prism-fake-run.h"

static gboolean
read_on (gpointer data)
{
  FakeStream *stream = data;

  fake_stream_read (stream);
  return G_SOURCE_REMOVE;
}

static void
unref_run (gpointer data)
{
  fake_run_unref (((FakeStream *)data)->run);
}

/* Any thread: the handlers ran. */
static void
handled (gpointer data)
{
  FakeStream *stream = data;
  g_autoptr (GSource) source = g_idle_source_new ();

  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, read_on, stream, unref_run);
  g_source_attach (source, stream->run->sandbox->context);
}

static void
keep (FakeStream *stream, GBytes *bytes)
{
  gint64 whole = prism_limits_get (prism_sandbox_spec_get_limits (stream->run->sandbox->spec), "max-output-bytes");
  gsize most = (gsize)MIN (prism_command_get_max_output_bytes (stream->run->command), whole);
  gsize size, room = most > stream->kept->len ? most - stream->kept->len : 0;
  const guint8 *data = g_bytes_get_data (bytes, &size);

  if (!prism_command_get_capture (stream->run->command))
    return;
  g_byte_array_append (stream->kept, data, (guint)MIN (size, room));
  if (size > room)
    stream->truncated = TRUE;
}

static void
on_read (GObject *source, GAsyncResult *result, gpointer data)
{
  FakeStream *stream = data;
  g_autoptr (FakeRun) run = stream->run; /* that this read held */
  g_autoptr (GBytes) bytes = g_input_stream_read_bytes_finish (G_INPUT_STREAM (source), result, NULL);
  gint64 most = prism_limits_get (prism_sandbox_spec_get_limits (run->sandbox->spec), "max-output-bytes");

  if (bytes == NULL || g_bytes_get_size (bytes) == 0)
    {
      stream->ended = TRUE;
      fake_run_output_moved (run);
      return;
    }
  stream->total += g_bytes_get_size (bytes);
  fake_run_output_moved (run);
  if (run->operation == NULL) /* the caller has its result: drained, not kept */
    {
      fake_stream_read (stream);
      return;
    }
  keep (stream, bytes);
  if ((gint64)(run->out.total + run->err.total) > most)
    fake_run_end (run, PRISM_OUTCOME_OUTPUT_LIMIT, "max-output-bytes", FALSE);
  fake_run_ref (run);
  prism_exec_operation_output_full (PRISM_EXEC_OPERATION (run->operation), stream->which, bytes, handled, stream);
}

void
fake_stream_read (FakeStream *stream)
{
  fake_run_ref (stream->run);
  g_input_stream_read_bytes_async (stream->pipe, 65536, G_PRIORITY_DEFAULT, NULL, on_read, stream);
}
