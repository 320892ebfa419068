/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-decision-private.h"

#include "prism-enum-types.h"
#include "prism-policy-error.h"

struct _PrismDecision
{
  GObject parent_instance;

  PrismVerdict verdict;
  char *reason_id, *reason, *rule, *remedy;
  gboolean exclusive, cached;
  PrismAction *modified;
  PrismSuspension *suspension;
};

enum
{
  PROP_0,
  PROP_VERDICT,
  PROP_ALLOWED,
  PROP_REASON_ID,
  PROP_REASON,
  PROP_RULE,
  PROP_REMEDY,
  PROP_EXCLUSIVE,
  PROP_CACHED,
  PROP_MODIFIED,
  PROP_SUSPENSION,
  N_PROPS
};

static GParamSpec *props[N_PROPS];

/**
 * PrismDecision:
 *
 * What a policy says to an action, and why. It never changes.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismDecision, prism_decision, G_TYPE_OBJECT)

static void
prism_decision_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismDecision *self = PRISM_DECISION (object);

  switch (id)
    {
    case PROP_VERDICT:
      self->verdict = g_value_get_enum (value);
      break;
    case PROP_REASON_ID:
      self->reason_id = g_value_dup_string (value);
      break;
    case PROP_REASON:
      self->reason = g_value_dup_string (value);
      break;
    case PROP_RULE:
      self->rule = g_value_dup_string (value);
      break;
    case PROP_REMEDY:
      self->remedy = g_value_dup_string (value);
      break;
    case PROP_EXCLUSIVE:
      self->exclusive = g_value_get_boolean (value);
      break;
    case PROP_CACHED:
      self->cached = g_value_get_boolean (value);
      break;
    case PROP_MODIFIED:
      self->modified = g_value_dup_object (value);
      break;
    case PROP_SUSPENSION:
      self->suspension = g_value_dup_object (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_decision_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismDecision *self = PRISM_DECISION (object);

  switch (id)
    {
    case PROP_VERDICT:
      g_value_set_enum (value, self->verdict);
      break;
    case PROP_ALLOWED:
      g_value_set_boolean (value, prism_decision_get_allowed (self));
      break;
    case PROP_REASON_ID:
      g_value_set_string (value, self->reason_id);
      break;
    case PROP_REASON:
      g_value_set_string (value, self->reason);
      break;
    case PROP_RULE:
      g_value_set_string (value, self->rule);
      break;
    case PROP_REMEDY:
      g_value_set_string (value, self->remedy);
      break;
    case PROP_EXCLUSIVE:
      g_value_set_boolean (value, self->exclusive);
      break;
    case PROP_CACHED:
      g_value_set_boolean (value, self->cached);
      break;
    case PROP_MODIFIED:
      g_value_set_object (value, self->modified);
      break;
    case PROP_SUSPENSION:
      g_value_set_object (value, self->suspension);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_decision_finalize (GObject *object)
{
  PrismDecision *self = PRISM_DECISION (object);

  g_free (self->reason_id);
  g_free (self->reason);
  g_free (self->rule);
  g_free (self->remedy);
  g_clear_object (&self->modified);
  g_clear_object (&self->suspension);
  G_OBJECT_CLASS (prism_decision_parent_class)->finalize (object);
}

static void
install_words (GParamFlags fixed)
{
  /**
   * PrismDecision:reason-id:
   *
   * A stable word for the reason; %NULL where there is none to give.
   *
   * Since: 1.0
   */
  props[PROP_REASON_ID] = g_param_spec_string ("reason-id", NULL, NULL, NULL, fixed);
  /**
   * PrismDecision:reason:
   *
   * The reason as a sentence.
   *
   * Since: 1.0
   */
  props[PROP_REASON] = g_param_spec_string ("reason", NULL, NULL, NULL, fixed);
  /**
   * PrismDecision:rule:
   *
   * Which rule decided, and what of the action it saw.
   *
   * Since: 1.0
   */
  props[PROP_RULE] = g_param_spec_string ("rule", NULL, NULL, NULL, fixed);
  /**
   * PrismDecision:remedy:
   *
   * What would allow it.
   *
   * Since: 1.0
   */
  props[PROP_REMEDY] = g_param_spec_string ("remedy", NULL, NULL, NULL, fixed);
}

static void
prism_decision_class_init (PrismDecisionClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags fixed = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_CONSTRUCT_ONLY;

  object_class->set_property = prism_decision_set_property;
  object_class->get_property = prism_decision_get_property;
  object_class->finalize = prism_decision_finalize;
  install_words (fixed);
  /**
   * PrismDecision:verdict:
   *
   * What the policy says.
   *
   * Since: 1.0
   */
  props[PROP_VERDICT] = g_param_spec_enum ("verdict", NULL, NULL, PRISM_TYPE_VERDICT, PRISM_VERDICT_DENY, fixed);
  /**
   * PrismDecision:allowed:
   *
   * Whether it may happen.
   *
   * Since: 1.0
   */
  props[PROP_ALLOWED] = g_param_spec_boolean ("allowed", NULL, NULL, FALSE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  /**
   * PrismDecision:exclusive:
   *
   * Whether nothing else may run beside it.
   *
   * Since: 1.0
   */
  props[PROP_EXCLUSIVE] = g_param_spec_boolean ("exclusive", NULL, NULL, FALSE, fixed);
  /**
   * PrismDecision:cached:
   *
   * Whether it is an answer that was given before.
   *
   * Since: 1.0
   */
  props[PROP_CACHED] = g_param_spec_boolean ("cached", NULL, NULL, FALSE, fixed);
  /**
   * PrismDecision:modified:
   *
   * What is to be done in the action's place. It was checked by nobody: who does it checks
   * it as it would any other.
   *
   * Since: 1.0
   */
  props[PROP_MODIFIED] = g_param_spec_object ("modified", NULL, NULL, PRISM_TYPE_ACTION, fixed);
  /**
   * PrismDecision:suspension:
   *
   * What waits for an answer, or what was answered: see [class@Suspensions].
   *
   * Since: 1.0
   */
  props[PROP_SUSPENSION] = g_param_spec_object ("suspension", NULL, NULL, PRISM_TYPE_SUSPENSION, fixed);
  g_object_class_install_properties (object_class, N_PROPS, props);
}

static void
prism_decision_init (PrismDecision *self)
{
}

/**
 * prism_decision_new_allow:
 *
 * Makes a decision: it may happen.
 *
 * Returns: (transfer full): a decision
 *
 * Since: 1.0
 */
PrismDecision *
prism_decision_new_allow (void)
{
  return g_object_new (PRISM_TYPE_DECISION, "verdict", PRISM_VERDICT_ALLOW, NULL);
}

/**
 * prism_decision_new_deny:
 * @reason_id: a stable word for the reason
 * @reason: the reason as a sentence
 *
 * Makes a decision: it may not happen.
 *
 * Returns: (transfer full): a decision
 *
 * Since: 1.0
 */
PrismDecision *
prism_decision_new_deny (const char *reason_id, const char *reason)
{
  g_return_val_if_fail (reason_id != NULL, NULL);
  g_return_val_if_fail (reason != NULL, NULL);

  return g_object_new (PRISM_TYPE_DECISION, "verdict", PRISM_VERDICT_DENY, "reason-id", reason_id, "reason", reason,
                       NULL);
}

/**
 * prism_decision_get_verdict:
 * @self: a decision
 *
 * Gets what the policy says.
 *
 * Returns: what the policy says
 *
 * Since: 1.0
 */
PrismVerdict
prism_decision_get_verdict (PrismDecision *self)
{
  g_return_val_if_fail (PRISM_IS_DECISION (self), PRISM_VERDICT_DENY);

  return self->verdict;
}

/**
 * prism_decision_get_allowed:
 * @self: a decision
 *
 * Tells whether it may happen.
 *
 * Returns: whether it may happen
 *
 * Since: 1.0
 */
gboolean
prism_decision_get_allowed (PrismDecision *self)
{
  g_return_val_if_fail (PRISM_IS_DECISION (self), FALSE);

  return self->verdict == PRISM_VERDICT_ALLOW;
}

/**
 * prism_decision_get_reason_id:
 * @self: a decision
 *
 * Gets a stable word for the reason.
 *
 * Returns: (transfer none) (nullable): a stable word for the reason
 *
 * Since: 1.0
 */
const char *
prism_decision_get_reason_id (PrismDecision *self)
{
  g_return_val_if_fail (PRISM_IS_DECISION (self), NULL);

  return self->reason_id;
}

/**
 * prism_decision_get_reason:
 * @self: a decision
 *
 * Gets the reason as a sentence.
 *
 * Returns: (transfer none) (nullable): the reason as a sentence
 *
 * Since: 1.0
 */
const char *
prism_decision_get_reason (PrismDecision *self)
{
  g_return_val_if_fail (PRISM_IS_DECISION (self), NULL);

  return self->reason;
}

/**
 * prism_decision_get_rule:
 * @self: a decision
 *
 * Gets which rule decided.
 *
 * Returns: (transfer none) (nullable): which rule decided
 *
 * Since: 1.0
 */
const char *
prism_decision_get_rule (PrismDecision *self)
{
  g_return_val_if_fail (PRISM_IS_DECISION (self), NULL);

  return self->rule;
}

/**
 * prism_decision_get_remedy:
 * @self: a decision
 *
 * Gets what would allow it.
 *
 * Returns: (transfer none) (nullable): what would allow it
 *
 * Since: 1.0
 */
const char *
prism_decision_get_remedy (PrismDecision *self)
{
  g_return_val_if_fail (PRISM_IS_DECISION (self), NULL);

  return self->remedy;
}

/**
 * prism_decision_get_exclusive:
 * @self: a decision
 *
 * Tells whether nothing else may run beside it.
 *
 * Returns: whether nothing else may run beside it
 *
 * Since: 1.0
 */
gboolean
prism_decision_get_exclusive (PrismDecision *self)
{
  g_return_val_if_fail (PRISM_IS_DECISION (self), TRUE);

  return self->exclusive;
}

/**
 * prism_decision_get_cached:
 * @self: a decision
 *
 * Tells whether it is an answer that was given before.
 *
 * Returns: whether it is an answer that was given before
 *
 * Since: 1.0
 */
gboolean
prism_decision_get_cached (PrismDecision *self)
{
  g_return_val_if_fail (PRISM_IS_DECISION (self), FALSE);

  return self->cached;
}

/**
 * prism_decision_get_modified:
 * @self: a decision
 *
 * Gets what is to be done in the action's place. It was checked by nobody: who does it
 * checks it as it would any other.
 *
 * Returns: (transfer none) (nullable): what is to be done in the action's place
 *
 * Since: 1.0
 */
PrismAction *
prism_decision_get_modified (PrismDecision *self)
{
  g_return_val_if_fail (PRISM_IS_DECISION (self), NULL);

  return self->modified;
}

/**
 * prism_decision_get_suspension:
 * @self: a decision
 *
 * Gets what waits for an answer (the reason's id is `approval-suspended` then), or by which answer it
 * is allowed: then it has begun, and whoever acts says how it ended ([method@Suspensions.end]).
 *
 * Returns: (transfer none) (nullable): what waits, or what was answered
 *
 * Since: 1.0
 */
PrismSuspension *
prism_decision_get_suspension (PrismDecision *self)
{
  g_return_val_if_fail (PRISM_IS_DECISION (self), NULL);

  return self->suspension;
}

/**
 * prism_decision_enforce:
 * @self: a decision
 * @error: return location for an error
 *
 * Makes an error of whatever is not a yes: %PRISM_POLICY_ERROR_DENIED, with the reason
 * and with what would allow it, or %PRISM_POLICY_ERROR_SUSPENDED.
 *
 * Returns: whether it may happen
 *
 * Since: 1.0
 */
gboolean
prism_decision_enforce (PrismDecision *self, GError **error)
{
  g_return_val_if_fail (PRISM_IS_DECISION (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (self->verdict == PRISM_VERDICT_ALLOW)
    return TRUE;
  if (g_strcmp0 (self->reason_id, PRISM_REASON_APPROVAL_SUSPENDED) == 0)
    g_set_error_literal (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_SUSPENDED, self->reason);
  else
    g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_DENIED, "denied (%s): %s%s%s",
                 self->reason_id != NULL ? self->reason_id : "policy",
                 self->reason != NULL ? self->reason : "the policy gives no reason", self->remedy != NULL ? "; " : "",
                 self->remedy != NULL ? self->remedy : "");
  return FALSE;
}
