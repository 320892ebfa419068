/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the engine says of its own set-up. Pure: @info is its answer, of which no member
 * need be there. */
#pragma once

#include "prism-http-json.h"

G_BEGIN_DECLS

/* How users inside are others than the host's, in words; NULL when they are not. */
char *prism_docker_info_dup_remapped (JsonNode *info);
/* Which of the host's ids are root's inside, with userns-remap; where that is not to be told, FALSE. Its word:
 * what a container's users really are is seen when it runs. */
gboolean prism_docker_info_find_base (JsonNode *info, guint *uid, guint *gid);
gboolean prism_docker_info_has_runtime (JsonNode *info, const char *name);
/* "crun, runc"; NULL when it tells of none. */
char *prism_docker_info_dup_runtimes (JsonNode *info);
/* By its program, not by the name that somebody registered it under. */
gboolean prism_docker_info_is_own_kernel (JsonNode *info, const char *runtime);
/* Of the engine's own filter of system calls: its profile's name; NULL where it has none. */
char *prism_docker_info_dup_seccomp (JsonNode *info);
/* What it cannot limit: "memory, pids"; NULL when it can all that is needed. */
char *prism_docker_info_dup_lacking (JsonNode *info);

G_END_DECLS
