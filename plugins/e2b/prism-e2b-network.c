/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-e2b-network.h"

#include <string.h>

#define EVERYTHING "0.0.0.0/0"

void
prism_e2b_network_clear (PrismE2bNetwork *self)
{
  g_clear_pointer (&self->allow, g_ptr_array_unref);
}

/* --- a rule ------------------------------------------------------------------------------ */

typedef struct
{
  const char *host;
  gboolean web, tls; /* ports 80 and 443: both or none */
} Host;

static const char *
judge_flags (const PrismEgressRule *rule)
{
  if (prism_egress_rule_get_allow_private (rule))
    return "private addresses are never reached";
  if (prism_egress_rule_get_upgrade (rule))
    return "nothing there makes HTTPS of HTTP";
  return NULL;
}

/* An address is let through on every port, whatever is spoken. */
static const char *
judge_address (const PrismEgressRule *rule, GInetAddress *address)
{
  if (g_inet_address_get_family (address) != G_SOCKET_FAMILY_IPV4)
    return "only IPv4 addresses can be named";
  if (g_inet_address_get_is_any (address) || g_inet_address_get_is_loopback (address)
      || g_inet_address_get_is_link_local (address) || g_inet_address_get_is_site_local (address)
      || g_inet_address_get_is_multicast (address))
    return "only public addresses are ever reached";
  if (prism_egress_rule_get_port (rule) != 0 || prism_egress_rule_get_scheme (rule) != PRISM_EGRESS_SCHEME_ANY)
    return "an address is let through on all of its ports; a rule for one of them cannot be said";
  return NULL;
}

/* A name is let through on 80, as HTTP, and on 443, as TLS: both or none. */
static const char *
judge_name (const PrismEgressRule *rule, Host *host)
{
  guint port = prism_egress_rule_get_port (rule);
  PrismEgressScheme scheme = prism_egress_rule_get_scheme (rule);
  gboolean web = scheme != PRISM_EGRESS_SCHEME_HTTPS, tls = scheme != PRISM_EGRESS_SCHEME_HTTP;

  if (port == 80 && web)
    host->web = TRUE;
  else if (port == 443 && tls)
    host->tls = TRUE;
  else
    return "names are let through on the ports 80, as HTTP, and 443, as TLS, and on no others";
  return NULL;
}

/* --- all of them ---------------------------------------------------------------------------- */

static void
complain (GString *wrong, const char *rule, const char *why)
{
  g_string_append_printf (wrong, "%s%s: %s", wrong->len > 0 ? "; " : "", rule, why);
}

static Host *
host_of (GArray *hosts, const char *name)
{
  Host fresh = { .host = name };

  for (guint i = 0; i < hosts->len; i++)
    if (strcmp (g_array_index (hosts, Host, i).host, name) == 0)
      return &g_array_index (hosts, Host, i);
  g_array_append_val (hosts, fresh);
  return &g_array_index (hosts, Host, hosts->len - 1);
}

static void
add (PrismE2bNetwork *self, char *entry)
{
  for (guint i = 0; i < self->allow->len; i++)
    if (strcmp (self->allow->pdata[i], entry) == 0)
      {
        g_free (entry);
        return;
      }
  g_ptr_array_add (self->allow, entry);
}

static void
add_names (PrismE2bNetwork *self, GArray *hosts, GString *wrong)
{
  for (guint i = 0; i < hosts->len; i++)
    {
      const Host *host = &g_array_index (hosts, Host, i);
      gboolean domain = *host->host == '.';

      if (!host->web || !host->tls)
        {
          complain (wrong, host->host,
                    host->web ? "port 443 would be open as well; allow both 80 and 443, or neither"
                              : "port 80 would be open as well; allow both 80 and 443, or neither");
          continue;
        }
      add (self, g_strdup (host->host + domain));
      if (domain)
        add (self, g_strconcat ("*", host->host, NULL));
      self->has_names = TRUE;
    }
}

static gboolean
init_static (PrismE2bNetwork *self, PrismEgressPolicy *policy, GError **error)
{
  GPtrArray *rules = prism_egress_policy_get_rules (policy);
  g_autoptr (GArray) hosts = g_array_new (FALSE, FALSE, sizeof (Host));
  g_autoptr (GString) wrong = g_string_new (NULL);

  for (guint i = 0; i < rules->len; i++)
    {
      const PrismEgressRule *rule = rules->pdata[i];
      const char *name = prism_egress_rule_get_host (rule), *why = judge_flags (rule);
      g_autoptr (GInetAddress) address = g_inet_address_new_from_string (name);

      if (why == NULL && address != NULL && (why = judge_address (rule, address)) == NULL)
        add (self, g_strdup (name));
      else if (why == NULL && address == NULL)
        {
          Host judged = { .host = name };
          if ((why = judge_name (rule, &judged)) == NULL)
            {
              Host *host = host_of (hosts, name);
              host->web |= judged.web;
              host->tls |= judged.tls;
            }
        }
      if (why != NULL)
        complain (wrong, prism_egress_rule_get_line (rule), why);
    }
  add_names (self, hosts, wrong);
  if (wrong->len == 0)
    return TRUE;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
               "the service cannot enforce this egress policy: %s", wrong->str);
  return FALSE;
}

gboolean
prism_e2b_network_init (PrismE2bNetwork *self, PrismEgressPolicy *policy, GError **error)
{
  PrismEgressPolicyKind kind =
      policy != NULL ? prism_egress_policy_get_kind (policy) : PRISM_EGRESS_POLICY_KIND_DENY_ALL;

  *self = (PrismE2bNetwork){ .allow = g_ptr_array_new_with_free_func (g_free) };
  self->open = kind == PRISM_EGRESS_POLICY_KIND_ALLOW_ALL;
  /* What a resolver answers is a policy of its own, and is what is asked for here. */
  g_return_val_if_fail (kind != PRISM_EGRESS_POLICY_KIND_RESOLVER, FALSE);
  if (kind == PRISM_EGRESS_POLICY_KIND_STATIC && !init_static (self, policy, error))
    {
      prism_e2b_network_clear (self);
      return FALSE;
    }
  return TRUE;
}

/* --- in the service's words -------------------------------------------------------------------- */

static void
set_lists (const PrismE2bNetwork *self, JsonObject *object)
{
  JsonArray *allow = json_array_new (), *deny = json_array_new ();

  for (guint i = 0; i < self->allow->len; i++)
    json_array_add_string_element (allow, self->allow->pdata[i]);
  if (!self->open)
    json_array_add_string_element (deny, EVERYTHING);
  json_object_set_array_member (object, "allowOut", allow);
  json_object_set_array_member (object, "denyOut", deny);
}

void
prism_e2b_network_add_to_create (const PrismE2bNetwork *self, JsonObject *request)
{
  JsonObject *network = json_object_new ();

  set_lists (self, network);
  json_object_set_boolean_member (network, "allowPublicTraffic", FALSE);
  json_object_set_object_member (request, "network", network);
  json_object_set_boolean_member (request, "allow_internet_access", self->open);
}

GBytes *
prism_e2b_network_to_update (const PrismE2bNetwork *self)
{
  JsonObject *object = json_object_new ();
  JsonNode *node = json_node_new (JSON_NODE_OBJECT);

  set_lists (self, object);
  json_object_set_boolean_member (object, "allow_internet_access", self->open);
  json_node_take_object (node, object);
  return prism_e2b_json_to_bytes (node);
}

static gboolean
list_has (JsonArray *list, const char *text)
{
  for (guint i = 0; list != NULL && i < json_array_get_length (list); i++)
    if (g_strcmp0 (prism_http_json_text (json_array_get_element (list, i)), text) == 0)
      return TRUE;
  return FALSE;
}

/* More than was asked for is what must not be; an entry that it left out denies more. */
gboolean
prism_e2b_network_matches (const PrismE2bNetwork *self, JsonNode *detail, const char **why)
{
  JsonNode *network = prism_http_json_get (detail, "network", NULL);
  JsonArray *allow = prism_http_json_array (prism_http_json_get (network, "allowOut", NULL));
  JsonArray *deny = prism_http_json_array (prism_http_json_get (network, "denyOut", NULL));
  JsonNode *access = prism_http_json_get (detail, "allowInternetAccess", NULL);
  gboolean closed = access != NULL && JSON_NODE_HOLDS_VALUE (access) && !prism_http_json_flag (access);

  *why = NULL;
  if (self->open)
    return TRUE;
  if (!closed && !list_has (deny, EVERYTHING))
    *why = "the service does not say that it denies everything else";
  for (guint i = 0; allow != NULL && i < json_array_get_length (allow); i++)
    {
      const char *entry = prism_http_json_text (json_array_get_element (allow, i));
      gboolean asked = FALSE;

      for (guint k = 0; entry != NULL && k < self->allow->len; k++)
        asked |= strcmp (entry, self->allow->pdata[k]) == 0;
      if (!asked)
        *why = "the service says that it allows more than was asked for";
    }
  return *why == NULL;
}

PrismControls
prism_e2b_network_get_controls (const PrismE2bNetwork *self)
{
  if (self->open)
    return PRISM_CONTROLS_NONE;
  return PRISM_CONTROLS_EGRESS | (self->allow->len == 0 ? PRISM_CONTROLS_NETWORK : PRISM_CONTROLS_NONE);
}

char *
prism_e2b_network_dup_evidence (const PrismE2bNetwork *self)
{
  if (self->open)
    return g_strdup ("not enforced: everything public is reached");
  if (self->allow->len == 0)
    return g_strdup ("the service accepted a request that denies " EVERYTHING);
  return g_strdup_printf (
      "the service accepted a request that denies " EVERYTHING " and allows %u names and addresses%s", self->allow->len,
      self->has_names ? "; names on the ports 80 and 443 only, and for them 8.8.8.8 as well, whose DNS answers" : "");
}
