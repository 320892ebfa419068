/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Bytes cut into lines. Neither callback is called again once it returned FALSE. */
typedef struct
{
  /* A line without its end. */
  gboolean (*line) (gpointer data, const char *text, gsize length);
  /* One that is longer than is borne; it is dropped, to its end. */
  gboolean (*overlong) (gpointer data);
} PrismMcpLinesFuncs;

typedef struct
{
  const PrismMcpLinesFuncs *funcs;
  gpointer data;
  gsize max;
  GByteArray *begun; /* a line whose end has not come */
  gboolean dropping;
} PrismMcpLines;

void prism_mcp_lines_init (PrismMcpLines *self, const PrismMcpLinesFuncs *funcs, gpointer data, gsize max);
/* FALSE: a callback did not want more. */
gboolean prism_mcp_lines_feed (PrismMcpLines *self, const char *bytes, gsize length);
/* Whether the bytes ended inside a line. */
gboolean prism_mcp_lines_unfinished (PrismMcpLines *self);
void prism_mcp_lines_clear (PrismMcpLines *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismMcpLines, prism_mcp_lines_clear)

G_END_DECLS
