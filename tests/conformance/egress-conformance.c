/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prism-egress-conformance [NAME]: the contract of PrismEgressProxy, against the
 * interface only: what a proxy must do to be one. NAME as for the registry; the one
 * of the highest priority without. Loopback only; names are not resolved. */
#include <libprism/prism.h>

#include <stdlib.h>
#include <string.h>

#define DEADLINE_S 20

static const char *proxy_name;

/* --- an origin, and clients -------------------------------------------------------- */

/* Answers each head with 200 and "hello"; what comes without one is sent back. */
static gboolean
serve (GThreadedSocketService *service, GSocketConnection *connection, GObject *source, gpointer data)
{
  GInputStream *in = g_io_stream_get_input_stream (G_IO_STREAM (connection));
  GOutputStream *out = g_io_stream_get_output_stream (G_IO_STREAM (connection));
  static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  char block[4096];
  gssize n;

  while ((n = g_input_stream_read (in, block, sizeof block, NULL, NULL)) > 0)
    {
      gboolean head = g_strstr_len (block, n, "\r\n\r\n") != NULL;

      g_atomic_int_inc ((gint *)data);
      if (!g_output_stream_write_all (out, head ? answer : block, head ? strlen (answer) : (gsize)n, NULL, NULL, NULL))
        break;
    }
  return TRUE;
}

typedef struct
{
  PrismEgressProxy *proxy;
  GSocketService *origin;
  guint16 origin_port;
  gint asked; /* atomic: how often the origin was */
  GPtrArray *records;
} Stage;

static void
note_record (PrismEgressProxy *proxy, PrismAuditRecord *record, Stage *stage)
{
  g_ptr_array_add (stage->records, prism_audit_record_copy (record));
}

static void
stage_set_up (Stage *stage, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  stage->records = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_audit_record_free);
  stage->origin = g_threaded_socket_service_new (16);
  stage->origin_port = g_socket_listener_add_any_inet_port (G_SOCKET_LISTENER (stage->origin), NULL, &error);
  g_assert_no_error (error);
  g_signal_connect (stage->origin, "run", G_CALLBACK (serve), &stage->asked);
  stage->proxy = prism_registry_create_egress_proxy (prism_registry_get_default (), proxy_name, &error);
  g_assert_no_error (error);
  g_signal_connect (stage->proxy, "audit", G_CALLBACK (note_record), stage);
}

static gboolean
look_again (gpointer data)
{
  return G_SOURCE_CONTINUE;
}

/* The main context goes on meanwhile: the origin accepts in it. */
static void
wait_until (gboolean (*is_true) (gpointer data), gpointer data)
{
  gint64 end = g_get_monotonic_time () + DEADLINE_S * G_USEC_PER_SEC;
  guint tick = g_timeout_add (1, look_again, NULL);

  while (!is_true (data))
    {
      g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_main_context_iteration (NULL, TRUE);
    }
  g_source_remove (tick);
}

/* Its last reference may be another thread's, which a weak pointer would not bear. */
static gboolean
is_gone (gpointer weak)
{
  g_autoptr (GObject) object = g_weak_ref_get (weak);

  return object == NULL;
}

/* Nothing keeps it once what is under way has come to its end. */
static void
stage_tear_down (Stage *stage, gconstpointer data)
{
  GWeakRef proxy;

  g_assert_true (prism_egress_proxy_stop (stage->proxy, NULL, NULL));
  g_weak_ref_init (&proxy, stage->proxy);
  g_object_unref (stage->proxy);
  wait_until (is_gone, &proxy);
  g_weak_ref_clear (&proxy);
  g_socket_service_stop (stage->origin);
  g_socket_listener_close (G_SOCKET_LISTENER (stage->origin));
  g_object_unref (stage->origin);
  g_ptr_array_unref (stage->records);
}

static PrismEgressPolicy *
policy_for (guint16 port)
{
  g_autoptr (PrismEgressRule) rule =
      prism_egress_rule_new ("127.0.0.1", port, PRISM_EGRESS_SCHEME_ANY, PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE, NULL);

  return prism_egress_policy_new_for_rules (&rule, 1, NULL, NULL);
}

static PrismEgressListener *
new_listener (Stage *stage)
{
  g_autoptr (GInetAddress) loopback = g_inet_address_new_loopback (G_SOCKET_FAMILY_IPV4);
  g_autoptr (GSocketAddress) address = g_inet_socket_address_new (loopback, 0);
  g_autoptr (PrismEgressPolicy) policy = policy_for (stage->origin_port);

  return prism_egress_listener_new_for_address (address, policy);
}

static void
add (Stage *stage, PrismEgressListener *listener)
{
  g_autoptr (GError) error = NULL;

  prism_egress_proxy_start (stage->proxy, NULL, &error);
  g_assert_no_error (error);
  prism_egress_proxy_add_listener (stage->proxy, listener, NULL, &error);
  g_assert_no_error (error);
}

static gboolean
is_readable (gpointer socket)
{
  return g_socket_condition_check (socket, G_IO_IN | G_IO_HUP | G_IO_ERR) != 0;
}

static GSocket *
dial (PrismEgressListener *listener)
{
  g_autofree char *endpoint = prism_egress_listener_dup_endpoint (listener);
  g_autoptr (GError) error = NULL;
  g_autoptr (GSocket) socket =
      g_socket_new (G_SOCKET_FAMILY_IPV4, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT, &error);
  g_autoptr (GSocketAddress) address = NULL;

  g_assert_nonnull (endpoint);
  g_assert_true (g_str_has_prefix (endpoint, "http://127.0.0.1:"));
  address = g_inet_socket_address_new_from_string ("127.0.0.1", (guint)atoi (strrchr (endpoint, ':') + 1));
  g_assert_true (g_socket_connect (socket, address, NULL, &error));
  return g_steal_pointer (&socket);
}

static void
say (GSocket *socket, const char *text)
{
  g_assert_cmpint (g_socket_send (socket, text, strlen (text), NULL, NULL), ==, strlen (text));
}

/* Until there is @part in it, or the end. */
static char *
hear (GSocket *socket, const char *part)
{
  g_autoptr (GString) text = g_string_new (NULL);
  char block[4096];

  while (part == NULL || strstr (text->str, part) == NULL)
    {
      gssize n;

      wait_until (is_readable, socket);
      n = g_socket_receive (socket, block, sizeof block, NULL, NULL);
      if (n <= 0)
        break;
      g_string_append_len (text, block, n);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static char *
ask (PrismEgressListener *listener, const char *request)
{
  g_autoptr (GSocket) socket = dial (listener);

  say (socket, request);
  return hear (socket, NULL);
}

static char *
get (Stage *stage, PrismEgressListener *listener, guint16 port)
{
  g_autofree char *request = g_strdup_printf ("GET http://127.0.0.1:%u/ HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                                              "Connection: close\r\n\r\n",
                                              port, port);

  return ask (listener, request);
}

static GSocket *
open_tunnel (Stage *stage, PrismEgressListener *listener)
{
  GSocket *socket = dial (listener);
  g_autofree char *request = g_strdup_printf ("CONNECT 127.0.0.1:%u HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
                                              stage->origin_port, stage->origin_port);
  g_autofree char *head = NULL;
  g_autofree char *back = NULL;

  say (socket, request);
  head = hear (socket, "\r\n\r\n");
  g_assert_true (g_str_has_prefix (head, "HTTP/1.1 200"));
  say (socket, "ping");
  back = hear (socket, "ping");
  g_assert_cmpstr (back, ==, "ping");
  return socket;
}

static gboolean
has_records (gpointer data)
{
  gpointer *pair = data;

  return ((GPtrArray *)pair[0])->len >= GPOINTER_TO_UINT (pair[1]);
}

static PrismAuditRecord *
nth_record (Stage *stage, guint n)
{
  wait_until (has_records, (gpointer[]){ stage->records, GUINT_TO_POINTER (n + 1) });
  return g_ptr_array_index (stage->records, n);
}

/* --- cases ------------------------------------------------------------------------- */

static void
test_states (Stage *stage, gconstpointer data)
{
  g_autoptr (PrismEgressListener) listener = new_listener (stage);
  g_autoptr (PrismEgressPolicy) policy = policy_for (1);
  g_autoptr (PrismAttestation) attestation = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_nonnull (prism_egress_proxy_get_name (stage->proxy));
  g_assert_null (prism_egress_listener_dup_endpoint (listener));
  g_assert_null (prism_egress_proxy_attest (stage->proxy, listener, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_ATTESTATION);
  g_clear_error (&error);
  g_assert_true (prism_egress_proxy_stop (stage->proxy, NULL, &error));
  for (guint i = 0; i < 2; i++)
    {
      g_assert_true (prism_egress_proxy_start (stage->proxy, NULL, &error));
      g_assert_no_error (error);
    }
  g_assert_false (prism_egress_proxy_set_policy (stage->proxy, listener, policy, NULL, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_STATE);
  g_clear_error (&error);
  add (stage, listener);
  attestation = prism_egress_proxy_attest (stage->proxy, listener, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_attestation_get_policy_version (attestation), ==, 0);
  g_assert_false (prism_egress_proxy_add_listener (stage->proxy, listener, NULL, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_STATE);
}

static void
test_plain (Stage *stage, gconstpointer data)
{
  g_autoptr (PrismEgressListener) listener = new_listener (stage);
  g_autofree char *allowed = NULL;
  g_autofree char *denied = NULL;
  g_autofree char *malformed = NULL;
  gint before;

  add (stage, listener);
  allowed = get (stage, listener, stage->origin_port);
  g_assert_true (g_str_has_prefix (allowed, "HTTP/1.1 200"));
  g_assert_true (g_str_has_suffix (allowed, "\r\n\r\nhello"));
  before = g_atomic_int_get (&stage->asked);
  denied = get (stage, listener, 9);
  g_assert_true (g_str_has_prefix (denied, "HTTP/1.1 403"));
  g_assert_nonnull (strstr (denied, "\r\n\r\nERR_PRISM_EGRESS_DENIED: "));
  g_assert_nonnull (strstr (denied, "127.0.0.1:9"));
  malformed = ask (listener, "GET http://127.0.0.1/ HTTP/1.1\r\nHost: other.test\r\nContent-Length: 1\r\n\r\nx");
  g_assert_true (g_str_has_prefix (malformed, "HTTP/1.1 400"));
  g_assert_cmpint (g_atomic_int_get (&stage->asked), ==, before);
}

static void
test_tunnel (Stage *stage, gconstpointer data)
{
  g_autoptr (PrismEgressListener) listener = new_listener (stage);
  g_autoptr (GSocket) tunnel = NULL;
  g_autofree char *denied = NULL;
  g_autofree char *portless = NULL;

  add (stage, listener);
  tunnel = open_tunnel (stage, listener);
  denied = ask (listener, "CONNECT 127.0.0.1:9 HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n");
  g_assert_true (g_str_has_prefix (denied, "HTTP/1.1 403"));
  portless = ask (listener, "CONNECT 127.0.0.1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  g_assert_true (g_str_has_prefix (portless, "HTTP/1.1 400"));
}

static void
test_policy (Stage *stage, gconstpointer data)
{
  g_autoptr (PrismEgressListener) listener = new_listener (stage);
  g_autoptr (PrismEgressPolicy) narrow = prism_egress_policy_new_deny_all ();
  g_autoptr (PrismEgressPolicy) wide = policy_for (stage->origin_port);
  g_autoptr (GSocket) tunnel = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *rest = NULL;
  g_autofree char *denied = NULL;
  g_autofree char *allowed = NULL;
  gint64 version;

  add (stage, listener);
  tunnel = open_tunnel (stage, listener);
  g_assert_true (prism_egress_proxy_set_policy (stage->proxy, listener, narrow, NULL, &error));
  g_object_unref (prism_egress_listener_dup_policy (listener, &version));
  g_assert_cmpint (version, ==, 1);
  rest = hear (tunnel, NULL);
  g_assert_cmpstr (rest, ==, "");
  denied = get (stage, listener, stage->origin_port);
  g_assert_true (g_str_has_prefix (denied, "HTTP/1.1 403"));
  g_assert_true (prism_egress_proxy_set_policy (stage->proxy, listener, wide, NULL, &error));
  allowed = get (stage, listener, stage->origin_port);
  g_assert_true (g_str_has_prefix (allowed, "HTTP/1.1 200"));
}

static void
test_records (Stage *stage, gconstpointer data)
{
  g_autoptr (PrismEgressListener) listener = new_listener (stage);
  g_autoptr (PrismEgressStats) stats = NULL;
  g_autofree char *allowed = NULL;
  g_autofree char *denied = NULL;
  PrismAuditRecord *record;

  g_object_set (listener, "label", "sandbox-1", NULL);
  add (stage, listener);
  allowed = get (stage, listener, stage->origin_port);
  record = nth_record (stage, 0);
  g_assert_cmpint (prism_audit_record_get_decision (record), ==, PRISM_AUDIT_DECISION_ALLOW);
  g_assert_cmpstr (prism_audit_record_get_host (record), ==, "127.0.0.1");
  g_assert_cmpuint (prism_audit_record_get_port (record), ==, stage->origin_port);
  g_assert_cmpstr (prism_audit_record_get_sandbox_id (record), ==, "sandbox-1");
  g_assert_nonnull (prism_audit_record_get_rule (record));
  g_assert_cmpint (prism_audit_record_get_bytes_sent (record), >, 0);
  g_assert_cmpint (prism_audit_record_get_bytes_received (record), >=, 5);
  denied = get (stage, listener, 9);
  record = nth_record (stage, 1);
  g_assert_cmpint (prism_audit_record_get_decision (record), ==, PRISM_AUDIT_DECISION_DENY);
  g_assert_nonnull (prism_audit_record_get_reason (record));
  stats = prism_egress_proxy_dup_stats (stage->proxy, listener);
  g_assert_cmpint (prism_egress_stats_get_denied (stats), ==, 1);
  g_assert_cmpint (prism_egress_stats_get_total_connections (stats), >=, 1);
  g_assert_cmpint (prism_egress_stats_get_total_bytes (stats), >, 0);
}

static void
test_limits (Stage *stage, gconstpointer data)
{
  g_autoptr (PrismEgressListener) listener = new_listener (stage);
  g_autofree char *large = NULL;
  g_autofree char *request = NULL;
  g_autofree char *slow = NULL;

  g_object_set (listener, "request-bytes", G_GINT64_CONSTANT (10), "request-head-ms", G_GINT64_CONSTANT (200), NULL);
  add (stage, listener);
  request = g_strdup_printf ("POST http://127.0.0.1:%u/ HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Length: 11\r\n\r\n"
                             "12345678901",
                             stage->origin_port, stage->origin_port);
  large = ask (listener, request);
  g_assert_true (g_str_has_prefix (large, "HTTP/1.1 413"));
  slow = ask (listener, "GET http://127");
  g_assert_true (slow[0] == '\0' || g_str_has_prefix (slow, "HTTP/1.1 408"));
}

static void
test_credential (Stage *stage, gconstpointer data)
{
  g_autoptr (PrismEgressListener) listener = new_listener (stage);
  g_autoptr (PrismCredential) credential = prism_credential_new ("127.0.0.1", "Authorization", "s3cr3t", NULL);
  g_autofree char *answer = NULL;

  prism_egress_listener_add_credential (listener, credential);
  add (stage, listener);
  /* The origin speaks no TLS: it gets nothing that it could read. */
  answer = get (stage, listener, stage->origin_port);
  g_assert_false (g_str_has_prefix (answer, "HTTP/1.1 200"));
  g_assert_null (strstr (answer, "s3cr3t"));
}

static void
test_remove (Stage *stage, gconstpointer data)
{
  g_autoptr (PrismEgressListener) listener = new_listener (stage);
  g_autoptr (PrismEgressListener) other = new_listener (stage);
  g_autoptr (GSocket) tunnel = NULL;
  g_autoptr (GSocket) kept = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *rest = NULL;
  g_autofree char *back = NULL;

  add (stage, listener);
  add (stage, other);
  tunnel = open_tunnel (stage, listener);
  kept = open_tunnel (stage, other);
  for (guint i = 0; i < 2; i++)
    {
      g_assert_true (prism_egress_proxy_remove_listener (stage->proxy, listener, NULL, &error));
      g_assert_no_error (error);
    }
  rest = hear (tunnel, NULL);
  g_assert_cmpstr (rest, ==, "");
  g_assert_null (prism_egress_listener_dup_endpoint (listener));
  say (kept, "still");
  back = hear (kept, "still");
  g_assert_cmpstr (back, ==, "still");
}

static void
test_last_reference (Stage *stage, gconstpointer data)
{
  g_autoptr (GSocket) tunnel = NULL;
  g_autofree char *rest = NULL;
  PrismEgressListener *listener = new_listener (stage);

  add (stage, listener);
  tunnel = open_tunnel (stage, listener);
  g_object_unref (listener);
  rest = hear (tunnel, NULL);
  g_assert_cmpstr (rest, ==, "");
}

static void
test_stop (Stage *stage, gconstpointer data)
{
  g_autoptr (PrismEgressListener) listener = new_listener (stage);
  g_autoptr (PrismEgressListener) again = new_listener (stage);
  g_autoptr (GSocket) tunnel = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *rest = NULL;
  g_autofree char *allowed = NULL;

  add (stage, listener);
  tunnel = open_tunnel (stage, listener);
  for (guint i = 0; i < 2; i++)
    g_assert_true (prism_egress_proxy_stop (stage->proxy, NULL, &error));
  rest = hear (tunnel, NULL);
  g_assert_cmpstr (rest, ==, "");
  g_assert_null (prism_egress_listener_dup_endpoint (listener));
  add (stage, again);
  allowed = get (stage, again, stage->origin_port);
  g_assert_true (g_str_has_prefix (allowed, "HTTP/1.1 200"));
}

static void
test_given_socket (Stage *stage, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GSocket) given =
      g_socket_new (G_SOCKET_FAMILY_IPV4, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT, &error);
  g_autoptr (GSocketAddress) address = g_inet_socket_address_new_from_string ("127.0.0.1", 0);
  g_autoptr (PrismEgressPolicy) policy = policy_for (stage->origin_port);
  g_autoptr (PrismEgressListener) listener = NULL;
  g_autofree char *allowed = NULL;

  g_assert_true (g_socket_bind (given, address, FALSE, &error) && g_socket_listen (given, &error));
  listener = prism_egress_listener_new_for_socket (given, policy);
  add (stage, listener);
  allowed = get (stage, listener, stage->origin_port);
  g_assert_true (g_str_has_prefix (allowed, "HTTP/1.1 200"));
}

static void
test_taken_address (Stage *stage, gconstpointer data)
{
  g_autoptr (PrismEgressListener) listener = new_listener (stage);
  g_autoptr (PrismEgressListener) second = NULL;
  g_autoptr (PrismEgressPolicy) policy = policy_for (stage->origin_port);
  g_autoptr (GSocketAddress) address = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *endpoint = NULL;

  add (stage, listener);
  endpoint = prism_egress_listener_dup_endpoint (listener);
  address = g_inet_socket_address_new_from_string ("127.0.0.1", (guint)atoi (strrchr (endpoint, ':') + 1));
  second = prism_egress_listener_new_for_address (address, policy);
  g_assert_false (prism_egress_proxy_add_listener (stage->proxy, second, NULL, &error));
  g_assert_true (error->domain == PRISM_EGRESS_ERROR);
  g_assert_true (g_str_has_prefix (error->message, prism_egress_proxy_get_name (stage->proxy)));
  g_assert_null (prism_egress_listener_dup_endpoint (second));
}

#define CASE(path, test) g_test_add ("/egress-proxy/" path, Stage, NULL, stage_set_up, test, stage_tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  proxy_name = argc > 1 ? argv[1] : NULL;
  CASE ("states", test_states);
  CASE ("plain", test_plain);
  CASE ("tunnel", test_tunnel);
  CASE ("policy", test_policy);
  CASE ("records", test_records);
  CASE ("limits", test_limits);
  CASE ("credential", test_credential);
  CASE ("remove", test_remove);
  CASE ("last-reference", test_last_reference);
  CASE ("stop", test_stop);
  CASE ("given-socket", test_given_socket);
  CASE ("taken-address", test_taken_address);
  return g_test_run ();
}
