/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading from one end of a connection and writing to it, in TLS or plain. */
#pragma once

#include "prism-local-connection.h"

#include <sys/uio.h>

G_BEGIN_DECLS

#define PRISM_LOCAL_AGAIN  (-1) /* nothing now */
#define PRISM_LOCAL_BROKEN (-2) /* and never again */

/* Bytes read; 0 at the end of the stream; or one of the two above. */
gssize prism_local_end_read (PrismLocalEnd *end, void *bytes, gsize size);

/* Sends all of it, now or when the socket takes it. FALSE: the end is broken. */
gboolean prism_local_end_send (PrismLocalEnd *end, const struct iovec *parts, guint n);
gboolean prism_local_end_send_text (PrismLocalEnd *end, const char *text);

/* Sends what waits. */
gboolean prism_local_end_flush (PrismLocalEnd *end);

/* Says that nothing more comes; only when nothing waits. */
void prism_local_end_shut (PrismLocalEnd *end);

void prism_local_end_close (PrismLocalEngine *engine, PrismLocalEnd *end);

G_END_DECLS
