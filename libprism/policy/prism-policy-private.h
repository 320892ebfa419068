/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-operation-private.h"
#include "prism-policy.h"

G_BEGIN_DECLS

/* What the checked wrapper of this folder's interface raises. */
extern const PrismOperationErrors prism_policy_operation_errors;

G_END_DECLS
