/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The interface that says whether something may happen, and its checked wrapper.
 * Whatever an implementation does, there is one decision, or an error; both deny unless
 * the decision says yes. */
#include "prism-policy-private.h"

#include "prism-action-private.h"
#include "prism-home-private.h"

/**
 * PrismPolicy:
 *
 * Says whether an action may happen.
 *
 * Since: 1.0
 */
G_DEFINE_INTERFACE (PrismPolicy, prism_policy, G_TYPE_OBJECT)

static void
prism_policy_default_init (PrismPolicyInterface *iface)
{
  prism_home_watch_interface (PRISM_TYPE_POLICY, sizeof (PrismPolicyInterface));
}

const PrismOperationErrors prism_policy_operation_errors = {
  prism_policy_error_quark,     PRISM_POLICY_ERROR_FAILED,        PRISM_POLICY_ERROR_TIMEOUT,
  PRISM_POLICY_ERROR_CANCELLED, PRISM_POLICY_ERROR_NOT_SUPPORTED,
};

/* --- the operation ----------------------------------------------------------- */

struct _PrismCheckOperation
{
  PrismOperation parent_instance;
  PrismAction *action;
};

/**
 * PrismCheckOperation:
 *
 * Asks a policy whether an action may happen.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismCheckOperation, prism_check_operation, PRISM_TYPE_OPERATION)

static void
prism_check_operation_finalize (GObject *object)
{
  g_clear_object (&PRISM_CHECK_OPERATION (object)->action);
  G_OBJECT_CLASS (prism_check_operation_parent_class)->finalize (object);
}

static void
prism_check_operation_class_init (PrismCheckOperationClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = prism_check_operation_finalize;
}

static void
prism_check_operation_init (PrismCheckOperation *self)
{
}

/**
 * prism_check_operation_get_action:
 * @self: an operation
 *
 * Gets what is about to happen.
 *
 * Returns: (transfer none): what is about to happen
 *
 * Since: 1.0
 */
PrismAction *
prism_check_operation_get_action (PrismCheckOperation *self)
{
  g_return_val_if_fail (PRISM_IS_CHECK_OPERATION (self), NULL);

  return self->action;
}

/**
 * prism_check_operation_complete:
 * @self: an operation that was not answered
 * @decision: allowed, or denied
 *
 * Answers. A decision that only asks is no answer, and denies.
 *
 * Since: 1.0
 */
void
prism_check_operation_complete (PrismCheckOperation *self, PrismDecision *decision)
{
  g_return_if_fail (PRISM_IS_CHECK_OPERATION (self));
  g_return_if_fail (PRISM_IS_DECISION (decision));

  if (prism_decision_get_verdict (decision) == PRISM_VERDICT_ASK)
    prism_operation_answer (PRISM_OPERATION (self),
                            prism_decision_new_deny ("approval-required", "the policy asks, and says not whom"),
                            g_object_unref);
  else
    prism_operation_answer (PRISM_OPERATION (self), g_object_ref (decision), g_object_unref);
}

/* --- check --------------------------------------------------------------------- */

static const PrismMethod check_method = {
  .name = "check",
  .iface = prism_policy_get_type,
  .vfunc = G_STRUCT_OFFSET (PrismPolicyInterface, check),
  .flags = PRISM_METHOD_CANCEL_ENDS_WAIT,
  .errors = &prism_policy_operation_errors,
};

static PrismOperation *
new_operation (PrismAction *action)
{
  PrismCheckOperation *operation = g_object_new (PRISM_TYPE_CHECK_OPERATION, NULL);

  prism_action_freeze (action);
  operation->action = g_object_ref (action);
  return PRISM_OPERATION (operation);
}

/**
 * prism_policy_check:
 * @self: a policy
 * @action: what is about to happen
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Asks whether an action may happen. That may take as long as a person takes to answer;
 * @cancellable ends the wait. Nobody but a decision that is allowed lets it happen.
 *
 * Returns: (transfer full): a decision; %NULL if there is none, which denies
 *
 * Since: 1.0
 */
PrismDecision *
prism_policy_check (PrismPolicy *self, PrismAction *action, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_POLICY (self), NULL);
  g_return_val_if_fail (PRISM_IS_ACTION (action), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (new_operation (action), self, &check_method, PRISM_OPERATION_NO_DEADLINE, cancellable,
                              error);
}

/**
 * prism_policy_check_async:
 * @self: a policy
 * @action: what is about to happen
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Policy.check], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_policy_check_async (
    PrismPolicy *self, PrismAction *action, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (PRISM_IS_POLICY (self));
  g_return_if_fail (PRISM_IS_ACTION (action));

  prism_operation_start (new_operation (action), NULL, self, &check_method, PRISM_OPERATION_NO_DEADLINE, cancellable,
                         callback, user_data);
}

/**
 * prism_policy_check_finish:
 * @self: a policy
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Gets the decision.
 *
 * Returns: (transfer full): a decision; %NULL if there is none, which denies
 *
 * Since: 1.0
 */
PrismDecision *
prism_policy_check_finish (PrismPolicy *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &check_method, error);
}
