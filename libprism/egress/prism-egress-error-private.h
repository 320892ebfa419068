/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-egress-error.h"
#include "prism-operation-private.h"

G_BEGIN_DECLS

/* What the checked wrappers of this folder's interfaces raise. */
extern const PrismOperationErrors prism_egress_operation_errors;

G_END_DECLS
