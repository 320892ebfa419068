/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* LIST and REMOVE of trees, in a worker. Never through a link: every folder is
 * opened below its parent's descriptor with O_NOFOLLOW, so a tree that changes
 * meanwhile gives an error and leads nowhere else. */
#include "agent-job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRY_MOST (2u * PRISM_WIRE_MAX_PATH + 64u)

/* --- names of one folder ---------------------------------------------------------------- */

struct entry_raw
{
  uint64_t ino;
  int64_t off;
  unsigned short reclen;
  unsigned char type;
  char name[];
};

static const char *sorting;

static int
compare (const void *a, const void *b)
{
  return strcmp (sorting + ((const struct agent_name *)a)->at, sorting + ((const struct agent_name *)b)->at);
}

static bool
add_name (struct agent_names *names, const struct entry_raw *entry)
{
  size_t n = strlen (entry->name) + 1;

  if (names->size + n > names->room)
    {
      size_t room = names->room * 2 + 4096;
      char *text = realloc (names->text, room);
      if (text == NULL)
        return false;
      names->text = text;
      names->room = room;
    }
  if (names->count == names->most)
    {
      uint32_t most = names->most * 2 + 64;
      struct agent_name *items = realloc (names->items, most * sizeof *items);
      if (items == NULL)
        return false;
      names->items = items;
      names->most = most;
    }
  memcpy (names->text + names->size, entry->name, n);
  names->items[names->count++] = (struct agent_name){ (uint32_t)names->size, entry->type, entry->ino };
  names->size += n;
  return true;
}

bool
agent_names_read (struct agent_names *names, int fd, uint64_t limit, bool hidden)
{
  static char buffer[32 * 1024] __attribute__ ((aligned (8)));
  long n;

  memset (names, 0, sizeof *names);
  while ((n = syscall (SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
    for (long at = 0; at < n;)
      {
        const struct entry_raw *entry = (const void *)(buffer + at);
        at += entry->reclen;
        if (entry->name[0] == '.' && (!hidden || entry->name[1] == 0 || (entry->name[1] == '.' && entry->name[2] == 0)))
          continue;
        if (names->count >= limit || names->size > UINT32_MAX / 2)
          {
            errno = E2BIG;
            return false;
          }
        if (!add_name (names, entry))
          {
            errno = ENOMEM;
            return false;
          }
      }
  sorting = names->text;
  if (names->count > 1)
    qsort (names->items, names->count, sizeof *names->items, compare);
  return n == 0;
}

void
agent_names_clear (struct agent_names *names)
{
  free (names->text);
  free (names->items);
  memset (names, 0, sizeof *names);
}

/* --- LIST --------------------------------------------------------------------------------- */

static struct
{
  const struct agent_work *work;
  struct prism_wire_writer w;
  char path[PRISM_WIRE_MAX_PATH + 1]; /* of the folder, with a final slash, or "" */
  uint64_t entries;
} list;

static void
list_entry (const struct stat *s, bool unreadable, const char *name, const char *target)
{
  if ((size_t)(list.w.end - list.w.at) < ENTRY_MOST)
    {
      agent_result (PRISM_WIRE_ENTRIES, false, list.w.start, (size_t)(list.w.at - list.w.start));
      list.w.at = list.w.start;
    }
  agent_put_entry (&list.w, s, unreadable, name, target);
}

static void list_folder (int fd, unsigned depth);

static void
list_name (int fd, const char *name, unsigned depth)
{
  char target[PRISM_WIRE_MAX_PATH + 1] = "";
  size_t at = strlen (list.path), n = strlen (name);
  bool unreadable = false;
  int below = -1;
  struct stat s;
  ssize_t size;

  if (fstatat (fd, name, &s, AT_SYMLINK_NOFOLLOW) != 0)
    {
      if (errno == ENOENT)
        return; /* gone since it was read */
      agent_result_errno (errno, name);
    }
  if (at + n + 1 > PRISM_WIRE_MAX_PATH)
    agent_result_error (PRISM_WIRE_ERROR_LIMIT, ENAMETOOLONG, "%.600s...: a path over %u bytes", list.path,
                        PRISM_WIRE_MAX_PATH);
  if (S_ISLNK (s.st_mode) && (size = readlinkat (fd, name, target, sizeof target - 1)) >= 0)
    target[size] = 0;
  memcpy (list.path + at, name, n + 1);
  if (S_ISDIR (s.st_mode) && (list.work->flags & AGENT_FILE_RECURSIVE) != 0)
    {
      below = openat (fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      unreadable = below < 0 && errno == EACCES;
      if (below < 0 && errno != ENOENT && errno != EACCES)
        agent_result_errno (errno == ELOOP || errno == ENOTDIR ? ESTALE : errno, list.path);
    }
  list_entry (&s, unreadable, list.path, target);
  list.entries++;
  if (below >= 0)
    {
      strcpy (list.path + at + n, "/");
      list_folder (below, depth + 1);
    }
  list.path[at] = 0;
}

static void
list_folder (int fd, unsigned depth)
{
  struct agent_names names;

  if (depth > AGENT_MAX_DEPTH)
    agent_result_error (PRISM_WIRE_ERROR_LIMIT, 0, "%.600s...: more than %u folders deep", list.path, AGENT_MAX_DEPTH);
  if (!agent_names_read (&names, fd, list.work->entries - list.entries, (list.work->flags & AGENT_FILE_HIDDEN) != 0))
    {
      if (errno == E2BIG)
        agent_result_error (PRISM_WIRE_ERROR_LIMIT, 0, "more than %llu entries",
                            (unsigned long long)list.work->entries);
      agent_result_errno (errno, list.path);
    }
  for (uint32_t i = 0; i < names.count; i++)
    {
      if (list.entries >= list.work->entries)
        agent_result_error (PRISM_WIRE_ERROR_LIMIT, 0, "more than %llu entries",
                            (unsigned long long)list.work->entries);
      list_name (fd, names.text + names.items[i].at, depth);
    }
  agent_names_clear (&names);
  close (fd);
}

void
agent_work_list (const struct agent_work *work)
{
  int fd = agent_path_open (work->path, work->flags, O_RDONLY | O_DIRECTORY);

  if (fd < 0)
    agent_result_errno (errno, work->path);
  list.work = work;
  list.w = prism_wire_write_to (agent.scratch, AGENT_BULK);
  list_folder (fd, 1);
  agent_result (PRISM_WIRE_ENTRIES, true, list.w.start, (size_t)(list.w.at - list.w.start));
}

/* --- REMOVE -------------------------------------------------------------------------------- */

static struct
{
  const struct agent_work *work;
  int root;
  uint64_t removed;
  uint32_t moved;
} removal;

__attribute__ ((noreturn)) static void
removal_error (enum prism_wire_error code, int error, const char *what)
{
  agent_result_error (code, error, "%.600s: %s (%llu entries were removed before)", what,
                      error != 0 ? strerror (error) : "more than the most entries",
                      (unsigned long long)removal.removed);
}

static void
count_removed (const char *name)
{
  if (removal.removed++ >= removal.work->entries)
    removal_error (PRISM_WIRE_ERROR_LIMIT, 0, name);
}

static void remove_folder (int fd, unsigned depth);

static void
remove_name (int fd, const char *name, unsigned depth)
{
  char deep[40];
  int below;

  if (removal.removed >= removal.work->entries)
    removal_error (PRISM_WIRE_ERROR_LIMIT, 0, name);
  if (unlinkat (fd, name, 0) == 0 || unlinkat (fd, name, AT_REMOVEDIR) == 0)
    {
      count_removed (name);
      return;
    }
  if (errno == ENOENT)
    return;
  if (errno != ENOTEMPTY && errno != EEXIST)
    removal_error (agent_error_of (errno), errno, name);
  if (depth == AGENT_MAX_DEPTH)
    {
      /* No bound on how deep a command builds, but one on open folders: it is hung higher. */
      snprintf (deep, sizeof deep, ".prism-deep-%u", removal.moved++);
      if (renameat (fd, name, removal.root, deep) != 0)
        removal_error (agent_error_of (errno), errno, name);
      return;
    }
  below = openat (fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (below < 0)
    removal_error (agent_error_of (errno), errno, name);
  remove_folder (below, depth + 1);
  if (unlinkat (fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
    removal_error (agent_error_of (errno), errno, name);
  count_removed (name);
}

static void
remove_folder (int fd, unsigned depth)
{
  struct agent_names names;

  if (!agent_names_read (&names, fd, removal.work->entries - removal.removed, true))
    removal_error (errno == E2BIG ? PRISM_WIRE_ERROR_LIMIT : agent_error_of (errno), errno == E2BIG ? 0 : errno,
                   "a folder");
  for (uint32_t i = 0; i < names.count; i++)
    remove_name (fd, names.text + names.items[i].at, depth);
  agent_names_clear (&names);
  close (fd);
}

void
agent_work_remove (const struct agent_work *work)
{
  char leaf[256];
  int parent = agent_path_parent (work->path, work->flags, leaf);
  int again;

  removal.work = work;
  removal.root = parent < 0 ? -1 : openat (parent, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (removal.root < 0)
    removal_error (agent_error_of (errno), errno, work->path);
  do
    {
      uint32_t before = removal.moved;
      again = openat (removal.root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (again < 0)
        removal_error (agent_error_of (errno), errno, work->path);
      remove_folder (again, 1);
      if (removal.moved == before)
        break;
    }
  while (true);
  if (unlinkat (parent, leaf, AT_REMOVEDIR) != 0)
    removal_error (agent_error_of (errno), errno, work->path);
  count_removed (leaf);
  agent_result_done (removal.removed, 0);
}
