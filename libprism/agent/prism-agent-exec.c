/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One command's life: queued, sent, running, exited, its last output read. */
#include "prism-agent-exec-private.h"

#include "prism-agent-egress-private.h"
#include "prism-agent-lifecycle-private.h"
#include "prism-command-private.h"
#include "prism-fd-private.h"
#include "prism-operation-private.h"
#include "prism-result.h"
#include "prism-sandbox-error.h"

#include <signal.h>

/* After the exit, output of children that the command left behind is waited for
 * until it pauses for IDLE_US, and no longer than LAST_US. What was written before
 * the exit is always read. */
#define IDLE_US (100 * 1000)
#define LAST_US (500 * 1000)

/* --- telling it to end --- */

/* The first reason counts. */
static void
stop (PrismAgentExec *self, PrismOutcome reason, gint64 grace_ms)
{
  if (self->stopping || self->phase != PRISM_AGENT_EXEC_RUNNING)
    return;
  const PrismAgentLimits *limits = prism_agent_sandbox_get_limits (self->sandbox);
  g_auto (PrismAgentFrame) frame = { 0 };
  prism_agent_frame_init (&frame, PRISM_WIRE_CANCEL, 0, 0);
  prism_agent_frame_put (&frame, (guint64)grace_ms, 4);
  self->stopping = TRUE;
  self->reason = reason;
  self->confirm_by = self->now - self->paused_us + (grace_ms + limits->cleanup_deadline_ms) * 1000;
  prism_agent_channel_send (self->channel, &frame, self->ticket);
}

/* --- starting --- */

static void
fail (PrismAgentExec *self, GError *error)
{
  self->phase = PRISM_AGENT_EXEC_DONE;
  self->error = error;
}

static void G_GNUC_PRINTF (3, 4) fail_with (PrismAgentExec *self, PrismSandboxError code, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  fail (self, g_error_new_valist (PRISM_SANDBOX_ERROR, (gint)code, format, args));
  va_end (args);
}

/* One that is detached lives on, whoever its host is. */
static gboolean
is_last (PrismAgentExec *self)
{
  return self->command->last && !prism_agent_sandbox_get_lifecycle (self->sandbox)->detached
         && (prism_agent_sandbox_get_hello (self->sandbox)->features & PRISM_WIRE_FEATURE_LAST) != 0;
}

static gboolean
submit (PrismAgentExec *self, GError **error)
{
  int fds[PRISM_WIRE_MAX_FDS] = { -1, -1, -1 };
  guint n_fds = 0;
  gboolean pty = prism_command_get_pty_columns (self->command) > 0;
  gboolean sent = prism_agent_exec_open_streams (self, fds, &n_fds, error);
  if (sent)
    {
      gboolean feeds = self->in.open || self->in.worker != NULL;
      guint32 flags = (self->in.framed ? PRISM_WIRE_EXEC_FRAMED : 0) | (pty ? PRISM_WIRE_EXEC_PTY : 0)
                      | (feeds && !pty ? PRISM_WIRE_EXEC_STDIN : 0) | (self->ticket->last ? PRISM_WIRE_EXEC_LAST : 0);
      gint64 cap = prism_agent_sandbox_get_limits (self->sandbox)->max_output_bytes;
      g_auto (PrismAgentFrame) frame = { 0 };
      g_auto (GStrv) env = prism_agent_egress_follow (self->sandbox, prism_command_get_env (self->command));
      const PrismAgentExecRequest request = { .flags = flags,
                                              .env = (const char *const *)env,
                                              .max_output = self->in.framed ? (guint64)cap : 0,
                                              .uuid = "",
                                              .tag = "" };
      prism_agent_request_exec (&frame, self->command, &request);
      self->ticket->call.flags = flags;
      sent = prism_agent_channel_submit (self->channel, self->ticket, &frame, fds, n_fds, error);
    }
  for (guint i = 0; i < G_N_ELEMENTS (fds); i++)
    prism_clear_fd (&fds[i]);
  return sent;
}

static void
set_timeout (PrismAgentExec *self)
{
  gint64 wall = prism_agent_sandbox_get_wall_deadline (self->sandbox);
  gint64 end = MIN (self->give_up, wall);
  self->effective_timeout_ms = end == G_MAXINT64 ? 0 : MAX ((end - self->started + 999) / 1000, 1);
}

static void
start (PrismAgentExec *self)
{
  GError *error = NULL;
  if (!prism_agent_sandbox_check_running (self->sandbox, &error)
      || !prism_agent_admission_count (prism_agent_sandbox_get_admission (self->sandbox), &error))
    {
      fail (self, error);
      return;
    }
  self->ticket = prism_agent_ticket_new (PRISM_WIRE_EXEC);
  self->ticket->waiter = self->waiter;
  self->ticket->job = self->waiter == NULL ? &self->job : NULL;
  self->ticket->last = is_last (self);
  self->started = self->last_read = self->now;
  if (!submit (self, &error))
    {
      fail (self, error);
      return;
    }
  self->phase = PRISM_AGENT_EXEC_RUNNING;
  set_timeout (self);
}

/* What is paused does not run out of time: neither the command's nor the call's. */
static void
follow_pauses (PrismAgentExec *self)
{
  gboolean paused;
  gint64 us = prism_agent_lifecycle_get_paused (prism_agent_sandbox_get_lifecycle (self->sandbox), self->now, &paused);
  self->paused_us = us - self->paused_before;
  if (paused != self->paused)
    prism_operation_hold_deadline (PRISM_OPERATION (self->operation), paused);
  self->paused = paused;
}

/* FALSE too while nothing is measured. */
static gboolean
is_over (PrismAgentExec *self, gint64 when)
{
  return when != G_MAXINT64 && !self->paused && self->now >= when + self->paused_us;
}

static gint64
next_look (PrismAgentExec *self, gint64 when)
{
  return when == G_MAXINT64 || self->paused ? G_MAXINT64 : when + self->paused_us;
}

static void
step_queued (PrismAgentExec *self)
{
  if (g_cancellable_is_cancelled (self->cancellable))
    fail_with (self, PRISM_SANDBOX_ERROR_CANCELLED, "cancelled before the command started");
  else if (prism_agent_channel_get_end (self->channel, NULL) != PRISM_AGENT_END_NONE)
    {
      prism_agent_channel_get_end (self->channel, &self->error);
      self->phase = PRISM_AGENT_EXEC_DONE;
    }
  else if (prism_agent_admission_is_granted (prism_agent_sandbox_get_admission (self->sandbox), &self->turn))
    start (self);
  else if (is_over (self, self->give_up))
    fail_with (self, PRISM_SANDBOX_ERROR_TIMEOUT,
               "its timeout passed while the command waited for others: max-concurrent-execs is %" G_GINT64_FORMAT,
               prism_agent_sandbox_get_limits (self->sandbox)->max_concurrent_execs);
}

/* --- running --- */

static void
take_news (PrismAgentExec *self)
{
  PrismAgentTicket *ticket = self->ticket;
  int master = -1;
  prism_agent_channel_lock (self->channel);
  gboolean news = ticket->news;
  ticket->news = FALSE;
  PrismAgentExit exit = ticket->call.exit;
  guint32 error = ticket->call.error;
  gboolean over = ticket->call.id == 0;
  master = g_steal_fd (&ticket->call.fd);
  prism_agent_channel_unlock (self->channel);
  if (!news)
    return;
  if (master >= 0 && !prism_agent_exec_take_master (self, master))
    {
      prism_agent_channel_accuse (self->channel, "a terminal's master that is none");
      over = TRUE;
    }
  if (exit.how != 0)
    {
      if (self->exit.how == 0)
        self->exited = self->now;
      self->exit = exit;
      /* Told to end, it has ended when its whole tree has: with GONE, where there is one. */
      if (!self->stopping || over)
        self->phase = PRISM_AGENT_EXEC_EXITED;
    }
  else if (error != 0)
    fail (self, prism_agent_sandbox_dup_exec_error (self->sandbox, &ticket->call, self->command));
  else if (over)
    {
      self->end = prism_agent_channel_get_end (self->channel, NULL);
      self->exited = self->now;
      self->phase = PRISM_AGENT_EXEC_EXITED;
    }
}

static void
step_running (PrismAgentExec *self)
{
  const PrismAgentLimits *limits = prism_agent_sandbox_get_limits (self->sandbox);
  take_news (self);
  if (self->phase != PRISM_AGENT_EXEC_RUNNING)
    return;
  self->feeds = prism_agent_exec_feed (self);
  prism_agent_exec_read (self);
  if (self->over_limit)
    stop (self, PRISM_OUTCOME_OUTPUT_LIMIT, 0);
  else if (g_cancellable_is_cancelled (self->cancellable))
    stop (self, PRISM_OUTCOME_CANCELLED, limits->stop_grace_ms);
  else if (is_over (self, self->give_up))
    stop (self, PRISM_OUTCOME_TIMED_OUT, limits->stop_grace_ms);
  if (self->stopping && is_over (self, self->confirm_by))
    prism_agent_channel_accuse (self->channel, "it did not confirm a cancellation in time");
}

static void
step_exited (PrismAgentExec *self)
{
  gboolean drained = prism_agent_exec_drain (self);
  gint64 quiet = MAX (self->last_read, self->exited);
  if (!drained)
    return;
  /* With the agent gone nothing more is waited for. */
  gboolean held = self->out[0].fd >= 0 || self->out[1].fd >= 0;
  if (!held || self->end != PRISM_AGENT_END_NONE || self->now >= quiet + IDLE_US || self->now >= self->exited + LAST_US)
    self->phase = PRISM_AGENT_EXEC_DONE;
}

static gboolean
has_ready_output (const PrismAgentExec *self)
{
  for (guint i = 0; i < 2; i++)
    if (self->out[i].fd >= 0 && self->out[i].ready && !g_atomic_int_get (&self->out[i].paused))
      return TRUE;
  return FALSE;
}

static gint64
next_deadline (PrismAgentExec *self)
{
  switch (self->phase)
    {
    case PRISM_AGENT_EXEC_QUEUED:
      return next_look (self, self->give_up);
    case PRISM_AGENT_EXEC_RUNNING:
      if (self->feeds || has_ready_output (self))
        return self->now;
      return next_look (self, self->stopping ? self->confirm_by : self->give_up);
    case PRISM_AGENT_EXEC_EXITED:
      if (has_ready_output (self))
        return self->now;
      if (self->in.framed)
        return G_MAXINT64; /* only handlers are waited for */
      return MIN (MAX (self->last_read, self->exited) + IDLE_US, self->exited + LAST_US);
    case PRISM_AGENT_EXEC_DONE:
    default:
      return self->now;
    }
}

static void
step (PrismAgentExec *self, gint64 now)
{
  self->now = now;
  follow_pauses (self);
  if (self->phase == PRISM_AGENT_EXEC_QUEUED)
    step_queued (self);
  if (self->phase == PRISM_AGENT_EXEC_RUNNING)
    step_running (self);
  if (self->phase == PRISM_AGENT_EXEC_EXITED)
    step_exited (self);
  self->deadline = next_deadline (self);
}

/* --- the result --- */

static PrismOutcome
outcome_of (const PrismAgentExec *self, const char **limit)
{
  guint32 flags = self->exit.flags;
  switch (self->end)
    {
    case PRISM_AGENT_END_WALL:
      *limit = "wall-time-ms";
      return PRISM_OUTCOME_WALL_EXCEEDED;
    case PRISM_AGENT_END_IDLE:
      *limit = "idle-timeout-ms";
      return PRISM_OUTCOME_WALL_EXCEEDED;
    case PRISM_AGENT_END_LOST:
    case PRISM_AGENT_END_CLOSED:
      return PRISM_OUTCOME_LOST;
    case PRISM_AGENT_END_NONE:
    default:
      break;
    }
  if (self->over_limit || (flags & PRISM_WIRE_EXITED_LIMIT) != 0)
    {
      *limit = "max-output-bytes";
      return PRISM_OUTCOME_OUTPUT_LIMIT;
    }
  /* Without the flag it had ended by itself before it was told to. */
  if (self->stopping && (flags & PRISM_WIRE_EXITED_CANCELLED) != 0)
    return self->reason;
  if (self->exit.how == PRISM_WIRE_HOW_CODE)
    return PRISM_OUTCOME_EXITED;
  if (self->exit.how == PRISM_WIRE_HOW_SIGNAL || (flags & PRISM_WIRE_EXITED_SHIM) != 0)
    return PRISM_OUTCOME_SIGNALLED;
  return PRISM_OUTCOME_LOST;
}

static char *
dup_loss (PrismAgentExec *self)
{
  if (self->end == PRISM_AGENT_END_NONE)
    return g_strdup ("the agent does not know how it ended");
  return prism_agent_sandbox_dup_loss (self->sandbox);
}

static PrismResult *
dup_result (PrismAgentExec *self)
{
  const char *limit = NULL;
  PrismOutcome outcome = outcome_of (self, &limit);
  gboolean truncated[2];
  guint64 total[2];
  GBytes *bytes[2];
  for (guint i = 0; i < 2; i++)
    {
      PrismAgentCapture *capture = &self->out[i].capture;
      total[i] = capture->total;
      truncated[i] = prism_command_get_capture (self->command) && prism_agent_capture_is_truncated (capture);
      bytes[i] = prism_agent_capture_take (capture);
    }
  g_autofree char *reason = outcome == PRISM_OUTCOME_LOST ? dup_loss (self) : NULL;
  int term_signal = self->exit.how == PRISM_WIRE_HOW_SIGNAL ? self->exit.code : SIGKILL;
  if (outcome == PRISM_OUTCOME_SIGNALLED && term_signal == SIGKILL)
    limit = prism_agent_sandbox_find_limit (self->sandbox);
  PrismResult *result = g_object_new (
      PRISM_TYPE_RESULT, "outcome", outcome, "exit-code", outcome == PRISM_OUTCOME_EXITED ? self->exit.code : -1,
      "term-signal", outcome == PRISM_OUTCOME_SIGNALLED ? term_signal : 0, "stdout-bytes", bytes[0], "stderr-bytes",
      bytes[1], "stdout-truncated", truncated[0], "stderr-truncated", truncated[1], "stdout-total", total[0],
      "stderr-total", total[1], "duration-us", self->exited - self->started, "effective-timeout-ms",
      self->effective_timeout_ms, "limit", limit, "reason", reason, NULL);
  g_bytes_unref (bytes[0]);
  g_bytes_unref (bytes[1]);
  return result;
}

static void
finish (PrismAgentExec *self)
{
  prism_agent_exec_close_streams (self);
  if (self->ticket != NULL)
    {
      /* GONE, if it comes, finds nobody. */
      prism_agent_channel_abandon (self->channel, g_steal_pointer (&self->ticket), 0);
    }
  prism_agent_admission_leave (prism_agent_sandbox_get_admission (self->sandbox), &self->turn);
  if (self->error != NULL)
    {
      prism_operation_fail (PRISM_OPERATION (self->operation), self->error);
      return;
    }
  g_autoptr (PrismResult) result = dup_result (self);
  prism_exec_operation_complete (self->operation, result);
}

/* --- in the caller's thread --- */

static void
grant_waiter (gpointer data)
{
  prism_agent_waiter_wake (((PrismAgentExec *)data)->waiter);
}

static guint
fill_poll (PrismAgentExec *self, GPollFD *fds)
{
  guint n = 0;
  for (guint i = 0; i < 2; i++)
    if (prism_agent_output_wants (&self->out[i]))
      fds[n++] = (GPollFD){ self->out[i].fd, G_IO_IN, 0 };
  if (prism_agent_input_wants_from (&self->in))
    fds[n++] = (GPollFD){ self->in.from, G_IO_IN, 0 };
  if (prism_agent_input_wants_to (&self->in))
    fds[n++] = (GPollFD){ self->in.to, G_IO_OUT, 0 };
  return n;
}

static void
take_poll (PrismAgentExec *self, const GPollFD *fds, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      if (fds[i].revents == 0)
        continue;
      if (fds[i].fd == self->in.from)
        self->in.from_ready = TRUE;
      else if (fds[i].fd == self->in.to)
        self->in.to_ready = TRUE;
      else
        self->out[fds[i].fd == self->out[0].fd ? 0 : 1].ready = TRUE;
    }
}

static void
run_here (PrismAgentExec *self)
{
  PrismAgentWaiter waiter;
  GPollFD fds[4 + 2];
  prism_agent_waiter_init (&waiter, self->channel, self->cancellable);
  self->waiter = &waiter;
  if (!prism_agent_admission_enter (prism_agent_sandbox_get_admission (self->sandbox), &self->turn, grant_waiter, self))
    prism_agent_waiter_ensure_wake (&waiter);
  step (self, self->began);
  while (self->phase != PRISM_AGENT_EXEC_DONE)
    {
      guint n = fill_poll (self, fds);
      prism_agent_waiter_poll (&waiter, fds, n, self->deadline);
      take_poll (self, fds, n);
      step (self, g_get_monotonic_time ());
    }
  finish (self);
  prism_agent_waiter_clear (&waiter);
}

/* --- in the I/O thread --- */

static void
grant_job (gpointer data)
{
  PrismAgentExec *self = data;
  prism_agent_channel_wake_job (self->channel, &self->job);
}

static void
watch_streams (PrismAgentExec *self)
{
  for (guint i = 0; i < 2; i++)
    if (self->out[i].fd >= 0)
      prism_agent_watch_set (&self->out[i].watch, &self->job, self->out[i].fd,
                             prism_agent_output_wants (&self->out[i]) ? EPOLLIN : 0);
  if (self->in.from >= 0)
    prism_agent_watch_set (&self->in.from_watch, &self->job, self->in.from,
                           prism_agent_input_wants_from (&self->in) ? EPOLLIN : 0);
  if (self->in.to >= 0)
    prism_agent_watch_set (&self->in.to_watch, &self->job, self->in.to,
                           prism_agent_input_wants_to (&self->in) ? EPOLLOUT : 0);
}

static void
take_watches (PrismAgentExec *self)
{
  for (guint i = 0; i < 2; i++)
    self->out[i].ready |= self->out[i].watch.ready != 0;
  self->in.from_ready |= self->in.from_watch.ready != 0;
  self->in.to_ready |= self->in.to_watch.ready != 0;
  self->out[0].watch.ready = self->out[1].watch.ready = 0;
  self->in.from_watch.ready = self->in.to_watch.ready = 0;
}

static gboolean
exec_step (PrismAgentJob *job, gint64 now)
{
  PrismAgentExec *self = (PrismAgentExec *)job;
  take_watches (self);
  step (self, now);
  if (self->phase == PRISM_AGENT_EXEC_DONE)
    {
      if (self->cancelled_id != 0)
        g_signal_handler_disconnect (self->cancellable, self->cancelled_id);
      finish (self);
      return FALSE;
    }
  watch_streams (self);
  job->deadline = self->deadline;
  return TRUE;
}

static void
exec_free (PrismAgentJob *job)
{
  PrismAgentExec *self = (PrismAgentExec *)job;
  for (guint i = 0; i < 2; i++)
    prism_agent_capture_clear (&self->out[i].capture);
  g_free (g_atomic_pointer_get (&self->spare));
  g_clear_error (&self->error);
  g_clear_object (&self->cancellable);
  g_clear_object (&self->operation);
  g_clear_object (&self->command);
  prism_agent_channel_unref (self->channel);
  g_clear_object (&self->sandbox);
  g_free (self);
}

static PrismAgentExec *
exec_new (PrismAgentSandbox *sandbox, PrismExecOperation *operation)
{
  PrismAgentExec *self = g_new0 (PrismAgentExec, 1);
  prism_agent_job_init (&self->job, exec_step, exec_free);
  self->sandbox = g_object_ref (sandbox);
  self->channel = prism_agent_channel_ref (prism_agent_sandbox_get_channel (sandbox));
  self->operation = g_object_ref (operation);
  self->command = g_object_ref (prism_exec_operation_get_command (operation));
  self->began = self->now = g_get_monotonic_time ();
  gboolean paused;
  self->paused_before =
      prism_agent_lifecycle_get_paused (prism_agent_sandbox_get_lifecycle (sandbox), self->began, &paused);
  gint64 timeout = prism_command_get_timeout_ms (self->command);
  self->give_up = timeout > 0 && timeout < G_MAXINT64 / 2000 ? self->began + timeout * 1000 : G_MAXINT64;
  self->in.to = self->in.from = self->master = -1;
  gsize cap = (gsize)MIN (prism_command_get_max_output_bytes (self->command),
                          prism_agent_sandbox_get_limits (sandbox)->max_output_bytes);
  for (guint i = 0; i < 2; i++)
    {
      self->out[i].exec = self;
      self->out[i].stream = i == 0 ? PRISM_STREAM_STDOUT : PRISM_STREAM_STDERR;
      self->out[i].fd = -1;
      prism_agent_capture_init (&self->out[i].capture, cap);
    }
  return self;
}

static void
run_there (PrismAgentExec *self)
{
  g_autoptr (GError) error = NULL;
  self->cancellable = g_object_ref (prism_operation_get_cancellable (PRISM_OPERATION (self->operation)));
  self->cancelled_id = prism_agent_job_watch_cancellable (&self->job, self->channel, self->cancellable);
  prism_agent_admission_enter (prism_agent_sandbox_get_admission (self->sandbox), &self->turn, grant_job, self);
  if (prism_agent_channel_add_job (self->channel, prism_agent_job_ref (&self->job), &error))
    return;
  prism_agent_job_unref (&self->job);
  g_signal_handler_disconnect (self->cancellable, self->cancelled_id);
  prism_agent_admission_leave (prism_agent_sandbox_get_admission (self->sandbox), &self->turn);
  prism_operation_fail (PRISM_OPERATION (self->operation), error);
}

void
prism_agent_exec (PrismSandbox *sandbox, PrismExecOperation *operation)
{
  PrismAgentSandbox *agent = PRISM_AGENT_SANDBOX (sandbox);
  PrismCommand *command = prism_exec_operation_get_command (operation);
  g_autoptr (GError) error = NULL;
  if (!prism_agent_sandbox_check_running (agent, &error)
      || !prism_sandbox_spec_check_command (prism_agent_sandbox_get_spec (agent), command, &error))
    {
      prism_operation_fail (PRISM_OPERATION (operation), error);
      return;
    }
  PrismAgentExec *self = exec_new (agent, operation);
  if (prism_operation_get_may_block (PRISM_OPERATION (operation)))
    {
      GCancellable *cancellable = prism_operation_get_caller_cancellable (PRISM_OPERATION (operation));
      self->cancellable = cancellable != NULL ? g_object_ref (cancellable) : NULL;
      run_here (self);
    }
  else
    run_there (self);
  prism_agent_job_unref (&self->job);
}
