/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a process pays that uses the library for the first time: each round is a
 * process of its own, and the peer is bwrap running `true`. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct
{
  Bench *bench;
  char *app;
} Cold;

static double
whole_inspect (gpointer data)
{
  const Cold *cold = data;
  const char *const argv[] = { cold->bench->prism, "inspect", NULL };
  int null = open ("/dev/null", O_WRONLY | O_CLOEXEC);
  double start = bench_now_us ();
  gboolean good = peer_spawn (argv, cold->bench->workspace, null);
  double us = bench_now_us () - start;

  close (null);
  return good ? us : -1;
}

/* The time that the application itself took, not its start. */
static double
registry (gpointer data)
{
  const Cold *cold = data;
  const char *const argv[] = { cold->app, "registry", NULL };
  char text[32] = "";
  int ends[2];
  ssize_t n = -1;

  if (pipe2 (ends, O_CLOEXEC) < 0)
    return -1;
  if (peer_spawn (argv, NULL, ends[1]))
    do
      n = read (ends[0], text, sizeof text - 1);
    while (n < 0 && errno == EINTR);
  close (ends[0]);
  close (ends[1]);
  return n > 0 ? strtod (text, NULL) : -1;
}

static double
first_sandbox (gpointer data)
{
  const Cold *cold = data;
  const char *const argv[] = { cold->app, "sandbox", cold->bench->workspace, NULL };
  double start = bench_now_us ();

  return peer_spawn (argv, NULL, -1) ? bench_now_us () - start : -1;
}

void
bench_cold_rows (Bench *bench)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = g_path_get_dirname (self);
  g_autofree char *app = g_build_filename (folder, "cold-app", NULL);
  Cold cold = { bench, app };

  bench_row (bench, &(BenchRow){ "cold: prism inspect of all plug-ins, whole processes", "prism inspect", "bwrap true",
                                 "us", whole_inspect, peer_run_bwrap_true, &cold, bench, 60, 3, BENCH_AT_MOST, 10 });
  bench_row (bench, &(BenchRow){ "cold: the registry of an app, nothing opened", "registry set-up", "bwrap true", "us",
                                 registry, peer_run_bwrap_true, &cold, bench, 100, 3, BENCH_AT_MOST, 0.4 });
  bench_row (bench, &(BenchRow){ "cold: an app's start, first sandbox and end", "cold app", "bwrap true", "us",
                                 first_sandbox, peer_run_bwrap_true, &cold, bench, 150, 5, BENCH_AT_MOST, 2.0 });
}
