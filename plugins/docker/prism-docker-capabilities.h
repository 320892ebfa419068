/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox contains, by what was applied: the engine's description of the container
 * that it made, and the kernel's of the process in it. Pure. */
#pragma once

#include <json-glib/json-glib.h>

#include "prism-docker-peer.h"
#include "prism-docker-plan.h"

G_BEGIN_DECLS

/* @container: what inspecting it said; @remapped: (nullable): the engine's own word that
 * users are not the host's; @own_kernel: it runs on one (runsc). */
PrismCapabilities *prism_docker_capabilities_new (const PrismDockerAsked *asked,
                                                  const PrismDockerPlan *plan,
                                                  const PrismDockerFacts *facts,
                                                  JsonNode *container,
                                                  const char *remapped,
                                                  gboolean own_kernel);

/* What is let through, before anything is made. */
PrismDockerEgress prism_docker_choose_egress (const PrismDockerAsked *asked);

G_END_DECLS
