/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One command's states: what its stream says, what ends it and what is swept up after it.
 * house: allow long file: all of that changes the same fields, which no other file sees. */
#include "prism-e2b-run.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "prism-e2b-envelope.h"

#define CHUNK    (64 * 1024)
#define NEAR_US  (2 * G_USEC_PER_SEC)
#define WATCH_MS 250 /* of a command that did not end by then it is looked for whether it did after all */
#define HELD_MS  100 /* from its end to the end of its streams, if nobody holds them */
#define SPARE_MS 5000
#define GONE_MS  3000
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
  guint8 typed;     /* the last byte of its input; 0: there was none */
  gboolean reading, held, over, told;
  gboolean suspended, gapped; /* by a pause; and something of it may be missing */
  gboolean sweeping, settled; /* it is being ended; nothing but that is waited for */
  gint64 late_us;             /* when its timeout is over; of a suspended one: what is left of it */
  gint64 pid;
  gint64 begun_us, ended_us;
  GSource *timer, *grace, *watch;
  int status; /* of what was seen of its end */

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
  self->spec.mark = g_strdup (spec->mark);
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
  g_free ((char *)self->spec.mark);
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
send (PrismE2bRun *self,
      const char *path,
      const char *what,
      GBytes *body,
      gboolean idempotent,
      PrismE2bAnswered answered,
      gpointer data)
{
  PrismE2bRequest request = {
    .plane = PRISM_E2B_PLANE_DATA,
    .identity = self->spec.identity,
    .method = "POST",
    .path = path,
    .what = what,
    .body = body,
    .rpc = TRUE,
    .idempotent = idempotent,
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
    send (self, "/process.Process/SendSignal", "end the command", body, TRUE, killed, prism_e2b_run_ref (self));
}

typedef struct
{
  PrismE2bRun *run;
  PrismE2bScriptEnded done;
  gpointer data;
} Sweep;

static void tell (PrismE2bRun *self, const GError *error);

static void
swept (int code, gpointer data)
{
  g_autofree Sweep *sweep = data;
  g_autoptr (PrismE2bRun) self = sweep->run;

  self->sweeping = FALSE;
  /* The one that the service knows of, whether or not the script found it. */
  if (!self->ended)
    send_kill (self);
  if (self->settled)
    tell (self, NULL);
  if (sweep->done != NULL)
    sweep->done (code, sweep->data);
}

/* All of it is ended, and its end is waited for; what the service can do by itself is done
 * in any case. */
static void
sweep (PrismE2bRun *self, gint64 grace_ms, PrismE2bScriptEnded done, gpointer data)
{
  Sweep *sweep = g_new (Sweep, 1);

  *sweep = (Sweep){ prism_e2b_run_ref (self), done, data };
  if (self->spec.mark == NULL || self->pid == 0)
    {
      swept (-1, sweep);
      return;
    }
  self->sweeping = TRUE;
  prism_e2b_script_sweep (self->spec.client, self->spec.identity, self->spec.user, self->spec.mark, grace_ms, swept,
                          sweep);
}

/* --- its end, though its streams go on ----------------------------------------------------------- */

static void finish_held (PrismE2bRun *self);
static GSource *start_timer (PrismE2bRun *self, gint64 ms, GSourceFunc func);

static gboolean
held_over (gpointer data)
{
  finish_held (data);
  return G_SOURCE_REMOVE;
}

/* @status: as wait() has it; -1: nothing was seen. */
static void
watched (int status, gpointer data)
{
  g_autoptr (PrismE2bRun) self = data;

  if (status == -1 || self->told || self->ended || self->forced || self->suspended || self->watch != NULL)
    return;
  self->status = status;
  /* What it wrote last, and its end if nobody holds its streams, is on its way. */
  self->watch = start_timer (self, status == PRISM_E2B_WATCH_GONE ? GONE_MS : HELD_MS, held_over);
}

static gboolean
watch (gpointer data)
{
  PrismE2bRun *self = data;

  prism_e2b_stop_source (&self->watch);
  if (self->pid != 0 && !self->ended && !self->forced && !self->suspended)
    prism_e2b_script_watch (self->spec.client, self->spec.identity, self->spec.user, self->pid, watched,
                            prism_e2b_run_ref (self));
  return G_SOURCE_REMOVE;
}

/* --- its end ------------------------------------------------------------------------------------ */

/* Tells it once; and lets go of the reference that prism_e2b_run_begin() took. */
static void
tell (PrismE2bRun *self, const GError *error)
{
  if (self->told)
    return;
  if (self->sweeping && error == NULL && !self->settled)
    {
      self->settled = TRUE; /* told when nothing of it is left */
      return;
    }
  self->told = self->over = TRUE;
  self->ended_us = g_get_monotonic_time ();
  prism_e2b_stop_source (&self->timer);
  prism_e2b_stop_source (&self->grace);
  prism_e2b_stop_source (&self->watch);
  if (self->opening != NULL)
    prism_e2b_call_cancel (g_steal_pointer (&self->opening));
  g_cancellable_cancel (self->stop);
  self->funcs.ended (self, error, self->data);
  prism_e2b_run_unref (self);
}

static gboolean grace_over (gpointer data);

/* The stream is over without an end: nobody knows how the command did. */
static void
lose (PrismE2bRun *self, const char *reason)
{
  if (self->told)
    return;
  if (!self->ended && self->spec.wall_us != 0 && g_get_monotonic_time () + NEAR_US >= self->spec.wall_us)
    {
      self->outcome = PRISM_OUTCOME_WALL_EXCEEDED;
      self->limit = "wall-time-ms";
    }
  else if (!self->ended)
    {
      g_free (self->reason);
      self->reason = g_strdup (reason);
      self->outcome = PRISM_OUTCOME_LOST;
      if (!self->sweeping)
        sweep (self, 0, NULL, NULL);
      if (self->sweeping)
        {
          /* Told when nothing of it is left; what is not known does not become known by then. */
          self->settled = TRUE;
          if (self->grace == NULL)
            self->grace = start_timer (self, GRACE_MS, grace_over);
          return;
        }
    }
  tell (self, NULL);
}

static gboolean
grace_over (gpointer data)
{
  PrismE2bRun *self = data;

  if (self->settled)
    {
      self->sweeping = FALSE;
      tell (self, NULL);
    }
  else
    lose (self, "it was told to end, and the service did not say that it did");
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
  if (self->told || self->forced || self->settled)
    return;
  self->forced = TRUE;
  self->outcome = outcome;
  self->limit = limit;
  /* Before it began there is nothing to end yet: it is ended as soon as it has a pid. */
  if (self->pid > 0)
    sweep (self, self->spec.grace_ms, NULL, NULL);
  prism_e2b_stop_source (&self->grace);
  self->grace = start_timer (self, self->spec.grace_ms + GRACE_MS, grace_over);
  /* Who did not take its output must not keep its end from being heard. */
  prism_e2b_run_go_on (self);
}

void
prism_e2b_run_kill (PrismE2bRun *self, PrismE2bScriptEnded done, gpointer data)
{
  send_kill (self);
  sweep (self, 0, done, data);
}

void
prism_e2b_run_finish (PrismE2bRun *self, PrismOutcome outcome, const char *limit, const char *reason)
{
  if (self->told)
    return;
  if (!self->ended && !self->forced)
    {
      self->outcome = outcome;
      self->limit = limit;
      g_free (self->reason);
      self->reason = g_strdup (reason);
    }
  self->settled = TRUE;
  tell (self, NULL);
}

void
prism_e2b_run_detach (PrismE2bRun *self)
{
  if (self->told)
    return;
  g_free (self->reason);
  self->reason = g_strdup ("it was let go of, and runs on");
  self->settled = TRUE;
  tell (self, NULL);
}

static gboolean
timed_out (gpointer data)
{
  prism_e2b_run_end (data, PRISM_OUTCOME_TIMED_OUT, NULL);
  return G_SOURCE_REMOVE;
}

/* Who holds its streams lives on; they are not listened to any more. */
static void
finish_held (PrismE2bRun *self)
{
  if (self->told || self->ended)
    return;
  if (self->status == PRISM_E2B_WATCH_GONE)
    {
      prism_e2b_run_finish (self, PRISM_OUTCOME_LOST, NULL,
                            "it ended, but what it started holds its streams, and the service does not say how it did");
      return;
    }
  self->ended = TRUE;
  self->outcome = WIFEXITED (self->status) ? PRISM_OUTCOME_EXITED : PRISM_OUTCOME_SIGNALLED;
  self->exit_code = WIFEXITED (self->status) ? WEXITSTATUS (self->status) : -1;
  self->term_signal = WIFSIGNALED (self->status) ? WTERMSIG (self->status) : 0;
  tell (self, NULL);
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
static void follow (PrismE2bRun *self, gboolean start);

static void
take_data (PrismE2bRun *self, PrismE2bEvent *event)
{
  guint index = event->stream == PRISM_STREAM_STDERR;
  gsize size, keep;
  const guint8 *data = g_bytes_get_data (event->bytes, &size);

  self->total[index] += size;
  keep = MIN (size, (gsize)MAX (self->spec.max_kept - (gint64)self->kept[index]->len, 0));
  if (self->forced)
    keep = 0;
  else if (self->spec.max_total > 0)
    keep = MIN (keep, (gsize)MAX (self->spec.max_total - (gint64)self->kept[index]->len, 0));
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
    sweep (self, self->spec.grace_ms, NULL, NULL);
  else if (self->spec.watched)
    self->watch = start_timer (self, WATCH_MS, watch);
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

/* Its sandbox is paused, so its stream ended: it did not. */
static void
close_stream (PrismE2bRun *self)
{
  g_clear_object (&self->stream);
  g_cancellable_cancel (self->stop);
  g_object_unref (self->stop);
  self->stop = g_cancellable_new ();
  prism_e2b_decoder_clear (&self->decoder);
  prism_e2b_decoder_init (&self->decoder, PRISM_E2B_ENVELOPE_MOST_BYTES);
  self->at = self->filled = 0;
  self->reading = FALSE;
}

static void
broke (PrismE2bRun *self, const GError *error)
{
  if (self->suspended)
    close_stream (self);
  else if (self->pid == 0)
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
  else if (self->suspended)
    close_stream (self);
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

  while (!self->told && !self->held && !self->settled && self->stream != NULL && self->at < self->filled)
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
  if (!self->told && !self->held && !self->settled && self->stream != NULL)
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

  if (source != (GObject *)self->stream)
    return; /* of before a pause */
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
  else if (self->suspended)
    close_stream (self);
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
  if (self->reading || self->stream == NULL)
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
      if (self->pid == 0)
        tell (self, error);
      else
        lose (self, error->message);
      return;
    }
  self->stream = g_steal_pointer (&reply->stream);
  if (self->buffer == NULL)
    self->buffer = g_malloc (CHUNK);
  read_more (self);
}

/* --- over a pause --------------------------------------------------------------------------------- */

void
prism_e2b_run_suspend (PrismE2bRun *self)
{
  if (self->told || self->suspended || self->pid == 0)
    return;
  self->suspended = TRUE;
  if (self->timer != NULL)
    self->late_us -= g_get_monotonic_time ();
  prism_e2b_stop_source (&self->timer);
}

void
prism_e2b_run_resume (PrismE2bRun *self, const PrismE2bIdentity *identity)
{
  if (self->told || !self->suspended)
    return;
  self->suspended = FALSE;
  if (self->late_us != 0)
    {
      self->timer = start_timer (self, MAX (self->late_us, 0) / 1000, timed_out);
      self->late_us += g_get_monotonic_time ();
    }
  if (identity != NULL)
    self->spec.identity = identity;
  else if (self->stream != NULL) /* there was no pause */
    return;
  close_stream (self);
  self->gapped = TRUE;
  follow (self, FALSE);
}

void
prism_e2b_run_begin (PrismE2bRun *self)
{
  prism_e2b_run_ref (self);
  self->begun_us = g_get_monotonic_time ();
  if (self->spec.timeout_ms > 0)
    {
      self->timer = start_timer (self, self->spec.timeout_ms, timed_out);
      self->late_us = self->begun_us + self->spec.timeout_ms * 1000;
    }
  follow (self, self->spec.start != NULL);
}

/* No deadline goes with it: one would end the process, whoever follows it. */
static void
follow (PrismE2bRun *self, gboolean start)
{
  g_autoptr (GBytes) connect = !start ? prism_e2b_connect_new (self->pid != 0 ? self->pid : self->spec.pid) : NULL;
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
    .service_ms = start && self->spec.lasting && self->spec.timeout_ms > 0 ? self->spec.timeout_ms + SPARE_MS : 0,
  };

  self->opening = prism_e2b_client_send (self->spec.client, &request, opened, self);
}

/* --- its standard input ------------------------------------------------------------------------------ */

typedef struct
{
  PrismE2bRun *run;
  PrismE2bWritten written;
  gpointer data;
} Writing;

/* Who does not read, or is over, takes no harm of it; but one that waits for what is lost
 * would wait for ever, or go by half of it. */
static void
lose_input (PrismE2bRun *self, const GError *error)
{
  g_autofree char *reason = NULL;

  g_debug ("%s", error->message);
  if (self->told || self->ended || self->forced
      || g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND)
      || strstr (error->message, "writing to stdin") != NULL || strstr (error->message, "writing to tty") != NULL)
    return;
  reason = g_strdup_printf ("its input was lost: %s", error->message);
  lose (self, reason);
}

static void
input_taken (PrismE2bReply *reply, const GError *error, gpointer data)
{
  Writing *writing = data;

  if (error != NULL)
    lose_input (writing->run, error);
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

  if (size > 0)
    self->typed = bytes_data[size - 1];
  send (self, "/process.Process/SendInput", "write to the command", body, FALSE, input_taken,
        writing_new (self, written, data));
}

void
prism_e2b_run_close_stdin (PrismE2bRun *self, PrismE2bWritten written, gpointer data)
{
  /* In the middle of a line the first one only hands over what is there. */
  static const guint8 ends[] = { 4, 4 };
  gboolean is_whole = self->typed == 0 || self->typed == '\n' || self->typed == '\r' || self->typed == ends[0];
  g_autoptr (GBytes) body = self->spec.pty ? prism_e2b_input_new (self->pid, TRUE, ends, is_whole ? 1 : 2)
                                           : prism_e2b_close_stdin_new (self->pid);

  send (self, self->spec.pty ? "/process.Process/SendInput" : "/process.Process/CloseStdin",
        "close the command's input", body, !self->spec.pty, input_taken, writing_new (self, written, data));
}

/* --- the result ----------------------------------------------------------------------------------------- */

static gboolean
is_truncated (PrismE2bRun *self, guint index)
{
  return self->gapped || (self->spec.max_kept >= 0 && self->total[index] > self->kept[index]->len);
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
