/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-e2b-transport.h"

#define CHUNK (64u * 1024u)

typedef struct
{
  SoupMessage *message;
  gsize most;
  GThread *thread;
} Large;

SoupSession *
prism_e2b_session_new (guint at_once)
{
  SoupSession *session =
      soup_session_new_with_options ("timeout", 0, "idle-timeout", 20, "max-conns", at_once, "max-conns-per-host",
                                     at_once, "user-agent", "libprism/" PRISM_E2B_VERSION, NULL);

  soup_session_remove_feature_by_type (session, SOUP_TYPE_CONTENT_DECODER);
  return session;
}

/* libsoup itself offers HTTP/2 first. */
static void
offer_http1 (SoupMessage *message, GSocketClientEvent event, GIOStream *connection, gpointer data)
{
  static const char *const protocols[] = { "http/1.1", NULL };

  if (event == G_SOCKET_CLIENT_TLS_HANDSHAKING && G_IS_TLS_CONNECTION (connection))
    g_tls_connection_set_advertised_protocols (G_TLS_CONNECTION (connection), protocols);
}

/* libsoup never sends a POST again, whatever its flags: this one only lets it have a connection
 * that was used before, and that may just have been closed. */
SoupMessage *
prism_e2b_message_new (const char *method, const char *uri, gboolean again)
{
  SoupMessage *message = soup_message_new (method, uri);

  if (message == NULL)
    return NULL;
  soup_message_add_flags (message, SOUP_MESSAGE_NO_REDIRECT | (again ? SOUP_MESSAGE_IDEMPOTENT : 0));
  g_signal_connect (message, "network-event", G_CALLBACK (offer_http1), NULL);
  return message;
}

/* --- a large body ------------------------------------------------------------------------- */

static void
large_free (gpointer data)
{
  Large *large = data;

  g_object_unref (large->message);
  g_free (large);
}

static GByteArray *
read_all (GInputStream *stream, gsize most, GCancellable *stop, GError **error)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  gssize n = 1;

  while (n > 0 && bytes->len <= most)
    {
      guint got = bytes->len;
      gsize room = MIN (CHUNK, most + 1 - got);

      g_byte_array_set_size (bytes, got + (guint)room);
      n = g_input_stream_read (stream, bytes->data + got, room, stop, error);
      g_byte_array_set_size (bytes, got + (guint)MAX (n, 0));
    }
  return n >= 0 ? g_steal_pointer (&bytes) : NULL;
}

/* The session and its connection end in here too. */
static GByteArray *
send (Large *large, GCancellable *stop, GError **error)
{
  g_autoptr (SoupSession) session = prism_e2b_session_new (1);
  g_autoptr (GInputStream) stream = soup_session_send (session, large->message, stop, error);
  GByteArray *bytes = stream != NULL ? read_all (stream, large->most, stop, error) : NULL;

  g_clear_object (&stream);
  soup_session_abort (session);
  return bytes;
}

static gpointer
thread_main (gpointer data)
{
  g_autoptr (GTask) task = data;
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (GError) error = NULL;
  GByteArray *bytes;

  g_main_context_push_thread_default (context);
  bytes = send (g_task_get_task_data (task), g_task_get_cancellable (task), &error);
  while (g_main_context_iteration (context, FALSE))
    ;
  g_main_context_pop_thread_default (context);
  if (bytes != NULL)
    g_task_return_pointer (task, bytes, (GDestroyNotify)g_byte_array_unref);
  else
    g_task_return_error (task, g_steal_pointer (&error));
  return NULL;
}

void
prism_e2b_send_large (SoupMessage *message, gsize most, GCancellable *stop, GAsyncReadyCallback callback, gpointer data)
{
  g_autoptr (GTask) task = g_task_new (NULL, stop, callback, data);
  g_autoptr (GError) error = NULL;
  Large *large = g_new0 (Large, 1);

  large->message = g_object_ref (message);
  large->most = most;
  g_task_set_task_data (task, large, large_free);
  /* What was answered before @stop counts. */
  g_task_set_check_cancellable (task, FALSE);
  large->thread = g_thread_try_new ("prism-e2b-large", thread_main, g_object_ref (task), &error);
  if (large->thread != NULL)
    return;
  g_object_unref (task); /* the thread's */
  g_task_return_error (task, g_steal_pointer (&error));
}

GByteArray *
prism_e2b_send_large_finish (GAsyncResult *result, GError **error)
{
  Large *large = g_task_get_task_data (G_TASK (result));

  /* It has nothing left to do. */
  g_clear_pointer (&large->thread, g_thread_join);
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* --- certificates --------------------------------------------------------------------------- */

GError *
prism_e2b_certificate_to_error (GTlsCertificateFlags flags)
{
  static const struct
  {
    GTlsCertificateFlags flag;
    const char *text;
  } faults[] = {
    { G_TLS_CERTIFICATE_UNKNOWN_CA, "is of no authority that this machine trusts" },
    { G_TLS_CERTIFICATE_BAD_IDENTITY, "is not for this name" },
    { G_TLS_CERTIFICATE_NOT_ACTIVATED, "is not valid yet, by this machine's clock" },
    { G_TLS_CERTIFICATE_EXPIRED, "is no longer valid, by this machine's clock" },
    { G_TLS_CERTIFICATE_REVOKED, "was revoked" },
    { G_TLS_CERTIFICATE_INSECURE, "is too weak" },
  };
  g_autoptr (GString) text = g_string_new ("the server's certificate");
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (faults); i++)
    if ((flags & faults[i].flag) != 0)
      g_string_append_printf (text, "%s %s", n++ > 0 ? "," : "", faults[i].text);
  return g_error_new_literal (G_TLS_ERROR, G_TLS_ERROR_BAD_CERTIFICATE, n > 0 ? text->str : "the certificate is wrong");
}
