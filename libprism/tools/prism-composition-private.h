/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-composition.h"
#include "prism-tool-settings-private.h"

G_BEGIN_DECLS

struct _PrismComposition
{
  GObject parent_instance;

  PrismCompositionMode mode;
  GFile *folder;
  PrismSandbox *sandbox;
  gboolean allow_mixed_wiring, bound, coherent;
  PrismToolSettings *settings;
  GListStore *tools;
  GHashTable
      *named;     /* the same by name, as they were when it was bound: a list store is of one thread, finding is not */
  GPtrArray *own; /* PrismTool, until it is bound */
  GPtrArray *warnings;
  PrismTreeIdentity *identity;
};

/* What a check may be called, and a tool. */
gboolean prism_composition_is_name (const char *name);

G_END_DECLS
