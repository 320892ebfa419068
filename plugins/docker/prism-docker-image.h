/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an image brings along: variables, volumes, users. */
#pragma once

#include "prism-docker-engine.h"

G_BEGIN_DECLS

typedef struct
{
  char *id;       /* 64 hex digits */
  char **env;     /* NAME=VALUE that its commands are to have */
  char **volumes; /* absolute paths */
} PrismDockerImage;

/* Pure. @allowed: (nullable): names that are not dropped though they make programs run
 * other code. What is wrong is added to @offenders. */
void prism_docker_image_parse (PrismDockerImage *self,
                               JsonNode *inspected,
                               const char *const *allowed,
                               GString *offenders);
void prism_docker_image_clear (PrismDockerImage *self);
/* What to name it by, of an image that was looked at by another name: the first that the engine has that is
 * pinned; NULL where it has none, as of what was built here and never pushed. */
char *prism_docker_image_dup_pinned (JsonNode *inspected);

typedef struct
{
  char *passwd, *group; /* NULL = the image has none */
} PrismDockerUsers;

/* The image's own /etc/passwd and /etc/group. They are read once for each image and then
 * remembered in the runtime folder, by the image's id: the engine takes a third of a
 * second. They are a courtesy: where they cannot be read there are only ours. */
void prism_docker_users_find (PrismDockerUsers *self,
                              PrismDockerEngine *engine,
                              const PrismDockerImage *image,
                              const PrismDockerPlan *plan);
void prism_docker_users_clear (PrismDockerUsers *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismDockerImage, prism_docker_image_clear)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismDockerUsers, prism_docker_users_clear)

G_END_DECLS
