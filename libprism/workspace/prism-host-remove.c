/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Removes a name and all below it. TRUST: the folder that it is in; nothing below: every
 * folder is opened by its name in the one above, through no link. */
#include "prism-host-tree-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define MAX_DEPTH 256

typedef struct
{
  gint64 most, done;
} Removal;

static gboolean remove_content (Removal *removal, int fd, guint depth);

static gboolean
remove_name (Removal *removal, int folder, const char *name, guint depth)
{
  int below;

  if (removal->done >= removal->most)
    {
      errno = E2BIG;
      return FALSE;
    }
  if (unlinkat (folder, name, 0) == 0 || unlinkat (folder, name, AT_REMOVEDIR) == 0)
    {
      removal->done++;
      return TRUE;
    }
  if (errno == ENOENT)
    return TRUE;
  if (errno != ENOTEMPTY && errno != EEXIST)
    return FALSE;
  below = depth < MAX_DEPTH ? openat (folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (below < 0 || !remove_content (removal, below, depth + 1))
    return FALSE;
  if (unlinkat (folder, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
    return FALSE;
  removal->done++;
  return TRUE;
}

/* Takes @fd. */
static gboolean
remove_content (Removal *removal, int fd, guint depth)
{
  DIR *folder = fdopendir (fd);
  const struct dirent *item;
  gboolean gone = folder != NULL;
  int number;

  while (gone && (item = readdir (folder)) != NULL)
    if (!g_str_equal (item->d_name, ".") && !g_str_equal (item->d_name, ".."))
      gone = remove_name (removal, fd, item->d_name, depth);
  number = errno;
  if (folder != NULL)
    closedir (folder);
  else
    close (fd);
  errno = number;
  return gone;
}

gboolean
prism_host_remove_all (int folder, const char *name, gint64 most, gint64 *done)
{
  Removal removal = { most, 0 };
  gboolean gone = remove_name (&removal, folder, name, 0);

  *done = removal.done;
  return gone;
}

int
prism_host_empty (int fd, gint64 most, gint64 *done)
{
  Removal removal = { most, 0 };
  int folder = openat (fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int number = folder < 0 || !remove_content (&removal, folder, 0) ? errno : 0;

  *done = removal.done;
  return number;
}
