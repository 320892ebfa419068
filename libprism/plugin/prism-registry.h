/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-backend.h"
#include "prism-egress-proxy.h"
#include "prism-plugin-info.h"

G_BEGIN_DECLS

#define PRISM_PLUGIN_ERROR (prism_plugin_error_quark ())
PRISM_AVAILABLE_IN_1_0
GQuark prism_plugin_error_quark (void);

/**
 * PrismPluginError:
 * @PRISM_PLUGIN_ERROR_NOT_FOUND: no plug-in offers that name; the message lists what there is
 * @PRISM_PLUGIN_ERROR_MANIFEST: the manifest is missing, malformed or does not fit the module
 * @PRISM_PLUGIN_ERROR_ABI: made for another ABI
 * @PRISM_PLUGIN_ERROR_UNTRUSTED: file or folder owner or mode is not acceptable
 * @PRISM_PLUGIN_ERROR_LOAD: the module could not be opened; the message has the loader's words
 * @PRISM_PLUGIN_ERROR_TYPE: a type does not implement its interface, or its name is taken
 *
 * Why a plug-in or what it provides cannot be had.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_PLUGIN_ERROR_NOT_FOUND,
  PRISM_PLUGIN_ERROR_MANIFEST,
  PRISM_PLUGIN_ERROR_ABI,
  PRISM_PLUGIN_ERROR_UNTRUSTED,
  PRISM_PLUGIN_ERROR_LOAD,
  PRISM_PLUGIN_ERROR_TYPE,
} PrismPluginError;

/* A GListModel of PrismPluginInfo. Reading the folders runs no foreign code; a
 * module is opened when something that it provides is first asked for. */
#define PRISM_TYPE_REGISTRY (prism_registry_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismRegistry, prism_registry, PRISM, REGISTRY, GObject)

PRISM_AVAILABLE_IN_1_0
PrismRegistry  *prism_registry_get_default    (void);
/* Search exactly these folders, in order; NULL = the built-in one and PRISM_PLUGIN_PATH. */
PRISM_AVAILABLE_IN_1_0
PrismRegistry  *prism_registry_new            (const char * const *folders);
PRISM_AVAILABLE_IN_1_0
gboolean        prism_registry_add_type       (PrismRegistry      *self,
                                               const char         *name,
                                               GType               type,
                                               int                 priority,
                                               GError            **error);
PRISM_AVAILABLE_IN_1_0
PrismBackend   *prism_registry_create_backend (PrismRegistry      *self,
                                               const char         *name,
                                               GError            **error);
/* The type behind a backend's name, loading its module; for those who list properties. */
PRISM_AVAILABLE_IN_1_0
GType           prism_registry_get_backend_type (PrismRegistry    *self,
                                               const char         *name,
                                               GError            **error);
PRISM_AVAILABLE_IN_1_0
char          **prism_registry_list_backends  (PrismRegistry      *self);
/* NULL: the one of the highest priority. */
PRISM_AVAILABLE_IN_1_0
PrismEgressProxy *prism_registry_create_egress_proxy (PrismRegistry *self,
                                                    const char         *name,
                                                    GError            **error);
/* The type behind a proxy's name, as above. NULL: the one of the highest priority. */
PRISM_AVAILABLE_IN_1_0
GType           prism_registry_get_egress_proxy_type (PrismRegistry *self,
                                                    const char         *name,
                                                    GError            **error);
PRISM_AVAILABLE_IN_1_0
char          **prism_registry_list_egress_proxies (PrismRegistry     *self);
PRISM_AVAILABLE_IN_1_0
gboolean        prism_registry_load           (PrismRegistry      *self,
                                               PrismPluginInfo    *info,
                                               GError            **error);

G_END_DECLS
