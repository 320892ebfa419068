/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What stands between a caller and an egress proxy: a proxy that does nothing but
 * keep the rules, and one that has no methods at all. */
#include "prism-bounds.h"
#include "prism-egress-default-private.h"
#include "prism-egress-proxy.h"
#include "prism-error.h"

#include <gio/gunixsocketaddress.h>
#include <string.h>

/* --- a proxy that listens nowhere ------------------------------------------------ */

#define TEST_TYPE_PROXY (test_proxy_get_type ())
G_DECLARE_FINAL_TYPE (TestProxy, test_proxy, TEST, PROXY, GObject)

struct _TestProxy
{
  GObject parent_instance;

  PrismEgressListener *own;
  guint started, stopped, added, changed;
  GMutex lock; /* for removed: a listener that is dropped is removed by a thread of its own */
  GCond ended;
  guint removed;
  gboolean hold; /* keeps add_listener's operation */
  PrismEgressOperation *held;
};

enum
{
  PROP_0,
  PROP_LISTENER,
};

static const char *
test_proxy_get_name (PrismEgressProxy *proxy)
{
  return "test-proxy";
}

static void
test_proxy_start (PrismEgressProxy *proxy, PrismEgressOperation *operation)
{
  TestProxy *self = TEST_PROXY (proxy);

  if (self->started++ == self->stopped && self->own != NULL)
    prism_egress_listener_opened (self->own, "http://127.0.0.1:3128");
  prism_egress_operation_complete (operation);
}

static void
test_proxy_stop (PrismEgressProxy *proxy, PrismEgressOperation *operation)
{
  TestProxy *self = TEST_PROXY (proxy);

  self->stopped = self->started;
  if (self->own != NULL)
    prism_egress_listener_closed (self->own);
  prism_egress_operation_complete (operation);
}

static void
test_proxy_add_listener (PrismEgressProxy *proxy, PrismEgressOperation *operation)
{
  TestProxy *self = TEST_PROXY (proxy);

  self->added++;
  if (self->hold)
    {
      g_set_object (&self->held, operation);
      return;
    }
  prism_egress_listener_opened (prism_egress_operation_get_listener (operation), "http://[::1]:4000");
  prism_egress_operation_complete (operation);
}

static void
test_proxy_remove_listener (PrismEgressProxy *proxy, PrismEgressOperation *operation)
{
  prism_egress_listener_closed (prism_egress_operation_get_listener (operation));
  g_mutex_lock (&TEST_PROXY (proxy)->lock);
  TEST_PROXY (proxy)->removed++;
  g_cond_signal (&TEST_PROXY (proxy)->ended);
  g_mutex_unlock (&TEST_PROXY (proxy)->lock);
  prism_egress_operation_complete (operation);
}

static void
test_proxy_set_policy (PrismEgressProxy *proxy, PrismEgressOperation *operation)
{
  TEST_PROXY (proxy)->changed++;
  prism_egress_listener_apply_policy (prism_egress_operation_get_listener (operation),
                                      prism_egress_operation_get_policy (operation));
  prism_egress_operation_complete (operation);
}

static PrismEgressStats *
test_proxy_dup_stats (PrismEgressProxy *proxy, PrismEgressListener *listener)
{
  return prism_egress_stats_new (listener != NULL ? 1 : 2, 3, 40, 500, 6);
}

static void
test_proxy_iface_init (PrismEgressProxyInterface *iface)
{
  iface->get_name = test_proxy_get_name;
  iface->start = test_proxy_start;
  iface->stop = test_proxy_stop;
  iface->add_listener = test_proxy_add_listener;
  iface->remove_listener = test_proxy_remove_listener;
  iface->set_policy = test_proxy_set_policy;
  iface->dup_stats = test_proxy_dup_stats;
}

G_DEFINE_FINAL_TYPE_WITH_CODE (TestProxy,
                               test_proxy,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_EGRESS_PROXY, test_proxy_iface_init))

static void
test_proxy_get_property (GObject *object, guint property_id, GValue *value, GParamSpec *pspec)
{
  g_value_set_object (value, TEST_PROXY (object)->own);
}

static void
test_proxy_finalize (GObject *object)
{
  g_clear_object (&TEST_PROXY (object)->own);
  g_clear_object (&TEST_PROXY (object)->held);
  g_mutex_clear (&TEST_PROXY (object)->lock);
  g_cond_clear (&TEST_PROXY (object)->ended);
  G_OBJECT_CLASS (test_proxy_parent_class)->finalize (object);
}

static void
test_proxy_class_init (TestProxyClass *klass)
{
  G_OBJECT_CLASS (klass)->get_property = test_proxy_get_property;
  G_OBJECT_CLASS (klass)->finalize = test_proxy_finalize;
  g_object_class_override_property (G_OBJECT_CLASS (klass), PROP_LISTENER, "listener");
}

static void
test_proxy_init (TestProxy *self)
{
  g_mutex_init (&self->lock);
  g_cond_init (&self->ended);
}

static PrismEgressListener *
new_listener (const char *rule)
{
  g_autoptr (GInetAddress) loopback = g_inet_address_new_loopback (G_SOCKET_FAMILY_IPV4);
  g_autoptr (GSocketAddress) address = g_inet_socket_address_new (loopback, 0);
  g_autoptr (PrismEgressPolicy) policy = prism_egress_policy_new_static ((const char *const[]){ rule, NULL }, NULL);

  return prism_egress_listener_new_for_address (address, policy);
}

/* --- tests ----------------------------------------------------------------------- */

static void
test_own_listener (void)
{
  g_autoptr (TestProxy) test = g_object_new (TEST_TYPE_PROXY, NULL);
  PrismEgressProxy *proxy = PRISM_EGRESS_PROXY (test);
  g_autoptr (PrismEgressPolicy) narrow = prism_egress_policy_new_deny_all ();
  g_autoptr (PrismAttestation) attestation = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *endpoint = NULL;
  g_autofree char *closed = NULL;
  g_autofree char *again = NULL;

  test->own = new_listener ("https://good.test");
  g_object_set (test->own, "deny-direct-egress", TRUE, NULL);
  g_assert_null (prism_egress_proxy_dup_endpoint (proxy));
  g_assert_null (prism_egress_proxy_attest (proxy, NULL, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_ATTESTATION);
  g_clear_error (&error);
  g_assert_false (prism_egress_proxy_set_policy (proxy, NULL, narrow, NULL, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_STATE);
  g_clear_error (&error);

  for (guint i = 0; i < 2; i++)
    {
      g_assert_true (prism_egress_proxy_start (proxy, NULL, &error));
      g_assert_no_error (error);
    }
  endpoint = prism_egress_proxy_dup_endpoint (proxy);
  g_assert_cmpstr (endpoint, ==, "http://127.0.0.1:3128");
  g_assert_cmpint (prism_egress_proxy_get_policy_version (proxy), ==, 0);
  g_assert_true (prism_egress_proxy_set_policy (proxy, NULL, narrow, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (prism_egress_proxy_get_policy_version (proxy), ==, 1);
  attestation = prism_egress_proxy_attest (proxy, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_attestation_get_policy_version (attestation), ==, 1);
  g_assert_true (prism_attestation_get_deny_direct_egress (attestation));
  g_assert_cmpstr (prism_attestation_get_policy_fingerprint (attestation), ==,
                   prism_egress_policy_get_fingerprint (narrow));

  g_assert_true (prism_egress_proxy_stop (proxy, NULL, &error));
  closed = prism_egress_proxy_dup_endpoint (proxy);
  g_assert_null (closed);
  g_assert_true (prism_egress_proxy_start (proxy, NULL, &error));
  again = prism_egress_proxy_dup_endpoint (proxy);
  g_assert_nonnull (again);
}

/* A listener holds its proxy; whoever holds the listener keeps it open. */
static void
test_added_listener (void)
{
  TestProxy *test = g_object_new (TEST_TYPE_PROXY, NULL);
  PrismEgressProxy *proxy = PRISM_EGRESS_PROXY (test);
  TestProxy *other = g_object_new (TEST_TYPE_PROXY, NULL);
  PrismEgressListener *listener = new_listener ("https://good.test");
  g_autoptr (PrismEgressListener) second = new_listener ("https://good.test");
  g_autoptr (PrismEgressPolicy) policy = prism_egress_policy_new_allow_all ();
  g_autoptr (PrismEgressStats) stats = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (prism_egress_proxy_start (proxy, NULL, &error));
  g_assert_cmpint (prism_egress_proxy_get_policy_version (proxy), ==, -1);
  g_assert_false (prism_egress_proxy_set_policy (proxy, NULL, policy, NULL, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_STATE);
  g_clear_error (&error);
  g_assert_true (prism_egress_proxy_add_listener (proxy, listener, NULL, &error));
  g_assert_no_error (error);
  g_assert_false (prism_egress_proxy_add_listener (proxy, listener, NULL, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_STATE);
  g_clear_error (&error);
  g_assert_false (prism_egress_proxy_set_policy (PRISM_EGRESS_PROXY (other), listener, policy, NULL, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_STATE);
  g_clear_error (&error);
  g_assert_true (prism_egress_proxy_set_policy (proxy, listener, policy, NULL, &error));
  stats = prism_egress_proxy_dup_stats (proxy, listener);
  g_assert_cmpint (prism_egress_stats_get_active_connections (stats), ==, 1);
  g_assert_cmpint (prism_egress_stats_get_total_bytes (stats), ==, 540);
  g_assert_cmpint (prism_egress_stats_get_denied (stats), ==, 6);

  g_assert_true (prism_egress_proxy_add_listener (proxy, second, NULL, &error));
  g_assert_true (prism_egress_proxy_remove_listener (proxy, second, NULL, &error));
  g_assert_true (prism_egress_proxy_remove_listener (proxy, second, NULL, &error));
  g_assert_no_error (error);

  g_assert_finalize_object (other);
  g_object_add_weak_pointer (G_OBJECT (proxy), (gpointer *)&proxy);
  g_object_unref (proxy);
  g_assert_nonnull (proxy);
  g_object_unref (listener);
  for (gint64 deadline = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;
       proxy != NULL && g_get_monotonic_time () < deadline;)
    g_main_context_iteration (NULL, FALSE);
  g_assert_null (proxy);
}

static void
test_listener_refused (void)
{
  g_autoptr (TestProxy) test = g_object_new (TEST_TYPE_PROXY, NULL);
  PrismEgressProxy *proxy = PRISM_EGRESS_PROXY (test);
  g_autoptr (GInetAddress) any = g_inet_address_new_any (G_SOCKET_FAMILY_IPV4);
  g_autoptr (GSocketAddress) everywhere = g_inet_socket_address_new (any, 8080);
  g_autoptr (GSocketAddress) path = g_unix_socket_address_new ("/run/prism/proxy");
  g_autoptr (PrismEgressPolicy) policy = prism_egress_policy_new_allow_all ();
  g_autoptr (PrismEgressListener) outside = prism_egress_listener_new_for_address (everywhere, policy);
  g_autoptr (PrismEgressListener) nowhere = g_object_new (PRISM_TYPE_EGRESS_LISTENER, NULL);
  g_autoptr (PrismEgressListener) limits = prism_egress_listener_new_for_address (path, policy);
  g_autoptr (GPtrArray) rules = prism_egress_policy_load_preset ("github", NULL);
  g_autoptr (PrismEgressPolicy) six =
      prism_egress_policy_new_for_rules ((PrismEgressRule *const *)rules->pdata, rules->len, NULL, NULL);
  g_autoptr (PrismEgressListener) crowded = prism_egress_listener_new_for_address (path, six);
  g_autoptr (GError) error = NULL;

  g_assert_false (prism_egress_proxy_add_listener (proxy, outside, NULL, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY);
  g_assert_nonnull (strstr (error->message, "loopback"));
  g_clear_error (&error);
  g_assert_false (prism_egress_proxy_add_listener (proxy, nowhere, NULL, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY);
  g_clear_error (&error);

  g_object_set (limits, "concurrent-connections", G_GINT64_CONSTANT (0), "redirect-hops", G_GINT64_CONSTANT (11),
                "request-head-ms", G_MININT64, NULL);
  g_assert_false (prism_egress_proxy_add_listener (proxy, limits, NULL, &error));
  g_assert_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE);
  g_assert_nonnull (strstr (error->message, "concurrent-connections = 0"));
  g_assert_nonnull (strstr (error->message, "redirect-hops = 11"));
  g_assert_nonnull (strstr (error->message, "request-head-ms"));
  g_clear_error (&error);

  g_object_set (crowded, "rules-per-policy", G_GINT64_CONSTANT (5), NULL);
  g_assert_false (prism_egress_proxy_add_listener (proxy, crowded, NULL, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_LIMIT);
  g_assert_cmpuint (test->added, ==, 0);
}

static void
test_profiles (void)
{
  static const struct
  {
    const char *name;
    gint64 standard, strict;
  } rows[] = { { "concurrent-connections", 256, 32 }, { "request-bytes", 0, 67108864 },
               { "response-bytes", 0, 67108864 },     { "transfer-time-ms", 0, 600000 },
               { "rules-per-policy", 65536, 128 },    { "redirect-hops", 5, 5 },
               { "request-head-ms", 10000, 10000 },   { "connection-idle-ms", 300000, 60000 } };
  g_autoptr (PrismEgressListener) listener = new_listener ("https://good.test");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_object_set (listener, "profile", PRISM_LIMITS_PROFILE_STANDARD, NULL);
      g_assert_cmpint (prism_egress_listener_get_limit (listener, rows[i].name), ==, rows[i].standard);
      g_object_set (listener, "profile", PRISM_LIMITS_PROFILE_STRICT, NULL);
      g_assert_cmpint (prism_egress_listener_get_limit (listener, rows[i].name), ==, rows[i].strict);
    }
  g_assert_cmpint (prism_egress_listener_get_limit (listener, "no-such-limit"), ==, -1);
  g_assert_true (prism_egress_listener_get_check_server_name (listener));
}

/* Cancelled while it was being added; the proxy answers all the same. */
static void
note_result (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (prism_egress_proxy_add_listener_finish (PRISM_EGRESS_PROXY (source), result, &error));
  *(int *)data = error->code;
}

static void
test_too_late (void)
{
  g_autoptr (TestProxy) test = g_object_new (TEST_TYPE_PROXY, NULL);
  g_autoptr (PrismEgressListener) listener = new_listener ("https://good.test");
  gint64 deadline = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;
  int code = -1;

  test->hold = TRUE;
  prism_egress_proxy_add_listener_async (PRISM_EGRESS_PROXY (test), listener, NULL, note_result, &code);
  g_assert_nonnull (test->held);
  g_clear_object (&test->held); /* dropped: the operation fails by itself */
  while (code < 0 && g_get_monotonic_time () < deadline)
    g_main_context_iteration (NULL, FALSE);
  g_assert_cmpint (code, ==, PRISM_EGRESS_ERROR_FAILED);
  g_clear_object (&listener);
  g_mutex_lock (&test->lock);
  while (test->removed == 0 && g_cond_wait_until (&test->ended, &test->lock, deadline))
    ;
  g_assert_cmpuint (test->removed, ==, 1);
  g_mutex_unlock (&test->lock);
}

/* --- audit ----------------------------------------------------------------------- */

typedef struct
{
  PrismEgressProxy *proxy;
  guint heard, refused;
  GThread *thread;
} Audit;

static void
on_audit (PrismEgressProxy *proxy, PrismAuditRecord *record, gpointer data)
{
  Audit *audit = data;

  g_assert_true (g_thread_self () == audit->thread);
  g_assert_cmpuint (prism_audit_record_get_port (record), ==, audit->heard);
  audit->heard++;
}

static gpointer
write_records (gpointer data)
{
  Audit *audit = data;

  for (guint i = 0; i < 5000; i++)
    {
      g_autoptr (PrismAuditRecord) record =
          prism_audit_record_new (PRISM_AUDIT_DECISION_DENY, "evil.test", i, PRISM_EGRESS_SCHEME_HTTP);

      if (!prism_egress_proxy_audit (audit->proxy, record))
        audit->refused++;
    }
  return NULL;
}

/* They arrive where the proxy was started, in order, and the bound is told. */
static void
test_audit (void)
{
  g_autoptr (TestProxy) test = g_object_new (TEST_TYPE_PROXY, NULL);
  Audit audit = { .proxy = PRISM_EGRESS_PROXY (test), .thread = g_thread_self () };
  g_autoptr (GError) error = NULL;
  gint64 deadline = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;

  g_assert_true (prism_egress_proxy_start (audit.proxy, NULL, &error));
  g_thread_join (g_thread_new ("unheard", write_records, &audit));
  g_assert_cmpuint (audit.refused, ==, 0);
  g_signal_connect (test, "audit", G_CALLBACK (on_audit), &audit);
  g_thread_join (g_thread_new ("heard", write_records, &audit));
  g_assert_cmpuint (audit.heard, ==, 0);
  while (audit.heard + audit.refused < 5000 && g_get_monotonic_time () < deadline)
    g_main_context_iteration (NULL, FALSE);
  g_assert_cmpuint (audit.heard, ==, 4096);
  g_assert_cmpuint (audit.refused, ==, 904);
}

/* --- a proxy without methods ------------------------------------------------------- */

#define BARE_TYPE_PROXY (bare_proxy_get_type ())
G_DECLARE_FINAL_TYPE (BareProxy, bare_proxy, BARE, PROXY, GObject)

struct _BareProxy
{
  GObject parent_instance;
};

static void
bare_proxy_iface_init (PrismEgressProxyInterface *iface)
{
}

G_DEFINE_FINAL_TYPE_WITH_CODE (BareProxy,
                               bare_proxy,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_EGRESS_PROXY, bare_proxy_iface_init))

static void
bare_proxy_get_property (GObject *object, guint property_id, GValue *value, GParamSpec *pspec)
{
  g_value_set_object (value, NULL);
}

static void
bare_proxy_class_init (BareProxyClass *klass)
{
  G_OBJECT_CLASS (klass)->get_property = bare_proxy_get_property;
  g_object_class_override_property (G_OBJECT_CLASS (klass), PROP_LISTENER, "listener");
}

static void
bare_proxy_init (BareProxy *self)
{
}

static void
test_not_supported (void)
{
  g_autoptr (BareProxy) bare = g_object_new (BARE_TYPE_PROXY, NULL);
  PrismEgressProxy *proxy = PRISM_EGRESS_PROXY (bare);
  g_autoptr (PrismEgressStats) stats = prism_egress_proxy_dup_stats (proxy, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_false (prism_egress_proxy_start (proxy, NULL, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_NOT_SUPPORTED);
  g_assert_true (g_str_has_prefix (error->message, "BareProxy: "));
  g_assert_cmpstr (prism_error_get_code_name (error), ==, "ERR_PRISM_EGRESS_NOT_SUPPORTED");
  g_assert_cmpint (prism_egress_stats_get_total_connections (stats), ==, 0);
}

/* --- the process's one ------------------------------------------------------------ */

static PrismEgressProxy *
make_test_proxy (GError **error)
{
  return g_object_new (TEST_TYPE_PROXY, NULL);
}

static void
test_default (void)
{
  g_autoptr (GError) error = NULL;
  PrismEgressProxy *first, *second;
  PrismEgressListener *listener = new_listener ("https://good.test");

  g_assert_null (prism_egress_proxy_dup_default (&error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_NOT_SUPPORTED);
  g_clear_error (&error);
  prism_egress_default_set_factory (make_test_proxy);
  first = prism_egress_proxy_dup_default (&error);
  g_assert_true (prism_egress_proxy_start (first, NULL, &error));
  g_assert_true (prism_egress_proxy_add_listener (first, listener, NULL, &error));
  g_assert_no_error (error);
  g_object_add_weak_pointer (G_OBJECT (first), (gpointer *)&first);
  g_object_unref (first);

  /* A listener keeps it, and with the last one it goes. */
  second = prism_egress_proxy_dup_default (&error);
  g_assert_true (second == first);
  g_object_unref (second);
  g_assert_true (prism_egress_proxy_remove_listener (first, listener, NULL, &error));
  g_assert_null (first);
  g_object_unref (listener);
  first = prism_egress_proxy_dup_default (&error);
  g_assert_finalize_object (first);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/egress-proxy/own-listener", test_own_listener);
  g_test_add_func ("/egress-proxy/added-listener", test_added_listener);
  g_test_add_func ("/egress-proxy/listener-refused", test_listener_refused);
  g_test_add_func ("/egress-proxy/profiles", test_profiles);
  g_test_add_func ("/egress-proxy/too-late", test_too_late);
  g_test_add_func ("/egress-proxy/audit", test_audit);
  g_test_add_func ("/egress-proxy/not-supported", test_not_supported);
  g_test_add_func ("/egress-proxy/default", test_default);
  return g_test_run ();
}
