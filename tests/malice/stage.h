/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stage that the attacks play on: a throw-away piece of "host" with bait in
 * it. Everything hangs on one folder and a few child processes, and goes with
 * them. Plain C: it must also be set up in a process that has left its
 * namespaces, before any thread exists. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define STAGE_LIMIT_PIDS      64
#define STAGE_LIMIT_MEMORY    (128l << 20)
#define STAGE_LIMIT_FDS       96
#define STAGE_LIMIT_TMP       (16l << 20)
#define STAGE_LIMIT_WORKSPACE (24l << 20)

struct stage
{
  char folder[256];    /* everything below is in it */
  char home[300];      /* "secret" in it is the bait */
  char workspace[300]; /* kept, tree/, hidden/, deep/guarded/config, malice-setid, planted-device */
  char mount[300];     /* shown read-only as STAGE_MOUNT: malice, linkable, malice-setid, planted-device */
  char token[64];      /* what bait says after BAIT: */
  char mark[32];       /* the last word of every attack's argv */
  pid_t listener;      /* answers every socket with bait */
  pid_t victim;        /* the host process to find and to kill */
  char *variables[48]; /* MALICE_NAME=value; NULL-terminated */
};

#define STAGE_MOUNT "/malice"

/* Dies with a message when it cannot; @program is the malice program. */
void stage_set_up (struct stage *stage, const char *program, uid_t owner);
/* Hands what the workspace holds afresh: attacks change it. */
void stage_refresh (struct stage *stage, uid_t owner);
void stage_set_variable (struct stage *stage, const char *name, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
/* What an attack did to the host, as far as the host can see; NULL when all is
 * as it was. Static text, or in @text. */
const char *stage_damage (struct stage *stage, char text[512]);
/* Waits until the heartbeat in the workspace rests for a while; false: it beats
 * on at the deadline. */
bool stage_wait_heartbeat (struct stage *stage, int milliseconds);
/* How many processes carry this stage's mark in their argv. */
int stage_count_marked (struct stage *stage);
void stage_tear_down (struct stage *stage);

/* Where lingering processes go: waits until none is marked, or for the deadline. */
bool stage_wait_unmarked (struct stage *stage, int milliseconds);
