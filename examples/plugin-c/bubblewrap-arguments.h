/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

/* The descriptors that the program and what it starts are given. */
#define BUBBLEWRAP_AGENT_FD 3
#define BUBBLEWRAP_INFO_FD  4

/* What is asked, in bubblewrap's words. NULL and an error that names it: something
 * that cannot be enforced is refused, never left out. Starts and opens nothing. */
char **bubblewrap_arguments (PrismSandboxSpec *spec, const char *program, const char *agent, GError **error);

/* Those limits that nobody enforces here, though they have a default. */
const char *const *bubblewrap_unenforced (void);

G_END_DECLS
