/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Owned file descriptors: GLib has g_autofd only from 2.76. */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>

#include <errno.h>
#include <unistd.h>

G_BEGIN_DECLS

/* Closes what is open, keeps errno. */
static inline void
prism_clear_fd (int *fd)
{
  int saved_errno = errno;

  if (*fd >= 0)
    (void)close (*fd);
  *fd = -1;
  errno = saved_errno;
}

/* prism_autofd int fd = -1; give away with g_steal_fd (&fd). */
#define prism_autofd __attribute__ ((cleanup (prism_clear_fd)))

G_END_DECLS
