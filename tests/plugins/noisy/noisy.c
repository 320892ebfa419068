/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The native backend, by way of one that prints on the standard output whenever it can: as it is
 * loaded, as it makes a sandbox, from a thread of its own, by every way there is, and without a
 * line's end. For programs whose standard output is not everybody's. */
#include <libprism/prism-plugin.h>

#include <stdio.h>
#include <unistd.h>

#define NOISY_TYPE_BACKEND (noisy_backend_get_type ())
G_DECLARE_FINAL_TYPE (NoisyBackend, noisy_backend, NOISY, BACKEND, GObject)

struct _NoisyBackend
{
  GObject parent_instance;
};

static void
make_noise (const char *where)
{
  printf ("noise: printf, %s {\"jsonrpc\":\"2.0\"}", where);
  puts ("noise: puts");
  g_print ("noise: g_print, %s\n", where);
  if (write (STDOUT_FILENO, "noise: write", 12) != 12)
    g_printerr ("noise: no standard output\n");
  fflush (stdout);
  g_message ("noise: g_message, %s", where);
  g_debug ("noise: g_debug, %s", where);
}

__attribute__ ((constructor)) static void
constructed (void)
{
  make_noise ("constructor");
}

static gpointer
noise_main (gpointer data)
{
  for (guint i = 0; i < 200; i++)
    {
      make_noise ("thread");
      g_thread_yield ();
    }
  return NULL;
}

static const char *
noisy_get_name (PrismBackend *backend)
{
  return "noisy";
}

static void
noisy_probe (PrismBackend *backend, PrismProbeOperation *operation)
{
  g_autoptr (PrismHealthReport) report = prism_health_report_new ("noisy");

  prism_probe_operation_complete (operation, report);
}

static void
created (GObject *object, GAsyncResult *result, gpointer data)
{
  g_autoptr (PrismCreateOperation) operation = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = prism_backend_create_sandbox_finish (PRISM_BACKEND (object), result, &error);

  make_noise ("created");
  g_thread_unref (g_thread_new ("noise", noise_main, NULL));
  if (sandbox != NULL)
    prism_create_operation_complete (operation, sandbox);
  else
    prism_operation_fail (PRISM_OPERATION (operation), error);
}

static void
noisy_create (PrismBackend *backend, PrismCreateOperation *operation)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismBackend) native = prism_registry_create_backend (prism_registry_get_default (), "native", &error);

  make_noise ("create");
  if (native == NULL)
    prism_operation_fail (PRISM_OPERATION (operation), error);
  else
    prism_backend_create_sandbox_async (native, prism_create_operation_get_spec (operation),
                                        prism_operation_get_cancellable (PRISM_OPERATION (operation)), created,
                                        g_object_ref (operation));
}

static void
backend_init (PrismBackendInterface *iface)
{
  iface->get_name = noisy_get_name;
  iface->probe = noisy_probe;
  iface->create_sandbox = noisy_create;
}

G_DEFINE_FINAL_TYPE_WITH_CODE (NoisyBackend,
                               noisy_backend,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_BACKEND, backend_init))

static void
noisy_backend_class_init (NoisyBackendClass *klass)
{
}

static void
noisy_backend_init (NoisyBackend *self)
{
}

static void
noisy_load (PrismRegistry *registry)
{
  make_noise ("load");
  prism_registry_add_type (registry, "noisy", NOISY_TYPE_BACKEND, 0, NULL);
}

PRISM_PLUGIN_DEFINE (noisy, "1.0.0", "LGPL-2.1-or-later", noisy_load);
