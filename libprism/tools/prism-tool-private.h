/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-tool.h"

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

void prism_tool_context_emit_progress (PrismToolContext *self, const char *message);

/* What prism_tool_call() parsed: an object. */
JsonObject *prism_tool_operation_get_object (PrismToolOperation *self);

G_END_DECLS
