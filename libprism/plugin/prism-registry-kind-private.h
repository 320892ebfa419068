/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a plug-in can provide: each kind is one interface, one key of the manifest
 * and one word in messages. */
#pragma once

#include "prism-plugin-info.h"

G_BEGIN_DECLS

typedef struct
{
  GType (*get_iface) (void);
  const char *noun; /* "backend" */
  const char *key;  /* in the manifest */
  const char *const *(*get_offered) (PrismPluginInfo *info);
  const char *(*find_missing) (gpointer iface); /* a method that has to be there */
} PrismRegistryKind;

extern const PrismRegistryKind prism_registry_backends;
extern const PrismRegistryKind prism_registry_egress_proxies;

/* The kind that the type is of; an error if it is of none, or does not do what its
 * interface asks for. */
const PrismRegistryKind *prism_registry_kind_of (GType type, GError **error);

G_END_DECLS
