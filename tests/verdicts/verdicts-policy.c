/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands against rules, and paths against a root that is full of ways out of it. */
#include "verdicts.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prism-command-rule.h"
#include "prism-path-guard-private.h"

/* --- commands ---------------------------------------------------------------------------------- */

/* What a project's policy might say: one prefix a line. */
static const char *const allowed[] = {
  "git status", "git log", "git diff", "npm test", "cargo build", "ls",      "cat",     "head",  "tail",
  "grep",       "wc",      "echo",     "true",     "cd",          "find",    "sed",     "awk",   "tar",
  "sort",       "rg",      "man",      "less",     "rsync",       "python3", "node",    "make",  "env",
  "nice",       "time",    "timeout",  "command",  "sh",          "bash",    "busybox", "xargs",
};

static GPtrArray *
make_rules (const char *name)
{
  GPtrArray *rules = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_command_rule_unref);
  static const char *const push[] = { "git", "push", NULL };

  if (g_str_equal (name, "none"))
    return rules;
  g_ptr_array_add (rules, prism_command_rule_new (PRISM_COMMAND_MATCH_WORD, "touch", PRISM_VERDICT_DENY, "no", NULL));
  g_ptr_array_add (rules,
                   prism_command_rule_new (PRISM_COMMAND_MATCH_GLOB, "*--force*", PRISM_VERDICT_DENY, NULL, NULL));
  g_ptr_array_add (
      rules, prism_command_rule_new (PRISM_COMMAND_MATCH_REGEX, "(?i)\\bsecret\\b", PRISM_VERDICT_DENY, NULL, NULL));
  g_ptr_array_add (rules, prism_command_rule_new_prefix (push, PRISM_VERDICT_ASK, NULL, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (allowed); i++)
    {
      g_auto (GStrv) words = g_strsplit (allowed[i], " ", -1);

      g_ptr_array_add (rules,
                       prism_command_rule_new_prefix ((const char *const *)words, PRISM_VERDICT_ALLOW, NULL, NULL));
    }
  return rules;
}

static void
check_command (char **columns)
{
  static const char *const words[] = { "allow", "deny", "ask" };
  g_autoptr (GPtrArray) rules = make_rules (columns[0]);
  g_autoptr (PrismDecision) decision = prism_evaluate_command_rules (
      (PrismCommandRule *const *)rules->pdata, rules->len, columns[3], !g_str_equal (columns[0], "lists"));
  const char *id = prism_decision_get_reason_id (decision);

  g_test_message ("%s: %s", id, prism_decision_get_reason (decision));
  g_assert_cmpstr (words[prism_decision_get_verdict (decision)], ==, columns[1]);
  g_assert_cmpstr (id != NULL ? id : "-", ==, columns[2]);
  g_assert_nonnull (prism_decision_get_reason (decision));
}

/* --- paths -------------------------------------------------------------------------------------- */

static char *base;

static char *
inside (const char *name)
{
  return g_build_filename (base, "root", name, NULL);
}

static void
make_file (const char *name)
{
  g_autofree char *path = inside (name);
  g_autofree char *folder = g_path_get_dirname (path);

  g_assert_cmpint (g_mkdir_with_parents (folder, 0755), ==, 0);
  g_assert_true (g_file_set_contents (path, "x", 1, NULL));
}

static void
make_link (const char *name, const char *target)
{
  g_autofree char *path = inside (name);

  g_assert_cmpint (symlink (target, path), ==, 0);
}

static void
make_links (void)
{
  static const char *const links[][2] = {
    { "in-link", "a.txt" },
    { "in-dir", "dir" },
    { "self", "." },
    { "dir/up-file", "../a.txt" },
    { "out-link", "../outside/secret" },
    { "out-dir", "../outside" },
    { "abs-out", "/etc/passwd" },
    { "abs-root", "/" },
    { "up", ".." },
    { "dangling", "missing" },
    { "dangling-out", "../outside/missing" },
    { "loop", "loop" },
    { "loop-a", "loop-b" },
    { "loop-b", "loop-a" },
    { "proc-root", "/proc/self/root" },
    { "proc-cwd", "/proc/self/cwd" },
    { "proc-fd", "/proc/self/fd/0" },
    { "dir/out", "../../outside/secret" },
    { "dir/sub/out-deep", "../../../outside/secret" },
    { "chain-45", "a.txt" },
  };
  g_autofree char *whole = inside ("a.txt");

  for (guint i = 0; i < G_N_ELEMENTS (links); i++)
    make_link (links[i][0], links[i][1]);
  make_link ("abs-in", whole);
  for (guint i = 0; i < 45; i++)
    {
      g_autofree char *name = g_strdup_printf ("chain-%u", i);
      g_autofree char *next = g_strdup_printf ("chain-%u", i + 1);

      make_link (name, next);
    }
}

/* Once for all rows; what is left of it goes with the process. */
static void
make_tree (void)
{
  static const char *const files[] = { "a.txt",           "dir/b.txt",       "dir/sub/c", "..x", "...",   "a b",
                                       "bad-\377",        "line\nend",       "-dash",     "~",   "$HOME", "%2e%2e",
                                       "..\\..\\outside", "\342\200\256rtl", ".hidden",   "hard" };
  g_autofree char *fifo = NULL;
  g_autofree char *outside = NULL;
  g_autofree char *evil = NULL;
  g_autofree char *link = NULL;

  if (base != NULL)
    return;
  base = g_dir_make_tmp ("prism-paths-XXXXXX", NULL);
  g_assert_nonnull (base);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    make_file (files[i]);
  make_links ();
  fifo = inside ("fifo");
  outside = g_build_filename (base, "outside", "secret", NULL);
  evil = g_build_filename (base, "root-evil", "secret", NULL);
  link = g_build_filename (base, "link-root", NULL);
  g_assert_cmpint (mkfifo (fifo, 0600), ==, 0);
  make_file ("../outside/secret");
  make_file ("../root-evil/secret");
  g_assert_cmpint (symlink ("root", link), ==, 0);
}

void
verdicts_policy_clear (void)
{
  const char *const argv[] = { "rm", "-rf", base, NULL };

  if (base != NULL)
    g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
  g_clear_pointer (&base, g_free);
}

static PrismPathIntent
intent_of (const char *word)
{
  return g_str_equal (word, "read")    ? PRISM_PATH_INTENT_READ
         : g_str_equal (word, "write") ? PRISM_PATH_INTENT_WRITE
                                       : PRISM_PATH_INTENT_REMOVE;
}

static void
check_path (char **columns)
{
  g_autoptr (GString) path = g_string_new (columns[2]);
  g_autofree char *root = NULL;
  PrismPathIntent intent = intent_of (columns[0]);

  make_tree ();
  root = g_build_filename (base, "root", NULL);
  g_string_replace (path, "%B", base, 0);
  /* With openat2, and by hand. */
  for (guint walk = 0; walk < 2; walk++)
    {
      const char *const roots[] = { root, NULL };
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismPathGuard) guard = prism_path_guard_new (roots, &error);
      gboolean good;

      g_assert_no_error (error);
      if (walk)
        prism_path_guard_set_walk (guard, TRUE);
      good = prism_path_guard_check (guard, path->str, intent, &error);
      g_test_message ("%s: %s", walk ? "walk" : "openat2", good ? "inside" : error->message);
      g_assert_cmpstr (good ? "inside" : "outside", ==, columns[1]);
      g_assert_true (good || error != NULL);
    }
}

const VerdictTable verdicts_policy[] = {
  { "commands.tsv", 4, check_command },
  { "paths.tsv", 3, check_path },
  { NULL },
};
