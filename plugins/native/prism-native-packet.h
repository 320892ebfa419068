/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <sys/types.h>
#include <sys/uio.h>

G_BEGIN_DECLS

/* Packets with descriptors beside them, on the sockets to launchers and keepers. */
#define PRISM_NATIVE_PACKET_FDS 3

/* All of it or nothing. Waits where the other end has not read yet. */
gboolean prism_native_packet_send (int socket, const struct iovec *parts, gsize n_parts, const int *fds, gsize n_fds);
/* As recv() without waiting; a single descriptor that came takes the place of *@passed,
 * which is closed then. */
ssize_t prism_native_packet_receive (int socket, guint8 *bytes, gsize size, int *passed);

G_END_DECLS
