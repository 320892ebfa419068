/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The least backend there can be, for plug-ins that are broken in one way.
 * FIXTURE_BACKEND (Good, good) defines the type FixtureGood. */
#pragma once

#include <libprism/prism-plugin.h>

#define FIXTURE_BACKEND(Name, name)                                                                                    \
  typedef struct                                                                                                       \
  {                                                                                                                    \
    GObject parent_instance;                                                                                           \
  } Fixture##Name;                                                                                                     \
  typedef struct                                                                                                       \
  {                                                                                                                    \
    GObjectClass parent_class;                                                                                         \
  } Fixture##Name##Class;                                                                                              \
  GType fixture_##name##_get_type (void);                                                                              \
  static void fixture_##name##_iface_init (PrismBackendInterface *iface);                                              \
  G_DEFINE_TYPE_WITH_CODE (Fixture##Name, fixture_##name, G_TYPE_OBJECT,                                               \
                           G_IMPLEMENT_INTERFACE (PRISM_TYPE_BACKEND, fixture_##name##_iface_init))                    \
  static const char *fixture_##name##_get_name (PrismBackend *self)                                                    \
  {                                                                                                                    \
    return #name;                                                                                                      \
  }                                                                                                                    \
  static void fixture_##name##_probe (PrismBackend *self, PrismProbeOperation *operation)                              \
  {                                                                                                                    \
    g_autoptr (PrismHealthReport) report = prism_health_report_new (#name);                                            \
    g_autoptr (PrismHealthCheck) check = prism_health_check_new (                                                      \
        #name ".check", PRISM_HEALTH_STATUS_WARN, "encloses nothing", "use another", PRISM_CONTROLS_NONE);             \
    prism_health_report_add (report, check);                                                                           \
    prism_probe_operation_complete (operation, report);                                                                \
  }                                                                                                                    \
  static void fixture_##name##_create (PrismBackend *self, PrismCreateOperation *operation)                            \
  {                                                                                                                    \
    prism_operation_fail_literal (PRISM_OPERATION (operation), PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,       \
                                  "this backend of the tests encloses nothing, and makes no sandbox");                 \
  }                                                                                                                    \
  static void fixture_##name##_iface_init (PrismBackendInterface *iface)                                               \
  {                                                                                                                    \
    iface->get_name = fixture_##name##_get_name;                                                                       \
    iface->probe = fixture_##name##_probe;                                                                             \
    iface->create_sandbox = fixture_##name##_create;                                                                   \
  }                                                                                                                    \
  static void fixture_##name##_init (Fixture##Name *self)                                                              \
  {                                                                                                                    \
  }
