/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides at load that it cannot work here, and adds nothing. */
#include <libprism/prism-plugin.h>

static void
refuses_load (PrismRegistry *registry)
{
}

PRISM_PLUGIN_DEFINE (refuses, "1.2.3", "LGPL-2.1-or-later", refuses_load);
