/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The manifest and the module are not one plug-in's. */
#include "fixture.h"

FIXTURE_BACKEND (NameMismatch, name_mismatch)

static void
fixture_name_mismatch_class_init (FixtureNameMismatchClass *klass)
{
}

static void
name_mismatch_load (PrismRegistry *registry)
{
  prism_registry_add_type (registry, "name-mismatch", fixture_name_mismatch_get_type (), 50, NULL);
}

PRISM_PLUGIN_DEFINE (other-name, "1.2.3", "LGPL-2.1-or-later", name_mismatch_load);
