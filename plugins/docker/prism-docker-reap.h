/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-docker-options.h"

G_BEGIN_DECLS

/* References of all sandboxes of this user's that the engine has. */
char **prism_docker_sandboxes_list (const PrismDockerOptions *options,
                                    gint64 deadline,
                                    GCancellable *cancellable,
                                    GError **error);
/* Removes what dead hosts left, and nothing of a living one's; how many, or -1. */
gint prism_docker_leftovers_remove (const PrismDockerOptions *options,
                                    gint64 deadline,
                                    GCancellable *cancellable,
                                    GError **error);

G_END_DECLS
