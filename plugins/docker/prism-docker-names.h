/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The grammars of what is named. Pure. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* NAME[:TAG]@sha256:64 hex digits, and nothing that a program could take for an option. */
gboolean prism_docker_is_pinned_image (const char *image);
/* NAME[:TAG], and nothing that a program could take for an option, or a path for something else. */
gboolean prism_docker_is_image_name (const char *name);
/* The digest, lower case: "sha256:…". */
char *prism_docker_dup_digest (const char *image);
/* UID:GID in digits, neither of them root. */
gboolean prism_docker_parse_user (const char *user, guint *uid, guint *gid);
/* A network of the daemon's that somebody made: no mode, no other container. */
gboolean prism_docker_is_network_name (const char *name);
gboolean prism_docker_is_runtime_name (const char *name);
/* What we name sandboxes by: 32 hex digits. */
gboolean prism_docker_is_id (const char *id);
/* 12 to 64 hex digits. */
gboolean prism_docker_is_container_id (const char *id);
/* A skill's name in the layout. */
gboolean prism_docker_is_skill_id (const char *id, gsize length);

G_END_DECLS
