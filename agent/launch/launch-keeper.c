/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The native launcher: entering the namespaces is not built yet. */
#include "agent.h"

#include <errno.h>
#include <stdio.h>

int
launch_main (int argc, char **argv)
{
  fputs ("prism-agent: --launch is not built in\n", stderr);
  return 78;
}

int
launch_load_seccomp (void)
{
  return -ENOSYS;
}

int
launch_enter_landlock (void)
{
  return -ENOSYS;
}
