/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

/* prism-agent behind a socket, in what bubblewrap makes. Exec, files, streams,
 * signals, timeouts and the like are all PrismAgentSandbox's. */
#define BUBBLEWRAP_TYPE_SANDBOX (bubblewrap_sandbox_get_type ())
G_DECLARE_FINAL_TYPE (BubblewrapSandbox, bubblewrap_sandbox, BUBBLEWRAP, SANDBOX, PrismAgentSandbox)

/* Blocks. NULL: nothing is left behind. */
PrismSandbox *bubblewrap_sandbox_start (PrismSandboxSpec *spec,
                                        const char       *program,
                                        GCancellable     *cancellable,
                                        GError          **error);

G_END_DECLS
