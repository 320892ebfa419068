/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-cli-execute.h"

int
prism_cmd_run (int argc, char **argv)
{
  g_auto (PrismCliOptions) options = { 0 };
  g_autoptr (GError) error = NULL;

  if (!prism_cli_options_parse (&options, prism_cli_find_command ("run"), argc, argv, &error))
    return prism_cli_fail (&options, error);

  if (options.argv[0] == NULL)
    {
      g_set_error (&error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                   _ ("run: there is no command; say prism run [OPTIONS] -- COMMAND [ARG...], or prism shell"));
      return prism_cli_fail (&options, error);
    }

  return prism_cli_execute (&options);
}
