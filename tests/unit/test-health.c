/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Health of several backends at once: each gets its report, whatever the
 * others do, within the bounds. */
#include "prism-health.h"

#include "prism-sandbox-error.h"

/* What a test backend does with the question is its type's name. */
typedef GObject TestBackend;
typedef GObjectClass TestBackendClass;

static GSList *kept; /* operations that are never answered */

static const char *
get_name (PrismBackend *self)
{
  return G_OBJECT_TYPE_NAME (self);
}

static void
probe (PrismBackend *self, PrismProbeOperation *operation)
{
  g_autoptr (PrismHealthReport) report = NULL;
  g_autoptr (PrismHealthCheck) check = NULL;

  if (g_str_equal (get_name (self), "TestHang"))
    {
      kept = g_slist_prepend (kept, g_object_ref (operation));
      return;
    }
  if (g_str_equal (get_name (self), "TestFail"))
    {
      prism_operation_fail_literal (PRISM_OPERATION (operation), PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE,
                                    "nothing is plugged in");
      return;
    }

  report = prism_health_report_new (get_name (self));
  check = prism_health_check_new ("test.check", PRISM_HEALTH_STATUS_PASS, "fine", NULL, PRISM_CONTROLS_NETWORK);
  prism_health_report_add (report, check);
  prism_probe_operation_complete (operation, report);
}

static void
create_sandbox (PrismBackend *self, PrismCreateOperation *operation)
{
}

static void
iface_init (PrismBackendInterface *iface)
{
  iface->get_name = get_name;
  iface->probe = probe;
  iface->create_sandbox = create_sandbox;
}

GType test_backend_get_type (void);
G_DEFINE_TYPE_WITH_CODE (TestBackend,
                         test_backend,
                         G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (PRISM_TYPE_BACKEND, iface_init))

static void
test_backend_class_init (TestBackendClass *klass)
{
}

static void
test_backend_init (TestBackend *self)
{
}

static PrismRegistry *
make_registry (void)
{
  static const char *const names[] = { "TestPass", "TestFail", "TestHang" };
  PrismRegistry *registry = prism_registry_new ((const char *const[]){ NULL });

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *name = g_ascii_strdown (names[i] + strlen ("Test"), -1);
      GType type = g_type_from_name (names[i]);

      if (type == G_TYPE_INVALID)
        type = g_type_register_static_simple (test_backend_get_type (), names[i], sizeof (GObjectClass), NULL,
                                              sizeof (GObject), NULL, 0);
      g_assert_true (prism_registry_add_type (registry, name, type, 0, NULL));
    }

  return registry;
}

static PrismHealthStatus
status_at (GListModel *reports, guint position)
{
  g_autoptr (PrismHealthReport) report = g_list_model_get_item (reports, position);

  return prism_health_report_get_status (report);
}

static void
test_bounds (void)
{
  static const char *const asked[] = { "hang", "pass", "nosuch", "fail", NULL };
  g_autoptr (PrismRegistry) registry = make_registry ();
  g_autoptr (GError) error = NULL;
  gint64 started = g_get_monotonic_time ();
  g_autoptr (GListModel) reports = prism_health_run (registry, asked, NULL, &error);
  gint64 elapsed = g_get_monotonic_time () - started;

  g_assert_no_error (error);
  g_assert_cmpuint (g_list_model_get_n_items (reports), ==, 4);
  g_assert_cmpint (status_at (reports, 0), ==, PRISM_HEALTH_STATUS_INCONCLUSIVE);
  g_assert_cmpint (status_at (reports, 1), ==, PRISM_HEALTH_STATUS_PASS);
  g_assert_cmpint (status_at (reports, 2), ==, PRISM_HEALTH_STATUS_FAIL);
  g_assert_cmpint (status_at (reports, 3), ==, PRISM_HEALTH_STATUS_FAIL);
  /* It was waited for; without a bound the test itself would time out. */
  g_assert_cmpint (elapsed, >=, 4 * G_USEC_PER_SEC);
}

static void
test_quick (void)
{
  static const char *const asked[] = { "fail", "pass", NULL };
  g_autoptr (PrismRegistry) registry = make_registry ();
  g_autoptr (GListModel) reports = prism_health_run (registry, asked, NULL, NULL);
  g_autoptr (PrismHealthReport) failed = g_list_model_get_item (reports, 0);
  g_autoptr (PrismHealthCheck) check = g_list_model_get_item (G_LIST_MODEL (failed), 0);

  g_assert_nonnull (strstr (prism_health_check_get_summary (check), "nothing is plugged in"));
  g_assert_nonnull (prism_health_check_get_remedy (check));
  g_assert_cmpint (status_at (reports, 1), ==, PRISM_HEALTH_STATUS_PASS);
}

static void
test_none (void)
{
  static const char *const nothing[] = { NULL };
  g_autoptr (PrismRegistry) registry = make_registry ();
  g_autoptr (GListModel) reports = prism_health_run (registry, nothing, NULL, NULL);

  g_assert_cmpuint (g_list_model_get_n_items (reports), ==, 0);
}

static gpointer
cancel_thread (gpointer data)
{
  g_cancellable_cancel (data);

  return NULL;
}

static void
test_cancelled (void)
{
  static const char *const asked[] = { "hang", NULL };
  g_autoptr (PrismRegistry) registry = make_registry ();
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GThread) thread = g_thread_new ("cancel", cancel_thread, cancellable);
  g_autoptr (GError) error = NULL;

  g_assert_null (prism_health_run (registry, asked, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_thread_join (g_steal_pointer (&thread));
}

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/health/quick", test_quick);
  g_test_add_func ("/health/none", test_none);
  g_test_add_func ("/health/cancelled", test_cancelled);
  g_test_add_func ("/health/bounds", test_bounds);

  status = g_test_run ();
  g_slist_free_full (g_steal_pointer (&kept), g_object_unref);
  return status;
}
