/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-tool-run-private.h"

G_BEGIN_DECLS

/* The library's own tools: a row of a table, and what it works on. */
#define PRISM_TYPE_CODING_TOOL (prism_coding_tool_get_type ())
G_DECLARE_FINAL_TYPE (PrismCodingTool, prism_coding_tool, PRISM, CODING_TOOL, GObject)

PrismTool *prism_coding_tool_new (const PrismToolKind *kind, PrismToolSettings *settings);

G_END_DECLS
