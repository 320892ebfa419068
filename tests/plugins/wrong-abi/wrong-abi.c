/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For an ABI that this library does not have: its code must not run at all. */
#include <stdlib.h>

__attribute__ ((constructor)) static void
must_not_run (void)
{
  abort ();
}
