/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* READ and WRITE, in the loop piece by piece as credit and bytes come, or in a worker from
 * one end to the other. Commands may change the tree meanwhile: they can make a request
 * fail, not make it reach through a link that it did not ask for, nor wait. */
#include "agent-job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIECES 4u /* of one READ in one turn */

/* --- READ ---------------------------------------------------------------------------- */

void
agent_read_some (struct agent_job *job)
{
  for (unsigned i = 0; i < PIECES && !job->over; i++)
    {
      size_t want = AGENT_BULK;
      ssize_t n;
      bool last;

      want = want < job->source.credit ? want : job->source.credit;
      want = want < job->left ? want : job->left;
      if (!agent_channel_has_room () || (want == 0 && job->left > 0))
        return;
      agent.scratch_used = true;
      n = want == 0 ? 0 : pread (job->fd, agent.scratch, want, (off_t)job->offset);
      if (n < 0)
        {
          agent_fail (job->id, errno, "reading");
          agent_job_end (job);
          return;
        }
      job->offset += (uint64_t)n;
      job->left -= (uint64_t)n;
      job->source.credit -= (uint64_t)n;
      last = n == 0 || job->left == 0;
      agent_send (PRISM_WIRE_DATA, last ? PRISM_WIRE_LAST : 0, job->id, agent.scratch, (size_t)n, -1);
      if (last)
        agent_job_end (job);
    }
  if (!job->over)
    agent_wake_at (agent.now);
}

/* Answers the error and returns -1; else how much of it is wanted is noted. */
static int
open_content (const struct agent_request *q, uint64_t *left)
{
  const char *path = agent_path (q->file.path);
  struct stat s;
  int fd;

  /* Looked at before it is opened: opening alone does things to a FIFO or a device. */
  if ((q->file.flags & AGENT_FILE_BENEATH) != 0)
    s.st_mode = S_IFREG;
  else if (stat (path, &s) != 0)
    {
      agent_fail (q->header.id, errno, q->file.path);
      return -1;
    }
  fd = S_ISREG (s.st_mode) ? agent_path_open (q->file.path, q->file.flags, O_RDONLY) : -1;
  if (S_ISREG (s.st_mode) && fd < 0)
    {
      agent_fail (q->header.id, errno, q->file.path);
      return -1;
    }
  if (fd < 0 || fstat (fd, &s) != 0 || !S_ISREG (s.st_mode) || q->file.offset > INT64_MAX)
    {
      agent_close (&fd);
      agent_send_error (q->header.id, PRISM_WIRE_ERROR_TYPE, 0, "%.600s: is no regular file", q->file.path);
      return -1;
    }
  *left = q->file.length < INT64_MAX - q->file.offset ? q->file.length : INT64_MAX - q->file.offset;
  return fd;
}

void
agent_read_start (const struct agent_request *q)
{
  uint64_t left = 0;
  int fd = open_content (q, &left);
  struct agent_job *job = fd >= 0 ? agent_job_add (q) : NULL;

  if (job == NULL)
    {
      agent_close (&fd);
      return;
    }
  job->fd = fd;
  job->offset = q->file.offset;
  job->left = left;
  agent_read_some (job);
}

void
agent_work_read (const struct agent_request *q)
{
  uint64_t left = 0, offset = q->file.offset;
  int fd = open_content (q, &left);

  for (bool last = fd < 0; !last;)
    {
      ssize_t n = left == 0 ? 0 : pread (fd, agent.scratch, left < AGENT_BULK ? left : AGENT_BULK, (off_t)offset);
      if (n < 0)
        agent_result_errno (errno, "reading");
      offset += (uint64_t)n;
      left -= (uint64_t)n;
      last = n == 0 || left == 0;
      agent_result (PRISM_WIRE_DATA, last, agent.scratch, (size_t)n);
    }
}

/* --- WRITE --------------------------------------------------------------------------- */

/* What may be there already: a regular file, whose mode may be kept. */
static bool
check_target (struct agent_job *job, const struct agent_request *q)
{
  struct stat s;

  job->mode = q->file.mode != 0 ? q->file.mode : 0644;
  if (fstatat (job->folder, job->leaf, &s, AT_SYMLINK_NOFOLLOW) != 0)
    {
      if (errno == ENOENT)
        return true;
      agent_fail (job->id, errno, q->file.path);
      return false;
    }
  if (!S_ISREG (s.st_mode))
    {
      agent_send_error (job->id, PRISM_WIRE_ERROR_TYPE, 0,
                        "%.600s: is there and no regular file; a link is not written through", q->file.path);
      return false;
    }
  if (q->file.mode == 0)
    job->mode = s.st_mode & 0777;
  return true;
}

static void
name_temporary (struct agent_job *job)
{
  uint64_t random;

  agent_random (&random, sizeof random);
  snprintf (job->temporary, sizeof job->temporary, ".prism-%016llx", (unsigned long long)random);
}

/* Where a file can be given its name when it is whole, nothing is left of one that is not. */
static int
open_nameless (int folder)
{
  static bool cannot;
  char path[32];
  struct stat by_name, itself;
  int fd = cannot ? -1 : openat (folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

  if (fd < 0)
    return -1;
  snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  cannot = stat (path, &by_name) != 0 || fstat (fd, &itself) != 0 || by_name.st_ino != itself.st_ino
           || by_name.st_dev != itself.st_dev;
  if (cannot)
    agent_close (&fd);
  return fd;
}

static bool
open_temporary (struct agent_job *job)
{
  job->fd = open_nameless (job->folder);
  if (job->fd >= 0)
    return true;
  name_temporary (job);
  job->fd = openat (job->folder, job->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (job->fd < 0)
    job->temporary[0] = 0;
  return job->fd >= 0;
}

/* Answers the error where it cannot. */
static bool
begin_write (struct agent_job *job, const struct agent_request *q)
{
  if ((q->file.mode & ~01777u) != 0)
    {
      agent_send_error (job->id, PRISM_WIRE_ERROR_INVALID, 0, "mode %o: at most 1777", q->file.mode);
      return false;
    }
  if ((q->file.flags & AGENT_FILE_PARENTS) != 0 && agent_path_make_parents (q->file.path, q->file.flags) != 0)
    {
      agent_fail (job->id, errno, q->file.path);
      return false;
    }
  job->folder = agent_path_parent (q->file.path, q->file.flags, job->leaf);
  if (job->folder < 0)
    {
      agent_fail (job->id, errno, q->file.path);
      return false;
    }
  if (!check_target (job, q))
    return false;
  if (!open_temporary (job))
    {
      agent_fail (job->id, errno, q->file.path);
      return false;
    }
  return true;
}

void
agent_write_start (const struct agent_request *q)
{
  struct agent_job *job = agent_job_add (q);

  if (job != NULL && !begin_write (job, q))
    agent_job_end (job);
}

/* A nameless file gets its own name where there is no other; else one to be renamed. */
static bool
give_name (struct agent_job *job)
{
  char path[32];

  if (job->temporary[0] != 0)
    return true;
  snprintf (path, sizeof path, "/proc/self/fd/%d", job->fd);
  if (linkat (AT_FDCWD, path, job->folder, job->leaf, AT_SYMLINK_FOLLOW) == 0)
    return true;
  if (errno != EEXIST)
    return false;
  name_temporary (job);
  if (linkat (AT_FDCWD, path, job->folder, job->temporary, AT_SYMLINK_FOLLOW) == 0)
    return true;
  job->temporary[0] = 0;
  return false;
}

static void
finish_write (struct agent_job *job)
{
  if (fchmod (job->fd, job->mode) != 0 || !give_name (job)
      || (job->temporary[0] != 0 && renameat (job->folder, job->temporary, job->folder, job->leaf) != 0))
    agent_fail (job->id, errno, job->leaf);
  else
    {
      job->temporary[0] = 0;
      agent_send (PRISM_WIRE_DONE, 0, job->id, NULL, 0, -1);
    }
}

/* Answers the error where it cannot. */
static bool
write_all (struct agent_job *job, const uint8_t *bytes, size_t size)
{
  for (size_t done = 0; done < size;)
    {
      ssize_t n = write (job->fd, bytes + done, size - done);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        {
          agent_fail (job->id, n < 0 ? errno : EIO, job->leaf);
          return false;
        }
      done += (size_t)n;
    }
  return true;
}

void
agent_write_some (struct agent_job *job, const struct agent_request *q)
{
  bool last = (q->header.flags & PRISM_WIRE_LAST) != 0;

  if (q->bytes.size > job->window)
    {
      agent_violation ("more data than it had credit for");
      return;
    }
  if (!write_all (job, q->bytes.at, q->bytes.size))
    {
      agent_job_end (job);
      return;
    }
  job->window -= (uint32_t)q->bytes.size;
  job->owed += (uint32_t)q->bytes.size;
  if (last)
    {
      finish_write (job);
      agent_job_end (job);
    }
  else if (job->owed >= PRISM_WIRE_WINDOW / 4)
    {
      agent_send_credit (job->id, 3, job->owed);
      job->window += job->owed;
      job->owed = 0;
    }
}

/* The pipe's end is LAST: a request that is given up ends its worker before its pipe. */
void
agent_work_write (const struct agent_request *q, int in)
{
  struct agent_job job = { .id = q->header.id, .fd = -1, .folder = -1 };
  bool whole = begin_write (&job, q);
  ssize_t n = 1;

  while (whole && n > 0)
    {
      n = read (in, agent.scratch, AGENT_BULK);
      if (n < 0 && errno == EINTR)
        n = 1;
      else if (n > 0)
        whole = write_all (&job, agent.scratch, (size_t)n);
    }
  if (whole && n == 0)
    finish_write (&job);
  if (job.temporary[0] != 0)
    unlinkat (job.folder, job.temporary, 0);
}
