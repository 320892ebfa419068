/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Forked workers for what walks trees. A worker has what the agent has, inside
 * the same boundary, and only the descriptors of its own request; its results
 * come by a pipe and are sent by the agent under the stream's credit. A command
 * may kill it: then the request fails. */
#include "agent-job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RECORD (AGENT_RECORD_HEADER + AGENT_BULK)

static int result_pipe = -1;

/* --- in the agent ---------------------------------------------------------------------- */

bool
agent_worker_ask (struct agent_job *job, const struct agent_request *q, int *fds)
{
  const char *path = agent_path (q->file.path);
  size_t n = strlen (path) + 1, other = q->file.other != NULL ? strlen (q->file.other) + 1 : 1;
  struct agent_work *work = malloc (sizeof *work + n + other);

  if (work == NULL)
    {
      agent_fail (job->id, ENOMEM, q->file.path);
      return false;
    }
  *work = (struct agent_work){
    .type = q->header.type,
    .flags = q->file.flags,
    .mode = q->file.mode,
    .entries = q->file.entries,
    .bytes = q->file.bytes,
    .offset = q->file.offset,
    .length = q->file.length,
    .context = q->file.context,
    .file_bytes = q->file.file_bytes,
    .line_bytes = q->file.line_bytes,
    .fd = fds[0],
  };
  fds[0] = -1;
  work->path = memcpy (work->text, path, n);
  work->other = memcpy (work->text + n, q->file.other != NULL ? q->file.other : "", other);
  job->work = work;
  job->waiting = true;
  /* What the host sends before its turn is held; it has no credit for more. */
  if ((work->type == PRISM_WIRE_TREE_IN && work->fd < 0) || work->type == PRISM_WIRE_WRITE)
    {
      agent_sink_init (&job->in, -1, 3);
      job->in.pending = true;
    }
  return true;
}

static void
close_range_of (unsigned from, unsigned to)
{
  if (from > to || syscall (SYS_close_range, from, to, 0) == 0)
    return;
  for (unsigned fd = from; fd <= to && fd < 4096; fd++)
    close ((int)fd);
}

/* Other requests' and commands' descriptors are none of its business. */
static void
keep_only (const int *fds, unsigned count)
{
  unsigned from = 3;

  for (;;)
    {
      int next = -1;
      for (unsigned i = 0; i < count; i++)
        if (fds[i] >= (int)from && (next < 0 || fds[i] < next))
          next = fds[i];
      if (next < 0)
        break;
      close_range_of (from, (unsigned)next - 1);
      from = (unsigned)next + 1;
    }
  close_range_of (from, ~0U);
}

bool
agent_in_worker (void)
{
  return result_pipe >= 0;
}

/* What the loop does where nothing can hang. */
static void
work_on_one (const struct agent_work *work, int in)
{
  const struct agent_request q = { .header = { .type = work->type, .id = 1 },
                                   .file = { .path = work->path,
                                             .other = work->other,
                                             .mode = work->mode,
                                             .flags = work->flags,
                                             .offset = work->offset,
                                             .length = work->length,
                                             .entries = work->entries } };

  if (work->type == PRISM_WIRE_READ)
    agent_work_read (&q);
  else if (work->type == PRISM_WIRE_WRITE)
    agent_work_write (&q, in);
  else if (!agent_entry_request (&q))
    agent_work_remove (work);
}

__attribute__ ((noreturn)) static void
work_here (const struct agent_work *work, int results, int in)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid () != agent.pid)
    _exit (1); /* it died before this was asked for */
  prctl (PR_SET_NAME, "prism-files", 0, 0, 0);
  keep_only ((const int[]){ results, in, work->fd }, 3);
  result_pipe = results;
  switch (work->type)
    {
    case PRISM_WIRE_LIST:
      agent_work_list (work);
      break;
    case PRISM_WIRE_READ:
    case PRISM_WIRE_WRITE:
    case PRISM_WIRE_STAT:
    case PRISM_WIRE_RENAME:
    case PRISM_WIRE_MKDIR:
    case PRISM_WIRE_REMOVE:
      work_on_one (work, in);
      break;
    case PRISM_WIRE_SEARCH:
      agent_work_search (work);
      break;
    case PRISM_WIRE_TREE_OUT:
      agent_work_pack (work);
      break;
    default:
      agent_work_unpack (work, in >= 0 ? in : work->fd);
      break;
    }
  _exit (0);
}

void
agent_worker_start (struct agent_job *job)
{
  int results[2] = { -1, -1 }, in[2] = { -1, -1 };
  bool framed_in = job->in.stream == 3;

  job->waiting = false;
  agent_go_anywhere ();
  job->record = malloc (RECORD);
  if (job->record == NULL || pipe2 (results, O_CLOEXEC) != 0 || (framed_in && pipe2 (in, O_CLOEXEC) != 0)
      || (job->pid = fork ()) < 0)
    {
      int error = errno;
      agent_close (&results[0]);
      agent_close (&results[1]);
      agent_close (&in[0]);
      agent_close (&in[1]);
      job->pid = 0;
      agent_send_error (job->id, error == EAGAIN ? PRISM_WIRE_ERROR_NO_PROCESS : agent_error_of (error), error,
                        "no worker can be made: %s", strerror (error));
      agent_worker_stop (job);
      job->over = true;
      return;
    }
  if (job->pid == 0)
    work_here (job->work, results[1], in[0]);
  close (results[1]);
  job->results = results[0];
  fcntl (job->results, F_SETFL, O_RDONLY | O_NONBLOCK);
  agent_close (&job->work->fd);
  if (framed_in)
    {
      close (in[0]);
      job->in.fd = in[1];
      job->in.pending = false;
      fcntl (in[1], F_SETFL, O_WRONLY | O_NONBLOCK);
      if (job->in.held == NULL && job->in.ends)
        agent_close (&job->in.fd);
    }
}

void
agent_worker_stop (struct agent_job *job)
{
  if (job->pid > 0 && !job->over)
    kill (job->pid, SIGKILL);
  agent_close (&job->results);
  agent_sink_clear (&job->in);
  if (job->work != NULL)
    agent_close (&job->work->fd);
  free (job->work);
  free (job->record);
  job->work = NULL;
  job->record = NULL;
  job->waiting = false;
}

/* One record: u32 size, u8 type, u8 last, u16 zero, bytes. */
static bool
send_record (struct agent_job *job, size_t size)
{
  uint8_t type = job->record[4];
  bool last = job->record[5] != 0;

  if (type == PRISM_WIRE_DATA)
    job->source.credit -= size;
  job->have = 0;
  if (size > 0 || last || type == PRISM_WIRE_DONE)
    agent_send (type, last && (type == PRISM_WIRE_DATA || type == PRISM_WIRE_ENTRIES) ? PRISM_WIRE_LAST : 0, job->id,
                job->record + AGENT_RECORD_HEADER, size, -1);
  return last;
}

/* What of the current record is there to have. */
static size_t
record_size (const struct agent_job *job)
{
  struct prism_wire_reader r = prism_wire_read_from (job->record, 4);

  return AGENT_RECORD_HEADER + (job->have >= AGENT_RECORD_HEADER ? prism_wire_u32 (&r) : 0);
}

bool
agent_worker_holds (const struct agent_job *job)
{
  return job->record != NULL && job->have >= AGENT_RECORD_HEADER && job->have == record_size (job);
}

bool
agent_worker_relay (struct agent_job *job)
{
  for (unsigned turn = 0; turn < 32 && job->results >= 0 && agent_channel_has_room (); turn++)
    {
      size_t want = record_size (job);
      ssize_t n;

      if (agent_worker_holds (job))
        {
          if (job->record[4] == PRISM_WIRE_DATA && job->source.credit < want - AGENT_RECORD_HEADER)
            return false;
          if (send_record (job, want - AGENT_RECORD_HEADER))
            return true;
          continue;
        }
      n = want > RECORD ? 0 : read (job->results, job->record + job->have, want - job->have);
      if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
      if (n <= 0)
        {
          agent_send_error (job->id, PRISM_WIRE_ERROR_FAILED, 0, "the worker that did this was killed");
          return true;
        }
      job->have += (size_t)n;
    }
  return false;
}

/* --- in the worker --------------------------------------------------------------------------- */

void *
agent_worker_memory (size_t size)
{
  void *memory = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  if (memory == MAP_FAILED)
    agent_result_error (PRISM_WIRE_ERROR_LIMIT, ENOMEM, "no memory");
  return memory;
}

void
agent_write_all (int fd, const void *bytes, size_t size)
{
  const uint8_t *at = bytes;

  while (size > 0)
    {
      ssize_t n = write (fd, at, size);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        {
          /* The reader of a tree is gone; the agent itself is never. */
          if (fd != result_pipe)
            agent_result_error (PRISM_WIRE_ERROR_FAILED, errno, "the stream cannot be written: %s", strerror (errno));
          _exit (1);
        }
      at += n;
      size -= (size_t)n;
    }
}

void
agent_result (uint8_t type, bool last, const void *bytes, size_t size)
{
  uint8_t record[AGENT_RECORD_HEADER];
  struct prism_wire_writer w = prism_wire_write_to (record, sizeof record);

  prism_wire_put (&w, size, 4);
  prism_wire_put (&w, type, 1);
  prism_wire_put (&w, last, 1);
  prism_wire_put (&w, 0, 2);
  agent_write_all (result_pipe, record, sizeof record);
  agent_write_all (result_pipe, bytes, size);
}

void
agent_result_done (uint64_t entries, uint64_t bytes)
{
  uint8_t payload[16];
  struct prism_wire_writer w = prism_wire_write_to (payload, sizeof payload);

  prism_wire_put (&w, entries, 8);
  prism_wire_put (&w, bytes, 8);
  agent_result (PRISM_WIRE_DONE, true, payload, sizeof payload);
}

void
agent_result_error (enum prism_wire_error code, int error, const char *format, ...)
{
  uint8_t payload[PRISM_WIRE_MAX_PATH + 400];
  char text[PRISM_WIRE_MAX_PATH + 300];
  struct prism_wire_writer w = prism_wire_write_to (payload, sizeof payload);
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (text, sizeof text, format, arguments);
  va_end (arguments);
  prism_wire_put (&w, code, 4);
  prism_wire_put (&w, (uint32_t)error, 4);
  prism_wire_put_str (&w, text);
  agent_result (PRISM_WIRE_ERROR, true, payload, (size_t)(w.at - w.start));
  _exit (0);
}

void
agent_result_errno (int error, const char *what)
{
  agent_result_error (agent_error_of (error), error, "%s: %s", what, strerror (error));
}
