/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-tool-result.h"

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

/* Takes @text, which is valid UTF-8. */
void prism_tool_result_take_text (PrismToolResult *self, char *text);
/* Takes what @builder holds: an object. */
void prism_tool_result_take_metadata (PrismToolResult *self, JsonBuilder *builder);
/* Of @error, whose domain is the tools' own. */
void prism_tool_result_set_error (PrismToolResult *self, const GError *error);

G_END_DECLS
