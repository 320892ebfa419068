/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-native-cgroup.h"

G_BEGIN_DECLS

/* What a keeper that was killed leaves: control groups, nothing else. A live keeper
 * holds a lock on each of its own. */
char **prism_native_leftovers_list (const PrismNativeCgroup *cgroup);
guint prism_native_leftovers_remove (const PrismNativeCgroup *cgroup);

G_END_DECLS
