/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-tool-run-private.h"

G_BEGIN_DECLS

/* Runs git in the tree with what a repository's own configuration could make it run taken
 * away. NULL only where it could not be run. */
PrismResult *prism_tool_git (PrismToolRun *run, const char *const *args, GBytes *input, GError **error);
/* The same for what looks at names only: no driver of a repository's own has a part in it. */
PrismResult *prism_tool_git_plain (PrismToolRun *run, const char *const *args, PrismToolLimit limit, GError **error);
/* Its standard output; NULL and its own words where it failed. */
char *prism_tool_git_text (PrismToolRun *run, const char *const *args, GBytes *input, gsize *size, GError **error);

/* Asks the policy about git's operation. */
gboolean prism_tool_git_authorize (PrismToolRun *run,
                                   const char *operation,
                                   PrismRisk risk,
                                   PrismEffect effect,
                                   const char *const *argv,
                                   GError **error);
/* A branch's or commit's name that git cannot take for anything else. */
gboolean prism_tool_git_check_ref (PrismToolRun *run, const char *ref, GError **error);
/* The paths of the argument of that name below the root, relative; in front of what is in @args. */
gboolean prism_tool_git_add_paths (PrismToolRun *run, const char *name, GPtrArray *args, GError **error);
gboolean prism_tool_git_is_dirty (PrismToolRun *run, gboolean *dirty, GError **error);
/* What is not committed goes into a stash; its id, or "" where there is nothing. */
char *prism_tool_git_checkpoint (PrismToolRun *run, GError **error);

gboolean prism_tool_run_git_status (PrismToolRun *run, GError **error);
gboolean prism_tool_run_git_diff (PrismToolRun *run, GError **error);
gboolean prism_tool_run_git_branch (PrismToolRun *run, GError **error);
gboolean prism_tool_run_git_worktree (PrismToolRun *run, GError **error);
gboolean prism_tool_run_git_apply (PrismToolRun *run, GError **error);
gboolean prism_tool_run_git_commit (PrismToolRun *run, GError **error);
gboolean prism_tool_run_git_pr_handoff (PrismToolRun *run, GError **error);

G_END_DECLS
