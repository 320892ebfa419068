/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-http-client.h"

#include <gio/gunixsocketaddress.h>
#include <glib-unix.h>
#include <libsoup/soup.h>
#include <string.h>

#include "prism-cancel-source.h"

#define CHUNK    (64u * 1024u)
#define AT_ONCE  8
#define ANY_HOST "http://localhost"

struct _PrismHttpClient
{
  GMainContext *context; /* its own: no call runs what somebody else's context holds */
  SoupSession *session;
  SoupMessage *last;
  char *socket;
  guint n_over; /* calls that came to their end: who waits for any of them looks at it */
};

struct _PrismHttpCall
{
  PrismHttpClient *client;
  SoupMessage *message;
  GCancellable *stop;
  GInputStream *stream;
  GByteArray *bytes;
  gsize most_bytes;
  gboolean keep_open; /* the caller reads the body */
  gboolean over, abandoned;
  GError *error;
};

PrismHttpClient *
prism_http_client_new_for_socket (const char *path)
{
  PrismHttpClient *self = g_new0 (PrismHttpClient, 1);
  g_autoptr (GSocketAddress) address = g_unix_socket_address_new (path);

  self->socket = g_strdup (path);
  self->context = g_main_context_new ();
  g_main_context_push_thread_default (self->context);
  self->session = soup_session_new_with_options ("remote-connectable", address, "proxy-resolver", NULL, "timeout", 0,
                                                 "idle-timeout", 0, "max-conns", AT_ONCE, "max-conns-per-host", AT_ONCE,
                                                 "user-agent", "libprism", NULL);
  soup_session_remove_feature_by_type (self->session, SOUP_TYPE_CONTENT_DECODER);
  g_main_context_pop_thread_default (self->context);
  return self;
}

void
prism_http_client_free (PrismHttpClient *self)
{
  g_main_context_push_thread_default (self->context);
  soup_session_abort (self->session);
  while (g_main_context_iteration (self->context, FALSE))
    ;
  g_clear_object (&self->last);
  g_clear_object (&self->session);
  while (g_main_context_iteration (self->context, FALSE))
    ;
  g_main_context_pop_thread_default (self->context);
  g_main_context_unref (self->context);
  g_free (self->socket);
  g_free (self);
}

const char *
prism_http_client_get_header (PrismHttpClient *self, const char *name)
{
  return self->last != NULL ? soup_message_headers_get_one (soup_message_get_response_headers (self->last), name)
                            : NULL;
}

void
prism_http_reply_clear (PrismHttpReply *self)
{
  g_clear_pointer (&self->body, g_bytes_unref);
  self->status = 0;
}

/* --- a call ------------------------------------------------------------------------ */

/* libsoup ends a message in the context that it was begun in. */
static void
call_free (PrismHttpCall *self)
{
  GMainContext *context = self->client->context;

  g_main_context_push_thread_default (context);
  g_clear_object (&self->message);
  g_clear_object (&self->stream);
  g_clear_object (&self->stop);
  g_clear_error (&self->error);
  g_byte_array_unref (self->bytes);
  g_free (self);
  g_main_context_pop_thread_default (context);
}

/* What libsoup cannot parse is an error of its own domain. */
static GError *
translate (PrismHttpCall *self, GError *error)
{
  g_autoptr (GError) owned = error;

  if (error->domain == SOUP_SESSION_ERROR)
    return g_error_new (G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "%s: no answer in HTTP: %s", self->client->socket,
                        error->message);
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT)
      || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_BROKEN_PIPE))
    return g_error_new (G_IO_ERROR, G_IO_ERROR_CONNECTION_CLOSED, "%s: the answer was cut off", self->client->socket);
  if (error->domain == G_IO_ERROR)
    return g_error_new (G_IO_ERROR, error->code, "%s: %s", self->client->socket, error->message);
  return g_error_new (G_IO_ERROR, G_IO_ERROR_FAILED, "%s: %s", self->client->socket, error->message);
}

/* Whoever waits looks at it after this turn of the context. */
static void
call_over (PrismHttpCall *self, GError *error)
{
  if (self->abandoned)
    {
      g_clear_error (&error);
      call_free (self);
      return;
    }
  self->error = error != NULL ? translate (self, error) : NULL;
  self->over = TRUE;
  self->client->n_over++;
}

static void read_more (PrismHttpCall *self);

static void
body_arrived (GObject *source, GAsyncResult *result, gpointer data)
{
  PrismHttpCall *self = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) chunk = g_input_stream_read_bytes_finish (G_INPUT_STREAM (source), result, &error);
  gsize size = chunk != NULL ? g_bytes_get_size (chunk) : 0;

  if (chunk == NULL || size == 0 || self->abandoned)
    {
      call_over (self, g_steal_pointer (&error));
      return;
    }
  if (size > self->most_bytes - self->bytes->len)
    {
      call_over (self, g_error_new (G_IO_ERROR, G_IO_ERROR_MESSAGE_TOO_LARGE,
                                    "the answer is larger than %" G_GSIZE_FORMAT " bytes", self->most_bytes));
      return;
    }
  g_byte_array_append (self->bytes, g_bytes_get_data (chunk, NULL), (guint)size);
  read_more (self);
}

static void
read_more (PrismHttpCall *self)
{
  g_input_stream_read_bytes_async (self->stream, CHUNK, G_PRIORITY_DEFAULT, self->stop, body_arrived, self);
}

static void
head_arrived (GObject *source, GAsyncResult *result, gpointer data)
{
  PrismHttpCall *self = data;
  g_autoptr (GError) error = NULL;

  self->stream = soup_session_send_finish (SOUP_SESSION (source), result, &error);
  if (self->stream == NULL || self->abandoned || self->keep_open)
    call_over (self, g_steal_pointer (&error));
  else
    read_more (self);
}

PrismHttpCall *
prism_http_client_begin (PrismHttpClient *self, const PrismHttpRequest *request)
{
  g_autofree char *uri = g_strconcat (ANY_HOST, request->path, NULL);
  PrismHttpCall *call = g_new0 (PrismHttpCall, 1);

  call->client = self;
  call->stop = g_cancellable_new ();
  call->bytes = g_byte_array_new ();
  call->most_bytes = request->most_bytes != 0 ? request->most_bytes : PRISM_HTTP_MOST_BYTES;
  call->message = soup_message_new (request->method, uri);
  if (call->message == NULL)
    {
      call->over = TRUE;
      call->error = g_error_new (G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "“%s” is no path to ask for", request->path);
      return call;
    }
  soup_message_add_flags (call->message, SOUP_MESSAGE_NO_REDIRECT);
  if (request->body != NULL)
    soup_message_set_request_body_from_bytes (call->message, request->type != NULL ? request->type : "application/json",
                                              request->body);
  g_main_context_push_thread_default (self->context);
  soup_session_send_async (self->session, call->message, G_PRIORITY_DEFAULT, call->stop, head_arrived, call);
  g_main_context_pop_thread_default (self->context);
  return call;
}

gboolean
prism_http_call_is_over (PrismHttpCall *self)
{
  return self->over;
}

void
prism_http_call_abandon (PrismHttpCall *self)
{
  PrismHttpClient *client = self->client;

  if (self->over)
    {
      call_free (self);
      return;
    }
  self->abandoned = TRUE;
  g_main_context_push_thread_default (client->context);
  g_cancellable_cancel (self->stop);
  while (g_main_context_iteration (client->context, FALSE))
    ;
  g_main_context_pop_thread_default (client->context);
}

/* --- waiting ------------------------------------------------------------------------ */

typedef struct
{
  gboolean woken; /* the descriptor, the deadline or the caller */
  gboolean late;
} Waiting;

static gboolean
became_late (gpointer data)
{
  Waiting *waiting = data;
  waiting->late = waiting->woken = TRUE;
  return G_SOURCE_REMOVE;
}

static gboolean
became_readable (int fd, GIOCondition condition, gpointer data)
{
  Waiting *waiting = data;
  waiting->woken = TRUE;
  return G_SOURCE_REMOVE;
}

static gboolean
became_cancelled (gpointer data)
{
  Waiting *waiting = data;
  waiting->woken = TRUE;
  return G_SOURCE_REMOVE;
}

static GSource *
attach (GMainContext *context, GSource *source, GSourceFunc func, Waiting *waiting)
{
  g_source_set_callback (source, func, waiting, NULL);
  g_source_attach (source, context);
  return source;
}

static void
detach (GSource *source)
{
  g_source_destroy (source);
  g_source_unref (source);
}

/* Until *@over, or, where that is NULL, any call is over; or what wakes. */
static gboolean
iterate (
    PrismHttpClient *self, const gboolean *over, int fd, gint64 deadline, GCancellable *cancellable, GError **error)
{
  Waiting waiting = { FALSE, FALSE };
  GSource *timer = NULL, *watch = NULL, *cancelled = NULL;
  gint64 left = deadline - g_get_monotonic_time ();
  guint n_over = self->n_over;

  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return FALSE;
  g_main_context_push_thread_default (self->context);
  if (deadline != G_MAXINT64)
    timer = attach (self->context, g_timeout_source_new ((guint)CLAMP ((left + 999) / 1000, 0, G_MAXINT)), became_late,
                    &waiting);
  if (fd >= 0)
    watch = attach (self->context, g_unix_fd_source_new (fd, G_IO_IN), G_SOURCE_FUNC (became_readable), &waiting);
  if (cancellable != NULL)
    cancelled = prism_cancel_source_attach (cancellable, self->context, became_cancelled, &waiting, NULL);
  while (!waiting.woken && (over != NULL ? !*over : self->n_over == n_over))
    g_main_context_iteration (self->context, TRUE);
  g_clear_pointer (&cancelled, detach);
  g_clear_pointer (&timer, detach);
  g_clear_pointer (&watch, detach);
  g_main_context_pop_thread_default (self->context);
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return FALSE;
  if (!waiting.late || (over != NULL && *over))
    return TRUE;
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "%s: no answer in time", self->socket);
  return FALSE;
}

gboolean
prism_http_client_wait (PrismHttpClient *self, int fd, gint64 deadline, GCancellable *cancellable, GError **error)
{
  return iterate (self, NULL, fd, deadline, cancellable, error);
}

gboolean
prism_http_call_end (
    PrismHttpCall *self, gint64 deadline, PrismHttpReply *reply, GCancellable *cancellable, GError **error)
{
  g_autoptr (PrismHttpCall) owned = self;

  if (!self->over && !iterate (self->client, &self->over, -1, deadline, cancellable, error))
    return FALSE;
  if (self->error != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&self->error));
      return FALSE;
    }
  g_set_object (&self->client->last, self->message);
  reply->status = soup_message_get_status (self->message);
  reply->body = g_bytes_new (self->bytes->data, self->bytes->len);
  return TRUE;
}

gboolean
prism_http_client_call (PrismHttpClient *self,
                        const PrismHttpRequest *request,
                        gint64 deadline,
                        PrismHttpReply *reply,
                        GCancellable *cancellable,
                        GError **error)
{
  return prism_http_call_end (prism_http_client_begin (self, request), deadline, reply, cancellable, error);
}

/* --- answers that go on ---------------------------------------------------------------- */

PrismHttpCall *
prism_http_client_open (
    PrismHttpClient *self, const PrismHttpRequest *request, gint64 deadline, GCancellable *cancellable, GError **error)
{
  g_autoptr (PrismHttpCall) call = prism_http_client_begin (self, request);
  guint status;

  call->keep_open = TRUE;
  if (!call->over && !iterate (self, &call->over, -1, deadline, cancellable, error))
    return NULL;
  if (call->error != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&call->error));
      return NULL;
    }
  status = soup_message_get_status (call->message);
  if (status >= 200 && status < 300)
    return g_steal_pointer (&call);
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s: %s: HTTP status %u", self->socket, request->path, status);
  return NULL;
}

typedef struct
{
  gboolean over;
  gssize n;
  GError *error;
} Read;

static void
read_done (GObject *source, GAsyncResult *result, gpointer data)
{
  Read *read = data;
  read->n = g_input_stream_read_finish (G_INPUT_STREAM (source), result, &read->error);
  read->over = TRUE;
}

gssize
prism_http_call_read (
    PrismHttpCall *self, void *buffer, gsize size, gint64 deadline, GCancellable *cancellable, GError **error)
{
  PrismHttpClient *client = self->client;
  g_autoptr (GError) failure = NULL;
  Read read = { FALSE, -1, NULL };

  g_main_context_push_thread_default (client->context);
  g_input_stream_read_async (self->stream, buffer, size, G_PRIORITY_DEFAULT, self->stop, read_done, &read);
  g_main_context_pop_thread_default (client->context);
  if (!iterate (client, &read.over, -1, deadline, cancellable, &failure))
    {
      /* The buffer is the caller's: it must not be written any more. */
      g_cancellable_cancel (self->stop);
      iterate (client, &read.over, -1, G_MAXINT64, NULL, NULL);
      g_clear_error (&read.error);
      g_propagate_error (error, g_steal_pointer (&failure));
      return -1;
    }
  if (read.error != NULL)
    g_propagate_error (error, translate (self, read.error));
  return read.n;
}
