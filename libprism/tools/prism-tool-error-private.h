/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-operation-private.h"
#include "prism-tool-error.h"

G_BEGIN_DECLS

/* What the checked wrapper of PrismTool raises. */
extern const PrismOperationErrors prism_tool_operation_errors;

/* The stable word of a code: "not-found". */
const char *prism_tool_error_nick (PrismToolError code);

G_END_DECLS
