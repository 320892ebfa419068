/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What many sandboxes cost while they live: memory of agents and host, threads. */
#include "bench.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALIVE   64
#define WAITING 500

/* KiB of a line "Rss:   12 kB". */
static long
kib_of (const char *path, const char *key)
{
  g_autofree char *text = NULL;
  const char *hit;
  if (!g_file_get_contents (path, &text, NULL, NULL) || (hit = strstr (text, key)) == NULL)
    return 0;
  return strtol (hit + strlen (key), NULL, 10);
}

static guint
count_threads (void)
{
  guint n = 0;
  DIR *d = opendir ("/proc/self/task");
  for (struct dirent *e; (e = readdir (d)) != NULL;)
    n += e->d_name[0] != '.';
  closedir (d);
  return n;
}

/* Every process of this session's sandboxes: by its parents, up to us. */
static gboolean
descends_from_us (pid_t pid)
{
  while (pid > 1 && pid != getpid ())
    {
      g_autofree char *path = g_strdup_printf ("/proc/%d/status", (int)pid);
      pid = (pid_t)kib_of (path, "PPid:");
    }
  return pid == getpid ();
}

static void
sum_agents (double *agents_kib, double *keepers_kib, guint *agents, guint *keepers)
{
  DIR *d = opendir ("/proc");
  *agents_kib = *keepers_kib = *agents = *keepers = 0;
  for (struct dirent *e; (e = readdir (d)) != NULL;)
    {
      pid_t pid = (pid_t)atoi (e->d_name);
      g_autofree char *comm_path = g_strdup_printf ("/proc/%d/comm", (int)pid), *comm = NULL;
      if (pid <= 0 || !g_file_get_contents (comm_path, &comm, NULL, NULL) || strncmp (comm, "prism-", 6) != 0
          || !descends_from_us (pid))
        continue;
      g_autofree char *status = g_strdup_printf ("/proc/%d/status", (int)pid), *text = NULL;
      g_file_get_contents (status, &text, NULL, NULL);
      /* NSpid has one number for what lives in our own pid namespace: the keeper. */
      const char *ns = text != NULL ? strstr (text, "NSpid:") : NULL;
      g_autofree char *line = ns != NULL ? g_strndup (ns + 6, strcspn (ns + 6, "\n")) : g_strdup ("");
      g_auto (GStrv) numbers = g_strsplit (g_strstrip (line), "\t", -1);
      gboolean inside = g_strv_length (numbers) > 1;
      *(inside ? agents_kib : keepers_kib) += kib_of (status, "VmRSS:");
      *(inside ? agents : keepers) += 1;
    }
  closedir (d);
}

static void
alive_rows (Bench *bench)
{
  const char *name = "memory: 64 sandboxes alive";
  const char *const true_inside[] = { "/workspace/true-min", NULL };
  g_autoptr (GPtrArray) sandboxes = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GError) error = NULL;
  if (!bench_wants (name))
    return;
  /* The first brings in what all share. */
  g_autoptr (PrismSandbox) first = bench_create (bench, &error);
  if (first == NULL || !bench_exec (first, true_inside))
    {
      bench_missing (name, error != NULL ? error->message : "no exec");
      return;
    }
  long before = kib_of ("/proc/self/status", "VmRSS:");
  for (int i = 0; i < ALIVE; i++)
    {
      PrismSandbox *sandbox = bench_create (bench, &error);
      if (sandbox == NULL || !bench_exec (sandbox, true_inside))
        {
          bench_missing (name, error != NULL ? error->message : "no exec");
          return;
        }
      g_ptr_array_add (sandboxes, sandbox);
    }
  double agents_kib, keepers_kib;
  guint agents, keepers;
  sum_agents (&agents_kib, &keepers_kib, &agents, &keepers);
  long grown = kib_of ("/proc/self/status", "VmRSS:") - before;
  bench_figure ("memory: 64 sandboxes alive, RSS inside each", agents_kib / 1024 / (ALIVE + 1), "MiB", BENCH_AT_MOST,
                1.0);
  bench_figure ("memory: 64 sandboxes alive, host's growth and keeper each",
                (grown / 1024.0 / ALIVE) + keepers_kib / 1024 / (ALIVE + 1), "MiB", BENCH_AT_MOST, 0.5);
  printf ("    %u processes inside, %u keepers\n", agents, keepers);
  for (guint i = 0; i < sandboxes->len; i++)
    prism_sandbox_close (sandboxes->pdata[i], NULL, NULL);
  prism_sandbox_close (first, NULL, NULL);
}

static void
one_done (GObject *source, GAsyncResult *result, gpointer data)
{
  guint *left = data;
  g_autoptr (PrismResult) r = prism_sandbox_exec_finish (PRISM_SANDBOX (source), result, NULL);
  --*left;
}

static void
thread_row (Bench *bench)
{
  const char *name = "threads: 500 commands waited for, threads added";
  const char *const sleeper[] = { "/bin/sleep", "60", NULL };
  g_autoptr (GError) error = NULL;
  guint left = WAITING;
  if (!bench_wants (name))
    return;
  g_autoptr (GFile) workspace = g_file_new_for_path (bench->workspace);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (workspace);
  g_autoptr (PrismLimits) limits = prism_limits_new (PRISM_LIMITS_PROFILE_STANDARD);
  PrismSandbox *sandboxes[2] = { NULL };
  prism_limits_set (limits, "max-concurrent-execs", 256, NULL);
  prism_limits_set (limits, "max-pids", 1024, NULL);
  g_object_set (spec, "limits", limits, NULL);
  guint before = count_threads (), most = 0;
  for (int i = 0; i < 2; i++)
    {
      sandboxes[i] = prism_backend_create_sandbox (bench->backend, spec, NULL, &error);
      if (sandboxes[i] == NULL)
        {
          bench_missing (name, error->message);
          return;
        }
    }
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  for (int i = 0; i < WAITING; i++)
    {
      g_autoptr (PrismCommand) command = prism_command_new (sleeper);
      prism_sandbox_exec_async (sandboxes[i % 2], command, cancellable, one_done, &left);
      while (g_main_context_iteration (NULL, FALSE))
        ;
      most = MAX (most, count_threads ());
    }
  /* Until most of them run; then what they took is seen. */
  for (double end = bench_now_us () + 2e6; bench_now_us () < end;)
    {
      g_main_context_iteration (NULL, FALSE);
      most = MAX (most, count_threads ());
    }
  bench_figure (name, most - before, "threads with 2 sandboxes", BENCH_AT_MOST, 2);
  g_cancellable_cancel (cancellable);
  while (left > 0)
    g_main_context_iteration (NULL, TRUE);
  for (int i = 0; i < 2; i++)
    {
      prism_sandbox_close (sandboxes[i], NULL, NULL);
      g_object_unref (sandboxes[i]);
    }
}

void
bench_memory_rows (Bench *bench)
{
  alive_rows (bench);
  thread_row (bench);
}
