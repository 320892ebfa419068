/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-plugin-info-private.h"
#include "prism-plugin-paths-private.h"

G_BEGIN_DECLS

void prism_plugin_scan (const PrismPluginFolder *folder,
                        PrismPluginAbove        *above,
                        GPtrArray               *infos);

G_END_DECLS
