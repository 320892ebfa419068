/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For what the service's file interface cannot say (a path that must stay beneath the
 * workspace, a mode, a name that is no UTF-8, a search, a whole tree) prism-agent goes into
 * the sandbox, the first time that it is needed: uploaded as a file, run as a process of the
 * sandbox's user, asked over its standard streams. Commands never run by way of it.
 *
 * TRUST. It runs where the commands run and they may have replaced it: its answers are as
 * hostile as they are from every agent, and what they can be wrong about is the sandbox's
 * own. It is given no secret. */
#pragma once

#include "prism-e2b-sandbox-private.h"

G_BEGIN_DECLS

#define PRISM_TYPE_E2B_HELPER (prism_e2b_helper_get_type ())
G_DECLARE_FINAL_TYPE (PrismE2bHelper, prism_e2b_helper, PRISM, E2B_HELPER, PrismAgentSandbox)

/* One that runs; blocks while it is brought in. */
PrismSandbox *prism_e2b_helper_get (PrismE2bSandbox *self, PrismOperation *operation, GError **error);

G_END_DECLS
