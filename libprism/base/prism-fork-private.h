/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* How often the program forked on the way to this process, since the library was loaded.
 * Who keeps the number sees by it that the threads, and what belongs to the process that
 * made something, are not here. Costs no system call. */
guint prism_forks (void);

G_END_DECLS
