/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A rule about commands. Trusted: its words, which whoever made the policy wrote. What it
 * is matched with is not; so every way of matching takes time in proportion to what it
 * looks at. */
#include "prism-command-rule-private.h"

#include <string.h>

#include "prism-fingerprint-private.h"

#define MAX_WORDS   64
#define MAX_PATTERN 4096

/**
 * PrismCommandRule:
 *
 * What is to be said to some commands. It never changes.
 *
 * Since: 1.0
 */
G_DEFINE_BOXED_TYPE (PrismCommandRule, prism_command_rule, prism_command_rule_ref, prism_command_rule_unref)

/**
 * prism_command_rule_ref:
 * @self: a rule
 *
 * Takes a reference.
 *
 * Returns: (transfer full): @self
 *
 * Since: 1.0
 */
PrismCommandRule *
prism_command_rule_ref (PrismCommandRule *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  g_atomic_ref_count_inc (&self->refs);
  return self;
}

/**
 * prism_command_rule_unref:
 * @self: (transfer full): a rule
 *
 * Drops a reference.
 *
 * Since: 1.0
 */
void
prism_command_rule_unref (PrismCommandRule *self)
{
  g_return_if_fail (self != NULL);

  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  g_strfreev (self->words);
  g_clear_pointer (&self->regex, prism_linear_regex_free);
  g_free (self->reason);
  g_free (self->line);
  g_free (self->warning);
  g_free (self);
}

/* --- what it says of itself -------------------------------------------------------------------- */

static const char *const match_words[] = { "prefix", "word", "glob", "regex" };

static const char *
action_word (PrismVerdict verdict)
{
  return verdict == PRISM_VERDICT_ALLOW ? "allow" : verdict == PRISM_VERDICT_DENY ? "deny" : "requireApproval";
}

static char *
make_line (const PrismCommandRule *self)
{
  GString *json = g_string_new (NULL);

  g_string_append_printf (json, "{\"match\":\"%s\",\"pattern\":", match_words[self->match]);
  if (self->match == PRISM_COMMAND_MATCH_PREFIX)
    prism_canonical_append_strv (json, (const char *const *)self->words);
  else
    prism_canonical_append_string (json, self->words[0], -1);
  g_string_append_printf (json, ",\"action\":\"%s\"", action_word (self->verdict));
  if (self->reason != NULL)
    {
      g_string_append (json, ",\"reason\":");
      prism_canonical_append_string (json, self->reason, -1);
    }
  g_string_append_c (json, '}');
  return g_string_free (json, FALSE);
}

static char *
make_warning (const PrismCommandRule *self)
{
  if (self->verdict != PRISM_VERDICT_ALLOW)
    return NULL;
  if (self->match != PRISM_COMMAND_MATCH_PREFIX)
    return g_strdup (
        "only match=prefix clears the need for approval; this one keeps later rules from deciding, and no more");
  if (self->words[1] == NULL && prism_command_runs_others (self->words[0]))
    return g_strdup_printf ("%s runs whatever its arguments say: what it is told to run needs a rule of its own",
                            self->words[0]);
  return NULL;
}

static PrismCommandRule *
new_rule (PrismCommandMatch match, const char *const *words, PrismVerdict verdict, const char *reason)
{
  PrismCommandRule *self = g_new0 (PrismCommandRule, 1);

  g_atomic_ref_count_init (&self->refs);
  self->match = match;
  self->words = g_strdupv ((char **)words);
  self->n_words = g_strv_length (self->words);
  self->verdict = verdict;
  self->reason = g_strdup (reason);
  self->line = make_line (self);
  self->warning = make_warning (self);
  return self;
}

static gboolean
refuse (GError **error, const char *wrong)
{
  g_set_error_literal (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_MALFORMED, wrong);
  return FALSE;
}

static gboolean
check_text (const char *text, const char *what, GError **error)
{
  g_autofree char *wrong = NULL;

  if (strlen (text) > MAX_PATTERN)
    wrong = g_strdup_printf ("%s of more than 4096 bytes", what);
  else if (!g_utf8_validate (text, -1, NULL))
    wrong = g_strdup_printf ("%s that is no UTF-8", what);
  return wrong == NULL || refuse (error, wrong);
}

/**
 * prism_command_rule_new_prefix:
 * @words: (array zero-terminated=1): the first words of a simple command: its program and
 *   as many of its arguments as are to be the same
 * @verdict: what is said to a command that begins with them
 * @reason: (nullable): why, for whoever is told
 * @error: return location for an error
 *
 * Makes a rule about the beginning of one simple command, word for word as the shell sees
 * them. Only such a rule can clear the need for approval.
 *
 * Returns: (transfer full): a rule; %NULL if it cannot be one
 *
 * Since: 1.0
 */
PrismCommandRule *
prism_command_rule_new_prefix (const char *const *words, PrismVerdict verdict, const char *reason, GError **error)
{
  g_return_val_if_fail (words != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (words[0] == NULL || words[0][0] == '\0')
    return refuse (error, "match=prefix takes a list of words, of which the first is a program"), NULL;
  if (g_strv_length ((char **)words) > MAX_WORDS)
    return refuse (error, "more than 64 words"), NULL;
  for (guint i = 0; words[i] != NULL; i++)
    if (!check_text (words[i], "a word", error))
      return NULL;
  if (reason != NULL && !check_text (reason, "a reason", error))
    return NULL;
  return new_rule (PRISM_COMMAND_MATCH_PREFIX, words, verdict, reason);
}

static gboolean
check_pattern (PrismCommandMatch match, const char *pattern, GError **error)
{
  if (pattern[0] == '\0')
    return refuse (error, "an empty pattern matches everything or nothing; say which");
  if (match == PRISM_COMMAND_MATCH_WORD && strpbrk (pattern, " \t\n") != NULL)
    return refuse (error, "match=word takes one word; match=prefix takes several");
  return check_text (pattern, "a pattern", error);
}

/**
 * prism_command_rule_new:
 * @match: how it looks at a simple command; not %PRISM_COMMAND_MATCH_PREFIX
 * @pattern: what for
 * @verdict: what is said to a command that matches
 * @reason: (nullable): why, for whoever is told
 * @error: return location for an error
 *
 * Makes a rule that looks at the words or the text of one simple command.
 *
 * Returns: (transfer full): a rule; %NULL if it cannot be one
 *
 * Since: 1.0
 */
PrismCommandRule *
prism_command_rule_new (
    PrismCommandMatch match, const char *pattern, PrismVerdict verdict, const char *reason, GError **error)
{
  const char *words[] = { pattern, NULL };
  g_autoptr (PrismCommandRule) self = NULL;

  g_return_val_if_fail (pattern != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (match == PRISM_COMMAND_MATCH_PREFIX)
    return refuse (error, "match=prefix takes a list of words"), NULL;
  if (!check_pattern (match, pattern, error) || (reason != NULL && !check_text (reason, "a reason", error)))
    return NULL;
  self = new_rule (match, words, verdict, reason);
  if (match == PRISM_COMMAND_MATCH_REGEX)
    {
      self->regex = prism_linear_regex_new (pattern, error);
      if (self->regex == NULL)
        return NULL;
    }
  return g_steal_pointer (&self);
}

/* --- what there is to read ------------------------------------------------------------------------ */

/**
 * prism_command_rule_get_match:
 * @self: a rule
 *
 * Gets how it looks at a simple command.
 *
 * Returns: how it looks at a simple command
 *
 * Since: 1.0
 */
PrismCommandMatch
prism_command_rule_get_match (const PrismCommandRule *self)
{
  g_return_val_if_fail (self != NULL, PRISM_COMMAND_MATCH_PREFIX);

  return self->match;
}

/**
 * prism_command_rule_get_words:
 * @self: a rule
 *
 * Gets what it looks for: the words of a prefix, or one pattern.
 *
 * Returns: (transfer none) (array zero-terminated=1): what it looks for
 *
 * Since: 1.0
 */
const char *const *
prism_command_rule_get_words (const PrismCommandRule *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return (const char *const *)self->words;
}

/**
 * prism_command_rule_get_verdict:
 * @self: a rule
 *
 * Gets what it says to a command that matches.
 *
 * Returns: what it says
 *
 * Since: 1.0
 */
PrismVerdict
prism_command_rule_get_verdict (const PrismCommandRule *self)
{
  g_return_val_if_fail (self != NULL, PRISM_VERDICT_DENY);

  return self->verdict;
}

/**
 * prism_command_rule_get_reason:
 * @self: a rule
 *
 * Gets why it says so.
 *
 * Returns: (transfer none) (nullable): why it says so
 *
 * Since: 1.0
 */
const char *
prism_command_rule_get_reason (const PrismCommandRule *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->reason;
}

/**
 * prism_command_rule_get_line:
 * @self: a rule
 *
 * Gets it as it stands in a policy file.
 *
 * Returns: (transfer none): one line of JSON
 *
 * Since: 1.0
 */
const char *
prism_command_rule_get_line (const PrismCommandRule *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->line;
}

/**
 * prism_command_rule_get_warning:
 * @self: a rule
 *
 * Gets what a person should know who wrote this rule: that it allows more, or less, than
 * it looks like.
 *
 * Returns: (transfer none) (nullable): a sentence; %NULL where nothing is to be said
 *
 * Since: 1.0
 */
const char *
prism_command_rule_get_warning (const PrismCommandRule *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->warning;
}
