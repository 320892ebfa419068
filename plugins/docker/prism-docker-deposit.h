/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a detached sandbox leaves for its next host. Pure. */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

typedef struct
{
  PrismSandboxSpec *spec;
  PrismCapabilities *capabilities;
  char **environment;
  char *socket, *program;         /* of the engine; "" = none */
  char *container;                /* its id */
  char *image, *digest, *created; /* the image's id, what it was pinned by, when it was made */
  gint64 started;                 /* us since the epoch */
} PrismDockerDeposit;

GBytes *prism_docker_deposit_write (const PrismDockerDeposit *self);
gboolean prism_docker_deposit_read (PrismDockerDeposit *self, GBytes *bytes, GError **error);
void prism_docker_deposit_clear (PrismDockerDeposit *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismDockerDeposit, prism_docker_deposit_clear)

G_END_DECLS
