/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Registers a type whose name is taken, here by the library itself. */
#include "fixture.h"

FIXTURE_BACKEND (DuplicateType, duplicate_type)

static void
fixture_duplicate_type_class_init (FixtureDuplicateTypeClass *klass)
{
}

static void
duplicate_type_load (PrismRegistry *registry)
{
  static const GTypeInfo info = { .class_size = sizeof (FixtureDuplicateTypeClass),
                                  .instance_size = sizeof (FixtureDuplicateType) };
  GType type = g_type_register_static (G_TYPE_OBJECT, "PrismRegistry", &info, G_TYPE_FLAG_NONE);

  /* Does not look at the answer. */
  prism_registry_add_type (registry, "duplicate-type", type, 50, NULL);
}

PRISM_PLUGIN_DEFINE (duplicate-type, "1.2.3", "LGPL-2.1-or-later", duplicate_type_load);
