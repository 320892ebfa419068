/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-plugin-manifest-private.h"

#include <libprism/prism-plugin.h>

G_BEGIN_DECLS

gboolean                     prism_plugin_descriptor_check (const PrismPluginDescriptor  *descriptor,
                                                            const PrismPluginManifest    *manifest,
                                                            GError                      **error);
const PrismPluginDescriptor *prism_plugin_module_open      (const char                   *path,
                                                            const PrismPluginManifest    *manifest,
                                                            GError                      **error);

G_END_DECLS
