/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One component after the other, each opened without following a link, from the folder
 * before it. Links are read and walked like any name; `..` is the folder that was come
 * from, held open, and never what the file system has there: so nothing that is renamed
 * meanwhile leads outside. */
#include "prism-path-walk-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "prism-fd-private.h"

#define MAX_LINKS 40
#define MAX_DEPTH 128
#define MAX_NAME  4096

typedef struct
{
  int folders[MAX_DEPTH]; /* the first is the root's, and not ours to close */
  int depth;
  guint links;
  gboolean follow;
  char rest[MAX_NAME]; /* what is still to be walked */
} Walk;

static void
clear_walk (Walk *walk)
{
  while (walk->depth > 0)
    prism_clear_fd (&walk->folders[walk->depth--]);
}

static int
fail (int number)
{
  errno = number;
  return -1;
}

/* Takes the first component off what is left. */
static void
take_component (Walk *walk, char name[MAX_NAME])
{
  gsize skip = strspn (walk->rest, "/");
  gsize length = strcspn (walk->rest + skip, "/");
  gsize after = skip + length;

  memcpy (name, walk->rest + skip, length);
  name[length] = '\0';
  after += strspn (walk->rest + after, "/");
  memmove (walk->rest, walk->rest + after, strlen (walk->rest + after) + 1);
}

/* What the link says, in front of what is left. */
static int
expand_link (Walk *walk, int link)
{
  char target[MAX_NAME], joined[MAX_NAME];
  gssize length = readlinkat (link, "", target, sizeof target - 1);

  if (length < 0)
    return -1;
  target[length] = '\0';
  if (!walk->follow || ++walk->links > MAX_LINKS)
    return fail (ELOOP);
  if (target[0] == '/')
    return fail (EXDEV);
  if (g_snprintf (joined, sizeof joined, "%s%s%s", target, walk->rest[0] != '\0' ? "/" : "", walk->rest)
      >= (int)sizeof joined)
    return fail (ENAMETOOLONG);
  memcpy (walk->rest, joined, sizeof joined);
  return 0;
}

static int
go_up (Walk *walk)
{
  if (walk->depth == 0)
    return fail (EXDEV);
  prism_clear_fd (&walk->folders[walk->depth--]);
  return 0;
}

/* 1: @fd, which is what @name is, was a link and is walked; 0: it was none. */
static int
try_link (Walk *walk, int fd)
{
  struct stat status;

  if (fstat (fd, &status) != 0)
    return -1;
  if (!S_ISLNK (status.st_mode))
    return 0;
  return expand_link (walk, fd) == 0 ? 1 : -1;
}

static int
enter (Walk *walk, const char *name)
{
  prism_autofd int fd = openat (walk->folders[walk->depth], name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  struct stat status;
  int link;

  if (fd < 0)
    return -1;
  link = try_link (walk, fd);
  if (link != 0)
    return link < 0 ? -1 : 0;
  if (fstat (fd, &status) != 0)
    return -1;
  if (!S_ISDIR (status.st_mode))
    return fail (ENOTDIR);
  if (walk->depth + 1 >= MAX_DEPTH)
    return fail (ENAMETOOLONG);
  walk->folders[++walk->depth] = g_steal_fd (&fd);
  return 0;
}

/* The last component. If it is a link that counts, *again: it is walked in turn. */
static int
open_last (Walk *walk, const char *name, int flags, guint mode, gboolean *again)
{
  int folder = walk->folders[walk->depth];

  *again = FALSE;
  if (walk->follow || (flags & O_PATH) == 0)
    {
      prism_autofd int fd = openat (folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
      int link = fd >= 0 ? try_link (walk, fd) : 0;

      if (fd < 0 && errno != ENOENT)
        return -1;
      if (link < 0)
        return -1;
      *again = link > 0;
      if (*again)
        return -1;
    }
  /* It became a link between the two: once more from the start. */
  {
    int fd = openat (folder, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);

    if (fd < 0 && errno == ELOOP)
      errno = EAGAIN;
    return fd;
  }
}

int
prism_path_walk (int root, const char *rest, gboolean follow, int flags, guint mode)
{
  __attribute__ ((cleanup (clear_walk))) Walk walk = { .follow = follow, .folders = { root } };
  char name[MAX_NAME];
  int fd;

  if (g_strlcpy (walk.rest, rest, sizeof walk.rest) >= sizeof walk.rest)
    return fail (ENAMETOOLONG);
  while (walk.rest[0] != '\0')
    {
      gboolean again;

      take_component (&walk, name);
      if (g_str_equal (name, "") || g_str_equal (name, "."))
        continue;
      if (g_str_equal (name, ".."))
        {
          if (go_up (&walk) != 0)
            return -1;
          continue;
        }
      if (walk.rest[0] != '\0')
        {
          if (enter (&walk, name) != 0)
            return -1;
          continue;
        }
      fd = open_last (&walk, name, flags, mode, &again);
      if (!again)
        return fd;
    }
  return openat (walk.folders[walk.depth], ".", flags | O_CLOEXEC, mode);
}
