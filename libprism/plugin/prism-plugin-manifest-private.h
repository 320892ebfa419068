/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-types.h"

G_BEGIN_DECLS

#define PRISM_PLUGIN_MANIFEST_MAX (64 * 1024)

typedef struct
{
  char *name;
  char *module; /* a plain file name, in the manifest's folder */
  char *abi;
  char *version;
  char *licence;
  char *description;
  char **backends;
  char **egress_proxies;
} PrismPluginManifest;

PrismPluginManifest *prism_plugin_manifest_parse     (const char           *data,
                                                      gsize                 length,
                                                      GError              **error);
void                 prism_plugin_manifest_free      (PrismPluginManifest  *self);
gboolean             prism_plugin_manifest_check_abi (const char           *abi,
                                                      guint                *major,
                                                      guint                *minor,
                                                      GError              **error);
gboolean             prism_plugin_abi_fits           (guint                 major,
                                                      guint                 minor,
                                                      GError              **error);
gboolean             prism_plugin_name_is_valid      (const char           *name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismPluginManifest, prism_plugin_manifest_free)

G_END_DECLS
