/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Needs what no library here has: bound late, it would end the program later. */
#include "fixture.h"

FIXTURE_BACKEND (UnresolvedSymbol, unresolved_symbol)

static void
fixture_unresolved_symbol_class_init (FixtureUnresolvedSymbolClass *klass)
{
}

void prism_function_of_a_later_version (void);

static void
unresolved_symbol_load (PrismRegistry *registry)
{
  prism_registry_add_type (registry, "unresolved-symbol", fixture_unresolved_symbol_get_type (), 50, NULL);
  prism_function_of_a_later_version ();
}

PRISM_PLUGIN_DEFINE (unresolved-symbol, "1.2.3", "LGPL-2.1-or-later", unresolved_symbol_load);
