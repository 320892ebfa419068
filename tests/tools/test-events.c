/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What listeners are told of a call: denials, files, worktrees; once each, with the call's id,
 * and nothing for what did not happen. */
#include "tools-fixture.h"

#include <string.h>

static void
note_denied (
    PrismComposition *composition, const char *tool, PrismDecision *decision, const char *call_id, gpointer data)
{
  g_string_append_printf (data, "denied %s %s %s\n", tool, prism_decision_get_reason_id (decision), call_id);
  g_assert_false (prism_decision_get_allowed (decision));
  g_assert_nonnull (prism_decision_get_reason (decision));
}

static void
note_file (PrismComposition *composition, const char *path, const char *operation, const char *call_id, gpointer data)
{
  g_autofree char *name = g_path_get_basename (path);

  g_string_append_printf (data, "file %s %s %s\n", operation, name, call_id);
}

static void
note_worktree (PrismComposition *composition, const char *action, const char *path, const char *call_id, gpointer data)
{
  g_autofree char *name = g_path_get_basename (path);

  g_assert_true (g_path_is_absolute (path));
  g_string_append_printf (data, "worktree %s %s %s\n", action, name, call_id);
}

static GString *
listen (ToolsFixture *f)
{
  GString *heard = g_string_new (NULL);

  g_signal_connect (f->composition, "permission-denied", G_CALLBACK (note_denied), heard);
  g_signal_connect (f->composition, "file-changed", G_CALLBACK (note_file), heard);
  g_signal_connect (f->composition, "worktree-changed", G_CALLBACK (note_worktree), heard);
  return heard;
}

static void
call (ToolsFixture *f, const char *tool, const char *arguments, const char *call_id, gboolean fails)
{
  g_autoptr (PrismTool) found = prism_composition_find_tool (f->composition, tool);
  g_autoptr (PrismToolContext) context = prism_tool_context_new ("run", "session", call_id);
  g_autoptr (PrismToolResult) result = NULL;
  g_autoptr (GError) error = NULL;

  result = prism_tool_call (found, arguments, context, NULL, &error);
  g_assert_no_error (error);
  if (prism_tool_result_get_failed (result) != fails)
    g_error ("%s %s: %s", tool, arguments, prism_tool_result_get_message (result));
}

static void
heard_is (GString *heard, const char *wanted)
{
  g_assert_cmpstr (heard->str, ==, wanted);
  g_string_truncate (heard, 0);
}

static void
say_no (PrismApprovalPolicy *policy, PrismApprovalRequest *request, gpointer data)
{
  prism_approval_request_respond (request, PRISM_APPROVAL_ANSWER_DENY);
}

static void
test_denied (ToolsFixture *f, gconstpointer data)
{
  const char *const roots[] = { f->folder, NULL };
  g_autoptr (PrismApprovalPolicy) policy = g_object_new (PRISM_TYPE_APPROVAL_POLICY, "roots", roots, NULL);
  g_autoptr (GString) heard = listen (f);

  prism_composition_set_policy (f->composition, PRISM_POLICY (policy));
  tools_put (f, "a.txt", "one\n", -1);
  tools_bind (f);

  call (f, "read", "{\"path\":\"a.txt\"}", "1", FALSE);
  heard_is (heard, "");
  call (f, "write", "{\"path\":\"b.txt\",\"content\":\"x\"}", "2", TRUE);
  heard_is (heard, "denied write approval-required 2\n");
  call (f, "shell", "{\"command\":\"sudo id\"}", "3", TRUE);
  heard_is (heard, "denied shell default-deny 3\n");
  g_signal_connect (policy, "approval-requested", G_CALLBACK (say_no), NULL);
  call (f, "delete", "{\"path\":\"a.txt\"}", "4", TRUE);
  heard_is (heard, "denied delete approval-denied 4\n");
  /* Wrong arguments are no matter of permission. */
  call (f, "read", "{\"path\":\"none\"}", "5", TRUE);
  call (f, "write", "{\"path\":5}", "6", TRUE);
  heard_is (heard, "");
}

static void
test_read_only (ToolsFixture *f, gconstpointer data)
{
  g_autoptr (GString) heard = listen (f);

  g_object_set (f->composition, "read-only", TRUE, NULL);
  tools_bind (f);
  g_assert_null (prism_composition_find_tool (f->composition, "write"));
  heard_is (heard, "");
}

static void
test_changes (ToolsFixture *f, gconstpointer data)
{
  g_autoptr (GString) heard = listen (f);

  g_object_set (f->composition, "git", TRUE, NULL);
  tools_bind (f);
  call (f, "write", "{\"path\":\"a.txt\",\"content\":\"one\\n\"}", "1", FALSE);
  call (f, "edit", "{\"path\":\"a.txt\",\"oldText\":\"one\",\"newText\":\"two\"}", "2", FALSE);
  call (f, "move", "{\"from\":\"a.txt\",\"to\":\"b.txt\"}", "3", FALSE);
  call (f, "delete", "{\"path\":\"b.txt\"}", "4", FALSE);
  call (f, "delete", "{\"path\":\"b.txt\"}", "5", TRUE);
  g_test_message ("%s", heard->str);
  g_assert_true (g_str_has_prefix (heard->str, "file write a.txt 1\nfile edit a.txt 2\n"));
  g_assert_true (g_str_has_suffix (heard->str, "file delete b.txt 4\n"));
  g_string_truncate (heard, 0);

  call (f, "shell",
        "{\"command\":\"git init -q . && git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m x"
        " && git branch side\"}",
        "6", FALSE);
  heard_is (heard, "");
  call (f, "git_worktree", "{\"action\":\"add\",\"path\":\"trees/side\",\"branch\":\"side\"}", "7", FALSE);
  heard_is (heard, "worktree add side 7\n");
  call (f, "git_worktree", "{\"action\":\"list\"}", "8", FALSE);
  call (f, "git_worktree", "{\"action\":\"add\",\"path\":\"trees/again\",\"branch\":\"no-such\"}", "9", TRUE);
  heard_is (heard, "");
  call (f, "git_worktree", "{\"action\":\"remove\",\"path\":\"trees/side\"}", "10", FALSE);
  heard_is (heard, "worktree remove side 10\n");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  tools_add_test ("/events/denied", test_denied);
  tools_add_test ("/events/read-only", test_read_only);
  tools_add_test ("/events/changes", test_changes);
  return g_test_run ();
}
