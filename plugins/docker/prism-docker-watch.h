/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's side of its keeper (prism-docker-keeper.c): one for each process, started
 * with the first sandbox. In any thread. */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

gboolean prism_docker_watch_keep (
    const char *container, const char *folder, const char *socket, const char *program, GError **error);
void prism_docker_watch_made (const char *container);
void prism_docker_watch_forget (const char *container);
/* What this process could not remove, or does not know of whether it is there. */
void prism_docker_watch_remove (const char *container);
gboolean prism_docker_watch_detach (const char *container, gint64 seconds, GError **error);

typedef struct
{
  const char *source, *place;
  gboolean folder, readonly;
  guint from_uid, to_uid, from_gid, to_gid;
} PrismDockerShowing;

gboolean prism_docker_watch_show (const PrismDockerShowing *showing, GError **error);
void prism_docker_watch_hide (const char *place);

G_END_DECLS
