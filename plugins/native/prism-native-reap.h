/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "prism-native-cgroup.h"

G_BEGIN_DECLS

/* What a keeper that was killed leaves: control groups, and what led to it. A live keeper
 * holds a lock on each of its own. */

/* References: of detached sandboxes that live, and of what was left. */
char **prism_native_sandboxes_list (const PrismNativeCgroup *cgroup);
guint prism_native_leftovers_remove (const PrismNativeCgroup *cgroup);

G_END_DECLS
