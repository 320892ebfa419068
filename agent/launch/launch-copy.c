/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A disposable copy of a folder. The source may change meanwhile: names are opened
 * relative to their folder and never through a link, and what turns out to be
 * something else than it was is an error. Sockets, FIFOs and devices are left out;
 * set-id bits are dropped. */
#include "launch-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_DEPTH 200u
#define LISTING   32768u

struct copy
{
  uid_t uid;
  gid_t gid;
  char *failed;
  size_t failed_size;
};

struct entry
{
  uint64_t inode;
  int64_t offset;
  unsigned short size;
  unsigned char type;
  char name[];
};

static int copy_folder (const struct copy *copy, int from, int to, unsigned depth);

static int
fail (const struct copy *copy, int error, const char *name)
{
  if (copy->failed[0] == 0)
    snprintf (copy->failed, copy->failed_size, "%s", name);
  return error;
}

/* Owner, mode and times; for what is open. */
static int
finish (const struct copy *copy, int fd, const struct stat *info)
{
  const struct timespec times[2] = { info->st_atim, info->st_mtim };

  if ((copy->uid != (uid_t)-1 && fchown (fd, copy->uid, copy->gid) < 0) || fchmod (fd, info->st_mode & 0777) < 0
      || futimens (fd, times) < 0)
    return -errno;
  return 0;
}

static int
copy_bytes (int from, int to, off_t size)
{
  while (size > 0)
    {
      ssize_t n = sendfile (to, from, NULL, size > 0x7ffff000 ? 0x7ffff000 : (size_t)size);
      if (n < 0)
        return -errno;
      if (n == 0)
        break;
      size -= n;
    }
  return 0;
}

static int
copy_file (const struct copy *copy, int from, int to, const char *name)
{
  struct stat info;
  int error = 0;
  int in = openat (from, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY), out;

  if (in < 0)
    return -errno;
  out = fstat (in, &info) < 0 ? -1 : openat (to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (out < 0)
    error = -errno;
  else if (!S_ISREG (info.st_mode))
    error = -EAGAIN;
  else
    {
      error = copy_bytes (in, out, info.st_size);
      if (error == 0)
        error = finish (copy, out, &info);
    }
  if (out >= 0)
    close (out);
  close (in);
  return error;
}

static int
copy_link (const struct copy *copy, int from, int to, const char *name)
{
  char text[PRISM_WIRE_MAX_PATH + 1];
  ssize_t n = readlinkat (from, name, text, sizeof text);

  if (n < 0 || n == sizeof text)
    return n < 0 ? -errno : -ENAMETOOLONG;
  text[n] = 0;
  if (symlinkat (text, to, name) < 0
      || (copy->uid != (uid_t)-1 && fchownat (to, name, copy->uid, copy->gid, AT_SYMLINK_NOFOLLOW) < 0))
    return -errno;
  return 0;
}

static int
copy_subfolder (const struct copy *copy, int from, int to, const char *name, unsigned depth)
{
  struct stat info;
  int error, out = -1, in = openat (from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

  if (in < 0)
    return -errno;
  if (fstat (in, &info) < 0 || mkdirat (to, name, 0700) < 0
      || (out = openat (to, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)) < 0)
    error = -errno;
  else
    {
      error = copy_folder (copy, in, out, depth + 1);
      if (error == 0)
        error = finish (copy, out, &info);
    }
  if (out >= 0)
    close (out);
  close (in);
  return error;
}

static int
copy_entry (const struct copy *copy, int from, int to, const struct entry *entry, unsigned depth)
{
  unsigned char type = entry->type;
  struct stat info;

  if (type == DT_UNKNOWN)
    {
      if (fstatat (from, entry->name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
      type = S_ISDIR (info.st_mode) ? DT_DIR : S_ISLNK (info.st_mode) ? DT_LNK : S_ISREG (info.st_mode) ? DT_REG : 0;
    }
  switch (type)
    {
    case DT_DIR:
      return copy_subfolder (copy, from, to, entry->name, depth);
    case DT_LNK:
      return copy_link (copy, from, to, entry->name);
    case DT_REG:
      return copy_file (copy, from, to, entry->name);
    default:
      return 0;
    }
}

static int
copy_folder (const struct copy *copy, int from, int to, unsigned depth)
{
  char *listing = depth < MAX_DEPTH ? malloc (LISTING) : NULL;
  long n;
  int error = 0;

  if (listing == NULL)
    return depth < MAX_DEPTH ? -ENOMEM : -ELOOP;
  while (error == 0 && (n = syscall (SYS_getdents64, from, listing, LISTING)) != 0)
    {
      if (n < 0)
        error = -errno;
      for (long at = 0; error == 0 && at < n;)
        {
          const struct entry *entry = (const void *)(listing + at);
          at += entry->size;
          if (strcmp (entry->name, ".") == 0 || strcmp (entry->name, "..") == 0)
            continue;
          error = copy_entry (copy, from, to, entry, depth);
          if (error != 0)
            error = fail (copy, error, entry->name);
        }
    }
  free (listing);
  return error;
}

int
launch_copy_tree (int from, int to, uid_t uid, gid_t gid, char *failed, size_t failed_size)
{
  const struct copy copy = { uid, gid, failed, failed_size };
  struct stat info;
  int error, folder;

  failed[0] = 0;
  /* What fsmount() gives is a name only, as with O_PATH. */
  if (fstat (from, &info) < 0 || (folder = openat (to, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
    return -errno;
  error = copy_folder (&copy, from, folder, 0);
  if (error == 0)
    error = finish (&copy, folder, &info);
  close (folder);
  return error;
}
