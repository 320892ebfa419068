/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-action.h"

G_BEGIN_DECLS

/* From here on it cannot change: what is checked is what is done. */
void prism_action_freeze (PrismAction *self);

gboolean prism_action_is_shell (PrismAction *self);

/* A program and its arguments as one line that a shell would read back the same. */
void prism_action_append_quoted (GString *out, const char *word);
char *prism_action_quote_argv (const char *const *argv);

/* The key that an answer is remembered under: SHA-256 of the canonical JSON of scope,
 * identity, kind, operation, paths, command, and then of all else that is set. */
char *prism_action_dup_key (PrismAction *self, const char *scope, const char *identity, const char *directory_identity);

G_END_DECLS
