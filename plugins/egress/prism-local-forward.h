/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plain requests: up to the origin, and the answer back. */
#pragma once

#include "prism-local-connection.h"

G_BEGIN_DECLS

/* The head was parsed and its place is decided: sends it, or dials first. */
void prism_local_forward_begin (PrismLocalConnection *connection);

/* The upstream is there. */
void prism_local_forward_send (PrismLocalConnection *connection);

/* The policy for where a redirect leads. */
void prism_local_forward_redirected (PrismLocalConnection *connection, PrismEgressPolicy *policy);

/* The request's body: what there is of it goes up. */
void prism_local_forward_body (PrismLocalConnection *connection);

void prism_local_forward_client_ready (PrismLocalConnection *connection, guint32 events);
void prism_local_forward_upstream_ready (PrismLocalConnection *connection, guint32 events);
gboolean prism_local_forward_wants_client (PrismLocalConnection *connection);

G_END_DECLS
