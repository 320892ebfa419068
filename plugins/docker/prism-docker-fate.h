/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Why did it end? From what the engine remembers of a container. Pure. */
#pragma once

#include "prism-http-json.h"

G_BEGIN_DECLS

/* A sentence without its full stop, or NULL where nothing is known. @events: JsonNode, the
 * oldest first. */
char *prism_docker_fate_describe (GPtrArray *events);

G_END_DECLS
