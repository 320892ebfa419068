/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-command-rule.h"

G_BEGIN_DECLS

/* What rules and built-in denies say to a line for a shell or, without one, to a program
 * with its arguments. Never NULL; with reason-id, reason and, where one decided, the rule.
 * Allowed: rules cleared it. Looks at nothing but its arguments. */
PrismDecision *prism_command_judge (PrismCommandRule *const *rules,
                                    gsize n_rules,
                                    const char *line,
                                    const char *const *argv,
                                    gboolean deny_metacharacters);

/* Whether a variable of this name changes what a program is, or what it runs. */
gboolean prism_command_variable_is_dangerous (const char *assignment);

/* `*` is any text, `?` one byte; the time goes with both lengths. */
gboolean prism_command_glob_matches (const char *pattern, const char *text, gsize length);

G_END_DECLS
