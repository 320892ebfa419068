/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calling a method that takes an operation: finding it, the thread it lives in, waiting. */
#include "prism-call-private.h"
#include "prism-fd-left.h"
#include "prism-home-private.h"

#include <poll.h>

/* How long the thread that a script lives in may take to start on a call. */
#define HOP_US (G_GINT64_CONSTANT (30) * G_USEC_PER_SEC)

typedef void (*Method) (gpointer self, gpointer operation);

static Method
find_method (gpointer self, const PrismMethod *method)
{
  gpointer klass = G_OBJECT_GET_CLASS (self);
  gpointer vtable = method->iface != NULL ? g_type_interface_peek (klass, method->iface ()) : klass;

  return vtable != NULL ? G_STRUCT_MEMBER (Method, vtable, method->vfunc) : NULL;
}

static void
refuse (PrismCall *call, GError *error)
{
  g_mutex_lock (&call->lock);
  call->answered = TRUE;
  prism_call_settle_locked (call, NULL, NULL, error);
  g_mutex_unlock (&call->lock);
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
    error = prism_call_cancelled_error (call);
  if (error != NULL)
    refuse (call, error);
  return error != NULL;
}

/* Where the script lives. */
static void
run_script (PrismCall *call, PrismOperation *operation, Method func)
{
  if (call->method->dup_origin != NULL)
    call->origin = call->method->dup_origin (call->self);
  func (call->self, operation);
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
  PrismCall *call = prism_operation_get_call (hop->operation);
  gboolean wanted;

  g_mutex_lock (&call->lock);
  wanted = !call->settled || (call->method->flags & PRISM_METHOD_KEEPS_WORKING) != 0;
  if (!call->cancelled)
    call->expires = call->deadline;
  g_mutex_unlock (&call->lock);
  if (wanted)
    run_script (call, hop->operation, hop->func);
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
      prism_call_wake_locked (call, call->expires);
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

  if (home == NULL)
    {
      func (call->self, operation);
      return;
    }
  call->scripted = TRUE;
  if (home->thread == g_thread_self ())
    {
      run_script (call, operation, func);
      return;
    }
  g_mutex_lock (&call->lock);
  call->may_block = FALSE; /* there, somebody's main loop would stand still */
  g_mutex_unlock (&call->lock);
  hop (call, operation, func, home->context);
}

/* The method returned without an answer: now there has to be a loop. */
static void
wait_in (PrismCall *call, GMainContext *context)
{
  prism_call_watch_caller (call);
  while (context == NULL && !prism_call_is_settled (call))
    {
      poll (NULL, 0, PRISM_BLIND_WAIT_MS);
      prism_call_expire (call);
    }
  if (context == NULL)
    return;
  prism_call_attach (call, context);
  while (!prism_call_is_settled (call))
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
  PrismCall *call;
  Method func;
  gpointer value;

  if (operation == NULL)
    return NULL;
  call = prism_call_new (self, method, deadline_ms, cancellable);
  func = find_method (self, method);
  prism_operation_set_call (operation, call);
  call->may_block = TRUE;
  if (!refuse_early (call, func))
    {
      /* Without a descriptor for one nothing is begun, but what is under way can be ended. */
      GMainContext *context = prism_private_context_push (FALSE);

      if (context != NULL || (method->flags & PRISM_METHOD_KEEPS_WORKING) != 0)
        invoke (call, operation, func);
      else
        refuse (call, prism_call_error (call, method->errors->failed,
                                        "no descriptors left: raise the limit of open files (ulimit -n)"));
      g_clear_object (&operation);
      if (!prism_call_is_settled (call))
        wait_in (call, context);
      prism_call_emit_queued (call);
      prism_call_close (call);
      if (context != NULL)
        prism_private_context_pop (context);
    }
  g_clear_object (&operation);
  value = g_steal_pointer (&call->value);
  if (value == NULL)
    g_propagate_error (error, g_steal_pointer (&call->error));
  prism_call_unref (call);
  return value;
}

void
prism_operation_start (PrismOperation *operation,
                       GError *refusal,
                       gpointer self,
                       const PrismMethod *method,
                       gint64 deadline_ms,
                       GCancellable *cancellable,
                       GAsyncReadyCallback callback,
                       gpointer user_data)
{
  PrismCall *call;
  Method func;

  if (operation == NULL)
    {
      g_task_report_error (self, callback, user_data, (gpointer)method, refusal);
      return;
    }
  call = prism_call_new (self, method, deadline_ms, cancellable);
  func = find_method (self, method);
  prism_operation_set_call (operation, call);
  /* Without the cancellable: an answer that came is handed on, cancelled or not. */
  call->task = g_task_new (self, NULL, callback, user_data);
  g_task_set_source_tag (call->task, (gpointer)method);
  g_task_set_name (call->task, method->name);
  prism_call_attach (call, g_task_get_context (call->task));
  if (!refuse_early (call, func))
    {
      prism_call_watch_caller (call);
      invoke (call, operation, func);
    }
  g_object_unref (operation);
  prism_call_unref (call);
}

gpointer
prism_operation_finish (gpointer self, GAsyncResult *result, const PrismMethod *method, GError **error)
{
  g_return_val_if_fail (method->iface == NULL || G_TYPE_CHECK_INSTANCE_TYPE (self, method->iface ()), NULL);
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  g_return_val_if_fail (g_async_result_is_tagged (result, (gpointer)method), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}
