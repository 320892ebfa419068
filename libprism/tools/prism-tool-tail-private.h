/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-tool-run-private.h"

G_BEGIN_DECLS

typedef struct
{
  PrismToolRun *run;
  GByteArray *held; /* its end: at least the last `most` bytes */
  gsize most;
  gint64 limit;  /* bytes after which it is ended */
  gboolean keep; /* all of it */
  guint64 total;
  gint64 reported;
  int spill; /* all of it, once that is more than is held; -1: not yet */
  int spill_error;
  GCancellable *ends; /* cancelled when it wrote too much: a sandbox's own limit may be another */
  gboolean over;
} PrismToolTail;

void prism_tool_tail_init (PrismToolTail *self, PrismToolRun *run, gsize most, gint64 limit, gboolean keep);
void prism_tool_tail_clear (PrismToolTail *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismToolTail, prism_tool_tail_clear)

/* Runs @command where the composition's commands run. */
PrismResult *prism_tool_tail_exec (PrismToolTail *self, PrismCommand *command, GError **error);
/* How it ended: for its own limit, if that was it. */
PrismOutcome prism_tool_tail_get_outcome (const PrismToolTail *self, PrismResult *result);
/* From which byte of what is held on it is shown: at most so many lines, and whole ones where
 * there are. */
gsize prism_tool_tail_shown_from (const PrismToolTail *self, gsize most_bytes, gboolean *in_line);
/* Into the file from now on, and what came before. */
void prism_tool_tail_begin_spill (PrismToolTail *self);

G_END_DECLS
