/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One tree that the coding tools work on: a folder of the host, or a sandbox's workspace.
 * All paths are absolute in the tree's own names and lexically below its root; what they
 * lead to is checked where it is used, by descriptor: nothing here leaves the root, whatever
 * happens in the tree meanwhile. Calls block; any thread. */
#pragma once

#include "prism-command.h"
#include "prism-file-entry.h"
#include "prism-path-guard-private.h"
#include "prism-result.h"

G_BEGIN_DECLS

/* PRISM_TREE_FAULT: how a tree says no; tools turn these into their own. */
#define PRISM_TREE_FAULT (prism_tree_fault_quark ())
GQuark prism_tree_fault_quark (void);

typedef enum
{
  PRISM_TREE_FAULT_FAILED,
  PRISM_TREE_FAULT_INVALID,
  PRISM_TREE_FAULT_NOT_FOUND,
  PRISM_TREE_FAULT_ESCAPE,
  PRISM_TREE_FAULT_DENIED,
  PRISM_TREE_FAULT_EXISTS,
  PRISM_TREE_FAULT_TYPE,
  PRISM_TREE_FAULT_LIMIT,
  PRISM_TREE_FAULT_CANCELLED,
  PRISM_TREE_FAULT_LOST,
  PRISM_TREE_FAULT_CHANGED,
  /* These two: it may have been done, or not. */
  PRISM_TREE_FAULT_TIMEOUT,
  PRISM_TREE_FAULT_UNKNOWN,
} PrismTreeFault;

typedef struct
{
  const char *query;
  gboolean ignore_case, hidden;
  guint context;
  gint64 max_matches, scan_bytes, file_bytes, line_bytes, timeout_ms;
} PrismTreeQuery;

/* What a search found: lines PATH NUL LINE NUL COLUMN NUL TEXT LF as PrismSandbox's search has
 * them, sorted by path; column 0: context (line > 0) or unread (line 0). Counts of -1: not known. */
typedef struct
{
  GBytes *lines;
  gint64 entries, files, bytes, binary, large, long_lines;
  guint cut; /* 0 no, 1 matches, 2 bytes */
} PrismTreeFound;

typedef struct _PrismTree PrismTree;

#define PRISM_TYPE_TREE (prism_tree_get_type ())
G_DECLARE_DERIVABLE_TYPE (PrismTree, prism_tree, PRISM, TREE, GObject)

struct _PrismTreeClass
{
  GObjectClass parent_class;

  PrismFileEntry *(*stat) (PrismTree *self, const char *path, GCancellable *cancellable, GError **error);
  GBytes *(*read) (
      PrismTree *self, const char *path, gint64 offset, gint64 length, GCancellable *cancellable, GError **error);
  gboolean (*write) (
      PrismTree *self, const char *path, GBytes *bytes, guint mode, GCancellable *cancellable, GError **error);
  GPtrArray *(*list) (PrismTree *self, const char *path, gboolean hidden, GCancellable *cancellable, GError **error);
  gboolean (*remove) (PrismTree *self,
                      const char *path,
                      gboolean recursive,
                      gint64 max_entries,
                      gint64 *removed,
                      GCancellable *cancellable,
                      GError **error);
  gboolean (*rename) (
      PrismTree *self, const char *from, const char *to, gboolean overwrite, GCancellable *cancellable, GError **error);
  gboolean (*search) (PrismTree *self,
                      const char *path,
                      const PrismTreeQuery *query,
                      PrismTreeFound *found,
                      GCancellable *cancellable,
                      GError **error);
  PrismResult *(*exec) (PrismTree *self, PrismCommand *command, GCancellable *cancellable, GError **error);
  char *(*keep) (PrismTree *self, const char *suffix, GBytes *bytes, GCancellable *cancellable, GError **error);
  /* (nullable), all three: names are checked where they are used, and nothing can be held. */
  PrismTree *(*hold) (PrismTree *self, const char *const *paths, PrismPathIntent intent, GError **error);
  const PrismPathIdentity *(*get_object) (PrismTree *self, guint path);
  gboolean (*verify) (PrismTree *self, GError **error);
};

/* Where the tree begins, in its own names: no final slash unless it is "/". */
const char *prism_tree_get_root (PrismTree *self);
/* What "~" means; NULL: nothing. */
const char *prism_tree_get_home (PrismTree *self);

/* Of the link itself, where it is one. Links on the way are followed, below the root. */
PrismFileEntry *prism_tree_stat (PrismTree *self, const char *path, GCancellable *cancellable, GError **error);
/* At most @length bytes, fewer at the end of the file. A link is followed, below the root. */
GBytes *prism_tree_read (
    PrismTree *self, const char *path, gint64 offset, gint64 length, GCancellable *cancellable, GError **error);
/* By a temporary file and rename; makes folders; through no link. mode 0: as it was, or 0644. */
gboolean prism_tree_write (
    PrismTree *self, const char *path, GBytes *bytes, guint mode, GCancellable *cancellable, GError **error);
/* PrismFileEntry, sorted by byte value of their names. Of a folder that @path leads to. */
GPtrArray *
prism_tree_list (PrismTree *self, const char *path, gboolean hidden, GCancellable *cancellable, GError **error);
/* A link itself. *@removed: how many entries, it included; said where it is gone. */
gboolean prism_tree_remove (PrismTree *self,
                            const char *path,
                            gboolean recursive,
                            gint64 max_entries,
                            gint64 *removed,
                            GCancellable *cancellable,
                            GError **error);
gboolean prism_tree_rename (
    PrismTree *self, const char *from, const char *to, gboolean overwrite, GCancellable *cancellable, GError **error);
gboolean prism_tree_search (PrismTree *self,
                            const char *path,
                            const PrismTreeQuery *query,
                            PrismTreeFound *found,
                            GCancellable *cancellable,
                            GError **error);
void prism_tree_found_clear (PrismTreeFound *found);
/* In the root, or where the command says. */
PrismResult *prism_tree_exec (PrismTree *self, PrismCommand *command, GCancellable *cancellable, GError **error);
/* In a file of its own outside of the tree, where the tree's commands read it: a random name, of
 * nobody else, gone with the tree or with the sandbox. Answers with its path. */
char *prism_tree_keep (PrismTree *self, const char *suffix, GBytes *bytes, GCancellable *cancellable, GError **error);

/* The same tree, in which @paths mean what they mean now: their objects are held open, and what
 * is done to these names is done to these objects or, where a name means another by then, not
 * at all: PRISM_TREE_FAULT_CHANGED. What is not there is held as not there. */
PrismTree *prism_tree_hold (PrismTree *self, const char *const *paths, PrismPathIntent intent, GError **error);
/* Of such a tree: which object a path is. NULL: it cannot be said. */
const PrismPathIdentity *prism_tree_get_object (PrismTree *self, guint path);
/* Of such a tree: that all of the names mean the same still. */
gboolean prism_tree_verify (PrismTree *self, GError **error);

/* For those who derive. */
void prism_tree_set_root (PrismTree *self, const char *root, const char *home);

G_END_DECLS
