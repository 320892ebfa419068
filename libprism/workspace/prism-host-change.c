/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changing a name of a folder only if it is the object that was meant. TRUST: the folders, which
 * were looked up just now; not their names, which somebody may give to something else at any
 * moment. The kernel has no "if it is that one": so a name is first moved aside, or exchanged,
 * in one step, then looked at, and put back where it is another. */
#include "prism-host-tree-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "prism-fd-private.h"

#define NOREPLACE 1u
#define EXCHANGE  2u

static gboolean
is_same (const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* 0, or errno; PRISM_HOST_CHANGED where there is none, or another. */
static int
check_name (int folder, const char *leaf, const struct stat *wanted)
{
  struct stat s;

  if (fstatat (folder, leaf, &s, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? PRISM_HOST_CHANGED : errno;
  return is_same (&s, wanted) ? 0 : PRISM_HOST_CHANGED;
}

static int
rename_how (int from_folder, const char *from, int to_folder, const char *to, guint how)
{
  return syscall (SYS_renameat2, from_folder, from, to_folder, to, how) == 0 ? 0 : errno;
}

/* Some file systems know neither of the two. */
static gboolean
is_unknown (int number)
{
  return number == EINVAL || number == ENOSYS;
}

#define MOST_NAME 48

static void
make_name (char name[MOST_NAME])
{
  g_snprintf (name, MOST_NAME, ".prism-%08x%08x", g_random_int (), g_random_int ());
}

/* --- writing --------------------------------------------------------------------------------- */

typedef struct
{
  int folder, fd;
  char name[MOST_NAME]; /* "" while it has none */
} Fresh;

static gboolean
open_fresh (Fresh *fresh)
{
  fresh->name[0] = '\0';
  fresh->fd = openat (fresh->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (fresh->fd >= 0)
    return TRUE;
  make_name (fresh->name);
  fresh->fd = openat (fresh->folder, fresh->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fresh->fd < 0)
    fresh->name[0] = '\0';
  return fresh->fd >= 0;
}

gboolean
prism_host_write_all (int fd, GBytes *bytes)
{
  gsize size;
  const char *data = g_bytes_get_data (bytes, &size);

  while (size > 0)
    {
      ssize_t n = write (fd, data, size);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return FALSE;
      data += n;
      size -= (gsize)n;
    }
  return TRUE;
}

static gboolean
fill_fresh (Fresh *fresh, GBytes *bytes, guint mode)
{
  return prism_host_write_all (fresh->fd, bytes) && fchmod (fresh->fd, mode) == 0 && fsync (fresh->fd) == 0;
}

static int
name_fresh (Fresh *fresh, const char *name)
{
  char link[64];

  g_snprintf (link, sizeof link, "/proc/self/fd/%d", fresh->fd);
  return linkat (AT_FDCWD, link, fresh->folder, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* Where nothing was, and nothing may have come. */
static int
publish_new (Fresh *fresh, const char *leaf)
{
  int number;

  if (fresh->name[0] == '\0')
    number = name_fresh (fresh, leaf);
  else
    {
      number = rename_how (fresh->folder, fresh->name, fresh->folder, leaf, NOREPLACE);
      if (is_unknown (number))
        number = linkat (fresh->folder, fresh->name, fresh->folder, leaf, 0) == 0 ? 0 : errno;
      else if (number == 0)
        fresh->name[0] = '\0';
    }
  return number == EEXIST ? PRISM_HOST_CHANGED : number;
}

/* Two names change places; what is then aside goes if it is @old, else all is as before. */
static int
publish_over (Fresh *fresh, const char *leaf, const struct stat *old)
{
  int number = 0;

  if (fresh->name[0] == '\0')
    {
      make_name (fresh->name);
      number = name_fresh (fresh, fresh->name);
    }
  if (number == 0)
    number = check_name (fresh->folder, leaf, old);
  if (number == 0)
    number = rename_how (fresh->folder, fresh->name, fresh->folder, leaf, EXCHANGE);
  if (is_unknown (number))
    {
      number = renameat (fresh->folder, fresh->name, fresh->folder, leaf) == 0 ? 0 : errno;
      if (number == 0)
        fresh->name[0] = '\0';
      return number;
    }
  if (number != 0)
    return number == ENOENT ? PRISM_HOST_CHANGED : number;
  if (check_name (fresh->folder, fresh->name, old) == 0)
    return 0;
  /* Whatever is aside is somebody's: it is never removed from there. */
  if (rename_how (fresh->folder, fresh->name, fresh->folder, leaf, EXCHANGE) != 0)
    fresh->name[0] = '\0';
  return PRISM_HOST_CHANGED;
}

int
prism_host_replace (int folder, const char *leaf, GBytes *bytes, guint mode, const struct stat *old)
{
  Fresh fresh = { .folder = folder };
  gboolean whole = open_fresh (&fresh) && fill_fresh (&fresh, bytes, mode);
  int number;

  /* Root writes for somebody: the file stays theirs. */
  if (whole && old != NULL && geteuid () == 0)
    whole = fchown (fresh.fd, old->st_uid, old->st_gid) == 0 && fchmod (fresh.fd, mode) == 0;
  number = whole ? 0 : errno;
  if (whole)
    number = old != NULL ? publish_over (&fresh, leaf, old) : publish_new (&fresh, leaf);
  if (fresh.name[0] != '\0')
    unlinkat (folder, fresh.name, 0);
  prism_clear_fd (&fresh.fd);
  return number;
}

/* --- removing -------------------------------------------------------------------------------- */

/* One name: a file, or a folder without content. */
static int
remove_one (int folder, const char *leaf, const struct stat *wanted)
{
  int how = S_ISDIR (wanted->st_mode) ? AT_REMOVEDIR : 0;
  int number = check_name (folder, leaf, wanted);
  char aside[MOST_NAME];

  if (number != 0)
    return number;
  make_name (aside);
  number = rename_how (folder, leaf, folder, aside, NOREPLACE);
  if (is_unknown (number))
    return unlinkat (folder, leaf, how) == 0 ? 0 : errno;
  if (number != 0)
    return number == ENOENT ? PRISM_HOST_CHANGED : number;
  number = check_name (folder, aside, wanted);
  if (number == 0 && unlinkat (folder, aside, how) != 0)
    number = errno;
  if (number != 0)
    rename_how (folder, aside, folder, leaf, NOREPLACE);
  return number;
}

int
prism_host_remove (int folder, const char *leaf, int fd, const struct stat *wanted, gint64 most, gint64 *done)
{
  int number = 0;

  *done = 0;
  if (S_ISDIR (wanted->st_mode))
    {
      number = check_name (folder, leaf, wanted);
      if (number == 0)
        number = prism_host_empty (fd, most, done);
      if (number == E2BIG && most == 0)
        number = ENOTEMPTY;
    }
  if (number == 0)
    number = remove_one (folder, leaf, wanted);
  *done += number == 0;
  return number;
}

/* --- moving ---------------------------------------------------------------------------------- */

static int
move_new (int from_folder, const char *from_leaf, const struct stat *from, int to_folder, const char *to_leaf)
{
  int number = rename_how (from_folder, from_leaf, to_folder, to_leaf, NOREPLACE);

  if (is_unknown (number))
    {
      struct stat s;

      number = fstatat (to_folder, to_leaf, &s, AT_SYMLINK_NOFOLLOW) == 0 ? EEXIST : 0;
      if (number == 0 && renameat (from_folder, from_leaf, to_folder, to_leaf) != 0)
        number = errno;
    }
  if (number != 0)
    return number == EEXIST ? PRISM_HOST_CHANGED : number;
  number = check_name (to_folder, to_leaf, from);
  if (number != 0)
    rename_how (to_folder, to_leaf, from_folder, from_leaf, NOREPLACE);
  return number;
}

static int
move_over (int from_folder,
           const char *from_leaf,
           const struct stat *from,
           int to_folder,
           const char *to_leaf,
           const struct stat *to)
{
  int number = check_name (to_folder, to_leaf, to);

  if (number == 0)
    number = rename_how (from_folder, from_leaf, to_folder, to_leaf, EXCHANGE);
  if (is_unknown (number))
    return renameat (from_folder, from_leaf, to_folder, to_leaf) == 0 ? 0 : errno;
  if (number != 0)
    return number == ENOENT ? PRISM_HOST_CHANGED : number;
  if (check_name (to_folder, to_leaf, from) == 0 && check_name (from_folder, from_leaf, to) == 0)
    return remove_one (from_folder, from_leaf, to);
  rename_how (from_folder, from_leaf, to_folder, to_leaf, EXCHANGE);
  return PRISM_HOST_CHANGED;
}

int
prism_host_move (int from_folder,
                 const char *from_leaf,
                 const struct stat *from,
                 int to_folder,
                 const char *to_leaf,
                 const struct stat *to)
{
  int number = check_name (from_folder, from_leaf, from);

  if (number != 0)
    return number;
  if (to == NULL)
    return move_new (from_folder, from_leaf, from, to_folder, to_leaf);
  /* Two names of one object, or one name spelled in two ways: which is not known from here. */
  if (is_same (from, to))
    return EEXIST;
  return move_over (from_folder, from_leaf, from, to_folder, to_leaf, to);
}
