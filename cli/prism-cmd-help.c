/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-cli.h"

#include <string.h>

static GOptionEntry entries[] = { G_OPTION_ENTRY_NULL };

static void
print_overview (void)
{
  gsize width = 0;

  g_print ("%s\n  %s\n\n%s\n\n%s\n", _ ("Usage:"), _ ("prism COMMAND [OPTIONS]"),
           _ ("Runs code that nobody here trusts yet, and says truthfully what contained it."), _ ("Commands:"));
  for (guint i = 0; prism_cli_commands[i].name != NULL; i++)
    width = MAX (width, strlen (prism_cli_commands[i].name));
  for (guint i = 0; prism_cli_commands[i].name != NULL; i++)
    if (prism_cli_commands[i].summary != NULL)
      g_print ("  %-*s  %s\n", (int)width, prism_cli_commands[i].name, _ (prism_cli_commands[i].summary));
  g_print ("\n%s\n", _ ("“prism COMMAND --help” lists a command's options; prism(1) says it all."));
}

int
prism_cmd_help (int argc, char **argv)
{
  const PrismCliCommand *command;
  char *arguments[] = { NULL, (char *)"--help", NULL };
  g_autoptr (GError) error = NULL;

  if (!prism_cli_parse (prism_cli_find_command ("help"), entries, FALSE, &argc, &argv, &error))
    {
      prism_cli_error (error);
      return PRISM_EXIT_FAILED;
    }
  if (argc > 2)
    {
      prism_cli_message (_ ("help: one command, or none for all of them"));
      return PRISM_EXIT_FAILED;
    }
  command = prism_cli_find_command (argc == 2 ? argv[1] : "help");
  if (command != NULL && command->run == prism_cmd_help)
    {
      print_overview ();
      return 0;
    }
  /* What has no summary is for scripts. */
  if (command == NULL || command->summary == NULL)
    {
      prism_cli_message (_ ("there is no command “%s”; “prism help” lists what there is"), argv[1]);
      return PRISM_EXIT_FAILED;
    }

  arguments[0] = argv[1];
  return command->run (2, arguments);
}
