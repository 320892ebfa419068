/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* house: allow long file: one state machine, whose halves would share every private function. */
/* Operations and the calls behind them.
 *
 * An operation is what an implementation holds; a call is what the caller waits
 * for. They are two things because an operation that is dropped must fail its
 * call, and a call that timed out must not wait for its operation.
 *
 *            caller                     |          implementation
 *   run / start / finish -> PrismCall <-+- PrismOperation (complete, fail)
 *
 * A call is settled once: by the answer, by its deadline, or by cancellation.
 * It is told in the caller's context (asynchronous: where it was started;
 * synchronous: in the calling thread), after everything that was emitted
 * before. An implementation may answer from any thread.
 *
 * A synchronous call that is answered before its method returns never sees a
 * main loop: the private context is pushed, so that what the method starts does
 * not land in the caller's, and nothing more. */
#include "prism-operation-private.h"

#include "prism-error-private.h"
#include "prism-home-private.h"

/* How long an implementation may take to answer once its caller cancelled. */
#define CANCEL_GRACE_US (G_GINT64_CONSTANT (30) * G_USEC_PER_SEC)
/* How long the thread that a script lives in may take to start on a call. */
#define HOP_US (G_GINT64_CONSTANT (30) * G_USEC_PER_SEC)

typedef struct
{
  void (*func) (gpointer data);
  gpointer data;
  GDestroyNotify free_data;
  GDestroyNotify done;
  gpointer done_data;
} Emission;

typedef struct
{
  gatomicrefcount refs;
  GObject *self;
  const PrismMethod *method;
  GThread *caller; /* not referenced: compared only */
  GTask *task;     /* asynchronous only */
  gint64 span_us;  /* of the deadline; 0 = none */

  GMutex lock; /* for what follows */
  gboolean may_block;
  gboolean answered; /* the implementation spoke */
  gboolean settled;  /* what the caller will hear is decided */
  gboolean emitting;
  gboolean closed;    /* the caller heard it */
  gboolean cancelled; /* by the caller */
  gboolean stop_work; /* the operation's own cancellable is, or will be born, cancelled */
  gint64 deadline;    /* monotonic; 0 = none */
  gint64 expires;     /* when the call gives up; 0 = never */
  GSource *source;    /* in the caller's context; none while a synchronous call is in its method */
  GQueue emissions;
  GCancellable *caller_cancellable, *cancellable;
  gulong cancelled_id;
  gboolean watching;
  gpointer value;
  GDestroyNotify free_value;
  GError *error;
} PrismCall;

typedef struct
{
  PrismCall *call;
} PrismOperationPrivate;

/**
 * PrismOperation:
 *
 * What a virtual method that takes time is handed instead of a callback: what
 * is asked, and the one way to answer it. It is answered once, from any thread,
 * with its kind's `complete` or with [method@Operation.fail]. A second answer
 * is ignored with a critical; one that is dropped, or that passes its deadline,
 * fails by itself.
 *
 * Where a method runs: compiled ones in the caller's thread, whichever it is.
 * What is written in a script runs only in the thread it was made in: a call
 * from another hops into the context that was current there, which has to be
 * iterated. A synchronous caller meanwhile iterates a private context, and that
 * is the thread's default one while the method runs; so a source that an answer
 * waits for is attached to [func@GLib.MainContext.ref_thread_default] (as GIO's
 * asynchronous methods do by themselves), and never to the global default.
 *
 * Since: 1.0
 */
G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (PrismOperation, prism_operation, G_TYPE_OBJECT)

static PrismCall *
call_of (PrismOperation *self)
{
  return ((PrismOperationPrivate *)prism_operation_get_instance_private (self))->call;
}

/* --- the call ---------------------------------------------------------------- */

static PrismCall *
call_ref (PrismCall *call)
{
  g_atomic_ref_count_inc (&call->refs);
  return call;
}

static void
emission_free (Emission *emission)
{
  if (emission->free_data != NULL)
    emission->free_data (emission->data);
  if (emission->done != NULL)
    emission->done (emission->done_data);
  g_free (emission);
}

static void
discard (const PrismMethod *method, gpointer value, GDestroyNotify free_value)
{
  if (value == NULL)
    return;
  if (method->discard != NULL)
    method->discard (value);
  if (free_value != NULL)
    free_value (value);
}

static void
call_unref (PrismCall *call)
{
  if (!g_atomic_ref_count_dec (&call->refs))
    return;
  g_queue_clear_full (&call->emissions, (GDestroyNotify)emission_free);
  discard (call->method, call->value, call->free_value);
  g_clear_error (&call->error);
  g_clear_object (&call->cancellable);
  g_clear_object (&call->caller_cancellable);
  g_clear_object (&call->task);
  g_object_unref (call->self);
  g_mutex_clear (&call->lock);
  g_free (call);
}

static PrismCall *
call_new (gpointer self, const PrismMethod *method, gint64 deadline_ms, GCancellable *cancellable)
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

static void
wake_locked (PrismCall *call, gint64 when)
{
  if (call->source != NULL)
    g_source_set_ready_time (call->source, when);
}

/* Decides what the caller hears. FALSE: that was decided before. */
static gboolean
settle_locked (PrismCall *call, gpointer value, GDestroyNotify free_value, GError *error)
{
  if (call->settled)
    return FALSE;
  call->settled = TRUE;
  call->value = value;
  call->free_value = free_value;
  call->error = error;
  wake_locked (call, 0);
  return TRUE;
}

static GError *
call_error (PrismCall *call, int code, const char *what)
{
  return g_error_new (call->method->errors->domain (), code, "%s: %s", call->method->name, what);
}

static GError *
cancelled_error (PrismCall *call)
{
  return call_error (call, call->method->errors->cancelled, "cancelled");
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
    settle_locked (call, NULL, NULL, cancelled_error (call));
  else if (call->expires == 0 || call->expires > grace)
    {
      call->expires = grace;
      wake_locked (call, 0);
    }
  g_mutex_unlock (&call->lock);
  if (!keeps_working)
    stop_work (call);
}

/* Chains the caller's cancellable; not under the lock, as it may fire at once. */
static void
watch_caller (PrismCall *call)
{
  gboolean watch;
  gulong id;

  g_mutex_lock (&call->lock);
  watch = call->caller_cancellable != NULL && !call->watching && !call->closed;
  call->watching |= watch;
  g_mutex_unlock (&call->lock);
  if (!watch)
    return;
  id = g_cancellable_connect (call->caller_cancellable, G_CALLBACK (caller_cancelled), call_ref (call),
                              (GDestroyNotify)call_unref);
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
static void
close_call (PrismCall *call)
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
static void
emit_queued (PrismCall *call)
{
  Emission *emission;

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
      emission_free (emission);
      g_mutex_lock (&call->lock);
    }
  call->emitting = FALSE;
  g_mutex_unlock (&call->lock);
}

static void
expire (PrismCall *call)
{
  gboolean expired;

  g_mutex_lock (&call->lock);
  expired = !call->settled && call->expires != 0 && call->expires <= g_get_monotonic_time ();
  if (expired && call->cancelled)
    settle_locked (call, NULL, NULL,
                   call_error (call, call->method->errors->cancelled, "cancelled, and the backend did not react"));
  else if (expired)
    settle_locked (call, NULL, NULL, call_error (call, call->method->errors->timeout, "no answer before its deadline"));
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

  expire (call);
  emit_queued (call);

  g_mutex_lock (&call->lock);
  finished =
      call->settled && !call->emitting && !call->closed && call->task != NULL && g_queue_is_empty (&call->emissions);
  g_mutex_unlock (&call->lock);
  if (finished)
    {
      call_ref (call);
      close_call (call);
      return_task (call);
      call_unref (call);
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
static void
attach (PrismCall *call, GMainContext *context)
{
  static GSourceFuncs funcs = { NULL, NULL, call_dispatch, NULL, NULL, NULL };
  GSource *source = g_source_new (&funcs, sizeof (GSource));

  g_source_set_static_name (source, "[prism] call");
  g_source_set_callback (source, unused_callback, call_ref (call), (GDestroyNotify)call_unref);
  g_mutex_lock (&call->lock);
  call->source = source;
  g_source_set_ready_time (source, call->settled || !g_queue_is_empty (&call->emissions) ? 0
                                   : call->expires != 0                                  ? call->expires
                                                                                         : -1);
  g_mutex_unlock (&call->lock);
  g_source_attach (source, context);
}

/* --- the operation ----------------------------------------------------------- */

static void
answer (PrismCall *call, gpointer value, GDestroyNotify free_value, GError *error)
{
  gboolean again, taken = FALSE;

  if (error != NULL && call->method->dup_origin != NULL)
    {
      g_autofree char *origin = call->method->dup_origin (call->self);
      prism_error_set_origin (error, origin);
    }
  g_mutex_lock (&call->lock);
  again = call->answered;
  call->answered = TRUE;
  if (!again)
    taken = settle_locked (call, value, free_value, error);
  g_mutex_unlock (&call->lock);
  if (again)
    g_critical ("%s: answered a second time", call->method->name);
  if (taken)
    return;
  discard (call->method, value, free_value);
  g_clear_error (&error);
}

void
prism_operation_answer (PrismOperation *self, gpointer value, GDestroyNotify free_value)
{
  g_return_if_fail (value != NULL);

  answer (call_of (self), value, free_value, NULL);
}

static void
prism_operation_finalize (GObject *object)
{
  PrismCall *call = call_of (PRISM_OPERATION (object));

  if (call != NULL)
    {
      gboolean answered;

      g_mutex_lock (&call->lock);
      answered = call->answered;
      g_mutex_unlock (&call->lock);
      if (!answered)
        answer (call, NULL, NULL, call_error (call, call->method->errors->failed, "the backend dropped the operation"));
      call_unref (call);
    }
  G_OBJECT_CLASS (prism_operation_parent_class)->finalize (object);
}

static void
prism_operation_class_init (PrismOperationClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = prism_operation_finalize;
}

static void
prism_operation_init (PrismOperation *self)
{
}

/**
 * prism_operation_get_cancellable:
 * @self: an operation
 *
 * The operation's own cancellable. It is triggered when the caller cancels, and
 * when the deadline passes; it is to end the work, not only the wait for it.
 *
 * Returns: (transfer none): a cancellable
 *
 * Since: 1.0
 */
GCancellable *
prism_operation_get_cancellable (PrismOperation *self)
{
  PrismCall *call;
  gboolean fresh, stopped;

  g_return_val_if_fail (PRISM_IS_OPERATION (self), NULL);

  call = call_of (self);
  g_mutex_lock (&call->lock);
  fresh = call->cancellable == NULL;
  if (fresh)
    call->cancellable = g_cancellable_new ();
  stopped = fresh && call->stop_work;
  g_mutex_unlock (&call->lock);
  if (stopped)
    g_cancellable_cancel (call->cancellable);
  if (fresh)
    watch_caller (call);
  return call->cancellable;
}

GCancellable *
prism_operation_get_caller_cancellable (PrismOperation *self)
{
  PrismCall *call = call_of (self);

  return (call->method->flags & PRISM_METHOD_KEEPS_WORKING) != 0 ? NULL : call->caller_cancellable;
}

/**
 * prism_operation_get_deadline:
 * @self: an operation
 *
 * Returns: when it fails by itself, in the terms of [func@GLib.get_monotonic_time];
 *   0 if it may take for ever
 *
 * Since: 1.0
 */
gint64
prism_operation_get_deadline (PrismOperation *self)
{
  PrismCall *call;
  gint64 deadline;

  g_return_val_if_fail (PRISM_IS_OPERATION (self), 0);

  call = call_of (self);
  g_mutex_lock (&call->lock);
  deadline = call->deadline;
  g_mutex_unlock (&call->lock);
  return deadline;
}

void
prism_operation_renew_deadline (PrismOperation *self)
{
  PrismCall *call = call_of (self);

  g_mutex_lock (&call->lock);
  if (call->deadline != 0 && !call->cancelled)
    call->deadline = call->expires = g_get_monotonic_time () + call->span_us;
  g_mutex_unlock (&call->lock);
}

/**
 * prism_operation_get_completed:
 * @self: an operation
 *
 * Returns: whether it was answered, or nobody waits for the answer any more
 *
 * Since: 1.0
 */
gboolean
prism_operation_get_completed (PrismOperation *self)
{
  PrismCall *call;
  gboolean completed;

  g_return_val_if_fail (PRISM_IS_OPERATION (self), TRUE);

  call = call_of (self);
  g_mutex_lock (&call->lock);
  completed = call->answered || call->settled;
  g_mutex_unlock (&call->lock);
  return completed;
}

/**
 * prism_operation_get_may_block:
 * @self: an operation
 *
 * Whether the method may take its time before it returns: the caller called
 * synchronously and waits in this very thread. What blocks keeps to the
 * deadline and the cancellable itself. Otherwise the method returns at once and
 * answers later.
 *
 * Returns: whether blocking hurts nobody
 *
 * Since: 1.0
 */
gboolean
prism_operation_get_may_block (PrismOperation *self)
{
  PrismCall *call;
  gboolean may_block;

  g_return_val_if_fail (PRISM_IS_OPERATION (self), FALSE);

  call = call_of (self);
  g_mutex_lock (&call->lock);
  may_block = call->may_block;
  g_mutex_unlock (&call->lock);
  return may_block;
}

/**
 * prism_operation_fail:
 * @self: an operation that was not answered
 * @error: why; it is copied
 *
 * Answers with an error.
 *
 * Since: 1.0
 */
void
prism_operation_fail (PrismOperation *self, const GError *error)
{
  g_return_if_fail (PRISM_IS_OPERATION (self));
  g_return_if_fail (error != NULL);

  answer (call_of (self), NULL, NULL, g_error_copy (error));
}

/**
 * prism_operation_fail_literal:
 * @self: an operation that was not answered
 * @domain: the error's domain
 * @code: its code
 * @message: what, where, and what to do
 *
 * Answers with an error.
 *
 * Since: 1.0
 */
void
prism_operation_fail_literal (PrismOperation *self, GQuark domain, int code, const char *message)
{
  g_return_if_fail (PRISM_IS_OPERATION (self));
  g_return_if_fail (domain != 0 && message != NULL);

  answer (call_of (self), NULL, NULL, g_error_new_literal (domain, code, message));
}

void
prism_operation_emit (PrismOperation *self,
                      void (*func) (gpointer data),
                      gpointer data,
                      GDestroyNotify free_data,
                      GDestroyNotify done,
                      gpointer done_data)
{
  PrismCall *call = call_of (self);
  Emission *emission = g_new (Emission, 1);
  gboolean here, late;

  *emission = (Emission){ func, data, free_data, done, done_data };
  g_mutex_lock (&call->lock);
  late = call->settled || call->closed;
  if (!late)
    g_queue_push_tail (&call->emissions, emission);
  here = call->task == NULL && call->caller == g_thread_self ();
  if (!here && !late)
    wake_locked (call, 0);
  g_mutex_unlock (&call->lock);
  if (late)
    emission_free (emission);
  else if (here)
    emit_queued (call);
}

/* --- calling ----------------------------------------------------------------- */

typedef void (*Method) (gpointer self, gpointer operation);

static Method
find_method (gpointer self, const PrismMethod *method)
{
  gpointer klass = G_OBJECT_GET_CLASS (self);
  gpointer vtable = method->iface != NULL ? g_type_interface_peek (klass, method->iface ()) : klass;

  return vtable != NULL ? G_STRUCT_MEMBER (Method, vtable, method->vfunc) : NULL;
}

/* What needs no implementation to be answered. */
static gboolean
refuse_early (PrismCall *call, Method func)
{
  GError *error = NULL;

  if (func == NULL)
    {
      g_autofree char *origin = call->method->dup_origin != NULL ? call->method->dup_origin (call->self) : NULL;
      error = g_error_new (call->method->errors->domain (), call->method->errors->not_supported,
                           "%s: this backend does not have %s",
                           origin != NULL ? origin : G_OBJECT_TYPE_NAME (call->self), call->method->name);
    }
  else if ((call->method->flags & PRISM_METHOD_KEEPS_WORKING) == 0
           && g_cancellable_is_cancelled (call->caller_cancellable))
    error = cancelled_error (call);
  if (error == NULL)
    return FALSE;
  g_mutex_lock (&call->lock);
  call->answered = TRUE;
  settle_locked (call, NULL, NULL, error);
  g_mutex_unlock (&call->lock);
  return TRUE;
}

typedef struct
{
  GObject *self;
  PrismOperation *operation;
  Method func;
} Hop;

static void
hop_free (gpointer data)
{
  Hop *hop = data;

  g_object_unref (hop->operation);
  g_object_unref (hop->self);
  g_free (hop);
}

static gboolean
hop_arrived (gpointer data)
{
  Hop *hop = data;
  PrismCall *call = call_of (hop->operation);
  gboolean wanted;

  g_mutex_lock (&call->lock);
  wanted = !call->settled || (call->method->flags & PRISM_METHOD_KEEPS_WORKING) != 0;
  if (!call->cancelled)
    call->expires = call->deadline;
  g_mutex_unlock (&call->lock);
  if (wanted)
    hop->func (hop->self, hop->operation);
  return G_SOURCE_REMOVE;
}

/* To the context that the implementation lives in. It may never be iterated
 * again: so even a call without deadline must begin in time. */
static void
hop (PrismCall *call, PrismOperation *operation, Method func, GMainContext *context)
{
  g_autoptr (GSource) source = g_idle_source_new ();
  Hop *self = g_new (Hop, 1);

  *self = (Hop){ g_object_ref (call->self), g_object_ref (operation), func };
  g_mutex_lock (&call->lock);
  if (call->expires == 0)
    {
      call->expires = g_get_monotonic_time () + HOP_US;
      wake_locked (call, call->expires);
    }
  g_mutex_unlock (&call->lock);
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_static_name (source, "[prism] call of a script");
  g_source_set_callback (source, hop_arrived, self, hop_free);
  g_source_attach (source, context);
}

static void
invoke (PrismCall *call, PrismOperation *operation, Method func)
{
  const PrismHome *home = prism_home_of (call->self);

  if (home == NULL || home->thread == g_thread_self ())
    {
      func (call->self, operation);
      return;
    }
  g_mutex_lock (&call->lock);
  call->may_block = FALSE; /* there, somebody's main loop would stand still */
  g_mutex_unlock (&call->lock);
  hop (call, operation, func, home->context);
}

static gboolean
is_settled (PrismCall *call)
{
  gboolean settled;

  g_mutex_lock (&call->lock);
  settled = call->settled;
  g_mutex_unlock (&call->lock);
  return settled;
}

/* The method returned without an answer: now there has to be a loop. */
static void
wait_in (PrismCall *call, GMainContext *context)
{
  attach (call, context);
  watch_caller (call);
  while (!is_settled (call))
    g_main_context_iteration (context, TRUE);
}

gpointer
prism_operation_run (PrismOperation *operation,
                     gpointer self,
                     const PrismMethod *method,
                     gint64 deadline_ms,
                     GCancellable *cancellable,
                     GError **error)
{
  PrismCall *call = call_new (self, method, deadline_ms, cancellable);
  Method func = find_method (self, method);
  gpointer value;

  ((PrismOperationPrivate *)prism_operation_get_instance_private (operation))->call = call_ref (call);
  call->may_block = TRUE;
  if (!refuse_early (call, func))
    {
      GMainContext *context = prism_private_context_push ();

      invoke (call, operation, func);
      g_clear_object (&operation);
      if (!is_settled (call))
        wait_in (call, context);
      emit_queued (call);
      close_call (call);
      prism_private_context_pop (context);
    }
  g_clear_object (&operation);
  value = g_steal_pointer (&call->value);
  if (value == NULL)
    g_propagate_error (error, g_steal_pointer (&call->error));
  call_unref (call);
  return value;
}

void
prism_operation_start (PrismOperation *operation,
                       gpointer self,
                       const PrismMethod *method,
                       gint64 deadline_ms,
                       GCancellable *cancellable,
                       gpointer source_tag,
                       GAsyncReadyCallback callback,
                       gpointer user_data)
{
  PrismCall *call = call_new (self, method, deadline_ms, cancellable);
  Method func = find_method (self, method);

  ((PrismOperationPrivate *)prism_operation_get_instance_private (operation))->call = call_ref (call);
  /* Without the cancellable: an answer that came is handed on, cancelled or not. */
  call->task = g_task_new (self, NULL, callback, user_data);
  g_task_set_source_tag (call->task, source_tag);
  g_task_set_name (call->task, method->name);
  attach (call, g_task_get_context (call->task));
  if (!refuse_early (call, func))
    {
      watch_caller (call);
      invoke (call, operation, func);
    }
  g_object_unref (operation);
  call_unref (call);
}

gpointer
prism_operation_finish (gpointer self, GAsyncResult *result, gpointer source_tag, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  g_return_val_if_fail (g_async_result_is_tagged (result, source_tag), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}
