/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A line for a shell from anybody: what the lexer makes of it holds together, and rules and
 * built-in denies come to a verdict in a time that goes with its length. */
#include <stdint.h>
#include <string.h>

#include "prism-command-judge-private.h"
#include "prism-command-lexer-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size);

static void
check_word (const PrismShellLine *line, const PrismShellWord *word)
{
  g_assert_cmpuint (word->text + word->length, <, line->text->len);
  g_assert_cmpint (line->text->str[word->text + word->length], ==, '\0');
}

static void
check_command (const PrismShellLine *line, guint index)
{
  const PrismShellCommand *command = prism_shell_line_command (line, index);
  g_autofree char *text = prism_shell_line_dup_command (line, index);

  g_assert_cmpuint (command->first + command->n_assignments + command->n_words, <=, line->words->len);
  g_assert_cmpuint (command->first_redirect + command->n_redirects, <=, line->redirects->len);
  g_assert_cmpuint (command->end, >, index);
  g_assert_cmpuint (command->end, <=, line->commands->len);
  g_assert_cmpuint (command->expanded, <=, command->end);
  for (guint i = 0; i < command->n_assignments + command->n_words; i++)
    check_word (line, &g_array_index (line->words, PrismShellWord, command->first + i));
  for (guint i = 0; i < command->n_redirects; i++)
    check_word (line, &g_array_index (line->redirects, PrismShellRedirect, command->first_redirect + i).target);
}

static GPtrArray *
make_rules (void)
{
  const char *const words[] = { "git", "status", NULL };
  GPtrArray *rules = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_command_rule_unref);

  g_ptr_array_add (rules, prism_command_rule_new (PRISM_COMMAND_MATCH_GLOB, "*a?b*c*", PRISM_VERDICT_DENY, NULL, NULL));
  g_ptr_array_add (rules,
                   prism_command_rule_new (PRISM_COMMAND_MATCH_REGEX, "(a|aa)+$", PRISM_VERDICT_DENY, NULL, NULL));
  g_ptr_array_add (rules, prism_command_rule_new (PRISM_COMMAND_MATCH_WORD, "touch", PRISM_VERDICT_DENY, NULL, NULL));
  g_ptr_array_add (rules, prism_command_rule_new_prefix (words, PRISM_VERDICT_ALLOW, NULL, NULL));
  return rules;
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size)
{
  static GPtrArray *rules = NULL;
  g_autofree char *text = g_strndup ((const char *)bytes, MIN (size, 4096));
  g_autoptr (PrismShellLine) line = prism_shell_line_new (text);
  g_autoptr (PrismDecision) strict = NULL;
  g_autoptr (PrismDecision) lists = NULL;

  if (rules == NULL)
    rules = make_rules ();
  for (guint i = 0; i < line->commands->len; i++)
    check_command (line, i);
  for (guint i = 0; i < line->pipes->len; i++)
    g_assert_cmpuint (g_array_index (line->pipes, PrismShellPipe, i).end, <=, line->commands->len);
  strict = prism_command_judge ((PrismCommandRule *const *)rules->pdata, rules->len, text, NULL, TRUE);
  lists = prism_command_judge ((PrismCommandRule *const *)rules->pdata, rules->len, text, NULL, FALSE);
  /* What is strict allows nothing that the other does not, and what is uncertain is never allowed. */
  if (prism_decision_get_allowed (strict))
    g_assert_true (prism_decision_get_allowed (lists));
  if (line->uncertain != NULL || line->limit != NULL)
    g_assert_false (prism_decision_get_allowed (lists));
  g_assert_true (g_utf8_validate (prism_decision_get_reason (strict), -1, NULL));
  return 0;
}
