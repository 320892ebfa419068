/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

/* A command's output, on its way to ours. */
typedef struct
{
  GCancellable *cancellable;
  int failed_fd; /* the first that could not be written, or -1 */
  int failed_errno;
} PrismCliOutput;

void prism_cli_output_init (PrismCliOutput *self, GCancellable *cancellable);
void prism_cli_output_watch (PrismCliOutput *self, PrismCommand *command);
gboolean prism_cli_output_write (PrismCliOutput *self, int fd, const char *data, gsize length);

gboolean prism_cli_in_background (void);
GInputStream *prism_cli_input (GError **error);

G_END_DECLS
