/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prism-agent: the program inside. One process, no threads, no allocation that
 * a peer can make grow without a bound. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent_options
{
  int control;          /* connected socket to the host, or -1 with dial */
  bool fds;             /* control is a unix socket: descriptors pass */
  bool framed;          /* --framed: say no FEATURE_FDS even so (tests, remote streams) */
  bool netns_command;   /* a fresh, empty network namespace for each command; the agent then keeps CAP_SYS_ADMIN and loads the filter in each child */
  bool hardened;        /* the launcher did no_new_privs, seccomp, Landlock and dropped capabilities already */
  bool default_signals; /* no signal is ignored or handled: the launcher saw to that */
  /* It was put on one CPU, to start there: the set of those where it may go on, and where
   * whatever it starts may run, for sched_setaffinity(). NULL: where it is. */
  const void *cpus;
  size_t cpus_size;
  const char *dial;     /* unix socket to dial, and to redial after EOF when kept */
  int hosts;            /* kept without dialling: a SOCK_SEQPACKET on which connected sockets to the next hosts come; -1 = none */
};

/* Serves one sandbox until its host is gone (or its wall time is over); kills
 * and reaps all that it started. Returns the process's exit status. */
int agent_run (const struct agent_options *options);
/* The same, with a host at the other ends of standard input and output. */
int agent_run_on_stdio (struct agent_options *options);

/* launch/: enters the namespaces and becomes the agent inside; the process that
 * called stays outside as the keeper and returns its exit status. */
int launch_main (int argc, char **argv);
/* The sandbox's one filter and its scoping domain; 0 or -errno. no_new_privs is set by the first. */
int launch_load_seccomp (void);
int launch_enter_landlock (void);
