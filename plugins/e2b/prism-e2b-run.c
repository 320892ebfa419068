/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-e2b-run.h"

#include <signal.h>
#include <string.h>

#include "prism-e2b-envelope.h"

#define CHUNK    (64 * 1024)
#define GRACE_MS 10000 /* from SIGKILL to the end that the service tells of it */

struct _PrismE2bRun
{
  gatomicrefcount refs;
  PrismE2bRunSpec spec;
  PrismE2bRunFuncs funcs;
  gpointer data;
  PrismE2bCall *opening;
  GInputStream *stream;
  GCancellable *stop;
  PrismE2bDecoder decoder;
  guint8 *buffer;
  gsize at, filled; /* of the buffer */
  gboolean reading, held, over, told;
  gint64 pid;
  gint64 begun_us, ended_us;
  GSource *timer, *grace;

  gboolean ended;  /* the service said how */
  gboolean forced; /* by somebody here */
  PrismOutcome outcome;
  int exit_code, term_signal;
  char *reason;
  const char *limit;
  GByteArray *kept[2];
  guint64 total[2];
};

PrismE2bRun *
prism_e2b_run_new (const PrismE2bRunSpec *spec, const PrismE2bRunFuncs *funcs, gpointer data)
{
  PrismE2bRun *self = g_new0 (PrismE2bRun, 1);

  g_atomic_ref_count_init (&self->refs);
  self->spec = *spec;
  self->spec.client = prism_e2b_client_ref (spec->client);
  self->spec.start = spec->start != NULL ? g_bytes_ref (spec->start) : NULL;
  self->spec.user = g_strdup (spec->user);
  self->funcs = *funcs;
  self->data = data;
  self->stop = g_cancellable_new ();
  self->exit_code = -1;
  self->outcome = PRISM_OUTCOME_LOST;
  self->kept[0] = g_byte_array_new ();
  self->kept[1] = g_byte_array_new ();
  prism_e2b_decoder_init (&self->decoder, PRISM_E2B_ENVELOPE_MOST_BYTES);
  return self;
}

PrismE2bRun *
prism_e2b_run_ref (PrismE2bRun *self)
{
  g_atomic_ref_count_inc (&self->refs);
  return self;
}

static void
stop_source (GSource **source)
{
  if (*source != NULL)
    g_source_destroy (*source);
  g_clear_pointer (source, g_source_unref);
}

/* What is asynchronous holds a reference: nothing is under way here. */
void
prism_e2b_run_unref (PrismE2bRun *self)
{
  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  g_clear_object (&self->stream);
  g_clear_object (&self->stop);
  prism_e2b_decoder_clear (&self->decoder);
  g_byte_array_unref (self->kept[0]);
  g_byte_array_unref (self->kept[1]);
  g_clear_pointer (&self->spec.start, g_bytes_unref);
  g_free ((char *)self->spec.user);
  g_free (self->buffer);
  g_free (self->reason);
  prism_e2b_client_unref (self->spec.client);
  g_free (self);
}

gint64
prism_e2b_run_get_pid (PrismE2bRun *self)
{
  return self->pid;
}

gboolean
prism_e2b_run_is_over (PrismE2bRun *self)
{
  return self->over;
}

/* --- what is told beside the stream --------------------------------------------------------- */

static void
send (PrismE2bRun *self, const char *path, const char *what, GBytes *body, PrismE2bAnswered answered, gpointer data)
{
  PrismE2bRequest request = {
    .plane = PRISM_E2B_PLANE_DATA,
    .identity = self->spec.identity,
    .method = "POST",
    .path = path,
    .what = what,
    .body = body,
    .rpc = TRUE,
  };

  prism_e2b_client_send (self->spec.client, &request, answered, data);
}

static void
killed (PrismE2bReply *reply, const GError *error, gpointer data)
{
  if (error != NULL)
    g_debug ("%s", error->message);
  prism_e2b_run_unref (data);
}

static void
send_kill (PrismE2bRun *self)
{
  g_autoptr (GBytes) body = self->pid > 0 ? prism_e2b_signal_new (self->pid, SIGKILL) : NULL;

  if (body != NULL)
    send (self, "/process.Process/SendSignal", "end the command", body, killed, prism_e2b_run_ref (self));
}

/* --- its end ------------------------------------------------------------------------------------ */

/* Tells it once; and lets go of the reference that prism_e2b_run_begin() took. */
static void
tell (PrismE2bRun *self, const GError *error)
{
  if (self->told)
    return;
  self->told = self->over = TRUE;
  self->ended_us = g_get_monotonic_time ();
  stop_source (&self->timer);
  stop_source (&self->grace);
  if (self->opening != NULL)
    prism_e2b_call_cancel (g_steal_pointer (&self->opening));
  g_cancellable_cancel (self->stop);
  self->funcs.ended (self, error, self->data);
  prism_e2b_run_unref (self);
}

/* The stream is over without an end: nobody knows how the command did. */
static void
lose (PrismE2bRun *self, const char *reason)
{
  if (self->told)
    return;
  if (!self->ended)
    {
      g_free (self->reason);
      self->reason = g_strdup (reason);
      self->outcome = PRISM_OUTCOME_LOST;
      send_kill (self);
    }
  tell (self, NULL);
}

static gboolean
grace_over (gpointer data)
{
  lose (data, "it was told to end, and the service did not say that it did");
  return G_SOURCE_REMOVE;
}

static GSource *
start_timer (PrismE2bRun *self, gint64 ms, GSourceFunc func)
{
  GSource *source = g_timeout_source_new ((guint)MIN (ms, G_MAXINT));

  g_source_set_callback (source, func, self, NULL);
  g_source_attach (source, prism_e2b_client_get_context (self->spec.client));
  return source;
}

void
prism_e2b_run_end (PrismE2bRun *self, PrismOutcome outcome, const char *limit)
{
  if (self->told || self->forced)
    return;
  self->forced = TRUE;
  self->outcome = outcome;
  self->limit = limit;
  /* Before it began there is nothing to end yet: it is ended as soon as it has a pid. */
  if (self->pid > 0)
    send_kill (self);
  self->grace = start_timer (self, GRACE_MS, grace_over);
  /* Who did not take its output must not keep its end from being heard. */
  prism_e2b_run_go_on (self);
}

void
prism_e2b_run_detach (PrismE2bRun *self)
{
  if (self->told)
    return;
  g_free (self->reason);
  self->reason = g_strdup ("it was let go of, and runs on");
  tell (self, NULL);
}

static gboolean
timed_out (gpointer data)
{
  prism_e2b_run_end (data, PRISM_OUTCOME_TIMED_OUT, NULL);
  return G_SOURCE_REMOVE;
}

static void
take_end (PrismE2bRun *self, PrismE2bEvent *event)
{
  self->ended = TRUE;
  if (self->forced)
    return;
  self->outcome = event->outcome;
  self->exit_code = event->exit_code;
  self->term_signal = event->term_signal;
  self->reason = g_steal_pointer (&event->reason);
}

/* --- the stream ------------------------------------------------------------------------------------ */

static void read_more (PrismE2bRun *self);

static void
take_data (PrismE2bRun *self, PrismE2bEvent *event)
{
  guint index = event->stream == PRISM_STREAM_STDERR;
  gsize size, keep;
  const guint8 *data = g_bytes_get_data (event->bytes, &size);

  self->total[index] += size;
  keep = MIN (size, (gsize)MAX (self->spec.max_kept - (gint64)self->kept[index]->len, 0));
  if (keep > 0)
    g_byte_array_append (self->kept[index], data, (guint)keep);
  if (size > 0 && !self->forced && !self->funcs.output (self, event->stream, event->bytes, self->data))
    self->held = TRUE;
  if (self->spec.max_total > 0 && self->total[0] + self->total[1] > (guint64)self->spec.max_total)
    prism_e2b_run_end (self, PRISM_OUTCOME_OUTPUT_LIMIT, "max-output-bytes");
}

static void
take_start (PrismE2bRun *self, PrismE2bEvent *event)
{
  if (self->pid != 0)
    return;
  self->pid = event->pid;
  if (self->forced)
    send_kill (self);
  self->funcs.started (self, self->data);
}

/* FALSE: the stream broke. */
static gboolean
take_message (PrismE2bRun *self, const guint8 *payload, gsize size, GError **error)
{
  g_auto (PrismE2bEvent) event = { 0 };

  if (!prism_e2b_event_parse (payload, size, &event, error))
    return FALSE;
  if (event.kind != PRISM_E2B_EVENT_START && event.kind != PRISM_E2B_EVENT_NOTHING && self->pid == 0)
    {
      g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST,
                           "the stream broke the protocol: it does not begin with the process");
      return FALSE;
    }
  if (self->ended)
    return TRUE;
  if (event.kind == PRISM_E2B_EVENT_START)
    take_start (self, &event);
  else if (event.kind == PRISM_E2B_EVENT_DATA)
    take_data (self, &event);
  else if (event.kind == PRISM_E2B_EVENT_END)
    take_end (self, &event);
  return TRUE;
}

/* The answer had begun, so it may run: nobody knows as what. */
static void
fail_start (PrismE2bRun *self, const char *why)
{
  g_autoptr (GError) error = g_error_new (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST, "cannot %s: %s%s",
                                          self->spec.start == NULL ? "connect to the process" : "start the command",
                                          why, self->spec.start == NULL ? "" : "; whether it runs is not known");
  tell (self, error);
}

static void
broke (PrismE2bRun *self, const GError *error)
{
  if (self->pid == 0)
    fail_start (self, error->message);
  else
    lose (self, error->message);
}

static void
take_last (PrismE2bRun *self, const guint8 *payload, gsize size)
{
  g_autoptr (GError) error = NULL;
  PrismE2bCause cause;

  prism_e2b_end_parse (payload, size, self->pid == 0 ? "start the command" : "follow the command",
                       prism_e2b_client_get_redactor (self->spec.client), &cause, &error);
  if (self->ended)
    tell (self, NULL);
  else if (error == NULL)
    {
      error = g_error_new_literal (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST,
                                   "the stream ended without the command's end");
      broke (self, error);
    }
  else if (self->pid == 0)
    {
      /* The service itself says that it did not start. Its words alone tell a folder that is
       * not there from an argument that is wrong. */
      if (cause == PRISM_E2B_CAUSE_INVALID && strstr (error->message, "“cwd '") != NULL)
        error->code = PRISM_SANDBOX_ERROR_NOT_FOUND;
      tell (self, error);
    }
  else
    lose (self, error->message);
}

/* As far as the buffer goes, or until somebody says to wait. */
static void
work (PrismE2bRun *self)
{
  g_autoptr (PrismE2bRun) own = prism_e2b_run_ref (self);
  g_autoptr (GError) error = NULL;

  while (!self->told && !self->held && self->at < self->filled)
    {
      const guint8 *at = self->buffer + self->at, *payload;
      gsize left = self->filled - self->at, size;
      PrismE2bFrame frame;
      gboolean fine = prism_e2b_decoder_take (&self->decoder, &at, &left, &frame, &payload, &size, &error);

      self->at = self->filled - left;
      if (fine && frame == PRISM_E2B_FRAME_MESSAGE)
        fine = take_message (self, payload, size, &error);
      else if (fine && frame == PRISM_E2B_FRAME_END)
        take_last (self, payload, size);
      if (!fine)
        broke (self, error);
    }
  if (!self->told && !self->held)
    read_more (self);
}

void
prism_e2b_run_go_on (PrismE2bRun *self)
{
  if (!self->held)
    return;
  self->held = FALSE;
  if (!self->told && !self->reading)
    work (self);
}

static void
arrived (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (PrismE2bRun) self = data;
  g_autoptr (GError) error = NULL;
  gssize n = g_input_stream_read_finish (G_INPUT_STREAM (source), result, &error);

  self->reading = FALSE;
  if (self->told)
    return;
  if (n > 0)
    {
      self->at = 0;
      self->filled = (gsize)n;
      work (self);
      return;
    }
  if (n == 0)
    prism_e2b_decoder_finish (&self->decoder, &error);
  /* The end came and only the stream's own is missing: that takes nothing from it. */
  if (self->ended)
    tell (self, NULL);
  else if (self->pid == 0)
    fail_start (self, error->message);
  else
    {
      g_autofree char *reason = g_strdup_printf ("its stream was cut: %s", error->message);
      lose (self, reason);
    }
}

static void
read_more (PrismE2bRun *self)
{
  if (self->reading)
    return;
  self->reading = TRUE;
  g_input_stream_read_async (self->stream, self->buffer, CHUNK, G_PRIORITY_DEFAULT, self->stop, arrived,
                             prism_e2b_run_ref (self));
}

static void
opened (PrismE2bReply *reply, const GError *error, gpointer data)
{
  g_autoptr (PrismE2bRun) self = prism_e2b_run_ref (data);

  self->opening = NULL;
  if (reply == NULL)
    {
      tell (self, error);
      return;
    }
  self->stream = g_steal_pointer (&reply->stream);
  self->buffer = g_malloc (CHUNK);
  read_more (self);
}

/* No deadline goes with it: one would end the process, whoever follows it. */
void
prism_e2b_run_begin (PrismE2bRun *self)
{
  g_autoptr (GBytes) connect = self->spec.start == NULL ? prism_e2b_connect_new (self->spec.pid) : NULL;
  PrismE2bRequest request = {
    .plane = PRISM_E2B_PLANE_DATA,
    .identity = self->spec.identity,
    .method = "POST",
    .path = connect != NULL ? "/process.Process/Connect" : "/process.Process/Start",
    .what = connect != NULL ? "connect to the process" : "start the command",
    .user = self->spec.user,
    .body = connect != NULL ? connect : self->spec.start,
    .rpc = TRUE,
    .stream = TRUE,
    .idempotent = connect != NULL,
  };

  prism_e2b_run_ref (self);
  self->begun_us = g_get_monotonic_time ();
  if (self->spec.timeout_ms > 0)
    self->timer = start_timer (self, self->spec.timeout_ms, timed_out);
  self->opening = prism_e2b_client_send (self->spec.client, &request, opened, self);
}

/* --- its standard input ------------------------------------------------------------------------------ */

typedef struct
{
  PrismE2bRun *run;
  PrismE2bWritten written;
  gpointer data;
} Writing;

static void
input_taken (PrismE2bReply *reply, const GError *error, gpointer data)
{
  Writing *writing = data;

  if (error != NULL)
    g_debug ("%s", error->message);
  writing->written (error == NULL, writing->data);
  prism_e2b_run_unref (writing->run);
  g_free (writing);
}

static Writing *
writing_new (PrismE2bRun *self, PrismE2bWritten written, gpointer data)
{
  Writing *writing = g_new (Writing, 1);

  *writing = (Writing){ prism_e2b_run_ref (self), written, data };
  return writing;
}

void
prism_e2b_run_write (PrismE2bRun *self, GBytes *bytes, PrismE2bWritten written, gpointer data)
{
  gsize size;
  const guint8 *bytes_data = g_bytes_get_data (bytes, &size);
  g_autoptr (GBytes) body = prism_e2b_input_new (self->pid, self->spec.pty, bytes_data, size);

  send (self, "/process.Process/SendInput", "write to the command", body, input_taken,
        writing_new (self, written, data));
}

void
prism_e2b_run_close_stdin (PrismE2bRun *self, PrismE2bWritten written, gpointer data)
{
  static const guint8 end_of_transmission[] = { 4 };
  g_autoptr (GBytes) body = self->spec.pty ? prism_e2b_input_new (self->pid, TRUE, end_of_transmission, 1)
                                           : prism_e2b_close_stdin_new (self->pid);

  send (self, self->spec.pty ? "/process.Process/SendInput" : "/process.Process/CloseStdin",
        "close the command's input", body, input_taken, writing_new (self, written, data));
}

/* --- the result ----------------------------------------------------------------------------------------- */

static gboolean
is_truncated (PrismE2bRun *self, guint index)
{
  return self->spec.max_kept >= 0 && self->total[index] > self->kept[index]->len;
}

PrismResult *
prism_e2b_run_new_result (PrismE2bRun *self)
{
  g_autoptr (GBytes) out = g_bytes_new (self->kept[0]->data, self->kept[0]->len);
  g_autoptr (GBytes) err = g_bytes_new (self->kept[1]->data, self->kept[1]->len);

  return g_object_new (
      PRISM_TYPE_RESULT, "outcome", self->outcome, "exit-code", self->exit_code, "term-signal", self->term_signal,
      "stdout-bytes", out, "stderr-bytes", err, "stdout-total", self->total[0], "stderr-total", self->total[1],
      "stdout-truncated", is_truncated (self, 0), "stderr-truncated", is_truncated (self, 1), "duration-us",
      (self->ended_us != 0 ? self->ended_us : g_get_monotonic_time ()) - self->begun_us, "effective-timeout-ms",
      self->spec.timeout_ms, "limit", self->limit, "reason", self->reason, NULL);
}
