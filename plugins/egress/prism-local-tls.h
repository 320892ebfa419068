/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TLS to an upstream: for requests that are upgraded on their way out. */
#pragma once

#include "prism-local-connection.h"

G_BEGIN_DECLS

/* On a connected end. NULL with an error if TLS is not to be had at all. */
gboolean prism_local_tls_open (PrismLocalEngine *engine, PrismLocalEnd *end, const PrismLocalPlace *place, GError **error);

/* 1: done, and the peer is who it should be; 0: goes on when the socket is ready,
 * for reading or, with wants_out, for writing; -1: failed, and why. */
int prism_local_tls_shake_hands (PrismLocalEnd *end, char **why);

/* As prism_local_end_read(); bytes taken, 0 if there is no room, or BROKEN. */
gssize prism_local_tls_read (PrismLocalEnd *end, void *bytes, gsize size);
gssize prism_local_tls_write (PrismLocalEnd *end, const void *bytes, gsize length);

/* Whether there is more to be read that the socket says nothing of. */
gboolean prism_local_tls_has_more (PrismLocalEnd *end);

void prism_local_tls_close (PrismLocalEnd *end);
void prism_local_tls_end (PrismLocalEngine *engine);

G_END_DECLS
