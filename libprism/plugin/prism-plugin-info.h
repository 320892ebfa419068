/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-enums.h"

G_BEGIN_DECLS

#define PRISM_TYPE_PLUGIN_INFO (prism_plugin_info_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismPluginInfo, prism_plugin_info, PRISM, PLUGIN_INFO, GObject)

PRISM_AVAILABLE_IN_1_0
const char         *prism_plugin_info_get_name        (PrismPluginInfo *self);
PRISM_AVAILABLE_IN_1_0
const char         *prism_plugin_info_get_version     (PrismPluginInfo *self);
PRISM_AVAILABLE_IN_1_0
const char         *prism_plugin_info_get_licence     (PrismPluginInfo *self);
PRISM_AVAILABLE_IN_1_0
const char         *prism_plugin_info_get_description (PrismPluginInfo *self);
PRISM_AVAILABLE_IN_1_0
const char         *prism_plugin_info_get_abi         (PrismPluginInfo *self);
PRISM_AVAILABLE_IN_1_0
const char         *prism_plugin_info_get_manifest    (PrismPluginInfo *self);
PRISM_AVAILABLE_IN_1_0
const char         *prism_plugin_info_get_module      (PrismPluginInfo *self);
/* Names of what its manifest says it provides. */
PRISM_AVAILABLE_IN_1_0
const char * const *prism_plugin_info_get_backends    (PrismPluginInfo *self);
PRISM_AVAILABLE_IN_1_0
const char * const *prism_plugin_info_get_egress_proxies (PrismPluginInfo *self);
PRISM_AVAILABLE_IN_1_0
PrismPluginState    prism_plugin_info_get_state       (PrismPluginInfo *self);
PRISM_AVAILABLE_IN_1_0
const GError       *prism_plugin_info_get_error       (PrismPluginInfo *self);

G_END_DECLS
