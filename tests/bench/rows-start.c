/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox from nothing: made, used for one static program, removed. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const true_inside[] = { "/workspace/true-min", NULL };

static double
one_sandbox (gpointer data)
{
  g_autoptr (GError) error = NULL;
  double start = bench_now_us ();
  g_autoptr (PrismSandbox) sandbox = bench_create (data, &error);
  if (sandbox == NULL)
    {
      g_printerr ("bench: %s\n", error->message);
      return -1;
    }
  if (!bench_exec (sandbox, true_inside) || !prism_sandbox_close (sandbox, NULL, NULL))
    return -1;
  return bench_now_us () - start;
}

/* A host program that has touched that much memory. */
int
bench_heap_worker (Bench *bench, gint64 mib)
{
  char line[16];
  gsize size = (gsize)mib << 20;
  char *heap = size > 0 ? malloc (size) : NULL;
  if (heap != NULL)
    memset (heap, 1, size);
  printf ("ready\n");
  fflush (stdout);
  while (fgets (line, sizeof line, stdin) != NULL)
    {
      printf ("%.1f\n", one_sandbox (bench));
      fflush (stdout);
    }
  free (heap);
  return 0;
}

static void
heap_row (Bench *bench)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  const char *const big[] = { self, "--worker", "1024", NULL };
  const char *const small[] = { self, "--worker", "0", NULL };
  const char *name = "start: from a host program with 1 GiB of touched heap";
  if (!bench_wants (name))
    return;
  PeerWorker *a = peer_worker_new (big, NULL), *b = peer_worker_new (small, NULL);
  if (a != NULL && b != NULL)
    bench_row (bench, &(BenchRow){ name, "1 GiB of heap", "small heap", "us", peer_worker_round, peer_worker_round, a,
                                   b, 200, 10, BENCH_AT_MOST, 1.3 });
  else
    bench_missing (name, "the worker did not start");
  peer_worker_free (a);
  peer_worker_free (b);
}

/* --- rates: one at a time, and two -------------------------------------------- */

typedef struct
{
  Bench *bench;
  BenchRound round;
  int times;
  gboolean failed;
} Lane;

static gpointer
run_lane (gpointer data)
{
  Lane *lane = data;
  for (int i = 0; i < lane->times; i++)
    if (lane->round (lane->bench) < 0)
      lane->failed = TRUE;
  return NULL;
}

/* How many a second. */
static double
rate (Bench *bench, BenchRound round, int lanes)
{
  Lane lane[2];
  GThread *threads[2];
  int times = bench->quick ? 20 : 60;
  double start = bench_now_us ();
  for (int i = 0; i < lanes; i++)
    {
      lane[i] = (Lane){ bench, round, times, FALSE };
      threads[i] = g_thread_new ("lane", run_lane, &lane[i]);
    }
  for (int i = 0; i < lanes; i++)
    g_thread_join (threads[i]);
  double seconds = (bench_now_us () - start) / 1e6;
  for (int i = 0; i < lanes; i++)
    if (lane[i].failed)
      return -1;
  return lanes * times / seconds;
}

typedef struct
{
  Bench *bench;
  double one, two; /* of the last round */
} Pair;

static double
ours_gain (gpointer data)
{
  Pair *p = data;
  p->one = rate (p->bench, one_sandbox, 1);
  p->two = rate (p->bench, one_sandbox, 2);
  return p->one > 0 && p->two > 0 ? p->two / p->one : -1;
}

static double
bwrap_gain (gpointer data)
{
  Pair *p = data;
  p->one = rate (p->bench, peer_run_bwrap, 1);
  p->two = rate (p->bench, peer_run_bwrap, 2);
  return p->one > 0 && p->two > 0 ? p->two / p->one : -1;
}

static double
ours_at_two (gpointer data)
{
  return rate (data, one_sandbox, 2);
}

static double
bwrap_at_two (gpointer data)
{
  return rate (data, peer_run_bwrap, 2);
}

void
bench_start_rows (Bench *bench)
{
  Pair ours = { .bench = bench }, peer = { .bench = bench };
  bench_row (bench, &(BenchRow){ "start: create, run a static program, close", "prism native, confined",
                                 "bwrap, the same shape", "us", one_sandbox, peer_run_bwrap, bench, bench, 300, 20,
                                 BENCH_AT_MOST, 0.5 });
  heap_row (bench);
  bench_row (bench, &(BenchRow){ "start: rate of two at once to rate of one", "prism native", "bwrap", "x", ours_gain,
                                 bwrap_gain, &ours, &peer, 9, 1, BENCH_AT_LEAST, 1.0 });
  bench_row (bench, &(BenchRow){ "start: rate of two at once", "prism native", "bwrap", "/s", ours_at_two, bwrap_at_two,
                                 bench, bench, 9, 1, BENCH_AT_LEAST, 2.0 });
}
