/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way to an upstream: its addresses, the screen, the connection, TLS. */
#pragma once

#include "prism-local-connection.h"

G_BEGIN_DECLS

/* To the connection's place; prism_local_connection_dialed() follows, or the request
 * is refused. */
void prism_local_dial_begin (PrismLocalConnection *connection);
void prism_local_dial_drop (PrismLocalConnection *connection);

G_END_DECLS
