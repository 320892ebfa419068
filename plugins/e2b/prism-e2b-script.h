/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Small scripts that run inside, as commands of their own, for what the service has no
 * request for: to end a command with all that it started, to send it any signal, and to see
 * whether there is such a command at all.
 *
 * All that a command starts has a variable in its environment that only it has, and is
 * found by that in /proc, with what these started in turn. What empties its environment and
 * leaves its parent is not found: it lives on until the sandbox ends. */
#pragma once

#include "prism-e2b-client.h"

G_BEGIN_DECLS

#define PRISM_E2B_MARK "PRISM_COMMAND_ID"
/* When its timeout is over, in ms of the Unix epoch: for who attaches to it later. */
#define PRISM_E2B_LATE "PRISM_COMMAND_LATE"

/* In the client's thread, once. @code: the script's exit code; -1: it did not run to its end. */
typedef void (*PrismE2bScriptEnded) (int code, gpointer data);

/* In the client's thread, all of them. SIGTERM to all of it, and SIGKILL when @grace_ms are
 * over; 0 = SIGKILL at once. Ended when nothing is left. */
void prism_e2b_script_sweep (PrismE2bClient *client,
                             const PrismE2bIdentity *identity,
                             const char *user,
                             const char *mark,
                             gint64 grace_ms,
                             PrismE2bScriptEnded ended,
                             gpointer data);
void prism_e2b_script_signal (PrismE2bClient *client,
                              const PrismE2bIdentity *identity,
                              const char *user,
                              gint64 pid,
                              int number,
                              PrismE2bScriptEnded ended,
                              gpointer data);

/* Waits for a process that the service started to end, though others may hold its streams.
 * @ended gets its status as wait() has it; or that it is gone, or -1. */
#define PRISM_E2B_WATCH_GONE 0x10000
void prism_e2b_script_watch (PrismE2bClient *client,
                             const PrismE2bIdentity *identity,
                             const char *user,
                             gint64 pid,
                             PrismE2bScriptEnded ended,
                             gpointer data);

#define PRISM_E2B_LOOK_MISSING        2
#define PRISM_E2B_LOOK_NOT_EXECUTABLE 3

/* As a command would be looked for with that environment and folder; @ended gets one of the
 * above, or another code if there is such a command. */
void prism_e2b_script_look (PrismE2bClient *client,
                            const PrismE2bIdentity *identity,
                            const char *user,
                            const char *name,
                            const char *const *env,
                            const char *cwd,
                            PrismE2bScriptEnded ended,
                            gpointer data);
/* NULL, or the error that @code stands for. */
GError *prism_e2b_look_to_error (int code, const char *name);

G_END_DECLS
