/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prism: the library's command line. Start-up is kept lean, since a run of a
 * short command is measured in single milliseconds. */
#include "prism-cli-options.h"
#include "prism-start.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const PrismCliCommand prism_cli_commands[] = {
  { "run", N_ ("-- COMMAND [ARG…]"), N_ ("Run one command in a fresh sandbox"), prism_cmd_run,
    prism_cli_options_entries },
  { "shell", "", N_ ("An interactive shell in a sandbox"), prism_cmd_shell, prism_cli_options_entries },
  { "doctor", N_ ("[BACKEND]"), N_ ("What each backend can enforce on this machine"), prism_cmd_doctor,
    prism_cmd_doctor_entries },
  { "inspect", N_ ("[PLUGIN]"), N_ ("Plug-ins and backends: what they offer, or why they are refused"),
    prism_cmd_inspect, prism_cmd_inspect_entries },
  { "proxy", "", N_ ("The egress proxy alone, until a signal ends it"), prism_cmd_proxy, prism_cmd_proxy_entries },
  { "mcp", "", N_ ("The coding tools, for a client of the Model Context Protocol"), prism_cmd_mcp,
    prism_cli_options_entries },
  { "policy", N_ ("fingerprint FILE | check --policy FILE -- COMMAND [ARG...]"), N_ ("What a policy file says"),
    prism_cmd_policy, prism_cmd_policy_entries },
  { "tool", N_ ("list | call NAME JSON"), N_ ("The coding tools, one call at a time"), prism_cmd_tool,
    prism_cli_options_entries },
  { "approval", N_ ("list DIR | show, allow, deny, answer, cancel, forget DIR ID"),
    N_ ("What was put down with --suspend, and its answers"), prism_cmd_approval, prism_cmd_approval_entries },
  { "log", N_ ("[-f] FILE"), N_ ("An audit file as readable lines"), prism_cmd_log, prism_cmd_log_entries },
  { "version", "", N_ ("Print the version"), prism_cmd_version, NULL },
  { "help", N_ ("[COMMAND]"), N_ ("Show this, or a command's options"), prism_cmd_help, NULL },
  { "complete", "", NULL, prism_cmd_complete, NULL },
  { NULL, NULL, NULL, NULL, NULL },
};

const PrismCliCommand *
prism_cli_find_command (const char *name)
{
  for (guint i = 0; prism_cli_commands[i].name != NULL; i++)
    if (g_str_equal (prism_cli_commands[i].name, name))
      return &prism_cli_commands[i];

  return NULL;
}

static void
set_up_translation (void)
{
  /* Only what messages need: each further category is a file to open and map,
   * and numbers are to be read and written as in C. */
  setlocale (LC_CTYPE, "");
  setlocale (LC_MESSAGES, "");
  bindtextdomain (GETTEXT_PACKAGE, PRISM_LOCALEDIR);
  bind_textdomain_codeset (GETTEXT_PACKAGE, "UTF-8");
  textdomain (GETTEXT_PACKAGE);
}

static gboolean
is_translated (void)
{
  static const char *const variables[] = { "LC_ALL", "LC_MESSAGES", "LANG" };
  const char *language = g_getenv ("LANGUAGE");
  const char *locale = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (variables) && (locale == NULL || *locale == '\0'); i++)
    locale = g_getenv (variables[i]);
  if (language != NULL && *language != '\0')
    return TRUE;

  return locale != NULL && *locale != '\0' && !g_str_equal (locale, "C") && !g_str_equal (locale, "POSIX")
         && !g_str_has_prefix (locale, "C.");
}

/* An option that GOption answers itself, in the terminal's character set. */
static gboolean
may_ask_for_help (char **argv)
{
  for (; *argv != NULL && !g_str_equal (*argv, "--"); argv++)
    if (argv[0][0] == '-' && strpbrk (*argv, "h?") != NULL)
      return TRUE;

  return FALSE;
}

/* A run says nothing of its own where all goes well, and its messages are written as
 * they are. Where nothing would be translated it opens no locale for them. */
static gboolean
needs_locale (char **argv)
{
  return argv[1] == NULL || !g_str_equal (argv[1], "run") || is_translated () || may_ask_for_help (argv + 2);
}

/* What was printed and did not get there: on a full disk, or with no output at all.
 * Also what GOption prints, which ends the program by itself. The reason may be lost:
 * g_print() looks at none. */
static void
check_output (void)
{
  errno = 0;
  if (fflush (stdout) != 0 || ferror (stdout))
    _exit (prism_cli_unwritten (errno));
}

static int
run (int argc, char **argv)
{
  const PrismCliCommand *command;

  if (argc < 2)
    {
      prism_cli_message (_ ("there is no command; “prism help” lists what there is"));
      return PRISM_EXIT_FAILED;
    }
  if (g_str_equal (argv[1], "--version") || g_str_equal (argv[1], "-V"))
    {
      argv[1] = (char *)"version";
      return prism_cmd_version (argc - 1, argv + 1);
    }
  if (g_str_equal (argv[1], "--help") || g_str_equal (argv[1], "-h") || g_str_equal (argv[1], "-?"))
    {
      argv[1] = (char *)"help";
      return prism_cmd_help (argc - 1, argv + 1);
    }

  command = prism_cli_find_command (argv[1]);
  if (command == NULL)
    {
      if (argv[1][0] == '\0')
        prism_cli_message (_ ("there is no command; “prism help” lists what there is"));
      else if (argv[1][0] == '-')
        prism_cli_message (_ ("there is no option “%s” before a command; “prism help” lists the commands"), argv[1]);
      else
        prism_cli_message (_ ("there is no command “%s”; “prism help” lists what there is; to run it in a sandbox: "
                              "prism run -- %s"),
                           argv[1], argv[1]);
      return PRISM_EXIT_FAILED;
    }

  return command->run (argc - 1, argv + 1);
}

int
prism_cli_main (int argc, char **argv, const PrismCliStart *start)
{
  int status;

  prism_cli_note_start (start);
  atexit (check_output);
  if (argc < 1 || needs_locale (argv))
    set_up_translation ();
  status = run (argc, argv);
  check_output ();
  return status;
}
