/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-action.h"
#include "prism-decision.h"
#include "prism-operation.h"
#include "prism-policy-error.h"

G_BEGIN_DECLS

/* check: may this happen? */
#define PRISM_TYPE_CHECK_OPERATION (prism_check_operation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismCheckOperation, prism_check_operation, PRISM, CHECK_OPERATION, PrismOperation)

PRISM_AVAILABLE_IN_1_0
PrismAction   *prism_check_operation_get_action (PrismCheckOperation  *self);
PRISM_AVAILABLE_IN_1_0
void           prism_check_operation_complete   (PrismCheckOperation  *self,
                                                 PrismDecision        *decision);

#define PRISM_TYPE_POLICY (prism_policy_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_INTERFACE (PrismPolicy, prism_policy, PRISM, POLICY, GObject)

/* What an implementation gives: a decision. It may take as long as a person takes to
 * answer; cancelling ends the wait. An error, and an operation that is dropped, are
 * errors to the caller, who does nothing then. */
struct _PrismPolicyInterface
{
  GTypeInterface parent_iface;

  void (*check) (PrismPolicy *self, PrismCheckOperation *operation);

  /*< private >*/
  gpointer padding[8];
};

PRISM_AVAILABLE_IN_1_0
PrismDecision *prism_policy_check               (PrismPolicy          *self,
                                                 PrismAction          *action,
                                                 GCancellable         *cancellable,
                                                 GError              **error);
PRISM_AVAILABLE_IN_1_0
void           prism_policy_check_async         (PrismPolicy          *self,
                                                 PrismAction          *action,
                                                 GCancellable         *cancellable,
                                                 GAsyncReadyCallback   callback,
                                                 gpointer              user_data);
PRISM_AVAILABLE_IN_1_0
PrismDecision *prism_policy_check_finish        (PrismPolicy          *self,
                                                 GAsyncResult         *result,
                                                 GError              **error);

G_END_DECLS
