/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-decision.h"
#include "prism-policy-error.h"

G_BEGIN_DECLS

/**
 * PrismCommandMatch:
 * @PRISM_COMMAND_MATCH_PREFIX: the first words of one simple command
 * @PRISM_COMMAND_MATCH_WORD: one word anywhere in it; as its first, the program's name
 *   without its folder
 * @PRISM_COMMAND_MATCH_GLOB: its whole text; `*` is any text, `?` one character
 * @PRISM_COMMAND_MATCH_REGEX: a regular expression anywhere in its text
 *
 * How a rule looks at a simple command.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_COMMAND_MATCH_PREFIX,
  PRISM_COMMAND_MATCH_WORD,
  PRISM_COMMAND_MATCH_GLOB,
  PRISM_COMMAND_MATCH_REGEX,
} PrismCommandMatch;

/* One rule about commands. Immutable. */
#define PRISM_TYPE_COMMAND_RULE (prism_command_rule_get_type ())
PRISM_AVAILABLE_IN_1_0
GType prism_command_rule_get_type (void) G_GNUC_CONST;

PRISM_AVAILABLE_IN_1_0
PrismCommandRule   *prism_command_rule_new_prefix   (const char * const     *words,
                                                     PrismVerdict            verdict,
                                                     const char             *reason,
                                                     GError                **error);
PRISM_AVAILABLE_IN_1_0
PrismCommandRule   *prism_command_rule_new          (PrismCommandMatch       match,
                                                     const char             *pattern,
                                                     PrismVerdict            verdict,
                                                     const char             *reason,
                                                     GError                **error);
PRISM_AVAILABLE_IN_1_0
PrismCommandRule   *prism_command_rule_ref          (PrismCommandRule       *self);
PRISM_AVAILABLE_IN_1_0
void                prism_command_rule_unref        (PrismCommandRule       *self);
PRISM_AVAILABLE_IN_1_0
PrismCommandMatch   prism_command_rule_get_match    (const PrismCommandRule *self);
PRISM_AVAILABLE_IN_1_0
const char * const *prism_command_rule_get_words    (const PrismCommandRule *self);
PRISM_AVAILABLE_IN_1_0
PrismVerdict        prism_command_rule_get_verdict  (const PrismCommandRule *self);
PRISM_AVAILABLE_IN_1_0
const char         *prism_command_rule_get_reason   (const PrismCommandRule *self);
/* As it stands in a policy file, on one line. */
PRISM_AVAILABLE_IN_1_0
const char         *prism_command_rule_get_line     (const PrismCommandRule *self);
/* What a person should know who wrote this rule; NULL where nothing is. */
PRISM_AVAILABLE_IN_1_0
const char         *prism_command_rule_get_warning  (const PrismCommandRule *self);

PRISM_AVAILABLE_IN_1_0
PrismDecision      *prism_evaluate_command_rules    (PrismCommandRule * const *rules,
                                                     gsize                   n_rules,
                                                     const char             *command,
                                                     gboolean                deny_metacharacters);
PRISM_AVAILABLE_IN_1_0
gboolean            prism_shell_has_metacharacters  (const char             *command);
PRISM_AVAILABLE_IN_1_0
char              **prism_shell_list_commands       (const char             *command,
                                                     GError                **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismCommandRule, prism_command_rule_unref)

G_END_DECLS
