/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The hosted service, here on this machine, by its plug-in and by its own client. Both sides are
 * processes of their own, and do the same. */
#include "bench.h"

#include "e2b-local.h"

#define EXEC   "e2b: exec of true, the round trip"
#define UP     "e2b: a file of 64 MiB up"
#define DOWN   "e2b: a file of 64 MiB down"
#define MEMORY "e2b: memory after commands"
#define MIB    64.0

static double
rate (gpointer worker)
{
  double us = peer_worker_round (worker);
  return us > 0 ? MIB / (us / 1e6) : -1;
}

static void
row (Bench *bench, E2bLocal *local, const BenchRow *shape, const char *mode)
{
  const char *clients = g_getenv ("PRISM_E2B_CLIENTS");
  g_autofree char *own = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = g_path_get_dirname (own);
  g_autofree char *app = g_build_filename (folder, "e2b-app", NULL);
  g_autofree char *script = g_build_filename (g_getenv ("PRISM_SOURCE_ROOT"), "tests", "bench", "e2b-worker.mjs", NULL);
  const char *ours[] = { app, mode, e2b_local_get_folder (local), NULL };
  const char *peer[] = { "node", script, clients, mode, e2b_local_get_folder (local), NULL };
  PeerWorker *ours_worker, *peer_worker;
  BenchRow whole = *shape;

  if (!bench_wants (shape->name))
    return;
  ours_worker = peer_worker_new (ours, NULL);
  peer_worker = peer_worker_new (peer, NULL);
  whole.ours_data = ours_worker;
  whole.peer_data = peer_worker;
  if (ours_worker == NULL || peer_worker == NULL)
    bench_missing (shape->name, ours_worker == NULL ? "e2b-app does not start" : "the client does not start");
  else
    bench_row (bench, &whole);
  g_clear_pointer (&ours_worker, peer_worker_free);
  g_clear_pointer (&peer_worker, peer_worker_free);
}

void
bench_e2b_rows (Bench *bench)
{
  static const struct
  {
    BenchRow row;
    const char *mode;
  } rows[] = {
    { { EXEC, "prism exec", "its client's", "us", peer_worker_round, peer_worker_round, NULL, NULL, 300, 20,
        BENCH_AT_MOST, 0.5 },
      "exec" },
    { { UP, "prism write_file", "its client's", "MiB/s", rate, rate, NULL, NULL, 12, 2, BENCH_AT_LEAST, 2.0 }, "up" },
    { { DOWN, "prism read_file", "its client's", "MiB/s", rate, rate, NULL, NULL, 12, 2, BENCH_AT_LEAST, 2.0 },
      "down" },
    { { MEMORY, "e2b-app", "its client", "KiB", peer_worker_round, peer_worker_round, NULL, NULL, 100, 20,
        BENCH_AT_MOST, 0.2 },
      "memory" },
  };
  g_autoptr (E2bLocal) local = NULL;
  gboolean wanted = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    wanted |= bench_wants (rows[i].row.name);
  if (!wanted)
    return;
  if (g_getenv ("PRISM_E2B_CLIENTS") == NULL)
    {
      bench_missing ("e2b", "there is no client to compare with; ./dev setup fetches it");
      return;
    }
  local = e2b_local_new (NULL);
  g_setenv ("E2B_API_KEY", E2B_LOCAL_KEY, TRUE);
  g_setenv ("E2B_API_URL", e2b_local_get_url (local), TRUE);
  g_setenv ("E2B_SANDBOX_URL", e2b_local_get_url (local), TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    row (bench, local, &rows[i].row, rows[i].mode);
  g_unsetenv ("E2B_API_KEY");
}
