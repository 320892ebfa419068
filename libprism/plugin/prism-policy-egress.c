/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy file's egress and credentials. Pure: where a secret comes from is kept, and
 * nothing of it is looked at. */
#include "prism-policy-reader-private.h"

#include <string.h>

/* --- egress ---------------------------------------------------------------------------- */

typedef struct
{
  const char *host;
  guint port; /* 0 = any */
  gboolean has_port;
  guint scheme; /* of the words */
  gboolean has_scheme;
  gboolean allow_private, upgrade;
} WrittenRule;

static gboolean
read_rule_host (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_string (self, node, &((WrittenRule *)into)->host);
}

static gboolean
read_rule_port (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  WrittenRule *rule = into;
  const char *text = prism_json_get_string (node);
  gint64 port =
      JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_INT64 ? json_node_get_int (node) : -1;

  if (g_strcmp0 (text, "*") != 0 && (port < 1 || port > G_MAXUINT16))
    return prism_policy_refuse (self, "a number from 1 to 65535, or \"*\" for any, is expected");
  rule->port = text != NULL ? 0 : (guint)port;
  rule->has_port = TRUE;
  return TRUE;
}

static gboolean
read_rule_scheme (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  static const char *const words[] = { "*", "http", "https", NULL };

  ((WrittenRule *)into)->has_scheme = TRUE;
  return prism_policy_read_word (self, node, words, &((WrittenRule *)into)->scheme);
}

static gboolean
read_rule_private (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_boolean (self, node, &((WrittenRule *)into)->allow_private);
}

static gboolean
read_rule_upgrade (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_boolean (self, node, &((WrittenRule *)into)->upgrade);
}

static gboolean
add_rule (PrismPolicyReader *self, GPtrArray *rules, const WrittenRule *written, guint port, PrismEgressScheme scheme)
{
  PrismEgressRuleFlags flags = (written->allow_private ? PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE : 0)
                               | (written->upgrade ? PRISM_EGRESS_RULE_FLAGS_UPGRADE : 0);
  g_autofree char *origin = g_strdup_printf ("%s: %s", self->name, self->path->str);
  GError *error = NULL;
  g_autoptr (PrismEgressRule) rule = prism_egress_rule_new (written->host, port, scheme, flags, &error);

  if (rule == NULL)
    {
      g_string_append (self->path, "/host");
      return prism_policy_refuse_for (self, error);
    }
  g_ptr_array_add (rules, prism_egress_rule_with_origin (rule, origin));
  return TRUE;
}

/* As the command line reads a rule without a port: a scheme has its own; both, or none
 * said, are two rules, or one where http is upgraded. */
static gboolean
read_rule (PrismPolicyReader *self, JsonNode *node, gpointer rules)
{
  static const PrismPolicyMember members[] = {
    { "host", read_rule_host, TRUE },      { "port", read_rule_port },       { "scheme", read_rule_scheme },
    { "allowPrivate", read_rule_private }, { "upgrade", read_rule_upgrade }, { NULL },
  };
  static const PrismEgressScheme schemes[] = { PRISM_EGRESS_SCHEME_ANY, PRISM_EGRESS_SCHEME_HTTP,
                                               PRISM_EGRESS_SCHEME_HTTPS };
  WrittenRule written = { 0 };
  PrismEgressScheme scheme;

  if (!prism_policy_read_object (self, node, members, &written))
    return FALSE;
  scheme = schemes[written.scheme];
  if (written.upgrade && scheme == PRISM_EGRESS_SCHEME_HTTP)
    {
      g_string_append (self->path, "/upgrade");
      return prism_policy_refuse (self, "what is upgraded goes out as https, and the rule says http");
    }
  if (written.has_port)
    return add_rule (self, rules, &written, written.port, scheme);
  if (scheme != PRISM_EGRESS_SCHEME_HTTPS && !written.upgrade
      && !add_rule (self, rules, &written, 80, PRISM_EGRESS_SCHEME_HTTP))
    return FALSE;
  return scheme == PRISM_EGRESS_SCHEME_HTTP || add_rule (self, rules, &written, 443, PRISM_EGRESS_SCHEME_HTTPS);
}

typedef struct
{
  guint kind;
  GPtrArray *presets, *rules;
} WrittenEgress;

static gboolean
read_kind (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  static const char *const words[] = { "deny-all", "allow-all", "static", NULL };

  return prism_policy_read_word (self, node, words, &((WrittenEgress *)into)->kind);
}

static gboolean
read_preset (PrismPolicyReader *self, JsonNode *node, gpointer presets)
{
  const char *name;
  GError *error = NULL;
  g_autoptr (GPtrArray) rules = NULL;

  if (!prism_policy_read_string (self, node, &name))
    return FALSE;
  rules = prism_egress_policy_load_preset (name, &error);
  if (rules == NULL)
    return prism_policy_refuse_for (self, error);
  g_ptr_array_add (presets, g_strdup (name));
  return TRUE;
}

static gboolean
read_presets (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_list (self, node, ((WrittenEgress *)into)->presets, read_preset);
}

static gboolean
read_rules (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_list (self, node, ((WrittenEgress *)into)->rules, read_rule);
}

static gboolean
make_egress (PrismPolicyReader *self, const WrittenEgress *written)
{
  GError *error = NULL;

  if (written->kind < 2 && (written->presets->len > 0 || written->rules->len > 0))
    {
      g_string_append (self->path, written->presets->len > 0 ? "/presets" : "/rules");
      return prism_policy_refuse (self, written->kind == 0 ? "a deny-all policy has none; \"kind\": \"static\" has"
                                                           : "an allow-all policy has none; \"kind\": \"static\" has");
    }
  g_ptr_array_add (written->presets, NULL);
  if (written->kind == 0)
    self->contents->egress = prism_egress_policy_new_deny_all ();
  else if (written->kind == 1)
    self->contents->egress = prism_egress_policy_new_allow_all ();
  else
    self->contents->egress =
        prism_egress_policy_new_for_rules ((PrismEgressRule *const *)written->rules->pdata, written->rules->len,
                                           (const char *const *)written->presets->pdata, &error);
  return self->contents->egress != NULL || prism_policy_refuse_for (self, error);
}

gboolean
prism_policy_read_egress (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  static const PrismPolicyMember members[] = { { "kind", read_kind, TRUE, "deny-all, allow-all or static" },
                                               { "presets", read_presets },
                                               { "rules", read_rules },
                                               { NULL } };
  g_autoptr (GPtrArray) presets = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) rules = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_egress_rule_unref);
  WrittenEgress written = { .presets = presets, .rules = rules };

  return prism_policy_read_object (self, node, members, &written) && make_egress (self, &written);
}

/* --- credentials ------------------------------------------------------------------------- */

static gboolean
read_source_host (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_string (self, node, &((PrismPolicySource *)into)->host);
}

static gboolean
read_source_header (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_string (self, node, &((PrismPolicySource *)into)->header);
}

static gboolean
read_source_variable (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  const char *text = prism_json_get_string (node);

  if (text == NULL || text[0] == '\0' || strchr (text, '=') != NULL || strlen (text) > 1024)
    return prism_policy_refuse (self, "the name of a variable is expected");
  ((PrismPolicySource *)into)->variable = (char *)text;
  return TRUE;
}

static gboolean
read_source_file (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  const char *text = prism_json_get_string (node);

  if (text == NULL || text[0] == '\0' || strlen (text) > 4095)
    return prism_policy_refuse (self, "a path is expected");
  ((PrismPolicySource *)into)->file = (char *)text;
  return TRUE;
}

static PrismPolicySource *
dup_source (const PrismPolicyReader *self, const PrismPolicySource *written)
{
  PrismPolicySource *source = g_new (PrismPolicySource, 1);

  source->host = g_strdup (written->host);
  source->header = g_strdup (written->header);
  source->variable = g_strdup (written->variable);
  source->file = written->file != NULL ? g_canonicalize_filename (written->file, self->folder) : NULL;
  return source;
}

/* Host and header as a credential would have them; its value is for later. */
static gboolean
read_credential (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  static const PrismPolicyMember members[] = {
    { "host", read_source_host, TRUE },
    { "header", read_source_header, TRUE },
    { "fromEnv", read_source_variable },
    { "fromFile", read_source_file },
    { NULL },
  };
  PrismPolicySource written = { NULL };
  g_autoptr (PrismCredential) probe = NULL;
  GError *error = NULL;

  if (!prism_policy_read_object (self, node, members, &written))
    return FALSE;
  if ((written.variable != NULL) == (written.file != NULL))
    return prism_policy_refuse (self, "either fromEnv or fromFile is expected");
  probe = prism_credential_new (written.host, written.header, "probe", &error);
  if (probe == NULL)
    return prism_policy_refuse_for (self, error);
  g_ptr_array_add (self->contents->credentials, dup_source (self, &written));
  return TRUE;
}

gboolean
prism_policy_read_credentials (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_list (self, node, NULL, read_credential);
}
