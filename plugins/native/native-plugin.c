/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <libprism/prism-plugin.h>

#include "prism-native-backend.h"

static void
native_plugin_load (PrismRegistry *registry)
{
  g_autoptr (GError) error = NULL;

  prism_error_add_code_name (PRISM_SANDBOX_ERROR, PRISM_ANY_CODE, "native", "ERR_PRISM_NATIVE_SANDBOX");
  if (!prism_registry_add_type (registry, "native", PRISM_TYPE_NATIVE_BACKEND, 100, &error))
    g_warning ("native: %s", error->message);
}

PRISM_PLUGIN_DEFINE (native, PRISM_NATIVE_VERSION, "LGPL-2.1-or-later", native_plugin_load)
