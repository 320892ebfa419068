/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sandbox's folder on the host, in the runtime folder. `host` in it is what the
 * container sees, read-only: the socket on which the agent is awaited, and the files that
 * are laid over the image's. What is beside it the container does not see. */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

typedef struct
{
  char *folder;
  int lock;     /* held while this process has the sandbox */
  int listener;
} PrismDockerRoom;

/* Where that of @id is, or will be; NULL: the one that all of them are in. */
char *prism_docker_room_dup_folder (const char *id, GError **error);

gboolean prism_docker_room_make (PrismDockerRoom *self, const char *id, guint uid, guint gid, GError **error);
/* The image's own users go on, below ours. NULL: it has none. */
gboolean prism_docker_room_write_users (
    PrismDockerRoom *self, guint uid, guint gid, const char *passwd, const char *group, GError **error);
/* The room of a sandbox that is there: NOT_FOUND, or STATE where another host has it. */
gboolean prism_docker_room_enter (PrismDockerRoom *self, const char *id, GError **error);
/* A new socket in it, which the agent will dial. */
gboolean prism_docker_room_open (PrismDockerRoom *self, GError **error);
/* What the next host is to know; beside what the container sees. */
gboolean prism_docker_room_deposit (PrismDockerRoom *self, GBytes *bytes, GError **error);
GBytes *prism_docker_room_read_deposit (PrismDockerRoom *self, GError **error);
/* A connection, not yet judged; -1 when none is there. */
int prism_docker_room_accept (PrismDockerRoom *self);
/* What a host that was killed showed and did not take away. */
void prism_docker_room_remove_mounts (PrismDockerRoom *self);
/* Nobody can come in any more; the container keeps the files that it has. */
void prism_docker_room_remove (PrismDockerRoom *self);
void prism_docker_room_clear (PrismDockerRoom *self);

G_END_DECLS
