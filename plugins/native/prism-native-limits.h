/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

#include "prism-native-cgroup.h"
#include "prism-native-evidence.h"
#include "prism-native-plan.h"

G_BEGIN_DECLS

/* How each limit that the kernel must hold is held, for one sandbox. */
typedef struct
{
  PrismNativeGroup groups[PRISM_NATIVE_N_CONTROLLERS];
  guint n_groups;
  guint64 processes, data_bytes; /* by resource limit, 0 = not */
  const char *freezer;           /* folder of the group that can hold everything still; NULL = there is none */
  GStringChunk *texts;           /* owns the groups' strings */
  GString *evidence;             /* limit → mechanism, or "not enforced: why" */
} PrismNativeLimits;

/* Pure. Fails with every limit that the caller set and nothing here can hold. */
gboolean prism_native_limits_decide (PrismNativeLimits *self,
                                     PrismLimits *limits,
                                     const PrismNativeCgroup *cgroup,
                                     guint n_cpus,
                                     const char *id,
                                     GError **error);
void prism_native_limits_clear (PrismNativeLimits *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismNativeLimits, prism_native_limits_clear)

G_END_DECLS
