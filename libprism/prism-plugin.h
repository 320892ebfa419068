/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

/**
 * PRISM_PLUGIN_MAGIC:
 *
 * What a descriptor begins with.
 *
 * Since: 1.0
 */
#define PRISM_PLUGIN_MAGIC 0x4d535250u /* "PRSM" */

/**
 * PrismPluginDescriptor:
 * @magic: %PRISM_PLUGIN_MAGIC
 * @abi_major: %PRISM_PLUGIN_ABI_MAJOR of when it was built
 * @abi_minor: %PRISM_PLUGIN_ABI_MINOR of when it was built
 * @size: of this structure
 * @name: as in the manifest
 * @version: as in the manifest
 * @licence: as in the manifest
 * @load: adds what the manifest names to the registry, and does nothing else
 *
 * What a module says of itself, by the one symbol that it exports. It is compared with
 * the manifest before any of its functions is called.
 *
 * Since: 1.0
 */
typedef struct
{
  guint32 magic;
  guint16 abi_major;
  guint16 abi_minor;
  guint32 size;
  const char *name;
  const char *version;
  const char *licence;
  void (*load) (PrismRegistry *registry);
} PrismPluginDescriptor;

/**
 * PRISM_PLUGIN_SYMBOL:
 *
 * The name of the one symbol that a plug-in's module exports.
 *
 * Since: 1.0
 */
#define PRISM_PLUGIN_SYMBOL "prism_plugin_descriptor"

/**
 * PRISM_PLUGIN_DEFINE:
 * @name_: the plug-in's name, as in its manifest, unquoted
 * @version_: its version, as in its manifest
 * @licence_: its licence, as an SPDX expression
 * @load_: what adds its types to the registry
 *
 * The one symbol that a plug-in's module exports.
 *
 * Since: 1.0
 */
#define PRISM_PLUGIN_DEFINE(name_, version_, licence_, load_)                                      \
  __attribute__ ((visibility ("default"))) extern const PrismPluginDescriptor prism_plugin_descriptor; \
  const PrismPluginDescriptor prism_plugin_descriptor = {                                          \
    PRISM_PLUGIN_MAGIC, PRISM_PLUGIN_ABI_MAJOR, PRISM_PLUGIN_ABI_MINOR,                            \
    sizeof (PrismPluginDescriptor), #name_, version_, licence_, load_,                             \
  };

G_END_DECLS
