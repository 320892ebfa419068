/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* One at a time; shown on stderr, when that is a terminal and the work takes
 * longer than a blink. */
void prism_cli_progress_start (const char *what, gboolean quiet);
void prism_cli_progress_bytes (guint64 bytes);
void prism_cli_progress_done (void);

/* Writes through to @base and shows how much. */
GOutputStream *prism_cli_progress_stream_new (GOutputStream *base, const char *what, gboolean quiet);

G_END_DECLS
