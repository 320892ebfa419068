/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What becomes of a listener. The policy in force and its version are one thing
 * under one lock: whoever reads them, in whichever thread, has a pair that belongs
 * together. */
#include "prism-egress-listener-private.h"

#include "prism-bounds.h"
#include "prism-egress-proxy-private.h"

#include <gio/gunixsocketaddress.h>

/* --- checking ------------------------------------------------------------------ */

static const char *
check_place (PrismEgressListener *self)
{
  if ((self->address != NULL) == (self->socket != NULL))
    return "it takes either an address or a socket";
  if (self->address == NULL || G_IS_UNIX_SOCKET_ADDRESS (self->address))
    return NULL;
  if (!G_IS_INET_SOCKET_ADDRESS (self->address))
    return "an address is one of TCP or a Unix socket";
  if (!g_inet_address_get_is_loopback (g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (self->address))))
    return "the address is not one of the loopback; a proxy for other machines would be theirs to use";
  return NULL;
}

gboolean
prism_egress_listener_check_policy (PrismEgressListener *self, PrismEgressPolicy *policy, GError **error)
{
  gint64 most = prism_egress_listener_get_limit (self, "rules-per-policy");
  guint n = prism_egress_policy_get_rules (policy)->len;

  if (n <= most)
    return TRUE;
  g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_LIMIT,
               "a policy of %u rules: rules-per-policy allows %" G_GINT64_FORMAT, n, most);
  return FALSE;
}

/**
 * prism_egress_listener_check:
 * @self: a listener
 * @error: return location for an error
 *
 * Everything that can be wrong with it before it listens: where, the limits, the
 * size of its policy.
 *
 * Returns: whether a proxy would take it
 *
 * Since: 1.0
 */
gboolean
prism_egress_listener_check (PrismEgressListener *self, GError **error)
{
  g_autoptr (PrismEgressPolicy) policy = NULL;
  const char *wrong;

  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self), FALSE);

  wrong = check_place (self);
  if (wrong != NULL)
    {
      g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY, "egress listener: %s", wrong);
      return FALSE;
    }
  policy = prism_egress_listener_dup_policy (self, NULL);
  return prism_object_check_bounds (G_OBJECT (self), self->profile, error)
         && prism_egress_listener_check_policy (self, policy, error);
}

/* --- whose it is, and what it does -------------------------------------------------- */

gboolean
prism_egress_listener_take (PrismEgressListener *self, PrismEgressProxy *proxy, GError **error)
{
  gboolean fresh;

  g_mutex_lock (&self->lock);
  fresh = self->state == PRISM_EGRESS_LISTENER_NEW;
  if (fresh)
    {
      self->state = PRISM_EGRESS_LISTENER_TAKEN;
      self->proxy = g_object_ref (proxy);
    }
  g_mutex_unlock (&self->lock);
  if (!fresh)
    g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_STATE,
                 "the egress listener was added to a proxy before; make a new one");
  return fresh;
}

void
prism_egress_listener_take_own (PrismEgressListener *self)
{
  g_mutex_lock (&self->lock);
  if (self->state == PRISM_EGRESS_LISTENER_NEW || self->state == PRISM_EGRESS_LISTENER_CLOSED)
    {
      self->state = PRISM_EGRESS_LISTENER_TAKEN;
      g_clear_pointer (&self->endpoint, g_free);
      g_clear_pointer (&self->started_at, g_date_time_unref);
    }
  g_mutex_unlock (&self->lock);
}

void
prism_egress_listener_let_go (PrismEgressListener *self)
{
  g_autoptr (PrismEgressProxy) proxy = NULL;

  g_mutex_lock (&self->lock);
  proxy = g_steal_pointer (&self->proxy);
  g_mutex_unlock (&self->lock);
}

PrismEgressProxy *
prism_egress_listener_dup_proxy (PrismEgressListener *self)
{
  PrismEgressProxy *proxy;

  g_mutex_lock (&self->lock);
  proxy = self->proxy != NULL ? g_object_ref (self->proxy) : NULL;
  g_mutex_unlock (&self->lock);
  return proxy;
}

/**
 * prism_egress_listener_dup_endpoint:
 * @self: a listener
 *
 * Tells where it listens, such as `http://127.0.0.1:3128`; %NULL unless it does.
 *
 * Returns: (nullable): where it listens, such as `http://127.0.0.1:3128`; %NULL
 *   unless it does
 *
 * Since: 1.0
 */
char *
prism_egress_listener_dup_endpoint (PrismEgressListener *self)
{
  char *endpoint;

  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self), NULL);

  g_mutex_lock (&self->lock);
  endpoint = self->state == PRISM_EGRESS_LISTENER_OPEN ? g_strdup (self->endpoint) : NULL;
  g_mutex_unlock (&self->lock);
  return endpoint;
}

/**
 * prism_egress_listener_get_started_at:
 * @self: a listener
 *
 * Tells when it began to listen.
 *
 * Returns: (transfer full) (nullable): when it began to listen
 *
 * Since: 1.0
 */
GDateTime *
prism_egress_listener_get_started_at (PrismEgressListener *self)
{
  GDateTime *started_at;

  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self), NULL);

  g_mutex_lock (&self->lock);
  started_at = self->started_at != NULL ? g_date_time_ref (self->started_at) : NULL;
  g_mutex_unlock (&self->lock);
  return started_at;
}

/**
 * prism_egress_listener_dup_policy:
 * @self: a listener
 * @version: (out) (optional): how often it was changed
 *
 * Gets the policy in force.
 *
 * Returns: (transfer full): the policy in force
 *
 * Since: 1.0
 */
PrismEgressPolicy *
prism_egress_listener_dup_policy (PrismEgressListener *self, gint64 *version)
{
  PrismEgressPolicy *policy;

  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self), NULL);

  g_mutex_lock (&self->lock);
  policy = g_object_ref (self->policy);
  if (version != NULL)
    *version = self->policy_version;
  g_mutex_unlock (&self->lock);
  return policy;
}

/**
 * prism_egress_listener_opened:
 * @self: a listener
 * @endpoint: where it listens, such as `http://127.0.0.1:3128`
 *
 * For the proxy that it was added to: connections are accepted from here on.
 *
 * Since: 1.0
 */
void
prism_egress_listener_opened (PrismEgressListener *self, const char *endpoint)
{
  gboolean taken;

  g_return_if_fail (PRISM_IS_EGRESS_LISTENER (self) && endpoint != NULL);

  g_mutex_lock (&self->lock);
  taken = self->state == PRISM_EGRESS_LISTENER_TAKEN;
  if (taken)
    {
      self->state = PRISM_EGRESS_LISTENER_OPEN;
      self->endpoint = g_strdup (endpoint);
      self->started_at = g_date_time_new_now_utc ();
    }
  g_mutex_unlock (&self->lock);
  g_return_if_fail (taken);
}

/**
 * prism_egress_listener_apply_policy:
 * @self: a listener
 * @policy: the policy in force from here on
 *
 * For the proxy that it was added to: what is decided after this is decided by
 * @policy.
 *
 * Returns: its version
 *
 * Since: 1.0
 */
gint64
prism_egress_listener_apply_policy (PrismEgressListener *self, PrismEgressPolicy *policy)
{
  g_autoptr (PrismEgressPolicy) before = NULL;
  gint64 version;

  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self) && PRISM_IS_EGRESS_POLICY (policy), -1);

  g_mutex_lock (&self->lock);
  before = g_steal_pointer (&self->policy);
  self->policy = g_object_ref (policy);
  version = ++self->policy_version;
  g_mutex_unlock (&self->lock);
  return version;
}

/**
 * prism_egress_listener_closed:
 * @self: a listener
 *
 * For the proxy that it was added to: no byte goes through it any more.
 *
 * Since: 1.0
 */
void
prism_egress_listener_closed (PrismEgressListener *self)
{
  g_return_if_fail (PRISM_IS_EGRESS_LISTENER (self));

  g_mutex_lock (&self->lock);
  self->state = PRISM_EGRESS_LISTENER_CLOSED;
  g_mutex_unlock (&self->lock);
  prism_egress_listener_let_go (self);
}
