/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GLib (2.74) reads numbers in a locale that it makes at its first call. A thread that waits
 * meanwhile for another's first call comes back with errno set, and takes that for a number out of
 * range: one that fits is refused. So the first is read here, as the library is loaded. */
#include <glib.h>

__attribute__ ((constructor)) static void
read_first_number (void)
{
  g_ascii_strtoll ("0", NULL, 10);
}
