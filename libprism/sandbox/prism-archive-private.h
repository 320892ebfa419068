/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Trees in and out, the host's half: a tree stream (agent/prism-wire.h) becomes a
 * canonical tar and its identity; a host folder, or a tar, becomes a tree stream
 * and the identity of the canonical tar of the same content.
 *
 * Neither the stream (the agent wrote it, from inside) nor the folder (whoever
 * changes it meanwhile) is trusted. An entry that a tree cannot hold, a name or a
 * link that leads outside, a limit, a change while reading: the first of these
 * ends the whole, as PRISM_TREE_ERROR. What was written until then is to be
 * thrown away by the caller; nothing is undone here.
 *
 * Canonical: entries in the stream's order, uid and gid 0, no names of owners,
 * mtime 0, mode & 0777, pax records only where a name, link or size needs one,
 * two zero blocks at the end. So equal content has an equal SHA-256.
 *
 * The work is done by a module that loads on first use, because libarchive and
 * libcrypto would cost every start milliseconds. These calls block: not for a
 * thread that runs a main context. */
#pragma once

#include "prism-archive-module-private.h"
#include "prism-tree-identity.h"

G_BEGIN_DECLS

/* Reads a tree stream from @tree_fd and writes the tar to @stream (not closed);
 * with @stream NULL, only checks it and finds its identity. */
PrismTreeIdentity *prism_archive_export (int tree_fd,
                                         GOutputStream *stream,
                                         const PrismArchiveLimits *limits,
                                         PrismArchiveProgress progress,
                                         gpointer user_data,
                                         GCancellable *cancellable,
                                         GError **error);

/* Walks the folder behind @folder_fd (O_PATH is enough) and writes its tree stream
 * to @tree_fd, which becomes non-blocking; neither is closed. */
PrismTreeIdentity *prism_archive_import (int folder_fd,
                                         int tree_fd,
                                         const PrismArchiveLimits *limits,
                                         PrismArchiveProgress progress,
                                         gpointer user_data,
                                         GCancellable *cancellable,
                                         GError **error);

/* The same from a tar, uncompressed, of any dialect that libarchive reads. */
PrismTreeIdentity *prism_archive_read_tar (int tar_fd,
                                           int tree_fd,
                                           const PrismArchiveLimits *limits,
                                           PrismArchiveProgress progress,
                                           gpointer user_data,
                                           GCancellable *cancellable,
                                           GError **error);

G_END_DECLS
