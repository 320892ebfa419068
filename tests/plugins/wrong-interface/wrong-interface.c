/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Offers a type that is no backend. */
#include <libprism/prism-plugin.h>

static void
wrong_interface_load (PrismRegistry *registry)
{
  prism_registry_add_type (registry, "wrong-interface", G_TYPE_CANCELLABLE, 50, NULL);
}

PRISM_PLUGIN_DEFINE (wrong-interface, "1.2.3", "LGPL-2.1-or-later", wrong_interface_load);
