/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-agent-ask-private.h"

#include "prism-operation-private.h"
#include "prism-sandbox-error.h"

#define SENT_AT_ONCE  (64u * 1024u)
#define FRAMES_A_STEP 16

static void
fail (PrismAgentAsk *self, GError *error)
{
  if (self->error == NULL)
    self->error = error;
  else
    g_error_free (error);
  self->over = TRUE;
}

void
prism_agent_ask_cancel (PrismAgentAsk *self)
{
  g_auto (PrismAgentFrame) frame = { 0 };
  prism_agent_frame_init (&frame, PRISM_WIRE_CANCEL, 0, 0);
  prism_agent_frame_put (&frame, 0, 4);
  prism_agent_channel_send (self->channel, &frame, self->ticket);
}

/* The answer is not waited for any more; the agent is told to stop. */
static void
give_up (PrismAgentAsk *self, PrismSandboxError code, const char *why)
{
  g_autofree char *where = self->path != NULL ? prism_agent_dup_printable (self->path) : NULL;
  fail (self, g_error_new (PRISM_SANDBOX_ERROR, (gint)code, "%s%s%s%s: %s", self->what, where != NULL ? " “" : "",
                           where != NULL ? where : "", where != NULL ? "”" : "", why));
  prism_agent_ask_cancel (self);
}

static void
grant (PrismAgentAsk *self, gsize size)
{
  g_auto (PrismAgentFrame) frame = { 0 };
  prism_agent_frame_init (&frame, PRISM_WIRE_CREDIT, 0, 0);
  prism_agent_frame_put (&frame, 3, 1);
  prism_agent_frame_put (&frame, size, 4);
  prism_agent_channel_lock (self->channel);
  self->ticket->call.may_receive[3] += (gint64)size;
  prism_agent_channel_unlock (self->channel);
  prism_agent_channel_send (self->channel, &frame, self->ticket);
}

static void
take_data (PrismAgentAsk *self, PrismAgentInbox *inbox, gboolean over)
{
  gboolean credited = self->ticket->call.type == PRISM_WIRE_READ || self->ticket->call.type == PRISM_WIRE_SEARCH;
  if (inbox->size > self->most - self->data->len)
    give_up (self, PRISM_SANDBOX_ERROR_LIMIT, "it is larger than max-file-bytes; read it in parts");
  else
    {
      g_byte_array_append (self->data, inbox->data, (guint)inbox->size);
      if (credited && !over && inbox->size > 0)
        grant (self, inbox->size);
    }
  if (inbox->size > 0 && self->operation != NULL)
    prism_operation_renew_deadline (self->operation);
  prism_agent_inbox_clear (inbox);
}

/* What there is credit for. TRUE: it could go on at once. */
static gboolean
send_data (PrismAgentAsk *self)
{
  gsize size = g_bytes_get_size (self->send);
  for (guint i = 0; i < FRAMES_A_STEP && !self->sent_last; i++)
    {
      prism_agent_channel_lock (self->channel);
      gint64 credit = self->ticket->call.may_send;
      prism_agent_channel_unlock (self->channel);
      gsize n = MIN (MIN (size - self->sent, SENT_AT_ONCE), (gsize)MAX (credit, 0));
      if ((n == 0 && self->sent < size) || prism_agent_channel_is_congested (self->channel))
        return FALSE;
      gboolean last = self->sent + n == size;
      g_auto (PrismAgentFrame) frame = { 0 };
      prism_agent_frame_init (&frame, PRISM_WIRE_DATA, 0, last ? PRISM_WIRE_LAST : 0);
      prism_agent_frame_put_bytes (&frame, (const guint8 *)g_bytes_get_data (self->send, NULL) + self->sent, n);
      prism_agent_channel_lock (self->channel);
      self->ticket->call.may_send -= (gint64)n;
      prism_agent_channel_unlock (self->channel);
      prism_agent_channel_send (self->channel, &frame, self->ticket);
      self->sent += n;
      self->sent_last = last;
    }
  return !self->sent_last;
}

static void
submit (PrismAgentAsk *self)
{
  GError *error = NULL;
  self->submitted = TRUE;
  self->ticket->waiter = self->waiter;
  if (self->waiter == NULL && self->operation != NULL)
    self->ticket->job = &self->job;
  guint n_fds = self->pass_fd >= 0 ? 1 : 0;
  if (!prism_agent_sandbox_check_running (self->sandbox, &error)
      || !prism_agent_channel_submit (self->channel, self->ticket, &self->frame, &self->pass_fd, n_fds, &error))
    fail (self, error);
  prism_agent_frame_clear (&self->frame);
}

static void
take_news (PrismAgentAsk *self)
{
  PrismAgentCall *call = &self->ticket->call;
  prism_agent_channel_lock (self->channel);
  PrismAgentInbox inbox = call->in[0];
  call->in[0] = (PrismAgentInbox){ 0 };
  gboolean over = call->id == 0, settled = call->phase == PRISM_AGENT_PHASE_OVER, overflow = call->overflow;
  guint32 error = call->error;
  prism_agent_channel_unlock (self->channel);
  take_data (self, &inbox, over);
  if (self->over)
    return;
  self->error_code = error;
  self->error_number = call->error_number;
  if (error != 0)
    fail (self, prism_agent_sandbox_dup_error (self->sandbox, call, self->what, self->path));
  else if (overflow)
    give_up (self, PRISM_SANDBOX_ERROR_LIMIT, "it has too many entries for one listing");
  else if (settled)
    self->over = TRUE;
  else if (over)
    {
      GError *end = NULL;
      prism_agent_channel_get_end (self->channel, &end);
      fail (self, end);
    }
  else if (self->send != NULL)
    self->again = send_data (self);
}

static void
step (PrismAgentAsk *self, gint64 now)
{
  self->again = FALSE;
  if (!self->submitted)
    submit (self);
  if (!self->over)
    take_news (self);
  if (self->operation != NULL)
    self->deadline = prism_operation_get_deadline (self->operation);
  if (self->over)
    return;
  if (g_cancellable_is_cancelled (self->cancellable))
    give_up (self, PRISM_SANDBOX_ERROR_CANCELLED, "cancelled");
  else if (self->deadline != 0 && now >= self->deadline)
    give_up (self, PRISM_SANDBOX_ERROR_TIMEOUT, "no answer before its deadline");
}

static void
finish (PrismAgentAsk *self)
{
  gint64 confirm_by =
      g_get_monotonic_time () + prism_agent_sandbox_get_limits (self->sandbox)->cleanup_deadline_ms * 1000;
  if (self->operation != NULL && self->error != NULL)
    prism_operation_fail (self->operation, self->error);
  else if (self->operation != NULL)
    self->answer (self);
  prism_agent_channel_abandon (self->channel, g_steal_pointer (&self->ticket), confirm_by);
  prism_agent_admission_work_ends (prism_agent_sandbox_get_admission (self->sandbox));
}

/* --- two ways to wait --- */

static gint64
next_step (const PrismAgentAsk *self, gint64 now)
{
  return self->again ? now : self->deadline != 0 ? self->deadline : G_MAXINT64;
}

static void
run_here (PrismAgentAsk *self)
{
  PrismAgentWaiter waiter;
  GPollFD fds[2];
  prism_agent_waiter_init (&waiter, self->channel, self->cancellable);
  if (self->send != NULL)
    prism_agent_waiter_ensure_wake (&waiter); /* congestion ends without news for it */
  self->waiter = &waiter;
  if (self->submitted)
    {
      prism_agent_channel_lock (self->channel);
      self->ticket->waiter = &waiter;
      prism_agent_channel_unlock (self->channel);
    }
  step (self, g_get_monotonic_time ());
  while (!self->over)
    {
      prism_agent_waiter_poll (&waiter, fds, 0, next_step (self, g_get_monotonic_time ()));
      step (self, g_get_monotonic_time ());
    }
  prism_agent_channel_lock (self->channel);
  self->ticket->waiter = NULL;
  prism_agent_channel_unlock (self->channel);
  prism_agent_waiter_clear (&waiter);
}

static gboolean
ask_step (PrismAgentJob *job, gint64 now)
{
  PrismAgentAsk *self = (PrismAgentAsk *)job;
  step (self, now);
  job->deadline = next_step (self, now);
  if (!self->over)
    return TRUE;
  if (self->cancelled_id != 0)
    g_signal_handler_disconnect (self->cancellable, self->cancelled_id);
  self->cancelled_id = 0;
  finish (self);
  return FALSE;
}

static void
ask_free (PrismAgentJob *job)
{
  PrismAgentAsk *self = (PrismAgentAsk *)job;
  prism_agent_frame_clear (&self->frame);
  g_clear_pointer (&self->ticket, prism_agent_ticket_unref);
  g_clear_pointer (&self->data, g_byte_array_unref);
  g_clear_pointer (&self->send, g_bytes_unref);
  g_clear_error (&self->error);
  g_clear_object (&self->cancellable);
  g_clear_object (&self->operation);
  g_free (self->path);
  prism_agent_channel_unref (self->channel);
  g_object_unref (self->sandbox);
  g_free (self);
}

PrismAgentAsk *
prism_agent_ask_new (PrismAgentSandbox *sandbox,
                     PrismOperation *operation,
                     enum prism_wire_type type,
                     const char *what,
                     const char *path,
                     void (*answer) (PrismAgentAsk *ask))
{
  PrismAgentAsk *self = g_new0 (PrismAgentAsk, 1);
  prism_agent_job_init (&self->job, ask_step, ask_free);
  self->sandbox = g_object_ref (sandbox);
  self->channel = prism_agent_channel_ref (prism_agent_sandbox_get_channel (sandbox));
  self->operation = operation != NULL ? g_object_ref (operation) : NULL;
  self->ticket = prism_agent_ticket_new (type);
  self->what = what;
  self->path = g_strdup (path);
  self->answer = answer;
  self->data = g_byte_array_new ();
  self->pass_fd = -1;
  self->most = type == PRISM_WIRE_LIST || type == PRISM_WIRE_PROCS
                   ? PRISM_AGENT_MAX_ENTRIES_BYTES
                   : (gsize)prism_agent_sandbox_get_limits (sandbox)->max_file_bytes;
  prism_agent_frame_init (&self->frame, type, 0, 0);
  return self;
}

void
prism_agent_ask_run (PrismAgentAsk *self)
{
  g_autoptr (GError) error = NULL;
  prism_agent_admission_work_begins (prism_agent_sandbox_get_admission (self->sandbox));
  if (prism_operation_get_may_block (self->operation))
    {
      GCancellable *cancellable = prism_operation_get_caller_cancellable (self->operation);
      self->cancellable = cancellable != NULL ? g_object_ref (cancellable) : NULL;
      run_here (self);
      finish (self);
      prism_agent_job_unref (&self->job);
      return;
    }
  self->cancellable = g_object_ref (prism_operation_get_cancellable (self->operation));
  self->cancelled_id = prism_agent_job_watch_cancellable (&self->job, self->channel, self->cancellable);
  if (prism_agent_channel_add_job (self->channel, &self->job, &error))
    return;
  g_signal_handler_disconnect (self->cancellable, self->cancelled_id);
  fail (self, g_steal_pointer (&error));
  finish (self);
  prism_agent_job_unref (&self->job);
}

gboolean
prism_agent_ask_begin (PrismAgentAsk *self, GError **error)
{
  submit (self);
  if (self->error == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&self->error));
  return FALSE;
}

gboolean
prism_agent_ask_wait (PrismAgentAsk *self, gint64 deadline, GCancellable *cancellable, GError **error)
{
  prism_agent_admission_work_begins (prism_agent_sandbox_get_admission (self->sandbox));
  self->deadline = deadline;
  self->cancellable = cancellable != NULL ? g_object_ref (cancellable) : NULL;
  run_here (self);
  prism_agent_admission_work_ends (prism_agent_sandbox_get_admission (self->sandbox));
  if (self->error == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&self->error));
  gint64 confirm_by =
      g_get_monotonic_time () + prism_agent_sandbox_get_limits (self->sandbox)->cleanup_deadline_ms * 1000;
  prism_agent_channel_abandon (self->channel, g_steal_pointer (&self->ticket), confirm_by);
  return FALSE;
}
