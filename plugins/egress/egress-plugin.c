/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <libprism/prism-plugin.h>

#include "prism-local-egress.h"

static void
egress_plugin_load (PrismRegistry *registry)
{
  g_autoptr (GError) error = NULL;

  if (!prism_registry_add_type (registry, "egress", PRISM_TYPE_LOCAL_EGRESS, 100, &error))
    g_warning ("egress: %s", error->message);
}

PRISM_PLUGIN_DEFINE (egress, PRISM_EGRESS_VERSION, "LGPL-2.1-or-later", egress_plugin_load)
