/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-cli.h"

static GOptionEntry entries[] = { G_OPTION_ENTRY_NULL };

int
prism_cmd_version (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;

  if (!prism_cli_parse (prism_cli_find_command ("version"), entries, FALSE, &argc, &argv, &error))
    {
      prism_cli_error (error);
      return PRISM_EXIT_FAILED;
    }
  if (argc > 1)
    {
      prism_cli_message (_ ("version: it takes no argument"));
      return PRISM_EXIT_FAILED;
    }
  g_print ("prism %s\n", PRISM_VERSION_S);

  return 0;
}
