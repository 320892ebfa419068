/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox owns its listener: policy, credentials and open tunnels live and die
 * with it, on every path on which a sandbox can end.
 *
 * TRUST. The listener's descriptor comes from inside and is checked as such; what is
 * asked through it is the proxy's to judge. The variables are a courtesy to programs
 * inside: one that ignores them reaches nothing. */
#include "prism-agent-egress-private.h"

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

/* --- opening and closing ------------------------------------------------------------ */

static PrismEgressProxy *
dup_proxy (PrismSandboxSpec *spec, GCancellable *cancellable, GError **error)
{
  PrismEgressProxy *given = prism_sandbox_spec_get_egress_proxy (spec);
  g_autoptr (PrismEgressProxy) proxy = given != NULL ? g_object_ref (given) : prism_egress_proxy_dup_default (error);

  if (proxy == NULL)
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
