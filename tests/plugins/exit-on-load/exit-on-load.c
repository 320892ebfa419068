/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ends the program in its load function. */
#include <libprism/prism-plugin.h>

#include <stdlib.h>

static void
exit_on_load_load (PrismRegistry *registry)
{
  exit (0);
}

PRISM_PLUGIN_DEFINE (exit-on-load, "1.2.3", "LGPL-2.1-or-later", exit_on_load_load);
