/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks at the paths that are named. Links are resolved here, once. */
#pragma once

#include "prism-docker-options.h"

G_BEGIN_DECLS

/* What is wrong is added to @offenders. To be cleared. */
void prism_docker_look (PrismDockerAsked *asked, GString *offenders);
void prism_docker_asked_clear (PrismDockerAsked *asked);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismDockerAsked, prism_docker_asked_clear)

G_END_DECLS
