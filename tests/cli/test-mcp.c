/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* MCP without I/O: what a line is answered with, in which order, and what is left after. */
#include "prism-mcp-lines.h"
#include "prism-mcp-session.h"

#include <string.h>

typedef struct
{
  PrismMcpSession *session;
  GPtrArray *sent;  /* lines without their ends */
  GPtrArray *calls; /* tools/call of "later" that run; not owned */
  guint n_ended;
} Client;

static void
on_send (gpointer data, GString *message)
{
  Client *client = data;

  g_assert_cmpuint (message->len, >, 0);
  g_assert_cmpint (message->str[message->len - 1], ==, '\n');
  g_string_truncate (message, message->len - 1);
  g_assert_null (strchr (message->str, '\n'));
  g_assert_true (g_utf8_validate_len (message->str, message->len, NULL));
  g_ptr_array_add (client->sent, g_string_free (message, FALSE));
}

/* Tools: "now" answers at once, "later" when the test says; all else is a list. */
static void
on_call (gpointer data, PrismMcpCall *call)
{
  Client *client = data;
  g_autofree char *name =
      prism_mcp_slice_dup_string (prism_mcp_slice_member (prism_mcp_call_get_params (call), "name"));
  PrismJson *json;

  if (g_strcmp0 (name, "later") == 0)
    {
      g_ptr_array_add (client->calls, call);
      return;
    }
  if (g_str_equal (prism_mcp_call_get_method (call), "resources/read"))
    {
      prism_mcp_call_fail (call, PRISM_MCP_RESOURCE_NOT_FOUND, "not there", "{\"uri\":\"x\"}");
      return;
    }
  json = prism_mcp_call_begin (call);
  prism_json_begin_object (json, "result");
  prism_json_string (json, "did", name != NULL ? name : prism_mcp_call_get_method (call));
  if (prism_mcp_call_get_oddity (call) != PRISM_MCP_ODD_NOTHING)
    prism_json_string (json, "odd", prism_mcp_oddity_text (prism_mcp_call_get_oddity (call)));
  prism_json_end_object (json);
  prism_mcp_call_end (call, json);
}

static void
on_ended (gpointer data)
{
  ((Client *)data)->n_ended++;
}

static const PrismMcpSessionFuncs session_funcs = { on_send, on_call, on_ended };

static void
client_init (Client *client)
{
  *client = (Client){ .sent = g_ptr_array_new_with_free_func (g_free), .calls = g_ptr_array_new () };
  client->session = prism_mcp_session_new (&session_funcs, client, "1.2", "hello");
}

static void
client_clear (Client *client)
{
  prism_mcp_session_free (client->session);
  g_ptr_array_unref (client->calls);
  g_ptr_array_unref (client->sent);
}

static void
say (Client *client, const char *line)
{
  prism_mcp_session_line (client->session, line, strlen (line));
}

static void
answer (Client *client, guint i)
{
  PrismMcpCall *call = g_ptr_array_steal_index (client->calls, i);
  PrismJson *json = prism_mcp_call_begin (call);

  prism_json_string (json, "result", "done");
  prism_mcp_call_end (call, json);
}

/* What was sent since the last look, joined by spaces. */
static char *
heard (Client *client)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < client->sent->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? " " : "", (const char *)client->sent->pdata[i]);
  g_ptr_array_set_size (client->sent, 0);
  return g_string_free (text, FALSE);
}

#define assert_heard(client, expected)                                                                                 \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    g_autofree char *heard_text = heard (client);                                                                      \
    g_assert_cmpstr (heard_text, ==, (expected));                                                                      \
  }                                                                                                                    \
  G_STMT_END

#define assert_heard_has(client, expected)                                                                             \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    g_autofree char *heard_text = heard (client);                                                                      \
    g_test_message ("%s", heard_text);                                                                                 \
    g_assert_nonnull (strstr (heard_text, (expected)));                                                                \
  }                                                                                                                    \
  G_STMT_END

#define INITIALIZE(revision, capabilities)                                                                             \
  "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"" revision                \
  "\",\"capabilities\":" capabilities ",\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

static void
begin (Client *client, const char *initialize)
{
  client_init (client);
  prism_mcp_session_release (client->session, NULL);
  say (client, initialize);
  say (client, INITIALIZED);
  g_ptr_array_set_size (client->sent, 0);
}

static void
test_scan (void)
{
  static const struct
  {
    const char *text;
    const char *problem; /* NULL: it is JSON */
    gsize offset;
    PrismMcpOddity oddity;
  } cases[] = {
    { "{}", NULL },
    { " [ 1 , -0.5e+3 , true,false, null , \"a\\u00e9\\n\" ] ", NULL },
    { "{\"a\":{\"b\":[]}}", NULL },
    { "\"\\ud83d\\ude00\"", NULL },
    { "", "a value is missing", 0 },
    { "{", "a member's name is missing", 1 },
    { "{\"a\"}", "a colon is missing behind a member's name", 4 },
    { "{\"a\":}", "no value begins like this", 5 },
    { "[1,]", "no value begins like this", 3 },
    { "[1 2]", "a comma or closing bracket is missing", 3 },
    { "[1", "the text ends inside an object or array", 2 },
    { "{} {}", "something stands behind the value", 3 },
    { "'a'", "no value begins like this", 0 },
    { "/* */ {}", "no value begins like this", 0 },
    { "nul", "no value begins like this", 0 },
    { "NaN", "no value begins like this", 0 },
    { "01", "a number does not begin with 0", 0 },
    { "-", "a digit is missing in a number", 1 },
    { "1.", "a digit is missing in a number", 2 },
    { "1e", "a digit is missing in a number", 2 },
    { "+1", "no value begins like this", 0 },
    { "\"a", "the text ends inside a string", 2 },
    { "\"\\", "there is no such escape in a string", 2 },
    { "\"\\x\"", "there is no such escape in a string", 2 },
    { "\"\\u12g4\"", "four hexadecimal digits belong behind \\u", 2 },
    { "\"a\tb\"", "a control character has to be escaped in a string", 2 },
    { "\"\xff\"", "it is not UTF-8", 1 },
    { "\"\xed\xa0\x80\"", "it is not UTF-8", 1 },
    { "\"\\u0000\"", NULL, 0, PRISM_MCP_ODD_NUL },
    { "\"\\ud800\"", NULL, 0, PRISM_MCP_ODD_SURROGATE },
    { "\"\\udc00\\ud800\"", NULL, 0, PRISM_MCP_ODD_SURROGATE },
    { "9223372036854775807", NULL },
    { "-9223372036854775808", NULL },
    { "-0", NULL },
    { "9223372036854775808", NULL, 0, PRISM_MCP_ODD_NUMBER },
    { "-9223372036854775809", NULL, 0, PRISM_MCP_ODD_NUMBER },
    { "1e999", NULL, 0, PRISM_MCP_ODD_NUMBER },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      PrismMcpOddity oddity;
      const char *problem;
      gsize offset, length = strlen (cases[i].text);
      gboolean good = prism_mcp_scan (cases[i].text, length, &oddity, &offset, &problem);

      g_autofree char *shown = g_strescape (cases[i].text, NULL);
      g_test_message ("%s", shown);
      g_assert_cmpstr (problem, ==, cases[i].problem);
      g_assert_cmpint (good, ==, cases[i].problem == NULL);
      g_assert_cmpuint (offset, ==, good ? length : cases[i].offset);
      g_assert_cmpint (oddity, ==, cases[i].oddity);
    }
}

static void
test_bounds (void)
{
  g_autoptr (GString) deep = g_string_new (NULL), wide = g_string_new ("[");
  PrismMcpOddity oddity;
  const char *problem;
  gsize offset;

  for (guint i = 0; i < PRISM_MCP_MAX_DEPTH; i++)
    g_string_append_c (deep, '[');
  for (guint i = 0; i < PRISM_MCP_MAX_DEPTH; i++)
    g_string_append_c (deep, ']');
  g_assert_true (prism_mcp_scan (deep->str, deep->len, &oddity, &offset, &problem));
  g_string_prepend_c (deep, '[');
  g_string_append_c (deep, ']');
  g_assert_false (prism_mcp_scan (deep->str, deep->len, &oddity, &offset, &problem));
  g_assert_cmpstr (problem, ==, "it is nested too deeply");

  for (guint i = 0; i < PRISM_MCP_MAX_VALUES; i++)
    g_string_append (wide, i > 0 ? ",0" : "0");
  g_string_append_c (wide, ']');
  g_assert_false (prism_mcp_scan (wide->str, wide->len, &oddity, &offset, &problem));
  g_assert_cmpstr (problem, ==, "it holds too many values");
}

static void
test_members (void)
{
  const char *text = "{ \"\\u0061\" : [1, 2] , \"b\":{\"a\":3}, \"c\": \"x\\ty\", \"b\" :4}";
  PrismMcpSlice whole = { text, strlen (text) };
  PrismMcpMember members[] = { { "a" }, { "c" }, { "d" } };
  g_autoptr (GArray) elements = NULL;
  g_autofree char *string = NULL;
  const char *twice = NULL;
  gint64 number;

  g_assert_true (prism_mcp_scan_members (whole, members, 3, &twice));
  elements = prism_mcp_scan_elements (members[0].value);
  g_assert_cmpuint (elements->len, ==, 2);
  g_assert_true (prism_mcp_slice_integer (g_array_index (elements, PrismMcpSlice, 1), &number));
  g_assert_cmpint (number, ==, 2);
  string = prism_mcp_slice_dup_string (members[1].value);
  g_assert_cmpstr (string, ==, "x\ty");
  g_assert_null (members[2].value.text);

  members[0].name = "b";
  g_assert_false (prism_mcp_scan_members (whole, members, 3, &twice));
  g_assert_cmpstr (twice, ==, "b");
}

#define ERROR(id, code) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\""

/* Each line alone in a session that is ready. */
static void
test_lines_that_are_wrong (void)
{
  static const struct
  {
    const char *line;
    const char *begins; /* of the only answer; NULL: there is none */
  } cases[] = {
    { "{not json", ERROR ("null", "-32700") },
    { "\xff\xfe", ERROR ("null", "-32700") },
    { "\"text\"", ERROR ("null", "-32600") },
    { "17", ERROR ("null", "-32600") },
    { "[]", ERROR ("null", "-32600") },
    { "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", ERROR ("null", "-32600") },
    { "{}", ERROR ("null", "-32600") },
    { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", ERROR ("1", "-32600") },
    { "{\"id\":1,\"method\":\"ping\"}", ERROR ("1", "-32600") },
    { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", ERROR ("null", "-32600") },
    { "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", ERROR ("null", "-32600") },
    { "{\"jsonrpc\":\"2.0\",\"id\":1e3,\"method\":\"ping\"}", ERROR ("null", "-32600") },
    { "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", ERROR ("null", "-32600") },
    { "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", ERROR ("null", "-32600") },
    { "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", ERROR ("null", "-32600") },
    { "{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"method\":\"ping\"}", ERROR ("null", "-32600") },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0000\",\"method\":\"ping\"}", ERROR ("null", "-32600") },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", ERROR ("null", "-32600") },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", ERROR ("1", "-32600") },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":3}", ERROR ("1", "-32600") },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", ERROR ("1", "-32602") },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"result\":{}}", ERROR ("1", "-32600") },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nope\"}", ERROR ("1", "-32601") },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/List\"}", ERROR ("1", "-32601") },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/list\"}", ERROR ("1", "-32601") },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", ERROR ("1", "-32600") },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"loud\"}}",
      ERROR ("1", "-32602") },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"\\u0000\"}}",
      ERROR ("1", "-32602") },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}", ERROR ("1", "-32600") },
    { "{\"jsonrpc\":\"2.0\",\"result\":{}}", ERROR ("null", "-32600") },
    /* No answer. */
    { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nope\"}", NULL },
    { "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}", NULL },
    { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}", NULL },
    { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":12}}", NULL },
    { "{\"jsonrpc\":\"2.0\",\"id\":12,\"result\":{}}", NULL },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}", NULL },
    { "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"?\"}}", NULL },
    /* And right ones. */
    { "{\"jsonrpc\":\"2.0\",\"id\":-7,\"method\":\"ping\"}", "{\"jsonrpc\":\"2.0\",\"id\":-7,\"result\":{}}" },
    { "  {\"\\u006asonrpc\":\"2.0\", \"id\":\"a\\u0062\\\"\" ,\"method\":\"ping\"}  ",
      "{\"jsonrpc\":\"2.0\",\"id\":\"ab\\\"\",\"result\":{}}" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"did\":\"tools/list\"}}" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\"}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32002,\"message\":\"not there\",\"data\":{\"uri\":\"x\"}}}" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"now\",\"x\":\"\\u0000\"}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"did\":\"now\",\"odd\":\"a string holds the character U+0000" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Client client;
      g_autofree char *text = NULL, *shown = NULL;

      begin (&client, INITIALIZE ("2025-11-25", "{}"));
      say (&client, cases[i].line);
      text = heard (&client);
      shown = g_strescape (cases[i].line, NULL);
      g_test_message ("%s -> %s", shown, text);
      if (cases[i].begins == NULL)
        g_assert_cmpstr (text, ==, "");
      else
        g_assert_true (g_str_has_prefix (text, cases[i].begins));
      /* And it lives. */
      say (&client, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}");
      assert_heard (&client, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}");
      g_assert_cmpuint (prism_mcp_session_get_n_calls (client.session), ==, 0);
      client_clear (&client);
    }
}

static void
test_life_cycle (void)
{
  Client client;

  client_init (&client);
  prism_mcp_session_release (client.session, NULL);
  say (&client, INITIALIZED);
  say (&client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}");
  assert_heard (&client, "");
  say (&client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
  assert_heard (&client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
  say (&client, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
  assert_heard_has (&client, ERROR ("2", "-32600"));
  say (&client, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"initialize\"}");
  assert_heard_has (&client, ERROR ("3", "-32602"));
  prism_mcp_session_log (client.session, PRISM_MCP_LOG_EMERGENCY, "l", "too early");
  assert_heard (&client, "");

  say (&client, INITIALIZE ("2025-06-18", "{\"elicitation\":{}}"));
  assert_heard (&client,
                "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":"
                "{\"tools\":{},\"resources\":{\"subscribe\":true},\"logging\":{}},\"serverInfo\":{\"name\":\"prism\","
                "\"title\":\"Prism sandbox\",\"version\":\"1.2\"},\"instructions\":\"hello\"}}");
  g_assert_false (prism_mcp_session_can_elicit (client.session)); /* not before it said that it is ready */
  say (&client, INITIALIZED);
  g_assert_true (prism_mcp_session_can_elicit (client.session));
  say (&client, INITIALIZE ("2025-06-18", "{}"));
  assert_heard_has (&client, ERROR ("0", "-32600"));

  prism_mcp_session_log (client.session, PRISM_MCP_LOG_INFO, "l", "too low");
  assert_heard (&client, "");
  say (&client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"info\"}}");
  assert_heard (&client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
  prism_mcp_session_log (client.session, PRISM_MCP_LOG_INFO, "l", "a\nb");
  assert_heard (&client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\","
                         "\"logger\":\"l\",\"data\":\"a\\nb\"}}");
  client_clear (&client);
}

static void
test_revisions (void)
{
  static const struct
  {
    const char *initialize, *agreed;
    gboolean recent, elicits;
  } cases[] = {
    { INITIALIZE ("2025-11-25", "{\"elicitation\":{\"form\":{}}}"), "2025-11-25", TRUE, TRUE },
    { INITIALIZE ("2025-11-25", "{\"elicitation\":{\"url\":{}}}"), "2025-11-25", TRUE, FALSE },
    { INITIALIZE ("2025-11-25", "{\"elicitation\":{\"url\":{},\"form\":{}}}"), "2025-11-25", TRUE, TRUE },
    { INITIALIZE ("2025-11-25", "{\"elicitation\":true}"), "2025-11-25", TRUE, FALSE },
    { INITIALIZE ("2025-06-18", "{\"elicitation\":{}}"), "2025-06-18", TRUE, TRUE },
    { INITIALIZE ("2025-03-26", "{\"elicitation\":{}}"), "2025-03-26", FALSE, FALSE },
    { INITIALIZE ("2024-11-05", "{}"), "2025-11-25", TRUE, FALSE },
    { INITIALIZE ("2099-01-01", "{}"), "2025-11-25", TRUE, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Client client;
      g_autofree char *agreed = g_strdup_printf ("\"protocolVersion\":\"%s\"", cases[i].agreed);

      client_init (&client);
      prism_mcp_session_release (client.session, NULL);
      say (&client, cases[i].initialize);
      say (&client, INITIALIZED);
      assert_heard_has (&client, agreed);
      g_assert_cmpint (prism_mcp_session_is_recent (client.session), ==, cases[i].recent);
      g_assert_cmpint (prism_mcp_session_can_elicit (client.session), ==, cases[i].elicits);
      client_clear (&client);
    }
}

#define CALL(id, name)                                                                                                 \
  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"}}"
#define DONE(id)   "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":\"done\"}"
#define CANCEL(id) "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id "}}"

static void
test_holds (void)
{
  g_autoptr (GError) failure = g_error_new_literal (G_IO_ERROR, G_IO_ERROR_FAILED, "no room");
  Client client;

  /* All of it at once, as a script sends it. */
  client_init (&client);
  say (&client, INITIALIZE ("2025-11-25", "{}"));
  say (&client, INITIALIZED);
  say (&client, CALL ("1", "now"));
  say (&client, CALL ("2", "now"));
  say (&client, CANCEL ("2"));
  assert_heard (&client, "");
  prism_mcp_session_release_initialize (client.session);
  assert_heard_has (&client, "protocolVersion");
  g_assert_true (prism_mcp_session_is_ready (client.session));
  prism_mcp_session_release (client.session, NULL);
  assert_heard (&client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"did\":\"now\"}}");
  client_clear (&client);

  client_init (&client);
  say (&client, INITIALIZE ("2025-11-25", "{}"));
  say (&client, CALL ("1", "now"));
  prism_mcp_session_release (client.session, failure);
  assert_heard (&client, ERROR ("0", "-32603") "no room\"}} " ERROR ("1", "-32603") "no room\"}}");
  client_clear (&client);
}

static void
test_calls (void)
{
  Client client;
  const char *const ids[] = { "1", "\"1\"" };

  begin (&client, INITIALIZE ("2025-11-25", "{}"));
  for (guint i = 0; i < G_N_ELEMENTS (ids); i++)
    {
      g_autofree char *line = g_strdup_printf (CALL ("%s", "later"), ids[i]);

      say (&client, line);
    }
  g_assert_cmpuint (client.calls->len, ==, 2); /* 1 and "1" are two ids */
  say (&client, CALL ("1", "now"));
  assert_heard_has (&client, ERROR ("null", "-32600"));

  /* One that was cancelled is not answered, and its id is taken until it is over. */
  say (&client, CANCEL ("1"));
  g_assert_true (g_cancellable_is_cancelled (prism_mcp_call_get_cancellable (client.calls->pdata[0])));
  g_assert_false (g_cancellable_is_cancelled (prism_mcp_call_get_cancellable (client.calls->pdata[1])));
  say (&client, CANCEL ("1"));
  say (&client, CALL ("1", "now"));
  assert_heard_has (&client, ERROR ("null", "-32600"));
  answer (&client, 0);
  assert_heard (&client, "");
  answer (&client, 0);
  assert_heard (&client, DONE ("\"1\""));
  say (&client, CALL ("1", "now"));
  assert_heard (&client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"did\":\"now\"}}");
  g_assert_cmpuint (client.n_ended, ==, 3);
  client_clear (&client);
}

static void
test_many_calls (void)
{
  Client client;

  begin (&client, INITIALIZE ("2025-11-25", "{}"));
  for (guint i = 0; i < PRISM_MCP_MAX_RUNNING + PRISM_MCP_MAX_WAITING + 1; i++)
    {
      g_autofree char *line = g_strdup_printf (CALL ("%u", "later"), i);

      say (&client, line);
    }
  g_assert_cmpuint (client.calls->len, ==, PRISM_MCP_MAX_RUNNING);
  g_assert_cmpuint (prism_mcp_session_get_n_calls (client.session), ==, PRISM_MCP_MAX_RUNNING + PRISM_MCP_MAX_WAITING);
  assert_heard_has (&client, ERROR ("1016", "-32000"));

  /* The first that waits goes on when one ends; one that waits can be cancelled. */
  say (&client, CANCEL ("16"));
  answer (&client, 0);
  g_assert_cmpuint (client.calls->len, ==, PRISM_MCP_MAX_RUNNING);
  g_assert_cmpstr (prism_mcp_call_get_id (client.calls->pdata[PRISM_MCP_MAX_RUNNING - 1]), ==, "17");
  assert_heard (&client, DONE ("0"));
  /* What is no tool's call does not wait for tools. */
  say (&client, "{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"method\":\"tools/list\"}");
  assert_heard_has (&client, "\"did\":\"tools/list\"");

  prism_mcp_session_close (client.session);
  g_assert_cmpuint (prism_mcp_session_get_n_calls (client.session), ==, PRISM_MCP_MAX_RUNNING);
  while (client.calls->len > 0)
    answer (&client, 0);
  g_assert_cmpuint (prism_mcp_session_get_n_calls (client.session), ==, 0);
  assert_heard (&client, "");
  client_clear (&client);
}

static void
test_batches (void)
{
  Client client;

  begin (&client, INITIALIZE ("2025-03-26", "{}"));
  say (&client, "[" CALL ("1", "later") "," INITIALIZED "," CALL ("2", "now") ", 5 ," CALL ("3", "later") "]");
  assert_heard (&client, "");
  say (&client, CANCEL ("3"));
  answer (&client, 1);
  assert_heard (&client, "");
  answer (&client, 0);
  assert_heard (&client, "[{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"did\":\"now\"}}," ERROR (
                             "null", "-32600") "a message is an object\"}}," DONE ("1") "]");
  say (&client, "[" INITIALIZED "]");
  assert_heard (&client, "");
  say (&client, "[]");
  assert_heard_has (&client, ERROR ("null", "-32600"));
  client_clear (&client);
}

static void
test_progress (void)
{
  Client client;

  begin (&client, INITIALIZE ("2025-11-25", "{}"));
  say (&client, CALL ("1", "later"));
  g_assert_false (prism_mcp_call_wants_progress (client.calls->pdata[0]));
  say (&client, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"later\",\"_meta\":"
                "{\"progressToken\":\"t\"}}}");
  prism_mcp_call_progress (client.calls->pdata[0], "not wanted");
  prism_mcp_call_progress (client.calls->pdata[1], "half");
  prism_mcp_call_progress (client.calls->pdata[1], "too soon after it");
  g_assert_cmpuint (client.sent->len, ==, 1);
  assert_heard_has (&client, "\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"t\",\"progress\":");
  say (&client, CANCEL ("2"));
  g_assert_false (prism_mcp_call_wants_progress (client.calls->pdata[1]));
  answer (&client, 1);
  answer (&client, 0);
  client_clear (&client);
}

typedef struct
{
  guint n;
  char *result;
  char *error;
} Answer;

static void
on_answered (PrismMcpSession *session, PrismMcpSlice result, const GError *error, gpointer data)
{
  Answer *answer = data;

  answer->n++;
  g_free (answer->result);
  g_free (answer->error);
  answer->result = error == NULL ? g_strndup (result.text, result.length) : NULL;
  answer->error = error != NULL ? g_strdup (error->message) : NULL;
}

static void
test_questions (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Answer answer = { 0 };
  Client client;

  begin (&client, INITIALIZE ("2025-11-25", "{\"elicitation\":{}}"));
  prism_mcp_session_ask (client.session, "elicitation/create", "{\"a\":1}", NULL, on_answered, &answer, NULL);
  assert_heard (&client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{\"a\":1}}");
  say (&client, "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}"); /* another id */
  g_assert_cmpuint (answer.n, ==, 0);
  say (&client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"accept\"}}");
  g_assert_cmpstr (answer.result, ==, "{\"action\":\"accept\"}");
  say (&client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"); /* once is enough */
  g_assert_cmpuint (answer.n, ==, 1);

  prism_mcp_session_ask (client.session, "m", "{}", NULL, on_answered, &answer, NULL);
  say (&client, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-1,\"message\":\"no\"}}");
  g_assert_cmpstr (answer.error, ==, "no");
  prism_mcp_session_ask (client.session, "m", "{}", NULL, on_answered, &answer, NULL);
  say (&client, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":\"\\ud800\"}}");
  g_assert_nonnull (answer.error);
  g_ptr_array_set_size (client.sent, 0);

  prism_mcp_session_ask (client.session, "m", "{}", cancellable, on_answered, &answer, NULL);
  g_ptr_array_set_size (client.sent, 0);
  g_cancellable_cancel (cancellable);
  while (answer.n < 4)
    g_main_context_iteration (NULL, TRUE);
  assert_heard_has (&client, "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":4,");

  prism_mcp_session_ask (client.session, "m", "{}", NULL, on_answered, &answer, NULL);
  prism_mcp_session_drop_asked (client.session, "gone");
  g_assert_cmpstr (answer.error, ==, "gone");
  g_assert_cmpuint (answer.n, ==, 5);
  g_assert_false (prism_mcp_session_can_elicit (client.session));
  client_clear (&client);
  g_free (answer.result);
  g_free (answer.error);
}

static gboolean
on_line (gpointer data, const char *text, gsize length)
{
  g_string_append_printf (data, "<%.*s>", (int)length, text);
  return length != 4 || memcmp (text, "stop", 4) != 0;
}

static gboolean
on_overlong (gpointer data)
{
  g_string_append (data, "!");
  return TRUE;
}

static void
test_framing (void)
{
  static const PrismMcpLinesFuncs funcs = { on_line, on_overlong };
  const char *text = "ab\n\n \t\r\nc d\r\n0123456789\n01234567890\nx\n\n01234567890123456789\ny";

  for (gsize step = 1; step <= strlen (text); step++)
    {
      g_autoptr (GString) seen = g_string_new (NULL);
      g_auto (PrismMcpLines) lines = { 0 };

      prism_mcp_lines_init (&lines, &funcs, seen, 10);
      for (gsize i = 0; i < strlen (text); i += step)
        g_assert_true (prism_mcp_lines_feed (&lines, text + i, MIN (step, strlen (text) - i)));
      g_assert_cmpstr (seen->str, ==, "<ab><c d><0123456789>!<x>!");
      g_assert_true (prism_mcp_lines_unfinished (&lines));
      g_assert_true (prism_mcp_lines_feed (&lines, "\n", 1));
      g_assert_false (prism_mcp_lines_unfinished (&lines));
      g_assert_false (prism_mcp_lines_feed (&lines, "stop\nmore\n", 10));
      g_assert_cmpstr (seen->str, ==, "<ab><c d><0123456789>!<x>!<y><stop>");
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/mcp/scan", test_scan);
  g_test_add_func ("/mcp/bounds", test_bounds);
  g_test_add_func ("/mcp/members", test_members);
  g_test_add_func ("/mcp/framing", test_framing);
  g_test_add_func ("/mcp/wrong-lines", test_lines_that_are_wrong);
  g_test_add_func ("/mcp/life-cycle", test_life_cycle);
  g_test_add_func ("/mcp/revisions", test_revisions);
  g_test_add_func ("/mcp/holds", test_holds);
  g_test_add_func ("/mcp/calls", test_calls);
  g_test_add_func ("/mcp/many-calls", test_many_calls);
  g_test_add_func ("/mcp/batches", test_batches);
  g_test_add_func ("/mcp/progress", test_progress);
  g_test_add_func ("/mcp/questions", test_questions);
  return g_test_run ();
}
