/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a figure is measured: ours and its peer in turn, many rounds, in one run;
 * the ratio is that of their medians. On a shared machine only the ratio means
 * anything; min and p95 say how noisy it was. */
#pragma once

#include <libprism/prism.h>
#include <sys/types.h>

/* One round: microseconds, or another unit that the row names; negative: it failed. */
typedef double (*BenchRound) (gpointer data);

typedef enum
{
  BENCH_AT_MOST,  /* ours / peer: smaller is better */
  BENCH_AT_LEAST, /* ours / peer: larger is better */
} BenchSense;

typedef struct
{
  const char *name;
  const char *ours_name;
  const char *peer_name;
  const char *unit;
  BenchRound ours;
  BenchRound peer;
  gpointer ours_data;
  gpointer peer_data;
  guint rounds;
  guint warm_up;
  BenchSense sense;
  double bound; /* 0: only to be known */
} BenchRow;

/* The place where the rows run. */
typedef struct
{
  char *folder;    /* on tmpfs; goes at the end */
  char *plain;     /* on disk: sandbox-runtime covers /dev/shm; true-min is in it too */
  char *workspace; /* with true-min and flood in it */
  char *true_min;
  char *flood;
  char *prism;    /* the program */
  char *plug_ins; /* all of them in one folder, as where they are installed */
  char *srt;   /* node_modules of sandbox-runtime, or NULL */
  PrismBackend *backend;
  gboolean quick;
} Bench;

void bench_row (Bench *bench, const BenchRow *row);
/* A figure without a peer: at most, or at least, that much. */
void bench_figure (const char *name, double value, const char *unit, BenchSense sense, double bound);
void bench_missing (const char *name, const char *why);
double bench_now_us (void);
gboolean bench_wants (const char *name);
guint bench_rounds (Bench *bench, guint full);

PrismSandbox *bench_create (Bench *bench, GError **error);
/* Runs argv in it and expects exit status 0. */
gboolean bench_exec (PrismSandbox *sandbox, const char *const *argv);

/* peers.c */
gboolean peer_spawn (const char *const *argv, const char *cwd, int out);
/* What they are spawned with; NULL: this process's own. */
void peer_use_environment (char **environment);
gboolean peer_vfork (const char *program);
char **peer_bwrap (Bench *bench, const char *const *argv);
double peer_run_bwrap (gpointer bench);
/* The same with /bin/true, which is linked to the C library. */
double peer_run_bwrap_true (gpointer bench);
typedef struct _PeerWorker PeerWorker;
/* A program that does one round for each line on its stdin and answers with its microseconds. */
PeerWorker *peer_worker_new (const char *const *argv, const char *cwd);
double peer_worker_round (gpointer worker);
void peer_worker_free (PeerWorker *worker);

/* One file of rows each. */
void bench_start_rows (Bench *bench);
void bench_exec_rows (Bench *bench);
void bench_cold_rows (Bench *bench);
void bench_stream_rows (Bench *bench);
void bench_tools_rows (Bench *bench);
void bench_mcp_rows (Bench *bench);
void bench_tree_rows (Bench *bench);
void bench_memory_rows (Bench *bench);
void bench_policy_rows (Bench *bench);
void bench_egress_rows (Bench *bench);
void bench_egress_inside_rows (Bench *bench);
void bench_docker_rows (Bench *bench);
void bench_e2b_rows (Bench *bench);
/* 10,000 files, 49 MB, in a new folder. */
void bench_make_tree (const char *tree);
/* The worker behind the heap rows: bench --worker MIB. */
int bench_heap_worker (Bench *bench, gint64 mib);
