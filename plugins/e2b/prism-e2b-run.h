/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One command of a sandbox's: its stream, what it wrote, how it ended. All of it happens in
 * the client's thread; who made it learns of it by three functions, called there.
 *
 * A stream that is cut before it said how the command ended leaves that unknown: the command
 * is told to end, and the outcome is LOST with the reason, never a guess. */
#pragma once

#include "prism-e2b-client.h"
#include "prism-e2b-event.h"
#include "prism-e2b-script.h"

G_BEGIN_DECLS

typedef struct _PrismE2bRun PrismE2bRun;

typedef struct
{
  /* It runs: the pid is known. */
  void (*started) (PrismE2bRun *run, gpointer data);
  /* FALSE: nothing more is read until prism_e2b_run_go_on(). */
  gboolean (*output) (PrismE2bRun *run, PrismStream stream, GBytes *bytes, gpointer data);
  /* It ended; @error: it never started. Once, and the last of all. */
  void (*ended) (PrismE2bRun *run, const GError *error, gpointer data);
} PrismE2bRunFuncs;

typedef struct
{
  PrismE2bClient *client;
  const PrismE2bIdentity *identity; /* outlives the run */
  const char *user;
  GBytes *start; /* Start's message; or NULL: … */
  gint64 pid;    /* … a process that is to be connected to */
  gboolean pty;
  gint64 timeout_ms; /* 0 = none */
  gint64 max_kept;   /* of each stream, for the result; -1: nothing is captured */
  gint64 max_total;  /* of both: more ends it; 0 = no bound */
  const char *mark;  /* what all that it starts has in its environment; NULL: it is ended alone */
  gboolean watched;  /* its end is looked for, though what it left may hold its streams */
  gboolean lasting;  /* its timeout is the service's to keep as well: its host may be gone by then */
  gint64 grace_ms;   /* from SIGTERM to SIGKILL */
  gint64 wall_us;    /* monotonic: when its sandbox's time is over, and its end is that; 0 = never */
} PrismE2bRunSpec;

PrismE2bRun *prism_e2b_run_new (const PrismE2bRunSpec *spec, const PrismE2bRunFuncs *funcs, gpointer data);
PrismE2bRun *prism_e2b_run_ref (PrismE2bRun *self);
void prism_e2b_run_unref (PrismE2bRun *self);

/* In the thread, all of them. */
void prism_e2b_run_begin (PrismE2bRun *self);
void prism_e2b_run_go_on (PrismE2bRun *self);
/* Ends it: @outcome is what its result says. */
void prism_e2b_run_end (PrismE2bRun *self, PrismOutcome outcome, const char *limit);
/* Ends it and all that it started by SIGKILL; how it ended the service tells. @done: once
 * that was tried. */
void prism_e2b_run_kill (PrismE2bRun *self, PrismE2bScriptEnded done, gpointer data);
/* It is over, whatever its stream says: its sandbox is. */
void prism_e2b_run_finish (PrismE2bRun *self, PrismOutcome outcome, const char *limit, const char *reason);
/* Lets go of the stream and leaves the command alone. */
void prism_e2b_run_detach (PrismE2bRun *self);

/* Around a pause of its sandbox: from the first on an end of its stream is none of its own,
 * and no timeout runs; the second follows it again, from there on. */
void prism_e2b_run_suspend (PrismE2bRun *self);
/* @identity: outlives the run; (nullable): there was no pause after all. */
void prism_e2b_run_resume (PrismE2bRun *self, const PrismE2bIdentity *identity);
gint64 prism_e2b_run_get_pid (PrismE2bRun *self);
gboolean prism_e2b_run_is_over (PrismE2bRun *self);
PrismResult *prism_e2b_run_new_result (PrismE2bRun *self);

/* What is written to its standard input, in order; the answer says when more is wanted. */
typedef void (*PrismE2bWritten) (gboolean fine, gpointer data);
void prism_e2b_run_write (PrismE2bRun *self, GBytes *bytes, PrismE2bWritten written, gpointer data);
void prism_e2b_run_close_stdin (PrismE2bRun *self, PrismE2bWritten written, gpointer data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismE2bRun, prism_e2b_run_unref)

G_END_DECLS
