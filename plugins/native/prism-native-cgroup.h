/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where control groups can be made. Of the C library alone, as all of it is that begins a
 * sandbox. */
#pragma once

#include <limits.h>
#include <stdbool.h>

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
  const char *parents[PRISM_NATIVE_N_CONTROLLERS];
  bool unified[PRISM_NATIVE_N_CONTROLLERS]; /* a v2 hierarchy */
  const char *why_not;
  const char *freezer; /* the same in v1's freezer hierarchy, which is only used to pause */
} PrismNativeCgroup;

/* Looked up once in a process, and never freed. */
const PrismNativeCgroup *prism_native_cgroup_get (void);
/* As that, for what begins a sandbox: by itself. */
const PrismNativeCgroup *prism_native_cgroup_look_up (void);
/* The file of a group that moves one process by itself: a thread where only that is asked. */
const char *prism_native_cgroup_get_entry (const PrismNativeCgroup *self, PrismNativeController controller);
const char *prism_native_controller_get_name (PrismNativeController controller);

/* Pure: from the texts of /proc/self/mountinfo and /proc/self/cgroup to the folder of
 * this process's own group for a v1 controller, or with NULL of the v2 hierarchy. False:
 * there is none. */
bool prism_native_cgroup_find_own (
    const char *mountinfo, const char *cgroup, const char *controller, char own[PATH_MAX], char mount_point[PATH_MAX]);
