/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* flood MIB [CPU]: that many MiB to standard output, as fast as they are taken; on that CPU. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
main (int argc, char **argv)
{
  static char block[1 << 18];
  if (argc > 2)
    {
      cpu_set_t set;
      CPU_ZERO (&set);
      CPU_SET (atoi (argv[2]), &set);
      if (sched_setaffinity (0, sizeof set, &set) != 0)
        return 2;
    }
  memset (block, 'f', sizeof block);
  for (long long left = (argc > 1 ? atoll (argv[1]) : 1) << 20; left > 0;)
    {
      ssize_t n = write (1, block, left < (long long)sizeof block ? (size_t)left : sizeof block);
      if (n <= 0)
        return 1;
      left -= n;
    }
  return 0;
}
