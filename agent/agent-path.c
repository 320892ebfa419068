/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paths inside. The kernel resolves them in the sandbox's own root, which is the
 * boundary; links on the way are followed there like for any program inside, the
 * last component of what is changed never is. */
#include "agent-job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *
agent_path (const char *path)
{
  static char whole[2 * PRISM_WIRE_MAX_PATH + 2];

  if (*path == '/')
    return path;
  snprintf (whole, sizeof whole, "%s%s%s", agent.settings.workspace, *path != 0 ? "/" : "", path);
  return whole;
}

/* Splits at the last component; false when there is none that can be named. */
static bool
split (const char *path, char folder[2 * PRISM_WIRE_MAX_PATH + 2], char leaf[256])
{
  const char *whole = agent_path (path);
  size_t end = strlen (whole), start;

  while (end > 0 && whole[end - 1] == '/')
    end--;
  for (start = end; start > 0 && whole[start - 1] != '/';)
    start--;
  if (start == end)
    {
      errno = EINVAL;
      return false;
    }
  if (end - start > 255)
    {
      errno = ENAMETOOLONG;
      return false;
    }
  memcpy (leaf, whole + start, end - start);
  leaf[end - start] = 0;
  if (strcmp (leaf, ".") == 0 || strcmp (leaf, "..") == 0)
    {
      errno = EINVAL;
      return false;
    }
  memcpy (folder, whole, start);
  folder[start] = 0;
  return true;
}

int
agent_path_parent (const char *path, uint32_t flags, char leaf[256])
{
  char folder[2 * PRISM_WIRE_MAX_PATH + 2];

  if ((flags & AGENT_FILE_BENEATH) != 0)
    return agent_beneath_parent (path, (flags & AGENT_FILE_FOLLOW) != 0, false, leaf);
  if (!split (path, folder, leaf))
    return -1;
  return open (folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int
agent_path_open (const char *path, uint32_t flags, int how)
{
  if ((flags & AGENT_FILE_BENEATH) != 0)
    return agent_beneath_open (path, how);
  return open (agent_path (path), how | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int
agent_path_make_parents (const char *path, uint32_t flags)
{
  char folder[2 * PRISM_WIRE_MAX_PATH + 2], leaf[256];
  struct stat s;

  if ((flags & AGENT_FILE_BENEATH) != 0)
    {
      int made = agent_beneath_parent (path, false, true, leaf);
      if (made >= 0)
        close (made);
      return made >= 0 ? 0 : -1;
    }
  if (!split (path, folder, leaf))
    return -1;
  if (stat (folder, &s) == 0)
    return 0;
  for (char *slash = folder + 1; (slash = strchr (slash, '/')) != NULL; slash++)
    {
      *slash = 0;
      if (mkdir (folder, 0755) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
        return -1;
      *slash = '/';
    }
  return stat (folder, &s);
}

void
agent_fail (uint32_t id, int error, const char *path)
{
  agent_send_error (id, agent_error_of (error), error, "%.600s: %s", path, strerror (error));
}

void
agent_put_entry (
    struct prism_wire_writer *w, const struct stat *s, bool unreadable, const char *name, const char *target)
{
  uint8_t type = S_ISREG (s->st_mode)   ? PRISM_WIRE_FILE
                 : S_ISDIR (s->st_mode) ? PRISM_WIRE_FOLDER
                 : S_ISLNK (s->st_mode) ? PRISM_WIRE_LINK
                                        : PRISM_WIRE_OTHER;

  prism_wire_put (w, type | (unreadable ? PRISM_WIRE_UNREADABLE : 0), 1);
  prism_wire_put (w, s->st_mode & 07777, 4);
  prism_wire_put (w, (uint64_t)s->st_size, 8);
  prism_wire_put (w, (uint64_t)((int64_t)s->st_mtim.tv_sec * 1000000 + s->st_mtim.tv_nsec / 1000), 8);
  prism_wire_put_str (w, name);
  prism_wire_put_str (w, target);
}

bool
agent_link_is_inside (const char *target, const char *path)
{
  unsigned depth = 0;

  if (*target == 0 || *target == '/')
    return false;
  for (; *path != 0; path++)
    depth += *path == '/';
  for (bool begun = false; *target != 0;)
    {
      size_t n = strcspn (target, "/");
      bool up = n == 2 && target[0] == '.' && target[1] == '.';
      if (up && (begun || depth-- == 0))
        return false;
      begun = begun || (!up && n > 0 && !(n == 1 && target[0] == '.'));
      target += n + (target[n] == '/');
    }
  return true;
}
