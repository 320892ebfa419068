/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The engine, by its API. One for each operation: it belongs to one thread.
 * TRUST. The daemon makes the boundary, so it is trusted to make it; that it answers, and
 * with what it should, is not taken for granted. */
#pragma once

#include "prism-docker-plan.h"
#include "prism-http-client.h"
#include "prism-http-json.h"

G_BEGIN_DECLS

typedef struct _PrismDockerEngine PrismDockerEngine;

/* @socket: (nullable): the default one; @program: (nullable): what is run where that cannot
 * be reached. Nothing is connected to yet. */
PrismDockerEngine *prism_docker_engine_new (const char *socket,
                                            const char *program,
                                            gint64 deadline,
                                            GCancellable *cancellable);
void prism_docker_engine_free (PrismDockerEngine *self);
const char *prism_docker_engine_get_socket (PrismDockerEngine *self);
const char *prism_docker_engine_get_program (PrismDockerEngine *self);
PrismHttpClient *prism_docker_engine_get_client (PrismDockerEngine *self);
void prism_docker_engine_set_deadline (PrismDockerEngine *self, gint64 deadline);

/* Finds out what it speaks; the first call to be made. */
gboolean prism_docker_engine_open (PrismDockerEngine *self, GError **error);
/* By the program: nothing is known of what is under way. */
gboolean prism_docker_engine_is_by_program (PrismDockerEngine *self);
guint prism_docker_engine_get_minor (PrismDockerEngine *self);
/* What it said when it was opened, even where that failed for being too old; 0 = nothing. */
guint prism_docker_engine_get_offered (PrismDockerEngine *self);

JsonNode *prism_docker_engine_inspect_image (PrismDockerEngine *self, const char *image, GError **error);
JsonNode *prism_docker_engine_inspect_network (PrismDockerEngine *self, const char *name, GError **error);
JsonNode *prism_docker_engine_inspect (PrismDockerEngine *self, const char *container, GError **error);
JsonNode *prism_docker_engine_info (PrismDockerEngine *self, GError **error);
JsonNode *prism_docker_engine_version (PrismDockerEngine *self, GError **error);
/* Those with our label: an array. */
JsonNode *prism_docker_engine_list (PrismDockerEngine *self, GError **error);
/* What became of it, while the daemon remembers: an array of events. */
GPtrArray *prism_docker_engine_recall (PrismDockerEngine *self, const char *container, GError **error);

/* The container's id. */
char *prism_docker_engine_create (PrismDockerEngine *self, const PrismDockerPlan *plan, GError **error);
/* One that is never started, only to look into the image. */
gboolean prism_docker_engine_create_to_look (
    PrismDockerEngine *self, const char *name, const char *image, const char *const *labels, GError **error);
/* NULL where it was started already, or failed: end_start() tells. */
PrismHttpCall *prism_docker_engine_begin_start (PrismDockerEngine *self, const char *container);
gboolean prism_docker_engine_end_start (PrismDockerEngine *self, PrismHttpCall *call, const char *container, GError **error);
/* Over when it has ended; NULL where that cannot be waited for. */
PrismHttpCall *prism_docker_engine_begin_wait (PrismDockerEngine *self, const char *container);
/* Until one of the calls is over or @fd can be read. */
gboolean prism_docker_engine_wait (PrismDockerEngine *self, int fd, GError **error);
gboolean prism_docker_engine_pause (PrismDockerEngine *self, const char *container, gboolean pause, GError **error);
/* Ends and removes it, and waits until it is gone; one that is not there is success. */
gboolean prism_docker_engine_remove (PrismDockerEngine *self, const char *container, GError **error);
/* A small file of the container's, or NULL without an error where it has none. */
char *prism_docker_engine_read_file (PrismDockerEngine *self, const char *container, const char *path, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismDockerEngine, prism_docker_engine_free)

G_END_DECLS
