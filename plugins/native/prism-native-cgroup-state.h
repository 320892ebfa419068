/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* What is held still by v1's freezer dies of no signal before it goes on; nothing where
 * @folder is no group of that. */
void prism_native_cgroup_thaw (const char *folder);

/* How many processes the kernel killed in the group in @folder for its memory; -1 where
 * that is not told (another controller's group). */
gint64 prism_native_cgroup_count_memory_kills (const char *folder);
/* Pure: the value of "oom_kill" in the text of memory.events (v2) or
 * memory.oom_control (v1); -1 when it has none. */
gint64 prism_native_cgroup_parse_memory_kills (const char *text);

G_END_DECLS
