/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

typedef void (*PrismCliSignalFunc) (int number);

/* From here on they wait; start() has them taken, those that came meanwhile too. */
void prism_cli_signals_block (GCancellable *cancellable);
void prism_cli_signals_start (void);
/* Both run in the signal thread: @restore before prism stops, or ends without
 * waiting; @others for SIGWINCH and SIGCONT. */
void prism_cli_signals_on_terminal (void (*restore) (void), PrismCliSignalFunc others);
/* Where there is nothing left to cancel and no terminal to restore: the thread ends, so that
 * the process ends as one of a single thread, which it does in less time. A signal is still
 * received, and a second one still ends the process at once. */
void prism_cli_signals_end (void);
int prism_cli_signals_received (void);
void prism_cli_signals_blocking (gboolean blocking);

G_END_DECLS
