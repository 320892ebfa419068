/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a caller waits for: settled once, told once, in the caller's context. */
#include "prism-call-private.h"

/* How long an implementation may take to answer once its caller cancelled. */
#define CANCEL_GRACE_US (G_GINT64_CONSTANT (30) * G_USEC_PER_SEC)

PrismCall *
prism_call_ref (PrismCall *call)
{
  g_atomic_ref_count_inc (&call->refs);
  return call;
}

void
prism_call_emission_free (PrismEmission *emission)
{
  if (emission->free_data != NULL)
    emission->free_data (emission->data);
  if (emission->done != NULL)
    emission->done (emission->done_data);
  g_free (emission);
}

void
prism_call_discard (const PrismMethod *method, gpointer value, GDestroyNotify free_value)
{
  if (value == NULL)
    return;
  if (method->discard != NULL)
    method->discard (value);
  if (free_value != NULL)
    free_value (value);
}

void
prism_call_unref (PrismCall *call)
{
  if (!g_atomic_ref_count_dec (&call->refs))
    return;
  g_queue_clear_full (&call->emissions, (GDestroyNotify)prism_call_emission_free);
  prism_call_discard (call->method, call->value, call->free_value);
  g_clear_error (&call->error);
  g_clear_object (&call->cancellable);
  g_clear_object (&call->caller_cancellable);
  g_clear_object (&call->task);
  g_object_unref (call->self);
  g_free (call->origin);
  g_mutex_clear (&call->lock);
  g_free (call);
}

PrismCall *
prism_call_new (gpointer self, const PrismMethod *method, gint64 deadline_ms, GCancellable *cancellable)
{
  PrismCall *call = g_new0 (PrismCall, 1);

  g_atomic_ref_count_init (&call->refs);
  g_mutex_init (&call->lock);
  call->self = g_object_ref (self);
  call->method = method;
  call->caller = g_thread_self ();
  if (cancellable != NULL)
    call->caller_cancellable = g_object_ref (cancellable);
  if (deadline_ms != PRISM_OPERATION_NO_DEADLINE)
    {
      call->span_us = deadline_ms * 1000;
      call->deadline = call->expires = g_get_monotonic_time () + call->span_us;
    }
  return call;
}

void
prism_call_wake_locked (PrismCall *call, gint64 when)
{
  if (call->source != NULL)
    g_source_set_ready_time (call->source, when);
}

/* Decides what the caller hears. FALSE: that was decided before. */
gboolean
prism_call_settle_locked (PrismCall *call, gpointer value, GDestroyNotify free_value, GError *error)
{
  if (call->settled)
    return FALSE;
  call->settled = TRUE;
  call->value = value;
  call->free_value = free_value;
  call->error = error;
  prism_call_wake_locked (call, 0);
  return TRUE;
}

GError *
prism_call_error (PrismCall *call, int code, const char *what)
{
  return g_error_new (call->method->errors->domain (), code, "%s: %s", call->method->name, what);
}

GError *
prism_call_cancelled_error (PrismCall *call)
{
  return prism_call_error (call, call->method->errors->cancelled, "cancelled");
}

/* The operation's own cancellable, outside of the lock: its handlers are foreign code. */
static void
stop_work (PrismCall *call)
{
  g_autoptr (GCancellable) cancellable = NULL;

  g_mutex_lock (&call->lock);
  call->stop_work = TRUE;
  if (call->cancellable != NULL)
    cancellable = g_object_ref (call->cancellable);
  g_mutex_unlock (&call->lock);
  if (cancellable != NULL)
    g_cancellable_cancel (cancellable);
}

static void
caller_cancelled (GCancellable *cancellable, gpointer data)
{
  PrismCall *call = data;
  gboolean keeps_working = (call->method->flags & PRISM_METHOD_KEEPS_WORKING) != 0;
  gint64 grace = g_get_monotonic_time () + CANCEL_GRACE_US;

  g_mutex_lock (&call->lock);
  if (call->settled)
    {
      g_mutex_unlock (&call->lock);
      return;
    }
  call->cancelled = TRUE;
  if ((call->method->flags & PRISM_METHOD_CANCEL_ENDS_WAIT) != 0)
    prism_call_settle_locked (call, NULL, NULL, prism_call_cancelled_error (call));
  else if (call->expires == 0 || call->expires > grace)
    {
      call->expires = grace;
      prism_call_wake_locked (call, 0);
    }
  g_mutex_unlock (&call->lock);
  if (!keeps_working)
    stop_work (call);
}

/* Chains the caller's cancellable; not under the lock, as it may fire at once. */
void
prism_call_watch_caller (PrismCall *call)
{
  gboolean watch;
  gulong id;

  g_mutex_lock (&call->lock);
  watch = call->caller_cancellable != NULL && !call->watching && !call->closed;
  call->watching |= watch;
  g_mutex_unlock (&call->lock);
  if (!watch)
    return;
  id = g_cancellable_connect (call->caller_cancellable, G_CALLBACK (caller_cancelled), prism_call_ref (call),
                              (GDestroyNotify)prism_call_unref);
  g_mutex_lock (&call->lock);
  if (!call->closed)
    {
      call->cancelled_id = id;
      id = 0;
    }
  g_mutex_unlock (&call->lock);
  g_cancellable_disconnect (call->caller_cancellable, id);
}

/* The caller is told now: nothing of the call is to happen after this. */
void
prism_call_close (PrismCall *call)
{
  GSource *source;
  gulong id;

  g_mutex_lock (&call->lock);
  call->closed = TRUE;
  source = g_steal_pointer (&call->source);
  id = call->cancelled_id;
  call->cancelled_id = 0;
  g_mutex_unlock (&call->lock);
  if (id != 0)
    g_cancellable_disconnect (call->caller_cancellable, id);
  if (source != NULL)
    {
      g_source_destroy (source);
      g_source_unref (source);
    }
}

/* In the caller's context. A handler that iterates that context finds `emitting`
 * set and leaves the rest to us, so the order holds. */
void
prism_call_emit_queued (PrismCall *call)
{
  PrismEmission *emission;

  g_mutex_lock (&call->lock);
  if (call->emitting)
    {
      g_mutex_unlock (&call->lock);
      return;
    }
  call->emitting = TRUE;
  while ((emission = g_queue_pop_head (&call->emissions)) != NULL)
    {
      g_mutex_unlock (&call->lock);
      emission->func (emission->data);
      prism_call_emission_free (emission);
      g_mutex_lock (&call->lock);
    }
  call->emitting = FALSE;
  g_mutex_unlock (&call->lock);
}

void
prism_call_expire (PrismCall *call)
{
  gboolean expired;

  g_mutex_lock (&call->lock);
  expired = !call->settled && call->expires != 0 && call->expires <= g_get_monotonic_time ();
  if (expired && call->cancelled)
    prism_call_settle_locked (
        call, NULL, NULL,
        prism_call_error (call, call->method->errors->cancelled, "cancelled, and the backend did not react"));
  else if (expired)
    prism_call_settle_locked (call, NULL, NULL,
                              prism_call_error (call, call->method->errors->timeout, "no answer before its deadline"));
  g_mutex_unlock (&call->lock);
  if (expired)
    stop_work (call);
}

static void
return_task (PrismCall *call)
{
  g_autoptr (GTask) task = g_steal_pointer (&call->task);
  gpointer value = g_steal_pointer (&call->value);

  if (value != NULL)
    g_task_return_pointer (task, value, call->free_value);
  else
    g_task_return_error (task, g_steal_pointer (&call->error));
}

static gboolean
call_dispatch (GSource *source, GSourceFunc callback, gpointer data)
{
  PrismCall *call = data;
  gboolean finished;

  /* First of all: whoever wakes us from here on is not forgotten. */
  g_mutex_lock (&call->lock);
  if (call->source != NULL)
    g_source_set_ready_time (source, call->expires != 0 && !call->settled ? call->expires : -1);
  g_mutex_unlock (&call->lock);

  prism_call_expire (call);
  prism_call_emit_queued (call);

  g_mutex_lock (&call->lock);
  finished =
      call->settled && !call->emitting && !call->closed && call->task != NULL && g_queue_is_empty (&call->emissions);
  g_mutex_unlock (&call->lock);
  if (finished)
    {
      prism_call_ref (call);
      prism_call_close (call);
      return_task (call);
      prism_call_unref (call);
      return G_SOURCE_REMOVE;
    }
  return G_SOURCE_CONTINUE;
}

static gboolean
unused_callback (gpointer data)
{
  return G_SOURCE_CONTINUE;
}

/* Wakes in the caller's context for emissions, the deadline and the answer. */
void
prism_call_attach (PrismCall *call, GMainContext *context)
{
  static GSourceFuncs funcs = { NULL, NULL, call_dispatch, NULL, NULL, NULL };
  GSource *source = g_source_new (&funcs, sizeof (GSource));

  g_source_set_static_name (source, "[prism] call");
  g_source_set_callback (source, unused_callback, prism_call_ref (call), (GDestroyNotify)prism_call_unref);
  g_mutex_lock (&call->lock);
  call->source = source;
  g_source_set_ready_time (source, call->settled || !g_queue_is_empty (&call->emissions) ? 0
                                   : call->expires != 0                                  ? call->expires
                                                                                         : -1);
  /* Under the lock: a ready time that is set while the source has no context yet, and
   * arrives when that sleeps already, would wake nobody. */
  g_source_attach (source, context);
  g_mutex_unlock (&call->lock);
}

gboolean
prism_call_is_settled (PrismCall *call)
{
  gboolean settled;

  g_mutex_lock (&call->lock);
  settled = call->settled;
  g_mutex_unlock (&call->lock);
  return settled;
}
