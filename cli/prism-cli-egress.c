/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What may be reached, from the options and the policy file. Rules add up: those of
 * the file, then --preset, --allow and --allow-private. What contradicts each other is
 * refused; nothing is let through that nobody asked for. */
#include "prism-cli-egress.h"

#include "prism-cli-approve.h"

#include "prism-cli-property.h"

#include <string.h>

static gboolean
add_rules (GPtrArray *rules, const char *option, char **texts, PrismEgressRuleFlags flags, GError **error)
{
  for (guint i = 0; texts != NULL && texts[i] != NULL; i++)
    {
      g_autoptr (GPtrArray) parsed = prism_egress_rule_parse (texts[i], flags, error);
      g_autofree char *origin = g_strdup_printf ("%s %s", option, texts[i]);

      if (parsed == NULL)
        {
          g_prefix_error (error, "%s: ", option);
          return FALSE;
        }
      for (guint k = 0; k < parsed->len; k++)
        g_ptr_array_add (rules, prism_egress_rule_with_origin (parsed->pdata[k], origin));
    }
  return TRUE;
}

static gboolean
add_presets (GPtrArray *rules, char **names, GError **error)
{
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      GPtrArray *preset = prism_egress_policy_load_preset (names[i], error);

      if (preset == NULL)
        {
          g_prefix_error (error, "--preset: ");
          return FALSE;
        }
      g_ptr_array_extend_and_steal (rules, preset);
    }
  return TRUE;
}

static gboolean
asks_for_rules (const PrismCliOptions *self)
{
  return self->allow != NULL || self->preset != NULL || self->allow_private != NULL;
}

static gboolean
is_about_egress (const PrismCliOptions *self)
{
  return asks_for_rules (self) || g_strcmp0 (self->network, "egress") == 0;
}

/* The policy of both, where the options add to it. */
static PrismEgressPolicy *
make_policy (const PrismCliOptions *self, PrismEgressPolicy *of_file, GError **error)
{
  g_autoptr (GPtrArray) rules = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_egress_rule_unref);
  GPtrArray *given = of_file != NULL ? prism_egress_policy_get_rules (of_file) : NULL;

  if (of_file != NULL && prism_egress_policy_get_kind (of_file) == PRISM_EGRESS_POLICY_KIND_ALLOW_ALL)
    {
      prism_cli_bad_value (error,
                           _ ("the policy file lets everything be reached; --allow, --preset and --allow-private add "
                              "nothing to that"));
      return NULL;
    }
  for (guint i = 0; given != NULL && i < given->len; i++)
    g_ptr_array_add (rules, prism_egress_rule_ref (given->pdata[i]));
  if (!add_presets (rules, self->preset, error)
      || !add_rules (rules, "--allow", self->allow, PRISM_EGRESS_RULE_FLAGS_NONE, error)
      || !add_rules (rules, "--allow-private", self->allow_private, PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE, error))
    return NULL;
  return prism_egress_policy_new_for_rules ((PrismEgressRule *const *)rules->pdata, rules->len, NULL, error);
}

/* HOST=HEADER:ENVNAME; the host may be an IPv6 address. */
PrismCredential *
prism_cli_egress_credential (const char *text, GError **error)
{
  const char *equals = strchr (text, '=');
  const char *colon = equals != NULL ? strchr (equals, ':') : NULL;
  g_autofree char *host = colon != NULL ? g_strndup (text, equals - text) : NULL;
  g_autofree char *header = colon != NULL ? g_strndup (equals + 1, colon - equals - 1) : NULL;
  const char *value;

  if (colon == NULL || colon[1] == '\0')
    {
      /* The value itself may have been given: it is not said again. */
      prism_cli_bad_value (error,
                           _ ("--credential: it is HOST=HEADER:ENVNAME, and the value is taken from that variable"));
      return NULL;
    }
  value = g_getenv (colon + 1);
  if (value == NULL)
    {
      prism_cli_bad_value (
          error, _ ("--credential %s=%s: there is no variable of the name that stands after the colon"), host, header);
      return NULL;
    }
  return prism_credential_new (host, header, value, error);
}

static gboolean
add_credentials (const PrismCliOptions *self, PrismSandboxSpec *spec, GError **error)
{
  for (guint i = 0; self->credential != NULL && self->credential[i] != NULL; i++)
    {
      g_autoptr (PrismCredential) credential = prism_cli_egress_credential (self->credential[i], error);

      if (credential == NULL)
        return FALSE;
      prism_sandbox_spec_add_credential (spec, credential);
    }
  return TRUE;
}

static gboolean
apply_file (const PrismCliOptions *self, PrismSandboxSpec *spec, GError **error)
{
  g_autoptr (PrismPolicyFile) file = NULL;

  if (self->policy == NULL)
    return TRUE;
  file = prism_policy_file_new_for_path (self->policy, error);
  if (file == NULL)
    return FALSE;
  prism_cli_approve_keep (spec, file);
  return prism_policy_file_apply (file, spec, error);
}

/* Only where there is a proxy: counted always, for the summary. */
static gboolean
add_audit (const PrismCliOptions *self, PrismSandboxSpec *spec, GError **error)
{
  g_autoptr (PrismAuditLog) audit =
      self->audit != NULL ? prism_audit_log_new_for_path (self->audit, error) : prism_audit_log_new ();

  if (audit != NULL)
    g_object_set (spec, "audit", audit, NULL);
  return audit != NULL;
}

static gboolean
add_proxy (const PrismCliOptions *self, PrismSandboxSpec *spec, GError **error)
{
  g_autoptr (PrismEgressProxy) proxy = NULL;

  if (self->proxy_settings == NULL)
    return TRUE;
  proxy = prism_cli_make_egress_proxy (prism_registry_get_default (), (const char *const *)self->proxy_settings, error);
  if (proxy != NULL)
    g_object_set (spec, "egress-proxy", proxy, NULL);
  return proxy != NULL;
}

gboolean
prism_cli_egress_apply (const PrismCliOptions *self, PrismSandboxSpec *spec, GError **error)
{
  g_autoptr (PrismEgressPolicy) policy = NULL;
  PrismEgressPolicy *of_file;

  if (!apply_file (self, spec, error))
    return FALSE;
  of_file = prism_sandbox_spec_get_egress_policy (spec);
  if (g_strcmp0 (self->network, "none") == 0 && (of_file != NULL || asks_for_rules (self)))
    return prism_cli_bad_value (error, _ ("--network none and rules of what may be reached contradict each other"));
  if (of_file == NULL && !is_about_egress (self))
    {
      if (self->audit != NULL || self->credential != NULL || self->proxy_settings != NULL)
        return prism_cli_bad_value (error,
                                    _ ("--audit, --credential and --proxy-set are for a sandbox with a way out: add "
                                       "--allow RULE, --preset NAME or --network egress"));
      return TRUE;
    }
  if (of_file == NULL || asks_for_rules (self))
    {
      policy = make_policy (self, of_file, error);
      if (policy == NULL)
        return FALSE;
      g_object_set (spec, "network", PRISM_NETWORK_MODE_EGRESS, "egress-policy", policy, NULL);
    }
  return add_credentials (self, spec, error) && add_audit (self, spec, error) && add_proxy (self, spec, error);
}

void
prism_cli_egress_json_rules (PrismJson *json, const char *key, PrismEgressPolicy *policy)
{
  GPtrArray *rules = prism_egress_policy_get_rules (policy);

  prism_json_begin_array (json, key);
  for (guint i = 0; i < rules->len; i++)
    {
      prism_json_begin_object (json, NULL);
      prism_json_string (json, "rule", prism_egress_rule_get_line (rules->pdata[i]));
      prism_json_string (json, "origin", prism_egress_rule_get_origin (rules->pdata[i]));
      prism_json_end_object (json);
    }
  prism_json_end_array (json);
}
