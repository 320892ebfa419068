/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-mcp-scan.h"

G_BEGIN_DECLS

/* JSON-RPC's own codes, and the protocol's for a resource that is not there. */
enum
{
  PRISM_MCP_PARSE_ERROR = -32700,
  PRISM_MCP_INVALID_REQUEST = -32600,
  PRISM_MCP_METHOD_NOT_FOUND = -32601,
  PRISM_MCP_INVALID_PARAMS = -32602,
  PRISM_MCP_INTERNAL_ERROR = -32603,
  PRISM_MCP_BUSY = -32000,
  PRISM_MCP_RESOURCE_NOT_FOUND = -32002,
};

typedef enum
{
  PRISM_MCP_REQUEST,
  PRISM_MCP_NOTIFICATION,
  PRISM_MCP_RESPONSE,
  PRISM_MCP_INVALID,
} PrismMcpKind;

/* One message of JSON-RPC 2.0; its slices point into the line it was read from. */
typedef struct
{
  PrismMcpKind kind;
  char *id; /* as JSON, a whole number or a string, in one spelling; NULL: it has none */
  char *method;
  PrismMcpSlice params, result, error;

  /* Of one that is invalid: what to answer. */
  int code;
  const char *problem;
} PrismMcpMessage;

/* @text is one value of JSON, scanned already. */
void prism_mcp_message_read (PrismMcpMessage *self, PrismMcpSlice text);
void prism_mcp_message_clear (PrismMcpMessage *self);
/* A request's id, or a cancellation's: NULL if it is none. */
char *prism_mcp_read_id (PrismMcpSlice slice);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismMcpMessage, prism_mcp_message_clear)

G_END_DECLS
