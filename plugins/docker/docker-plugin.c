/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <libprism/prism-plugin.h>

#include "prism-docker-backend.h"

static void
docker_plugin_load (PrismRegistry *registry)
{
  g_autoptr (GError) error = NULL;

  prism_error_add_code_name (PRISM_SANDBOX_ERROR, PRISM_ANY_CODE, "docker", "ERR_PRISM_DOCKER_SANDBOX");
  prism_error_add_code_name (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CLI, "docker", "ERR_PRISM_DOCKER_CLI");
  if (!prism_registry_add_type (registry, "docker", PRISM_TYPE_DOCKER_BACKEND, 50, &error))
    g_warning ("docker: %s", error->message);
}

PRISM_PLUGIN_DEFINE (docker, PRISM_DOCKER_VERSION, "LGPL-2.1-or-later", docker_plugin_load)
