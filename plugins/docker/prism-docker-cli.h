/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The engine's command line program, run once for each question: for where its socket
 * cannot be reached. */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* What it wrote, at most 16 MiB; NULL with PRISM_SANDBOX_ERROR_CLI (missing, failed, too
 * much), TIMEOUT or CANCELLED. @argv without the program's name. @what: for messages. */
GBytes *prism_docker_cli_run (const char *program,
                              const char *const *argv,
                              const char *what,
                              gint64 deadline,
                              GCancellable *cancellable,
                              GError **error);

G_END_DECLS
