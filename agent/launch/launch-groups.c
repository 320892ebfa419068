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
 * live one's: then it is made again. -1 and errno. */
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
        return -1;
      if (dir >= 0)
        close (dir);
    }
}

static struct launch_made_group *
new_group (const char *folder)
{
  struct launch_made_group *group = calloc (1, sizeof *group);

  if (group == NULL || (group->folder = strdup (folder)) == NULL)
    launch_fail (PRISM_LAUNCH_STAGE_GROUP, ENOMEM, "%s", folder);
  group->dir = group->entry = group->parent = group->charged = group->kills = group->tasks = -1;
  return group;
}

void
launch_group_free (struct launch_made_group *group)
{
  const int fds[] = { group->dir, group->entry, group->parent, group->charged, group->kills, group->tasks };

  for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
    if (fds[i] >= 0)
      close (fds[i]);
  free (group->folder);
  free (group->settings);
  free (group->own_name);
  free (group);
}

static void
make_group (const struct launch_group *wanted, struct launch_groups *groups)
{
  struct launch_made_group *group = new_group (wanted->folder);

  group->dir = make_folder (wanted->folder);
  if (group->dir < 0)
    {
      launch_group_free (group);
      launch_fail (PRISM_LAUNCH_STAGE_GROUP, errno, "%s", wanted->folder);
    }
  groups->made[groups->n++] = group;
}

/* Each sandbox hears of it, also one that this group serves again. */
static void
note_missing (const struct launch_group *wanted, const struct launch_made_group *group)
{
  for (uint32_t i = 0; group->missing >> i != 0; i++)
    if (group->missing >> i & 1)
      launch_note (wanted->settings[i].file, "not enforced: the kernel does not offer it");
}

static void
open_entry (const struct launch_group *wanted, struct launch_made_group *group)
{
  if (group->entry < 0)
    group->entry = openat (group->dir, wanted->entry, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (group->entry < 0)
    launch_fail (PRISM_LAUNCH_STAGE_GROUP, errno, "%s/%s", wanted->folder, wanted->entry);
}

/* Nobody is let in before this. */
static void
fit_out (const struct launch_group *wanted, struct launch_made_group *group)
{
  for (unsigned i = 0; i < wanted->n_settings; i++)
    {
      const struct launch_setting *setting = &wanted->settings[i];
      if (launch_write_file (group->dir, setting->file, setting->value))
        continue;
      if (errno == ENOENT && (setting->flags & PRISM_LAUNCH_SETTING_OPTIONAL) != 0)
        group->missing |= 1u << i;
      else
        launch_fail (PRISM_LAUNCH_STAGE_GROUP, errno, "%s/%s = %s", wanted->folder, setting->file, setting->value);
    }
  note_missing (wanted, group);
  open_entry (wanted, group);
  /* The folder's descriptor stays open, for its lock. */
}

void
launch_groups_begin (const struct launch_plan *plan, struct launch_groups *groups)
{
  for (uint32_t i = 0; i < plan->n_groups; i++)
    {
      make_group (&plan->groups[i], groups);
      open_entry (&plan->groups[i], groups->made[groups->n - 1]);
    }
}

static bool
are_begun (const struct launch_plan *plan, const struct launch_groups *groups)
{
  bool same = groups->n == plan->n_groups;

  for (uint32_t i = 0; same && i < groups->n; i++)
    same = strcmp (groups->made[i]->folder, plan->groups[i].folder) == 0;
  return same;
}

void
launch_groups_make (const struct launch_plan *plan, struct launch_groups *groups, bool again)
{
  bool begun = are_begun (plan, groups);

  if (!begun)
    launch_groups_remove (groups, true);
  for (uint32_t i = 0; i < plan->n_groups; i++)
    {
      struct launch_made_group *spare = again ? launch_spares_take (&plan->groups[i]) : NULL;
      if (spare != NULL)
        {
          groups->made[groups->n++] = spare;
          note_missing (&plan->groups[i], spare);
        }
      else
        {
          if (!begun)
            make_group (&plan->groups[i], groups);
          fit_out (&plan->groups[i], groups->made[i]);
          if (again)
            launch_spares_describe (groups->made[i], &plan->groups[i]);
        }
    }
}

/* The slow way in, for a kernel that asks who writes rather than who opened: a
 * move by pid waits for every other fork on the machine. */
bool
launch_groups_admit (const struct launch_groups *groups, pid_t pid)
{
  char text[24];

  snprintf (text, sizeof text, "%d", (int)pid);
  for (uint32_t i = 0; i < groups->n; i++)
    if (!launch_write_file (groups->made[i]->dir, "cgroup.procs", text))
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
    if (launch_remove_folder (groups->made[i]->folder, wait))
      launch_group_free (groups->made[i]);
    else
      groups->made[left++] = groups->made[i];
  groups->n = left;
  return left;
}

void
launch_groups_forget (struct launch_groups *groups)
{
  for (uint32_t i = 0; i < groups->n; i++)
    launch_group_free (groups->made[i]);
  groups->n = 0;
}

void
launch_groups_lift (struct launch_groups *groups)
{
  for (uint32_t i = 0; i < groups->n; i++)
    {
      struct launch_made_group *group = groups->made[i];
      if (group->dir >= 0 && group->dir < LAUNCH_HIGH_FD)
        group->dir = launch_lift (group->dir);
      if (group->entry >= 0 && group->entry < LAUNCH_HIGH_FD)
        group->entry = launch_lift (group->entry);
    }
}
