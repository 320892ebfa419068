/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <libprism/prism-plugin.h>

#include "prism-docker-backend.h"

static void
docker_plugin_load (PrismRegistry *registry)
{
  g_autoptr (GError) error = NULL;

  prism_error_add_code_name (PRISM_SANDBOX_ERROR, PRISM_ANY_CODE, "docker", "ERR_PRISM_DOCKER_SANDBOX");
  prism_error_add_code_name (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CLI, "docker", "ERR_PRISM_DOCKER_CLI");
  prism_explain_add (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE, "docker", "sandbox.daemon_unreachable",
                     "The container engine, or what its sandboxes need on this machine, cannot be reached.",
                     "“prism doctor docker” says what is missing; name the engine's socket with --set socket=PATH");
  prism_explain_add (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CLI, "docker", "sandbox.cli",
                     "The engine's command line program is missing or failed; it is used where the engine's socket "
                     "cannot be reached.",
                     "name another one with --set docker=/PATH/TO/docker, or the socket with --set socket=PATH");
  if (!prism_registry_add_type (registry, "docker", PRISM_TYPE_DOCKER_BACKEND, 50, &error))
    g_warning ("docker: %s", error->message);
}

PRISM_PLUGIN_DEFINE (docker, PRISM_DOCKER_VERSION, "LGPL-2.1-or-later", docker_plugin_load)
