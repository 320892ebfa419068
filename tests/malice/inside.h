/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What run-malice.c, judge.c and host-side.c share: an attack inside a sandbox,
 * and how it is judged. Every judge answers NULL, or what is wrong. */
#pragma once

#include "malice.h"
#include "stage.h"

#include <libprism/prism.h>

#define PATIENCE_MS 20000
#define TIMEOUT_MS  400
/* What the timeout may take: its grace, and a busy machine. */
#define TIMEOUT_SLACK_MS 8000

typedef struct
{
  const char *name;
  int needs;
} Attack;

extern struct stage stage;

/* As the command line asks for it. */
PrismBackend *make_backend (void);

/* judge.c */
char *judge_result (const Attack *attack, PrismResult *result, gint64 took_ms);
/* Does it still serve? */
char *judge_sandbox (const Attack *attack, PrismSandbox *sandbox, const char *program);
/* Has what the timeout should have ended ended? */
char *judge_ended (const Attack *attack);
/* After close: processes, the host's things, its folder, its memory. */
char *judge_closed (const Attack *attack, long grown_kib);
/* Why it may get through here, as the sandbox itself says; NULL: it may not. */
char *excuse (const Attack *attack, PrismSandbox *sandbox);
long peak_kib (void);

/* host-side.c: what the host does with a folder while it is attacked, or after.
 * @wrong is set as by a judge. */
PrismResult *
run_with_host_side (const Attack *attack, PrismSandbox *sandbox, PrismCommand *command, char **wrong, GError **error);
