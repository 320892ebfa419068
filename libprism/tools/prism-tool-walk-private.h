/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tree, nearest first, names by byte value, under bounds that stop before they are passed. */
#pragma once

#include "prism-tool-run-private.h"

G_BEGIN_DECLS

typedef struct _PrismToolTracked PrismToolTracked;

/* What git does not ignore below @path. NULL without @error: git has no say there. */
PrismToolTracked *prism_tool_tracked_new (PrismToolRun *run, const char *path, GError **error);
void prism_tool_tracked_free (PrismToolTracked *self);
/* @path is a name of the tree: one of them, or on the way to one. */
gboolean prism_tool_tracked_has (const PrismToolTracked *self, const char *path);

typedef struct
{
  gboolean hidden, files_only;
  gint64 max_depth, offset, page;
  gboolean (*fits) (const char *relative, gpointer data); /* (nullable) */
  gpointer data;
  PrismToolTracked *tracked; /* (nullable): what git knows; nothing else is there */

  GPtrArray *found; /* PrismFileEntry of this page */
  gint64 retained;  /* entries that fit, those before the page too */
  gint64 entries, files, unreadable;
  const char *cut;   /* why there is more: results, entries, files, depth, abort */
  gboolean too_deep; /* something was left out for its depth */
} PrismToolWalk;

/* Reads includeHidden, maxDepth, maxResults, offset. */
gboolean prism_tool_walk_begin (PrismToolRun *run, PrismToolWalk *walk, GError **error);
gboolean prism_tool_walk (PrismToolRun *run, PrismToolWalk *walk, const char *path, GError **error);
void prism_tool_walk_clear (PrismToolWalk *walk);

/* truncated, truncatedBy, offset, nextOffset, returned, scannedEntries, scannedFiles, and a last
 * line that says how to go on. */
void prism_tool_walk_answer (PrismToolRun *run, PrismToolWalk *walk);

G_END_DECLS
