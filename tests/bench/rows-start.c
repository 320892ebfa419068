/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox from nothing: made, used for one static program, removed. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* What is started one after another, by one thread or by each of two. */
typedef struct
{
  Bench *bench;
  BenchRound round;
  int lanes;
} Load;

typedef struct
{
  const Load *load;
  int times;
  gboolean failed;
} Lane;

static gpointer
run_lane (gpointer data)
{
  Lane *lane = data;
  for (int i = 0; i < lane->times; i++)
    if (lane->load->round (lane->load->bench) < 0)
      lane->failed = TRUE;
  return NULL;
}

/* How many a second. */
static double
rate (gpointer data)
{
  const Load *load = data;
  Lane lane[2];
  GThread *threads[2];
  int times = load->bench->quick ? 20 : 60;
  double start = bench_now_us ();
  for (int i = 0; i < load->lanes; i++)
    {
      lane[i] = (Lane){ load, times, FALSE };
      threads[i] = g_thread_new ("lane", run_lane, &lane[i]);
    }
  for (int i = 0; i < load->lanes; i++)
    g_thread_join (threads[i]);
  double seconds = (bench_now_us () - start) / 1e6;
  for (int i = 0; i < load->lanes; i++)
    if (lane[i].failed)
      return -1;
  return load->lanes * times / seconds;
}

static double
gain (gpointer data)
{
  const Load *load = data;
  Load of_one = { load->bench, load->round, 1 };
  double one = rate (&of_one), two = rate (data);
  return one > 0 && two > 0 ? two / one : -1;
}

/* --- how much of the machine they take ------------------------------------------ */

/* What all CPUs together were idle, in microseconds. */
static double
idle_us (void)
{
  g_autofree char *text = NULL;
  guint64 idle = 0, waiting = 0;

  if (!g_file_get_contents ("/proc/stat", &text, NULL, NULL)
      || sscanf (text, "cpu %*u %*u %*u %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, &idle, &waiting) != 2)
    return -1;
  return (double)(idle + waiting) * 1e6 / (double)sysconf (_SC_CLK_TCK);
}

static double
cpus_in_use (gpointer data)
{
  double idle = idle_us (), start = bench_now_us (), us;

  if (rate (data) < 0 || idle < 0)
    return -1;
  us = (bench_now_us () - start) * (double)g_get_num_processors ();
  return 100 * (1 - MIN (us, idle_us () - idle) / us);
}

/* What bounds the gain of two at once: the CPUs that they find idle, and those that stay
 * idle all the same. A sandbox is the work of many processes that wake each other after some
 * tens of microseconds; on CPUs that are mostly in use the kernel lets one that was woken
 * wait where it is, and the other CPU may be idle meanwhile; hence the places in
 * agent/launch/launch-place.c, without which it was 84 % of two CPUs. */
static void
use_rows (Bench *bench, Load *ours, Load *peer)
{
  Load our_one = *ours, peer_one = *peer;

  our_one.lanes = peer_one.lanes = 1;
  bench_row (bench, &(BenchRow){ "start: CPUs in use by one at a time", "prism native", "bwrap", "%", cpus_in_use,
                                 cpus_in_use, &our_one, &peer_one, 9, 1, BENCH_AT_MOST, 0 });
  bench_row (bench, &(BenchRow){ "start: CPUs in use by two at once", "prism native", "bwrap", "%", cpus_in_use,
                                 cpus_in_use, ours, peer, 9, 1, BENCH_AT_MOST, 0 });
}

void
bench_start_rows (Bench *bench)
{
  Load ours = { bench, one_sandbox, 2 }, peer = { bench, peer_run_bwrap, 2 };
  bench_row (bench, &(BenchRow){ "start: create, run a static program, close", "prism native, confined",
                                 "bwrap, the same shape", "us", one_sandbox, peer_run_bwrap, bench, bench, 300, 20,
                                 BENCH_AT_MOST, 0.5 });
  heap_row (bench);
  /* Of nine the ratio moved by a tenth. */
  bench_row (bench, &(BenchRow){ "start: rate of two at once to rate of one", "prism native", "bwrap", "x", gain, gain,
                                 &ours, &peer, 27, 1, BENCH_AT_LEAST, 1.0 });
  bench_row (bench, &(BenchRow){ "start: rate of two at once", "prism native", "bwrap", "/s", rate, rate, &ours, &peer,
                                 9, 1, BENCH_AT_LEAST, 2.0 });
  use_rows (bench, &ours, &peer);
}
