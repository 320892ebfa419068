/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TREE_IN, in a worker. The stream is not trusted: it makes folders, files and
 * links below one folder and nothing else. Every name is walked by descriptors
 * with O_NOFOLLOW, so no link that the stream made, or that a command puts in the
 * way meanwhile, is followed. */
#include "agent-job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define IN (1024u * 1024u)

struct level
{
  int fd;
  size_t end; /* of its path in unpack.path */
  uint32_t mode;
  bool touched; /* the stream says its mode and time */
  struct timespec time;
};

struct record
{
  uint8_t type;
  uint16_t name_size, target_size;
  uint32_t mode;
  struct timespec time;
  uint64_t size;
  char name[PRISM_WIRE_MAX_PATH + 1], target[PRISM_WIRE_MAX_PATH + 1];
};

static struct
{
  const struct agent_work *work;
  int in;
  uint8_t *bytes;
  size_t at, end;
  struct level levels[AGENT_MAX_DEPTH + 1];
  unsigned depth;
  char path[PRISM_WIRE_MAX_PATH + 1]; /* of the innermost open folder */
  struct record record;
  uint64_t entries, total;
} unpack;

__attribute__ ((noreturn)) static void
refuse (enum prism_wire_error code, int error, const char *why)
{
  agent_result_error (code, error, "%.3800s: %s", unpack.record.name, why);
}

__attribute__ ((noreturn)) static void
fail (int error)
{
  refuse (agent_error_of (error), error, strerror (error));
}

/* --- the stream ----------------------------------------------------------------------------- */

/* At least `size` bytes, at most IN, lie at unpack.bytes + unpack.at. */
static void
fill (size_t size)
{
  if (unpack.end - unpack.at >= size)
    return;
  memmove (unpack.bytes, unpack.bytes + unpack.at, unpack.end - unpack.at);
  unpack.end -= unpack.at;
  unpack.at = 0;
  while (unpack.end < size)
    {
      ssize_t n = read (unpack.in, unpack.bytes + unpack.end, IN - unpack.end);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        agent_result_error (PRISM_WIRE_ERROR_INVALID, n < 0 ? errno : 0, "the tree's stream was cut after %llu entries",
                            (unsigned long long)unpack.entries);
      unpack.end += (size_t)n;
    }
}

static bool
names_inside (const char *name)
{
  for (size_t n; *name != 0; name += n)
    {
      n = strcspn (name, "/");
      if (n == 0 || n > 255 || (n == 1 && name[0] == '.') || (n == 2 && name[0] == '.' && name[1] == '.'))
        return false;
      if (name[n] == '/' && name[++n] == 0)
        return false;
    }
  return true;
}

static void
take_text (char *into, size_t size)
{
  memcpy (into, unpack.bytes + unpack.at, size);
  into[size] = 0;
  unpack.at += size;
}

static void
check_record (struct record *r)
{
  if (r->type > PRISM_WIRE_LINK || r->mode > 07777 || r->time.tv_nsec > 999999999
      || (r->type != PRISM_WIRE_FILE && r->size != 0) || (r->type == PRISM_WIRE_LINK) != (r->target_size > 0)
      || strlen (r->name) != r->name_size || strlen (r->target) != r->target_size)
    refuse (PRISM_WIRE_ERROR_INVALID, 0, "not a record of a tree");
  if (r->name_size == 0 || !names_inside (r->name))
    refuse (PRISM_WIRE_ERROR_ESCAPE, 0, "not a name inside a tree");
  if (r->type == PRISM_WIRE_LINK && !agent_link_is_inside (r->target, r->name))
    refuse (PRISM_WIRE_ERROR_ESCAPE, 0, "a link that leads outside");
  if (unpack.entries++ >= unpack.work->entries)
    refuse (PRISM_WIRE_ERROR_LIMIT, 0, "with it there are more entries than allowed");
  if (r->size > unpack.work->bytes - unpack.total)
    refuse (PRISM_WIRE_ERROR_LIMIT, 0, "with it there are more bytes than allowed");
  unpack.total += r->size;
}

/* False at the end record. */
static bool
next_record (void)
{
  struct record *r = &unpack.record;
  struct prism_wire_reader reader;
  unsigned zero;

  fill (PRISM_WIRE_RECORD);
  reader = prism_wire_read_from (unpack.bytes + unpack.at, PRISM_WIRE_RECORD);
  r->name[0] = r->target[0] = 0;
  r->type = prism_wire_u8 (&reader);
  zero = prism_wire_u8 (&reader);
  r->name_size = prism_wire_u16 (&reader);
  r->target_size = prism_wire_u16 (&reader);
  zero |= prism_wire_u16 (&reader);
  r->mode = prism_wire_u32 (&reader);
  r->time.tv_nsec = (long)prism_wire_u32 (&reader);
  r->time.tv_sec = (time_t)prism_wire_u64 (&reader);
  r->size = prism_wire_u64 (&reader);
  unpack.at += PRISM_WIRE_RECORD;
  if (zero != 0 || r->name_size > PRISM_WIRE_MAX_PATH || r->target_size > PRISM_WIRE_MAX_PATH)
    refuse (PRISM_WIRE_ERROR_INVALID, 0, "not a record of a tree");
  if (r->type == 0)
    {
      if (r->size != unpack.entries || r->name_size != 0 || r->target_size != 0)
        refuse (PRISM_WIRE_ERROR_INVALID, 0, "the tree's end does not fit what came");
      return false;
    }
  fill ((size_t)r->name_size + r->target_size);
  take_text (r->name, r->name_size);
  take_text (r->target, r->target_size);
  check_record (r);
  return true;
}

/* --- the tree ------------------------------------------------------------------------------- */

static void
push (int fd, size_t end)
{
  if (unpack.depth == AGENT_MAX_DEPTH)
    refuse (PRISM_WIRE_ERROR_LIMIT, 0, "too many folders deep");
  unpack.levels[++unpack.depth] = (struct level){ .fd = fd, .end = end };
}

/* A folder gets its mode and time when nothing more is put into it. */
static void
pop (void)
{
  struct level *level = &unpack.levels[unpack.depth--];
  struct timespec times[2] = { { 0, UTIME_OMIT }, level->time };

  if (level->touched && (level->mode & 0700) != 0700)
    fchmod (level->fd, level->mode);
  if (level->touched && (level->time.tv_sec != 0 || level->time.tv_nsec != 0))
    futimens (level->fd, times);
  close (level->fd);
}

/* The folder that `name` goes into, and the name's last component. */
static int
enter (const char *name, const char **leaf)
{
  const char *slash = strrchr (name, '/');
  size_t folder = slash != NULL ? (size_t)(slash - name) : 0;

  *leaf = slash != NULL ? slash + 1 : name;
  for (;;)
    {
      size_t end = unpack.levels[unpack.depth].end;
      if (unpack.depth == 0 || (end <= folder && memcmp (unpack.path, name, end) == 0 && name[end] == '/'))
        break;
      pop ();
    }
  while (unpack.levels[unpack.depth].end < folder)
    {
      size_t start = unpack.levels[unpack.depth].end, n;
      char part[256];
      int fd;

      start += start > 0;
      n = strcspn (name + start, "/");
      memcpy (part, name + start, n);
      part[n] = 0;
      fd = openat (unpack.levels[unpack.depth].fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (fd < 0)
        fail (errno);
      push (fd, start + n);
      memcpy (unpack.path, name, start + n);
    }
  return unpack.levels[unpack.depth].fd;
}

/* Something of another kind is in the way: it goes, unless it is a folder with something in it. */
static void
clear (int folder, const char *leaf)
{
  if (unlinkat (folder, leaf, 0) == 0 || errno == ENOENT)
    return;
  if (errno != EISDIR && errno != EPERM)
    fail (errno);
  if (unlinkat (folder, leaf, AT_REMOVEDIR) != 0)
    fail (errno);
}

static void
make_folder (int folder, const char *leaf)
{
  struct record *r = &unpack.record;
  uint32_t mode = r->mode & 01777;
  bool was = mkdirat (folder, leaf, mode | 0700) != 0;
  int fd;

  if (was && errno != EEXIST)
    fail (errno);
  fd = openat (folder, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    fail (errno);
  if (was && fchmod (fd, mode | 0700) != 0)
    fail (errno);
  push (fd, r->name_size);
  memcpy (unpack.path, r->name, r->name_size);
  unpack.levels[unpack.depth].touched = true;
  unpack.levels[unpack.depth].mode = mode;
  unpack.levels[unpack.depth].time = r->time;
}

static void
write_content (int fd)
{
  for (uint64_t left = unpack.record.size; left > 0;)
    {
      size_t n = left < IN / 2 ? (size_t)left : IN / 2;
      ssize_t done;

      fill (n);
      done = write (fd, unpack.bytes + unpack.at, n);
      if (done < 0 && errno == EINTR)
        continue;
      if (done <= 0)
        fail (done < 0 ? errno : ENOSPC);
      unpack.at += (size_t)done;
      left -= (uint64_t)done;
    }
}

static void
make_file (int folder, const char *leaf)
{
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  struct record *r = &unpack.record;
  struct timespec times[2] = { { 0, UTIME_OMIT }, r->time };
  int fd = openat (folder, leaf, flags, r->mode & 0777);

  if (fd < 0 && errno == EEXIST)
    {
      clear (folder, leaf);
      fd = openat (folder, leaf, flags, r->mode & 0777);
    }
  if (fd < 0)
    fail (errno);
  write_content (fd);
  if (r->time.tv_sec != 0 || r->time.tv_nsec != 0)
    futimens (fd, times);
  close (fd);
}

static void
make_link (int folder, const char *leaf)
{
  struct record *r = &unpack.record;
  struct timespec times[2] = { { 0, UTIME_OMIT }, r->time };

  if (symlinkat (r->target, folder, leaf) != 0)
    {
      if (errno != EEXIST)
        fail (errno);
      clear (folder, leaf);
      if (symlinkat (r->target, folder, leaf) != 0)
        fail (errno);
    }
  if (r->time.tv_sec != 0 || r->time.tv_nsec != 0)
    utimensat (folder, leaf, times, AT_SYMLINK_NOFOLLOW);
}

void
agent_work_unpack (const struct agent_work *work, int in)
{
  unpack.work = work;
  unpack.in = in;
  unpack.levels[0].fd = open (work->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
  if (unpack.levels[0].fd < 0)
    agent_result_errno (errno, work->path);
  fcntl (in, F_SETFL, fcntl (in, F_GETFL) & ~O_NONBLOCK);
  fcntl (in, F_SETPIPE_SZ, IN);
  unpack.bytes = agent_worker_memory (IN);
  while (next_record ())
    {
      const char *leaf;
      int folder = enter (unpack.record.name, &leaf);
      if (unpack.record.type == PRISM_WIRE_FOLDER)
        make_folder (folder, leaf);
      else if (unpack.record.type == PRISM_WIRE_FILE)
        make_file (folder, leaf);
      else
        make_link (folder, leaf);
    }
  while (unpack.depth > 0)
    pop ();
  agent_result_done (unpack.entries, unpack.total);
}
