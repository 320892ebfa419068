/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-operation-private.h"
#include "prism-sandbox-error.h"

G_BEGIN_DECLS

/* What the wrappers of PrismBackend, PrismSandbox and PrismProcess raise. */
extern const PrismOperationErrors prism_sandbox_operation_errors;

G_END_DECLS
