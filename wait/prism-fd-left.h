/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include <sys/eventfd.h>
#include <unistd.h>

G_BEGIN_DECLS

/* Where no descriptor is left GLib ends the process: in g_main_context_new(), in what makes a
 * cancellable pollable, in a unix stream's constructor. So it is asked before each of these;
 * in vain only if another thread takes the last one in between. Sets errno. */
static inline gboolean
prism_fd_is_left (void)
{
  int fd = eventfd (0, EFD_CLOEXEC);

  if (fd < 0)
    return FALSE;
  (void)close (fd);
  return TRUE;
}

/* For waits that are to notice a cancellation by @cancellable, for which there is no
 * descriptor: how often they look, in ms. */
#define PRISM_BLIND_WAIT_MS 5

G_END_DECLS
