/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The bounds of what a client may send. */
#define PRISM_MCP_MAX_LINE   (32u * 1024 * 1024)
#define PRISM_MCP_MAX_DEPTH  64
#define PRISM_MCP_MAX_VALUES 200000

/* A value inside somebody else's text. A text of NULL: it is not there. */
typedef struct
{
  const char *text;
  gsize length;
} PrismMcpSlice;

/* What is JSON, but no string or number of ours. */
typedef enum
{
  PRISM_MCP_ODD_NOTHING,
  PRISM_MCP_ODD_NUL,       /* \u0000 in a string */
  PRISM_MCP_ODD_SURROGATE, /* half of a pair */
  PRISM_MCP_ODD_NUMBER,    /* a whole number beyond 64 bits, or more than a double holds */
} PrismMcpOddity;

typedef struct
{
  const char *name;
  PrismMcpSlice value;
} PrismMcpMember;

/* Whether @text is one value of JSON. If not, where not, and why. */
gboolean
prism_mcp_scan (const char *text, gsize length, PrismMcpOddity *oddity, gsize *offset, const char **problem);
const char *prism_mcp_oddity_text (PrismMcpOddity oddity);

/* These take a value that prism_mcp_scan() has been over. Each @members' value is looked
 * up; FALSE with the name of one that is there twice. */
gboolean
prism_mcp_scan_members (PrismMcpSlice object, PrismMcpMember *members, guint n_members, const char **twice);
/* Of PrismMcpSlice. */
GArray *prism_mcp_scan_elements (PrismMcpSlice array);
PrismMcpSlice prism_mcp_slice_member (PrismMcpSlice object, const char *name);
/* Its first character; NUL: it is not there. */
char prism_mcp_slice_kind (PrismMcpSlice slice);
/* NULL: it is no string, or an odd one. */
char *prism_mcp_slice_dup_string (PrismMcpSlice slice);
gboolean prism_mcp_slice_integer (PrismMcpSlice slice, gint64 *value);

G_END_DECLS
