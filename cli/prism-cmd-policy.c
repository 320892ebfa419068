/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prism policy fingerprint FILE: the SHA-256 of what it lets be reached, and with
 * --verbose or --json every rule of it, with who asked for it. prism policy check: what it
 * decides about a command or a path. */
#include "prism-cli-egress.h"
#include "prism-cli-policy-check.h"
#include "prism-cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static gboolean json_wanted, verbose;
static PrismCliCheck check;

static GOptionEntry entries[] = {
  { "json", 0, 0, G_OPTION_ARG_NONE, &json_wanted, N_ ("Print one JSON object"), NULL },
  { "policy", 0, 0, G_OPTION_ARG_FILENAME, &check.policy, N_ ("check: the policy file"), N_ ("FILE") },
  { "kind", 0, 0, G_OPTION_ARG_STRING, &check.kind,
    N_ ("check: shell, read, write, edit, delete, move, repo_list, ..."), N_ ("KIND") },
  { "operation", 0, 0, G_OPTION_ARG_STRING, &check.operation, N_ ("check: which operation of its kind"), N_ ("NAME") },
  { "path", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &check.paths, N_ ("check: a path that it is about"), N_ ("PATH") },
  { "directory", 0, 0, G_OPTION_ARG_FILENAME, &check.directory, N_ ("check: where a command would run"), N_ ("DIR") },
  { "print", 0, 0, G_OPTION_ARG_NONE, &check.print, N_ ("check: print the whole policy, presets and defaults too"),
    NULL },
  { "verbose", 'v', 0, G_OPTION_ARG_NONE, &verbose, N_ ("List the rules, presets included"), NULL },
  G_OPTION_ENTRY_NULL,
};

GOptionEntry *
prism_cmd_policy_entries (void)
{
  return entries;
}

static int
print_json (PrismEgressPolicy *policy)
{
  static const char *const kinds[] = { "deny_all", "allow_all", "static", "resolver" };
  g_autoptr (PrismJson) json = prism_json_new ();

  prism_json_begin_object (json, NULL);
  prism_json_string (json, "fingerprint", prism_egress_policy_get_fingerprint (policy));
  prism_json_string (json, "kind", kinds[prism_egress_policy_get_kind (policy)]);
  prism_json_strv (json, "presets", prism_egress_policy_get_presets (policy));
  prism_cli_egress_json_rules (json, "rules", policy);
  prism_json_end_object (json);
  return prism_json_print (json, STDOUT_FILENO) ? 0 : PRISM_EXIT_FAILED;
}

static int
print_text (PrismEgressPolicy *policy)
{
  GPtrArray *rules = prism_egress_policy_get_rules (policy);

  g_print ("%s\n", prism_egress_policy_get_fingerprint (policy));
  for (guint i = 0; verbose && i < rules->len; i++)
    {
      const char *origin = prism_egress_rule_get_origin (rules->pdata[i]);
      g_autofree char *shown = prism_cli_visible (origin != NULL ? origin : "");

      g_print ("%s\t%s\n", prism_egress_rule_get_line (rules->pdata[i]), shown);
    }
  return 0;
}

static int
fingerprint (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismPolicyFile) file = prism_policy_file_new_for_path (path, &error);
  PrismEgressPolicy *policy;

  if (file == NULL)
    {
      prism_cli_error (error);
      return PRISM_EXIT_FAILED;
    }
  policy = prism_policy_file_get_egress_policy (file);
  if (policy != NULL)
    return json_wanted ? print_json (policy) : print_text (policy);
  prism_cli_message (_ ("policy fingerprint: %s does not say what may be reached (it has no “egress”)"), path);
  return PRISM_EXIT_FAILED;
}

/* Options end where the command begins, with "--" or without. */
static int
run_check (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;

  if (!prism_cli_parse (prism_cli_find_command ("policy"), entries, TRUE, &argc, &argv, &error))
    {
      prism_cli_error (error);
      return PRISM_EXIT_FAILED;
    }
  check.command = argv + (argc > 1 && g_str_equal (argv[1], "--") ? 2 : 1);
  check.json = json_wanted;
  return prism_cli_policy_check (&check);
}

int
prism_cmd_policy (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;

  if (argc > 1 && g_str_equal (argv[1], "check"))
    return run_check (argc - 1, argv + 1);
  if (!prism_cli_parse (prism_cli_find_command ("policy"), entries, FALSE, &argc, &argv, &error))
    {
      prism_cli_error (error);
      return PRISM_EXIT_FAILED;
    }
  if (argc == 3 && g_str_equal (argv[1], "fingerprint"))
    return fingerprint (argv[2]);
  prism_cli_message (_ ("policy: say prism policy fingerprint FILE, or prism policy check --policy FILE -- COMMAND"));
  return PRISM_EXIT_FAILED;
}
