/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum
{
  PRISM_NATIVE_CONTROLLER_MEMORY,
  PRISM_NATIVE_CONTROLLER_PIDS,
  PRISM_NATIVE_CONTROLLER_CPU,
  PRISM_NATIVE_N_CONTROLLERS,
} PrismNativeController;

/* Where this process may make a control group for each controller; NULL: nowhere,
 * and why. */
typedef struct
{
  char *parents[PRISM_NATIVE_N_CONTROLLERS];
  gboolean unified[PRISM_NATIVE_N_CONTROLLERS]; /* a v2 hierarchy */
  const char *why_not;
  char *freezer; /* the same in v1's freezer hierarchy, which is only used to pause */
} PrismNativeCgroup;

const PrismNativeCgroup *prism_native_cgroup_get (void);
const char *prism_native_controller_get_name (PrismNativeController controller);

/* Pure: from the texts of /proc/self/mountinfo and /proc/self/cgroup to the folder of
 * this process's own group for a v1 controller, or with NULL of the v2 hierarchy. */
char *
prism_native_cgroup_find_own (const char *mountinfo, const char *cgroup, const char *controller, char **mount_point);

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
