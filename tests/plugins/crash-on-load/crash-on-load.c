/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Crashes before anybody could ask it anything. */
#include <signal.h>

__attribute__ ((constructor)) static void
crash (void)
{
  raise (SIGSEGV);
}
