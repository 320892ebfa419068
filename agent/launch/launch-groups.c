/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sandbox's control groups, by the keeper: made with their limits before a
 * process is in them, removed when none is left. A v1 group outlives its maker, so
 * the keeper is the one process that may not forget. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Held for the keeper's life: a group whose lock is free is what a dead keeper left,
 * and anybody may remove it. Between the making and the lock that may happen to a
 * live one's: then it is made again. */
static int
make_folder (const char *folder)
{
  for (int tries = 0;; tries++)
    {
      struct stat info;
      int dir = -1;
      if (mkdir (folder, 0755) == 0)
        dir = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
      if (dir >= 0 && flock (dir, LOCK_SH) == 0 && stat (folder, &info) == 0)
        return dir;
      if (errno != ENOENT || tries == 3)
        launch_fail (PRISM_LAUNCH_STAGE_GROUP, errno, "%s", folder);
      if (dir >= 0)
        close (dir);
    }
}

static void
make_group (const struct launch_group *group, struct launch_groups *groups, int *entry)
{
  int dir = make_folder (group->folder);

  groups->dirs[groups->n] = dir;
  groups->folders[groups->n++] = strdup (group->folder);
  if (groups->folders[groups->n - 1] == NULL)
    launch_fail (PRISM_LAUNCH_STAGE_GROUP, ENOMEM, "%s", group->folder);
  for (uint32_t i = 0; i < group->n_settings; i++)
    {
      const struct launch_setting *setting = &group->settings[i];
      if (launch_write_file (dir, setting->file, setting->value))
        continue;
      if (errno == ENOENT && (setting->flags & PRISM_LAUNCH_SETTING_OPTIONAL) != 0)
        launch_note (setting->file, "not enforced: the kernel does not offer it");
      else
        launch_fail (PRISM_LAUNCH_STAGE_GROUP, errno, "%s/%s = %s", group->folder, setting->file, setting->value);
    }
  *entry = openat (dir, group->entry, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (*entry < 0)
    launch_fail (PRISM_LAUNCH_STAGE_GROUP, errno, "%s/%s", group->folder, group->entry);
  /* The folder's descriptor stays open, for its lock. */
}

void
launch_groups_make (const struct launch_plan *plan, struct launch_groups *groups, int entries[PRISM_LAUNCH_MAX_GROUPS])
{
  for (uint32_t i = 0; i < plan->n_groups; i++)
    make_group (&plan->groups[i], groups, &entries[i]);
}

/* The slow way in, for a kernel that asks who writes rather than who opened: a
 * move by pid waits for every other fork on the machine. */
bool
launch_groups_admit (const struct launch_groups *groups, pid_t pid)
{
  char text[24];

  snprintf (text, sizeof text, "%d", (int)pid);
  for (uint32_t i = 0; i < groups->n; i++)
    if (!launch_write_file (groups->dirs[i], "cgroup.procs", text))
      return false;
  return true;
}

/* Every process is reaped by now; the kernel may need a moment to see it. */
bool
launch_remove_folder (const char *folder, bool wait)
{
  const struct timespec pause = { 0, 1000 * 1000 };

  for (int tries = 0; rmdir (folder) < 0; tries++)
    {
      if (errno == ENOENT)
        return true;
      if (errno != EBUSY || tries == 2000 || !wait)
        return false;
      nanosleep (&pause, NULL);
    }
  return true;
}

uint32_t
launch_groups_remove (struct launch_groups *groups, bool wait)
{
  uint32_t left = 0;

  for (uint32_t i = 0; i < groups->n; i++)
    if (groups->folders[i] == NULL || !launch_remove_folder (groups->folders[i], wait))
      {
        groups->dirs[left] = groups->dirs[i];
        groups->folders[left++] = groups->folders[i];
      }
    else
      {
        close (groups->dirs[i]);
        free (groups->folders[i]);
      }
  groups->n = left;
  return left;
}

void
launch_groups_forget (struct launch_groups *groups)
{
  for (uint32_t i = 0; i < groups->n; i++)
    {
      close (groups->dirs[i]);
      free (groups->folders[i]);
    }
  groups->n = 0;
}
