/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* On the host, what was checked is what is used: where a name means something else by the time
 * that somebody said yes, nothing is done. Each change that can come in between, for each tool;
 * then two folders that change places as fast as can be, only one of which the policy trusts.
 * How often: PRISM_TOOL_RACES (default 150; ./dev soak: 10,000). */
#include "tools-fixture.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- a policy that says yes, once something has happened -------------------------------- */

#define TEST_TYPE_SLOW (test_slow_get_type ())
G_DECLARE_FINAL_TYPE (TestSlow, test_slow, TEST, SLOW, GObject)

struct _TestSlow
{
  GObject parent_instance;

  const char *folder, *meanwhile;
};

static void
test_slow_check (PrismPolicy *policy, PrismCheckOperation *operation)
{
  TestSlow *self = TEST_SLOW (policy);
  g_autoptr (PrismDecision) yes = prism_decision_new_allow ();
  const char *const argv[] = { "sh", "-ec", self->meanwhile, NULL };
  g_autoptr (GError) error = NULL;
  int status = -1;

  g_spawn_sync (self->folder, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);
  prism_check_operation_complete (operation, yes);
}

static void
test_slow_policy_init (PrismPolicyInterface *iface)
{
  iface->check = test_slow_check;
}

G_DEFINE_FINAL_TYPE_WITH_CODE (TestSlow,
                               test_slow,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_POLICY, test_slow_policy_init))

static void
test_slow_class_init (TestSlowClass *klass)
{
}

static void
test_slow_init (TestSlow *self)
{
}

/* --- each change, for each tool ----------------------------------------------------------- */

static char *
say_tree (ToolsFixture *f)
{
  const char *const argv[] = { "sh", "-ec",
                               "find . -printf '%p %y %m %i %l\\n' | sort; find . -type f | sort | xargs cat", NULL };
  char *text = NULL;

  g_assert_true (
      g_spawn_sync (f->folder, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &text, NULL, NULL, NULL));
  return text;
}

#define WRITE  "write", "{\"path\":\"dir/a\",\"content\":\"new\\n\"}"
#define EDIT   "edit", "{\"path\":\"dir/a\",\"edits\":[{\"oldText\":\"a\",\"newText\":\"b\"}]}"
#define DELETE "delete", "{\"path\":\"dir/a\"}"
#define FOLDER "delete", "{\"path\":\"dir/sub\",\"recursive\":true}"
#define MOVE   "move", "{\"from\":\"dir/a\",\"to\":\"dir/b\"}"
#define OVER   "move", "{\"from\":\"other\",\"to\":\"dir/a\",\"overwrite\":true}"
#define FRESH  "write", "{\"path\":\"dir/fresh/f\",\"content\":\"new\\n\"}"

/* Another file, a link, nothing, another folder on the way, a link on the way. */
#define FILE_SWAP   "mv dir/a away; cp other dir/a"
#define LINK_SWAP   "mv dir/a away; ln -s ../other dir/a"
#define GONE        "mv dir/a away"
#define FOLDER_SWAP "mv dir old; cp -r old dir"
#define FOLDER_LINK "mv dir old; ln -s old dir"

static const struct
{
  const char *tool, *arguments, *meanwhile;
} rows[] = {
  { WRITE, FILE_SWAP },
  { WRITE, LINK_SWAP },
  { WRITE, GONE },
  { WRITE, FOLDER_SWAP },
  { WRITE, FOLDER_LINK },
  { EDIT, FILE_SWAP },
  { EDIT, LINK_SWAP },
  { EDIT, GONE },
  { EDIT, FOLDER_SWAP },
  { DELETE, FILE_SWAP },
  { DELETE, LINK_SWAP },
  { DELETE, GONE },
  { DELETE, FOLDER_SWAP },
  { FOLDER, "mv dir/sub old; cp -r old dir/sub" },
  { FOLDER, "mv dir/sub old; ln -s ../old dir/sub" },
  { FOLDER, FOLDER_SWAP },
  { MOVE, FILE_SWAP },
  { MOVE, LINK_SWAP },
  { MOVE, GONE },
  { MOVE, "echo here > dir/b" },
  { MOVE, "ln -s a dir/b" },
  { OVER, FILE_SWAP },
  { OVER, LINK_SWAP },
  { OVER, GONE },
  { OVER, "mv other away; echo more > other" },
  { FRESH, "mkdir dir/fresh; echo here > dir/fresh/f" },
  { FRESH, "mkdir dir/fresh; ln -s ../a dir/fresh/f" },
  { FRESH, FOLDER_SWAP },
  { "read", "{\"path\":\"dir/a\"}", FILE_SWAP },
  { "read", "{\"path\":\"dir/a\"}", LINK_SWAP },
  { "read", "{\"path\":\"dir/a\"}", GONE },
  { "read", "{\"path\":\"link\"}", "rm link; ln -s other link" },
  { "read", "{\"path\":\"dir/none\"}", "cp other dir/none" },
  { "repo_list", "{\"path\":\"dir\"}", FOLDER_SWAP },
  { "repo_search", "{\"path\":\"dir\",\"query\":\"a\"}", FOLDER_SWAP },
  { "repo_search", "{\"path\":\"dir/a\",\"query\":\"a\"}", FILE_SWAP },
  { "glob", "{\"path\":\"dir\",\"pattern\":\"**\"}", FOLDER_SWAP },
};

static void
test_changes (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      ToolsFixture f = { 0 };
      g_autoptr (TestSlow) policy = g_object_new (TEST_TYPE_SLOW, NULL);
      g_autoptr (PrismToolResult) result = NULL;
      g_autofree char *wanted = NULL;
      g_autofree char *is = NULL;
      g_autofree char *again = NULL;

      tools_set_up (&f, GINT_TO_POINTER (FALSE));
      tools_put (&f, "dir/a", "a\n", -1);
      tools_put (&f, "dir/sub/s", "s\n", -1);
      tools_put (&f, "other", "other a\n", -1);
      tools_link (&f, "link", "dir/a");
      policy->folder = f.folder;
      again = g_strconcat (rows[i].meanwhile,
                           "; find . -printf '%p %y %m %i %l\\n' | sort > ../tree;"
                           " find . -type f | sort | xargs cat >> ../tree",
                           NULL);
      policy->meanwhile = again;
      prism_composition_set_policy (f.composition, PRISM_POLICY (policy));
      tools_bind (&f);
      result = tools_call (&f, rows[i].tool, rows[i].arguments);
      if (!prism_tool_result_get_failed (result) || prism_tool_result_get_code (result) != PRISM_TOOL_ERROR_CONFLICT
          || strstr (prism_tool_result_get_message (result), "is not what it was when it was checked") == NULL)
        g_error ("%s %s after “%s”: %s", rows[i].tool, rows[i].arguments, rows[i].meanwhile,
                 prism_tool_result_get_failed (result) ? prism_tool_result_get_message (result) : "it was done");
      wanted = tools_get (&f, "../tree", NULL);
      is = say_tree (&f);
      g_assert_cmpstr (is, ==, wanted);
      tools_tear_down (&f, GINT_TO_POINTER (FALSE));
    }
}

/* What is made meanwhile beside it is no other object. */
static void
test_beside (ToolsFixture *f, gconstpointer data)
{
  static const struct
  {
    const char *tool, *arguments, *meanwhile, *says;
  } good[] = {
    { FRESH, "mkdir dir/fresh", "wrote 4 bytes" },
    { WRITE, "echo more >> dir/a; chmod 600 dir/a", "wrote 4 bytes" },
    { "read", "{\"path\":\"dir/a\"}", "touch dir/x; rm dir/x", "new\n" },
    { MOVE, "true", "moved dir/a to dir/b" },
    { FOLDER, "touch dir/sub/more", "deleted dir/sub" },
  };
  g_autoptr (TestSlow) policy = g_object_new (TEST_TYPE_SLOW, NULL);

  tools_put (f, "dir/a", "a\n", -1);
  tools_put (f, "dir/sub/s", "s\n", -1);
  policy->folder = f->folder;
  prism_composition_set_policy (f->composition, PRISM_POLICY (policy));
  tools_bind (f);
  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autofree char *text = NULL;

      policy->meanwhile = good[i].meanwhile;
      text = tools_text (f, good[i].tool, good[i].arguments);
      if (!g_str_has_prefix (text, good[i].says))
        g_error ("%s %s: %s", good[i].tool, good[i].arguments, text);
    }
}

/* --- as fast as can be ---------------------------------------------------------------------- */

static void
say_yes (PrismApprovalPolicy *policy, PrismApprovalRequest *request, gpointer data)
{
  prism_approval_request_respond (request, PRISM_APPROVAL_ANSWER_ALLOW);
}

static const struct
{
  const char *tool, *arguments;
} calls[] = {
  { "read", "{\"path\":\"dir/secret\"}" },
  { "write", "{\"path\":\"dir/secret\",\"content\":\"mine\\n\"}" },
  { "write", "{\"path\":\"dir/new/deep\",\"content\":\"mine\\n\"}" },
  { "edit", "{\"path\":\"dir/secret\",\"edits\":[{\"oldText\":\"m\",\"newText\":\" m\"}]}" },
  { "repo_list", "{\"path\":\"dir\"}" },
  { "repo_search", "{\"query\":\"UNTRUSTED\",\"path\":\"dir\",\"caseSensitive\":true}" },
  { "repo_search", "{\"query\":\"UNTRUSTED\",\"path\":\"dir/secret\",\"caseSensitive\":true}" },
  { "glob", "{\"path\":\"dir\",\"pattern\":\"**\"}" },
  { "move", "{\"from\":\"dir/secret\",\"to\":\"dir/moved\",\"overwrite\":true}" },
  { "move", "{\"from\":\"dir/moved\",\"to\":\"dir/secret\",\"overwrite\":true}" },
  { "delete", "{\"path\":\"dir/secret\"}" },
  { "delete", "{\"path\":\"dir/new\",\"recursive\":true}" },
};

/* The folder that the policy does not trust, wherever it is now. */
static void
check_untrusted (ToolsFixture *f)
{
  g_autofree char *one = tools_get (f, "dir/mark-untrusted", NULL);
  const char *name = one != NULL ? "dir" : "untrusted";
  g_autofree char *secret_name = g_build_filename (name, "secret", NULL);
  g_autofree char *secret = tools_get (f, secret_name, NULL);
  g_autofree char *path = g_build_filename (f->folder, name, NULL);
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  guint entries = 0;

  g_assert_cmpstr (secret, ==, "UNTRUSTED\n");
  while (g_dir_read_name (folder) != NULL)
    entries++;
  g_assert_cmpuint (entries, ==, 2);
}

static void
test_race (ToolsFixture *f, gconstpointer data)
{
  const char *often = g_getenv ("PRISM_TOOL_RACES");
  guint rounds = often != NULL ? (guint)atoi (often) : 150, inside = 0;
  ToolsSwapper swapper;
  const char *roots[] = { NULL, NULL };
  g_autoptr (PrismApprovalPolicy) policy = NULL;
  g_autoptr (PrismAction) first = prism_action_new ("read", "read");
  g_autoptr (PrismDecision) open = NULL;

  tools_put (f, "dir/secret", "mine\n", -1);
  tools_put (f, "untrusted/secret", "UNTRUSTED\n", -1);
  tools_put (f, "untrusted/mark-untrusted", "UNTRUSTED\n", -1);
  tools_swapper_init (&swapper, f, "dir", "untrusted");
  roots[0] = swapper.one;
  policy = prism_approval_policy_new (roots);
  g_signal_connect (policy, "approval-requested", G_CALLBACK (say_yes), NULL);
  /* Its root is opened with the first path that is looked at: now, before anything changes places. */
  prism_action_set_paths (first, roots);
  open = prism_approval_policy_evaluate (policy, first);
  g_assert_true (prism_decision_get_allowed (open));
  prism_composition_set_policy (f->composition, PRISM_POLICY (policy));
  tools_bind (f);
  tools_swapper_begin (&swapper);
  for (guint i = 0; i < rounds; i++)
    for (guint k = 0; k < G_N_ELEMENTS (calls); k++)
      {
        g_autoptr (PrismToolResult) result = tools_call (f, calls[k].tool, calls[k].arguments);
        g_autofree char *text = prism_tool_result_dup_text (result);

        g_assert_null (strstr (text, "UNTRUSTED"));
        g_assert_null (strstr (text, "mark-untrusted"));
        inside += !prism_tool_result_get_failed (result);
      }
  tools_swapper_end (&swapper);
  check_untrusted (f);
  g_test_message ("%u calls, %u of them did something, %" G_GUINT64_FORMAT " swaps",
                  rounds * (guint)G_N_ELEMENTS (calls), inside, swapper.swaps);
  /* Once nothing moves any more, it is done. */
  {
    g_autofree char *mark = g_build_filename (swapper.one, "mark-untrusted", NULL);
    g_autofree char *text = NULL;

    if (g_file_test (mark, G_FILE_TEST_EXISTS))
      tools_swapper_swap (&swapper);
    text = tools_text (f, "write", "{\"path\":\"dir/last\",\"content\":\"mine\\n\"}");
    g_assert_cmpstr (text, ==, "wrote 5 bytes to dir/last");
  }
  tools_swapper_clear (&swapper);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tools/held/changes", test_changes);
  g_test_add ("/tools/held/beside", ToolsFixture, GINT_TO_POINTER (FALSE), tools_set_up, test_beside, tools_tear_down);
  g_test_add ("/tools/held/race", ToolsFixture, GINT_TO_POINTER (FALSE), tools_set_up, test_race, tools_tear_down);
  return g_test_run ();
}
