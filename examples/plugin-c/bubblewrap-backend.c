/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Its one option is a property: `prism inspect bubblewrap` shows it, `--set
 * program=…` sets it. Loading and constructing look at nothing. */
#include "bubblewrap-backend.h"

#include "bubblewrap-sandbox.h"

struct _BubblewrapBackend
{
  GObject parent_instance;
  char *program;
};

enum
{
  PROP_0,
  PROP_PROGRAM,
};

static void bubblewrap_backend_init_interface (PrismBackendInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (BubblewrapBackend,
                               bubblewrap_backend,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_BACKEND, bubblewrap_backend_init_interface))

static const char *
bubblewrap_backend_get_name (PrismBackend *backend)
{
  return "bubblewrap";
}

/* --- creating ----------------------------------------------------------------- */

/* May block: see bubblewrap_backend_create_sandbox(). */
static void
create (gpointer self, PrismOperation *operation)
{
  PrismCreateOperation *asked = PRISM_CREATE_OPERATION (operation);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox =
      bubblewrap_sandbox_start (prism_create_operation_get_spec (asked), BUBBLEWRAP_BACKEND (self)->program,
                                prism_operation_get_cancellable (operation), &error);

  if (sandbox != NULL)
    prism_create_operation_complete (asked, sandbox);
  else
    prism_operation_fail (operation, error);
}

static void
bubblewrap_backend_create_sandbox (PrismBackend *backend, PrismCreateOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), create);
}

/* --- looking ------------------------------------------------------------------ */

/* By doing it: whether the program is there says little of what the kernel allows. */
static void
probe (gpointer self, PrismOperation *operation)
{
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (NULL);
  g_autoptr (PrismHealthReport) report = prism_health_report_new ("bubblewrap");
  g_autoptr (PrismHealthCheck) check = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = bubblewrap_sandbox_start (spec, BUBBLEWRAP_BACKEND (self)->program,
                                                               prism_operation_get_cancellable (operation), &error);

  if (sandbox == NULL)
    check = prism_health_check_new ("bubblewrap.start", PRISM_HEALTH_STATUS_FAIL, error->message,
                                    "install bubblewrap, and let this user make user namespaces",
                                    PRISM_CONTROLS_FILESYSTEM | PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_PROCESS);
  else
    {
      g_autoptr (PrismCapabilities) real = prism_sandbox_dup_capabilities (sandbox);
      check = prism_health_check_new ("bubblewrap.start", PRISM_HEALTH_STATUS_PASS, "a sandbox starts", NULL,
                                      prism_capabilities_get_controls (real));
      prism_sandbox_close (sandbox, NULL, NULL);
    }
  prism_health_report_add (report, check);
  prism_probe_operation_complete (PRISM_PROBE_OPERATION (operation), report);
}

static void
bubblewrap_backend_probe (PrismBackend *backend, PrismProbeOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), probe);
}

static void
bubblewrap_backend_init_interface (PrismBackendInterface *iface)
{
  iface->get_name = bubblewrap_backend_get_name;
  iface->probe = bubblewrap_backend_probe;
  iface->create_sandbox = bubblewrap_backend_create_sandbox;
}

/* --- the object --------------------------------------------------------------- */

static void
bubblewrap_backend_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  BubblewrapBackend *self = BUBBLEWRAP_BACKEND (object);

  g_free (self->program);
  self->program = g_value_dup_string (value);
}

static void
bubblewrap_backend_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  g_value_set_string (value, BUBBLEWRAP_BACKEND (object)->program);
}

static void
bubblewrap_backend_finalize (GObject *object)
{
  g_free (BUBBLEWRAP_BACKEND (object)->program);
  G_OBJECT_CLASS (bubblewrap_backend_parent_class)->finalize (object);
}

static void
bubblewrap_backend_class_init (BubblewrapBackendClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->set_property = bubblewrap_backend_set_property;
  object_class->get_property = bubblewrap_backend_get_property;
  object_class->finalize = bubblewrap_backend_finalize;
  g_object_class_install_property (
      object_class, PROP_PROGRAM,
      g_param_spec_string ("program", NULL, "The bubblewrap program: a path, or a name that is looked for in PATH",
                           "bwrap", G_PARAM_READWRITE | G_PARAM_CONSTRUCT | G_PARAM_STATIC_STRINGS));
}

static void
bubblewrap_backend_init (BubblewrapBackend *self)
{
}
