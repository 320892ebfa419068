/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stopping every process of a sandbox for a while, agent and all, by the kernel's freezer:
 * cgroup v1's, in a group of its own that is made when it is first wanted, or v2's, in the
 * group that is there. What is frozen runs no code, so it cannot be asked anything; a
 * SIGKILL reaches it in v1 only when it is thawed. By the keeper. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MOST_PIDS 16384
#define ROUNDS    2000  /* of a millisecond, for moving */
#define PATIENCE  20000 /* the same for standing still: a process that waits for a disk does so only afterwards */

static struct
{
  int dir;
  bool made, second, frozen; /* second: a v2 group */
} freezer = { .dir = -1 };
static char freezer_path[PRISM_WIRE_MAX_PATH + 1];

static int
compare (const void *a, const void *b)
{
  pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

  return x < y ? -1 : x > y;
}

/* How many; -1 and errno. */
static int
read_pids (int dir, pid_t *pids)
{
  char text[4096];
  int count = 0, fd = openat (dir, "cgroup.procs", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  pid_t number = 0;
  ssize_t n;

  if (fd < 0)
    return -1;
  while ((n = read (fd, text, sizeof text)) > 0)
    for (ssize_t i = 0; i < n; i++)
      if (text[i] >= '0' && text[i] <= '9')
        number = number * 10 + (text[i] - '0');
      else if (number > 0)
        {
          if (count == MOST_PIDS)
            {
              close (fd);
              errno = E2BIG;
              return -1;
            }
          pids[count++] = number;
          number = 0;
        }
  close (fd);
  qsort (pids, (size_t)count, sizeof *pids, compare);
  return n < 0 ? -1 : count;
}

/* Those that are moved are frozen as they come, so that each round leaves fewer who could
 * make more. */
static bool
move_all (int from)
{
  static pid_t theirs[MOST_PIDS], ours[MOST_PIDS];
  const struct timespec pause = { 0, 1000 * 1000 };

  for (int round = 0; round < ROUNDS; round++)
    {
      int n = read_pids (from, theirs), here = n < 0 ? -1 : read_pids (freezer.dir, ours);
      bool all = true;

      if (here < 0)
        return false;
      for (int i = 0; i < n; i++)
        {
          char text[24];
          if (bsearch (&theirs[i], ours, (size_t)here, sizeof *ours, compare) != NULL)
            continue;
          snprintf (text, sizeof text, "%d", (int)theirs[i]);
          if (launch_write_file (freezer.dir, "cgroup.procs", text))
            all = false; /* looked at once more */
          else if (errno != ESRCH)
            return false;
        }
      if (all)
        return true;
      if (round > 16)
        nanosleep (&pause, NULL);
    }
  errno = ETIMEDOUT;
  return false;
}

static bool
is_frozen (void)
{
  char text[256];
  int fd = openat (freezer.dir, freezer.second ? "cgroup.events" : "freezer.state", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  ssize_t n = fd >= 0 ? read (fd, text, sizeof text - 1) : -1;

  if (fd >= 0)
    close (fd);
  if (n < 0)
    return false;
  text[n] = 0;
  return strstr (text, freezer.second ? "frozen 1" : "FROZEN") != NULL;
}

static bool
set_state (bool still)
{
  if (freezer.second)
    return launch_write_file (freezer.dir, "cgroup.freeze", still ? "1" : "0");
  return launch_write_file (freezer.dir, "freezer.state", still ? "FROZEN" : "THAWED");
}

/* v1 asks each process once: one that was about to wait for a child of its vfork() has
 * missed it, and stands still when it is asked again. */
static bool
wait_frozen (void)
{
  const struct timespec pause = { 0, 1000 * 1000 };

  for (int round = 0; round < PATIENCE; round++)
    {
      if (is_frozen ())
        return true;
      nanosleep (&pause, NULL);
      if (!freezer.second)
        set_state (true);
    }
  errno = ETIMEDOUT;
  return false;
}

static bool
is_of_plan (const struct launch_plan *plan, const char *path)
{
  for (uint32_t i = 0; i < plan->n_groups; i++)
    if (strcmp (plan->groups[i].folder, path) == 0)
      return true;
  return false;
}

/* Like the others it is locked while the keeper lives. */
static bool
open_group (const struct launch_plan *plan, const char *path)
{
  bool there = is_of_plan (plan, path);

  if (freezer.dir >= 0)
    {
      errno = EEXIST;
      return strcmp (freezer_path, path) == 0;
    }
  if (!there && mkdir (path, 0755) < 0)
    return false;
  freezer.made = !there;
  strcpy (freezer_path, path);
  freezer.dir = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (freezer.dir < 0 || flock (freezer.dir, LOCK_SH) < 0)
    return false;
  freezer.second = faccessat (freezer.dir, "cgroup.freeze", F_OK, 0) == 0;
  return true;
}

int
launch_freeze (const struct launch_plan *plan, const char *path)
{
  int from = -1, error;
  bool done;

  if (plan->n_groups == 0 || path[0] != '/' || strlen (path) > PRISM_WIRE_MAX_PATH)
    return EINVAL;
  done = open_group (plan, path) && set_state (true);
  freezer.frozen = done;
  if (done && freezer.made)
    {
      from = open (plan->groups[0].folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
      done = from >= 0 && move_all (from);
    }
  done = done && wait_frozen ();
  error = done ? 0 : errno;
  if (from >= 0)
    close (from);
  if (!done)
    launch_thaw ();
  return error;
}

int
launch_thaw (void)
{
  if (freezer.dir < 0)
    return 0;
  if (!set_state (false))
    return errno;
  freezer.frozen = false;
  return 0;
}

bool
launch_is_frozen (void)
{
  return freezer.frozen;
}

const char *
launch_freezer_to_remove (void)
{
  return freezer.made ? freezer_path : NULL;
}
