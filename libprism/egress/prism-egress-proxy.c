/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The interface of the proxies, and what stands between a caller and one of
 * them: arguments, state and limits are checked here, once. */
#include "prism-egress-audit-private.h"
#include "prism-egress-error-private.h"
#include "prism-egress-listener-private.h"
#include "prism-egress-operation-private.h"
#include "prism-home-private.h"

/**
 * PrismEgressProxy:
 *
 * The only way out of a sandbox. It listens for each sandbox by itself, decides
 * by that listener's policy, adds its credentials, and says of every decision
 * what it was.
 *
 * It runs in threads of its own. A method that is not implemented answers
 * NOT_SUPPORTED.
 *
 * Since: 1.0
 */
G_DEFINE_INTERFACE (PrismEgressProxy, prism_egress_proxy, G_TYPE_OBJECT)

static void
prism_egress_proxy_default_init (PrismEgressProxyInterface *iface)
{
  /**
   * PrismEgressProxy:listener:
   *
   * Its own listener, which [method@EgressProxy.start] opens; %NULL if it has
   * none.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface, g_param_spec_object ("listener", NULL, NULL, PRISM_TYPE_EGRESS_LISTENER,
                                                                   G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
  prism_egress_audit_install (PRISM_TYPE_EGRESS_PROXY);
  prism_home_watch_interface (PRISM_TYPE_EGRESS_PROXY, sizeof (PrismEgressProxyInterface));
}

/**
 * prism_egress_proxy_get_name:
 * @self: a proxy
 *
 * Returns: (transfer none): its name; the messages of all its errors start with it
 *
 * Since: 1.0
 */
const char *
prism_egress_proxy_get_name (PrismEgressProxy *self)
{
  PrismEgressProxyInterface *iface;

  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), NULL);

  iface = PRISM_EGRESS_PROXY_GET_IFACE (self);
  return iface->get_name != NULL ? iface->get_name (self) : G_OBJECT_TYPE_NAME (self);
}

static char *
dup_origin (gpointer self)
{
  return g_strdup (prism_egress_proxy_get_name (self));
}

/* --- its own listener ------------------------------------------------------------ */

/**
 * prism_egress_proxy_dup_listener:
 * @self: a proxy
 *
 * Returns: (transfer full) (nullable): its own listener; %NULL if it has none
 *
 * Since: 1.0
 */
PrismEgressListener *
prism_egress_proxy_dup_listener (PrismEgressProxy *self)
{
  PrismEgressListener *listener = NULL;

  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), NULL);

  g_object_get (self, "listener", &listener, NULL);
  return listener;
}

/**
 * prism_egress_proxy_dup_endpoint:
 * @self: a proxy
 *
 * Returns: (nullable): where its own listener listens, such as
 *   `http://127.0.0.1:3128`; %NULL unless it does
 *
 * Since: 1.0
 */
char *
prism_egress_proxy_dup_endpoint (PrismEgressProxy *self)
{
  g_autoptr (PrismEgressListener) listener = NULL;

  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), NULL);

  listener = prism_egress_proxy_dup_listener (self);
  return listener != NULL ? prism_egress_listener_dup_endpoint (listener) : NULL;
}

/**
 * prism_egress_proxy_get_policy_version:
 * @self: a proxy
 *
 * Returns: how often its own listener's policy was changed; -1 if it has none
 *
 * Since: 1.0
 */
gint64
prism_egress_proxy_get_policy_version (PrismEgressProxy *self)
{
  g_autoptr (PrismEgressListener) listener = NULL;
  gint64 version;

  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), -1);

  listener = prism_egress_proxy_dup_listener (self);
  if (listener == NULL)
    return -1;
  g_object_unref (prism_egress_listener_dup_policy (listener, &version));
  return version;
}

/* @listener, or its own. */
static PrismEgressListener *
choose_listener (PrismEgressProxy *self, PrismEgressListener *listener, int code, GError **error)
{
  PrismEgressListener *chosen = listener != NULL ? g_object_ref (listener) : prism_egress_proxy_dup_listener (self);

  if (chosen == NULL)
    g_set_error (error, PRISM_EGRESS_ERROR, code, "%s: this proxy has no listener of its own; name one that was added",
                 prism_egress_proxy_get_name (self));
  return chosen;
}

/**
 * prism_egress_proxy_attest:
 * @self: a proxy
 * @listener: (nullable): one of its listeners; %NULL for its own
 * @error: return location for an error
 *
 * What the proxy says of a listener: where it is, since when, and by which policy
 * it decides. It is signed if the proxy has a key.
 *
 * Returns: (transfer full): the attestation; %NULL with
 *   %PRISM_EGRESS_ERROR_ATTESTATION if it does not listen, or its policy has no
 *   fingerprint
 *
 * Since: 1.0
 */
PrismAttestation *
prism_egress_proxy_attest (PrismEgressProxy *self, PrismEgressListener *listener, GError **error)
{
  g_autoptr (PrismEgressListener) chosen = NULL;
  g_autoptr (PrismEgressPolicy) policy = NULL;
  g_autoptr (PrismAttestation) attestation = NULL;
  g_autoptr (GDateTime) started_at = NULL;
  g_autofree char *endpoint = NULL;
  PrismEgressProxyInterface *iface;
  const char *fingerprint;
  gint64 version;

  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), NULL);
  g_return_val_if_fail (listener == NULL || PRISM_IS_EGRESS_LISTENER (listener), NULL);

  chosen = choose_listener (self, listener, PRISM_EGRESS_ERROR_ATTESTATION, error);
  if (chosen == NULL)
    return NULL;
  endpoint = prism_egress_listener_dup_endpoint (chosen);
  policy = prism_egress_listener_dup_policy (chosen, &version);
  fingerprint = prism_egress_policy_get_fingerprint (policy);
  started_at = prism_egress_listener_get_started_at (chosen);
  if (endpoint == NULL || fingerprint == NULL)
    {
      g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_ATTESTATION, "%s: %s",
                   prism_egress_proxy_get_name (self),
                   endpoint == NULL ? "nothing to attest: it does not listen"
                                    : "nothing to attest: a resolver decides, and what it says has no fingerprint");
      return NULL;
    }
  attestation = prism_attestation_new (endpoint, prism_egress_listener_get_deny_direct_egress (chosen), fingerprint,
                                       version, started_at, error);
  iface = PRISM_EGRESS_PROXY_GET_IFACE (self);
  if (attestation == NULL || iface->sign_attestation == NULL)
    return g_steal_pointer (&attestation);
  return iface->sign_attestation (self, attestation, error);
}

/**
 * prism_egress_proxy_dup_stats:
 * @self: a proxy
 * @listener: (nullable): one of its listeners; %NULL for all of them together
 *
 * Returns: (transfer full): what went through since the start; zeroes if the proxy
 *   does not count
 *
 * Since: 1.0
 */
PrismEgressStats *
prism_egress_proxy_dup_stats (PrismEgressProxy *self, PrismEgressListener *listener)
{
  PrismEgressProxyInterface *iface;

  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), NULL);
  g_return_val_if_fail (listener == NULL || PRISM_IS_EGRESS_LISTENER (listener), NULL);

  iface = PRISM_EGRESS_PROXY_GET_IFACE (self);
  return iface->dup_stats != NULL ? iface->dup_stats (self, listener) : prism_egress_stats_new (0, 0, 0, 0, 0);
}

/* --- the methods that take time ------------------------------------------------- */

/* One that came too late is not left open. */
static void
end_listener (gpointer listener)
{
  g_autoptr (PrismEgressProxy) proxy = prism_egress_listener_dup_proxy (listener);

  if (proxy != NULL)
    prism_egress_proxy_remove_listener_async (proxy, listener, NULL, NULL, NULL);
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
  return operation != NULL
         && is_done (prism_operation_run (operation, self, method, PRISM_OPERATION_DEADLINE_MS, cancellable, error));
}

/* Without an operation, @error says why there is none. */
static void
begin (PrismEgressProxy *self,
       const PrismMethod *method,
       PrismOperation *operation,
       GError *error,
       GCancellable *cancellable,
       gpointer tag,
       GAsyncReadyCallback callback,
       gpointer user_data)
{
  if (operation != NULL)
    prism_operation_start (operation, self, method, PRISM_OPERATION_DEADLINE_MS, cancellable, tag, callback, user_data);
  else
    g_task_report_error (self, callback, user_data, tag, error);
}

static gboolean
finish (PrismEgressProxy *self, GAsyncResult *result, gpointer tag, GError **error)
{
  return is_done (prism_operation_finish (self, result, tag, error));
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
  begin (self, &start_method, operation, error, cancellable, prism_egress_proxy_start_async, callback, user_data);
}

/**
 * prism_egress_proxy_start_finish:
 * @self: a proxy
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Returns: whether it is done
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_start_finish (PrismEgressProxy *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return finish (self, result, prism_egress_proxy_start_async, error);
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
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_EGRESS_PROXY (self));

  operation = prism_egress_operation_new (NULL, NULL);
  begin (self, &stop_method, operation, error, cancellable, prism_egress_proxy_stop_async, callback, user_data);
}

/**
 * prism_egress_proxy_stop_finish:
 * @self: a proxy
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Returns: whether it is done
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_stop_finish (PrismEgressProxy *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return finish (self, result, prism_egress_proxy_stop_async, error);
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
  begin (self, &add_listener_method, operation, error, cancellable, prism_egress_proxy_add_listener_async, callback,
         user_data);
}

/**
 * prism_egress_proxy_add_listener_finish:
 * @self: a proxy
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Returns: whether it is done
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_add_listener_finish (PrismEgressProxy *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return finish (self, result, prism_egress_proxy_add_listener_async, error);
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
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_EGRESS_PROXY (self));
  g_return_if_fail (PRISM_IS_EGRESS_LISTENER (listener));

  operation = prism_egress_operation_new (listener, NULL);
  begin (self, &remove_listener_method, operation, error, cancellable, prism_egress_proxy_remove_listener_async,
         callback, user_data);
}

/**
 * prism_egress_proxy_remove_listener_finish:
 * @self: a proxy
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Returns: whether it is done
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_remove_listener_finish (PrismEgressProxy *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return finish (self, result, prism_egress_proxy_remove_listener_async, error);
}

/* --- set_policy ----------------------------------------------------------------- */

static PrismOperation *
new_set_policy (PrismEgressProxy *self, PrismEgressListener *listener, PrismEgressPolicy *policy, GError **error)
{
  g_autoptr (PrismEgressListener) chosen = choose_listener (self, listener, PRISM_EGRESS_ERROR_STATE, error);
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
  begin (self, &set_policy_method, operation, error, cancellable, prism_egress_proxy_set_policy_async, callback,
         user_data);
}

/**
 * prism_egress_proxy_set_policy_finish:
 * @self: a proxy
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Returns: whether it is done
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_set_policy_finish (PrismEgressProxy *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return finish (self, result, prism_egress_proxy_set_policy_async, error);
}
