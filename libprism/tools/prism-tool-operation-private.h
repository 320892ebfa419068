/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-operation-private.h"
#include "prism-tool-private.h"

G_BEGIN_DECLS

PrismOperation *prism_tool_operation_new (const char *arguments, JsonNode *node, PrismToolContext *context);

G_END_DECLS
