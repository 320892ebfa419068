/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Control groups of the launcher that stays. To make one and to remove it costs the kernel
 * as much as two processes, half of it afterwards; so one whose sandbox left no trace in it
 * serves again, under the next one's name. No trace is: no task is counted in it, none was
 * killed for memory in it, and what is charged to it is no more than the kernel's own caches
 * are late with, and a small part of its limit. Its settings are those that it was made
 * with, which nobody inside can reach, and it serves only for the same ones.
 *
 * Between two sandboxes it has a name of its own, of the form that all have, and its lock is
 * held: if the launcher dies it is a leftover like any other. The kernel lets a group of the
 * first version change its name; one of the second goes, as does what fails any of this. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#define ROOM          8 /* groups, of all kinds */
#define CHARGED       "memory.usage_in_bytes"
#define KILLS         "memory.oom_control"
#define TASKS         "pids.current"
#define LIMIT         "memory.limit_in_bytes"
#define MOST_CHARGED  (2ul << 20)
#define MOST_PART     64 /* of the limit */
#define SETTINGS_SIZE (PRISM_LAUNCH_MAX_SETTINGS * 512)

static struct launch_made_group *spares[ROOM];
static unsigned n_spares;

/* All that it was made with: a group serves only for the same. */
static size_t
describe (const struct launch_group *group, char *text, size_t size)
{
  size_t used = (size_t)snprintf (text, size, "%s\n", group->entry);

  for (uint32_t i = 0; i < group->n_settings && used < size; i++)
    used += (size_t)snprintf (text + used, size - used, "%s=%s %u\n", group->settings[i].file, group->settings[i].value,
                              group->settings[i].flags);
  return used;
}

static size_t
parent_length (const char *folder)
{
  return (size_t)(strrchr (folder, '/') - folder);
}

/* 0 where the file is not there, or is not a number. */
static unsigned long
read_number (int fd)
{
  char text[32];
  ssize_t n = fd >= 0 ? pread (fd, text, sizeof text - 1, 0) : 0;

  text[n > 0 ? n : 0] = 0;
  return n < 0 ? ~0ul : strtoul (text, NULL, 10);
}

static int
open_count (const struct launch_made_group *group, const char *file)
{
  int fd = openat (group->dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

  return fd >= 0 ? launch_lift (fd) : -1;
}

static int
open_parent (const struct launch_made_group *group)
{
  int fd = openat (group->dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

  return fd >= 0 ? launch_lift (fd) : -1;
}

/* What it takes to look at it again and again. */
static bool
prepare (struct launch_made_group *group)
{
  unsigned char bytes[16];
  size_t n = parent_length (group->folder);

  if (group->own_name != NULL)
    return true;
  if (getrandom (bytes, sizeof bytes, 0) != sizeof bytes || (group->parent = open_parent (group)) < 0
      || (group->own_name = malloc (n + 48)) == NULL)
    return false;
  n = (size_t)snprintf (group->own_name, n + 16, "%.*s/prism-", (int)n, group->folder);
  for (size_t i = 0; i < sizeof bytes; i++)
    n += (size_t)snprintf (group->own_name + n, 3, "%02x", bytes[i]);
  group->charged = open_count (group, CHARGED);
  group->kills = open_count (group, KILLS);
  group->tasks = open_count (group, TASKS);
  return true;
}

static bool
is_without_kills (const struct launch_made_group *group)
{
  char text[256];
  ssize_t n = group->kills >= 0 ? pread (group->kills, text, sizeof text - 1, 0) : 0;

  text[n > 0 ? n : 0] = 0;
  return group->kills < 0 || strstr (text, "\noom_kill 0\n") != NULL;
}

static bool
is_as_new (const struct launch_made_group *group)
{
  return read_number (group->tasks) == 0 && is_without_kills (group)
         && read_number (group->charged) <= group->most_charged;
}

/* One of them counts tasks, of which all are in all of them. */
static bool
counts_tasks (const struct launch_groups *groups)
{
  for (uint32_t i = 0; i < groups->n; i++)
    if (groups->made[i]->tasks >= 0)
      return true;
  return false;
}

/* Beside where it is: the way there is not looked up again, twice for each sandbox. */
static bool
rename_group (struct launch_made_group *group, const char *name)
{
  char *copy = strdup (name);
  size_t n = parent_length (name) + 1;

  if (copy == NULL || renameat (group->parent, group->folder + n, group->parent, name + n) < 0)
    {
      free (copy);
      return false;
    }
  free (group->folder);
  group->folder = copy;
  return true;
}

void
launch_spares_give (struct launch_groups *groups)
{
  uint32_t left = 0;
  bool fit = n_spares + groups->n <= ROOM;

  for (uint32_t i = 0; i < groups->n && fit; i++)
    fit = groups->made[i]->settings != NULL && prepare (groups->made[i]);
  fit = fit && counts_tasks (groups);
  for (uint32_t i = 0; i < groups->n && fit; i++)
    fit = is_as_new (groups->made[i]);
  for (uint32_t i = 0; i < groups->n; i++)
    if (fit && rename_group (groups->made[i], groups->made[i]->own_name))
      spares[n_spares++] = groups->made[i];
    else
      groups->made[left++] = groups->made[i];
  groups->n = left;
}

static struct launch_made_group *
take_out (unsigned i)
{
  struct launch_made_group *group = spares[i];

  spares[i] = spares[--n_spares];
  return group;
}

static void
drop (struct launch_made_group *group)
{
  launch_remove_folder (group->folder, true);
  launch_group_free (group);
}

struct launch_made_group *
launch_spares_take (const struct launch_group *wanted)
{
  static char settings[SETTINGS_SIZE];
  size_t n = parent_length (wanted->folder), size = describe (wanted, settings, sizeof settings);
  struct launch_made_group *group;

  for (unsigned i = 0; i < n_spares; i++)
    {
      if (size >= sizeof settings || parent_length (spares[i]->folder) != n
          || strncmp (spares[i]->folder, wanted->folder, n) != 0 || strcmp (spares[i]->settings, settings) != 0)
        continue;
      group = take_out (i);
      if (rename_group (group, wanted->folder))
        return group;
      drop (group);
      break;
    }
  return NULL;
}

void
launch_spares_describe (struct launch_made_group *group, const struct launch_group *wanted)
{
  static char settings[SETTINGS_SIZE];

  if (describe (wanted, settings, sizeof settings) < sizeof settings)
    group->settings = strdup (settings);
  group->most_charged = MOST_CHARGED;
  for (uint32_t i = 0; i < wanted->n_settings; i++)
    if (strcmp (wanted->settings[i].file, LIMIT) == 0)
      {
        unsigned long part = strtoul (wanted->settings[i].value, NULL, 10) / MOST_PART;
        group->most_charged = part < MOST_CHARGED ? part : MOST_CHARGED;
      }
}

void
launch_spares_drop (void)
{
  while (n_spares > 0)
    drop (take_out (n_spares - 1));
}
