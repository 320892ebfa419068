/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the engine does by its program. */
#pragma once

#include "prism-http-json.h"

G_BEGIN_DECLS

typedef struct
{
  const char *path;
  gint64 deadline;
  GCancellable *cancellable;
} PrismDockerProgram;

/* Words up to a NULL; what it wrote. */
GBytes *prism_docker_program_run (const PrismDockerProgram *self, const char *what, GError **error, ...) G_GNUC_NULL_TERMINATED;
/* The same for a word on whether it was done. */
gboolean prism_docker_program_do (
    const PrismDockerProgram *self, const char *what, const char *verb, const char *name, GError **error);
/* @bytes: (transfer full) (nullable): of an array of one, that one. */
JsonNode *prism_docker_program_take_json (const char *what, GBytes *bytes, GError **error);
/* In the form of the API's. */
JsonNode *prism_docker_program_list (const PrismDockerProgram *self, GError **error);
/* The container's id. */
char *prism_docker_program_create (const PrismDockerProgram *self, const char *const *argv, GError **error);
gboolean prism_docker_program_remove (const PrismDockerProgram *self, const char *container, GError **error);

char *prism_docker_dup_text (GBytes *bytes);

G_END_DECLS
