/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-conversion.h"
#include "prism-policy.h"
#include "prism-question.h"
#include "prism-sandbox.h"
#include "prism-suspensions.h"
#include "prism-tool.h"

G_BEGIN_DECLS

/**
 * PrismCompositionMode:
 * @PRISM_COMPOSITION_MODE_HOST: the tools work on a folder of the host
 * @PRISM_COMPOSITION_MODE_SANDBOX: the tools work on a sandbox's workspace
 *
 * Which tree the tools of a composition work on.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_COMPOSITION_MODE_HOST,
  PRISM_COMPOSITION_MODE_SANDBOX,
} PrismCompositionMode;

/* One tree and the tools that are bound to it. Set up, then bound once; what was bound does
 * not change. Properties: mode, folder (host), sandbox, policy, read-only, git (the git
 * tools too), git-aware (lists leave out what git ignores), read-before-write, allow-mixed-wiring. Signals:
 * question-asked (PrismQuestion), file-changed (path, operation, call-id), permission-denied (tool, PrismDecision,
 * call-id), worktree-changed (action, path, call-id),
 * file-found (PrismConversion). */
#define PRISM_TYPE_COMPOSITION (prism_composition_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismComposition, prism_composition, PRISM, COMPOSITION, GObject)

PRISM_AVAILABLE_IN_1_0
PrismComposition *prism_composition_new (PrismCompositionMode mode);
PRISM_AVAILABLE_IN_1_0
PrismCompositionMode prism_composition_get_mode (PrismComposition *self);
PRISM_AVAILABLE_IN_1_0
void prism_composition_set_folder (PrismComposition *self, GFile *folder);
PRISM_AVAILABLE_IN_1_0
void prism_composition_set_sandbox (PrismComposition *self, PrismSandbox *sandbox);
PRISM_AVAILABLE_IN_1_0
void prism_composition_set_policy (PrismComposition *self, PrismPolicy *policy);
PRISM_AVAILABLE_IN_1_0
void prism_composition_set_suspensions (PrismComposition *self, PrismSuspensions *suspensions);
PRISM_AVAILABLE_IN_1_0
void prism_composition_set_tool_policy (PrismComposition *self, const char *tool, PrismPolicy *policy);
/* The host folder that a sandbox's workspace is, where it is one: approvals show it. */
PRISM_AVAILABLE_IN_1_0
void prism_composition_set_workspace (PrismComposition *self, const char *workspace);
PRISM_AVAILABLE_IN_1_0
void prism_composition_set_tree_identity (PrismComposition *self, PrismTreeIdentity *identity);
/* A command that coding_check may run by its name; timeout_ms 0 = 10 minutes. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_composition_add_check (
    PrismComposition *self, const char *name, const char *const *argv, gint64 timeout_ms, GError **error);
PRISM_AVAILABLE_IN_1_0
gboolean prism_composition_set_limit (PrismComposition *self, const char *name, gint64 value, GError **error);
PRISM_AVAILABLE_IN_1_0
gint64 prism_composition_get_limit (PrismComposition *self, const char *name);
/* A tool of the caller's own beside the others. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_composition_add_tool (PrismComposition *self, PrismTool *tool, GError **error);

PRISM_AVAILABLE_IN_1_0
gboolean prism_composition_bind (PrismComposition *self, GCancellable *cancellable, GError **error);
/* Of PrismTool, in a fixed order; before bind() it is empty. */
PRISM_AVAILABLE_IN_1_0
GListModel *prism_composition_get_tools (PrismComposition *self);
PRISM_AVAILABLE_IN_1_0
PrismTool *prism_composition_find_tool (PrismComposition *self, const char *name);
/* For the caller's own tools, once it is bound: the same tree by the same rules, in turn with the
 * tools that change the same path. Paths as models write them. They block; any thread. No policy is
 * asked and no signal tells of them. A PRISM_TOOL_ERROR says what is wrong. */
PRISM_AVAILABLE_IN_1_0
PrismFileEntry *
prism_composition_stat_file (PrismComposition *self, const char *path, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
GListModel *prism_composition_list_files (
    PrismComposition *self, const char *path, gboolean hidden, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
GBytes *prism_composition_read_file (
    PrismComposition *self, const char *path, gint64 offset, gint64 length, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
gboolean prism_composition_write_file (
    PrismComposition *self, const char *path, GBytes *bytes, guint mode, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
gboolean prism_composition_remove_file (
    PrismComposition *self, const char *path, gboolean recursive, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
gboolean prism_composition_rename_file (PrismComposition *self,
                                        const char *from,
                                        const char *to,
                                        gboolean overwrite,
                                        GCancellable *cancellable,
                                        GError **error);
PRISM_AVAILABLE_IN_1_0
PrismResult *
prism_composition_exec (PrismComposition *self, PrismCommand *command, GCancellable *cancellable, GError **error);

PRISM_AVAILABLE_IN_1_0
PrismCapabilities *prism_composition_dup_capabilities (PrismComposition *self);
PRISM_AVAILABLE_IN_1_0
char **prism_composition_dup_warnings (PrismComposition *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_composition_get_workspace_root (PrismComposition *self);
PRISM_AVAILABLE_IN_1_0
PrismTreeIdentity *prism_composition_dup_tree_identity (PrismComposition *self);

G_END_DECLS
