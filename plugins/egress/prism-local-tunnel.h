/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CONNECT: bytes both ways, to one screened place. What is inside is not looked at,
 * but for the name that TLS says first. */
#pragma once

#include "prism-local-connection.h"

G_BEGIN_DECLS

/* The upstream is connected. */
void prism_local_tunnel_begin (PrismLocalConnection *connection);

/* While it is not known what the client speaks: the client said more; the upstream
 * said something. */
void prism_local_tunnel_hear (PrismLocalConnection *connection);
void prism_local_tunnel_greet (PrismLocalConnection *connection, guint32 events);
gboolean prism_local_tunnel_must_speak (PrismLocalConnection *connection);

void prism_local_tunnel_client_ready (PrismLocalConnection *connection, guint32 events);
void prism_local_tunnel_upstream_ready (PrismLocalConnection *connection, guint32 events);
void prism_local_tunnel_arm (PrismLocalConnection *connection);

G_END_DECLS
