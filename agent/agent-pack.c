/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TREE_OUT, in a worker: a tree as the stream of prism-wire.h, onto a descriptor
 * or in records. Sorted, so that the same tree is the same bytes. What is no
 * file, folder or harmless link is an error that names it; so is a file whose
 * size changes while it is read, as its length was promised. */
#include "agent-job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OUT   (1024u * 1024u)
#define BATCH (512u * 1024u) /* written at once */
#define LARGE (256u * 1024u) /* files from here on are not copied into a batch */
#define PIPE  (1024u * 1024u)

static struct
{
  const struct agent_work *work;
  int fd; /* -1: records */
  bool splices;
  uint8_t *bytes;
  size_t size;
  char path[PRISM_WIRE_MAX_PATH + 1];
  uint64_t entries, total;
} pack;

static void
flush (void)
{
  if (pack.fd >= 0)
    agent_write_all (pack.fd, pack.bytes, pack.size);
  else
    for (size_t at = 0; at < pack.size; at += AGENT_BULK)
      agent_result (PRISM_WIRE_DATA, false, pack.bytes + at, pack.size - at < AGENT_BULK ? pack.size - at : AGENT_BULK);
  pack.size = 0;
}

static void
need (size_t size)
{
  if (pack.size + size > OUT || pack.size >= BATCH)
    flush ();
}

static void
put_record (uint8_t type, const struct stat *s, uint64_t size, const char *name, const char *target)
{
  size_t name_size = strlen (name), target_size = strlen (target);
  struct prism_wire_writer w;

  need (PRISM_WIRE_RECORD + name_size + target_size);
  w = prism_wire_write_to (pack.bytes + pack.size, OUT - pack.size);
  prism_wire_put (&w, type, 1);
  prism_wire_put (&w, 0, 1);
  prism_wire_put (&w, name_size, 2);
  prism_wire_put (&w, target_size, 2);
  prism_wire_put (&w, 0, 2);
  prism_wire_put (&w, s != NULL ? s->st_mode & 01777 : 0, 4);
  prism_wire_put (&w, s != NULL ? (uint64_t)s->st_mtim.tv_nsec : 0, 4);
  prism_wire_put (&w, s != NULL ? (uint64_t)s->st_mtim.tv_sec : 0, 8);
  prism_wire_put (&w, size, 8);
  prism_wire_put_bytes (&w, name, name_size);
  prism_wire_put_bytes (&w, target, target_size);
  pack.size += (size_t)(w.at - w.start);
}

__attribute__ ((noreturn)) static void
changed (void)
{
  agent_result_error (PRISM_WIRE_ERROR_CHANGED, 0, "%.3800s: changed while it was read", pack.path);
}

/* Moves the pages where the stream is a pipe, else copies. */
static void
put_large (int fd, uint64_t size)
{
  uint64_t done = 0;

  flush ();
  while (done < size && pack.splices)
    {
      long n = splice (fd, NULL, pack.fd, NULL, size - done < PIPE ? size - done : PIPE, SPLICE_F_MOVE);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0 && errno == EINVAL && done == 0)
        {
          pack.splices = false;
          break;
        }
      if (n < 0)
        agent_result_errno (errno, pack.path);
      if (n == 0)
        changed ();
      done += (uint64_t)n;
    }
  while (done < size)
    {
      size_t want = size - done < BATCH ? (size_t)(size - done) : BATCH;
      ssize_t n = read (fd, pack.bytes, want);
      if (n < 0)
        agent_result_errno (errno, pack.path);
      if (n == 0)
        changed ();
      done += (uint64_t)n;
      pack.size = (size_t)n;
      flush ();
    }
  if (read (fd, pack.bytes, 1) != 0)
    changed ();
}

static void
put_small (int fd, size_t size)
{
  size_t done = 0;
  ssize_t n;

  need (size + 1);
  /* One byte more than was promised, so that growth is seen without another call. */
  while (done <= size && (n = read (fd, pack.bytes + pack.size + done, size + 1 - done)) != 0)
    {
      if (n < 0)
        agent_result_errno (errno, pack.path);
      done += (size_t)n;
      if (done == size)
        break;
    }
  if (done != size)
    changed ();
  pack.size += size;
}

static void
put_file (int folder, const char *name)
{
  int fd = openat (folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat s;
  uint64_t size;

  if (fd < 0 && (errno == ENOENT || errno == ELOOP))
    changed ();
  if (fd < 0 || fstat (fd, &s) != 0)
    agent_result_errno (errno, pack.path);
  if (!S_ISREG (s.st_mode))
    changed ();
  size = (uint64_t)s.st_size;
  if (size > pack.work->bytes - pack.total)
    agent_result_error (PRISM_WIRE_ERROR_LIMIT, 0, "%.3800s: with it the tree has more than %llu bytes", pack.path,
                        (unsigned long long)pack.work->bytes);
  pack.total += size;
  put_record (PRISM_WIRE_FILE, &s, size, pack.path, "");
  if (size >= LARGE)
    put_large (fd, size);
  else
    put_small (fd, (size_t)size);
  close (fd);
}

static void
put_link (int folder, const char *name)
{
  char target[PRISM_WIRE_MAX_PATH + 1];
  ssize_t n = readlinkat (folder, name, target, sizeof target);
  struct stat s;

  if (n < 0 && (errno == EINVAL || errno == ENOENT))
    changed ();
  if (n < 0 || fstatat (folder, name, &s, AT_SYMLINK_NOFOLLOW) != 0)
    agent_result_errno (errno, pack.path);
  if (n > (ssize_t)PRISM_WIRE_MAX_PATH)
    agent_result_error (PRISM_WIRE_ERROR_LIMIT, 0, "%.3800s: its target is over %u bytes", pack.path,
                        PRISM_WIRE_MAX_PATH);
  target[n] = 0;
  if (!agent_link_is_inside (target, pack.path))
    agent_result_error (PRISM_WIRE_ERROR_ESCAPE, 0, "%.1800s: a link to %.1800s, which leads outside", pack.path,
                        target);
  put_record (PRISM_WIRE_LINK, &s, 0, pack.path, target);
}

static void put_folder (int fd, unsigned depth);

static void
put_name (int fd, const char *name, uint8_t type, unsigned depth)
{
  size_t at = strlen (pack.path), n = strlen (name);
  size_t slash = at > 0;
  struct stat s;

  if (at + slash + n > PRISM_WIRE_MAX_PATH)
    agent_result_error (PRISM_WIRE_ERROR_LIMIT, ENAMETOOLONG, "%.600s...: a path over %u bytes", pack.path,
                        PRISM_WIRE_MAX_PATH);
  if (slash)
    pack.path[at] = '/';
  memcpy (pack.path + at + slash, name, n + 1);
  if (pack.entries++ >= pack.work->entries)
    agent_result_error (PRISM_WIRE_ERROR_LIMIT, 0, "more than %llu entries", (unsigned long long)pack.work->entries);
  if (type == DT_UNKNOWN && fstatat (fd, name, &s, AT_SYMLINK_NOFOLLOW) == 0)
    type = (uint8_t)(s.st_mode >> 12 & 15);
  switch (type)
    {
    case DT_REG:
      put_file (fd, name);
      break;
    case DT_LNK:
      put_link (fd, name);
      break;
    case DT_DIR:
      {
        int below = openat (fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0 && (errno == ENOENT || errno == ELOOP || errno == ENOTDIR))
          changed ();
        if (below < 0 || fstat (below, &s) != 0)
          agent_result_errno (errno, pack.path);
        put_record (PRISM_WIRE_FOLDER, &s, 0, pack.path, "");
        put_folder (below, depth + 1);
        break;
      }
    default:
      agent_result_error (PRISM_WIRE_ERROR_TYPE, 0, "%.3800s: a device, FIFO or socket is not exported", pack.path);
    }
  pack.path[at] = 0;
}

static void
put_folder (int fd, unsigned depth)
{
  struct agent_names names;

  if (depth > AGENT_MAX_DEPTH)
    agent_result_error (PRISM_WIRE_ERROR_LIMIT, 0, "%.600s...: more than %u folders deep", pack.path, AGENT_MAX_DEPTH);
  if (!agent_names_read (&names, fd, pack.work->entries - pack.entries, true))
    {
      if (errno == E2BIG)
        agent_result_error (PRISM_WIRE_ERROR_LIMIT, 0, "more than %llu entries",
                            (unsigned long long)pack.work->entries);
      agent_result_errno (errno, pack.path);
    }
  for (uint32_t i = 0; i < names.count; i++)
    put_name (fd, names.text + names.items[i].at, names.items[i].type, depth);
  agent_names_clear (&names);
  close (fd);
}

void
agent_work_pack (const struct agent_work *work)
{
  int root = open (work->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);

  if (root < 0)
    agent_result_errno (errno, work->path);
  pack.work = work;
  pack.fd = work->fd;
  if (pack.fd >= 0)
    {
      struct stat s;
      pack.splices = fstat (pack.fd, &s) == 0 && S_ISFIFO (s.st_mode);
      /* The host's end may have been opened non-blocking; this one waits. */
      fcntl (pack.fd, F_SETFL, fcntl (pack.fd, F_GETFL) & ~O_NONBLOCK);
      fcntl (pack.fd, F_SETPIPE_SZ, PIPE);
    }
  pack.bytes = agent_worker_memory (OUT);
  put_folder (root, 1);
  put_record (0, NULL, pack.entries, "", "");
  flush ();
  if (pack.fd < 0)
    agent_result (PRISM_WIRE_DATA, true, "", 0);
  else
    {
      close (pack.fd);
      agent_result_done (pack.entries, pack.total);
    }
}
