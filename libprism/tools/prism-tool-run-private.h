/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One call of one of the library's own tools. */
#pragma once

#include "prism-tool-private.h"
#include "prism-tool-result-private.h"
#include "prism-tool-settings-private.h"

G_BEGIN_DECLS

typedef struct _PrismToolRun PrismToolRun;

typedef struct
{
  const char *name, *title, *description;
  const char *schema; /* JSON Schema; what it does not name is refused */
  PrismEffect effect;
  gboolean exclusive;
  gboolean (*run) (PrismToolRun *run, GError **error);
  void (*accept) (JsonObject *arguments); /* (nullable): other forms that models send */
  /* (nullable): whether what is there now proves that this very call was done. */
  gboolean (*prove) (PrismToolRun *run);
} PrismToolKind;

struct _PrismToolRun
{
  PrismToolSettings *settings;
  const PrismToolKind *kind;
  PrismToolOperation *operation;
  GCancellable *cancellable;
  JsonObject *arguments;
  PrismToolResult *result;
  JsonBuilder *metadata; /* an open object */
  PrismTree *tree;       /* the settings', in which the paths of prism_tool_authorize() are held */
  GPtrArray *entered;    /* paths that this run has for itself */
  GPtrArray *begun;      /* PrismSuspension, by whose answers it runs */
  PrismSuspension *used; /* by whose answer it began before */
};

/* Answers the operation. */
void prism_tool_run (PrismToolSettings *settings, const PrismToolKind *kind, PrismToolOperation *operation);

gint64 prism_tool_limit (const PrismToolRun *run, PrismToolLimit limit);

/* --- arguments: they fit the schema ----------------------------------------------------------- */

const char *prism_tool_get_string (PrismToolRun *run, const char *name); /* NULL: not there */
gint64 prism_tool_get_integer (PrismToolRun *run, const char *name, gint64 otherwise);
gboolean prism_tool_get_boolean (PrismToolRun *run, const char *name, gboolean otherwise);
JsonArray *prism_tool_get_array (PrismToolRun *run, const char *name);
/* Refuses what is over @limit, naming it. */
gboolean
prism_tool_get_bounded (PrismToolRun *run, const char *name, PrismToolLimit limit, gint64 *value, GError **error);

/* --- paths --------------------------------------------------------------------------------------- */

/* An absolute path below the root, of what the model wrote: other spellings of what is there
 * are found. NULL and ESCAPE where its words lead out. */
char *prism_tool_dup_path (PrismToolRun *run, const char *name, GError **error);
char *prism_tool_resolve (PrismToolRun *run, const char *written, GError **error);
/* As the model is shown it, and may send it back: relative to the root, bytes that are no
 * text as \xHH. */
char *prism_tool_show (PrismToolRun *run, const char *path);
char *prism_tool_escape (const char *bytes);
char *prism_tool_unescape (const char *text, GError **error);

/* --- permission ------------------------------------------------------------------------------------- */

typedef struct
{
  const char *kind, *operation;
  PrismRisk risk;
  PrismEffect effect;
  char **paths;   /* (nullable) what the policy put in their place comes back in it */
  char **command; /* (nullable) likewise */
  const char *const *argv;
  const char *summary;
} PrismToolAsk;

/* Waits until nobody else writes to the paths, holds what they are, asks, and makes sure that
 * they are that still: from then on they are used by run->tree, which knows what it holds. */
gboolean prism_tool_authorize (PrismToolRun *run, const PrismToolAsk *ask, GError **error);
PrismAction *prism_tool_make_action (PrismToolRun *run, const PrismToolAsk *ask);

/* --- what waits for an answer: prism-tool-suspend.c -------------------------------------------------- */

/* Says that it is suspended, and as what. */
gboolean prism_tool_fail_suspended (PrismToolRun *run, PrismSuspension *suspension, GError **error);
/* Writes down how what began ended. */
void prism_tool_end_begun (PrismToolRun *run, const GError *error);
/* It began before, and the tree proves that it was done: then that is its answer. */
gboolean prism_tool_reconcile (PrismToolRun *run, PrismSuspension *suspension);
/* The answer to @question that somebody gave, or an error; what is given is one of the two. */
gboolean prism_tool_await_answer (PrismToolRun *run,
                                  const PrismToolAsk *ask,
                                  PrismQuestion *question,
                                  char ***ids,
                                  char **custom_text,
                                  GError **error);

/* --- the tree ------------------------------------------------------------------------------------------ */

/* Takes a tree's error and makes it a tool's. */
void prism_tool_take_fault (GError **error, GError *fault);
/* A change failed, and whether it was done is not known: TRUE, without *@fault any more, where
 * the tree shows that it was. */
gboolean prism_tool_settle_write (PrismToolRun *run, const char *path, GBytes *bytes, GError **fault);
gboolean prism_tool_settle_delete (PrismToolRun *run, const char *path, GError **fault);
gboolean prism_tool_settle_move (PrismToolRun *run, const char *from, const char *to, GError **fault);
/* The content that the file has now is what was read last, where the guard is on. */
gboolean prism_tool_check_read (PrismToolRun *run, const char *path, GBytes *now, GError **error);
void prism_tool_changed (PrismToolRun *run, const char *path, const char *operation);
void prism_tool_worktree_changed (PrismToolRun *run, const char *action, const char *path);

/* --- what it says ------------------------------------------------------------------------------------------ */

void prism_tool_say (PrismToolRun *run, const char *format, ...) G_GNUC_PRINTF (2, 3);
void prism_tool_add_string (PrismToolRun *run, const char *name, const char *value);
void prism_tool_add_integer (PrismToolRun *run, const char *name, gint64 value);
void prism_tool_add_boolean (PrismToolRun *run, const char *name, gboolean value);
gboolean prism_tool_fail (GError **error, PrismToolError code, const char *format, ...) G_GNUC_PRINTF (3, 4);

/* --- schemas -------------------------------------------------------------------------------------------------- */

gboolean prism_tool_schema_check (JsonObject *schema, JsonObject *arguments, GError **error);

/* --- the table --------------------------------------------------------------------------------------------------- */

/* Ends with a NULL name. */
extern const PrismToolKind prism_tool_kinds[];
extern const PrismToolKind prism_tool_git_kinds[];
extern const PrismToolKind prism_tool_other_kinds[]; /* coding_check, ask_user_decision */
extern const PrismToolKind prism_tool_alias_kinds[];

G_END_DECLS
