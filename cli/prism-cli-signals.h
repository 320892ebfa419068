/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

typedef void (*PrismCliSignalFunc) (int number);

void prism_cli_signals_start (GCancellable *cancellable);
/* @before_exit runs when a second signal insists; @others in the signal thread, for WINCH and TSTP. */
void prism_cli_signals_on_terminal (void (*before_exit) (void), PrismCliSignalFunc others);
int prism_cli_signals_received (void);
void prism_cli_signals_blocking (gboolean blocking);

G_END_DECLS
