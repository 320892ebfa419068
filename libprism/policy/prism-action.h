/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-types.h"

G_BEGIN_DECLS

/**
 * PrismEffect:
 * @PRISM_EFFECT_NONE: looks, and changes nothing
 * @PRISM_EFFECT_LOCAL_MUTATION: changes files of the tree
 * @PRISM_EFFECT_EXTERNAL_MUTATION: may change anything that it reaches
 *
 * What an action changes.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_EFFECT_NONE,
  PRISM_EFFECT_LOCAL_MUTATION,
  PRISM_EFFECT_EXTERNAL_MUTATION,
} PrismEffect;

/**
 * PrismRisk:
 * @PRISM_RISK_LOW: looking
 * @PRISM_RISK_MEDIUM: changes that are easily seen and undone
 * @PRISM_RISK_HIGH: what is not easily undone
 *
 * How much could go wrong: for those who are asked. No verdict rests on it.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_RISK_LOW,
  PRISM_RISK_MEDIUM,
  PRISM_RISK_HIGH,
} PrismRisk;

/* Properties: kind (shell, read, write, edit, delete, move, repo_list, repo_search,
 * glob, git, check, ask_user_decision, or another, which always needs approval),
 * operation, effect and risk (default: the kind's), paths (absolute, in the tree's own
 * names), command (a line for a shell) or argv (no shell), directory (where it runs),
 * env (NAME=VALUE, beside the sandbox's own), arguments (bytes that say all else that
 * matters; hashed, never shown), summary (shown to who is asked), run-id, session-id,
 * call-id, sandbox-id, tree-root and workspace (the tree is a sandbox's: its root inside, and the
 * host folder that it is; without them paths are the host's). */
#define PRISM_TYPE_ACTION (prism_action_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismAction, prism_action, PRISM, ACTION, GObject)

PRISM_AVAILABLE_IN_1_0
PrismAction        *prism_action_new               (const char         *kind,
                                                    const char         *operation);
PRISM_AVAILABLE_IN_1_0
const char         *prism_action_get_kind          (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
const char         *prism_action_get_operation     (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
PrismEffect         prism_action_get_effect        (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
void                prism_action_set_effect        (PrismAction        *self,
                                                    PrismEffect         effect);
PRISM_AVAILABLE_IN_1_0
PrismRisk           prism_action_get_risk          (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
void                prism_action_set_risk          (PrismAction        *self,
                                                    PrismRisk           risk);
PRISM_AVAILABLE_IN_1_0
const char * const *prism_action_get_paths         (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
void                prism_action_set_paths         (PrismAction        *self,
                                                    const char * const *paths);
PRISM_AVAILABLE_IN_1_0
const char         *prism_action_get_command       (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
void                prism_action_set_command       (PrismAction        *self,
                                                    const char         *line);
PRISM_AVAILABLE_IN_1_0
const char * const *prism_action_get_argv          (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
void                prism_action_set_argv          (PrismAction        *self,
                                                    const char * const *argv);
PRISM_AVAILABLE_IN_1_0
const char         *prism_action_get_directory     (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
void                prism_action_set_directory     (PrismAction        *self,
                                                    const char         *directory);
PRISM_AVAILABLE_IN_1_0
const char * const *prism_action_get_env           (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
void                prism_action_set_env           (PrismAction        *self,
                                                    const char * const *env);
PRISM_AVAILABLE_IN_1_0
GBytes             *prism_action_get_arguments     (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
void                prism_action_set_arguments     (PrismAction        *self,
                                                    GBytes             *arguments);
PRISM_AVAILABLE_IN_1_0
const char         *prism_action_get_summary       (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
void                prism_action_set_summary       (PrismAction        *self,
                                                    const char         *summary);
PRISM_AVAILABLE_IN_1_0
const char         *prism_action_get_run_id        (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
const char         *prism_action_get_session_id    (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
const char         *prism_action_get_sandbox_id    (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
void                prism_action_set_identity      (PrismAction        *self,
                                                    const char         *run_id,
                                                    const char         *session_id,
                                                    const char         *sandbox_id);
PRISM_AVAILABLE_IN_1_0
const char         *prism_action_get_call_id       (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
void                prism_action_set_call_id       (PrismAction        *self,
                                                    const char         *call_id);
PRISM_AVAILABLE_IN_1_0
const char         *prism_action_get_tree_root     (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
const char         *prism_action_get_workspace     (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
void                prism_action_set_tree          (PrismAction        *self,
                                                    const char         *tree_root,
                                                    const char         *workspace);
PRISM_AVAILABLE_IN_1_0
char               *prism_action_dup_text          (PrismAction        *self);
PRISM_AVAILABLE_IN_1_0
char               *prism_action_dup_digest        (PrismAction        *self);

PRISM_AVAILABLE_IN_1_0
char               *prism_visible_text             (const char         *text,
                                                    gsize               max_length,
                                                    gboolean           *changed);

G_END_DECLS
