/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-cli-output.h"

G_BEGIN_DECLS

void prism_cli_terminal_size (guint *columns, guint *rows);
/* @most: what it may write, in bytes; 0: any amount. @ended: set to what it was ended for:
 * its timeout, or that. */
PrismResult *prism_cli_terminal_exec (PrismSandbox *sandbox,
                                      PrismCommand *command,
                                      PrismCliOutput *output,
                                      gint64 most,
                                      PrismOutcome *ended,
                                      GCancellable *cancellable,
                                      GError **error);

G_END_DECLS
