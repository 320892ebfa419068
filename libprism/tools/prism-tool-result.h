/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-tool-error.h"

G_BEGIN_DECLS

/* What a tool answers: parts of text and images in order, metadata (a JSON object), and
 * perhaps a failure. Whoever makes one adds to it before anybody else has it. */
#define PRISM_TYPE_TOOL_RESULT (prism_tool_result_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismToolResult, prism_tool_result, PRISM, TOOL_RESULT, GObject)

PRISM_AVAILABLE_IN_1_0
PrismToolResult *prism_tool_result_new (void);
PRISM_AVAILABLE_IN_1_0
PrismToolResult *prism_tool_result_new_text (const char *text);
PRISM_AVAILABLE_IN_1_0
PrismToolResult *prism_tool_result_new_failure (PrismToolError code, const char *message);
PRISM_AVAILABLE_IN_1_0
void prism_tool_result_add_text (PrismToolResult *self, const char *text);
PRISM_AVAILABLE_IN_1_0
void prism_tool_result_add_image (PrismToolResult *self, GBytes *bytes, const char *mime_type);
/* A JSON object; anything else is refused. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_tool_result_set_metadata (PrismToolResult *self, const char *json, GError **error);
/* What was added stays: a partial answer. */
PRISM_AVAILABLE_IN_1_0
void prism_tool_result_set_failure (PrismToolResult *self, PrismToolError code, const char *message);

PRISM_AVAILABLE_IN_1_0
gboolean prism_tool_result_get_failed (PrismToolResult *self);
PRISM_AVAILABLE_IN_1_0
PrismToolError prism_tool_result_get_code (PrismToolResult *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_tool_result_get_message (PrismToolResult *self);
PRISM_AVAILABLE_IN_1_0
guint prism_tool_result_get_n_parts (PrismToolResult *self);
/* NULL where the part is an image. */
PRISM_AVAILABLE_IN_1_0
const char *prism_tool_result_get_part_text (PrismToolResult *self, guint part);
/* NULL where the part is text. */
PRISM_AVAILABLE_IN_1_0
GBytes *prism_tool_result_get_part_image (PrismToolResult *self, guint part);
PRISM_AVAILABLE_IN_1_0
const char *prism_tool_result_get_part_type (PrismToolResult *self, guint part);
PRISM_AVAILABLE_IN_1_0
char *prism_tool_result_dup_text (PrismToolResult *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_tool_result_get_metadata (PrismToolResult *self);
/* {"content": [{"type": "text", "text"} or {"type": "image", "mime_type", "data"}], "metadata": {},
 * "error": null or {"code", "message"}} */
PRISM_AVAILABLE_IN_1_0
char *prism_tool_result_to_json (PrismToolResult *self);

G_END_DECLS
