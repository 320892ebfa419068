/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-command-judge-private.h"

#include "prism-command-rule-private.h"
#include "prism-decision-private.h"

gboolean
prism_command_runs_others (const char *program)
{
  return FALSE;
}

gboolean
prism_command_variable_is_dangerous (const char *assignment)
{
  return TRUE;
}

PrismDecision *
prism_command_judge (PrismCommandRule *const *rules,
                     gsize n_rules,
                     const char *line,
                     const char *const *argv,
                     gboolean deny_metacharacters)
{
  return g_object_new (PRISM_TYPE_DECISION, "verdict", PRISM_VERDICT_ASK, "reason-id", PRISM_REASON_APPROVAL_REQUIRED,
                       "reason", "commands need approval", NULL);
}

/**
 * prism_command_rules_evaluate:
 * @rules: (array length=n_rules): rules in their order
 * @n_rules: how many
 * @command: a line for a shell
 * @deny_metacharacters: whether a line that is more than one plain command needs approval
 *   though rules allow each of its commands
 *
 * Says what rules, and the built-in denies, say to a line: for each of its simple commands
 * the first rule that matches decides, and the strictest of them all for the line. It looks
 * at the line and at nothing else.
 *
 * Returns: (transfer full): a decision, with why; %PRISM_VERDICT_ASK is what needs approval
 *
 * Since: 1.0
 */
PrismDecision *
prism_command_rules_evaluate (PrismCommandRule *const *rules,
                              gsize n_rules,
                              const char *command,
                              gboolean deny_metacharacters)
{
  g_return_val_if_fail (command != NULL, NULL);

  return prism_command_judge (rules, n_rules, command, NULL, deny_metacharacters);
}
