/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-plugin-info.h"

#include "prism-plugin-manifest-private.h"

G_BEGIN_DECLS

PrismPluginInfo *prism_plugin_info_new         (const char           *name,
                                                const char           *manifest_path,
                                                PrismPluginManifest  *manifest);
void             prism_plugin_info_set_module  (PrismPluginInfo      *self,
                                                const char           *path);
void             prism_plugin_info_set_loaded  (PrismPluginInfo      *self);
void             prism_plugin_info_set_shadowed (PrismPluginInfo     *self);
void             prism_plugin_info_take_error  (PrismPluginInfo      *self,
                                                GError               *error);
const PrismPluginManifest *
                 prism_plugin_info_get_parsed  (PrismPluginInfo      *self);

G_END_DECLS
