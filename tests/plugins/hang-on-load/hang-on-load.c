/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Never comes back from its load function. */
#include <libprism/prism-plugin.h>

#include <unistd.h>

static void
hang_on_load_load (PrismRegistry *registry)
{
  for (;;)
    pause ();
}

PRISM_PLUGIN_DEFINE (hang-on-load, "1.2.3", "LGPL-2.1-or-later", hang_on_load_load);
