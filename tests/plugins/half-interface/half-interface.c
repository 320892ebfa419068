/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Implements the interface but for the method that matters. */
#include "fixture.h"

FIXTURE_BACKEND (HalfInterface, half_interface)

static void
fixture_half_interface_class_init (FixtureHalfInterfaceClass *klass)
{
}

static void
half_interface_load (PrismRegistry *registry)
{
  GType type = fixture_half_interface_get_type ();
  gpointer klass = g_type_class_ref (type);
  PrismBackendInterface *iface = g_type_interface_peek (klass, PRISM_TYPE_BACKEND);

  iface->create_sandbox = NULL;
  prism_registry_add_type (registry, "half-interface", type, 50, NULL);
  g_type_class_unref (klass);
}

PRISM_PLUGIN_DEFINE (half-interface, "1.2.3", "LGPL-2.1-or-later", half_interface_load);
