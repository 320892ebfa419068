/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Another proxy between here and everything, where there is no direct way out. */
#pragma once

#include "prism-local-connection.h"

G_BEGIN_DECLS

/* Whether the connection's place is reached by a tunnel through the parent. */
gboolean prism_local_parent_needs_tunnel (PrismLocalConnection *connection);

/* Asks the parent, which is connected, for a tunnel. FALSE: it takes nothing. */
gboolean prism_local_parent_ask (PrismLocalConnection *connection);

/* What it says: 1: the tunnel is there; 0: not all of it yet; -1: there is none, and
 * why. What comes behind its answer is left in the socket. */
int prism_local_parent_hear (PrismLocalConnection *connection, char **why);

G_END_DECLS
