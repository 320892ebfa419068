/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The interface of the proxies, and what is asked of one without waiting. */
#include "prism-egress-audit-private.h"
#include "prism-egress-proxy-private.h"
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
 * Gets its name; the messages of all its errors start with it.
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

/* --- its own listener ------------------------------------------------------------ */

/**
 * prism_egress_proxy_dup_listener:
 * @self: a proxy
 *
 * Gets its own listener; %NULL if it has none.
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
 * Tells where its own listener listens, such as `http://127.0.0.1:3128`; %NULL unless it does.
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
 * Tells how often its own listener's policy was changed; -1 if it has none.
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

PrismEgressListener *
prism_egress_proxy_choose_listener (PrismEgressProxy *self, PrismEgressListener *listener, int code, GError **error)
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

  chosen = prism_egress_proxy_choose_listener (self, listener, PRISM_EGRESS_ERROR_ATTESTATION, error);
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
 * Tells what went through since the start; zeroes if the proxy does not count.
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
