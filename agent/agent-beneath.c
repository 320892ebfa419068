/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paths that stay below the workspace, for the coding tools. The sandbox's root is the
 * boundary that protects the host; this one keeps a tool to the tree that it was given,
 * while commands change that tree. Every component is looked up below a descriptor; ".."
 * goes back to the descriptor it came from; a link is read and its target looked up the
 * same way. */
#include "agent-job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_LINKS 40u
#define MOST_DEEP  256u
#define MOST_REST  (4u * PRISM_WIRE_MAX_PATH)

static struct
{
  int folders[MOST_DEEP]; /* the workspace first; where ".." goes back to */
  unsigned depth, links;
  char rest[MOST_REST]; /* what is still to be looked up */
} walk;

static void
go_back (unsigned depth)
{
  int error = errno;

  while (walk.depth > depth)
    close (walk.folders[--walk.depth]);
  errno = error;
}

/* What is left of an absolute path below the workspace; NULL: it is not there. Only of what was
 * asked for: an absolute link leads out, as openat2() has it with RESOLVE_BENEATH. */
static const char *
below_workspace (const char *path)
{
  size_t n = strlen (agent.settings.workspace);

  while (n > 0 && agent.settings.workspace[n - 1] == '/')
    n--;
  if (strncmp (path, agent.settings.workspace, n) != 0 || (path[n] != 0 && path[n] != '/'))
    return NULL;
  return path + n;
}

/* Puts a link's target in front of the rest. */
static bool
follow_link (const char *name, const char *rest)
{
  static char target[PRISM_WIRE_MAX_PATH + 1], whole[MOST_REST];
  ssize_t n = readlinkat (walk.folders[walk.depth - 1], name, target, sizeof target - 1);

  if (n < 0)
    return false;
  target[n] = 0;
  if (++walk.links > MOST_LINKS || *target == '/')
    {
      errno = *target == '/' ? EXDEV : ELOOP;
      return false;
    }
  if ((size_t)snprintf (whole, sizeof whole, "%s/%s", target, rest) >= sizeof whole)
    {
      errno = ENAMETOOLONG;
      return false;
    }
  memcpy (walk.rest, whole, strlen (whole) + 1);
  return true;
}

/* Into a folder, or where a link leads. */
static bool
enter (const char *name, const char *rest, bool follow, bool make)
{
  int here = walk.folders[walk.depth - 1];
  int below = openat (here, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  struct stat s;

  if (below < 0 && errno == ENOENT && make && (mkdirat (here, name, 0755) == 0 || errno == EEXIST))
    below = openat (here, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (below < 0)
    return false;
  if (fstat (below, &s) != 0 || S_ISLNK (s.st_mode))
    {
      close (below);
      errno = EXDEV;
      return follow && follow_link (name, rest);
    }
  if (!S_ISDIR (s.st_mode) || walk.depth == MOST_DEEP)
    {
      close (below);
      errno = S_ISDIR (s.st_mode) ? ENAMETOOLONG : ENOTDIR;
      return false;
    }
  walk.folders[walk.depth++] = below;
  memmove (walk.rest, rest, strlen (rest) + 1);
  return true;
}

/* The next component of the rest, and what is after it; false: there is none. */
static bool
next_name (char name[256], const char **after)
{
  const char *rest = walk.rest + strspn (walk.rest, "/");
  size_t n = strcspn (rest, "/");

  memcpy (name, rest, n < 256 ? n : 255);
  name[n < 256 ? n : 255] = 0;
  *after = rest + n + strspn (rest + n, "/");
  return n > 0;
}

static bool
is_link (const char *name)
{
  struct stat s;

  return fstatat (walk.folders[walk.depth - 1], name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK (s.st_mode);
}

static bool
start (const char *path)
{
  const char *below = *path == '/' ? below_workspace (path) : path;

  walk.depth = walk.links = 0;
  if (below == NULL || strlen (below) >= MOST_REST)
    {
      errno = below == NULL ? EXDEV : ENAMETOOLONG;
      return false;
    }
  memcpy (walk.rest, below, strlen (below) + 1);
  walk.folders[0] = open (agent.settings.workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
  walk.depth = walk.folders[0] >= 0;
  return walk.depth == 1;
}

enum how
{
  HOW_STRICT = 0,      /* no link, nowhere */
  HOW_FOLLOW = 1 << 0, /* on the way */
  HOW_LAST = 1 << 1,   /* the last one too */
  HOW_MAKE = 1 << 2,   /* folders that are missing */
};

/* Goes to the folder that holds the last component, which is left in `leaf`: "" where the
 * path names a folder by its words, as ".." does, which is then the one that was reached. */
static bool
go (const char *path, unsigned how, char leaf[256])
{
  const char *after;

  if (!start (path))
    return false;
  while (next_name (leaf, &after))
    {
      if (strcmp (leaf, ".") == 0 || strcmp (leaf, "..") == 0)
        {
          if (leaf[1] == '.' && walk.depth == 1)
            {
              errno = EXDEV;
              return false;
            }
          if (leaf[1] == '.')
            go_back (walk.depth - 1);
          memmove (walk.rest, after, strlen (after) + 1);
        }
      else if (*after != 0)
        {
          if (!enter (leaf, after, (how & HOW_FOLLOW) != 0, (how & HOW_MAKE) != 0))
            return false;
        }
      else if ((how & HOW_LAST) == 0 || !is_link (leaf))
        return true;
      else if (!follow_link (leaf, ""))
        return false;
    }
  leaf[0] = 0;
  return true;
}

int
agent_beneath_parent (const char *path, bool follow, bool make, char leaf[256])
{
  int folder = -1;

  if (go (path, (follow ? HOW_FOLLOW : HOW_STRICT) | (make ? HOW_MAKE : 0), leaf))
    {
      if (leaf[0] == 0)
        errno = EINVAL;
      else
        folder = fcntl (walk.folders[walk.depth - 1], F_DUPFD_CLOEXEC, 3);
    }
  go_back (0);
  return folder;
}

int
agent_beneath_open (const char *path, int flags)
{
  struct stat s;
  char leaf[256];
  int fd = -1;

  if (go (path, HOW_FOLLOW | HOW_LAST, leaf))
    {
      int here = walk.folders[walk.depth - 1];

      /* Opening alone does things to a FIFO or a device. */
      if (leaf[0] != 0 && fstatat (here, leaf, &s, AT_SYMLINK_NOFOLLOW) != 0)
        fd = -1;
      else if (leaf[0] != 0 && !S_ISREG (s.st_mode) && !S_ISDIR (s.st_mode) && !S_ISLNK (s.st_mode))
        errno = ENXIO;
      else
        fd = openat (here, leaf[0] != 0 ? leaf : ".", flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    }
  go_back (0);
  return fd;
}
