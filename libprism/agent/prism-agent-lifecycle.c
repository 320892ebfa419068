/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The states of a sandbox and its end.
 *
 *   running -> stopped (stop, kill, pause) -> removed (close)
 *   stopped by pause -> running (resume)
 *   running -> failed (agent lost, wall or idle time over) -> removed (close)
 *
 * The subclass's terminate() runs once. Whoever closes, stops or kills meanwhile
 * or afterwards waits for that one and hears what it said. It is not cut short by
 * anybody's cancellable; cleanup-deadline-ms bounds it. */
#include "prism-agent-lifecycle-private.h"

#include "prism-agent-egress-private.h"
#include "prism-fork-private.h"
#include "prism-operations-private.h"
#include "prism-sandbox-error-private.h"

#define SLACK_US (5 * G_USEC_PER_SEC)

static char *
dup_origin (gpointer sandbox)
{
  return prism_sandbox_dup_backend_name (sandbox);
}

static const PrismMethod terminate_method = {
  .name = "terminate",
  .vfunc = G_STRUCT_OFFSET (PrismAgentSandboxClass, terminate),
  .flags = PRISM_METHOD_KEEPS_WORKING,
  .errors = &prism_sandbox_operation_errors,
  .dup_origin = dup_origin,
};

void
prism_agent_lifecycle_init (PrismAgentLifecycle *self, PrismAgentSandbox *owner)
{
  self->owner = owner;
  self->forks = prism_forks ();
  g_mutex_init (&self->lock);
  g_cond_init (&self->ended);
  g_queue_init (&self->waiting);
  self->status = PRISM_SANDBOX_STATUS_RUNNING;
  self->context = g_main_context_ref_thread_default ();
}

void
prism_agent_lifecycle_clear (PrismAgentLifecycle *self)
{
  if (self->notify != NULL)
    {
      g_source_destroy (self->notify);
      g_source_unref (self->notify);
    }
  g_clear_error (&self->failure);
  g_clear_error (&self->end_error);
  g_clear_pointer (&self->context, g_main_context_unref);
  g_cond_clear (&self->ended);
  g_mutex_clear (&self->lock);
}

/* --- status --- */

gboolean
prism_agent_lifecycle_check_owner (PrismAgentLifecycle *self, GError **error)
{
  if (self->forks == prism_forks ())
    return TRUE;
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE,
                       "the sandbox belongs to the process that this one is a fork of; make one here");
  return FALSE;
}

PrismSandboxStatus
prism_agent_lifecycle_get_status (PrismAgentLifecycle *self)
{
  if (!prism_agent_lifecycle_check_owner (self, NULL))
    return PRISM_SANDBOX_STATUS_FAILED;
  g_mutex_lock (&self->lock);
  PrismSandboxStatus status = self->status;
  g_mutex_unlock (&self->lock);
  return status;
}

typedef struct
{
  GWeakRef owner;
  PrismAgentLifecycle *lifecycle; /* lives as long as the owner */
} Notice;

static gboolean
notify_arrived (gpointer data)
{
  Notice *notice = data;
  g_autoptr (GObject) owner = g_weak_ref_get (&notice->owner);
  if (owner == NULL)
    return G_SOURCE_REMOVE;
  g_mutex_lock (&notice->lifecycle->lock);
  g_clear_pointer (&notice->lifecycle->notify, g_source_unref);
  g_mutex_unlock (&notice->lifecycle->lock);
  g_object_notify (owner, "status");
  return G_SOURCE_REMOVE;
}

static void
notice_free (gpointer data)
{
  Notice *notice = data;
  g_weak_ref_clear (&notice->owner);
  g_free (notice);
}

/* In the context that the sandbox was made in, unless this thread runs it. At
 * most one is under way: it tells of the status that is then. */
static void
notify_status (PrismAgentLifecycle *self)
{
  if (g_main_context_is_owner (self->context))
    {
      g_object_notify (G_OBJECT (self->owner), "status");
      return;
    }
  g_mutex_lock (&self->lock);
  if (self->notify == NULL)
    {
      Notice *notice = g_new0 (Notice, 1);
      g_weak_ref_init (&notice->owner, self->owner);
      notice->lifecycle = self;
      self->notify = g_idle_source_new ();
      g_source_set_priority (self->notify, G_PRIORITY_DEFAULT);
      g_source_set_static_name (self->notify, "[prism] status");
      g_source_set_callback (self->notify, notify_arrived, notice, notice_free);
      g_source_attach (self->notify, self->context);
    }
  g_mutex_unlock (&self->lock);
}

gboolean
prism_agent_lifecycle_change (PrismAgentLifecycle *self, PrismSandboxStatus from, PrismSandboxStatus to)
{
  g_mutex_lock (&self->lock);
  gboolean changes = self->status == from && !self->ending;
  gint64 now = g_get_monotonic_time ();
  if (changes)
    self->status = to;
  if (changes && to == PRISM_SANDBOX_STATUS_STOPPED)
    self->paused_since = self->told_until = now;
  else if (changes && self->paused_since != 0)
    {
      self->paused_us += now - self->paused_since;
      self->paused_since = 0;
      self->resumed = now;
    }
  g_mutex_unlock (&self->lock);
  if (changes)
    notify_status (self);
  return changes;
}

gboolean
prism_agent_lifecycle_is_paused (PrismAgentLifecycle *self)
{
  g_mutex_lock (&self->lock);
  gboolean paused = self->status == PRISM_SANDBOX_STATUS_STOPPED && !self->ending;
  g_mutex_unlock (&self->lock);
  return paused;
}

gint64
prism_agent_lifecycle_get_paused (PrismAgentLifecycle *self, gint64 now, gboolean *paused)
{
  g_mutex_lock (&self->lock);
  *paused = self->paused_since != 0;
  gint64 us = self->paused_us + (*paused ? MAX (now - self->paused_since, 0) : 0);
  g_mutex_unlock (&self->lock);
  return us;
}

gint64
prism_agent_lifecycle_get_paused_since (PrismAgentLifecycle *self)
{
  g_mutex_lock (&self->lock);
  gint64 since = self->paused_since;
  g_mutex_unlock (&self->lock);
  return since;
}

gint64
prism_agent_lifecycle_claim_paused (PrismAgentLifecycle *self)
{
  g_mutex_lock (&self->lock);
  gint64 now = g_get_monotonic_time ();
  gint64 us = now - self->told_until;
  self->told_until = now;
  g_mutex_unlock (&self->lock);
  return us;
}

gint64
prism_agent_lifecycle_get_resumed (PrismAgentLifecycle *self)
{
  g_mutex_lock (&self->lock);
  gint64 resumed = self->resumed;
  g_mutex_unlock (&self->lock);
  return resumed;
}

static const char *
name_of (PrismSandboxStatus status)
{
  switch (status)
    {
    case PRISM_SANDBOX_STATUS_STOPPED:
      return "stopped";
    case PRISM_SANDBOX_STATUS_REMOVED:
      return "removed (closed)";
    case PRISM_SANDBOX_STATUS_FAILED:
      return "failed";
    case PRISM_SANDBOX_STATUS_RUNNING:
    default:
      return "running";
    }
}

gboolean
prism_agent_lifecycle_check_running (PrismAgentLifecycle *self, GError **error)
{
  if (!prism_agent_lifecycle_check_owner (self, error))
    return FALSE;
  g_mutex_lock (&self->lock);
  PrismSandboxStatus status = self->status;
  if (status == PRISM_SANDBOX_STATUS_FAILED && self->failure != NULL)
    g_propagate_prefixed_error (error, g_error_copy (self->failure), "the sandbox has failed: ");
  else if (status != PRISM_SANDBOX_STATUS_RUNNING)
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE, "the sandbox is %s, not running",
                 name_of (status));
  g_mutex_unlock (&self->lock);
  return status == PRISM_SANDBOX_STATUS_RUNNING;
}

/* --- the end --- */

static void
end_channel (PrismAgentLifecycle *self, const char *what)
{
  PrismAgentChannel *channel = prism_agent_sandbox_get_channel (self->owner);
  if (channel == NULL)
    return;
  g_autoptr (GError) error = g_error_new (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST, "the sandbox was %s", what);
  prism_agent_channel_end (channel, PRISM_AGENT_END_CLOSED, error);
}

/* Tells every command to end, and waits for that. */
static void
end_gently (PrismAgentLifecycle *self, gint64 grace_ms)
{
  PrismAgentChannel *channel = prism_agent_sandbox_get_channel (self->owner);
  gint64 until = g_get_monotonic_time () + grace_ms * 1000;
  if (channel == NULL || prism_agent_channel_cancel_all (channel, (guint32)grace_ms) == 0)
    return;
  PrismAgentWaiter waiter;
  GPollFD fds[2];
  prism_agent_waiter_init (&waiter, channel, NULL);
  while (prism_agent_channel_count_commands (channel) > 0 && g_get_monotonic_time () < until)
    prism_agent_waiter_poll (&waiter, fds, 0, MIN (until, g_get_monotonic_time () + 20 * 1000));
  prism_agent_waiter_clear (&waiter);
}

static void
answer (PrismControlOperation *operation, const GError *error)
{
  if (error != NULL)
    prism_operation_fail (PRISM_OPERATION (operation), error);
  else
    prism_control_operation_complete (operation);
}

/* The one end, in whichever thread. */
static void
run_end (PrismAgentLifecycle *self, gint64 grace_ms, const char *what)
{
  const PrismAgentLimits *limits = prism_agent_sandbox_get_limits (self->owner);
  GError *error = NULL;
  if (grace_ms > 0)
    {
      if (prism_agent_lifecycle_get_paused_since (self) != 0)
        prism_agent_sandbox_thaw (self->owner);
      end_gently (self, grace_ms);
    }
  end_channel (self, what);
  prism_agent_egress_close (prism_agent_sandbox_get_egress (self->owner));
  if (self->has_boundary)
    prism_operation_run (prism_control_operation_new (NULL), self->owner, &terminate_method,
                         limits->cleanup_deadline_ms, NULL, &error);
  prism_agent_sandbox_forget_stream (self->owner);

  g_mutex_lock (&self->lock);
  self->over = TRUE;
  self->end_error = error;
  GQueue waiting = self->waiting;
  g_queue_init (&self->waiting);
  g_cond_broadcast (&self->ended);
  g_mutex_unlock (&self->lock);
  for (PrismControlOperation *operation; (operation = g_queue_pop_head (&waiting)) != NULL;)
    {
      answer (operation, error);
      g_object_unref (operation);
    }
}

typedef struct
{
  PrismAgentLifecycle *lifecycle; /* a part of owner */
  PrismAgentSandbox *owner;
  gint64 grace_ms;
  const char *what;
} Ending;

static gpointer
end_main (gpointer data)
{
  g_autofree Ending *ending = data;
  run_end (ending->lifecycle, ending->grace_ms, ending->what);
  g_object_unref (ending->owner);
  return NULL;
}

/* A thread of its own: terminate may block, and must not end with a pool's idle
 * thread. Where there is none to be had, this one. */
static void
end_elsewhere (PrismAgentLifecycle *self, gint64 grace_ms, const char *what)
{
  Ending *ending = g_new (Ending, 1);
  *ending = (Ending){ self, g_object_ref (self->owner), grace_ms, what };
  GThread *thread = prism_start_thread ("prism-end", end_main, ending, NULL);
  if (thread != NULL)
    g_thread_unref (thread);
  else
    end_main (ending);
}

/* TRUE: this caller is the one who ends it. */
static gboolean
claim_locked (PrismAgentLifecycle *self)
{
  gboolean mine = !self->ending;
  self->ending = TRUE;
  return mine;
}

void
prism_agent_lifecycle_fail (PrismAgentLifecycle *self, PrismAgentEnd end, const GError *error)
{
  PrismAgentChannel *channel = prism_agent_sandbox_get_channel (self->owner);
  g_mutex_lock (&self->lock);
  gboolean fails = claim_locked (self);
  if (fails)
    {
      self->status = PRISM_SANDBOX_STATUS_FAILED;
      self->failure = g_error_copy (error);
    }
  g_mutex_unlock (&self->lock);
  if (channel != NULL)
    prism_agent_channel_end (channel, end, error);
  if (!fails)
    return;
  notify_status (self);
  end_elsewhere (self, 0, "lost");
}

static void
wait_here (PrismAgentLifecycle *self, PrismControlOperation *operation)
{
  const PrismAgentLimits *limits = prism_agent_sandbox_get_limits (self->owner);
  gint64 until = g_get_monotonic_time () + (limits->cleanup_deadline_ms + limits->stop_grace_ms) * 1000 + SLACK_US;
  g_autoptr (GError) error = NULL;
  g_mutex_lock (&self->lock);
  while (!self->over && g_cond_wait_until (&self->ended, &self->lock, until))
    ;
  gboolean over = self->over;
  if (over && self->end_error != NULL)
    error = g_error_copy (self->end_error);
  g_mutex_unlock (&self->lock);
  if (!over)
    g_set_error_literal (&error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT,
                         "the sandbox did not end within cleanup-deadline-ms");
  answer (operation, error);
}

void
prism_agent_lifecycle_end (PrismAgentLifecycle *self,
                           PrismSandboxStatus status,
                           gint64 grace_ms,
                           PrismControlOperation *operation)
{
  gboolean closes = status == PRISM_SANDBOX_STATUS_REMOVED;
  const char *what = closes ? "closed" : grace_ms > 0 ? "stopped" : "killed";
  gboolean here = prism_operation_get_may_block (PRISM_OPERATION (operation));
  g_autoptr (GError) error = NULL;
  if (!prism_agent_lifecycle_check_owner (self, &error))
    {
      answer (operation, error);
      return;
    }
  g_mutex_lock (&self->lock);
  gboolean mine = claim_locked (self), over = self->over;
  /* Stopping what has failed or is gone changes nothing. */
  gboolean changes = self->status != status && (closes || self->status == PRISM_SANDBOX_STATUS_RUNNING);
  if (changes)
    self->status = status;
  if (over && self->end_error != NULL)
    error = g_error_copy (self->end_error);
  if (!over && !here)
    g_queue_push_tail (&self->waiting, g_object_ref (operation));
  g_mutex_unlock (&self->lock);
  if (changes)
    notify_status (self);

  if (over)
    answer (operation, error);
  else if (mine && here)
    run_end (self, grace_ms, what);
  else if (mine)
    end_elsewhere (self, grace_ms, what);
  if (here && !over)
    wait_here (self, operation);
}

gboolean
prism_agent_lifecycle_dispose (PrismAgentLifecycle *self)
{
  if (!prism_agent_lifecycle_check_owner (self, NULL))
    {
      g_object_ref (self->owner); /* never to be finalized here */
      return TRUE;
    }
  g_mutex_lock (&self->lock);
  gboolean ends = self->has_boundary && !self->detached && claim_locked (self);
  if (ends)
    self->status = PRISM_SANDBOX_STATUS_REMOVED;
  g_mutex_unlock (&self->lock);
  if (ends)
    end_elsewhere (self, 0, "dropped");
  return ends;
}
