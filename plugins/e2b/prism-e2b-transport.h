/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sessions and messages as this backend wants them, and the way of a large body.
 *
 * HTTP/1.1, also where the service has HTTP/2: each stream has a connection of its own anyway
 * (libsoup gives each POST one), and of HTTP/2 a server takes only so many bytes that it has not
 * dealt with, often 64 KiB: with 50 ms on the way a file of 64 MiB takes a second by HTTP/1.1 and
 * more than half a minute by HTTP/2.
 *
 * libsoup hands a body on in pieces of 8 KiB. In a main loop each is a turn and three system
 * calls, and keeps others waiting; where it may block it is one call. So a large body has a
 * thread and a connection of its own, for as long as it takes.
 *
 * TRUST. Certificates are always checked; what is wrong with one is only put into words here. */
#pragma once

#include <libsoup/soup.h>

G_BEGIN_DECLS

/* Of which size a thread and a connection of its own are worth it. */
#define PRISM_E2B_LARGE_BODY (1024u * 1024u)

/* For the thread that it is made in; so many connections at once. */
SoupSession *prism_e2b_session_new (guint at_once);

/* NULL: the address is none. @again: whether it may be asked more than once. */
SoupMessage *prism_e2b_message_new (const char *method, const char *uri, gboolean again);

/* Sends @message, which nobody else looks at before @callback, in a thread, and reads the
 * answer's body, of which it leaves out what is after the first byte beyond @most. @stop ends it
 * at once. @callback is called in this thread's context. */
void prism_e2b_send_large (
    SoupMessage *message, gsize most, GCancellable *stop, GAsyncReadyCallback callback, gpointer data);
GByteArray *prism_e2b_send_large_finish (GAsyncResult *result, GError **error);

GError *prism_e2b_certificate_to_error (GTlsCertificateFlags flags);

G_END_DECLS
