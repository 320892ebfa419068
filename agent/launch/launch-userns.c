/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ids and capabilities. One id is mapped, 10001 inside, to an id that owns nothing
 * outside (root) or to the caller's own (everyone else); nothing is mapped to root,
 * inside or out. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAUNCH_CAP_SYS_ADMIN 21

static void
write_map (const char *path, uint32_t outside)
{
  char line[64];

  snprintf (line, sizeof line, "%u %u 1\n", PRISM_LAUNCH_ID, outside);
  if (!launch_write_file (AT_FDCWD, path, line))
    launch_fail (PRISM_LAUNCH_STAGE_MAP, errno, "%s", path);
}

static void
become_inside_id (void)
{
  if (syscall (SYS_setresgid, PRISM_LAUNCH_ID, PRISM_LAUNCH_ID, PRISM_LAUNCH_ID) < 0
      || syscall (SYS_setresuid, PRISM_LAUNCH_ID, PRISM_LAUNCH_ID, PRISM_LAUNCH_ID) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_MAP, errno, "setresuid");
}

/* The first thing in the new user namespace: its creator's effective id may map
 * itself, so no second process has to be waited for. A template's has its map. */
void
launch_enter_ids (const struct launch_plan *plan)
{
  if ((plan->flags & PRISM_LAUNCH_USE_TEMPLATE) == 0)
    {
      if (!launch_write_file (AT_FDCWD, "/proc/self/setgroups", "deny"))
        launch_fail (PRISM_LAUNCH_STAGE_MAP, errno, "/proc/self/setgroups");
      write_map ("/proc/self/uid_map", plan->uid);
      write_map ("/proc/self/gid_map", plan->gid);
    }
  become_inside_id ();
}

void
launch_enter_own_userns (void)
{
  /* The change of ids turned this off, and with it the right to write the map. */
  if (prctl (PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || unshare (CLONE_NEWUSER) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, errno, "a user namespace below the template's");
  write_map ("/proc/self/uid_map", PRISM_LAUNCH_ID);
  write_map ("/proc/self/gid_map", PRISM_LAUNCH_ID);
}

static int
set_capabilities (uint64_t mask)
{
  struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
  struct __user_cap_data_struct data[2] = {
    { (uint32_t)mask, (uint32_t)mask, 0 },
    { (uint32_t)(mask >> 32), (uint32_t)(mask >> 32), 0 },
  };
  return (int)syscall (SYS_capset, &header, data);
}

static bool bounding_set_is_empty;

void
launch_empty_bounding_set (void)
{
  for (int cap = 0; cap < 64; cap++)
    if (prctl (PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
      {
        if (errno == EINVAL)
          break;
        launch_fail (PRISM_LAUNCH_STAGE_CAPS, errno, "the bounding set, capability %d", cap);
      }
  bounding_set_is_empty = true;
}

/* Everything goes, the bounding set too, so that no program file can give any
 * back. With a network namespace for each command the agent keeps the one that
 * makes them; its children lose it before they run a program. */
void
launch_drop_capabilities (const struct launch_plan *plan)
{
  bool keep = plan->flags & PRISM_LAUNCH_NETNS_COMMAND;

  if (!bounding_set_is_empty)
    launch_empty_bounding_set ();
  if (prctl (PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
    launch_fail (PRISM_LAUNCH_STAGE_CAPS, errno, "the ambient set");
  if (set_capabilities (keep ? 1ull << LAUNCH_CAP_SYS_ADMIN : 0) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_CAPS, errno, "capset");
}

void
launch_give_up_capabilities (void)
{
  if (set_capabilities (0) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_CAPS, errno, "capset");
}

/* It shares the caller's memory, of which it needs nothing: to copy that would cost the caller
 * a fault for each page that it writes to afterwards. There is one at most at a time. */
static int
be_there (void *data)
{
  (void)data;
  prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  for (;;)
    pause ();
  return 0;
}

/* A user namespace that is only a table of ids, for an idmapped mount: `from` on
 * the disk is `to` for the sandbox. It lives as long as its descriptor. The process that
 * it came with has been killed; the caller reaps it. */
int
launch_idmap_userns (uint32_t from_uid, uint32_t from_gid, uint32_t to_uid, uint32_t to_gid, pid_t *maker)
{
  static char stack[4096] __attribute__ ((aligned (16)));
  char path[64], uids[64], gids[64];
  int fd = -1, error;
  pid_t pid = *maker = clone (be_there, stack + sizeof stack, CLONE_VM | CLONE_NEWUSER | SIGCHLD, NULL);

  if (pid < 0)
    return -1;
  snprintf (uids, sizeof uids, "%u %u 1\n", from_uid, to_uid);
  snprintf (gids, sizeof gids, "%u %u 1\n", from_gid, to_gid);
  snprintf (path, sizeof path, "/proc/%d/uid_map", (int)pid);
  if (launch_write_file (AT_FDCWD, path, uids))
    {
      snprintf (path, sizeof path, "/proc/%d/gid_map", (int)pid);
      if (launch_write_file (AT_FDCWD, path, gids))
        {
          snprintf (path, sizeof path, "/proc/%d/ns/user", (int)pid);
          fd = open (path, O_RDONLY | O_CLOEXEC);
        }
    }
  error = errno;
  kill (pid, SIGKILL);
  *maker = pid;
  errno = error;
  return fd;
}
