/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

#define PRISM_PLUGIN_MAGIC 0x4d535250u /* "PRSM" */

/* The one symbol that a module exports. Compared with the manifest before any
 * of its functions is called. */
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

#define PRISM_PLUGIN_SYMBOL "prism_plugin_descriptor"

#define PRISM_PLUGIN_DEFINE(name_, version_, licence_, load_)                                      \
  __attribute__ ((visibility ("default"))) extern const PrismPluginDescriptor prism_plugin_descriptor; \
  const PrismPluginDescriptor prism_plugin_descriptor = {                                          \
    PRISM_PLUGIN_MAGIC, PRISM_PLUGIN_ABI_MAJOR, PRISM_PLUGIN_ABI_MINOR,                            \
    sizeof (PrismPluginDescriptor), #name_, version_, licence_, load_,                             \
  };

G_END_DECLS
