/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For a test that counts agents: one of its own, which is told by its path from those of the
 * tests beside. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* g_test_run() with it as PRISM_AGENT. */
int own_agent_test_run (void);
/* How many of the launcher's and the agents' processes there are. */
guint own_agent_count (void);

G_END_DECLS
