/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A module alone. */
#include "fixture.h"

FIXTURE_BACKEND (NoManifest, no_manifest)

static void
fixture_no_manifest_class_init (FixtureNoManifestClass *klass)
{
}

static void
no_manifest_load (PrismRegistry *registry)
{
  prism_registry_add_type (registry, "no-manifest", fixture_no_manifest_get_type (), 50, NULL);
}

PRISM_PLUGIN_DEFINE (no-manifest, "1.2.3", "LGPL-2.1-or-later", no_manifest_load);
