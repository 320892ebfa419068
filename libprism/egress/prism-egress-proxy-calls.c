/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What stands between a caller and a proxy: arguments, state and limits are
 * checked here, once, and the proxy is asked by an operation. */
#include "prism-egress-audit-private.h"
#include "prism-egress-error-private.h"
#include "prism-egress-listener-private.h"
#include "prism-egress-operation-private.h"
#include "prism-egress-proxy-private.h"

static char *
dup_origin (gpointer self)
{
  return g_strdup (prism_egress_proxy_get_name (self));
}

/* --- the methods that take time ------------------------------------------------- */

typedef struct
{
  PrismEgressProxy *proxy;
  PrismEgressListener *listener;
} Removal;

static gpointer
remove_main (gpointer data)
{
  g_autofree Removal *removal = data;

  prism_egress_proxy_remove_listener (removal->proxy, removal->listener, NULL, NULL);
  g_object_unref (removal->listener);
  g_object_unref (removal->proxy);
  return NULL;
}

/* Nobody waits for it, and the context that is current may never be iterated again:
 * it is often that of a synchronous call. So it has a thread of its own. */
void
prism_egress_proxy_end_listener (PrismEgressProxy *self, PrismEgressListener *listener)
{
  Removal *removal = g_new (Removal, 1);
  GThread *thread;

  *removal = (Removal){ g_object_ref (self), g_object_ref (listener) };
  thread = prism_start_thread ("prism-egress-end", remove_main, removal, NULL);
  if (thread != NULL)
    g_thread_unref (thread);
  else
    remove_main (removal);
}

/* One that came too late is not left open. */
static void
end_listener (gpointer listener)
{
  g_autoptr (PrismEgressProxy) proxy = prism_egress_listener_dup_proxy (listener);

  if (proxy != NULL)
    prism_egress_proxy_end_listener (proxy, listener);
}

#define METHOD(vfunc_name, more_flags, discarder)                                                                      \
  {                                                                                                                    \
    .name = #vfunc_name, .iface = prism_egress_proxy_get_type,                                                         \
    .vfunc = G_STRUCT_OFFSET (PrismEgressProxyInterface, vfunc_name), .flags = (more_flags),                           \
    .errors = &prism_egress_operation_errors, .dup_origin = dup_origin, .discard = (discarder),                        \
  }

static const PrismMethod start_method = METHOD (start, PRISM_METHOD_NONE, NULL);
static const PrismMethod stop_method = METHOD (stop, PRISM_METHOD_KEEPS_WORKING, NULL);
static const PrismMethod add_listener_method = METHOD (add_listener, PRISM_METHOD_NONE, end_listener);
static const PrismMethod remove_listener_method = METHOD (remove_listener, PRISM_METHOD_KEEPS_WORKING, NULL);
static const PrismMethod set_policy_method = METHOD (set_policy, PRISM_METHOD_NONE, NULL);

/* The answer is an object or a plain TRUE; callers only want to know that there is one. */
static gboolean
is_done (gpointer value)
{
  if (value == NULL)
    return FALSE;
  if (value != GINT_TO_POINTER (TRUE))
    g_object_unref (value);
  return TRUE;
}

static gboolean
run (PrismEgressProxy *self,
     const PrismMethod *method,
     PrismOperation *operation,
     GCancellable *cancellable,
     GError **error)
{
  return is_done (prism_operation_run (operation, self, method, PRISM_OPERATION_DEADLINE_MS, cancellable, error));
}

static void
begin (PrismEgressProxy *self,
       const PrismMethod *method,
       PrismOperation *operation,
       GError *refusal,
       GCancellable *cancellable,
       GAsyncReadyCallback callback,
       gpointer user_data)
{
  prism_operation_start (operation, refusal, self, method, PRISM_OPERATION_DEADLINE_MS, cancellable, callback,
                         user_data);
}

static gboolean
finish (PrismEgressProxy *self, GAsyncResult *result, const PrismMethod *method, GError **error)
{
  return is_done (prism_operation_finish (self, result, method, error));
}

/* --- start ---------------------------------------------------------------------- */

static PrismOperation *
new_start (PrismEgressProxy *self, GError **error)
{
  g_autoptr (PrismEgressListener) listener = prism_egress_proxy_dup_listener (self);

  if (listener != NULL && !prism_egress_listener_check (listener, error))
    return NULL;
  if (listener != NULL)
    prism_egress_listener_take_own (listener);
  prism_egress_audit_begin (self);
  return prism_egress_operation_new (NULL, NULL);
}

/**
 * prism_egress_proxy_start:
 * @self: a proxy
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Makes it ready, and opens its own listener if it has one. Started again, it is
 * done already. Records arrive in the context that is current now.
 *
 * Returns: whether it is done
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_start (PrismEgressProxy *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return run (self, &start_method, new_start (self, error), cancellable, error);
}

/**
 * prism_egress_proxy_start_async:
 * @self: a proxy
 * @cancellable: (nullable): a cancellable
 * @callback: (nullable) (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@EgressProxy.start], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_egress_proxy_start_async (PrismEgressProxy *self,
                                GCancellable *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_EGRESS_PROXY (self));

  operation = new_start (self, &error);
  begin (self, &start_method, operation, error, cancellable, callback, user_data);
}

/**
 * prism_egress_proxy_start_finish:
 * @self: a proxy
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells whether it is done.
 *
 * Returns: whether it is done
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_start_finish (PrismEgressProxy *self, GAsyncResult *result, GError **error)
{
  return finish (self, result, &start_method, error);
}

/* --- stop ----------------------------------------------------------------------- */

/**
 * prism_egress_proxy_stop:
 * @self: a proxy
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Ends every listener and connection. What was not started, or stopped before, is
 * done already. It is not stopped by @cancellable.
 *
 * Returns: whether it is done
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_stop (PrismEgressProxy *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return run (self, &stop_method, prism_egress_operation_new (NULL, NULL), cancellable, error);
}

/**
 * prism_egress_proxy_stop_async:
 * @self: a proxy
 * @cancellable: (nullable): a cancellable
 * @callback: (nullable) (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@EgressProxy.stop], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_egress_proxy_stop_async (PrismEgressProxy *self,
                               GCancellable *cancellable,
                               GAsyncReadyCallback callback,
                               gpointer user_data)
{
  g_return_if_fail (PRISM_IS_EGRESS_PROXY (self));

  begin (self, &stop_method, prism_egress_operation_new (NULL, NULL), NULL, cancellable, callback, user_data);
}

/**
 * prism_egress_proxy_stop_finish:
 * @self: a proxy
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells whether it is done.
 *
 * Returns: whether it is done
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_stop_finish (PrismEgressProxy *self, GAsyncResult *result, GError **error)
{
  return finish (self, result, &stop_method, error);
}

/* --- add_listener --------------------------------------------------------------- */

static PrismOperation *
new_add_listener (PrismEgressProxy *self, PrismEgressListener *listener, GError **error)
{
  if (!prism_egress_listener_check (listener, error) || !prism_egress_listener_take (listener, self, error))
    return NULL;
  return prism_egress_operation_new (listener, NULL);
}

/**
 * prism_egress_proxy_add_listener:
 * @self: a proxy
 * @listener: a listener that no proxy has yet
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Listens for one more, such as a sandbox. The listener holds the proxy, and whoever
 * holds the listener keeps it open: it ends with [method@EgressProxy.remove_listener]
 * or with its last reference. It cannot be added twice, not even where that failed.
 *
 * Returns: whether it is done
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_add_listener (PrismEgressProxy *self,
                                 PrismEgressListener *listener,
                                 GCancellable *cancellable,
                                 GError **error)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), FALSE);
  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (listener), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return run (self, &add_listener_method, new_add_listener (self, listener, error), cancellable, error);
}

/**
 * prism_egress_proxy_add_listener_async:
 * @self: a proxy
 * @listener: a listener that no proxy has yet
 * @cancellable: (nullable): a cancellable
 * @callback: (nullable) (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@EgressProxy.add_listener], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_egress_proxy_add_listener_async (PrismEgressProxy *self,
                                       PrismEgressListener *listener,
                                       GCancellable *cancellable,
                                       GAsyncReadyCallback callback,
                                       gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_EGRESS_PROXY (self));
  g_return_if_fail (PRISM_IS_EGRESS_LISTENER (listener));

  operation = new_add_listener (self, listener, &error);
  begin (self, &add_listener_method, operation, error, cancellable, callback, user_data);
}

/**
 * prism_egress_proxy_add_listener_finish:
 * @self: a proxy
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells whether it is done.
 *
 * Returns: whether it is done
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_add_listener_finish (PrismEgressProxy *self, GAsyncResult *result, GError **error)
{
  return finish (self, result, &add_listener_method, error);
}

/* --- remove_listener ------------------------------------------------------------ */

/**
 * prism_egress_proxy_remove_listener:
 * @self: a proxy
 * @listener: one of its listeners
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Ends a listener and every connection that came in by it. One that is not there is
 * done already. It is not stopped by @cancellable.
 *
 * Returns: whether it is done
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_remove_listener (PrismEgressProxy *self,
                                    PrismEgressListener *listener,
                                    GCancellable *cancellable,
                                    GError **error)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), FALSE);
  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (listener), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return run (self, &remove_listener_method, prism_egress_operation_new (listener, NULL), cancellable, error);
}

/**
 * prism_egress_proxy_remove_listener_async:
 * @self: a proxy
 * @listener: one of its listeners
 * @cancellable: (nullable): a cancellable
 * @callback: (nullable) (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@EgressProxy.remove_listener], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_egress_proxy_remove_listener_async (PrismEgressProxy *self,
                                          PrismEgressListener *listener,
                                          GCancellable *cancellable,
                                          GAsyncReadyCallback callback,
                                          gpointer user_data)
{
  g_return_if_fail (PRISM_IS_EGRESS_PROXY (self));
  g_return_if_fail (PRISM_IS_EGRESS_LISTENER (listener));

  begin (self, &remove_listener_method, prism_egress_operation_new (listener, NULL), NULL, cancellable, callback,
         user_data);
}

/**
 * prism_egress_proxy_remove_listener_finish:
 * @self: a proxy
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells whether it is done.
 *
 * Returns: whether it is done
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_remove_listener_finish (PrismEgressProxy *self, GAsyncResult *result, GError **error)
{
  return finish (self, result, &remove_listener_method, error);
}

/* --- set_policy ----------------------------------------------------------------- */

static PrismOperation *
new_set_policy (PrismEgressProxy *self, PrismEgressListener *listener, PrismEgressPolicy *policy, GError **error)
{
  g_autoptr (PrismEgressListener) chosen =
      prism_egress_proxy_choose_listener (self, listener, PRISM_EGRESS_ERROR_STATE, error);
  g_autoptr (PrismEgressProxy) proxy = NULL;
  g_autofree char *endpoint = NULL;

  if (chosen == NULL || !prism_egress_listener_check_policy (chosen, policy, error))
    return NULL;
  proxy = prism_egress_listener_dup_proxy (chosen);
  endpoint = prism_egress_listener_dup_endpoint (chosen);
  if (endpoint != NULL && (proxy == NULL || proxy == self))
    return prism_egress_operation_new (chosen, policy);
  g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_STATE, "%s: %s", prism_egress_proxy_get_name (self),
               endpoint == NULL ? "the listener is not open, so there is no policy to change"
                                : "the listener is another proxy's");
  return NULL;
}

/**
 * prism_egress_proxy_set_policy:
 * @self: a proxy
 * @listener: (nullable): one of its listeners; %NULL for its own
 * @policy: the policy to decide by
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Decides by another policy from here on, and cuts connections that it no longer
 * allows. If it fails, the policy before is still whole.
 *
 * Returns: whether it is done
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_set_policy (PrismEgressProxy *self,
                               PrismEgressListener *listener,
                               PrismEgressPolicy *policy,
                               GCancellable *cancellable,
                               GError **error)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), FALSE);
  g_return_val_if_fail (listener == NULL || PRISM_IS_EGRESS_LISTENER (listener), FALSE);
  g_return_val_if_fail (PRISM_IS_EGRESS_POLICY (policy), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return run (self, &set_policy_method, new_set_policy (self, listener, policy, error), cancellable, error);
}

/**
 * prism_egress_proxy_set_policy_async:
 * @self: a proxy
 * @listener: (nullable): one of its listeners; %NULL for its own
 * @policy: the policy to decide by
 * @cancellable: (nullable): a cancellable
 * @callback: (nullable) (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@EgressProxy.set_policy], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_egress_proxy_set_policy_async (PrismEgressProxy *self,
                                     PrismEgressListener *listener,
                                     PrismEgressPolicy *policy,
                                     GCancellable *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_EGRESS_PROXY (self));
  g_return_if_fail (listener == NULL || PRISM_IS_EGRESS_LISTENER (listener));
  g_return_if_fail (PRISM_IS_EGRESS_POLICY (policy));

  operation = new_set_policy (self, listener, policy, &error);
  begin (self, &set_policy_method, operation, error, cancellable, callback, user_data);
}

/**
 * prism_egress_proxy_set_policy_finish:
 * @self: a proxy
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells whether it is done.
 *
 * Returns: whether it is done
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_set_policy_finish (PrismEgressProxy *self, GAsyncResult *result, GError **error)
{
  return finish (self, result, &set_policy_method, error);
}
