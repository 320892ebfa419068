/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* File requests in the loop: what one system call does, and READ and WRITE piece
 * by piece. Commands may change the tree meanwhile: they can make a request fail,
 * not make it reach through a link that it did not ask for, nor wait. */
#include "agent-job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FLAG_RECURSIVE (1u << 0) /* PrismFileFlags */
#define FLAG_PARENTS   (1u << 1)
#define FLAG_OVERWRITE (1u << 2)
#define NOREPLACE      1u
#define PIECES         4u /* of one READ in one turn */

static struct agent_job *jobs;

/* --- the table ---------------------------------------------------------------------- */

static struct agent_job *
find (uint32_t id)
{
  struct agent_job *job = jobs;

  while (job != NULL && (job->over || job->id != id))
    job = job->next;
  return job;
}

bool
agent_files_has (uint32_t id)
{
  return find (id) != NULL;
}

unsigned
agent_files_count (void)
{
  unsigned count = 0;

  for (struct agent_job *job = jobs; job != NULL; job = job->next)
    count += !job->over;
  return count;
}

static struct agent_job *
add (const struct agent_request *q)
{
  struct agent_job *job = calloc (1, sizeof *job);

  if (job == NULL)
    {
      agent_fail (q->header.id, ENOMEM, q->file.path);
      return NULL;
    }
  job->id = q->header.id;
  job->type = q->header.type;
  job->fd = job->folder = job->results = job->in.fd = -1;
  job->source.credit = job->window = PRISM_WIRE_WINDOW;
  job->next = jobs;
  jobs = job;
  return job;
}

/* Freed in the next turn: this one's events may still name it. */
static void
end (struct agent_job *job)
{
  if (job->temporary[0] != 0)
    unlinkat (job->folder, job->temporary, 0);
  job->temporary[0] = 0;
  agent_close (&job->fd);
  agent_close (&job->folder);
  agent_worker_stop (job);
  job->over = true;
}

bool
agent_worker_is (pid_t pid)
{
  for (struct agent_job *job = jobs; job != NULL; job = job->next)
    if (job->pid == pid)
      return true;
  return false;
}

void
agent_worker_reaped (pid_t pid, int status)
{
  for (struct agent_job *job = jobs; job != NULL; job = job->next)
    if (job->pid == pid)
      job->pid = 0;
}

void
agent_workers_kill (void)
{
  for (struct agent_job *job = jobs; job != NULL; job = job->next)
    agent_worker_stop (job);
}

/* --- READ ---------------------------------------------------------------------------- */

static void
read_some (struct agent_job *job)
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
          end (job);
          return;
        }
      job->offset += (uint64_t)n;
      job->left -= (uint64_t)n;
      job->source.credit -= (uint64_t)n;
      last = n == 0 || job->left == 0;
      agent_send (PRISM_WIRE_DATA, last ? PRISM_WIRE_LAST : 0, job->id, agent.scratch, (size_t)n, -1);
      if (last)
        end (job);
    }
  if (!job->over)
    agent_wake_at (agent.now);
}

static void
start_read (const struct agent_request *q)
{
  struct agent_job *job;
  const char *path = agent_path (q->file.path);
  struct stat s;
  int fd;

  /* Looked at before it is opened: opening alone does things to a FIFO or a device. */
  if (stat (path, &s) != 0)
    {
      agent_fail (q->header.id, errno, q->file.path);
      return;
    }
  fd = S_ISREG (s.st_mode) ? open (path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
  if (S_ISREG (s.st_mode) && fd < 0)
    {
      agent_fail (q->header.id, errno, q->file.path);
      return;
    }
  if (fd < 0 || fstat (fd, &s) != 0 || !S_ISREG (s.st_mode) || q->file.offset > INT64_MAX)
    {
      agent_close (&fd);
      agent_send_error (q->header.id, PRISM_WIRE_ERROR_TYPE, 0, "%.600s: is no regular file", q->file.path);
      return;
    }
  job = add (q);
  if (job == NULL)
    {
      close (fd);
      return;
    }
  job->fd = fd;
  job->offset = q->file.offset;
  job->left = q->file.length < INT64_MAX - job->offset ? q->file.length : INT64_MAX - job->offset;
  read_some (job);
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
start_write (const struct agent_request *q)
{
  struct agent_job *job;
  uint64_t random;

  if ((q->file.mode & ~01777u) != 0)
    {
      agent_send_error (q->header.id, PRISM_WIRE_ERROR_INVALID, 0, "mode %o: at most 1777", q->file.mode);
      return;
    }
  if ((q->file.flags & FLAG_PARENTS) != 0 && agent_path_make_parents (q->file.path) != 0)
    {
      agent_fail (q->header.id, errno, q->file.path);
      return;
    }
  job = add (q);
  if (job == NULL)
    return;
  job->folder = agent_path_parent (q->file.path, job->leaf);
  if (job->folder < 0)
    {
      agent_fail (job->id, errno, q->file.path);
      end (job);
      return;
    }
  if (!check_target (job, q))
    {
      end (job);
      return;
    }
  agent_random (&random, sizeof random);
  snprintf (job->temporary, sizeof job->temporary, ".prism-%016llx", (unsigned long long)random);
  job->fd = openat (job->folder, job->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (job->fd < 0)
    {
      agent_fail (job->id, errno, q->file.path);
      job->temporary[0] = 0;
      end (job);
    }
}

static void
finish_write (struct agent_job *job)
{
  if (fchmod (job->fd, job->mode) != 0 || renameat (job->folder, job->temporary, job->folder, job->leaf) != 0)
    agent_fail (job->id, errno, job->leaf);
  else
    {
      job->temporary[0] = 0;
      agent_send (PRISM_WIRE_DONE, 0, job->id, NULL, 0, -1);
    }
  end (job);
}

static void
write_some (struct agent_job *job, const struct agent_request *q)
{
  bool last = (q->header.flags & PRISM_WIRE_LAST) != 0;

  if (q->bytes.size > job->window)
    {
      agent_violation ("more data than it had credit for");
      return;
    }
  for (size_t done = 0; done < q->bytes.size;)
    {
      ssize_t n = write (job->fd, q->bytes.at + done, q->bytes.size - done);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        {
          agent_fail (job->id, n < 0 ? errno : EIO, job->leaf);
          end (job);
          return;
        }
      done += (size_t)n;
    }
  job->window -= (uint32_t)q->bytes.size;
  job->owed += (uint32_t)q->bytes.size;
  if (last)
    finish_write (job);
  else if (job->owed >= PRISM_WIRE_WINDOW / 4)
    {
      agent_send_credit (job->id, 3, job->owed);
      job->window += job->owed;
      job->owed = 0;
    }
}

/* --- what one call does ----------------------------------------------------------------- */

static void
do_stat (const struct agent_request *q)
{
  uint8_t payload[2 * PRISM_WIRE_MAX_PATH];
  struct prism_wire_writer w = prism_wire_write_to (payload, sizeof payload);
  char leaf[256], target[PRISM_WIRE_MAX_PATH + 1] = "";
  struct stat s;
  int folder = agent_path_parent (q->file.path, leaf), result;
  ssize_t n;

  /* "/" and what ends in ".." have no last component of their own. */
  if (folder < 0 && errno == EINVAL)
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
  agent_put_entry (&w, &s, "", target);
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
  int from = agent_path_parent (q->file.path, from_leaf), to = -1, result = -1;
  struct stat s;

  if (from >= 0)
    to = agent_path_parent (q->file.other, to_leaf);
  if (to >= 0 && (q->file.flags & FLAG_OVERWRITE) != 0)
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
  bool parents = (q->file.flags & FLAG_PARENTS) != 0;
  uint32_t mode = q->file.mode != 0 ? q->file.mode : 0755;
  char leaf[256];
  struct stat s;
  int folder, error = 0;

  if ((mode & ~01777u) != 0)
    {
      agent_send_error (q->header.id, PRISM_WIRE_ERROR_INVALID, 0, "mode %o: at most 1777", mode);
      return;
    }
  if (parents && agent_path_make_parents (q->file.path) != 0)
    {
      answer (q, errno);
      return;
    }
  folder = agent_path_parent (q->file.path, leaf);
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
  int folder = agent_path_parent (q->file.path, leaf), result = -1;

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
  if (result != 0 && (q->file.flags & FLAG_RECURSIVE) != 0 && (errno == ENOTEMPTY || errno == EEXIST))
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

/* --- requests --------------------------------------------------------------------------- */

static void
start_worker (const struct agent_request *q, int *fds)
{
  struct agent_job *job = add (q);

  if (job == NULL)
    return;
  if (!agent_worker_ask (job, q, fds))
    end (job);
}

void
agent_file_request (const struct agent_request *q, int *fds)
{
  switch (q->header.type)
    {
    case PRISM_WIRE_READ:
      start_read (q);
      break;
    case PRISM_WIRE_WRITE:
      start_write (q);
      break;
    case PRISM_WIRE_STAT:
      do_stat (q);
      break;
    case PRISM_WIRE_RENAME:
      do_rename (q);
      break;
    case PRISM_WIRE_MKDIR:
      do_mkdir (q);
      break;
    case PRISM_WIRE_REMOVE:
      if (do_remove (q))
        start_worker (q, fds);
      break;
    default:
      start_worker (q, fds);
      break;
    }
}

bool
agent_file_continue (const struct agent_request *q)
{
  struct agent_job *job = find (q->header.id);

  if (job == NULL)
    return false;
  switch (q->header.type)
    {
    case PRISM_WIRE_DATA:
      if (job->type == PRISM_WIRE_WRITE)
        write_some (job, q);
      else if (job->in.stream != 3)
        agent_violation ("data for what takes none");
      else if (!agent_sink_push (&job->in, job->id, q->bytes.at, q->bytes.size))
        agent_violation ("more data than it had credit for");
      else if (q->header.flags & PRISM_WIRE_LAST)
        agent_sink_end (&job->in);
      break;
    case PRISM_WIRE_CREDIT:
      if (!agent_source_credit (&job->source, q->credit.bytes))
        agent_violation ("more credit than may be");
      break;
    case PRISM_WIRE_CANCEL:
      agent_send_error (job->id, PRISM_WIRE_ERROR_CANCELLED, 0, "cancelled");
      end (job);
      break;
    default:
      break;
    }
  return true;
}

static void
results_ready (void *data, short events)
{
  struct agent_job *job = data;

  if (!job->over && agent_worker_relay (job))
    end (job);
}

static void
sink_ready (void *data, short events)
{
  struct agent_job *job = data;

  if (!job->over)
    agent_sink_flush (&job->in, job->id);
}

static unsigned
count_workers (void)
{
  unsigned count = 0;

  for (struct agent_job *job = jobs; job != NULL; job = job->next)
    count += job->pid != 0;
  return count;
}

static void
start_oldest (void)
{
  struct agent_job *oldest = NULL;

  for (struct agent_job *job = jobs; job != NULL; job = job->next)
    if (job->waiting && !job->over)
      oldest = job;
  if (oldest != NULL && count_workers () < AGENT_MAX_WORKERS)
    agent_worker_start (oldest);
}

void
agent_files_watch (void)
{
  start_oldest ();
  for (struct agent_job **link = &jobs, *job; (job = *link) != NULL;)
    {
      if (job->over && job->pid == 0)
        {
          *link = job->next;
          free (job);
          continue;
        }
      link = &job->next;
      if (job->over)
        continue;
      if (job->waiting)
        agent_wake_at (count_workers () < AGENT_MAX_WORKERS ? agent.now : AGENT_NEVER);
      if (job->type == PRISM_WIRE_READ)
        read_some (job);
      if (job->in.held != NULL)
        agent_watch (job->in.fd, POLLOUT, sink_ready, job);
      /* What is complete and waited for credit or room may go now; else the pipe tells. */
      if (agent_worker_holds (job) && agent_worker_relay (job))
        end (job);
      else if (!agent_worker_holds (job) && agent_channel_has_room ())
        agent_watch (job->results, POLLIN, results_ready, job);
    }
}

void
agent_files_disconnect (void)
{
  for (struct agent_job *job = jobs; job != NULL; job = job->next)
    if (!job->over)
      end (job);
}
