/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prism policy check: what a policy file decides about an action, which rule, and why;
 * nothing is run and nobody is asked. */
#include "prism-cli-policy-check.h"

#include "prism-cli-json.h"
#include "prism-cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXIT_DENIED         PRISM_EXIT_NOT_STARTABLE
#define EXIT_NEEDS_APPROVAL 3

static int
status_of (PrismVerdict verdict)
{
  return verdict == PRISM_VERDICT_ALLOW ? 0 : verdict == PRISM_VERDICT_DENY ? EXIT_DENIED : EXIT_NEEDS_APPROVAL;
}

/* One word is a line, as a model writes it to its shell tool; several are a program and
 * its arguments, as after prism run. */
static PrismAction *
make_action (const PrismCliCheck *check)
{
  const char *kind = check->kind != NULL ? check->kind : check->command[0] != NULL ? "shell" : "read";
  const char *operation = check->operation != NULL ? check->operation : g_str_equal (kind, "shell") ? "execute" : kind;
  PrismAction *action = prism_action_new (kind, operation);
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *here = g_get_current_dir ();
  g_autofree char *directory = check->directory != NULL ? g_canonicalize_filename (check->directory, NULL) : NULL;

  for (guint i = 0; check->paths != NULL && check->paths[i] != NULL; i++)
    g_ptr_array_add (paths, check->paths[i][0] == '/' ? g_strdup (check->paths[i])
                                                      : g_build_filename (here, check->paths[i], NULL));
  g_ptr_array_add (paths, NULL);
  if (paths->len > 1)
    prism_action_set_paths (action, (const char *const *)paths->pdata);
  prism_action_set_directory (action, directory);
  if (check->command[0] != NULL && check->command[1] == NULL)
    prism_action_set_command (action, check->command[0]);
  else if (check->command[0] != NULL)
    prism_action_set_argv (action, (const char *const *)check->command);
  return action;
}

static char *
quote (char **command)
{
  GString *line = g_string_new (NULL);

  for (guint i = 0; command[i] != NULL; i++)
    {
      g_autofree char *quoted = g_shell_quote (command[i]);

      g_string_append_printf (line, "%s%s", i > 0 ? " " : "", quoted);
    }
  return g_string_free (line, FALSE);
}

static void
print_commands (PrismJson *json, const PrismCliCheck *check)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) commands = NULL;

  if (check->command[0] != NULL && check->command[1] == NULL)
    commands = prism_shell_list_commands (check->command[0], &error);
  else if (check->command[0] != NULL)
    {
      g_autofree char *line = quote (check->command);

      commands = prism_shell_list_commands (line, &error);
    }
  if (commands != NULL)
    prism_json_strv (json, "commands", (const char *const *)commands);
  else
    prism_json_null (json, "commands");
  prism_json_string (json, "uncertain", error != NULL ? error->message : NULL);
}

static void
print_warnings (PrismJson *json, PrismApprovalPolicy *policy)
{
  GPtrArray *rules = prism_approval_policy_get_rules (policy);

  prism_json_begin_array (json, "warnings");
  for (guint i = 0; i < rules->len; i++)
    {
      const char *warning = prism_command_rule_get_warning (rules->pdata[i]);
      g_autofree char *text = warning != NULL ? g_strdup_printf ("commandRules/%u: %s", i, warning) : NULL;

      if (text != NULL)
        prism_json_string (json, NULL, text);
    }
  prism_json_end_array (json);
}

static int
print_json (const PrismCliCheck *check, PrismApprovalPolicy *policy, PrismDecision *decision)
{
  static const char *const words[] = { "allowed", "denied", "needs_approval" };
  g_autoptr (PrismJson) json = prism_json_new ();

  prism_json_begin_object (json, NULL);
  prism_json_string (json, "verdict", words[prism_decision_get_verdict (decision)]);
  prism_json_boolean (json, "allowed", prism_decision_get_allowed (decision));
  prism_json_string (json, "reason_id", prism_decision_get_reason_id (decision));
  prism_json_string (json, "reason", prism_decision_get_reason (decision));
  prism_json_string (json, "rule", prism_decision_get_rule (decision));
  prism_json_string (json, "remedy", prism_decision_get_remedy (decision));
  prism_json_boolean (json, "exclusive", prism_decision_get_exclusive (decision));
  print_commands (json, check);
  print_warnings (json, policy);
  prism_json_end_object (json);
  return prism_json_print (json, STDOUT_FILENO) ? status_of (prism_decision_get_verdict (decision)) : PRISM_EXIT_FAILED;
}

static void
print_line (const char *label, const char *text)
{
  g_autofree char *shown = text != NULL ? prism_cli_visible (text) : NULL;

  if (shown != NULL)
    g_print ("%s%s\n", label, shown);
}

static int
print_text (PrismApprovalPolicy *policy, PrismDecision *decision)
{
  const char *const words[] = { _ ("allowed"), _ ("denied"), _ ("needs approval") };
  GPtrArray *rules = prism_approval_policy_get_rules (policy);
  const char *id = prism_decision_get_reason_id (decision);

  g_print ("%s%s%s%s\n", words[prism_decision_get_verdict (decision)], id != NULL ? " (" : "", id != NULL ? id : "",
           id != NULL ? ")" : "");
  print_line (_ ("rule: "), prism_decision_get_rule (decision));
  print_line (_ ("why: "), prism_decision_get_reason (decision));
  print_line (_ ("to allow it: "), prism_decision_get_remedy (decision));
  for (guint i = 0; i < rules->len; i++)
    if (prism_command_rule_get_warning (rules->pdata[i]) != NULL)
      prism_cli_message (_ ("warning: commandRules/%u: %s"), i, prism_command_rule_get_warning (rules->pdata[i]));
  return status_of (prism_decision_get_verdict (decision));
}

static int
print_policy (PrismPolicyFile *file)
{
  g_autofree char *text = prism_policy_file_dup_text (file);

  return fputs (text, stdout) >= 0 && fflush (stdout) == 0 ? 0 : prism_cli_unwritten (0);
}

/* What there is nothing to ask about is an error, and no permission. */
static gboolean
check_question (const PrismCliCheck *check, GError **error)
{
  if (check->policy == NULL)
    return prism_cli_bad_value (error, _ ("policy check: say --policy FILE"));
  if (!check->print && check->command[0] == NULL && check->paths == NULL && check->kind == NULL)
    return prism_cli_bad_value (error,
                                _ ("policy check: say what about: a command after --, --kind KIND or --path PATH"));
  if (check->kind != NULL && !g_str_equal (check->kind, "shell") && check->command[0] != NULL)
    return prism_cli_bad_value (error, _ ("policy check: a command is of kind shell, not %s"), check->kind);
  return TRUE;
}

int
prism_cli_policy_check (const PrismCliCheck *check)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismPolicyFile) file = NULL;
  g_autoptr (PrismAction) action = NULL;
  g_autoptr (PrismDecision) decision = NULL;
  PrismApprovalPolicy *policy;

  if (!check_question (check, &error) || (file = prism_policy_file_new_for_path (check->policy, &error)) == NULL)
    {
      prism_cli_error (error);
      return PRISM_EXIT_FAILED;
    }
  if (check->print)
    return print_policy (file);
  policy = prism_policy_file_get_policy (file);
  if (policy == NULL)
    {
      prism_cli_message (_ ("policy check: %s says nothing of actions: it has neither roots nor commandRules"),
                         check->policy);
      return PRISM_EXIT_FAILED;
    }
  action = make_action (check);
  decision = prism_approval_policy_evaluate (policy, action);
  return check->json ? print_json (check, policy, decision) : print_text (policy, decision);
}
