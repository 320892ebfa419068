/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What may be reached. A policy never changes once it is made, so that who
 * decides by it and who prints it see the same; to change what is in force is to
 * put another policy in its place. Everything that no rule allows is denied. */
#include "prism-egress-policy-private.h"

#include "prism-enum-types.h"

#include <string.h>

/* Far above any list that a person keeps; the proxy has a limit of its own. */
#define MAX_RULES 65536

enum
{
  PROP_0,
  PROP_KIND,
  PROP_PRESETS,
  PROP_FINGERPRINT,
  PROP_RESOLVER,
  N_PROPERTIES
};

static GParamSpec *properties[N_PROPERTIES];

/**
 * PrismEgressPolicy:
 *
 * What may be reached through the egress proxy.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismEgressPolicy, prism_egress_policy, G_TYPE_OBJECT)

static int
compare_lines (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* SHA-256 of the sorted canonical lines, joined by LF. */
static char *
make_fingerprint (GPtrArray *rules)
{
  g_autoptr (GPtrArray) lines = g_ptr_array_sized_new (rules->len + 1);
  g_autofree char *text = NULL;

  for (guint i = 0; i < rules->len; i++)
    g_ptr_array_add (lines, ((PrismEgressRule *)g_ptr_array_index (rules, i))->line);
  g_ptr_array_sort (lines, compare_lines);
  g_ptr_array_add (lines, NULL);
  text = g_strjoinv ("\n", (char **)lines->pdata);
  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);
}

static void
add_unique (GPtrArray *rules, GHashTable *lines, PrismEgressRule *rule)
{
  if (g_hash_table_add (lines, rule->line))
    g_ptr_array_add (rules, prism_egress_rule_ref (rule));
}

/* Takes @rules. */
static void
set_rules (PrismEgressPolicy *self, GPtrArray *rules)
{
  g_clear_pointer (&self->index, prism_rule_index_free);
  g_clear_pointer (&self->rules, g_ptr_array_unref);
  g_free (self->fingerprint);
  self->rules = rules;
  self->index = prism_rule_index_new ((PrismEgressRule *const *)rules->pdata, rules->len);
  self->fingerprint = make_fingerprint (rules);
}

static GPtrArray *
new_rules (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify)prism_egress_rule_unref);
}

static void
prism_egress_policy_get_property (GObject *object, guint property_id, GValue *value, GParamSpec *pspec)
{
  PrismEgressPolicy *self = PRISM_EGRESS_POLICY (object);

  switch (property_id)
    {
    case PROP_KIND:
      g_value_set_enum (value, self->kind);
      break;
    case PROP_PRESETS:
      g_value_set_boxed (value, self->presets);
      break;
    case PROP_FINGERPRINT:
      g_value_set_string (value, self->fingerprint);
      break;
    case PROP_RESOLVER:
      g_value_set_object (value, self->resolver);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, property_id, pspec);
    }
}

static void
prism_egress_policy_finalize (GObject *object)
{
  PrismEgressPolicy *self = PRISM_EGRESS_POLICY (object);

  g_clear_pointer (&self->index, prism_rule_index_free);
  g_clear_pointer (&self->rules, g_ptr_array_unref);
  g_strfreev (self->presets);
  g_free (self->fingerprint);
  g_clear_object (&self->resolver);
  prism_egress_answers_clear (&self->answers);
  G_OBJECT_CLASS (prism_egress_policy_parent_class)->finalize (object);
}

static void
prism_egress_policy_class_init (PrismEgressPolicyClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = prism_egress_policy_get_property;
  object_class->finalize = prism_egress_policy_finalize;

  /**
   * PrismEgressPolicy:kind:
   *
   * The kind of policy.
   *
   * Since: 1.0
   */
  properties[PROP_KIND] =
      g_param_spec_enum ("kind", NULL, NULL, PRISM_TYPE_EGRESS_POLICY_KIND, PRISM_EGRESS_POLICY_KIND_DENY_ALL,
                         G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  /**
   * PrismEgressPolicy:presets:
   *
   * The names of the presets among its rules.
   *
   * Since: 1.0
   */
  properties[PROP_PRESETS] =
      g_param_spec_boxed ("presets", NULL, NULL, G_TYPE_STRV, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  /**
   * PrismEgressPolicy:fingerprint:
   *
   * SHA-256 of its rules, in lower-case hexadecimal; %NULL where a resolver
   * decides.
   *
   * Since: 1.0
   */
  properties[PROP_FINGERPRINT] =
      g_param_spec_string ("fingerprint", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  /**
   * PrismEgressPolicy:resolver:
   *
   * Who says what may be reached, where a resolver decides.
   *
   * Since: 1.0
   */
  properties[PROP_RESOLVER] = g_param_spec_object ("resolver", NULL, NULL, PRISM_TYPE_EGRESS_RESOLVER,
                                                   G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);
}

static void
prism_egress_policy_init (PrismEgressPolicy *self)
{
  self->kind = PRISM_EGRESS_POLICY_KIND_DENY_ALL;
  self->presets = g_new0 (char *, 1);
  set_rules (self, new_rules ());
}

/**
 * prism_egress_policy_new_deny_all:
 *
 * Makes a policy under which nothing may be reached.
 *
 * Returns: (transfer full): a policy under which nothing may be reached
 *
 * Since: 1.0
 */
PrismEgressPolicy *
prism_egress_policy_new_deny_all (void)
{
  return g_object_new (PRISM_TYPE_EGRESS_POLICY, NULL);
}

/**
 * prism_egress_policy_new_allow_all:
 *
 * A policy that restricts nothing but addresses that are not public. A sandbox
 * under it never claims that its egress is restricted.
 *
 * Returns: (transfer full): a policy of one rule for every host
 *
 * Since: 1.0
 */
PrismEgressPolicy *
prism_egress_policy_new_allow_all (void)
{
  PrismEgressPolicy *self = g_object_new (PRISM_TYPE_EGRESS_POLICY, NULL);
  GPtrArray *rules = new_rules ();

  self->kind = PRISM_EGRESS_POLICY_KIND_ALLOW_ALL;
  g_ptr_array_add (rules, prism_egress_rule_new_any ());
  set_rules (self, rules);
  return self;
}

/**
 * prism_egress_policy_new_static:
 * @rules: (array zero-terminated=1): rules as [func@EgressRule.parse] reads them,
 *   such as `https://HOST`
 * @error: return location for an error
 *
 * Makes a policy; %NULL if a rule is malformed.
 *
 * Returns: (transfer full): a policy; %NULL if a rule is malformed
 *
 * Since: 1.0
 */
PrismEgressPolicy *
prism_egress_policy_new_static (const char *const *rules, GError **error)
{
  g_autoptr (GPtrArray) all = new_rules ();

  g_return_val_if_fail (rules != NULL, NULL);

  /* One past the bound is enough to be refused. */
  for (; *rules != NULL && all->len <= MAX_RULES; rules++)
    {
      GPtrArray *parsed = prism_egress_rule_parse (*rules, PRISM_EGRESS_RULE_FLAGS_NONE, error);

      if (parsed == NULL)
        return NULL;
      g_ptr_array_extend_and_steal (all, parsed);
    }
  return prism_egress_policy_new_for_rules ((PrismEgressRule *const *)all->pdata, all->len, NULL, error);
}

static gboolean
add_preset (GPtrArray *rules, GHashTable *lines, const char *name, GError **error)
{
  g_autoptr (GPtrArray) preset = prism_egress_policy_load_preset (name, error);

  for (guint i = 0; preset != NULL && i < preset->len; i++)
    add_unique (rules, lines, g_ptr_array_index (preset, i));
  return preset != NULL;
}

/**
 * prism_egress_policy_new_for_rules:
 * @rules: (array length=n_rules): rules; those that say the same as an earlier one
 *   are dropped
 * @n_rules: how many
 * @presets: (nullable) (array zero-terminated=1): names of presets, whose rules
 *   come first
 * @error: return location for an error
 *
 * Makes a policy; %NULL if there is no such preset, or there are too many rules.
 *
 * Returns: (transfer full): a policy; %NULL if there is no such preset, or there
 *   are too many rules
 *
 * Since: 1.0
 */
PrismEgressPolicy *
prism_egress_policy_new_for_rules (PrismEgressRule *const *rules,
                                   gsize n_rules,
                                   const char *const *presets,
                                   GError **error)
{
  g_autoptr (PrismEgressPolicy) self = NULL;
  g_autoptr (GPtrArray) all = new_rules ();
  g_autoptr (GHashTable) lines = g_hash_table_new (g_str_hash, g_str_equal);

  g_return_val_if_fail (rules != NULL || n_rules == 0, NULL);

  for (guint i = 0; presets != NULL && presets[i] != NULL; i++)
    if (!add_preset (all, lines, presets[i], error))
      return NULL;
  for (gsize i = 0; i < n_rules; i++)
    add_unique (all, lines, rules[i]);
  if (all->len > MAX_RULES)
    {
      g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_LIMIT,
                   "an egress policy of %u rules: there may be %d; use .DOMAIN for many hosts of one domain", all->len,
                   MAX_RULES);
      return NULL;
    }
  self = g_object_new (PRISM_TYPE_EGRESS_POLICY, NULL);
  self->kind = PRISM_EGRESS_POLICY_KIND_STATIC;
  if (presets != NULL)
    {
      g_strfreev (self->presets);
      self->presets = g_strdupv ((char **)presets);
    }
  set_rules (self, g_steal_pointer (&all));
  return g_steal_pointer (&self);
}

/**
 * prism_egress_policy_new_resolver:
 * @resolver: who says what may be reached
 *
 * Makes a policy that has no rules of its own; [method@EgressPolicy.resolve] gives the one of now.
 *
 * Returns: (transfer full): a policy that has no rules of its own;
 *   [method@EgressPolicy.resolve] gives the one of now
 *
 * Since: 1.0
 */
PrismEgressPolicy *
prism_egress_policy_new_resolver (PrismEgressResolver *resolver)
{
  PrismEgressPolicy *self;

  g_return_val_if_fail (PRISM_IS_EGRESS_RESOLVER (resolver), NULL);

  self = g_object_new (PRISM_TYPE_EGRESS_POLICY, NULL);
  self->kind = PRISM_EGRESS_POLICY_KIND_RESOLVER;
  self->resolver = g_object_ref (resolver);
  g_clear_pointer (&self->fingerprint, g_free);
  return self;
}

/**
 * prism_egress_policy_get_kind:
 * @self: a policy
 *
 * Gets its kind.
 *
 * Returns: its kind
 *
 * Since: 1.0
 */
PrismEgressPolicyKind
prism_egress_policy_get_kind (PrismEgressPolicy *self)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_POLICY (self), PRISM_EGRESS_POLICY_KIND_DENY_ALL);

  return self->kind;
}

/**
 * prism_egress_policy_get_rules:
 * @self: a policy
 *
 * Gets all that is in force, presets expanded; not to be changed.
 *
 * Returns: (transfer none) (element-type PrismEgressRule): all that is in force,
 *   presets expanded; not to be changed
 *
 * Since: 1.0
 */
GPtrArray *
prism_egress_policy_get_rules (PrismEgressPolicy *self)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_POLICY (self), NULL);

  return self->rules;
}

/**
 * prism_egress_policy_get_presets:
 * @self: a policy
 *
 * Gets the names of the presets among its rules.
 *
 * Returns: (transfer none) (array zero-terminated=1): the names of the presets
 *   among its rules
 *
 * Since: 1.0
 */
const char *const *
prism_egress_policy_get_presets (PrismEgressPolicy *self)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_POLICY (self), NULL);

  return (const char *const *)self->presets;
}

/**
 * prism_egress_policy_get_fingerprint:
 * @self: a policy
 *
 * Gets the SHA-256 of its rules' canonical lines, sorted and joined by newlines, in lower-case
 * hexadecimal; %NULL where a resolver decides.
 *
 * Returns: (nullable): the SHA-256 of its rules' canonical lines, sorted and
 *   joined by newlines, in lower-case hexadecimal; %NULL where a resolver decides
 *
 * Since: 1.0
 */
const char *
prism_egress_policy_get_fingerprint (PrismEgressPolicy *self)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_POLICY (self), NULL);

  return self->fingerprint;
}

/**
 * prism_egress_policy_match:
 * @self: a policy
 * @host: a host in any spelling
 * @port: its port, 1 to 65535
 * @scheme: http or https
 *
 * The rule that allows a place: the most specific one. An exact host comes before
 * a domain, a longer domain before a shorter one, then a port before any port,
 * then a scheme before any scheme. Its time does not grow with the number of
 * rules. The rule also says which addresses the host may have; see
 * [method@EgressRule.allows_address].
 *
 * A policy whose resolver decides has no rules itself, and so denies everything:
 * ask the one that [method@EgressPolicy.resolve] gives.
 *
 * Returns: (transfer none) (nullable): the rule; %NULL if none allows it, which
 *   is the answer for everything malformed
 *
 * Since: 1.0
 */
PrismEgressRule *
prism_egress_policy_match (PrismEgressPolicy *self, const char *host, guint port, PrismEgressScheme scheme)
{
  PrismHost parsed;

  g_return_val_if_fail (PRISM_IS_EGRESS_POLICY (self) && host != NULL, NULL);

  if (port == 0 || port > G_MAXUINT16 || prism_host_parse (host, strlen (host), &parsed) != NULL)
    return NULL;
  return prism_rule_index_find (self->index, &parsed, (guint16)port, scheme);
}

/**
 * prism_egress_policy_get_resolver:
 * @self: a policy
 *
 * Tells who says what may be reached; %NULL where the policy's own rules do.
 *
 * Returns: (transfer none) (nullable): who says what may be reached; %NULL where
 *   the policy's own rules do
 *
 * Since: 1.0
 */
PrismEgressResolver *
prism_egress_policy_get_resolver (PrismEgressPolicy *self)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_POLICY (self), NULL);

  return self->resolver;
}

/* --- resolve ------------------------------------------------------------------- */

/**
 * prism_egress_policy_resolve:
 * @self: a policy
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * The policy to decide by now. A resolver's answer holds for a second; it is
 * given five to answer. A policy that has rules of its own is its own answer.
 *
 * Returns: (transfer full): a policy with rules; %NULL with
 *   %PRISM_EGRESS_ERROR_DENIED if the resolver failed, was late or made no sense
 *
 * Since: 1.0
 */
PrismEgressPolicy *
prism_egress_policy_resolve (PrismEgressPolicy *self, GCancellable *cancellable, GError **error)
{
  PrismEgressPolicy *answer;

  g_return_val_if_fail (PRISM_IS_EGRESS_POLICY (self), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (self->resolver == NULL)
    return g_object_ref (self);
  answer = prism_egress_answers_get (&self->answers);
  return answer != NULL ? answer : prism_egress_answers_ask (&self->answers, self->resolver, cancellable, error);
}

/**
 * prism_egress_policy_resolve_async:
 * @self: a policy
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@EgressPolicy.resolve], without waiting for it. Everyone who asks
 * while a resolver is being asked gets the same answer.
 *
 * Since: 1.0
 */
void
prism_egress_policy_resolve_async (PrismEgressPolicy *self,
                                   GCancellable *cancellable,
                                   GAsyncReadyCallback callback,
                                   gpointer user_data)
{
  g_autoptr (GTask) task = NULL;
  PrismEgressPolicy *answer;

  g_return_if_fail (PRISM_IS_EGRESS_POLICY (self));

  task = g_task_new (self, cancellable, callback, user_data);
  g_task_set_source_tag (task, prism_egress_policy_resolve_async);
  /* An answer that came is handed on, cancelled or not. */
  g_task_set_check_cancellable (task, FALSE);
  answer = self->resolver == NULL ? g_object_ref (self) : prism_egress_answers_get (&self->answers);
  if (answer != NULL)
    g_task_return_pointer (task, answer, g_object_unref);
  else
    prism_egress_answers_join (&self->answers, G_OBJECT (self), self->resolver, g_steal_pointer (&task));
}

/**
 * prism_egress_policy_resolve_finish:
 * @self: a policy
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Gets a policy with rules; %NULL if there is none, which denies.
 *
 * Returns: (transfer full): a policy with rules; %NULL if there is none, which
 *   denies
 *
 * Since: 1.0
 */
PrismEgressPolicy *
prism_egress_policy_resolve_finish (PrismEgressPolicy *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_POLICY (self), NULL);
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  g_return_val_if_fail (g_async_result_is_tagged (result, prism_egress_policy_resolve_async), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}
