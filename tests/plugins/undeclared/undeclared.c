/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Adds what its manifest does not name, beside what it does. */
#include "fixture.h"

FIXTURE_BACKEND (Undeclared, undeclared)

static void
fixture_undeclared_class_init (FixtureUndeclaredClass *klass)
{
}

static void
undeclared_load (PrismRegistry *registry)
{
  prism_registry_add_type (registry, "undeclared", fixture_undeclared_get_type (), 50, NULL);
  prism_registry_add_type (registry, "native", fixture_undeclared_get_type (), 1000, NULL);
}

PRISM_PLUGIN_DEFINE (undeclared, "1.2.3", "LGPL-2.1-or-later", undeclared_load);
