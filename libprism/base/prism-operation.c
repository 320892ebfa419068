/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an implementation holds: what is asked of it, and the one way to answer. */
#include "prism-call-private.h"
#include "prism-error-private.h"

#include <pthread.h>
#include <signal.h>

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

PrismCall *
prism_operation_get_call (PrismOperation *self)
{
  return ((PrismOperationPrivate *)prism_operation_get_instance_private (self))->call;
}

void
prism_operation_set_call (PrismOperation *self, PrismCall *call)
{
  ((PrismOperationPrivate *)prism_operation_get_instance_private (self))->call = prism_call_ref (call);
}

static void
answer (PrismCall *call, gpointer value, GDestroyNotify free_value, GError *error)
{
  gboolean again, taken = FALSE;

  if (error != NULL && call->method->dup_origin != NULL)
    {
      g_autofree char *origin = call->scripted ? g_strdup (call->origin) : call->method->dup_origin (call->self);
      prism_error_set_origin (error, origin);
    }
  g_mutex_lock (&call->lock);
  again = call->answered;
  call->answered = TRUE;
  if (!again)
    taken = prism_call_settle_locked (call, value, free_value, error);
  g_mutex_unlock (&call->lock);
  if (again)
    g_critical ("%s: answered a second time", call->method->name);
  if (taken)
    return;
  prism_call_discard (call->method, value, free_value);
  g_clear_error (&error);
}

void
prism_operation_answer (PrismOperation *self, gpointer value, GDestroyNotify free_value)
{
  g_return_if_fail (value != NULL);

  answer (prism_operation_get_call (self), value, free_value, NULL);
}

static void
prism_operation_finalize (GObject *object)
{
  PrismCall *call = prism_operation_get_call (PRISM_OPERATION (object));

  if (call != NULL)
    {
      gboolean answered;

      g_mutex_lock (&call->lock);
      answered = call->answered;
      g_mutex_unlock (&call->lock);
      if (!answered)
        answer (call, NULL, NULL,
                prism_call_error (call, call->method->errors->failed, "the backend dropped the operation"));
      prism_call_unref (call);
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

  call = prism_operation_get_call (self);
  g_mutex_lock (&call->lock);
  fresh = call->cancellable == NULL;
  if (fresh)
    call->cancellable = g_cancellable_new ();
  stopped = fresh && call->stop_work;
  g_mutex_unlock (&call->lock);
  if (stopped)
    g_cancellable_cancel (call->cancellable);
  if (fresh)
    prism_call_watch_caller (call);
  return call->cancellable;
}

GCancellable *
prism_operation_get_caller_cancellable (PrismOperation *self)
{
  PrismCall *call = prism_operation_get_call (self);

  return (call->method->flags & PRISM_METHOD_KEEPS_WORKING) != 0 ? NULL : call->caller_cancellable;
}

/**
 * prism_operation_get_deadline:
 * @self: an operation
 *
 * Tells when it fails by itself, in the terms of [func@GLib.get_monotonic_time]; 0 if it may take
 * for ever.
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

  call = prism_operation_get_call (self);
  g_mutex_lock (&call->lock);
  deadline = call->deadline;
  g_mutex_unlock (&call->lock);
  return deadline;
}

void
prism_operation_renew_deadline (PrismOperation *self)
{
  PrismCall *call = prism_operation_get_call (self);

  g_mutex_lock (&call->lock);
  if (call->deadline != 0 && !call->cancelled)
    call->deadline = call->expires = g_get_monotonic_time () + call->span_us;
  g_mutex_unlock (&call->lock);
}

void
prism_operation_hold_deadline (PrismOperation *self, gboolean hold)
{
  PrismCall *call = prism_operation_get_call (self);

  g_mutex_lock (&call->lock);
  if (call->span_us != 0 && !call->cancelled)
    {
      call->deadline = call->expires = hold ? 0 : g_get_monotonic_time () + call->span_us;
      prism_call_wake_locked (call, 0);
    }
  g_mutex_unlock (&call->lock);
}

/**
 * prism_operation_get_completed:
 * @self: an operation
 *
 * Tells whether it was answered, or nobody waits for the answer any more.
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

  call = prism_operation_get_call (self);
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

  call = prism_operation_get_call (self);
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

  answer (prism_operation_get_call (self), NULL, NULL, g_error_copy (error));
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

  answer (prism_operation_get_call (self), NULL, NULL, g_error_new_literal (domain, code, message));
}

typedef struct
{
  PrismOperation *operation;
  PrismOperationFunc func;
} Work;

static gpointer
work_main (gpointer data)
{
  Work *work = data;

  work->func (prism_operation_get_call (work->operation)->self, work->operation);
  g_object_unref (work->operation);
  g_free (work);
  return NULL;
}

GThread *
prism_start_thread (const char *name, GThreadFunc func, gpointer data, GError **error)
{
  sigset_t all, before;
  GThread *thread;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  thread = g_thread_try_new (name, func, data, error);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  return thread;
}

/**
 * prism_operation_run_in_thread: (skip)
 * @self: an operation
 * @func: does its work, with the deadline and the cancellable in mind, and answers it
 *
 * For methods that have to block: calls @func at once if
 * [method@Operation.get_may_block], and in a thread if not. Both the operation and
 * whose method was called are kept until it returns; if it has not answered by
 * then, and nobody else holds the operation, it fails by itself.
 *
 * Since: 1.0
 */
void
prism_operation_run_in_thread (PrismOperation *self, PrismOperationFunc func)
{
  g_autoptr (GError) error = NULL;
  PrismCall *call;
  GThread *thread;
  Work *work;

  g_return_if_fail (PRISM_IS_OPERATION (self));
  g_return_if_fail (func != NULL);

  call = prism_operation_get_call (self);
  if (prism_operation_get_may_block (self))
    {
      func (call->self, self);
      return;
    }
  work = g_new (Work, 1);
  *work = (Work){ g_object_ref (self), func };
  thread = prism_start_thread ("prism-work", work_main, work, &error);
  if (thread != NULL)
    {
      g_thread_unref (thread);
      return;
    }
  answer (call, NULL, NULL, prism_call_error (call, call->method->errors->failed, error->message));
  g_object_unref (work->operation);
  g_free (work);
}

void
prism_operation_emit (PrismOperation *self,
                      void (*func) (gpointer data),
                      gpointer data,
                      GDestroyNotify free_data,
                      GDestroyNotify done,
                      gpointer done_data)
{
  PrismCall *call = prism_operation_get_call (self);
  PrismEmission *emission = g_new (PrismEmission, 1);
  gboolean here, late;

  *emission = (PrismEmission){ func, data, free_data, done, done_data };
  g_mutex_lock (&call->lock);
  late = call->settled || call->closed;
  if (!late)
    g_queue_push_tail (&call->emissions, emission);
  here = call->task == NULL && call->caller == g_thread_self ();
  if (!here && !late)
    prism_call_wake_locked (call, 0);
  g_mutex_unlock (&call->lock);
  if (late)
    prism_call_emission_free (emission);
  else if (here)
    prism_call_emit_queued (call);
}

/* --- what is often said ---------------------------------------------------------------- */

typedef struct
{
  void (*func) (gpointer source, gpointer about);
  GObject *source, *about;
} About;

static void
about_emit (gpointer data)
{
  const About *about = data;

  about->func (about->source, about->about);
}

static void
about_free (gpointer data)
{
  About *about = data;

  g_object_unref (about->source);
  g_object_unref (about->about);
  g_free (about);
}

void
prism_operation_emit_about (PrismOperation *self,
                            void (*func) (gpointer source, gpointer about),
                            gpointer source,
                            gpointer about)
{
  About *kept = g_new (About, 1);

  *kept = (About){ func, g_object_ref (source), g_object_ref (about) };
  prism_operation_emit (self, about_emit, kept, about_free, NULL, NULL);
}

typedef struct
{
  void (*func) (gpointer source, guint64 entries, guint64 bytes, guint64 total_bytes);
  GObject *source;
  guint64 entries, bytes, total_bytes;
} Progress;

static void
progress_emit (gpointer data)
{
  const Progress *progress = data;

  progress->func (progress->source, progress->entries, progress->bytes, progress->total_bytes);
}

static void
progress_free (gpointer data)
{
  Progress *progress = data;

  g_object_unref (progress->source);
  g_free (progress);
}

void
prism_operation_emit_progress (PrismOperation *self,
                               void (*func) (gpointer source, guint64 entries, guint64 bytes, guint64 total_bytes),
                               gpointer source,
                               guint64 entries,
                               guint64 bytes,
                               guint64 total_bytes)
{
  Progress *progress = g_new (Progress, 1);

  prism_operation_renew_deadline (self);
  *progress = (Progress){ func, g_object_ref (source), entries, bytes, total_bytes };
  prism_operation_emit (self, progress_emit, progress, progress_free, NULL, NULL);
}
