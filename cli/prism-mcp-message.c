/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a value of JSON is as a message of JSON-RPC 2.0. Pure. */
#include "prism-mcp-message.h"

#include "prism-cli-json.h"

#define MAX_ID     512
#define MAX_METHOD 128

static void
invalid (PrismMcpMessage *self, const char *problem)
{
  self->kind = PRISM_MCP_INVALID;
  self->code = PRISM_MCP_INVALID_REQUEST;
  self->problem = problem;
}

char *
prism_mcp_read_id (PrismMcpSlice slice)
{
  g_autoptr (PrismJson) json = NULL;
  g_autofree char *text = NULL;
  gint64 number;

  if (slice.length > MAX_ID)
    return NULL;
  if (prism_mcp_slice_integer (slice, &number))
    return g_strdup_printf ("%" G_GINT64_FORMAT, number);
  text = prism_mcp_slice_dup_string (slice);
  if (text == NULL)
    return NULL;
  json = prism_json_new_compact ();
  prism_json_string (json, NULL, text);
  return g_strdup (json->text->str);
}

static void
read_method (PrismMcpMessage *self, PrismMcpSlice method, gboolean has_id)
{
  char kind = prism_mcp_slice_kind (self->params);

  if (method.length <= MAX_METHOD)
    self->method = prism_mcp_slice_dup_string (method);
  if (self->method == NULL)
    invalid (self, "“method” is a short string");
  else if (self->result.text != NULL || self->error.text != NULL)
    invalid (self, "a message has “method”, or “result” or “error”, not both");
  else if (kind != '\0' && kind != '{' && kind != '[')
    invalid (self, "“params” is an object");
  else
    self->kind = has_id ? PRISM_MCP_REQUEST : PRISM_MCP_NOTIFICATION;
}

static void
read_response (PrismMcpMessage *self, char id_kind)
{
  if ((self->result.text != NULL) == (self->error.text != NULL))
    invalid (self, "a message has one of “method”, “result” and “error”");
  else if (self->id == NULL && (id_kind != 'n' || self->error.text == NULL))
    invalid (self, "a response says which request it answers, in “id”");
  else
    self->kind = PRISM_MCP_RESPONSE;
}

void
prism_mcp_message_read (PrismMcpMessage *self, PrismMcpSlice text)
{
  PrismMcpMember members[] = { { "jsonrpc" }, { "id" }, { "method" }, { "params" }, { "result" }, { "error" } };
  PrismMcpSlice *id = &members[1].value, *method = &members[2].value;
  g_autofree char *version = NULL;
  const char *twice = NULL;

  *self = (PrismMcpMessage){ 0 };
  if (prism_mcp_slice_kind (text) != '{')
    {
      invalid (self, "a message is an object");
      return;
    }
  if (!prism_mcp_scan_members (text, members, G_N_ELEMENTS (members), &twice))
    {
      invalid (self, "a member of the message is there twice");
      return;
    }
  self->params = members[3].value;
  self->result = members[4].value;
  self->error = members[5].value;
  self->id = prism_mcp_read_id (*id);
  version = prism_mcp_slice_dup_string (members[0].value);

  if (g_strcmp0 (version, "2.0") != 0)
    invalid (self, "“jsonrpc” has to be \"2.0\"");
  else if (method->text != NULL && id->text != NULL && self->id == NULL)
    invalid (self, "“id” is a string of at most 500 bytes or a whole number");
  else if (method->text != NULL)
    read_method (self, *method, self->id != NULL);
  else
    read_response (self, prism_mcp_slice_kind (*id));
}

void
prism_mcp_message_clear (PrismMcpMessage *self)
{
  g_clear_pointer (&self->id, g_free);
  g_clear_pointer (&self->method, g_free);
}
