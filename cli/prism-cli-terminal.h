/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-cli-output.h"

G_BEGIN_DECLS

void prism_cli_terminal_size (guint *columns, guint *rows);
/* @timed_out: set if the command's timeout passed, and it was ended for that. */
PrismResult *prism_cli_terminal_exec (PrismSandbox *sandbox,
                                      PrismCommand *command,
                                      PrismCliOutput *output,
                                      gboolean *timed_out,
                                      GCancellable *cancellable,
                                      GError **error);

G_END_DECLS
