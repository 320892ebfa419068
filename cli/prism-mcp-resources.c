/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a client may read: what holds in this session, and what happened in it. Nothing of
 * it is a secret: credentials are kept out of rules and records by the library. */
#include "prism-mcp-server.h"

#include "prism-cli-egress.h"
#include "prism-cli-names.h"
#include "prism-cli-result.h"
#include "prism-mcp-scan.h"

#include <string.h>

/* How often a subscriber is told that there is news. */
#define UPDATE_INTERVAL_MS 250

static const struct
{
  const char *uri, *name, *title, *description, *type;
} resources[] = {
  { "prism://audit", "audit", "Audit log",
    "What happened in this session: tool calls, approvals, and what was reached or refused. One JSON object a line.",
    "application/x-ndjson" },
  { "prism://policy", "policy", "Effective policy",
    "What is allowed, denied or asked about, what can be reached, and where the tree is.", "application/json" },
  { "prism://sandbox", "sandbox", "Sandbox", "What the sandbox really contains, with evidence.", "application/json" },
};

static void
list (PrismMcpServer *self, PrismMcpCall *call)
{
  PrismJson *json = prism_mcp_call_begin (call);

  prism_json_begin_object (json, "result");
  prism_json_begin_array (json, "resources");
  for (guint i = 0; i < G_N_ELEMENTS (resources); i++)
    {
      prism_json_begin_object (json, NULL);
      prism_json_string (json, "uri", resources[i].uri);
      prism_json_string (json, "name", resources[i].name);
      if (prism_mcp_session_is_recent (self->session))
        prism_json_string (json, "title", resources[i].title);
      prism_json_string (json, "description", resources[i].description);
      prism_json_string (json, "mimeType", resources[i].type);
      prism_json_end_object (json);
    }
  prism_json_end_array (json);
  prism_json_end_object (json);
  prism_mcp_call_end (call, json);
}

static void
list_templates (PrismMcpCall *call)
{
  PrismJson *json = prism_mcp_call_begin (call);

  prism_json_begin_object (json, "result");
  prism_json_begin_array (json, "resourceTemplates");
  prism_json_end_array (json);
  prism_json_end_object (json);
  prism_mcp_call_end (call, json);
}

static void
append_egress (PrismJson *json, PrismSandboxSpec *spec)
{
  PrismEgressPolicy *policy = prism_sandbox_spec_get_egress_policy (spec);

  if (policy == NULL || prism_sandbox_spec_get_network (spec) != PRISM_NETWORK_MODE_EGRESS)
    {
      prism_json_null (json, "egress");
      return;
    }
  prism_json_begin_object (json, "egress");
  prism_json_boolean (json, "allows_all", prism_egress_policy_get_kind (policy) == PRISM_EGRESS_POLICY_KIND_ALLOW_ALL);
  prism_json_string (json, "fingerprint", prism_egress_policy_get_fingerprint (policy));
  prism_cli_egress_json_rules (json, "rules", policy);
  prism_json_end_object (json);
}

static void
append_rules (PrismJson *json, PrismApprovalPolicy *policy)
{
  GPtrArray *rules = prism_approval_policy_get_rules (policy);

  prism_json_begin_array (json, "command_rules");
  for (guint i = 0; i < rules->len; i++)
    {
      PrismCommandRule *rule = rules->pdata[i];
      g_autofree char *verdict = prism_cli_enum_nick (PRISM_TYPE_VERDICT, prism_command_rule_get_verdict (rule));

      prism_json_begin_object (json, NULL);
      prism_json_string (json, "rule", prism_command_rule_get_line (rule));
      prism_json_string (json, "action", verdict);
      prism_json_string (json, "reason", prism_command_rule_get_reason (rule));
      prism_json_end_object (json);
    }
  prism_json_end_array (json);
}

static char *
policy_text (PrismMcpServer *self)
{
  g_autoptr (PrismJson) json = prism_json_new ();
  g_autofree char *mode =
      prism_cli_enum_nick (PRISM_TYPE_WORKSPACE_MODE, prism_sandbox_spec_get_workspace_mode (self->spec));
  GFile *folder = prism_sandbox_spec_get_workspace (self->spec);
  g_autofree char *workspace = folder != NULL ? g_file_get_path (folder) : NULL;
  gboolean never = g_strcmp0 (self->options->approve, "never") == 0;
  gboolean always = g_strcmp0 (self->options->approve, "always") == 0;

  prism_json_begin_object (json, NULL);
  prism_json_string (json, "policy_file", self->options->policy);
  prism_json_string (json, "workspace", workspace);
  prism_json_string (json, "workspace_mode", mode);
  prism_json_string (json, "root", prism_composition_get_workspace_root (self->composition));
  prism_json_string (json, "approve", never ? "never" : always ? "always" : "ask");
  prism_json_boolean (json, "can_ask", !never && !always && prism_mcp_session_can_elicit (self->session));
  prism_json_boolean (json, "read_only", prism_approval_policy_get_read_only (self->policy));
  prism_json_strv (json, "roots", prism_approval_policy_get_roots (self->policy));
  append_rules (json, self->policy);
  append_egress (json, self->spec);
  prism_json_end_object (json);
  return g_strdup (json->text->str);
}

static char *
sandbox_text (PrismMcpServer *self)
{
  g_autoptr (PrismJson) json = prism_json_new ();
  g_autoptr (PrismCapabilities) capabilities = prism_composition_dup_capabilities (self->composition);
  g_auto (GStrv) warnings = prism_composition_dup_warnings (self->composition);

  prism_json_begin_object (json, NULL);
  prism_json_string (json, "backend", prism_backend_get_name (self->backend));
  prism_json_string (json, "id", self->sandbox_id);
  prism_cli_json_capabilities (json, "capabilities", capabilities);
  prism_json_strv (json, "warnings", (const char *const *)warnings);
  prism_json_end_object (json);
  return g_strdup (json->text->str);
}

static void
read_resource (PrismMcpServer *self, PrismMcpCall *call, guint which)
{
  PrismJson *json = prism_mcp_call_begin (call);
  g_autofree char *text = NULL;
  guint64 n_dropped = 0;

  text = which == 0   ? prism_mcp_journal_dup_text (self->journal, &n_dropped)
         : which == 1 ? policy_text (self)
                      : sandbox_text (self);
  prism_json_begin_object (json, "result");
  prism_json_begin_array (json, "contents");
  prism_json_begin_object (json, NULL);
  prism_json_string (json, "uri", resources[which].uri);
  prism_json_string (json, "mimeType", resources[which].type);
  prism_json_string (json, "text", text);
  if (which == 0)
    {
      prism_json_begin_object (json, "_meta");
      prism_json_unsigned (json, "prism/dropped", n_dropped);
      prism_json_end_object (json);
    }
  prism_json_end_object (json);
  prism_json_end_array (json);
  prism_json_end_object (json);
  prism_mcp_call_end (call, json);
}

static void
set_subscribed (PrismMcpServer *self, PrismMcpCall *call, guint which, gboolean subscribed)
{
  PrismJson *json = prism_mcp_call_begin (call);

  if (subscribed)
    g_hash_table_add (self->subscribed, (gpointer)resources[which].uri);
  else
    g_hash_table_remove (self->subscribed, resources[which].uri);
  prism_json_begin_object (json, "result");
  prism_json_end_object (json);
  prism_mcp_call_end (call, json);
}

static void
not_found (PrismMcpCall *call, const char *uri)
{
  g_autoptr (PrismJson) data = prism_json_new_compact ();

  prism_json_begin_object (data, NULL);
  prism_json_string (data, "uri", uri);
  prism_json_end_object (data);
  prism_mcp_call_fail (call, PRISM_MCP_RESOURCE_NOT_FOUND,
                       "there is no such resource; resources/list says which there are", data->text->str);
}

void
prism_mcp_resources_call (PrismMcpServer *self, PrismMcpCall *call)
{
  const char *method = prism_mcp_call_get_method (call);
  g_autofree char *uri = NULL;
  guint which = 0;

  if (g_str_equal (method, "resources/list"))
    {
      list (self, call);
      return;
    }
  if (g_str_equal (method, "resources/templates/list"))
    {
      list_templates (call);
      return;
    }
  uri = prism_mcp_slice_dup_string (prism_mcp_slice_member (prism_mcp_call_get_params (call), "uri"));
  if (uri == NULL)
    {
      prism_mcp_call_fail (call, PRISM_MCP_INVALID_PARAMS, "“uri” is a string; resources/list says which there are",
                           NULL);
      return;
    }
  while (which < G_N_ELEMENTS (resources) && !g_str_equal (resources[which].uri, uri))
    which++;
  if (which == G_N_ELEMENTS (resources))
    not_found (call, uri);
  else if (g_str_equal (method, "resources/read"))
    read_resource (self, call, which);
  else
    set_subscribed (self, call, which, g_str_equal (method, "resources/subscribe"));
}

static gboolean
tell_subscribers (gpointer data)
{
  PrismMcpServer *self = data;

  self->update_timer = 0;
  if (prism_mcp_session_is_ready (self->session) && g_hash_table_contains (self->subscribed, resources[0].uri))
    prism_mcp_session_notify (self->session, "notifications/resources/updated", "{\"uri\":\"prism://audit\"}");
  return G_SOURCE_REMOVE;
}

/* The journal has grown: told once for all that comes within a moment. */
void
prism_mcp_resources_changed (gpointer server)
{
  PrismMcpServer *self = server;

  if (self->update_timer == 0 && g_hash_table_contains (self->subscribed, resources[0].uri))
    self->update_timer = g_timeout_add (UPDATE_INTERVAL_MS, tell_subscribers, self);
}
