/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One more command: in a live sandbox, and by the program as a whole. */
#include "bench.h"

#include <string.h>

typedef struct
{
  Bench *bench;
  PrismSandbox *sandbox;
  const char *const *argv;
} Live;

static double
exec_live (gpointer data)
{
  Live *live = data;
  double start = bench_now_us ();
  return bench_exec (live->sandbox, live->argv) ? bench_now_us () - start : -1;
}

static double
vfork_static (gpointer data)
{
  Bench *bench = data;
  double start = bench_now_us ();
  return peer_vfork (bench->true_min) ? bench_now_us () - start : -1;
}

static double
spawn_dynamic (gpointer data)
{
  const char *const argv[] = { "/bin/true", NULL };
  double start = bench_now_us ();
  return peer_spawn (argv, NULL, -1) ? bench_now_us () - start : -1;
}

static double
whole_process (gpointer data)
{
  Bench *bench = data;
  const char *const argv[] = { bench->prism, "run", "-q", "-w", bench->workspace, "--", "true", NULL };
  double start = bench_now_us ();
  return peer_spawn (argv, bench->workspace, -1) ? bench_now_us () - start : -1;
}

/* The loader looks for no library in the build's folders first, and the registry looks
 * into one folder, not into each plug-in's own. */
static char **
as_installed (Bench *bench)
{
  char **environment = g_environ_setenv (g_get_environ (), "PRISM_PLUGIN_DIR", bench->plug_ins, TRUE);

  environment = g_environ_unsetenv (environment, "PRISM_PLUGIN_PATH");
  return g_environ_unsetenv (environment, "LD_LIBRARY_PATH");
}

static double
whole_srt (gpointer data)
{
  Bench *bench = data;
  g_autofree char *program = g_build_filename (bench->srt, ".bin", "srt", NULL);
  const char *const argv[] = { program, "-c", "true", NULL };
  double start = bench_now_us ();
  return peer_spawn (argv, bench->plain, -1) ? bench_now_us () - start : -1;
}

static void
srt_rows (Bench *bench, Live *live)
{
  const char *library = "exec: static program, against sandbox-runtime as a library";
  const char *program = "run: prism run -- true, against sandbox-runtime's srt";
  if (bench->srt == NULL)
    {
      bench_missing (library, "sandbox-runtime is not there (PRISM_BENCH_SRT)");
      bench_missing (program, "sandbox-runtime is not there (PRISM_BENCH_SRT)");
      return;
    }
  g_autofree char *folder = g_path_get_dirname (bench->srt);
  g_autofree char *script = g_build_filename (folder, "srt-worker.mjs", NULL);
  g_autofree char *true_min = g_build_filename (bench->plain, "true-min", NULL);
  const char *const argv[] = { "node", script, bench->plain, true_min, NULL };
  PeerWorker *worker = bench_wants (library) ? peer_worker_new (argv, folder) : NULL;
  if (worker != NULL)
    bench_row (bench, &(BenchRow){ library, "prism exec", "srt: wrap and spawn", "us", exec_live, peer_worker_round,
                                   live, worker, 50, 3, BENCH_AT_MOST, 1.0 / 80 });
  else if (bench_wants (library))
    bench_missing (library, "sandbox-runtime's worker did not start");
  peer_worker_free (worker);
  bench_row (bench, &(BenchRow){ program, "prism run", "srt -c true", "us", whole_process, whole_srt, bench, bench, 20,
                                 1, BENCH_AT_MOST, 1.0 / 40 });
}

void
bench_exec_rows (Bench *bench)
{
  const char *const true_static[] = { "/workspace/true-min", NULL };
  const char *const true_dynamic[] = { "/bin/true", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = bench_create (bench, &error);
  if (sandbox == NULL)
    {
      bench_missing ("exec", error->message);
      return;
    }
  Live a = { bench, sandbox, true_static }, b = { bench, sandbox, true_dynamic };
  bench_row (bench, &(BenchRow){ "exec: static program in a live sandbox", "prism exec, sync", "vfork, exec, wait",
                                 "us", exec_live, vfork_static, &a, bench, 2000, 50, BENCH_AT_MOST, 3.0 });
  bench_row (bench, &(BenchRow){ "exec: dynamic /bin/true in a live sandbox", "prism exec, sync", "posix_spawn, wait",
                                 "us", exec_live, spawn_dynamic, &b, bench, 1000, 30, BENCH_AT_MOST, 1.4 });
  g_auto (GStrv) environment = as_installed (bench);
  peer_use_environment (environment);
  /* Whole processes differ by a third from one to the next: of 150 of each the medians' ratio
   * still moved by a twentieth. */
  bench_row (bench, &(BenchRow){ "run: prism run -- true, the whole process", "prism run", "bwrap", "us", whole_process,
                                 peer_run_bwrap_true, bench, bench, 600, 5, BENCH_AT_MOST, 1.5 });
  peer_use_environment (NULL);
  srt_rows (bench, &a);
  prism_sandbox_close (sandbox, NULL, NULL);
}
