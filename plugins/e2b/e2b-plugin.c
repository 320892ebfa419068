/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <libprism/prism-plugin.h>

#include "prism-e2b-backend.h"

static void
e2b_plugin_load (PrismRegistry *registry)
{
  g_autoptr (GError) error = NULL;

  prism_error_add_code_name (PRISM_SANDBOX_ERROR, PRISM_ANY_CODE, "e2b", "ERR_PRISM_E2B_SANDBOX");
  prism_explain_add (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE, "e2b", "e2b.auth",
                     "The service cannot be reached, has no room at the moment, or does not take the key.",
                     "set E2B_API_KEY; “prism doctor e2b” says what is wrong");
  prism_explain_add (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT, "e2b", "e2b.busy",
                     "Too many requests, or too many sandboxes at once.",
                     "wait, or close sandboxes that are not needed: paused ones count on");
  prism_explain_add (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST, "e2b", "e2b.gone",
                     "The sandbox, or the connection to it, was lost; what was done is not known.",
                     "look at what there is before doing it again");
  if (!prism_registry_add_type (registry, "e2b", PRISM_TYPE_E2B_BACKEND, 10, &error))
    g_warning ("e2b: %s", error->message);
}

PRISM_PLUGIN_DEFINE (e2b, PRISM_E2B_VERSION, "LGPL-2.1-or-later", e2b_plugin_load)
