/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What others do to our containers through the engine, and the agent cannot tell: it was
 * paused. One thread for each engine's socket, for as long as a sandbox of it lives. */
#pragma once

#include <glib-object.h>

G_BEGIN_DECLS

/* In that thread. @when: us since the epoch. */
typedef void (*PrismDockerPausedFunc) (GObject *sandbox, gint64 when);

void prism_docker_events_watch (const char *socket, const char *container, GObject *sandbox, PrismDockerPausedFunc func);
void prism_docker_events_forget (const char *socket, const char *container);

G_END_DECLS
