/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PrismSandbox: what may be reached, changed while it runs. */
#include "prism-sandbox-error-private.h"
#include "prism-sandbox-private.h"

static const PrismMethod set_network_policy_method = SANDBOX_METHOD (set_network_policy, PRISM_METHOD_NONE, NULL);

/**
 * prism_sandbox_set_network_policy:
 * @self: a sandbox
 * @policy: what may be reached from now on
 * @cancellable: (nullable): a cancellable
 * @error: return location for a [error@SandboxError]
 *
 * Puts another policy in the place of the sandbox's. It holds from the next
 * connection on; one that is open and that it does not allow is cut. A sandbox
 * that was made without a way out (`network` is not `egress`) has no proxy that
 * could apply a policy: NOT_SUPPORTED, and it stays without one. After an error
 * the policy of before holds.
 *
 * Returns: whether the policy holds now
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_set_network_policy (PrismSandbox *self,
                                  PrismEgressPolicy *policy,
                                  GCancellable *cancellable,
                                  GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (PRISM_IS_EGRESS_POLICY (policy), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_run (prism_control_operation_new (&(PrismControlRequest){ .policy = policy }), self,
                              &set_network_policy_method, PRISM_OPERATION_DEADLINE_MS, cancellable, error)
         != NULL;
}

/**
 * prism_sandbox_set_network_policy_async:
 * @self: a sandbox
 * @policy: what may be reached from now on
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.set_network_policy], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_set_network_policy_async (PrismSandbox *self,
                                        PrismEgressPolicy *policy,
                                        GCancellable *cancellable,
                                        GAsyncReadyCallback callback,
                                        gpointer user_data)
{
  g_return_if_fail (PRISM_IS_SANDBOX (self));
  g_return_if_fail (PRISM_IS_EGRESS_POLICY (policy));

  prism_operation_start (prism_control_operation_new (&(PrismControlRequest){ .policy = policy }), NULL, self,
                         &set_network_policy_method, PRISM_OPERATION_DEADLINE_MS, cancellable, callback, user_data);
}

/**
 * prism_sandbox_set_network_policy_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells whether the policy holds now.
 *
 * Returns: whether the policy holds now
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_set_network_policy_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &set_network_policy_method, error) != NULL;
}
