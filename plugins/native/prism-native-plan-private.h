/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-launch.h"
#include "prism-native-plan.h"

G_BEGIN_DECLS

typedef struct
{
  struct prism_wire_writer writer;
  guint n;
} PrismNativeSteps;

void prism_native_step (PrismNativeSteps *steps,
                        guint8 kind,
                        guint32 flags,
                        guint32 mode,
                        guint64 bytes,
                        guint64 inodes,
                        const char *target,
                        const char *text);

/* prism-native-system.c: what every confined sandbox has: read-only and the same for
 * all of one machine, then what is each one's own. */
void prism_native_plan_write_system (PrismNativeSteps *steps, const PrismNativeAsked *asked);
void prism_native_plan_write_own (PrismNativeSteps *steps, const PrismNativeAsked *asked);

/* Whether a part of the system is left out, since it or what it is in is to be hidden. */
gboolean prism_native_plan_hides (const PrismNativeAsked *asked, const PrismNativePiece *piece);

G_END_DECLS
