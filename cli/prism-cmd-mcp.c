/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prism mcp: the coding tools in a sandbox, for a client of the Model Context Protocol on
 * the standard input and output. */
#include "prism-mcp-server.h"

static gboolean
check (const PrismCliOptions *options, GError **error)
{
  if (options->argv[0] != NULL)
    return prism_cli_bad_value (error, _ ("mcp: there is no command to give; “%s” is left over"), options->argv[0]);
  if (options->tty || options->no_tty || options->no_input || options->json)
    return prism_cli_bad_value (error, _ ("mcp: --tty, --no-tty, --no-input and --json are for prism run: here the "
                                          "standard input and output are the client's"));
  if (options->timeout != NULL)
    return prism_cli_bad_value (error, _ ("mcp: --timeout is for prism run: here each call says its own"));
  return TRUE;
}

int
prism_cmd_mcp (int argc, char **argv)
{
  g_auto (PrismCliOptions) options = { 0 };
  g_autoptr (GError) error = NULL;
  int in, out;

  if (!prism_cli_options_parse (&options, prism_cli_find_command ("mcp"), argc, argv, &error)
      || !check (&options, &error) || !prism_mcp_take_standard_fds (&in, &out, &error))
    {
      prism_cli_error (error);
      return PRISM_EXIT_FAILED;
    }
  return prism_mcp_server_run (&options, in, out);
}
