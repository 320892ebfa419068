/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A hostile client: its bytes, as they come, against the framing and the session. What it
 * sends is cut at zero bytes into reads; half of the calls are answered late. */
#include "prism-mcp-lines.h"
#include "prism-mcp-session.h"

#include <json-glib/json-glib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

typedef struct
{
  PrismMcpSession *session;
  GPtrArray *open;
} Server;

static void
on_send (gpointer data, GString *message)
{
  g_autoptr (JsonParser) parser = json_parser_new ();

  /* Always one line of JSON. */
  if (memchr (message->str, '\n', message->len) != message->str + message->len - 1
      || !g_utf8_validate_len (message->str, message->len, NULL)
      || !json_parser_load_from_data (parser, message->str, message->len, NULL))
    g_error ("sent: %s", message->str);
  g_string_free (message, TRUE);
}

static void
answer (PrismMcpCall *call)
{
  PrismMcpSlice params = prism_mcp_call_get_params (call);
  PrismJson *json = prism_mcp_call_begin (call);

  prism_json_begin_object (json, "result");
  prism_json_bytes (json, "params", params.text != NULL ? params.text : "", params.length);
  prism_json_end_object (json);
  prism_mcp_call_end (call, json);
}

static void
on_answered (PrismMcpSession *session, PrismMcpSlice result, const GError *error, gpointer data)
{
  g_free (prism_mcp_slice_dup_string (prism_mcp_slice_member (result, "action")));
}

static void
on_call (gpointer data, PrismMcpCall *call)
{
  Server *server = data;

  if (!g_str_equal (prism_mcp_call_get_method (call), "tools/call"))
    {
      prism_mcp_call_fail (call, PRISM_MCP_INVALID_PARAMS, prism_mcp_call_get_id (call), NULL);
      return;
    }
  prism_mcp_call_progress (call, prism_mcp_call_get_id (call));
  if (prism_mcp_session_can_elicit (server->session))
    prism_mcp_session_ask (server->session, "elicitation/create", "{}", NULL, on_answered, NULL, NULL);
  if (prism_mcp_call_get_params (call).length % 2 == 0)
    answer (call);
  else
    g_ptr_array_add (server->open, call);
}

static void
on_ended (gpointer data)
{
}

static gboolean
on_line (gpointer data, const char *text, gsize length)
{
  Server *server = data;

  prism_mcp_session_line (server->session, text, length);
  while (server->open->len > 8)
    answer (g_ptr_array_steal_index (server->open, 0));
  return TRUE;
}

static gboolean
on_overlong (gpointer data)
{
  prism_mcp_session_overlong (((Server *)data)->session);
  return TRUE;
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const PrismMcpSessionFuncs funcs = { on_send, on_call, on_ended };
  static const PrismMcpLinesFuncs line_funcs = { on_line, on_overlong };
  g_auto (PrismMcpLines) lines = { 0 };
  Server server = { .open = g_ptr_array_new () };
  const char *p = (const char *)data, *end = p + size;

  server.session = prism_mcp_session_new (&funcs, &server, "1", NULL);
  prism_mcp_lines_init (&lines, &line_funcs, &server, 4096);
  if (size % 3 != 0)
    prism_mcp_session_release (server.session, NULL);
  while (p < end)
    {
      const char *stop = memchr (p, '\0', end - p);

      prism_mcp_lines_feed (&lines, p, (stop != NULL ? stop : end) - p);
      if (stop == NULL)
        break;
      p = stop + 1;
    }
  if (size % 3 == 0)
    prism_mcp_session_release (server.session, NULL);
  prism_mcp_session_close (server.session);
  while (server.open->len > 0)
    answer (g_ptr_array_steal_index (server.open, 0));
  g_assert_cmpuint (prism_mcp_session_get_n_calls (server.session), ==, 0);
  prism_mcp_session_free (server.session);
  g_ptr_array_unref (server.open);
  return 0;
}
