/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-cli-execute.h"

/* The caller's own shell need not be there inside, so what is there decides. */
#define SHELL "if command -v bash >/dev/null 2>&1; then exec bash; else exec /bin/sh; fi"

int
prism_cmd_shell (int argc, char **argv)
{
  g_auto (PrismCliOptions) options = { 0 };
  g_autoptr (GError) error = NULL;

  if (!prism_cli_options_parse (&options, prism_cli_find_command ("shell"), argc, argv, &error))
    return prism_cli_fail (&options, error);

  if (options.argv[0] != NULL)
    {
      g_set_error (&error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, _ ("shell: it takes no command; prism run does"));
      return prism_cli_fail (&options, error);
    }
  options.shell = TRUE;
  g_strfreev (options.argv);
  options.argv = g_strdupv ((char *[]){ (char *)"/bin/sh", (char *)"-c", (char *)SHELL, NULL });

  return prism_cli_execute (&options);
}
