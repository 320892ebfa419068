/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-path-guard.h"
#include "prism-tree-private.h"

G_BEGIN_DECLS

#define PRISM_TYPE_HOST_TREE (prism_host_tree_get_type ())
G_DECLARE_FINAL_TYPE (PrismHostTree, prism_host_tree, PRISM, HOST_TREE, PrismTree)

/* @shell: (nullable): the sandbox whose commands serve where files and shell are apart. */
PrismTree *prism_host_tree_new (const char *folder, GError **error);

/* A literal search below @fd, which it takes. */
gboolean prism_host_search (int fd,
                            const char *name,
                            const PrismTreeQuery *query,
                            PrismTreeFound *found,
                            GCancellable *cancellable,
                            GError **error);

/* @name in @folder, and all below it; at most so many entries: then E2BIG. *@done: how many
 * went, however it ends. FALSE: errno. */
gboolean prism_host_remove (int folder, const char *name, gint64 most, gint64 *done);

/* Runs a command on the host, in the folder @cwd_fd, with @environment and no other. */
PrismResult *prism_host_exec (
    PrismCommand *command, int cwd_fd, const char *const *environment, GCancellable *cancellable, GError **error);

/* PRISM_TREE_FAULT of @number, with @path in front. */
void prism_tree_set_errno (GError **error, int number, const char *path);

G_END_DECLS
