/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command's output, through to the caller. */
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB 512

static guint64 received;

static void
count (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer data)
{
  received += g_bytes_get_size (bytes);
}

static PrismSandbox *
create_for_flood (Bench *bench, GError **error)
{
  g_autoptr (GFile) workspace = g_file_new_for_path (bench->workspace);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (workspace);
  g_autoptr (PrismLimits) limits = prism_limits_new (PRISM_LIMITS_PROFILE_STANDARD);
  if (!prism_limits_set (limits, "max-output-bytes", (gint64)(MIB + 1) << 20, error))
    return NULL;
  g_object_set (spec, "limits", limits, NULL);
  return prism_backend_create_sandbox (bench->backend, spec, NULL, error);
}

/* MB a second. */
static double
ours (gpointer data)
{
  PrismSandbox *sandbox = data;
  g_autofree char *mib = g_strdup_printf ("%d", MIB);
  const char *const argv[] = { "/workspace/flood", mib, NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  prism_command_set_capture (command, FALSE);
  g_signal_connect (command, "output", G_CALLBACK (count), NULL);
  received = 0;
  double start = bench_now_us ();
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, NULL);
  double us = bench_now_us () - start;
  if (result == NULL || prism_result_get_exit_code (result) != 0 || received != (guint64)MIB << 20)
    return -1;
  return received / us;
}

static double
plain_pipe (gpointer data)
{
  Bench *bench = data;
  g_autofree char *mib = g_strdup_printf ("%d", MIB);
  char *const argv[] = { bench->flood, mib, NULL };
  static char block[1 << 18];
  int p[2], status;
  pid_t pid;
  posix_spawn_file_actions_t actions;
  if (pipe2 (p, O_CLOEXEC) != 0)
    return -1;
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_adddup2 (&actions, p[1], 1);
  double start = bench_now_us ();
  int failed = posix_spawn (&pid, bench->flood, &actions, NULL, argv, NULL);
  posix_spawn_file_actions_destroy (&actions);
  close (p[1]);
  guint64 total = 0;
  for (ssize_t n; failed == 0 && (n = read (p[0], block, sizeof block)) > 0;)
    total += n;
  close (p[0]);
  if (failed != 0 || waitpid (pid, &status, 0) != pid || total != (guint64)MIB << 20)
    return -1;
  return total / (bench_now_us () - start);
}

void
bench_stream_rows (Bench *bench)
{
  const char *name = "stream: stdout of one command to the caller";
  g_autoptr (GError) error = NULL;
  struct rusage before, after;
  if (!bench_wants (name))
    return;
  g_autoptr (PrismSandbox) sandbox = create_for_flood (bench, &error);
  if (sandbox == NULL)
    {
      bench_missing (name, error->message);
      return;
    }
  getrusage (RUSAGE_SELF, &before);
  bench_row (bench, &(BenchRow){ name, "prism exec, output signal", "a plain pipe, 256 KiB reads", "MB/s", ours,
                                 plain_pipe, sandbox, bench, 15, 1, BENCH_AT_LEAST, 0.8 });
  getrusage (RUSAGE_SELF, &after);
  bench_figure ("stream: memory that its output took in the caller", (after.ru_maxrss - before.ru_maxrss) / 1024.0,
                "MiB", BENCH_AT_MOST, 16);
  prism_sandbox_close (sandbox, NULL, NULL);
}
