/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-cli.h"

int
prism_cmd_version (int argc, char **argv)
{
  g_print ("prism %s\n", PRISM_VERSION_S);

  return 0;
}
