/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tools as MCP has them. What a model sent goes to the tool as it came, and what is
 * wrong with it is the tool's answer, for the model to read; only what is no call at all
 * is an error of the protocol. */
#include "prism-mcp-server.h"

#include "prism-cli-audit.h"
#include "prism-cli-names.h"
#include "prism-mcp-scan.h"

#include <string.h>

#define HEARTBEAT_S    5
#define MAX_DENIALS    20
#define MAX_SHOWN_NAME 100

typedef struct
{
  PrismMcpServer *server;
  PrismMcpCall *call;
  PrismTool *tool;
  PrismToolContext *context;
  char *name;
  char *progress;
  gint64 started;
  guint heartbeat;
  gboolean is_external, unasked;
  GPtrArray *denials; /* PrismAuditRecord */
  PrismToolResult *result;
  GError *error;
} Running;

static void
running_free (Running *run)
{
  if (run->heartbeat != 0)
    g_source_remove (run->heartbeat);
  g_clear_object (&run->tool);
  g_clear_object (&run->context);
  g_clear_object (&run->result);
  g_clear_error (&run->error);
  g_clear_pointer (&run->denials, g_ptr_array_unref);
  g_free (run->name);
  g_free (run->progress);
  g_free (run);
}

/* "repo_search" → "Repo search" */
static char *
make_title (const char *name)
{
  char *title = g_strdelimit (g_strdup (name), "_", ' ');

  title[0] = g_ascii_toupper (title[0]);
  return title;
}

static void
append_json_text (PrismJson *json, const char *key, const char *text)
{
  g_autofree char *line = g_strdelimit (g_strdup (text), "\r\n", ' ');
  PrismMcpOddity oddity;
  const char *problem;
  gsize offset;

  /* A tool may be anybody's; what is no JSON would break the line. */
  if (prism_mcp_scan (line, strlen (line), &oddity, &offset, &problem))
    prism_json_raw (json, key, line);
  else
    prism_json_null (json, key);
}

static void
append_tool (PrismMcpServer *self, PrismJson *json, PrismTool *tool)
{
  g_autofree char *name = prism_tool_dup_name (tool);
  g_autofree char *description = prism_tool_dup_description (tool);
  g_autofree char *schema = prism_tool_dup_input_schema (tool);
  g_autofree char *title = make_title (name);
  PrismEffect effect = prism_tool_get_effect (tool);

  prism_json_begin_object (json, NULL);
  prism_json_string (json, "name", name);
  if (prism_mcp_session_is_recent (self->session))
    prism_json_string (json, "title", title);
  prism_json_string (json, "description", description);
  append_json_text (json, "inputSchema", schema);
  prism_json_begin_object (json, "annotations");
  prism_json_string (json, "title", title);
  prism_json_boolean (json, "readOnlyHint", effect == PRISM_EFFECT_NONE);
  if (effect != PRISM_EFFECT_NONE)
    {
      prism_json_boolean (json, "destructiveHint", TRUE);
      prism_json_boolean (json, "idempotentHint", FALSE);
    }
  /* Where nothing can be reached, nothing outside of the tree is met. */
  prism_json_boolean (json, "openWorldHint", effect == PRISM_EFFECT_EXTERNAL_MUTATION && self->proxy != NULL);
  prism_json_end_object (json);
  prism_json_end_object (json);
}

void
prism_mcp_tools_list (PrismMcpServer *self, PrismMcpCall *call)
{
  GListModel *tools = prism_composition_get_tools (self->composition);
  PrismJson *json;

  if (prism_mcp_slice_member (prism_mcp_call_get_params (call), "cursor").text != NULL)
    {
      prism_mcp_call_fail (call, PRISM_MCP_INVALID_PARAMS, "tools/list: there is one page; leave “cursor” out", NULL);
      return;
    }
  json = prism_mcp_call_begin (call);
  prism_json_begin_object (json, "result");
  prism_json_begin_array (json, "tools");
  for (guint i = 0; i < g_list_model_get_n_items (tools); i++)
    {
      g_autoptr (PrismTool) tool = g_list_model_get_item (tools, i);

      append_tool (self, json, tool);
    }
  prism_json_end_array (json);
  prism_json_end_object (json);
  prism_mcp_call_end (call, json);
}

static void
append_text (PrismJson *json, const char *text)
{
  prism_json_begin_object (json, NULL);
  prism_json_string (json, "type", "text");
  prism_json_string (json, "text", text);
  prism_json_end_object (json);
}

static void
append_image (PrismJson *json, GBytes *bytes, const char *type)
{
  gsize length;
  const guchar *data = g_bytes_get_data (bytes, &length);
  g_autofree char *encoded = g_base64_encode (data, length);

  prism_json_begin_object (json, NULL);
  prism_json_string (json, "type", "image");
  prism_json_string (json, "data", encoded);
  prism_json_string (json, "mimeType", type);
  prism_json_end_object (json);
}

static void
append_parts (PrismJson *json, PrismToolResult *result)
{
  for (guint i = 0; i < prism_tool_result_get_n_parts (result); i++)
    {
      const char *text = prism_tool_result_get_part_text (result, i);

      if (text != NULL)
        append_text (json, text);
      else
        append_image (json, prism_tool_result_get_part_image (result, i), prism_tool_result_get_part_type (result, i));
    }
}

static char *
describe_denials (GPtrArray *denials)
{
  GString *text = g_string_new ("The sandbox's egress policy refused:");

  for (guint i = 0; i < denials->len; i++)
    {
      const PrismAuditRecord *record = denials->pdata[i];
      g_autofree char *place = prism_cli_audit_place (record);
      g_autofree char *remedy = prism_cli_audit_remedy (record);
      const char *reason = prism_audit_record_get_reason (record);
      g_autofree char *shown = prism_visible_text (reason != NULL ? reason : "", 300, NULL);

      g_string_append_printf (text, "\n- %s: %s", place, shown);
      if (remedy != NULL)
        g_string_append_printf (text, " (whoever set this up can allow it: %s)", remedy);
    }
  g_string_append (text, "\nTrying again will not help.");
  return g_string_free (text, FALSE);
}

static void
append_denials (PrismJson *json, GPtrArray *denials)
{
  prism_json_begin_array (json, "prism/denials");
  for (guint i = 0; i < denials->len; i++)
    {
      const PrismAuditRecord *record = denials->pdata[i];
      g_autofree char *place = prism_cli_audit_place (record);
      g_autofree char *remedy = prism_cli_audit_remedy (record);

      prism_json_begin_object (json, NULL);
      prism_json_string (json, "what", place);
      prism_json_string (json, "reason_id", prism_audit_record_get_reason_id (record));
      prism_json_string (json, "rule", prism_audit_record_get_rule (record));
      prism_json_string (json, "allow", remedy);
      prism_json_end_object (json);
    }
  prism_json_end_array (json);
}

/* ok, cancelled, or what kind of failure it is. */
static char *
dup_outcome (Running *run)
{
  if (g_cancellable_is_cancelled (prism_mcp_call_get_cancellable (run->call)))
    return g_strdup ("cancelled");
  if (run->error != NULL)
    return prism_cli_error_code (run->error);
  if (!prism_tool_result_get_failed (run->result))
    return g_strdup ("ok");
  return prism_cli_enum_nick (PRISM_TYPE_TOOL_ERROR, prism_tool_result_get_code (run->result));
}

static void
write_down (Running *run)
{
  g_autofree char *outcome = dup_outcome (run);
  PrismJson *json = prism_mcp_journal_begin ("call");

  prism_json_string (json, "tool", run->name);
  prism_json_string (json, "call", prism_tool_context_get_call_id (run->context));
  prism_json_string (json, "outcome", outcome);
  prism_json_integer (json, "duration_ms", (g_get_monotonic_time () - run->started) / 1000);
  prism_mcp_journal_add (run->server->journal, json);
}

/* The result and, where there is one, what went wrong; never the one without the other. */
static void
answer (Running *run)
{
  g_autofree char *outcome = dup_outcome (run);
  PrismJson *json = prism_mcp_call_begin (run->call);
  const char *metadata = run->result != NULL ? prism_tool_result_get_metadata (run->result) : NULL;
  const char *failure = run->error != NULL                           ? run->error->message
                        : prism_tool_result_get_failed (run->result) ? prism_tool_result_get_message (run->result)
                                                                     : NULL;

  prism_json_begin_object (json, "result");
  prism_json_begin_array (json, "content");
  if (run->result != NULL)
    append_parts (json, run->result);
  if (failure != NULL)
    append_text (json, failure);
  if (failure != NULL && run->unasked)
    append_text (json, "Nobody could be asked. Whoever set this server up can change that: a client that can ask its "
                       "user (elicitation), --suspend DIR to answer later, or --approve always.");
  if (run->denials->len > 0)
    {
      g_autofree char *text = describe_denials (run->denials);

      append_text (json, text);
    }
  prism_json_end_array (json);
  if (metadata != NULL && prism_mcp_session_is_recent (run->server->session))
    append_json_text (json, "structuredContent", metadata);
  prism_json_boolean (json, "isError", failure != NULL);
  prism_json_begin_object (json, "_meta");
  prism_json_string (json, "prism/outcome", outcome);
  if (metadata != NULL && !prism_mcp_session_is_recent (run->server->session))
    append_json_text (json, "prism/metadata", metadata);
  if (run->denials->len > 0)
    append_denials (json, run->denials);
  prism_json_end_object (json);
  prism_json_end_object (json);
  prism_mcp_call_end (run->call, json);
}

static gboolean
finish (gpointer data)
{
  Running *run = data;
  PrismMcpServer *self = run->server;

  g_ptr_array_remove_fast (self->running, run);
  write_down (run);
  answer (run);
  running_free (run);
  return G_SOURCE_REMOVE;
}

static void
on_called (GObject *object, GAsyncResult *result, gpointer data)
{
  Running *run = data;

  run->result = prism_tool_call_finish (PRISM_TOOL (object), result, &run->error);
  /* What the proxy said while it ran is on its way in this context. */
  if (run->server->proxy != NULL && run->is_external)
    g_idle_add_full (G_PRIORITY_DEFAULT, finish, run, NULL);
  else
    finish (run);
}

static void
on_progress (PrismToolContext *context, const char *message, gpointer data)
{
  Running *run = data;

  g_free (run->progress);
  run->progress = prism_visible_text (message, 160, NULL);
  prism_mcp_call_progress (run->call, run->progress);
}

/* A client may give up on what says nothing. */
static gboolean
on_heartbeat (gpointer data)
{
  Running *run = data;

  prism_mcp_call_progress (run->call, run->progress);
  return G_SOURCE_CONTINUE;
}

/* An answer for the model to what no tool could be given. */
static void
refuse (PrismMcpCall *call, const char *text)
{
  PrismJson *json = prism_mcp_call_begin (call);

  prism_json_begin_object (json, "result");
  prism_json_begin_array (json, "content");
  append_text (json, text);
  prism_json_end_array (json);
  prism_json_boolean (json, "isError", TRUE);
  prism_json_end_object (json);
  prism_mcp_call_end (call, json);
}

static void
run_tool (PrismMcpServer *self, PrismMcpCall *call, PrismTool *tool, char *name, const char *arguments)
{
  Running *run = g_new0 (Running, 1);

  run->server = self;
  run->call = call;
  run->tool = g_object_ref (tool);
  run->name = name;
  run->started = g_get_monotonic_time ();
  run->is_external = prism_tool_get_effect (tool) == PRISM_EFFECT_EXTERNAL_MUTATION;
  run->denials = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_audit_record_free);
  run->context = prism_tool_context_new (self->run_id, self->run_id, prism_mcp_call_get_id (call));
  g_ptr_array_add (self->running, run);
  if (prism_mcp_call_wants_progress (call))
    {
      g_signal_connect (run->context, "progress", G_CALLBACK (on_progress), run);
      run->heartbeat = g_timeout_add_seconds (HEARTBEAT_S, on_heartbeat, run);
    }
  prism_tool_call_async (tool, arguments, run->context, prism_mcp_call_get_cancellable (call), on_called, run);
}

void
prism_mcp_tools_call (PrismMcpServer *self, PrismMcpCall *call)
{
  PrismMcpMember members[] = { { "name" }, { "arguments" } };
  const char *twice = NULL, *problem = NULL;
  g_autofree char *arguments = NULL;
  g_autofree char *name = NULL;
  g_autoptr (PrismTool) tool = NULL;

  if (prism_mcp_call_get_oddity (call) != PRISM_MCP_ODD_NOTHING)
    {
      refuse (call, prism_mcp_oddity_text (prism_mcp_call_get_oddity (call)));
      return;
    }
  if (!prism_mcp_scan_members (prism_mcp_call_get_params (call), members, G_N_ELEMENTS (members), &twice))
    problem = "tools/call: “name” and “arguments” are there once each";
  else if ((name = prism_mcp_slice_dup_string (members[0].value)) == NULL)
    problem = "tools/call: “name” is a string; tools/list says which there are";
  else if (members[1].value.text != NULL && prism_mcp_slice_kind (members[1].value) != '{')
    problem = "tools/call: “arguments” is an object";
  if (problem != NULL)
    {
      prism_mcp_call_fail (call, PRISM_MCP_INVALID_PARAMS, problem, NULL);
      return;
    }

  tool = prism_composition_find_tool (self->composition, name);
  if (tool == NULL)
    {
      g_autofree char *shown = prism_visible_text (name, MAX_SHOWN_NAME, NULL);
      g_autofree char *unknown = g_strdup_printf ("there is no tool “%s”; tools/list says which there are", shown);

      prism_mcp_call_fail (call, PRISM_MCP_INVALID_PARAMS, unknown, NULL);
      return;
    }
  prism_mcp_questions_update (self);
  arguments =
      members[1].value.text != NULL ? g_strndup (members[1].value.text, members[1].value.length) : g_strdup ("{}");
  run_tool (self, call, tool, g_steal_pointer (&name), arguments);
}

void
prism_mcp_tools_unasked (PrismMcpServer *self, const char *call_id)
{
  for (guint i = 0; i < self->running->len; i++)
    {
      Running *run = self->running->pdata[i];

      run->unasked |= g_strcmp0 (prism_tool_context_get_call_id (run->context), call_id) == 0;
    }
}

void
prism_mcp_tools_denied (PrismMcpServer *self, const PrismAuditRecord *record)
{
  for (guint i = 0; i < self->running->len; i++)
    {
      Running *run = self->running->pdata[i];

      if (run->is_external && run->denials->len < MAX_DENIALS)
        g_ptr_array_add (run->denials, prism_audit_record_copy (record));
    }
}
