/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls whose approval or answer comes later, by the tools: nothing is done before, the same call
 * goes on from there, once, and what was done when its host died is told from the tree. */
#include "tools-fixture.h"

#include <glib/gstdio.h>
#include <string.h>

#define ALLOW "{\"decision\":\"allow\"}"

typedef struct
{
  ToolsFixture *f;
  char *folder;
  PrismSuspensions *store;
} Kept;

static void
kept_clear (Kept *kept)
{
  g_free (kept->folder);
  g_clear_object (&kept->store);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Kept, kept_clear)

/* The answers are kept beside the workspace, which the fixture removes. */
static void
begin (Kept *kept, ToolsFixture *f)
{
  const char *const roots[] = { f->folder, NULL };
  g_autoptr (PrismApprovalPolicy) policy = prism_approval_policy_new (roots);

  kept->f = f;
  kept->folder = g_build_filename (f->base, "kept", NULL);
  kept->store = prism_suspensions_new (kept->folder);
  prism_approval_policy_set_suspensions (policy, kept->store);
  prism_composition_set_policy (f->composition, PRISM_POLICY (policy));
  prism_composition_set_suspensions (f->composition, kept->store);
  g_object_set (f->composition, "git", TRUE, NULL);
  tools_bind (f);
}

static PrismToolResult *
call (Kept *kept, const char *tool, const char *arguments, const char *call_id)
{
  g_autoptr (PrismTool) found = prism_composition_find_tool (kept->f->composition, tool);
  g_autoptr (PrismToolContext) context = prism_tool_context_new ("run", "session", call_id);
  g_autoptr (GError) error = NULL;
  PrismToolResult *result = prism_tool_call (found, arguments, context, NULL, &error);

  g_assert_no_error (error);
  g_test_message ("%s %s: %s", tool, call_id, prism_tool_result_get_message (result));
  return result;
}

static void
fails (Kept *kept, const char *tool, const char *arguments, const char *call_id, PrismToolError code)
{
  g_autoptr (PrismToolResult) result = call (kept, tool, arguments, call_id);

  g_assert_true (prism_tool_result_get_failed (result));
  g_assert_cmpint (prism_tool_result_get_code (result), ==, code);
  if (code == PRISM_TOOL_ERROR_SUSPENDED)
    g_assert_nonnull (strstr (prism_tool_result_get_metadata (result), "\"suspension\""));
}

static void
works (Kept *kept, const char *tool, const char *arguments, const char *call_id, gboolean reconciled)
{
  g_autoptr (PrismToolResult) result = call (kept, tool, arguments, call_id);

  g_assert_false (prism_tool_result_get_failed (result));
  g_assert_cmpint (strstr (prism_tool_result_get_metadata (result), "\"reconciled\"") != NULL, ==, reconciled);
}

/* The newest that waits. */
static char *
waiting (Kept *kept)
{
  g_autoptr (GPtrArray) all = prism_suspensions_list (kept->store, NULL);
  char *id = NULL;

  for (guint i = 0; i < all->len; i++)
    if (prism_suspension_get_state (all->pdata[i]) == PRISM_SUSPENSION_STATE_PENDING)
      {
        g_free (id);
        id = g_strdup (prism_suspension_get_id (all->pdata[i]));
      }
  g_assert_nonnull (id);
  return id;
}

static char *
allow (Kept *kept, const char *answer)
{
  g_autoptr (GError) error = NULL;
  char *id = waiting (kept);

  prism_suspensions_answer (kept->store, id, answer, "a test", &error);
  g_assert_no_error (error);
  return id;
}

/* As if the host had died before it could say how it ended. */
static void
lose_the_end (Kept *kept, const char *id)
{
  g_autofree char *name = g_strconcat (id, ".end", NULL);
  g_autofree char *path = g_build_filename (kept->folder, name, NULL);

  g_assert_no_errno (g_unlink (path));
}

static void
outcome_is (Kept *kept, const char *id, const char *outcome)
{
  g_autoptr (PrismSuspension) suspension = prism_suspensions_look_up (kept->store, id, NULL);

  g_assert_cmpint (prism_suspension_get_state (suspension), ==, PRISM_SUSPENSION_STATE_ENDED);
  g_assert_cmpstr (prism_suspension_get_outcome (suspension), ==, outcome);
}

static void
test_write (ToolsFixture *f, gconstpointer data)
{
#define WRITE "{\"path\":\"a.txt\",\"content\":\"one\\n\"}"
  g_auto (Kept) kept = { NULL };
  g_autofree char *id = NULL;
  g_autofree char *text = NULL;
  g_autofree char *path = g_build_filename (f->folder, "a.txt", NULL);

  begin (&kept, f);
  fails (&kept, "write", WRITE, "1", PRISM_TOOL_ERROR_SUSPENDED);
  fails (&kept, "write", WRITE, "1", PRISM_TOOL_ERROR_SUSPENDED);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  id = allow (&kept, ALLOW);
  /* Another content, another call: not what was allowed. */
  fails (&kept, "write", "{\"path\":\"a.txt\",\"content\":\"two\\n\"}", "1", PRISM_TOOL_ERROR_SUSPENDED);
  fails (&kept, "write", WRITE, "2", PRISM_TOOL_ERROR_SUSPENDED);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  works (&kept, "write", WRITE, "1", FALSE);
  outcome_is (&kept, id, "ok");
  text = tools_get (f, "a.txt", NULL);
  g_assert_cmpstr (text, ==, "one\n");

  /* Made again after its host died: equal bytes prove it; others prove nothing. */
  lose_the_end (&kept, id);
  works (&kept, "write", WRITE, "1", TRUE);
  outcome_is (&kept, id, "done, as what is there proves");
  works (&kept, "write", WRITE, "1", TRUE);
  tools_put (f, "a.txt", "one\nmore", -1);
  lose_the_end (&kept, id);
  fails (&kept, "write", WRITE, "1", PRISM_TOOL_ERROR_UNKNOWN);
  fails (&kept, "write", WRITE, "1", PRISM_TOOL_ERROR_UNKNOWN);
}

static void
test_delete_and_move (ToolsFixture *f, gconstpointer data)
{
#define DELETE "{\"path\":\"a.txt\"}"
#define MOVE   "{\"from\":\"b.txt\",\"to\":\"c.txt\"}"
  g_auto (Kept) kept = { NULL };
  g_autofree char *deleted = NULL;
  g_autofree char *moved = NULL;

  tools_put (f, "a.txt", "a", -1);
  tools_put (f, "b.txt", "b", -1);
  begin (&kept, f);
  fails (&kept, "delete", DELETE, "1", PRISM_TOOL_ERROR_SUSPENDED);
  deleted = allow (&kept, ALLOW);
  works (&kept, "delete", DELETE, "1", FALSE);
  lose_the_end (&kept, deleted);
  works (&kept, "delete", DELETE, "1", TRUE);
  tools_put (f, "a.txt", "again", -1);
  fails (&kept, "delete", DELETE, "1", PRISM_TOOL_ERROR_UNKNOWN);

  fails (&kept, "move", MOVE, "2", PRISM_TOOL_ERROR_SUSPENDED);
  moved = allow (&kept, ALLOW);
  works (&kept, "move", MOVE, "2", FALSE);
  lose_the_end (&kept, moved);
  works (&kept, "move", MOVE, "2", TRUE);
  tools_put (f, "b.txt", "back", -1);
  fails (&kept, "move", MOVE, "2", PRISM_TOOL_ERROR_UNKNOWN);
}

/* What a command did nobody can tell; it is not run again. */
static void
test_shell (ToolsFixture *f, gconstpointer data)
{
#define SHELL "{\"command\":\"echo x >> log; exit 3\"}"
  g_auto (Kept) kept = { NULL };
  g_autofree char *id = NULL;
  g_autofree char *other = NULL;
  g_autofree char *text = NULL;

  begin (&kept, f);
  fails (&kept, "shell", SHELL, "1", PRISM_TOOL_ERROR_SUSPENDED);
  id = allow (&kept, ALLOW);
  works (&kept, "shell", SHELL, "1", FALSE);
  fails (&kept, "shell", SHELL, "1", PRISM_TOOL_ERROR_UNKNOWN);
  lose_the_end (&kept, id);
  fails (&kept, "shell", SHELL, "1", PRISM_TOOL_ERROR_UNKNOWN);
  text = tools_get (f, "log", NULL);
  g_assert_cmpstr (text, ==, "x\n");
  /* What fails ends, too. */
  fails (&kept, "delete", "{\"path\":\"none\"}", "2", PRISM_TOOL_ERROR_SUSPENDED);
  other = allow (&kept, ALLOW);
  fails (&kept, "delete", "{\"path\":\"none\"}", "2", PRISM_TOOL_ERROR_NOT_FOUND);
}

static void
never (PrismComposition *composition, PrismQuestion *question, gpointer data)
{
  g_assert_not_reached ();
}

static void
count (PrismSuspensions *store, PrismSuspension *suspension, gpointer data)
{
  (*(guint *)data)++;
}

static void
refused (Kept *kept, const char *id, const char *answer)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (prism_suspensions_answer (kept->store, id, answer, "a test", &error));
  g_assert_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_INVALID);
}

static void
test_question (ToolsFixture *f, gconstpointer data)
{
#define OPTIONS "\"options\":[{\"id\":\"a\",\"label\":\"A\"},{\"id\":\"b\",\"label\":\"B\",\"pros\":[\"good\"]}]"
#define ONE     "{\"question\":\"which?\"," OPTIONS "}"
#define SEVERAL "{\"question\":\"which ones?\",\"selectionMode\":\"multiple\",\"allowCustom\":true," OPTIONS "}"
  g_auto (Kept) kept = { NULL };
  g_autoptr (PrismSuspension) suspension = NULL;
  g_autoptr (PrismToolResult) result = NULL;
  g_autofree char *id = NULL;
  guint suspended = 0;

  begin (&kept, f);
  g_signal_connect (f->composition, "question-asked", G_CALLBACK (never), NULL);
  g_signal_connect (kept.store, "suspended", G_CALLBACK (count), &suspended);
  fails (&kept, "ask_user_decision", ONE, "1", PRISM_TOOL_ERROR_SUSPENDED);
  fails (&kept, "ask_user_decision", ONE, "1", PRISM_TOOL_ERROR_SUSPENDED);
  g_assert_cmpuint (suspended, ==, 1);
  id = waiting (&kept);
  suspension = prism_suspensions_look_up (kept.store, id, NULL);
  g_assert_cmpstr (prism_suspension_get_reason (suspension), ==, "ask_user_decision");
  g_assert_cmpstr (prism_suspension_get_text (suspension), ==, "which?\n- a: A\n- b: B\n    + good\n");
  g_assert_nonnull (strstr (prism_suspension_get_resume_schema (suspension), "\"x-prism-ask-user-decision\""));
  refused (&kept, id, "{\"selectedId\":\"c\"}");
  refused (&kept, id, "{\"selectedIds\":[\"a\",\"b\"]}");
  refused (&kept, id, "{\"selectedIds\":[]}");
  refused (&kept, id, "{\"selectedId\":\"a\",\"selectedIds\":[\"b\"]}");
  refused (&kept, id, "{\"customText\":\"x\"}");
  refused (&kept, id, "{\"selectedId\":\"a\",\"more\":1}");
  refused (&kept, id, ALLOW);
  g_assert_true (
      prism_suspensions_answer (kept.store, id, "{\"selectedId\":\"b\",\"selectedIds\":[\"b\"]}", "me", NULL));
  /* The same call has the same answer however often it is made. */
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (PrismToolResult) answered = call (&kept, "ask_user_decision", ONE, "1");
      g_autofree char *text = prism_tool_result_dup_text (answered);

      g_assert_cmpstr (text, ==, "the user chose B (b)");
    }
  fails (&kept, "ask_user_decision", ONE, "2", PRISM_TOOL_ERROR_SUSPENDED);
  g_free (id);
  id = waiting (&kept);
  g_assert_true (prism_suspensions_cancel (kept.store, id, "me", NULL));
  fails (&kept, "ask_user_decision", ONE, "2", PRISM_TOOL_ERROR_DENIED);

  fails (&kept, "ask_user_decision", SEVERAL, "3", PRISM_TOOL_ERROR_SUSPENDED);
  g_free (id);
  id = waiting (&kept);
  refused (&kept, id, "{\"selectedIds\":[\"a\",\"a\"]}");
  refused (&kept, id, "{\"selectedIds\":[\"a\"],\"customText\":\"x\"}");
  refused (&kept, id, "{\"customText\":\"x\\u001b[2J\"}");
  refused (&kept, id, "{\"customText\":\"\"}");
  g_assert_true (prism_suspensions_answer (kept.store, id, "{\"customText\":\"both, later\"}", "me", NULL));
  result = call (&kept, "ask_user_decision", SEVERAL, "3");
  g_assert_false (prism_tool_result_get_failed (result));
  g_assert_nonnull (strstr (prism_tool_result_get_metadata (result), "\"customText\":\"both, later\""));
}

/* A call that needs two answers waits for both, and what was allowed first is asked again. */
static void
test_two (ToolsFixture *f, gconstpointer data)
{
  static const char *const check[] = { "true", NULL };
  static const char handoff[] = "{\"base\":\"HEAD\",\"checks\":[\"unit\"]}";
  g_auto (Kept) kept = { NULL };
  g_autoptr (PrismToolResult) result = NULL;

  g_assert_true (prism_composition_add_check (f->composition, "unit", check, 0, NULL));
  begin (&kept, f);
  fails (&kept, "shell",
         "{\"command\":\"git init -q . && git -c user.name=a -c user.email=a@b.c commit -q"
         " --allow-empty -m x\"}",
         "0", PRISM_TOOL_ERROR_SUSPENDED);
  g_free (allow (&kept, ALLOW));
  works (&kept, "shell",
         "{\"command\":\"git init -q . && git -c user.name=a -c user.email=a@b.c commit -q"
         " --allow-empty -m x\"}",
         "0", FALSE);
  for (guint i = 0; i < 5; i++)
    {
      g_clear_object (&result);
      result = call (&kept, "git_pr_handoff", handoff, "1");
      if (!prism_tool_result_get_failed (result))
        break;
      g_assert_cmpint (prism_tool_result_get_code (result), ==, PRISM_TOOL_ERROR_SUSPENDED);
      g_free (allow (&kept, ALLOW));
    }
  g_assert_false (prism_tool_result_get_failed (result));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  tools_add_test ("/suspend/write", test_write);
  tools_add_test ("/suspend/delete-and-move", test_delete_and_move);
  tools_add_test ("/suspend/shell", test_shell);
  tools_add_test ("/suspend/question", test_question);
  tools_add_test ("/suspend/two", test_two);
  return g_test_run ();
}
