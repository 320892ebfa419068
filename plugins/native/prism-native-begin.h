/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Begins a sandbox. Of the C library alone: a program that is likely to want one can have
 * it begun while the libraries are loaded that will say what it is to be. */
#pragma once

#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "prism-native-cgroup.h"
#include "prism-native-early.h"
#include "prism-native-host.h"

/* Hexadecimal digits: what a sandbox is called, and the folders of its groups after it. */
#define PRISM_NATIVE_ID_LENGTH 32

/* A launcher that has been started and waits for its plan; the descriptors are the host's
 * ends, close-on-exec. */
typedef struct
{
  const char *version; /* of what filled this in */
  size_t size;
  pid_t host; /* the process that did */
  pid_t pid;
  int plan, control, keeper;
  const char *agent;
  int64_t at_us;                  /* CLOCK_MONOTONIC */
  const PrismNativeHost *machine; /* what the early plan is made from */
  PrismNativeEarlySteps early;
  const PrismNativeCgroup *cgroup;
  char id[PRISM_NATIVE_ID_LENGTH + 1]; /* the sandbox's, by which its groups are called */
  bool taken;                     /* by the plug-in: it ends it */
  bool reaps;                     /* set by the program: prism_native_begun_end() is the last that it does */
  bool left;                      /* to that: the launcher has said its last word, and is to be reaped */
  sem_t known;                    /* of prism_native_begun: posted where the rest is as it stays */
} PrismNativeBegun;

/* A program that has begun one exports it under this name, for the plug-in, which takes
 * it as the first sandbox's. It is of this process's own memory, so nobody outside can
 * bring the plug-in to take another. */
extern PrismNativeBegun prism_native_begun __attribute__ ((weak, visibility ("default")));

/* Starts the program with descriptors 3, 4 and 5 (-1: /dev/null) and nothing else of
 * this process; 0 or an errno. */
int prism_native_spawn (const char *agent, bool many, const int fds[3], pid_t *pid);

/* 0, or an errno: nothing is left then. @agent stays the caller's. */
int prism_native_begin (PrismNativeBegun *self, const char *agent);

/* How the plan will begin. All of it fits the socket's buffer, or it is not what this is
 * for: false, and it is no use any more. */
bool prism_native_begun_give_early_plan (const PrismNativeBegun *self, const void *bytes, size_t size);

/* With the early plan of a sandbox by default settings, as prism_native_begun, which is the
 * caller's. In two steps: the first is to be over before anything else is done in this
 * process that may look for it, and the second may be done in a thread of its own. Whoever
 * looks for it waits for the second. */
void prism_native_begun_expect (void);
void prism_native_begin_usual (const char *agent);

/* What was begun here by @agent at most @most_us ago and not taken, or NULL; the
 * descriptors and the process are the caller's then. */
const PrismNativeBegun *prism_native_begun_take (const char *agent, int64_t most_us);
/* What was found out for that, or NULL. */
const PrismNativeHost *prism_native_begun_host (void);
const PrismNativeCgroup *prism_native_begun_cgroup (void);

/* A new one. */
void prism_native_make_id (char id[PRISM_NATIVE_ID_LENGTH + 1]);

/* By the plug-in: whether that process is the launcher that was begun, and the program reaps
 * it, which has something else to do meanwhile; and that it has said its last word. */
bool prism_native_begun_reaps (pid_t pid);
void prism_native_begun_leave (void);

/* Ends what nobody took, and waits until it is gone; reaps what was left. */
void prism_native_begun_end (void);
