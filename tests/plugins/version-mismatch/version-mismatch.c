/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The module is left over from another version. */
#include "fixture.h"

FIXTURE_BACKEND (VersionMismatch, version_mismatch)

static void
fixture_version_mismatch_class_init (FixtureVersionMismatchClass *klass)
{
}

static void
version_mismatch_load (PrismRegistry *registry)
{
  prism_registry_add_type (registry, "version-mismatch", fixture_version_mismatch_get_type (), 50, NULL);
}

PRISM_PLUGIN_DEFINE (version-mismatch, "1.2.2", "LGPL-2.1-or-later", version_mismatch_load);
