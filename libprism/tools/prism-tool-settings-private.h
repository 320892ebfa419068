/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tools of one composition share: the tree, the policy, the limits, and what was
 * read. Made once; only what has a lock changes. */
#pragma once

#include "prism-composition.h"
#include "prism-tree-private.h"

G_BEGIN_DECLS

typedef enum
{
  PRISM_TOOL_LIMIT_SHELL_TIMEOUT_S,
  PRISM_TOOL_LIMIT_OUTPUT_LINES,
  PRISM_TOOL_LIMIT_OUTPUT_BYTES,
  PRISM_TOOL_LIMIT_OUTPUT_TOTAL_BYTES,
  PRISM_TOOL_LIMIT_READ_SCAN_BYTES,
  PRISM_TOOL_LIMIT_IMAGE_BYTES,
  PRISM_TOOL_LIMIT_DOCUMENT_BYTES,
  PRISM_TOOL_LIMIT_CONVERSION_TIMEOUT_S,
  PRISM_TOOL_LIMIT_WRITE_BYTES,
  PRISM_TOOL_LIMIT_EDIT_FILE_BYTES,
  PRISM_TOOL_LIMIT_EDIT_INPUT_BYTES,
  PRISM_TOOL_LIMIT_EDITS,
  PRISM_TOOL_LIMIT_LIST_DEPTH,
  PRISM_TOOL_LIMIT_LIST_ENTRIES,
  PRISM_TOOL_LIMIT_LIST_PAGE,
  PRISM_TOOL_LIMIT_SEARCH_QUERY_BYTES,
  PRISM_TOOL_LIMIT_SEARCH_SCAN_BYTES,
  PRISM_TOOL_LIMIT_SEARCH_FILE_BYTES,
  PRISM_TOOL_LIMIT_SEARCH_LINE_BYTES,
  PRISM_TOOL_LIMIT_SEARCH_MATCHES,
  PRISM_TOOL_LIMIT_SEARCH_CONTEXT,
  PRISM_TOOL_LIMIT_SEARCH_TIMEOUT_S,
  PRISM_TOOL_LIMIT_GLOB_PATTERN_BYTES,
  PRISM_TOOL_LIMIT_DELETE_ENTRIES,
  PRISM_TOOL_LIMIT_GIT_TIMEOUT_S,
  PRISM_TOOL_LIMIT_GIT_STATUS_FILES,
  PRISM_TOOL_LIMIT_GIT_DIFF_LINES,
  PRISM_TOOL_LIMIT_GIT_OUTPUT_BYTES,
  PRISM_TOOL_LIMIT_GIT_LIST_BYTES,
  PRISM_TOOL_LIMIT_GIT_PATHS,
  PRISM_TOOL_LIMIT_GIT_REF_BYTES,
  PRISM_TOOL_LIMIT_GIT_PATCH_BYTES,
  PRISM_TOOL_LIMIT_GIT_MESSAGE_BYTES,
  PRISM_TOOL_LIMIT_GIT_WORKTREES,
  PRISM_TOOL_LIMIT_GIT_HANDOFF_COMMITS,
  PRISM_TOOL_LIMIT_GIT_HANDOFF_BYTES,
  PRISM_TOOL_LIMIT_CHECKS,
  PRISM_TOOL_LIMIT_CHECKS_AT_ONCE,
  PRISM_TOOL_LIMIT_CHECK_TIMEOUT_S,
  PRISM_TOOL_LIMIT_CHECK_OUTPUT_BYTES,
  PRISM_TOOL_LIMIT_QUESTION_BYTES,
  PRISM_TOOL_LIMIT_QUESTION_TIMEOUT_S,
  PRISM_TOOL_LIMIT_OPTIONS,
  PRISM_TOOL_N_LIMITS,
} PrismToolLimit;

typedef struct
{
  const char *name;
  gint64 usual, most;
} PrismToolLimitRow;

extern const PrismToolLimitRow prism_tool_limit_rows[PRISM_TOOL_N_LIMITS];

typedef struct
{
  char *name;
  char **argv;
  gint64 timeout_ms;
} PrismToolCheck;

typedef struct
{
  gatomicrefcount refs;

  PrismTree *tree;  /* files */
  PrismTree *place; /* commands; the same but for mixed wiring */
  gboolean sandboxed, read_only, git, git_aware, read_before_write;
  PrismPolicy *policy;
  PrismSuspensions *suspensions; /* (nullable): questions wait there */
  GHashTable *policies;          /* a tool's name -> PrismPolicy */
  GPtrArray *checks;             /* PrismToolCheck */
  gint64 limits[PRISM_TOOL_N_LIMITS];
  char *workspace, *sandbox_id;
  GWeakRef composition;

  GMutex lock;
  GCond changed;
  GHashTable *seen;  /* path -> SHA-256 of what a tool read or wrote there */
  GHashTable *lines; /* path -> who waits for it */
  guint checks_running;
} PrismToolSettings;

PrismToolSettings *prism_tool_settings_new (void);
PrismToolSettings *prism_tool_settings_ref (PrismToolSettings *self);
void prism_tool_settings_unref (PrismToolSettings *self);

/* -1: no limit has that name. */
int prism_tool_limit_find (const char *name);

/* One at a time for each path, in the order in which they came. FALSE: cancelled. */
gboolean prism_tool_settings_enter (PrismToolSettings *self, const char *path, GCancellable *cancellable);
void prism_tool_settings_leave (PrismToolSettings *self, const char *path);

/* What is remembered of a file's content; @bytes NULL: forget. */
void prism_tool_settings_note (PrismToolSettings *self, const char *path, GBytes *bytes);
char *prism_tool_settings_dup_note (PrismToolSettings *self, const char *path);

/* NULL: it is not bound. */
PrismToolSettings *prism_composition_get_settings (PrismComposition *self);

/* On the composition, if it is still there; in this thread. */
void prism_composition_emit_file_changed (PrismComposition *self,
                                          const char *path,
                                          const char *operation,
                                          const char *call_id);
void
prism_composition_emit_denied (PrismComposition *self, const char *tool, PrismDecision *decision, const char *call_id);
void prism_composition_emit_worktree_changed (PrismComposition *self,
                                              const char *action,
                                              const char *path,
                                              const char *call_id);
/* FALSE: nobody takes it. NULL: whether somebody might. */
gboolean prism_composition_emit_conversion (PrismComposition *self, PrismConversion *conversion);
gboolean prism_composition_emit_question (PrismComposition *self, PrismQuestion *question);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismToolSettings, prism_tool_settings_unref)

G_END_DECLS
