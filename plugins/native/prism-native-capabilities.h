/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

#include "prism-native-evidence.h"
#include "prism-native-plan.h"

G_BEGIN_DECLS

/* Pure: from what was asked and what the probe inside found true (the launcher's
 * PRISM_LAUNCH_FACT_… bits) to the controls that hold, with @evidence and each
 * control's own. */
PrismCapabilities *prism_native_capabilities_new (const PrismNativeAsked *asked, guint32 facts, const GString *evidence);

/* Puts into words, ahead of time, what a machine on which all holds will find: then new()
 * finds it done. Only what is found in that very sandbox counts. */
void prism_native_capabilities_expect (const PrismNativeAsked *asked, const GString *evidence);

G_END_DECLS
