/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox owns its listener: policy, credentials and open tunnels live and die
 * with it, on every path on which a sandbox can end.
 *
 * TRUST. The listener's descriptor comes from inside and is checked as such; what is
 * asked through it is the proxy's to judge. The variables are a courtesy to programs
 * inside: one that ignores them reaches nothing. */
#include "prism-agent-egress-private.h"

#include "prism-agent-lifecycle-private.h"
#include "prism-agent-sandbox-private.h"
#include "prism-egress-audit-private.h"
#include "prism-egress-limits-private.h"
#include "prism-fd-private.h"
#include "prism-operations.h"
#include "prism-sandbox-error.h"

#include <string.h>

void
prism_agent_egress_init (PrismAgentEgress *self)
{
  g_mutex_init (&self->lock);
}

void
prism_agent_egress_clear (PrismAgentEgress *self)
{
  /* The last reference ends a listener that nobody closed. */
  g_clear_object (&self->listener);
  g_clear_object (&self->proxy);
  g_free (self->told);
  g_mutex_clear (&self->lock);
}

/* --- what programs inside are told ------------------------------------------------ */

#define ENDPOINT "http://127.0.0.1:" G_STRINGIFY (PRISM_AGENT_EGRESS_PORT)

/* A host of the sandbox's own that a rule names is meant to be the real host's: it
 * must go through the proxy then. */
static char *
list_direct_hosts (PrismEgressPolicy *policy)
{
  static const char *const own[] = { "localhost", "127.0.0.1", "::1" };
  GPtrArray *rules = prism_egress_policy_get_rules (policy);
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (own); i++)
    {
      gboolean named = FALSE;
      for (guint k = 0; k < rules->len && !named; k++)
        named = g_str_equal (prism_egress_rule_get_host (g_ptr_array_index (rules, k)), own[i]);
      if (!named)
        g_string_append_printf (text, "%s%s", text->len > 0 ? "," : "", own[i]);
    }
  return g_string_free (text, FALSE);
}

char **
prism_agent_egress_list_variables (PrismSandboxSpec *spec)
{
  PrismEgressPolicy *policy = prism_sandbox_spec_get_egress_policy (spec);
  g_autofree char *direct = NULL;
  GPtrArray *list;

  if (prism_sandbox_spec_get_network (spec) != PRISM_NETWORK_MODE_EGRESS || policy == NULL)
    return NULL;
  direct = list_direct_hosts (policy);
  list = g_ptr_array_new ();
  /* Half of all programs read one spelling, the other half the other. */
  g_ptr_array_add (list, g_strdup ("HTTP_PROXY=" ENDPOINT));
  g_ptr_array_add (list, g_strdup ("http_proxy=" ENDPOINT));
  g_ptr_array_add (list, g_strdup ("HTTPS_PROXY=" ENDPOINT));
  g_ptr_array_add (list, g_strdup ("https_proxy=" ENDPOINT));
  g_ptr_array_add (list, g_strdup ("ALL_PROXY=" ENDPOINT));
  g_ptr_array_add (list, g_strdup ("all_proxy=" ENDPOINT));
  g_ptr_array_add (list, g_strconcat ("NO_PROXY=", direct, NULL));
  g_ptr_array_add (list, g_strconcat ("no_proxy=", direct, NULL));
  /* Node's own fetch looks at the others only with this. */
  g_ptr_array_add (list, g_strdup ("NODE_USE_ENV_PROXY=1"));
  g_ptr_array_add (list, NULL);
  return (char **)g_ptr_array_free (list, FALSE);
}

/* Under the lock. Looked at once for each version of the policy. */
static void
look_at_policy (PrismAgentEgress *self, PrismEgressPolicy *first)
{
  g_autoptr (PrismEgressPolicy) policy = NULL;
  g_autofree char *direct = NULL, *before = NULL;
  gint64 version;

  policy = prism_egress_listener_dup_policy (self->listener, &version);
  if (version == self->told_version)
    return;
  direct = list_direct_hosts (policy);
  before = list_direct_hosts (first);
  g_free (self->told);
  self->told = g_str_equal (direct, before) ? NULL : g_steal_pointer (&direct);
  self->told_version = version;
}

static gboolean
sets (const char *const *env, const char *name)
{
  for (gsize i = 0; env != NULL && env[i] != NULL; i++)
    if (g_str_has_prefix (env[i], name) && env[i][strlen (name)] == '=')
      return TRUE;
  return FALSE;
}

char **
prism_agent_egress_follow (PrismAgentSandbox *sandbox, const char *const *env)
{
  static const char *const names[] = { "NO_PROXY", "no_proxy" };
  PrismSandboxSpec *spec = prism_agent_sandbox_get_spec (sandbox);
  PrismAgentEgress *self = prism_agent_sandbox_get_egress (sandbox);
  GPtrArray *list = NULL;

  g_mutex_lock (&self->lock);
  if (self->listener != NULL && prism_sandbox_spec_get_egress_policy (spec) != NULL)
    look_at_policy (self, prism_sandbox_spec_get_egress_policy (spec));
  if (self->listener != NULL && self->told != NULL)
    {
      list = g_ptr_array_new ();
      for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
        if (!sets (env, names[i]) && !sets (prism_sandbox_spec_get_env (spec), names[i])
            && !sets (prism_sandbox_spec_get_secrets (spec), names[i]))
          g_ptr_array_add (list, g_strconcat (names[i], "=", self->told, NULL));
    }
  g_mutex_unlock (&self->lock);
  if (list == NULL)
    return NULL;
  for (gsize i = 0; env != NULL && env[i] != NULL; i++)
    g_ptr_array_add (list, g_strdup (env[i]));
  g_ptr_array_add (list, NULL);
  return (char **)g_ptr_array_free (list, FALSE);
}

/* --- opening and closing ------------------------------------------------------------ */

static PrismEgressProxy *
dup_proxy (PrismSandboxSpec *spec, GCancellable *cancellable, GError **error)
{
  g_autoptr (PrismEgressProxy) proxy = NULL;

  if (!prism_sandbox_spec_dup_egress_proxy (spec, &proxy, error))
    return NULL;
  /* The thread that makes sandboxes may be gone tomorrow; the default context stays. */
  prism_egress_audit_begin_default (proxy);
  return prism_egress_proxy_start (proxy, cancellable, error) ? g_steal_pointer (&proxy) : NULL;
}

static PrismEgressListener *
new_listener (int fd, PrismSandboxSpec *spec, const char *id, gboolean restricted, GError **error)
{
  g_autoptr (GSocket) socket = g_socket_new_from_fd (fd, error);
  PrismLimits *limits = prism_sandbox_spec_get_limits (spec);
  GListModel *credentials = prism_sandbox_spec_get_credentials (spec);
  PrismEgressListener *listener;

  if (socket == NULL)
    {
      prism_clear_fd (&fd);
      return NULL;
    }
  listener = prism_egress_listener_new_for_socket (socket, prism_sandbox_spec_get_egress_policy (spec));
  g_object_set (listener, "label", id, "audit", prism_sandbox_spec_get_audit (spec), "profile",
                prism_limits_get_profile (limits), "deny-direct-egress", restricted, NULL);
  for (guint i = 0; prism_egress_limits[i].name != NULL; i++)
    if (prism_limits_is_set (limits, prism_egress_limits[i].name))
      g_object_set (listener, prism_egress_limits[i].name, prism_limits_get (limits, prism_egress_limits[i].name),
                    NULL);
  for (guint i = 0; i < g_list_model_get_n_items (credentials); i++)
    {
      g_autoptr (PrismCredential) credential = g_list_model_get_item (credentials, i);
      prism_egress_listener_add_credential (listener, credential);
    }
  return listener;
}

/* The sandbox may have been lost meanwhile, and closed all this before it was there. */
static gboolean
keep (PrismAgentEgress *self, PrismEgressProxy *proxy, PrismEgressListener *listener)
{
  gboolean closed;

  g_mutex_lock (&self->lock);
  closed = self->closed;
  if (!closed)
    {
      self->proxy = g_object_ref (proxy);
      self->listener = g_object_ref (listener);
    }
  g_mutex_unlock (&self->lock);
  return !closed;
}

gboolean
prism_agent_egress_open (PrismAgentEgress *self,
                         PrismAgentSandbox *sandbox,
                         const char *id,
                         gboolean restricted,
                         GCancellable *cancellable,
                         GError **error)
{
  PrismSandboxSpec *spec = prism_agent_sandbox_get_spec (sandbox);
  g_autoptr (PrismEgressProxy) proxy = dup_proxy (spec, cancellable, error);
  g_autoptr (PrismEgressListener) listener = NULL;
  int fd;

  if (proxy == NULL)
    return FALSE;
  fd = prism_agent_sandbox_listen (sandbox, PRISM_AGENT_EGRESS_PORT, cancellable, error);
  if (fd < 0)
    return FALSE;
  listener = new_listener (fd, spec, id, restricted, error);
  if (listener == NULL || !prism_egress_proxy_add_listener (proxy, listener, cancellable, error))
    return FALSE;
  if (keep (self, proxy, listener))
    return TRUE;
  prism_egress_proxy_remove_listener (proxy, listener, NULL, NULL);
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST,
                       "the sandbox ended while its way out was opened");
  return FALSE;
}

void
prism_agent_egress_close (PrismAgentEgress *self)
{
  g_autoptr (PrismEgressProxy) proxy = NULL;
  g_autoptr (PrismEgressListener) listener = NULL;
  g_autoptr (GError) error = NULL;

  g_mutex_lock (&self->lock);
  self->closed = TRUE;
  proxy = g_steal_pointer (&self->proxy);
  listener = g_steal_pointer (&self->listener);
  g_mutex_unlock (&self->lock);
  if (listener != NULL && !prism_egress_proxy_remove_listener (proxy, listener, NULL, &error))
    g_warning ("a sandbox's way out did not close in time: %s", error->message);
}

/* --- changing it ---------------------------------------------------------------------- */

static gboolean
check_policy (PrismAgentSandbox *self, PrismEgressPolicy *policy, GError **error)
{
  PrismEgressPolicy *first = prism_sandbox_spec_get_egress_policy (prism_agent_sandbox_get_spec (self));

  if (prism_egress_policy_get_kind (policy) != PRISM_EGRESS_POLICY_KIND_ALLOW_ALL
      || (first != NULL && prism_egress_policy_get_kind (first) == PRISM_EGRESS_POLICY_KIND_ALLOW_ALL))
    return TRUE;
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
                       "a sandbox whose egress is restricted cannot be given a policy that allows everything: what it "
                       "says of itself would not be true any more");
  return FALSE;
}

/* Both, or neither and an error. */
static PrismEgressListener *
dup_listener (PrismAgentSandbox *sandbox, PrismEgressProxy **proxy, GError **error)
{
  PrismAgentEgress *self = prism_agent_sandbox_get_egress (sandbox);
  PrismEgressListener *listener = NULL;

  g_mutex_lock (&self->lock);
  if (self->listener != NULL)
    {
      *proxy = g_object_ref (self->proxy);
      listener = g_object_ref (self->listener);
    }
  g_mutex_unlock (&self->lock);
  if (listener != NULL)
    return listener;
  if (prism_sandbox_spec_get_network (prism_agent_sandbox_get_spec (sandbox)) == PRISM_NETWORK_MODE_EGRESS)
    g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE, "the sandbox's way out is closed");
  else
    g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_SUPPORTED,
                         "the sandbox was made without a way out, so there is no policy to change; make it with "
                         "network=egress, with a deny-all policy if nothing is to be reached at first");
  return NULL;
}

static void
answer (PrismOperation *operation, const GError *error)
{
  if (error != NULL)
    prism_operation_fail (operation, error);
  else
    prism_control_operation_complete (PRISM_CONTROL_OPERATION (operation));
}

static void
policy_set (GObject *proxy, GAsyncResult *result, gpointer operation)
{
  g_autoptr (GError) error = NULL;

  prism_egress_proxy_set_policy_finish (PRISM_EGRESS_PROXY (proxy), result, &error);
  answer (operation, error);
  g_object_unref (operation);
}

static void
agent_set_network_policy (PrismSandbox *sandbox, PrismControlOperation *control)
{
  PrismAgentSandbox *self = PRISM_AGENT_SANDBOX (sandbox);
  PrismOperation *operation = PRISM_OPERATION (control);
  PrismEgressPolicy *policy = prism_control_operation_get_policy (control);
  g_autoptr (PrismEgressProxy) proxy = NULL;
  g_autoptr (PrismEgressListener) listener = NULL;
  g_autoptr (GError) error = NULL;

  if (prism_agent_lifecycle_check_owner (prism_agent_sandbox_get_lifecycle (self), &error))
    listener = dup_listener (self, &proxy, &error);
  if (listener == NULL || !check_policy (self, policy, &error))
    {
      prism_operation_fail (operation, error);
      return;
    }
  if (!prism_operation_get_may_block (operation))
    {
      prism_egress_proxy_set_policy_async (proxy, listener, policy, prism_operation_get_cancellable (operation),
                                           policy_set, g_object_ref (operation));
      return;
    }
  prism_egress_proxy_set_policy (proxy, listener, policy, prism_operation_get_cancellable (operation), &error);
  answer (operation, error);
}

void
prism_agent_egress_init_interface (PrismSandboxInterface *iface)
{
  iface->set_network_policy = agent_set_network_policy;
}
