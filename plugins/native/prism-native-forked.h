/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Descriptors that no fork of this process has a copy of. A sandbox is to end with its host,
 * which its keeper hears of by the end of a socket; and a fork may live on. */
typedef struct
{
  GList link;
  int *fds[2];
  gboolean anothers; /* this process is the fork */
} PrismNativeForked;

void prism_native_forked_add (PrismNativeForked *self, int *first, int *second);
void prism_native_forked_remove (PrismNativeForked *self);

G_END_DECLS
