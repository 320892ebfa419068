/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The coding tools on a folder of their own: on the host, or in a sandbox whose workspace it
 * is. What holds for one holds for the other. */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

typedef struct
{
  gboolean sandboxed;
  char *base;    /* has the workspace, and what is outside of it */
  char *folder;  /* the workspace */
  char *outside; /* a folder beside it, whose files say OUTSIDE */
  PrismSandbox *sandbox;
  PrismComposition *composition;
} ToolsFixture;

void tools_set_up (ToolsFixture *f, gconstpointer sandboxed);
void tools_tear_down (ToolsFixture *f, gconstpointer sandboxed);
/* @path/host and @path/native. */
void tools_add_test (const char *path, void (*test) (ToolsFixture *f, gconstpointer data));

/* Binds the composition, which a test may have set up further. */
void tools_bind (ToolsFixture *f);
/* In place of the sandbox, one whose file operations carry so much. */
void tools_limit_files (ToolsFixture *f, gint64 max_file_bytes);
PrismToolResult *tools_call (ToolsFixture *f, const char *tool, const char *arguments);
/* What it said, or "CODE: message". */
char *tools_text (ToolsFixture *f, const char *tool, const char *arguments);

void tools_put (ToolsFixture *f, const char *name, const char *bytes, gssize size);
void tools_link (ToolsFixture *f, const char *name, const char *target);
char *tools_get (ToolsFixture *f, const char *name, gsize *size);

/* Two names below the workspace change places in a thread of their own, as fast as can be. */
typedef struct
{
  char *one, *other;
  GThread *thread;
  gint stop;
  guint64 swaps;
} ToolsSwapper;

void tools_swapper_init (ToolsSwapper *self, ToolsFixture *f, const char *one, const char *other);
void tools_swapper_swap (ToolsSwapper *self);
void tools_swapper_begin (ToolsSwapper *self);
void tools_swapper_end (ToolsSwapper *self);
void tools_swapper_clear (ToolsSwapper *self);

G_END_DECLS
