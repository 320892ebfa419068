/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The git tools on a repository of their own, on the host and in a sandbox. */
#include "tools-fixture.h"

#include <string.h>

static void
git (ToolsFixture *f, const char *line)
{
  g_autofree char *whole = g_strdup_printf (
      "cd '%s' && export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null && %s", f->folder, line);
  const char *const argv[] = { "sh", "-c", whole, NULL };
  int status = -1;

  g_assert_true (g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, &status, NULL));
  if (status != 0)
    g_error ("%s: %d", line, status);
}

static void
begin (ToolsFixture *f)
{
  tools_put (f, "a.txt", "one\ntwo\n", -1);
  tools_put (f, "b.txt", "b\n", -1);
  git (f, "git init -q -b main . && git config user.name T && git config user.email t@example.org"
          " && git add . && git commit -q -m begin");
  g_object_set (f->composition, "git", TRUE, NULL);
}

/* Calls, expects success, and that the metadata has @has. */
static PrismToolResult *
good (ToolsFixture *f, const char *tool, const char *arguments, const char *has)
{
  PrismToolResult *result = tools_call (f, tool, arguments);

  if (prism_tool_result_get_failed (result))
    g_error ("%s %s: %s", tool, arguments, prism_tool_result_get_message (result));
  if (has != NULL && strstr (prism_tool_result_get_metadata (result), has) == NULL)
    g_error ("%s %s: no %s in %s", tool, arguments, has, prism_tool_result_get_metadata (result));
  return result;
}

static void
bad (ToolsFixture *f, const char *tool, const char *arguments, const char *says)
{
  g_autofree char *text = tools_text (f, tool, arguments);

  if (strstr (text, says) == NULL)
    g_error ("%s %s: “%s”, and not “%s”", tool, arguments, text, says);
}

static void
check_shell (ToolsFixture *f, const char *command, const char *says)
{
  g_autofree char *arguments = g_strdup_printf ("{\"command\":\"%s\"}", command);
  g_autofree char *text = tools_text (f, "shell", arguments);

  g_assert_cmpstr (text, ==, says);
}

#define GIT "git -c safe.directory=* "

/* A checkpoint keeps what was there, and leaves it where it is. */
static void
test_checkpoint (ToolsFixture *f, gconstpointer data)
{
  g_autoptr (PrismToolResult) result = NULL;

  begin (f);
  tools_put (f, "a.txt", "one\nchanged\n", -1);
  tools_put (f, "b.txt", "other\n", -1);
  tools_put (f, "new.txt", "new\n", -1);
  tools_bind (f);
  result =
      good (f, "git_commit", "{\"paths\":[\"a.txt\",\"new.txt\"],\"message\":\"second\",\"createCheckpoint\":true}",
            "\"checkpoint\":\"");
  check_shell (f, GIT "show --format= --name-only HEAD", "a.txt\nnew.txt\n");
  check_shell (f, GIT "status --porcelain", " M b.txt\n");
  check_shell (f, GIT "stash list --format=%gs", "prism checkpoint\n");
  check_shell (f, GIT "show stash@{0}:a.txt stash@{0}:b.txt stash@{0}:new.txt", "one\nchanged\nother\nnew\n");
  g_clear_object (&result);
  result = good (f, "git_commit", "{\"paths\":[\"b.txt\"],\"message\":\"third\"}", "\"sha\":\"");
  g_assert_null (strstr (prism_tool_result_get_metadata (result), "checkpoint"));
  bad (f, "git_commit", "{\"paths\":[\"b.txt\"],\"message\":\"none\",\"createCheckpoint\":true}", "FAILED: git commit");
  check_shell (f, GIT "stash list --format=%gs", "prism checkpoint\n");
}

/* No commit to make a checkpoint on: nothing is staged either. */
static void
test_no_checkpoint (ToolsFixture *f, gconstpointer data)
{
  tools_put (f, "a.txt", "one\n", -1);
  git (f, "git init -q -b main . && git config user.name T && git config user.email t@example.org");
  g_object_set (f->composition, "git", TRUE, NULL);
  tools_bind (f);
  bad (f, "git_commit", "{\"paths\":[\"a.txt\"],\"message\":\"m\",\"createCheckpoint\":true}",
       "FAILED: no checkpoint, and nothing was committed: ");
  check_shell (f, GIT "status --porcelain", "?? a.txt\n");
}

/* More than is shown is in a file that commands read. */
static void
test_long_diff (ToolsFixture *f, gconstpointer data)
{
  g_autoptr (GString) lines = g_string_new (NULL);
  g_autoptr (PrismToolResult) result = NULL;
  g_autofree char *text = NULL;
  g_autofree char *path = NULL;
  g_autofree char *command = NULL;
  const char *at;

  begin (f);
  for (guint i = 0; i < 400; i++)
    g_string_append_printf (lines, "%u\n", i);
  tools_put (f, "a.txt", lines->str, -1);
  g_assert_true (prism_composition_set_limit (f->composition, "git-diff-lines", 100, NULL));
  tools_bind (f);
  result = good (f, "git_diff", "{}", "\"artifact\":{\"kind\":\"diff\",\"uri\":\"file:///");
  text = prism_tool_result_dup_text (result);
  at = strstr (text, "[100 of 407 lines; name paths to see the others; all of it: /");
  g_assert_nonnull (at);
  at = strstr (at, ": /") + 2;
  path = g_strndup (at, strcspn (at, "]"));
  command = g_strdup_printf ("wc -l < %s; stat -c %%a %s; tail -n 1 %s", path, path, path);
  check_shell (f, command, "407\n600\n+399\n");
}

/* Part of what git says is no answer. */
static void
test_too_long_diff (ToolsFixture *f, gconstpointer data)
{
  g_autofree char *text = g_strnfill (10000, 'x');

  begin (f);
  tools_put (f, "a.txt", text, -1);
  g_assert_true (prism_composition_set_limit (f->composition, "git-output-bytes", 4096, NULL));
  tools_bind (f);
  bad (f, "git_diff", "{}", "LIMIT: git wrote more than 4096 bytes");
}

static void
test_hand_off (ToolsFixture *f, gconstpointer data)
{
  static const char *const check[] = { "sh", "-c", "echo checked; exit 2", NULL };
  g_autoptr (PrismToolResult) result = NULL;
  g_autofree char *text = NULL;
  g_autofree char *path = NULL;
  g_autofree char *command = NULL;
  const char *at;

  begin (f);
  git (f, "git switch -q -c topic && echo three >> a.txt && git commit -qam third");
  g_assert_true (prism_composition_add_check (f->composition, "lint", check, 0, NULL));
  tools_bind (f);
  result = good (f, "git_pr_handoff", "{\"base\":\"main\"}",
                 "\"checks\":[],\"repository\":null,\"artifact\":{\"kind\":\"patch\",\"uri\":\"file:///");
  text = prism_tool_result_dup_text (result);
  at = strstr (text, "[the patch: ");
  g_assert_nonnull (at);
  at += strlen ("[the patch: ");
  path = g_strndup (at, strcspn (at, "]"));
  command = g_strdup_printf (GIT "apply --reverse --check %s && stat -c %%a %s", path, path);
  check_shell (f, command, "600\n");
  g_clear_pointer (&text, g_free);
  g_clear_pointer (&path, g_free);
  g_clear_pointer (&command, g_free);
  g_clear_object (&result);
  result =
      good (f, "git_pr_handoff", "{\"base\":\"main\",\"head\":\"topic\",\"includeBundle\":true,\"checks\":[\"lint\"]}",
            "\"checks\":[{\"name\":\"lint\",\"exitCode\":2,\"timedOut\":false,\"outputLimitExceeded\":false,"
            "\"summary\":\"checked\\n\",\"truncation\":false,\"totalOutputBytes\":8}],\"repository\":null,"
            "\"artifact\":{\"kind\":\"bundle\",\"uri\":\"file:///");
  text = prism_tool_result_dup_text (result);
  at = strstr (text, "[the bundle: ");
  g_assert_nonnull (at);
  at += strlen ("[the bundle: ");
  path = g_strndup (at, strcspn (at, "]"));
  command = g_strdup_printf (GIT "bundle list-heads %s | cut -d ' ' -f 2; stat -c %%a %s", path, path);
  check_shell (f, command, "refs/heads/topic\n600\n");
  bad (f, "git_pr_handoff", "{\"base\":\"main\",\"head\":\"topic~0\",\"includeBundle\":true}",
       "INVALID: includeBundle: head has to be a branch");
  bad (f, "git_pr_handoff", "{\"base\":\"main\",\"checks\":[\"none\"]}", "INVALID: no check is called");
  bad (f, "git_pr_handoff", "{\"base\":\"none\"}", "none: no commit");
}

/* The same for every clone, whoever made it, and another one for another repository. */
static void
test_repository (ToolsFixture *f, gconstpointer data)
{
  static const struct
  {
    const char *url, *says;
  } rows[] = {
    { "https://example.org/a/b.git", "https://example.org/a/b.git" },
    { "https://me:secret@example.org/a/b.git", "https://example.org/a/b.git" },
    { "https://token@example.org/a/b.git?key=secret#x", "https://example.org/a/b.git" },
    { "ssh://git@example.org:22/a@b", "ssh://example.org:22/a@b" },
    { "git@example.org:a/b.git", "example.org:a/b.git" },
    { "/srv/a@b/c.git", "/srv/a@b/c.git" },
  };

  begin (f);
  git (f, "git remote add origin x && git update-ref refs/remotes/origin/trunk HEAD"
          " && git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/trunk");
  tools_bind (f);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *line = g_strdup_printf ("git config remote.origin.url '%s'", rows[i].url);
      g_autofree char *sum = NULL;
      g_autofree char *has = NULL;
      g_autoptr (GString) text = g_string_new (rows[i].says);
      g_autoptr (PrismToolResult) result = NULL;

      g_string_append_len (text, "\0trunk", 6);
      sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *)text->str, text->len);
      has = g_strdup_printf ("\"repository\":\"%s\"", sum);
      git (f, line);
      result = good (f, "git_pr_handoff", "{\"base\":\"main\"}", has);
    }
}

/* What git ignores is not listed, where that was asked for; what it cannot look into is. */
static void
test_aware (ToolsFixture *f, gconstpointer data)
{
  begin (f);
  tools_put (f, ".gitignore", "*.o\n/out/\n", -1);
  tools_put (f, "a.o", "o\n", -1);
  tools_put (f, "out/x", "x\n", -1);
  tools_put (f, "src/b.o", "o\n", -1);
  tools_put (f, "src/new.c", "new\n", -1);
  tools_put (f, "only/b.o", "o\n", -1);
  tools_put (f, "inner/c.o", "c\n", -1);
  tools_put (f, "gone.txt", "gone\n", -1);
  git (f, "git init -q inner && git -C inner -c user.name=T -c user.email=t@example.org commit -q --allow-empty -m i");
  git (f, "git add gone.txt && rm gone.txt && git add -f src/b.o");
  g_object_set (f->composition, "git-aware", TRUE, NULL);
  tools_bind (f);
  bad (f, "repo_list", "{}",
       "file\ta.txt\t8\nfile\tb.txt\t2\ndir\tinner\ndir\tsrc\nfile\tinner/c.o\t2\nfile\tsrc/b.o\t2\nfile\tsrc/"
       "new.c\t4\n");
  bad (f, "glob", "{\"pattern\":\"**/*.o\"}", "inner/c.o\nsrc/b.o\n");
  bad (f, "repo_list", "{\"path\":\"only\"}", "");
  bad (f, "repo_list", "{\"path\":\"src\"}", "file\tsrc/b.o\t2\nfile\tsrc/new.c\t4\n");
  bad (f, "repo_list", "{\"path\":\"out/x\"}", "file\tout/x\t2\n");
}

/* No repository: all is listed. */
static void
test_unaware (ToolsFixture *f, gconstpointer data)
{
  tools_put (f, ".gitignore", "*.o\n", -1);
  tools_put (f, "a.o", "o\n", -1);
  g_object_set (f->composition, "git-aware", TRUE, NULL);
  tools_bind (f);
  bad (f, "repo_list", "{}", "file\ta.o\t2\n");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  tools_add_test ("/tools/git/checkpoint", test_checkpoint);
  tools_add_test ("/tools/git/no-checkpoint", test_no_checkpoint);
  tools_add_test ("/tools/git/long-diff", test_long_diff);
  tools_add_test ("/tools/git/too-long-diff", test_too_long_diff);
  tools_add_test ("/tools/git/hand-off", test_hand_off);
  tools_add_test ("/tools/git/repository", test_repository);
  tools_add_test ("/tools/git/aware", test_aware);
  tools_add_test ("/tools/git/unaware", test_unaware);
  return g_test_run ();
}
