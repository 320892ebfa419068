/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One server, spoken to by HTTP: for plug-ins whose sandboxes are behind one. Blocking
 * calls for a worker thread, with a deadline that holds for all of a call (a timeout
 * for each byte would not: a server may send one at a time), a bound on what comes
 * back, and several calls under way at once where that saves time.
 *
 * TRUST. The server's bytes are hostile until the caller has judged them: head and body
 * are bounded here, and nothing is decoded, redirected or remembered.
 *
 * A client belongs to one thread at a time. Errors are of G_IO_ERROR: CONNECTION_REFUSED
 * and NOT_FOUND (nobody listens), PERMISSION_DENIED, TIMED_OUT, CANCELLED,
 * CONNECTION_CLOSED (cut), INVALID_DATA (no HTTP), MESSAGE_TOO_LARGE. */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

typedef struct _PrismHttpClient PrismHttpClient;
typedef struct _PrismHttpCall PrismHttpCall;

typedef struct
{
  const char *method;
  const char *path; /* with its query, encoded */
  const char *type; /* of the body; NULL = application/json */
  GBytes *body;     /* NULL = none */
  gsize most_bytes; /* of the answer's body; 0 = PRISM_HTTP_MOST_BYTES */
} PrismHttpRequest;

typedef struct
{
  guint status;
  GBytes *body;
} PrismHttpReply;

#define PRISM_HTTP_MOST_BYTES (8 * 1024 * 1024)

/* A server behind a unix socket. */
PrismHttpClient *prism_http_client_new_for_socket (const char *path);
void prism_http_client_free (PrismHttpClient *self);

/* A header of the last answer, or NULL; until the next call ends. */
const char *prism_http_client_get_header (PrismHttpClient *self, const char *name);

gboolean prism_http_client_call (PrismHttpClient *self,
                                 const PrismHttpRequest *request,
                                 gint64 deadline,
                                 PrismHttpReply *reply,
                                 GCancellable *cancellable,
                                 GError **error);

/* The same in two halves. */
PrismHttpCall *prism_http_client_begin (PrismHttpClient *self, const PrismHttpRequest *request);
gboolean prism_http_call_is_over (PrismHttpCall *self);
/* Waits for it; frees it. */
gboolean prism_http_call_end (PrismHttpCall *self,
                              gint64 deadline,
                              PrismHttpReply *reply,
                              GCancellable *cancellable,
                              GError **error);
/* Cuts it off and frees it. */
void prism_http_call_abandon (PrismHttpCall *self);

/* Waits until one of the calls is over or @fd can be read (-1: none); FALSE when the time
 * is over or @cancellable says so. */
gboolean prism_http_client_wait (PrismHttpClient *self,
                                 int fd,
                                 gint64 deadline,
                                 GCancellable *cancellable,
                                 GError **error);

/* An answer that goes on: its body, to be read in this thread with prism_http_client_read();
 * NULL with an error where the status is no 2xx. */
PrismHttpCall *prism_http_client_open (PrismHttpClient *self,
                                       const PrismHttpRequest *request,
                                       gint64 deadline,
                                       GCancellable *cancellable,
                                       GError **error);
/* Bytes read, 0 at the end, -1 with an error. */
gssize prism_http_call_read (
    PrismHttpCall *self, void *buffer, gsize size, gint64 deadline, GCancellable *cancellable, GError **error);

void prism_http_reply_clear (PrismHttpReply *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismHttpClient, prism_http_client_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismHttpCall, prism_http_call_abandon)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismHttpReply, prism_http_reply_clear)

G_END_DECLS
