/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules on commands. Each simple command is looked at by itself: the first rule that
 * matches decides for it, the built-in denies always count, and the strictest of all counts
 * for the line. Only a rule for the first words of a command clears it, and only where all
 * its words are known, none of them makes the program another one, and the line is nothing
 * but such commands. Past a limit the answer is no. */
#include "prism-command-judge-private.h"

#include <string.h>

#include "prism-command-arguments-private.h"
#include "prism-command-defaults-private.h"
#include "prism-command-parser-private.h"
#include "prism-command-rule-private.h"
#include "prism-decision-private.h"
#include "prism-fingerprint-private.h"

#define MAX_SHOWN  300
#define MAX_REMEDY 4 /* rules */

typedef struct
{
  const PrismShellLine *line;
  PrismCommandRule *const *rules;
  gsize n_rules;

  /* of the whole line, so far */
  PrismVerdict verdict;
  int rule;      /* that decided; -1: none did */
  guint command; /* for which */
  char *reason;
  gboolean cleared; /* all commands, until one is not */
  GString *remedy;
  guint n_remedies;
} Judge;

/* --- matching ---------------------------------------------------------------------------------- */

typedef struct
{
  const PrismShellLine *line;
  const PrismShellCommand *command;
  guint index;
  char *text; /* when it is first asked for */
  gsize length;
} Subject;

static const PrismShellWord *
subject_word (const Subject *self, guint i)
{
  return prism_shell_line_word (self->line, self->command, i);
}

static const char *
subject_text (const Subject *self, guint i)
{
  return prism_shell_line_text (self->line, subject_word (self, i));
}

static gboolean
is_known (const Subject *self, guint i)
{
  return (subject_word (self, i)->flags & PRISM_WORD_DYNAMIC) == 0;
}

/* To allow, a program is what it is called; to deny it, its folder does not matter. */
static gboolean
program_matches (const PrismCommandRule *rule, const char *word, const char *program)
{
  if (g_str_equal (word, program))
    return TRUE;
  return rule->verdict != PRISM_VERDICT_ALLOW && strchr (word, '/') == NULL
         && g_str_equal (word, prism_shell_base_name (program));
}

static gboolean
prefix_matches (const PrismCommandRule *rule, const Subject *subject)
{
  if (subject->command->n_words < rule->n_words || !is_known (subject, 0)
      || !program_matches (rule, rule->words[0], subject_text (subject, 0)))
    return FALSE;
  for (guint i = 1; i < rule->n_words; i++)
    if (!is_known (subject, i) || !g_str_equal (rule->words[i], subject_text (subject, i)))
      return FALSE;
  return TRUE;
}

static gboolean
word_is (const PrismShellLine *line, const PrismShellWord *word, const char *text, gsize length)
{
  return word->length == length && memcmp (prism_shell_line_text (line, word), text, length) == 0;
}

static gboolean
word_matches (const PrismCommandRule *rule, const Subject *subject)
{
  const PrismShellCommand *command = subject->command;
  const PrismShellWord *words = &g_array_index (subject->line->words, PrismShellWord, command->first);
  const char *wanted = rule->words[0];
  gsize length = strlen (wanted);

  if (command->n_words > 0 && program_matches (rule, wanted, subject_text (subject, 0)))
    return TRUE;
  for (guint i = command->n_assignments + 1; i < command->n_assignments + command->n_words; i++)
    if (word_is (subject->line, &words[i], wanted, length))
      return TRUE;
  for (guint i = 0; i < command->n_assignments; i++)
    {
      const char *text = prism_shell_line_text (subject->line, &words[i]);

      if (strncmp (text, wanted, length) == 0 && (text[length] == '=' || text[length] == '\0'))
        return TRUE;
    }
  return FALSE;
}

/* A piece of a pattern, without `*`, somewhere in the text; NULL: nowhere. */
static const char *
find_piece (const char *text, gsize length, const char *piece, gsize size)
{
  if (memchr (piece, '?', size) == NULL)
    return memmem (text, length, piece, size);
  for (gsize at = 0; at + size <= length; at++)
    {
      gsize same = 0;

      while (same < size && (piece[same] == '?' || piece[same] == text[at + same]))
        same++;
      if (same == size)
        return text + at;
    }
  return NULL;
}

static gboolean
piece_is_at (const char *text, const char *piece, gsize size)
{
  for (gsize i = 0; i < size; i++)
    if (piece[i] != '?' && piece[i] != text[i])
      return FALSE;
  return TRUE;
}

/* Each piece as early as it can be: what works later works then, and nothing is tried again. */
gboolean
prism_command_glob_matches (const char *pattern, const char *text, gsize length)
{
  const char *star = strchr (pattern, '*');
  gsize head = star != NULL ? (gsize)(star - pattern) : strlen (pattern), tail;
  const char *last;

  if (star == NULL)
    return length == head && piece_is_at (text, pattern, head);
  last = strrchr (pattern, '*');
  tail = strlen (last + 1);
  if (length < head + tail || !piece_is_at (text, pattern, head) || !piece_is_at (text + length - tail, last + 1, tail))
    return FALSE;
  text += head;
  length -= head + tail;
  for (const char *piece = star + 1; piece <= last;)
    {
      const char *end = strchr (piece, '*');
      const char *found;

      if (end == NULL || end > last)
        break;
      found = find_piece (text, length, piece, (gsize)(end - piece));
      if (found == NULL)
        return FALSE;
      length -= (gsize)(found - text) + (gsize)(end - piece);
      text = found + (end - piece);
      piece = end + 1;
    }
  return TRUE;
}

static const char *
whole_text (Subject *subject)
{
  if (subject->text == NULL)
    {
      subject->text = prism_shell_line_dup_command (subject->line, subject->index);
      subject->length = strlen (subject->text);
    }
  return subject->text;
}

static gboolean
rule_matches (const PrismCommandRule *rule, Subject *subject)
{
  switch (rule->match)
    {
    case PRISM_COMMAND_MATCH_PREFIX:
      return prefix_matches (rule, subject);
    case PRISM_COMMAND_MATCH_WORD:
      return word_matches (rule, subject);
    case PRISM_COMMAND_MATCH_GLOB:
      return whole_text (subject) != NULL
             && prism_command_glob_matches (rule->words[0], subject->text, subject->length);
    case PRISM_COMMAND_MATCH_REGEX:
    default:
      return whole_text (subject) != NULL && prism_linear_regex_matches (rule->regex, subject->text, subject->length);
    }
}

/* --- one command ------------------------------------------------------------------------------------- */

static char *
show_command (const PrismShellLine *line, guint index)
{
  g_autofree char *text = prism_shell_line_dup_command (line, index);

  return prism_visible_text (text, MAX_SHOWN, NULL);
}

/* Of those arguments that a rule does not name itself. NULL: none is. */
static const char *
find_dangerous (const Subject *subject, guint from)
{
  const char *program = prism_shell_base_name (subject_text (subject, 0));
  gboolean operand = FALSE;

  for (guint i = 1; i < subject->command->n_words; i++)
    {
      const char *text = subject_text (subject, i), *before = subject_text (subject, i - 1);
      gsize length = strlen (before);
      gboolean first = !operand || (before[0] == '-' && length > 1 && before[length - 1] == 'e');

      if (i >= from && prism_command_argument_is_dangerous (program, text, first))
        return text;
      operand |= text[0] != '-';
    }
  return NULL;
}

static gboolean
is_harmless_redirect (const PrismShellLine *line, const PrismShellRedirect *redirect)
{
  return redirect->kind == PRISM_REDIRECT_DUPLICATE || redirect->kind == PRISM_REDIRECT_HERE
         || ((redirect->target.flags & PRISM_WORD_DYNAMIC) == 0
             && g_str_equal (prism_shell_line_text (line, &redirect->target), "/dev/null"));
}

/* What keeps a command from being cleared though a rule, of so many words, allows it. */
static char *
find_obstacle (const Subject *subject, guint n_rule_words)
{
  const PrismShellCommand *command = subject->command;
  const char *dangerous;

  if (command->flags & PRISM_SHELL_COMMAND_OPEN)
    return g_strdup ("it gets words that are known only once it runs");
  if (command->flags & PRISM_SHELL_COMMAND_READS_CODE)
    return g_strdup ("it runs whatever comes in");
  for (guint i = 0; i < command->n_assignments; i++)
    {
      const PrismShellWord *word = &g_array_index (subject->line->words, PrismShellWord, command->first + i);

      if ((word->flags & PRISM_WORD_DYNAMIC)
          || !prism_command_variable_is_harmless (prism_shell_line_text (subject->line, word)))
        return g_strdup ("it sets a variable that may change what runs");
    }
  for (guint i = 0; i < command->n_redirects; i++)
    if (!is_harmless_redirect (
            subject->line, &g_array_index (subject->line->redirects, PrismShellRedirect, command->first_redirect + i)))
      return g_strdup ("it reads or writes a file by redirection");
  for (guint i = 0; i < command->n_words; i++)
    if (!is_known (subject, i) && subject_word (subject, i)->flags != PRISM_WORD_TILDE)
      return g_strdup ("one of its words is known only once it runs");
  dangerous = n_rule_words > 0 ? find_dangerous (subject, n_rule_words) : NULL;
  if (dangerous != NULL)
    {
      g_autofree char *shown = prism_visible_text (dangerous, 100, NULL);

      return g_strdup_printf ("its argument %s may make it do more than its name says", shown);
    }
  return NULL;
}

/* By a rule with all of its words. */
static gboolean
can_be_cleared (const Subject *subject)
{
  g_autofree char *obstacle = find_obstacle (subject, 0);

  return obstacle == NULL;
}

static void
add_remedy (Judge *self, const Subject *subject)
{
  const PrismShellCommand *command = subject->command;
  g_autoptr (GPtrArray) words = g_ptr_array_new ();

  if (self->n_remedies++ >= MAX_REMEDY)
    return;
  for (guint i = 0; i < MIN (command->n_words, 64); i++)
    g_ptr_array_add (words, (gpointer)subject_text (subject, i));
  g_ptr_array_add (words, NULL);
  g_string_append (self->remedy, self->remedy->len > 0 ? ", {\"match\":\"prefix\",\"pattern\":"
                                                       : "{\"match\":\"prefix\",\"pattern\":");
  prism_canonical_append_strv (self->remedy, (const char *const *)words->pdata);
  g_string_append (self->remedy, ",\"action\":\"allow\"}");
}

/* The stricter one stays; of two equal ones the first. */
static void
note_verdict (Judge *self, PrismVerdict verdict, int rule, guint command, char *reason)
{
  static const int strictness[] = { [PRISM_VERDICT_ALLOW] = 0, [PRISM_VERDICT_ASK] = 1, [PRISM_VERDICT_DENY] = 2 };

  if (strictness[verdict] < strictness[self->verdict]
      || (strictness[verdict] == strictness[self->verdict] && self->reason != NULL))
    {
      g_free (reason);
      return;
    }
  g_free (self->reason);
  self->verdict = verdict;
  self->rule = rule;
  self->command = command;
  self->reason = reason;
}

static char *
reason_of (const PrismCommandRule *rule, const char *otherwise)
{
  return rule->reason != NULL ? prism_visible_text (rule->reason, MAX_SHOWN, NULL) : g_strdup (otherwise);
}

static void
judge_by_rule (Judge *self, const Subject *subject, int index)
{
  const PrismCommandRule *rule = self->rules[index];
  char *obstacle;

  if (rule->verdict == PRISM_VERDICT_DENY)
    {
      note_verdict (self, PRISM_VERDICT_DENY, index, subject->index, reason_of (rule, "a rule denies it"));
      return;
    }
  if (rule->verdict == PRISM_VERDICT_ASK)
    {
      note_verdict (self, PRISM_VERDICT_ASK, index, subject->index, reason_of (rule, "a rule wants approval for it"));
      return;
    }
  obstacle = rule->match == PRISM_COMMAND_MATCH_PREFIX
                 ? find_obstacle (subject, rule->n_words)
                 : g_strdup ("the rule that allows it is not for its first words, and clears nothing");
  if (obstacle == NULL)
    {
      note_verdict (self, PRISM_VERDICT_ALLOW, index, subject->index, g_strdup ("a rule allows it"));
      return;
    }
  if (can_be_cleared (subject))
    add_remedy (self, subject);
  note_verdict (self, PRISM_VERDICT_ASK, index, subject->index, obstacle);
}

static void
judge_command (Judge *self, guint index)
{
  Subject subject = { self->line, prism_shell_line_command (self->line, index), index, NULL, 0 };
  int match = -1;

  if ((subject.command->flags & PRISM_SHELL_COMMAND_FUNCTION) != 0)
    return;
  if (subject.command->n_words == 0)
    {
      char *obstacle = find_obstacle (&subject, 0);

      if (obstacle != NULL)
        note_verdict (self, PRISM_VERDICT_ASK, -1, index, obstacle);
      return;
    }
  for (gsize i = 0; i < self->n_rules && match < 0; i++)
    if (rule_matches (self->rules[i], &subject))
      match = (int)i;
  if (match >= 0)
    judge_by_rule (self, &subject, match);
  else
    {
      if (can_be_cleared (&subject))
        add_remedy (self, &subject);
      note_verdict (self, PRISM_VERDICT_ASK, -1, index, g_strdup ("no rule allows it"));
    }
  g_free (subject.text);
}

/* --- the line ----------------------------------------------------------------------------------------- */

static gboolean
is_plain (const PrismShellLine *line)
{
  return line->features == 0 && line->uncertain == NULL && line->limit == NULL && line->commands->len > 0
         && (prism_shell_line_command (line, 0)->flags & PRISM_SHELL_COMMAND_FUNCTION) == 0;
}

static PrismDecision *
make_decision (PrismVerdict verdict, const char *id, const char *reason, const char *rule, const char *remedy)
{
  return g_object_new (PRISM_TYPE_DECISION, "verdict", verdict, "reason-id", id, "reason", reason, "rule", rule,
                       "remedy", remedy, "exclusive", verdict == PRISM_VERDICT_ALLOW, NULL);
}

static PrismDecision *
deny_limit (const PrismShellLine *line)
{
  g_autofree char *reason = g_strdup_printf ("it cannot be judged: %s", line->limit);

  return make_decision (PRISM_VERDICT_DENY, PRISM_REASON_LIMIT, reason, NULL, "split it, or run a file");
}

static PrismDecision *
deny_by_default (const PrismShellLine *line, guint index, const char *why)
{
  g_autofree char *shown = show_command (line, index);
  g_autofree char *reason = g_strdup_printf ("%s: %s", shown, why);

  return make_decision (PRISM_VERDICT_DENY, PRISM_REASON_DEFAULT_DENY, reason, "built-in", NULL);
}

static char *
describe_rule (const Judge *self)
{
  return self->rule < 0 ? NULL : g_strdup_printf ("commandRules/%d %s", self->rule, self->rules[self->rule]->line);
}

/* A line of one command says nothing by naming it. */
static char *
describe_reason (const Judge *self)
{
  g_autofree char *shown = NULL;

  if (self->line->commands->len == 1)
    return g_strdup (self->reason);
  shown = show_command (self->line, self->command);
  return g_strdup_printf ("%s: %s", shown, self->reason);
}

static PrismDecision *
decide (const Judge *self, gboolean deny_metacharacters)
{
  g_autofree char *rule = describe_rule (self);
  g_autofree char *reason = NULL;
  g_autofree char *remedy = NULL;

  if (self->verdict != PRISM_VERDICT_DENY && self->line->uncertain != NULL)
    {
      reason = g_strdup_printf ("it cannot be told what it runs: %s", self->line->uncertain);
      return make_decision (PRISM_VERDICT_ASK, PRISM_REASON_APPROVAL_REQUIRED, reason, rule, NULL);
    }
  /* Variables, or a redirection to nowhere: nothing against it, and no rule for it. */
  if (self->verdict == PRISM_VERDICT_ALLOW && self->reason == NULL)
    return make_decision (PRISM_VERDICT_ASK, PRISM_REASON_APPROVAL_REQUIRED, "no rule allows it", NULL, NULL);
  if (self->verdict == PRISM_VERDICT_ALLOW && deny_metacharacters && !is_plain (self->line))
    return make_decision (PRISM_VERDICT_ASK, PRISM_REASON_APPROVAL_REQUIRED,
                          "it is more than one plain command, and the policy wants approval for that", rule,
                          "run each command by itself, or set \"denyMetacharacters\": false");
  reason = describe_reason (self);
  if (self->verdict == PRISM_VERDICT_ASK && self->n_remedies > 0 && self->n_remedies <= MAX_REMEDY)
    remedy = g_strdup_printf ("add to commandRules: %s%s", self->remedy->str,
                              deny_metacharacters && !is_plain (self->line)
                                  ? "; and set \"denyMetacharacters\": false, since it is more than one plain command"
                                  : "");
  return make_decision (self->verdict,
                        self->verdict == PRISM_VERDICT_DENY  ? PRISM_REASON_RULE_DENIED
                        : self->verdict == PRISM_VERDICT_ASK ? PRISM_REASON_APPROVAL_REQUIRED
                                                             : NULL,
                        reason, rule, remedy);
}

static PrismDecision *
judge_line (PrismCommandRule *const *rules, gsize n_rules, const PrismShellLine *line, gboolean deny_metacharacters)
{
  g_autoptr (GString) remedy = g_string_new (NULL);
  Judge judge = {
    .line = line, .rules = rules, .n_rules = n_rules, .verdict = PRISM_VERDICT_ALLOW, .rule = -1, .remedy = remedy
  };
  PrismDecision *decision;
  const char *why;
  guint index;

  if (line->limit != NULL)
    return deny_limit (line);
  for (guint i = 0; i < line->commands->len && judge.verdict != PRISM_VERDICT_DENY; i++)
    judge_command (&judge, i);
  why = judge.verdict != PRISM_VERDICT_DENY ? prism_command_default_deny (line, &index) : NULL;
  if (why != NULL)
    decision = deny_by_default (line, index, why);
  else if (line->commands->len == 0)
    decision =
        make_decision (PRISM_VERDICT_ASK, PRISM_REASON_APPROVAL_REQUIRED, "there is no command in it", NULL, NULL);
  else
    decision = decide (&judge, deny_metacharacters);
  g_free (judge.reason);
  return decision;
}

PrismDecision *
prism_command_judge (PrismCommandRule *const *rules,
                     gsize n_rules,
                     const char *line,
                     const char *const *argv,
                     gboolean deny_metacharacters)
{
  g_autoptr (PrismShellLine) parsed = argv != NULL ? prism_shell_line_new_for_argv (argv) : prism_shell_line_new (line);
  g_autoptr (PrismShellLine) said = argv != NULL && line != NULL ? prism_shell_line_new (line) : NULL;
  g_autoptr (PrismDecision) first = judge_line (rules, n_rules, parsed, deny_metacharacters);
  PrismDecision *second;

  /* Two that do not agree: the stricter one. */
  if (said == NULL || prism_decision_get_verdict (first) == PRISM_VERDICT_DENY)
    return g_steal_pointer (&first);
  second = judge_line (rules, n_rules, said, deny_metacharacters);
  if (prism_decision_get_verdict (second) != PRISM_VERDICT_ALLOW)
    return second;
  g_object_unref (second);
  return g_steal_pointer (&first);
}

/* --- the public ones ------------------------------------------------------------------------------------- */

/**
 * prism_evaluate_command_rules:
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
prism_evaluate_command_rules (PrismCommandRule *const *rules,
                              gsize n_rules,
                              const char *command,
                              gboolean deny_metacharacters)
{
  g_return_val_if_fail (command != NULL, NULL);

  return prism_command_judge (rules, n_rules, command, NULL, deny_metacharacters);
}

/**
 * prism_shell_has_metacharacters:
 * @command: a line for a shell
 *
 * Tells whether a line is more than one plain command: a list, a pipeline, a group, a
 * redirection, anything that a shell expands, a control character, or what shells read
 * differently. What is quoted counts as nothing but text.
 *
 * Returns: whether it is more than one plain command
 *
 * Since: 1.0
 */
gboolean
prism_shell_has_metacharacters (const char *command)
{
  g_autoptr (PrismShellLine) line = NULL;

  g_return_val_if_fail (command != NULL, TRUE);

  line = prism_shell_line_new (command);
  return line->features != 0 || line->uncertain != NULL || line->limit != NULL;
}

/**
 * prism_shell_list_commands:
 * @command: a line for a shell
 * @error: return location for an error
 *
 * Lists every simple command that a line could run: of its lists, pipelines, groups,
 * substitutions and here-documents, and of programs that are there to run others. Each is
 * written as a shell would read it; what expands is written as it stands in the line.
 *
 * Returns: (transfer full) (array zero-terminated=1): commands; %NULL where it cannot be
 *   told what the line runs, and the error says why
 *
 * Since: 1.0
 */
char **
prism_shell_list_commands (const char *command, GError **error)
{
  g_autoptr (PrismShellLine) line = NULL;
  g_autoptr (GPtrArray) list = NULL;

  g_return_val_if_fail (command != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  line = prism_shell_line_new (command);
  if (line->limit != NULL || line->uncertain != NULL)
    {
      g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_NOT_SUPPORTED, "it cannot be told what it runs: %s",
                   line->limit != NULL ? line->limit : line->uncertain);
      return NULL;
    }
  list = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < line->commands->len; i++)
    if (prism_shell_line_command (line, i)->n_words > 0)
      g_ptr_array_add (list, prism_shell_line_dup_command (line, i));
  g_ptr_array_add (list, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&list), FALSE);
}
