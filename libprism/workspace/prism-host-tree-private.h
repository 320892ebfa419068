/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <errno.h>
#include <sys/stat.h>

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
gboolean prism_host_remove_all (int folder, const char *name, gint64 most, gint64 *done);
/* All that is in the folder @fd. 0 or errno. */
int prism_host_empty (int fd, gint64 most, gint64 *done);

/* Not what was meant, and nothing is changed. */
#define PRISM_HOST_CHANGED ESTALE

gboolean prism_host_write_all (int fd, GBytes *bytes); /* FALSE: errno */

/* The name @leaf of @folder, if it is the object that @old, @wanted or @from and @to say; NULL:
 * if there is none. 0 or errno. */
int prism_host_replace (int folder, const char *leaf, GBytes *bytes, guint mode, const struct stat *old);
/* @fd: the object. @most: entries, if it is a folder with content; 0: no content is removed. */
int prism_host_remove (int folder, const char *leaf, int fd, const struct stat *wanted, gint64 most, gint64 *done);
int prism_host_move (int from_folder,
                     const char *from_leaf,
                     const struct stat *from,
                     int to_folder,
                     const char *to_leaf,
                     const struct stat *to);

/* Runs a command on the host, in the folder @cwd_fd, with @environment and no other. */
PrismResult *prism_host_exec (
    PrismCommand *command, int cwd_fd, const char *const *environment, GCancellable *cancellable, GError **error);

/* PRISM_TREE_FAULT of @number, with @path in front. */
void prism_tree_set_errno (GError **error, int number, const char *path);
PrismTreeFault prism_host_fault_of (int number);
const char *prism_host_words_of (int number);
/* Takes an error of the path guard. */
void prism_host_take_fault (GError **error, GError *from);

G_END_DECLS
