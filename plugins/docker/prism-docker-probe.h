/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-docker-options.h"

G_BEGIN_DECLS

PrismHealthReport *prism_docker_probe (const PrismDockerOptions *options,
                                       gint64 deadline,
                                       GCancellable *cancellable,
                                       GError **error);

G_END_DECLS
