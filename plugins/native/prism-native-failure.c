/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The launcher says a stage, an errno and a name; here it becomes an error that
 * says what to do. One table for both, the failed start and `prism doctor`. */
#include "prism-native-failure.h"

#include <errno.h>
#include <libprism/prism.h>

#include "prism-launch.h"

typedef struct
{
  guint stage;
  int error; /* 0: any other */
  PrismSandboxError code;
  const char *meaning, *remedy;
} Failure;

#define USERNS_REMEDY                                                                                                  \
  "allow user namespaces: sysctl -w user.max_user_namespaces=15000; on Ubuntu also sysctl -w "                         \
  "kernel.apparmor_restrict_unprivileged_userns=0; on older Debian sysctl -w kernel.unprivileged_userns_clone=1; in "  \
  "a container run it with a seccomp profile that permits unshare"
#define MOUNT_REMEDY                                                                                                   \
  "the kernel, a security module or a container's seccomp profile forbids mounts in a user namespace: on Ubuntu "      \
  "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0; in docker --security-opt seccomp=unconfined "             \
  "--security-opt systempaths=unconfined"
#define IDMAP_REMEDY                                                                                                   \
  "use --workspace-mode copy, or a folder on a file system with idmapped mounts (ext4, xfs, btrfs, tmpfs), or run "    \
  "prism as the folder's owner instead of root"

static const Failure failures[] = {
  { PRISM_LAUNCH_STAGE_PLAN, 0, PRISM_SANDBOX_ERROR_FAILED, "the launcher did not take the plan",
    "install prism-agent and the native plug-in of one build" },
  { PRISM_LAUNCH_STAGE_KEEPER, 0, PRISM_SANDBOX_ERROR_FAILED, "the keeper could not start", NULL },
  { PRISM_LAUNCH_STAGE_GROUP, 0, PRISM_SANDBOX_ERROR_UNAVAILABLE, "a control group could not be made",
    "check that the cgroup file system is writable, or leave the limits at their defaults" },
  { PRISM_LAUNCH_STAGE_CLONE, ENOSPC, PRISM_SANDBOX_ERROR_UNAVAILABLE,
    "the limit on namespaces is reached (user.max_*_namespaces)", USERNS_REMEDY },
  { PRISM_LAUNCH_STAGE_CLONE, EPERM, PRISM_SANDBOX_ERROR_UNAVAILABLE, "namespaces cannot be made here", USERNS_REMEDY },
  { PRISM_LAUNCH_STAGE_CLONE, EUSERS, PRISM_SANDBOX_ERROR_UNAVAILABLE, "user namespaces are nested too deeply",
    "run prism outside of the sandbox that it runs in" },
  { PRISM_LAUNCH_STAGE_CLONE, EAGAIN, PRISM_SANDBOX_ERROR_UNAVAILABLE, "the limit on processes is reached",
    "raise ulimit -u, or end some" },
  { PRISM_LAUNCH_STAGE_CLONE, 0, PRISM_SANDBOX_ERROR_UNAVAILABLE, "the namespaces could not be entered",
    USERNS_REMEDY },
  { PRISM_LAUNCH_STAGE_MAP, 0, PRISM_SANDBOX_ERROR_UNAVAILABLE, "the user namespace's ids could not be mapped",
    USERNS_REMEDY },
  { PRISM_LAUNCH_STAGE_IDMAP, EINVAL, PRISM_SANDBOX_ERROR_REFUSED,
    "this file system cannot be shown to root's sandbox with its owner's rights (no idmapped mounts)", IDMAP_REMEDY },
  { PRISM_LAUNCH_STAGE_IDMAP, 0, PRISM_SANDBOX_ERROR_REFUSED, "an idmapped mount could not be made", IDMAP_REMEDY },
  { PRISM_LAUNCH_STAGE_OVERLAY, 0, PRISM_SANDBOX_ERROR_UNAVAILABLE, "the workspace's copy could not be made",
    "check that the kernel has overlayfs (modprobe overlay)" },
  { PRISM_LAUNCH_STAGE_COPY, 0, PRISM_SANDBOX_ERROR_FAILED, "the workspace could not be copied",
    "make it readable, or name a smaller folder with -w" },
  { PRISM_LAUNCH_STAGE_SPACE, 0, PRISM_SANDBOX_ERROR_LIMIT, "the workspace's copy does not fit into workspace-bytes",
    "raise the limit workspace-bytes, or name a smaller folder with -w" },
  { PRISM_LAUNCH_STAGE_ROOT, 0, PRISM_SANDBOX_ERROR_UNAVAILABLE, "the sandbox's root could not be made", MOUNT_REMEDY },
  { PRISM_LAUNCH_STAGE_SOURCE, ENOENT, PRISM_SANDBOX_ERROR_NOT_FOUND, "what is to be shown is not there", NULL },
  { PRISM_LAUNCH_STAGE_SOURCE, EACCES, PRISM_SANDBOX_ERROR_DENIED, "what is to be shown may not be read", NULL },
  { PRISM_LAUNCH_STAGE_SOURCE, 0, PRISM_SANDBOX_ERROR_FAILED, "what is to be shown could not be opened", NULL },
  { PRISM_LAUNCH_STAGE_TARGET, ELOOP, PRISM_SANDBOX_ERROR_REFUSED,
    "a link lies on the way to where something is to be shown, hidden or protected", "name the path without links" },
  { PRISM_LAUNCH_STAGE_TARGET, ENOENT, PRISM_SANDBOX_ERROR_REFUSED,
    "there is no place to show it at, and none is made in what is the host's", "name a destination that exists" },
  { PRISM_LAUNCH_STAGE_TARGET, 0, PRISM_SANDBOX_ERROR_FAILED, "a place inside could not be made", NULL },
  { PRISM_LAUNCH_STAGE_MOUNT, EPERM, PRISM_SANDBOX_ERROR_UNAVAILABLE, "a mount was not permitted", MOUNT_REMEDY },
  { PRISM_LAUNCH_STAGE_MOUNT, 0, PRISM_SANDBOX_ERROR_FAILED, "a mount could not be made", MOUNT_REMEDY },
  { PRISM_LAUNCH_STAGE_PROTECT, 0, PRISM_SANDBOX_ERROR_REFUSED, "a path to protect is not there",
    "make it first, or protect the folder that it would be in" },
  { PRISM_LAUNCH_STAGE_PROC, 0, PRISM_SANDBOX_ERROR_UNAVAILABLE, "the sandbox's own /proc could not be mounted",
    MOUNT_REMEDY },
  { PRISM_LAUNCH_STAGE_DEVICE, 0, PRISM_SANDBOX_ERROR_UNAVAILABLE, "a device could not be shown",
    "check /dev: null, zero, full, random, urandom and tty are to be the ordinary devices" },
  { PRISM_LAUNCH_STAGE_PIVOT, 0, PRISM_SANDBOX_ERROR_UNAVAILABLE, "the sandbox's root could not be entered",
    MOUNT_REMEDY },
  { PRISM_LAUNCH_STAGE_NET, 0, PRISM_SANDBOX_ERROR_UNAVAILABLE, "the loopback interface could not be brought up",
    USERNS_REMEDY },
  { PRISM_LAUNCH_STAGE_LIMIT, 0, PRISM_SANDBOX_ERROR_UNAVAILABLE, "a limit could not be set", NULL },
  { PRISM_LAUNCH_STAGE_CAPS, 0, PRISM_SANDBOX_ERROR_UNAVAILABLE, "capabilities could not be dropped", NULL },
  { PRISM_LAUNCH_STAGE_SECCOMP, 0, PRISM_SANDBOX_ERROR_UNAVAILABLE, "the system call filter could not be loaded",
    "the kernel needs CONFIG_SECCOMP_FILTER" },
};

static const Failure *
find (guint stage, int error)
{
  for (guint i = 0; i < G_N_ELEMENTS (failures); i++)
    if (failures[i].stage == stage && (failures[i].error == error || failures[i].error == 0))
      return &failures[i];
  return NULL;
}

const char *
prism_native_failure_get_remedy (guint stage, int error)
{
  const Failure *failure = find (stage, error);
  return failure != NULL ? failure->remedy : NULL;
}

GError *
prism_native_failure_new (guint stage, int error, const char *what)
{
  const Failure *failure = find (stage, error);
  const char *separator = failure != NULL && failure->remedy != NULL ? "; " : "";

  if (failure == NULL)
    return g_error_new (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED, "native: the start failed at %s: %s", what,
                        g_strerror (error));
  return g_error_new (PRISM_SANDBOX_ERROR, failure->code, "native: %s: %s: %s%s%s", failure->meaning, what,
                      g_strerror (error), separator, failure->remedy != NULL ? failure->remedy : "");
}
