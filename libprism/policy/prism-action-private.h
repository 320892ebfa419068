/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-action.h"
#include "prism-path-guard-private.h"

G_BEGIN_DECLS

/* From here on it cannot change: what is checked is what is done. */
void prism_action_freeze (PrismAction *self);

/* What its paths are wanted for. */
PrismPathIntent prism_action_get_path_intent (PrismAction *self);

/* Which objects whoever does it has open, one for each path, and for the directory (nullable):
 * a policy that looks its names up finds these, or something else, which is a no. */
void prism_action_set_objects (PrismAction *self,
                               const PrismPathIdentity *paths,
                               guint n_paths,
                               const PrismPathIdentity *directory);
/* NULL: not said. */
const PrismPathIdentity *prism_action_get_path_object (PrismAction *self, guint path);
const PrismPathIdentity *prism_action_get_directory_object (PrismAction *self);

gboolean prism_action_is_shell (PrismAction *self);

/* A program and its arguments as one line that a shell would read back the same. */
void prism_action_append_quoted (GString *out, const char *word);
char *prism_action_quote_argv (const char *const *argv);

/* The key that an answer is remembered under: SHA-256 of the canonical JSON of scope,
 * identity, kind, operation, paths, command, and then of all else that is set. */
char *prism_action_dup_key (PrismAction *self, const char *scope, const char *identity, const char *directory_identity);

/* What an answer that comes later is bound to: the same but for the sandbox, which may be another
 * one by then; with @call, the run, session and call too. */
char *prism_action_dup_binding (PrismAction *self, gboolean call, const char *directory_identity);

G_END_DECLS
