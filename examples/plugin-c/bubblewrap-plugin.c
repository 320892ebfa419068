/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <libprism/prism-plugin.h>

#include "bubblewrap-backend.h"

static void
bubblewrap_load (PrismRegistry *registry)
{
  prism_registry_add_type (registry, "bubblewrap", BUBBLEWRAP_TYPE_BACKEND, 0, NULL);
}

PRISM_PLUGIN_DEFINE (bubblewrap, VERSION, "LGPL-2.1-or-later", bubblewrap_load)
