/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-registry-kind-private.h"
#include "prism-registry.h"

G_BEGIN_DECLS

/* Two locks: @lock guards the data and is never held while foreign code runs;
 * @load_lock makes loads follow one another and may be taken again by a plug-in's
 * own load function. */
struct _PrismRegistry
{
  GObject parent_instance;

  GRecMutex load_lock;

  GMutex lock;
  GPtrArray *folders; /* of PrismPluginFolder */
  GPtrArray *infos;   /* of PrismPluginInfo; NULL until the folders were read, fixed from then on */
  GPtrArray *types;   /* of TypeEntry */
};

GPtrArray *prism_registry_ensure_infos (PrismRegistry *self);

/* @info: who adds it; %NULL: the application. */
gboolean prism_registry_add_entry (PrismRegistry *self,
                                   const char *name,
                                   GType type,
                                   int priority,
                                   PrismPluginInfo *info,
                                   GError **error);
void prism_registry_remove_types (PrismRegistry *self, PrismPluginInfo *info);
GType prism_registry_best_type (PrismRegistry *self,
                                const PrismRegistryKind *kind,
                                const char *name,
                                PrismPluginInfo *only);

/* By this thread. */
gboolean prism_registry_is_loading (PrismRegistry *self, PrismPluginInfo *info);
/* Says why it is refused or shadowed. */
gboolean prism_registry_fail_with_state (PrismPluginInfo *info, GError **error);

G_END_DECLS
