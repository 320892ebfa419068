/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-approval-store-private.h"
#include "prism-decision-private.h"

struct _PrismApprovalRequest
{
  GObject parent_instance;

  PrismAction *action;
  PrismDecision *question;
  gboolean can_remember;
  PrismApprovalFlight *flight;
};

enum
{
  PROP_0,
  PROP_ACTION,
  PROP_RULE,
  PROP_REASON_ID,
  PROP_REASON,
  PROP_CAN_REMEMBER,
  PROP_PENDING,
  N_PROPS
};

static GParamSpec *props[N_PROPS];

/**
 * PrismApprovalRequest:
 *
 * A question: may this happen? It is answered once, from any thread, at any time while it
 * is pending. When the last reference to it goes without an answer, that is a no.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismApprovalRequest, prism_approval_request, G_TYPE_OBJECT)

static void
prism_approval_request_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismApprovalRequest *self = PRISM_APPROVAL_REQUEST (object);

  switch (id)
    {
    case PROP_ACTION:
      g_value_set_object (value, self->action);
      break;
    case PROP_RULE:
      g_value_set_string (value, prism_approval_request_get_rule (self));
      break;
    case PROP_REASON_ID:
      g_value_set_string (value, prism_approval_request_get_reason_id (self));
      break;
    case PROP_REASON:
      g_value_set_string (value, prism_approval_request_get_reason (self));
      break;
    case PROP_CAN_REMEMBER:
      g_value_set_boolean (value, self->can_remember);
      break;
    case PROP_PENDING:
      g_value_set_boolean (value, prism_approval_request_get_pending (self));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_approval_request_finalize (GObject *object)
{
  PrismApprovalRequest *self = PRISM_APPROVAL_REQUEST (object);

  prism_approval_flight_drop (self->flight);
  prism_approval_flight_unref (self->flight);
  g_clear_object (&self->action);
  g_clear_object (&self->question);
  G_OBJECT_CLASS (prism_approval_request_parent_class)->finalize (object);
}

static void
prism_approval_request_class_init (PrismApprovalRequestClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  object_class->get_property = prism_approval_request_get_property;
  object_class->finalize = prism_approval_request_finalize;
  /**
   * PrismApprovalRequest:action:
   *
   * What is about to happen.
   *
   * Since: 1.0
   */
  props[PROP_ACTION] = g_param_spec_object ("action", NULL, NULL, PRISM_TYPE_ACTION, readable);
  /**
   * PrismApprovalRequest:rule:
   *
   * Which rule asks.
   *
   * Since: 1.0
   */
  props[PROP_RULE] = g_param_spec_string ("rule", NULL, NULL, NULL, readable);
  /**
   * PrismApprovalRequest:reason-id:
   *
   * A stable word for why it is asked.
   *
   * Since: 1.0
   */
  props[PROP_REASON_ID] = g_param_spec_string ("reason-id", NULL, NULL, NULL, readable);
  /**
   * PrismApprovalRequest:reason:
   *
   * Why it is asked, as a sentence.
   *
   * Since: 1.0
   */
  props[PROP_REASON] = g_param_spec_string ("reason", NULL, NULL, NULL, readable);
  /**
   * PrismApprovalRequest:can-remember:
   *
   * Whether %PRISM_APPROVAL_ANSWER_ALLOW_ALWAYS is more than a yes.
   *
   * Since: 1.0
   */
  props[PROP_CAN_REMEMBER] = g_param_spec_boolean ("can-remember", NULL, NULL, FALSE, readable);
  /**
   * PrismApprovalRequest:pending:
   *
   * Whether an answer still counts. Its change is told in the context in which the
   * question was asked, as far as that one is iterated.
   *
   * Since: 1.0
   */
  props[PROP_PENDING] = g_param_spec_boolean ("pending", NULL, NULL, FALSE, readable);
  g_object_class_install_properties (object_class, N_PROPS, props);
}

static void
prism_approval_request_init (PrismApprovalRequest *self)
{
}

PrismApprovalRequest *
prism_approval_request_new (PrismAction *action,
                            PrismDecision *question,
                            gboolean can_remember,
                            PrismApprovalFlight *flight)
{
  PrismApprovalRequest *self = g_object_new (PRISM_TYPE_APPROVAL_REQUEST, NULL);

  self->action = g_object_ref (action);
  self->question = g_object_ref (question);
  self->can_remember = can_remember;
  self->flight = flight;
  return self;
}

void
prism_approval_request_settled (PrismApprovalRequest *self)
{
  g_object_notify_by_pspec (G_OBJECT (self), props[PROP_PENDING]);
}

/**
 * prism_approval_request_get_action:
 * @self: a request
 *
 * Gets what is about to happen.
 *
 * Returns: (transfer none): what is about to happen
 *
 * Since: 1.0
 */
PrismAction *
prism_approval_request_get_action (PrismApprovalRequest *self)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_REQUEST (self), NULL);

  return self->action;
}

/**
 * prism_approval_request_get_rule:
 * @self: a request
 *
 * Gets which rule asks.
 *
 * Returns: (transfer none) (nullable): which rule asks
 *
 * Since: 1.0
 */
const char *
prism_approval_request_get_rule (PrismApprovalRequest *self)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_REQUEST (self), NULL);

  return prism_decision_get_rule (self->question);
}

/**
 * prism_approval_request_get_reason_id:
 * @self: a request
 *
 * Gets a stable word for why it is asked.
 *
 * Returns: (transfer none) (nullable): a stable word for why it is asked
 *
 * Since: 1.0
 */
const char *
prism_approval_request_get_reason_id (PrismApprovalRequest *self)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_REQUEST (self), NULL);

  return prism_decision_get_reason_id (self->question);
}

/**
 * prism_approval_request_get_reason:
 * @self: a request
 *
 * Gets why it is asked, as a sentence.
 *
 * Returns: (transfer none) (nullable): why it is asked
 *
 * Since: 1.0
 */
const char *
prism_approval_request_get_reason (PrismApprovalRequest *self)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_REQUEST (self), NULL);

  return prism_decision_get_reason (self->question);
}

/**
 * prism_approval_request_get_can_remember:
 * @self: a request
 *
 * Tells whether %PRISM_APPROVAL_ANSWER_ALLOW_ALWAYS is more than a yes.
 *
 * Returns: whether an answer for always is remembered
 *
 * Since: 1.0
 */
gboolean
prism_approval_request_get_can_remember (PrismApprovalRequest *self)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_REQUEST (self), FALSE);

  return self->can_remember;
}

/**
 * prism_approval_request_get_pending:
 * @self: a request
 *
 * Tells whether an answer still counts.
 *
 * Returns: whether an answer still counts
 *
 * Since: 1.0
 */
gboolean
prism_approval_request_get_pending (PrismApprovalRequest *self)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_REQUEST (self), FALSE);

  return prism_approval_flight_is_open (self->flight);
}

char *
prism_approval_dup_text (PrismAction *action, PrismDecision *question)
{
  const char *why = prism_decision_get_reason (question), *which = prism_decision_get_rule (question);
  g_autofree char *text = prism_action_dup_text (action);
  g_autofree char *reason = prism_visible_text (why != NULL ? why : "the policy asks", 1000, NULL);
  g_autofree char *rule = which != NULL ? prism_visible_text (which, 1000, NULL) : NULL;

  return g_strdup_printf ("%swhy: %s\n%s%s%s", text, reason, rule != NULL ? "rule: " : "", rule != NULL ? rule : "",
                          rule != NULL ? "\n" : "");
}

/**
 * prism_approval_request_dup_text:
 * @self: a request
 *
 * Says what is asked and why, in lines that are safe to show: see
 * [method@Action.dup_text].
 *
 * Returns: (transfer full): lines of UTF-8, each with its end
 *
 * Since: 1.0
 */
char *
prism_approval_request_dup_text (PrismApprovalRequest *self)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_REQUEST (self), NULL);

  return prism_approval_dup_text (self->action, self->question);
}

/**
 * prism_approval_request_respond:
 * @self: a request
 * @answer: the answer
 *
 * Answers, from any thread.
 *
 * Returns: whether it counted; %FALSE: the question is answered, cancelled or too old, and
 *   nothing happens because of this answer
 *
 * Since: 1.0
 */
gboolean
prism_approval_request_respond (PrismApprovalRequest *self, PrismApprovalAnswer answer)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_REQUEST (self), FALSE);

  return prism_approval_flight_answer (self->flight, answer);
}

/**
 * prism_approval_request_refuse:
 * @self: a request
 * @reason: (nullable): why nobody can be asked
 *
 * Says that nobody can be asked: it is denied as it is where nobody listens, with
 * `approval-required` and with what would allow it, and not remembered.
 *
 * Returns: whether it counted; see [method@ApprovalRequest.respond]
 *
 * Since: 1.0
 */
gboolean
prism_approval_request_refuse (PrismApprovalRequest *self, const char *reason)
{
  g_autoptr (PrismDecision) decision = NULL;
  g_autofree char *whole = NULL;

  g_return_val_if_fail (PRISM_IS_APPROVAL_REQUEST (self), FALSE);

  whole = g_strdup_printf ("%s, and %s", prism_approval_request_get_reason (self),
                           reason != NULL ? reason : "nobody is there to be asked");
  decision = g_object_new (
      PRISM_TYPE_DECISION, "verdict", PRISM_VERDICT_DENY, "reason-id", PRISM_REASON_APPROVAL_REQUIRED, "reason", whole,
      "rule", prism_approval_request_get_rule (self), "remedy", prism_decision_get_remedy (self->question), NULL);
  return prism_approval_flight_settle (self->flight, decision);
}
