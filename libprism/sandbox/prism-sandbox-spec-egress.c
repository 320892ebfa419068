/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of the network a sandbox may reach, and whether that can be kept: a policy
 * without a proxy in the way, or a credential that no request could ever get, would
 * be accepted and mean nothing, so both are refused. */
#include "prism-sandbox-spec-private.h"

#include "prism-egress-limits-private.h"
#include "prism-environment-private.h"

#define MAX_CREDENTIALS 1024

/**
 * prism_sandbox_spec_get_egress_policy:
 * @self: a specification
 *
 * Gets with network=egress: what may be reached.
 *
 * Returns: (transfer none) (nullable): with network=egress: what may be reached
 *
 * Since: 1.0
 */
PrismEgressPolicy *
prism_sandbox_spec_get_egress_policy (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), NULL);
  return self->egress_policy;
}

/**
 * prism_sandbox_spec_get_credentials:
 * @self: a specification
 *
 * Gets with network=egress: a list of [class@Credential] that requests get on their way out, and
 * that are nowhere inside.
 *
 * Returns: (transfer none): with network=egress: a list of [class@Credential] that
 *   requests get on their way out, and that are nowhere inside
 *
 * Since: 1.0
 */
GListModel *
prism_sandbox_spec_get_credentials (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), NULL);
  return G_LIST_MODEL (self->credentials);
}

/**
 * prism_sandbox_spec_add_credential:
 * @self: a specification that no sandbox is made of yet
 * @credential: one more credential
 *
 * Adds a credential.
 *
 * Since: 1.0
 */
void
prism_sandbox_spec_add_credential (PrismSandboxSpec *self, PrismCredential *credential)
{
  g_return_if_fail (PRISM_IS_SANDBOX_SPEC (self));
  g_return_if_fail (PRISM_IS_CREDENTIAL (credential));

  if (prism_sandbox_spec_may_change (self))
    g_list_store_append (self->credentials, credential);
}

/**
 * prism_sandbox_spec_get_egress_proxy:
 * @self: a specification
 *
 * Gets whose listener the sandbox gets; %NULL for the process's own proxy.
 *
 * Returns: (transfer none) (nullable): whose listener the sandbox gets; %NULL for
 *   the process's own proxy
 *
 * Since: 1.0
 */
PrismEgressProxy *
prism_sandbox_spec_get_egress_proxy (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), NULL);
  return self->egress_proxy;
}

/**
 * prism_sandbox_spec_dup_egress_proxy:
 * @self: a specification
 * @proxy: (out) (transfer full) (nullable): return location for the proxy, %NULL where none is needed
 * @error: return location for an error
 *
 * Finds the proxy that a sandbox of this specification is to use: its own, or else the process's
 * ([func@EgressProxy.dup_default]); none without network=egress. A backend calls it before it begins
 * anything, and keeps the proxy until the sandbox's listener does.
 *
 * Returns: %FALSE with %PRISM_EGRESS_ERROR_NOT_SUPPORTED where one is needed and nothing can make it
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_spec_dup_egress_proxy (PrismSandboxSpec *self, PrismEgressProxy **proxy, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), FALSE);
  g_return_val_if_fail (proxy != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  *proxy = NULL;
  if (self->network != PRISM_NETWORK_MODE_EGRESS)
    return TRUE;
  *proxy = self->egress_proxy != NULL ? g_object_ref (self->egress_proxy) : prism_egress_proxy_dup_default (error);
  return *proxy != NULL;
}

/**
 * prism_sandbox_spec_get_audit:
 * @self: a specification
 *
 * Tells where the proxy's decisions about the sandbox are written down.
 *
 * Returns: (transfer none) (nullable): where the proxy's decisions about the
 *   sandbox are written down
 *
 * Since: 1.0
 */
PrismAuditLog *
prism_sandbox_spec_get_audit (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), NULL);
  return self->audit;
}

/* --- validation ---------------------------------------------------------------- */

static const char *
without_dot (const char *host)
{
  return host[0] == '.' ? host + 1 : host;
}

/* Whether a request that the rule allows can get the credential. */
static gboolean
meets (const PrismEgressRule *rule, PrismCredential *credential)
{
  guint port = prism_egress_rule_get_port (rule);

  if (prism_egress_rule_get_scheme (rule) == PRISM_EGRESS_SCHEME_HTTP)
    return FALSE;
  return prism_credential_matches (credential, without_dot (prism_egress_rule_get_host (rule)))
         || prism_egress_rule_matches (rule, without_dot (prism_credential_get_host (credential)),
                                       port != 0 ? port : 443, PRISM_EGRESS_SCHEME_HTTPS);
}

static gboolean
can_be_used (PrismEgressPolicy *policy, PrismCredential *credential)
{
  GPtrArray *rules = prism_egress_policy_get_rules (policy);

  if (prism_egress_policy_get_kind (policy) == PRISM_EGRESS_POLICY_KIND_RESOLVER)
    return TRUE; /* nobody knows yet */
  for (guint i = 0; i < rules->len; i++)
    if (meets (g_ptr_array_index (rules, i), credential))
      return TRUE;
  return FALSE;
}

static void
check_credentials (PrismSandboxSpec *self, GString *offenders)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  guint n = g_list_model_get_n_items (G_LIST_MODEL (self->credentials));

  if (n > MAX_CREDENTIALS)
    prism_offend (offenders, "credentials: more than %d", MAX_CREDENTIALS);
  for (guint i = 0; i < n && i < MAX_CREDENTIALS; i++)
    {
      g_autoptr (PrismCredential) credential = g_list_model_get_item (G_LIST_MODEL (self->credentials), i);
      const char *host = prism_credential_get_host (credential);

      if (!g_hash_table_add (seen, (gpointer)host)) /* it lives in the list */
        prism_offend (offenders, "credentials: %s twice, and a request gets one", host);
      else if (self->egress_policy != NULL && !can_be_used (self->egress_policy, credential))
        prism_offend (offenders,
                      "credentials: %s: no rule lets it be reached over TLS, and no credential goes out without; "
                      "allow https://%s",
                      host, host);
    }
}

static void
check_policy (PrismSandboxSpec *self, GString *offenders)
{
  guint rules = prism_egress_policy_get_rules (self->egress_policy)->len;
  gint64 most = prism_limits_get (self->limits, "rules-per-policy");

  if (rules > most)
    prism_offend (offenders, "egress-policy: %u rules, and rules-per-policy is %" G_GINT64_FORMAT, rules, most);
  if ((self->require & PRISM_CONTROLS_EGRESS) != 0
      && prism_egress_policy_get_kind (self->egress_policy) == PRISM_EGRESS_POLICY_KIND_ALLOW_ALL)
    prism_offend (offenders, "require: egress, and the policy lets everything be reached");
}

/* Without a proxy in the way none of it would hold. */
static void
check_nothing_set (PrismSandboxSpec *self, GString *offenders)
{
  const struct
  {
    const char *name;
    gboolean set;
  } fields[] = {
    { "egress-policy", self->egress_policy != NULL },
    { "credentials", g_list_model_get_n_items (G_LIST_MODEL (self->credentials)) > 0 },
    { "egress-proxy", self->egress_proxy != NULL },
    { "audit", self->audit != NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    if (fields[i].set)
      prism_offend (offenders, "%s: it needs network=egress", fields[i].name);
  for (guint i = 0; prism_egress_limits[i].name != NULL; i++)
    if (prism_limits_is_set (self->limits, prism_egress_limits[i].name))
      prism_offend (offenders, "limits %s: it needs network=egress", prism_egress_limits[i].name);
}

void
prism_sandbox_spec_check_egress (PrismSandboxSpec *self, GString *offenders)
{
  if (self->network != PRISM_NETWORK_MODE_EGRESS)
    {
      check_nothing_set (self, offenders);
      return;
    }
  if (self->egress_policy == NULL)
    prism_offend (offenders, "egress-policy: network=egress needs one; a deny-all policy lets nothing be reached");
  else
    check_policy (self, offenders);
  check_credentials (self, offenders);
}
