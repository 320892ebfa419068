/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* File requests that a few system calls answer: STAT, RENAME, MKDIR, and REMOVE of one
 * entry. In the loop, or in a worker where one of those calls may hang. */
#include "agent-job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOREPLACE 1u

static void
do_stat (const struct agent_request *q)
{
  uint8_t payload[2 * PRISM_WIRE_MAX_PATH];
  struct prism_wire_writer w = prism_wire_write_to (payload, sizeof payload);
  char leaf[256], target[PRISM_WIRE_MAX_PATH + 1] = "";
  struct stat s;
  bool beneath = (q->file.flags & AGENT_FILE_BENEATH) != 0;
  int folder = agent_path_parent (q->file.path, q->file.flags | AGENT_FILE_FOLLOW, leaf), result;
  ssize_t n;

  /* "/" and what ends in ".." have no last component of their own. */
  if (folder < 0 && errno == EINVAL && beneath)
    {
      folder = agent_beneath_open (q->file.path, O_PATH | O_DIRECTORY);
      result = folder < 0 ? -1 : fstat (folder, &s);
    }
  else if (folder < 0 && errno == EINVAL)
    result = lstat (agent_path (q->file.path), &s);
  else
    result = folder < 0 ? -1 : fstatat (folder, leaf, &s, AT_SYMLINK_NOFOLLOW);
  if (result != 0)
    {
      agent_fail (q->header.id, errno, q->file.path);
      agent_close (&folder);
      return;
    }
  if (S_ISLNK (s.st_mode) && (n = readlinkat (folder, leaf, target, sizeof target - 1)) >= 0)
    target[n] = 0;
  agent_close (&folder);
  agent_put_entry (&w, &s, false, "", target);
  agent_send (PRISM_WIRE_ENTRIES, PRISM_WIRE_LAST, q->header.id, payload, (size_t)(w.at - w.start), -1);
}

static void
answer (const struct agent_request *q, int error)
{
  if (error != 0)
    agent_fail (q->header.id, error, q->file.path);
  else
    agent_send (PRISM_WIRE_DONE, 0, q->header.id, NULL, 0, -1);
}

static void
do_rename (const struct agent_request *q)
{
  char from_leaf[256], to_leaf[256];
  int from = agent_path_parent (q->file.path, q->file.flags, from_leaf), to = -1, result = -1;
  struct stat s;

  if (from >= 0)
    to = agent_path_parent (q->file.other, q->file.flags, to_leaf);
  if (to >= 0 && (q->file.flags & AGENT_FILE_OVERWRITE) != 0)
    result = renameat (from, from_leaf, to, to_leaf);
  else if (to >= 0)
    {
      result = (int)syscall (SYS_renameat2, from, from_leaf, to, to_leaf, NOREPLACE);
      /* A file system that cannot promise it: looked at first, then. */
      if (result != 0 && (errno == EINVAL || errno == ENOSYS)
          && fstatat (from, from_leaf, &s, AT_SYMLINK_NOFOLLOW) == 0)
        {
          if (fstatat (to, to_leaf, &s, AT_SYMLINK_NOFOLLOW) == 0)
            errno = EEXIST;
          else
            result = renameat (from, from_leaf, to, to_leaf);
        }
    }
  answer (q, result != 0 ? errno : 0);
  agent_close (&from);
  agent_close (&to);
}

static void
do_mkdir (const struct agent_request *q)
{
  bool parents = (q->file.flags & AGENT_FILE_PARENTS) != 0;
  uint32_t mode = q->file.mode != 0 ? q->file.mode : 0755;
  char leaf[256];
  struct stat s;
  int folder, error = 0;

  if ((mode & ~01777u) != 0)
    {
      agent_send_error (q->header.id, PRISM_WIRE_ERROR_INVALID, 0, "mode %o: at most 1777", mode);
      return;
    }
  if (parents && agent_path_make_parents (q->file.path, q->file.flags) != 0)
    {
      answer (q, errno);
      return;
    }
  folder = agent_path_parent (q->file.path, q->file.flags, leaf);
  if (folder < 0)
    {
      answer (q, errno);
      return;
    }
  if (mkdirat (folder, leaf, mode) != 0)
    {
      error = errno;
      if (error == EEXIST && parents && fstatat (folder, leaf, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR (s.st_mode))
        error = 0;
    }
  answer (q, error);
  close (folder);
}

/* The root and the workspace are the sandbox's own. */
static bool
is_refused (int folder, const char *leaf)
{
  struct stat s, base;

  if (fstatat (folder, leaf, &s, AT_SYMLINK_NOFOLLOW) != 0)
    return false;
  return (stat (agent.settings.workspace, &base) == 0 && s.st_dev == base.st_dev && s.st_ino == base.st_ino)
         || (stat ("/", &base) == 0 && s.st_dev == base.st_dev && s.st_ino == base.st_ino);
}

/* True when a worker is needed. */
static bool
do_remove (const struct agent_request *q)
{
  char leaf[256];
  int folder = agent_path_parent (q->file.path, q->file.flags, leaf), result = -1;

  if (folder < 0)
    {
      answer (q, errno);
      return false;
    }
  if (is_refused (folder, leaf))
    {
      close (folder);
      agent_send_error (q->header.id, PRISM_WIRE_ERROR_INVALID, 0, "%.600s: the sandbox's own folder is not removed",
                        q->file.path);
      return false;
    }
  result = unlinkat (folder, leaf, 0);
  if (result != 0 && (errno == EISDIR || errno == EPERM))
    result = unlinkat (folder, leaf, AT_REMOVEDIR);
  if (result != 0 && (q->file.flags & AGENT_FILE_RECURSIVE) != 0 && (errno == ENOTEMPTY || errno == EEXIST))
    {
      close (folder);
      return true;
    }
  if (result != 0)
    answer (q, errno);
  else
    agent_send_done (q->header.id, 1, 0);
  close (folder);
  return false;
}

bool
agent_entry_request (const struct agent_request *q)
{
  switch (q->header.type)
    {
    case PRISM_WIRE_STAT:
      do_stat (q);
      return true;
    case PRISM_WIRE_RENAME:
      do_rename (q);
      return true;
    case PRISM_WIRE_MKDIR:
      do_mkdir (q);
      return true;
    default:
      return !do_remove (q);
    }
}
