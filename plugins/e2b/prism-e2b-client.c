/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-e2b-client.h"

#include <string.h>

#include "prism-e2b-envelope.h"
#include "prism-e2b-transport.h"

#define DEFAULT_DOMAIN "e2b.app"
#define DEFAULT_US     (60 * G_USEC_PER_SEC)
#define MOST_BYTES     (8u * 1024u * 1024u)
#define CHUNK          (256u * 1024u)
#define MOST_TRIES     4
#define PAUSE_MS       200 /* before a broken connection is tried again, once, twice … */
/* Each running command holds a stream; the requests beside it must not wait for one. */
#define AT_ONCE 512

struct _PrismE2bClient
{
  gatomicrefcount refs;
  GMainContext *context;
  GMainLoop *loop;
  SoupSession *session; /* the thread's */
  PrismRedactor *redactor;
  char *api_key;
  char *api_url;
  char *sandbox_url; /* NULL: each sandbox has its own name below the domain */
  char *domain;
};

struct _PrismE2bCall
{
  PrismE2bClient *client;
  PrismE2bRequest request; /* with texts of its own */
  PrismE2bIdentity identity;
  char *uri;
  PrismE2bAnswered answered;
  gpointer data;
  SoupMessage *message;
  GCancellable *stop;
  GInputStream *stream;
  GByteArray *bytes;
  gsize got; /* of them, before what is being read */
  GSource *timer, *pause;
  guint tries;
  GTlsCertificateFlags certificate; /* what is wrong with the server's */
  gboolean late;
  gboolean under_way; /* something asynchronous will come back */
};

/* --- the thread --------------------------------------------------------------------------- */

static gpointer
thread_main (gpointer data)
{
  PrismE2bClient *self = data;

  g_main_context_push_thread_default (self->context);
  self->session = prism_e2b_session_new (AT_ONCE);
  g_main_loop_run (self->loop);
  soup_session_abort (self->session);
  while (g_main_context_iteration (self->context, FALSE))
    ;
  g_clear_object (&self->session);
  while (g_main_context_iteration (self->context, FALSE))
    ;
  g_main_context_pop_thread_default (self->context);
  g_main_loop_unref (self->loop);
  g_main_context_unref (self->context);
  g_object_unref (self->redactor);
  g_free (self->api_key);
  g_free (self->api_url);
  g_free (self->sandbox_url);
  g_free (self->domain);
  g_free (self);
  return NULL;
}

static gboolean
is_this_machine (const char *host)
{
  return g_strcmp0 (host, "localhost") == 0 || g_strcmp0 (host, "127.0.0.1") == 0 || g_strcmp0 (host, "::1") == 0;
}

static char *
check_url (const char *url, const char *name, GError **error)
{
  g_autoptr (GUri) uri = g_uri_parse (url, G_URI_FLAGS_NONE, error);
  gboolean plain = uri != NULL && strcmp (g_uri_get_scheme (uri), "http") == 0;
  gsize length = strlen (url);

  if (uri == NULL)
    {
      g_prefix_error (error, "%s: ", name);
      return NULL;
    }
  if ((!plain && strcmp (g_uri_get_scheme (uri), "https") != 0) || g_uri_get_host (uri) == NULL
      || g_uri_get_query (uri) != NULL || g_uri_get_userinfo (uri) != NULL)
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID, "%s: https://HOST[:PORT] is wanted", name);
  else if (plain && !is_this_machine (g_uri_get_host (uri)))
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
                 "%s: the key goes over plain HTTP to this machine only; use https", name);
  else
    return g_strndup (url, length > 0 && url[length - 1] == '/' ? length - 1 : length);
  return NULL;
}

static const char *
choose (const char *own, const char *variable, const char *otherwise)
{
  const char *text = own != NULL && *own != 0 ? own : g_getenv (variable);
  return text != NULL && *text != 0 ? text : otherwise;
}

static gboolean
set_up (PrismE2bClient *self, const PrismE2bOptions *options, GError **error)
{
  const char *key = choose (options->api_key, "E2B_API_KEY", NULL);
  const char *api = choose (options->api_url, "E2B_API_URL", NULL);
  const char *sandbox = choose (options->sandbox_url, "E2B_SANDBOX_URL", NULL);

  self->domain = g_strdup (choose (options->domain, "E2B_DOMAIN", DEFAULT_DOMAIN));
  if (key == NULL)
    {
      g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE,
                           "there is no API key; set E2B_API_KEY, or the property api-key");
      return FALSE;
    }
  if (!prism_e2b_page_token_is_valid (key) || g_hostname_is_non_ascii (self->domain))
    {
      g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID,
                           "the API key or the domain has characters that neither can have");
      return FALSE;
    }
  self->api_key = g_strdup (key);
  prism_redactor_add (self->redactor, key);
  if (api != NULL)
    self->api_url = check_url (api, "api-url", error);
  else
    {
      g_autofree char *url = g_strconcat ("https://api.", self->domain, NULL);
      self->api_url = check_url (url, "domain", error);
    }
  if (self->api_url == NULL)
    return FALSE;
  return sandbox == NULL || (self->sandbox_url = check_url (sandbox, "sandbox-url", error)) != NULL;
}

PrismE2bClient *
prism_e2b_client_new (const PrismE2bOptions *options, GError **error)
{
  PrismE2bClient *self = g_new0 (PrismE2bClient, 1);

  g_atomic_ref_count_init (&self->refs);
  self->redactor = prism_redactor_new ();
  self->context = g_main_context_new ();
  self->loop = g_main_loop_new (self->context, FALSE);
  if (set_up (self, options, error))
    {
      g_thread_unref (g_thread_new ("prism-e2b", thread_main, self));
      return self;
    }
  g_main_loop_unref (self->loop);
  g_main_context_unref (self->context);
  g_object_unref (self->redactor);
  g_free (self->api_key);
  g_free (self->api_url);
  g_free (self->domain);
  g_free (self);
  return NULL;
}

PrismE2bClient *
prism_e2b_client_ref (PrismE2bClient *self)
{
  g_atomic_ref_count_inc (&self->refs);
  return self;
}

static gboolean
quit (gpointer data)
{
  g_main_loop_quit (((PrismE2bClient *)data)->loop);
  return G_SOURCE_REMOVE;
}

/* In the thread itself the loop ends after this turn; it frees all of it. */
void
prism_e2b_client_unref (PrismE2bClient *self)
{
  g_autoptr (GSource) source = NULL;

  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  source = g_idle_source_new ();
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, quit, self, NULL);
  g_source_attach (source, self->context);
}

GMainContext *
prism_e2b_client_get_context (PrismE2bClient *self)
{
  return self->context;
}

PrismRedactor *
prism_e2b_client_get_redactor (PrismE2bClient *self)
{
  return self->redactor;
}

void
prism_e2b_client_invoke (PrismE2bClient *self, GSourceFunc func, gpointer data, GDestroyNotify free_data)
{
  g_autoptr (GSource) source = g_idle_source_new ();

  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, func, data, free_data);
  g_source_attach (source, self->context);
}

void
prism_e2b_reply_clear (PrismE2bReply *self)
{
  g_clear_pointer (&self->body, g_bytes_unref);
  g_clear_object (&self->stream);
  g_clear_pointer (&self->next_token, g_free);
}

/* --- a call --------------------------------------------------------------------------------- */

void
prism_e2b_stop_source (GSource **source)
{
  if (*source != NULL)
    g_source_destroy (*source);
  g_clear_pointer (source, g_source_unref);
}

static void
call_free (PrismE2bCall *call)
{
  prism_e2b_stop_source (&call->timer);
  prism_e2b_stop_source (&call->pause);
  g_clear_object (&call->message);
  g_clear_object (&call->stream);
  g_clear_object (&call->stop);
  g_clear_pointer (&call->request.body, g_bytes_unref);
  g_byte_array_unref (call->bytes);
  prism_e2b_identity_clear (&call->identity);
  g_free ((char *)call->request.method);
  g_free ((char *)call->request.type);
  g_free ((char *)call->request.user);
  g_free ((char *)call->request.range);
  g_free (call->uri);
  prism_e2b_client_unref (call->client);
  g_free (call);
}

/* Answers it and frees it; who cancelled it hears nothing. */
static void
finish (PrismE2bCall *call, PrismE2bReply *reply, const GError *error)
{
  PrismE2bAnswered answered = call->answered;
  gpointer data = call->data;

  if (answered != NULL)
    {
      g_autoptr (GError) clean = error != NULL ? prism_redactor_redact_error (call->client->redactor, error) : NULL;
      call->answered = NULL;
      answered (reply, clean, data);
    }
  call_free (call);
}

static void try_it (PrismE2bCall *call);

static gboolean
try_again (gpointer data)
{
  PrismE2bCall *call = data;

  prism_e2b_stop_source (&call->pause);
  try_it (call);
  return G_SOURCE_REMOVE;
}

/* FALSE: it is not to be tried again, or not in time. */
static gboolean
schedule (PrismE2bCall *call, gint64 ms)
{
  if (call->answered == NULL || call->late || call->tries >= MOST_TRIES
      || g_get_monotonic_time () + ms * 1000 >= call->request.deadline)
    return FALSE;
  g_debug ("%s: tried again in %" G_GINT64_FORMAT " ms", call->request.what, ms);
  g_clear_object (&call->message);
  g_clear_object (&call->stream);
  g_byte_array_set_size (call->bytes, 0);
  call->pause = g_timeout_source_new ((guint)ms);
  g_source_set_callback (call->pause, try_again, call, NULL);
  g_source_attach (call->pause, call->client->context);
  return TRUE;
}

/* libsoup cannot read an answer that ends amid its head. */
static gboolean
is_cut (const GError *failure)
{
  return g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_CONNECTION_CLOSED)
         || g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT)
         || g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_BROKEN_PIPE)
         || g_error_matches (failure, SOUP_SESSION_ERROR, SOUP_SESSION_ERROR_PARSING);
}

static void
fail (PrismE2bCall *call, const GError *failure)
{
  g_autoptr (GError) late = NULL, untrusted = NULL, error = NULL;
  gboolean cut = is_cut (failure);

  if (cut && call->request.idempotent
      && schedule (call, PAUSE_MS * (gint64)call->tries + g_random_int_range (0, PAUSE_MS)))
    return;
  if (call->late)
    failure = late = g_error_new_literal (G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "no answer in time");
  else if (g_error_matches (failure, G_TLS_ERROR, G_TLS_ERROR_BAD_CERTIFICATE) && call->certificate != 0)
    failure = untrusted = prism_e2b_certificate_to_error (call->certificate);
  error = prism_e2b_transport_to_error (failure, call->request.what, call->request.idempotent);
  finish (call, NULL, error);
}

/* 0: none. */
static gint64
parse_date (const char *text)
{
  g_autoptr (GDateTime) date = text != NULL ? soup_date_time_new_from_http_string (text) : NULL;

  return date != NULL ? g_date_time_to_unix (date) * G_USEC_PER_SEC : 0;
}

static void
judge (PrismE2bCall *call)
{
  SoupMessageHeaders *headers = soup_message_get_response_headers (call->message);
  guint status = soup_message_get_status (call->message);
  g_auto (PrismE2bReply) reply = { .status = status };
  int seconds = prism_e2b_retry_after_parse (soup_message_headers_get_one (headers, "Retry-After"));

  reply.body = g_byte_array_free_to_bytes (call->bytes);
  call->bytes = g_byte_array_new ();
  reply.date_us = parse_date (soup_message_headers_get_one (headers, "Date"));
  reply.next_token = g_strdup (soup_message_headers_get_one (headers, "X-Next-Token"));
  if (status >= 200 && status <= 299 && !call->request.stream)
    {
      finish (call, &reply, NULL);
      return;
    }
  if (status == 429 && seconds >= 0 && !call->request.stream && schedule (call, seconds * G_GINT64_CONSTANT (1000)))
    return;
  {
    PrismE2bFailure failure = { call->request.plane,
                                call->request.what,
                                status,
                                reply.body,
                                soup_message_headers_get_one (headers, "X-Request-Id"),
                                call->request.idempotent };
    g_autoptr (GError) error = prism_e2b_failure_to_error (&failure, call->client->redactor, NULL);
    finish (call, NULL, error);
  }
}

static void
answer_too_large (PrismE2bCall *call)
{
  g_autoptr (GError) error = g_error_new (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT,
                                          "cannot %s: the answer is larger than %" G_GSIZE_FORMAT " bytes",
                                          call->request.what, call->request.most_bytes);
  finish (call, NULL, error);
}

static void read_more (PrismE2bCall *call);

static void
body_arrived (GObject *source, GAsyncResult *result, gpointer data)
{
  PrismE2bCall *call = data;
  g_autoptr (GError) error = NULL;
  gssize n = g_input_stream_read_finish (G_INPUT_STREAM (source), result, &error);

  call->under_way = FALSE;
  g_byte_array_set_size (call->bytes, (guint)(call->got + (gsize)MAX (n, 0)));
  if (call->answered == NULL)
    call_free (call);
  else if (n < 0)
    fail (call, error);
  else if (n == 0)
    judge (call);
  else if ((gsize)n > call->request.most_bytes - call->got)
    answer_too_large (call);
  else
    read_more (call);
}

/* Straight to where it stays: a large file is in memory once. */
static void
read_more (PrismE2bCall *call)
{
  call->under_way = TRUE;
  call->got = call->bytes->len;
  g_byte_array_set_size (call->bytes, (guint)(call->got + CHUNK));
  g_input_stream_read_async (call->stream, call->bytes->data + call->got, CHUNK, G_PRIORITY_DEFAULT, call->stop,
                             body_arrived, call);
}

/* What the server says of the length only saves moving it about. */
static void
make_room (PrismE2bCall *call)
{
  SoupMessageHeaders *headers = soup_message_get_response_headers (call->message);
  goffset length = soup_message_headers_get_content_length (headers);

  if (length <= (goffset)CHUNK || (gsize)length > call->request.most_bytes)
    return;
  g_byte_array_unref (call->bytes);
  call->bytes = g_byte_array_sized_new ((guint)length + CHUNK);
}

static gboolean
is_stream (PrismE2bCall *call)
{
  SoupMessageHeaders *headers = soup_message_get_response_headers (call->message);

  return call->request.stream && soup_message_get_status (call->message) == 200
         && g_strcmp0 (soup_message_headers_get_content_type (headers, NULL), "application/connect+json") == 0;
}

static void
head_arrived (GObject *source, GAsyncResult *result, gpointer data)
{
  PrismE2bCall *call = data;
  g_autoptr (GError) error = NULL;

  call->under_way = FALSE;
  call->stream = soup_session_send_finish (SOUP_SESSION (source), result, &error);
  if (call->answered == NULL)
    call_free (call);
  else if (call->stream == NULL)
    fail (call, error);
  else if (is_stream (call))
    {
      g_auto (PrismE2bReply) reply = { .status = 200, .stream = g_steal_pointer (&call->stream) };
      finish (call, &reply, NULL);
    }
  else
    {
      make_room (call);
      read_more (call);
    }
}

static void
large_over (GObject *source, GAsyncResult *result, gpointer data)
{
  PrismE2bCall *call = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GByteArray) answer = prism_e2b_send_large_finish (result, &error);

  call->under_way = FALSE;
  if (call->answered == NULL)
    call_free (call);
  else if (answer == NULL)
    fail (call, error);
  else if (answer->len > call->request.most_bytes)
    answer_too_large (call);
  else
    {
      g_byte_array_unref (call->bytes);
      call->bytes = g_steal_pointer (&answer);
      judge (call);
    }
}

static gboolean
is_large (PrismE2bCall *call)
{
  return call->request.body != NULL && !call->request.stream
         && g_bytes_get_size (call->request.body) >= PRISM_E2B_LARGE_BODY;
}

static void
add_headers (PrismE2bCall *call)
{
  SoupMessageHeaders *headers = soup_message_get_request_headers (call->message);
  const PrismE2bIdentity *identity = call->request.identity;

  soup_message_headers_replace (headers, "Accept-Encoding", "identity");
  if (call->request.plane == PRISM_E2B_PLANE_CONTROL)
    {
      soup_message_headers_replace (headers, "X-API-Key", call->client->api_key);
      return;
    }
  soup_message_headers_replace (headers, "E2b-Sandbox-Id", identity->id);
  soup_message_headers_replace (headers, "E2b-Sandbox-Port", G_STRINGIFY (PRISM_E2B_ENVD_PORT));
  if (identity->access_token != NULL)
    soup_message_headers_replace (headers, "X-Access-Token", identity->access_token);
  if (call->request.range != NULL)
    soup_message_headers_replace (headers, "Range", call->request.range);
  if (call->request.rpc)
    soup_message_headers_replace (headers, "Connect-Protocol-Version", "1");
  if (call->request.stream)
    soup_message_headers_replace (headers, "Keepalive-Ping-Interval", "50");
  if (call->request.service_ms > 0)
    {
      g_autofree char *ms = g_strdup_printf ("%" G_GINT64_FORMAT, call->request.service_ms);
      soup_message_headers_replace (headers, "Connect-Timeout-Ms", ms);
    }
  if (call->request.user != NULL)
    {
      g_autofree char *pair = g_strconcat (call->request.user, ":", NULL);
      g_autofree char *code = g_base64_encode ((const guint8 *)pair, strlen (pair));
      g_autofree char *value = g_strconcat ("Basic ", code, NULL);
      soup_message_headers_replace (headers, "Authorization", value);
    }
}

/* Never accepted; what is wrong with it is said. */
static gboolean
look_at_certificate (SoupMessage *message, GTlsCertificate *certificate, GTlsCertificateFlags flags, gpointer data)
{
  ((PrismE2bCall *)data)->certificate = flags;
  return FALSE;
}

static void
try_it (PrismE2bCall *call)
{
  call->tries++;
  call->message = prism_e2b_message_new (call->request.method, call->uri, call->request.idempotent);
  if (call->message == NULL)
    {
      g_autoptr (GError) error = g_error_new (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID,
                                              "cannot %s: no address comes of that", call->request.what);
      finish (call, NULL, error);
      return;
    }
  g_signal_connect (call->message, "accept-certificate", G_CALLBACK (look_at_certificate), call);
  add_headers (call);
  if (call->request.body != NULL)
    soup_message_set_request_body_from_bytes (call->message, call->request.type, call->request.body);
  call->under_way = TRUE;
  if (is_large (call))
    prism_e2b_send_large (call->message, call->request.most_bytes, call->stop, large_over, call);
  else
    soup_session_send_async (call->client->session, call->message, G_PRIORITY_DEFAULT, call->stop, head_arrived, call);
}

static gboolean
became_late (gpointer data)
{
  PrismE2bCall *call = data;

  call->late = TRUE;
  if (call->under_way)
    g_cancellable_cancel (call->stop);
  else
    {
      g_autoptr (GError) late = g_error_new_literal (G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "no answer in time");
      fail (call, late);
    }
  return G_SOURCE_REMOVE;
}

static char *
make_uri (PrismE2bClient *self, const PrismE2bRequest *request)
{
  const char *domain;

  if (request->plane == PRISM_E2B_PLANE_CONTROL)
    return g_strconcat (self->api_url, request->path, NULL);
  if (self->sandbox_url != NULL)
    return g_strconcat (self->sandbox_url, request->path, NULL);
  domain = request->identity->domain != NULL ? request->identity->domain : self->domain;
  return g_strdup_printf ("https://%d-%s.%s%s", PRISM_E2B_ENVD_PORT, request->identity->id, domain, request->path);
}

PrismE2bCall *
prism_e2b_client_send (PrismE2bClient *self, const PrismE2bRequest *request, PrismE2bAnswered answered, gpointer data)
{
  PrismE2bCall *call = g_new0 (PrismE2bCall, 1);
  gint64 now = g_get_monotonic_time (), deadline = request->deadline != 0 ? request->deadline : now + DEFAULT_US;

  call->client = prism_e2b_client_ref (self);
  call->request = *request;
  if (request->identity != NULL)
    {
      call->identity.id = g_strdup (request->identity->id);
      call->identity.access_token = g_strdup (request->identity->access_token);
      call->request.identity = &call->identity;
    }
  call->request.method = g_strdup (request->method);
  call->request.type = g_strdup (request->stream         ? "application/connect+json"
                                 : request->type != NULL ? request->type
                                                         : "application/json");
  call->request.user = g_strdup (request->user);
  call->request.range = g_strdup (request->range);
  call->request.body = request->body == NULL ? NULL
                       : request->stream     ? prism_e2b_envelope_new (request->body)
                                             : g_bytes_ref (request->body);
  call->request.path = NULL;
  call->request.deadline = deadline;
  if (call->request.most_bytes == 0)
    call->request.most_bytes = MOST_BYTES;
  call->uri = make_uri (self, request);
  call->answered = answered;
  call->data = data;
  call->stop = g_cancellable_new ();
  call->bytes = g_byte_array_new ();
  call->timer = g_timeout_source_new ((guint)CLAMP ((deadline - now + 999) / 1000, 0, G_MAXINT));
  g_source_set_callback (call->timer, became_late, call, NULL);
  g_source_attach (call->timer, self->context);
  /* Never answered from within this function. */
  call->pause = g_idle_source_new ();
  g_source_set_priority (call->pause, G_PRIORITY_DEFAULT);
  g_source_set_callback (call->pause, try_again, call, NULL);
  g_source_attach (call->pause, self->context);
  return call;
}

void
prism_e2b_call_cancel (PrismE2bCall *call)
{
  call->answered = NULL;
  prism_e2b_stop_source (&call->timer);
  if (call->under_way)
    g_cancellable_cancel (call->stop);
  else
    call_free (call);
}
