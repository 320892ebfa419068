/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-approval-policy.h"
#include "prism-approval-store-private.h"

G_BEGIN_DECLS

/* For tests. */
PrismApprovalStore *prism_approval_policy_get_store (PrismApprovalPolicy *self);

G_END_DECLS
