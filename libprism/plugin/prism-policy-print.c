/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy file that says what another one says, and nothing less: what that leaves unsaid
 * is said. Presets are their rules. Pure; secrets are not there to be printed. */
#include "prism-fingerprint-private.h"
#include "prism-policy-file-private.h"

static void
append_name (GString *json, const char *indent, const char *name)
{
  g_string_append_printf (json, "%s%s\"%s\": ", json->len > 0 && json->str[json->len - 1] != '{' ? "," : "", indent,
                          name);
}

static void
append_string (GString *json, const char *indent, const char *name, const char *text)
{
  append_name (json, indent, name);
  prism_canonical_append_string (json, text, -1);
}

static void
append_strings (GString *json, const char *indent, const char *name, GPtrArray *list)
{
  append_name (json, indent, name);
  prism_canonical_append_strv (json, (const char *const *)list->pdata);
}

static const char *
word_of (gboolean flag)
{
  return flag ? "true" : "false";
}

static void
append_rules (GString *json, GPtrArray *rules)
{
  append_name (json, "\n  ", "commandRules");
  g_string_append_c (json, '[');
  for (guint i = 0; i < rules->len; i++)
    g_string_append_printf (json, "%s\n    %s", i > 0 ? "," : "", prism_command_rule_get_line (rules->pdata[i]));
  g_string_append (json, rules->len > 0 ? "\n  ]" : "]");
}

static void
append_approval (GString *json, const PrismPolicyContents *self)
{
  static const char *const caches[] = { "none", "run", "session" };

  append_name (json, "\n  ", "approval");
  g_string_append_printf (json, "{ \"cache\": \"%s\", \"timeoutMs\": %" G_GINT64_FORMAT " }", caches[self->cache],
                          self->timeout_ms);
}

static void
append_egress_rule (GString *json, const PrismEgressRule *rule)
{
  static const char *const schemes[] = { "*", "http", "https" };
  guint port = prism_egress_rule_get_port (rule);

  g_string_append (json, "\n      { \"host\": ");
  prism_canonical_append_string (json, prism_egress_rule_get_host (rule), -1);
  if (port == 0)
    g_string_append (json, ", \"port\": \"*\"");
  else
    g_string_append_printf (json, ", \"port\": %u", port);
  g_string_append_printf (json, ", \"scheme\": \"%s\", \"allowPrivate\": %s, \"upgrade\": %s }",
                          schemes[prism_egress_rule_get_scheme (rule)],
                          word_of (prism_egress_rule_get_allow_private (rule)),
                          word_of (prism_egress_rule_get_upgrade (rule)));
}

static void
append_egress (GString *json, PrismEgressPolicy *egress)
{
  static const char *const kinds[] = { "deny-all", "allow-all", "static", "static" };
  PrismEgressPolicyKind kind = prism_egress_policy_get_kind (egress);
  GPtrArray *rules = prism_egress_policy_get_rules (egress);

  append_name (json, "\n  ", "egress");
  g_string_append_printf (json, "{ \"kind\": \"%s\"", kinds[kind]);
  if (kind == PRISM_EGRESS_POLICY_KIND_STATIC)
    {
      g_string_append (json, ", \"rules\": [");
      for (guint i = 0; i < rules->len; i++)
        {
          g_string_append (json, i > 0 ? "," : "");
          append_egress_rule (json, rules->pdata[i]);
        }
      g_string_append (json, "\n    ]");
    }
  g_string_append (json, " }");
}

static void
append_credentials (GString *json, GPtrArray *credentials)
{
  append_name (json, "\n  ", "credentials");
  g_string_append_c (json, '[');
  for (guint i = 0; i < credentials->len; i++)
    {
      const PrismPolicySource *source = credentials->pdata[i];

      g_string_append (json, i > 0 ? ",\n    {" : "\n    {");
      append_string (json, " ", "host", source->host);
      append_string (json, " ", "header", source->header);
      append_string (json, " ", source->file != NULL ? "fromFile" : "fromEnv",
                     source->file != NULL ? source->file : source->variable);
      g_string_append (json, " }");
    }
  g_string_append (json, credentials->len > 0 ? "\n  ]" : "]");
}

/* Those that the file sets; a profile has the others. */
static void
append_limits (GString *json, PrismLimits *limits)
{
  g_auto (GStrv) names = NULL;

  append_name (json, "\n  ", "limits");
  g_string_append (json, "{ \"profile\": ");
  g_string_append (json, limits != NULL && prism_limits_get_profile (limits) == PRISM_LIMITS_PROFILE_STRICT
                             ? "\"strict\""
                             : "\"standard\"");
  names = limits != NULL ? prism_limits_list_names (limits) : NULL;
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (prism_limits_is_set (limits, names[i]))
      g_string_append_printf (json, ", \"%s\": %" G_GINT64_FORMAT, names[i], prism_limits_get (limits, names[i]));
  g_string_append (json, " }");
}

static void
append_filesystem (GString *json, const PrismPolicyContents *self)
{
  append_name (json, "\n  ", "filesystem");
  g_string_append (json, "{");
  append_strings (json, "\n    ", "readOnly", self->read_only);
  append_strings (json, "\n    ", "readWrite", self->read_write);
  append_strings (json, "\n    ", "hide", self->hide);
  append_strings (json, "\n    ", "protect", self->protect);
  g_string_append (json, "\n  }");
}

char *
prism_policy_contents_print (const PrismPolicyContents *self)
{
  GString *json = g_string_new ("{");

  append_name (json, "\n  ", "version");
  g_string_append_c (json, '1');
  append_strings (json, "\n  ", "roots", self->roots);
  append_name (json, "\n  ", "readOnly");
  g_string_append (json, word_of (self->only_reads));
  append_name (json, "\n  ", "denyMetacharacters");
  g_string_append (json, word_of (self->deny_metacharacters));
  append_rules (json, self->rules);
  append_approval (json, self);
  if (self->egress != NULL)
    append_egress (json, self->egress);
  append_credentials (json, self->credentials);
  append_limits (json, self->limits);
  append_filesystem (json, self);
  g_string_append (json, "\n}\n");
  return g_string_free (json, FALSE);
}
