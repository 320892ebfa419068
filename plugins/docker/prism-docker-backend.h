/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

#define PRISM_TYPE_DOCKER_BACKEND (prism_docker_backend_get_type ())
G_DECLARE_FINAL_TYPE (PrismDockerBackend, prism_docker_backend, PRISM, DOCKER_BACKEND, GObject)

G_END_DECLS
