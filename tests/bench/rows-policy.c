/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* May this happen? Against the one thing that it stands in front of: one more command in a
 * live sandbox; and a path's check against the bare system call that it is made of. */
#include "bench.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BATCH 20

typedef struct
{
  Bench *bench;
  PrismSandbox *sandbox;
  PrismApprovalPolicy *policy;
  char *line;
} Check;

/* As a project has them: programs that may run, some that may not, a few patterns. */
static PrismCommandRule *
make_rule (guint i, guint n)
{
  static const char *const subcommands[] = { "build", "test", "run", "check", "lint", "status", "fmt", "list" };
  g_autofree char *name = g_strdup_printf ("tool-%u", i / 8);
  g_autofree char *pattern = g_strdup_printf ("*--force-%u*", i);
  g_autofree char *regex = g_strdup_printf ("\\bsecret-%u\\b", i);
  const char *const words[] = { name, subcommands[i % 8], NULL }, *const last[] = { "npm", "test", NULL };

  if (i == n - 1)
    return prism_command_rule_new_prefix (last, PRISM_VERDICT_ALLOW, NULL, NULL);
  if (i % 10 == 7)
    return prism_command_rule_new (PRISM_COMMAND_MATCH_WORD, name, PRISM_VERDICT_DENY, NULL, NULL);
  if (i % 50 == 3)
    return prism_command_rule_new (PRISM_COMMAND_MATCH_GLOB, pattern, PRISM_VERDICT_DENY, NULL, NULL);
  if (i % 100 == 5)
    return prism_command_rule_new (PRISM_COMMAND_MATCH_REGEX, regex, PRISM_VERDICT_DENY, NULL, NULL);
  return prism_command_rule_new_prefix (words, PRISM_VERDICT_ALLOW, NULL, NULL);
}

static PrismApprovalPolicy *
make_policy (Bench *bench, guint n)
{
  const char *const roots[] = { bench->workspace, NULL };
  PrismApprovalPolicy *policy = prism_approval_policy_new (roots);

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (PrismCommandRule) rule = make_rule (i, n);

      prism_approval_policy_add_rule (policy, rule);
    }
  return policy;
}

static gboolean
check_once (Check *check)
{
  g_autoptr (PrismAction) action = prism_action_new ("shell", "execute");
  g_autoptr (PrismDecision) decision = NULL;

  prism_action_set_command (action, check->line);
  prism_action_set_directory (action, check->bench->workspace);
  prism_action_set_identity (action, "run", NULL, NULL);
  decision = prism_policy_check (PRISM_POLICY (check->policy), action, NULL, NULL);
  return decision != NULL;
}

static double
check_typical (gpointer data)
{
  double start = bench_now_us ();

  for (guint i = 0; i < BATCH; i++)
    if (!check_once (data))
      return -1;
  return (bench_now_us () - start) / BATCH;
}

static double
check_hostile (gpointer data)
{
  double start = bench_now_us ();

  return check_once (data) ? bench_now_us () - start : -1;
}

static double
exec_static (gpointer data)
{
  const char *const argv[] = { "/workspace/true-min", NULL };
  double start = bench_now_us ();

  return bench_exec (((Check *)data)->sandbox, argv) ? bench_now_us () - start : -1;
}

/* So much of the same thing. */
static char *
repeat (const char *text, gsize length)
{
  GString *line = g_string_sized_new (length + 16);

  while (line->len + strlen (text) <= length)
    g_string_append (line, text);
  return g_string_free (line, FALSE);
}

static void
hostile_row (Bench *bench, Check *check, const char *name, const char *piece)
{
  g_autofree char *title = g_strdup_printf ("policy: 64 KiB of %s, 100 rules", name);

  check->line = repeat (piece, 65536);
  bench_row (bench, &(BenchRow){ title, "policy check", "prism exec of a static program", "us", check_hostile,
                                 exec_static, check, check, 60, 3, BENCH_AT_MOST, 10 });
  g_clear_pointer (&check->line, g_free);
}

static void
hostile_rows (Bench *bench, Check *check)
{
  static const char *const lines[][2] = {
    { "words", "ab " },           { "commands", "a;" },
    { "brackets", "(" },          { "substitutions", "\"$(a)\" " },
    { "backticks", "`a` " },      { "quotes", "'a'\"b\"\\c" },
    { "one word", "secret-" },    { "wrappers", "env " },
    { "here-documents", "<<E " }, { "pipes", "a|" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    hostile_row (bench, check, lines[i][0], lines[i][1]);
}

/* --- growth ------------------------------------------------------------------------------------- */

static void
growth_rows (Bench *bench, Check *check)
{
  g_autoptr (PrismApprovalPolicy) many = make_policy (bench, 1000);
  Check other = *check;
  Check half = *check;

  other.policy = many;
  bench_row (bench, &(BenchRow){ "policy: 1,000 rules against 100", "1,000 rules", "100 rules", "us", check_typical,
                                 check_typical, &other, check, 200, 5, BENCH_AT_MOST, 10 });
  other = *check;
  other.line = repeat ("ab 'c d' ", 65536);
  half.line = repeat ("ab 'c d' ", 8192);
  bench_row (bench, &(BenchRow){ "policy: a line of 64 KiB against one of 8 KiB", "64 KiB", "8 KiB", "us",
                                 check_hostile, check_hostile, &other, &half, 100, 5, BENCH_AT_MOST, 10 });
  g_free (other.line);
  g_free (half.line);
}

/* --- paths ------------------------------------------------------------------------------------------- */

typedef struct
{
  PrismPathGuard *guard;
  char *path;
  const char *rest;
  int root;
} Path;

static double
guard_check (gpointer data)
{
  Path *path = data;
  double start = bench_now_us ();

  for (guint i = 0; i < 200; i++)
    if (!prism_path_guard_check (path->guard, path->path, PRISM_PATH_INTENT_READ, NULL))
      return -1;
  return (bench_now_us () - start) / 200;
}

static double
bare_openat2 (gpointer data)
{
  Path *path = data;
  struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
  double start = bench_now_us ();

  for (guint i = 0; i < 200; i++)
    {
      int fd = (int)syscall (SYS_openat2, path->root, path->rest, &how, sizeof how);

      if (fd < 0)
        return -1;
      close (fd);
    }
  return (bench_now_us () - start) / 200;
}

static void
path_row (Bench *bench)
{
  const char *const roots[] = { bench->workspace, NULL };
  g_autoptr (PrismPathGuard) guard = prism_path_guard_new (roots, NULL);
  g_autofree char *folder = g_build_filename (bench->workspace, "src", "module", "part", NULL);
  g_autofree char *file = g_build_filename (folder, "file.c", NULL);
  Path path = { guard, file, "src/module/part/file.c", open (bench->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC) };

  if (g_mkdir_with_parents (folder, 0755) == 0 && g_file_set_contents (file, "x", 1, NULL))
    bench_row (bench, &(BenchRow){ "policy: path guard check", "guard", "openat2", "us", guard_check, bare_openat2,
                                   &path, &path, 300, 10, BENCH_AT_MOST, 2 });
  else
    bench_missing ("policy: path guard check", "no file to look up");
  close (path.root);
}

void
bench_policy_rows (Bench *bench)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = bench_create (bench, &error);
  g_autoptr (PrismApprovalPolicy) policy = make_policy (bench, 100);
  Check check = { bench, sandbox, policy, (char *)"npm test -- --watch=false src/app.test.js" };

  if (sandbox == NULL)
    {
      bench_missing ("policy", error->message);
      return;
    }
  bench_row (bench, &(BenchRow){ "policy: check of a typical command, 100 rules", "policy check",
                                 "prism exec of a static program", "us", check_typical, exec_static, &check, &check,
                                 500, 20, BENCH_AT_MOST, 0.1 });
  growth_rows (bench, &check);
  hostile_rows (bench, &check);
  path_row (bench);
  prism_sandbox_close (sandbox, NULL, NULL);
}
