/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tools say of what they did, written down and, where it is worth a word, told to the
 * client. All of it may be a model's words: the client and the log get what can be seen of it. */
#include "prism-mcp-server.h"

#define MAX_SHOWN 1000

static void
append_visible (PrismJson *json, const char *name, const char *text)
{
  g_autofree char *shown = text != NULL ? prism_visible_text (text, MAX_SHOWN, NULL) : NULL;

  prism_json_string (json, name, shown);
}

static void
on_denied (PrismComposition *composition, const char *tool, PrismDecision *decision, const char *call_id, gpointer data)
{
  PrismMcpServer *self = data;
  const char *reason = prism_decision_get_reason (decision), *id = prism_decision_get_reason_id (decision);
  g_autofree char *shown = prism_visible_text (reason != NULL ? reason : "the policy says no", MAX_SHOWN, NULL);
  g_autofree char *text = g_strdup_printf ("%s was denied (%s): %s", tool, id != NULL ? id : "policy", shown);
  PrismJson *json = prism_mcp_journal_begin ("permission_denied");

  prism_json_string (json, "tool", tool);
  prism_json_string (json, "call", call_id);
  prism_json_string (json, "reason_id", id);
  prism_json_string (json, "reason", shown);
  append_visible (json, "rule", prism_decision_get_rule (decision));
  append_visible (json, "allow", prism_decision_get_remedy (decision));
  prism_mcp_journal_add (self->journal, json);
  if (g_strcmp0 (id, "approval-required") == 0 && self->approval_handler == 0 && self->suspensions == NULL)
    prism_mcp_tools_unasked (self, call_id);
  prism_mcp_session_log (self->session, PRISM_MCP_LOG_NOTICE, "prism/permission", text);
}

static void
write_change (PrismMcpServer *self, const char *kind, const char *operation, const char *path, const char *call_id)
{
  PrismJson *json = prism_mcp_journal_begin (kind);

  append_visible (json, "path", path);
  prism_json_string (json, "operation", operation);
  prism_json_string (json, "call", call_id);
  prism_mcp_journal_add (self->journal, json);
}

static void
on_file_changed (
    PrismComposition *composition, const char *path, const char *operation, const char *call_id, gpointer data)
{
  write_change (data, "file_changed", operation, path, call_id);
}

static void
on_worktree_changed (
    PrismComposition *composition, const char *action, const char *path, const char *call_id, gpointer data)
{
  PrismMcpServer *self = data;
  g_autofree char *shown = prism_visible_text (path, MAX_SHOWN, NULL);
  g_autofree char *text = g_strdup_printf ("worktree %s: %s", action, shown);

  write_change (self, "worktree_changed", action, path, call_id);
  prism_mcp_session_log (self->session, PRISM_MCP_LOG_INFO, "prism/worktree", text);
}

static void
write_suspension (PrismMcpServer *self, const char *kind, PrismSuspension *suspension)
{
  PrismJson *json = prism_mcp_journal_begin (kind);

  prism_json_string (json, "suspension", prism_suspension_get_id (suspension));
  prism_json_string (json, "reason", prism_suspension_get_reason (suspension));
  prism_json_string (json, "call", prism_suspension_get_call_id (suspension));
  prism_mcp_journal_add (self->journal, json);
}

/* Whoever looks at the log is told how to answer. */
static void
on_suspended (PrismSuspensions *suspensions, PrismSuspension *suspension, gpointer data)
{
  PrismMcpServer *self = data;
  const char *id = prism_suspension_get_id (suspension), *folder = prism_suspensions_get_folder (suspensions);
  g_autofree char *text = g_strdup_printf ("%s waits for an answer: prism approval show %s %s", id, folder, id);

  write_suspension (self, "suspended", suspension);
  prism_mcp_session_log (self->session, PRISM_MCP_LOG_WARNING, "prism/permission", text);
}

void
prism_mcp_events_watch (PrismMcpServer *self)
{
  g_signal_connect (self->composition, "permission-denied", G_CALLBACK (on_denied), self);
  g_signal_connect (self->composition, "file-changed", G_CALLBACK (on_file_changed), self);
  g_signal_connect (self->composition, "worktree-changed", G_CALLBACK (on_worktree_changed), self);
  if (self->suspensions != NULL)
    g_signal_connect (self->suspensions, "suspended", G_CALLBACK (on_suspended), self);
}
