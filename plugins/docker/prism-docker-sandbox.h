/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-docker-options.h"

G_BEGIN_DECLS

#define PRISM_TYPE_DOCKER_SANDBOX (prism_docker_sandbox_get_type ())
G_DECLARE_FINAL_TYPE (PrismDockerSandbox, prism_docker_sandbox, PRISM, DOCKER_SANDBOX, PrismAgentSandbox)

PrismSandbox *prism_docker_sandbox_start (PrismSandboxSpec *spec,
                                          const PrismDockerOptions *options,
                                          GCancellable *cancellable,
                                          GError **error);
PrismSandbox *prism_docker_sandbox_connect (const char *reference,
                                            gint64 deadline,
                                            GCancellable *cancellable,
                                            GError **error);

G_END_DECLS
