/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-docker-room.h"
#include "prism-docker-sandbox.h"

G_BEGIN_DECLS

#define PRISM_DOCKER_REFERENCE "docker:"

struct _PrismDockerSandbox
{
  PrismAgentSandbox parent_instance;
  char *socket;    /* the engine's */
  char *program;   /* where that cannot be reached; NULL = none */
  char *container; /* its id */
  char *name;
  PrismDockerRoom room;
  char *memory_group;
  GMutex lock; /* for what follows */
  GCond ended; /* over was set */
  gint64 memory_kills;
  gboolean over;
  gint64 pause_began, pause_ended; /* the last one that was asked for here, us since the epoch */
  char *fate; /* why it ended by itself */
};

/* From now on others are watched. */
void prism_docker_sandbox_watch (PrismDockerSandbox *self);

/* Removes it, and all that was made for it; a container that is not there is success. */
gboolean prism_docker_remove (const char *socket, const char *program, const char *container, gint64 deadline, GError **error);

G_END_DECLS
