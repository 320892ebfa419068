/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* openat2() with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS, and without @follow also
 * RESOLVE_NO_SYMLINKS, done by hand where the kernel has none. -1 with errno as that. */
int prism_path_walk (int root, const char *rest, gboolean follow, int flags, guint mode);

G_END_DECLS
