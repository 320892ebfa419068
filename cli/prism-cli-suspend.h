/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-cli-options.h"

G_BEGIN_DECLS

/* Where --suspend puts questions down; NULL without an error: it was not said. Refused where the
 * sandbox could write. An answer there is for whichever call next does the very same: what asks by
 * way of this program has no name that outlives it. */
PrismSuspensions *prism_cli_suspend_open (const PrismCliOptions *options, PrismSandboxSpec *spec, GError **error);

G_END_DECLS
