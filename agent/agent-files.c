/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file requests that are under way, and who does them: the loop, what is short and
 * cannot hang; else a forked worker. */
#include "agent-job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

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

struct agent_job *
agent_job_add (const struct agent_request *q)
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
void
agent_job_end (struct agent_job *job)
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

/* --- requests --------------------------------------------------------------------------- */

static void
start_worker (const struct agent_request *q, int *fds)
{
  struct agent_job *job = agent_job_add (q);

  if (job == NULL)
    return;
  if (!agent_worker_ask (job, q, fds))
    agent_job_end (job);
}

void
agent_file_request (const struct agent_request *q, int *fds)
{
  /* The others have a worker anyway. */
  if (agent_files_may_hang ())
    {
      start_worker (q, fds);
      return;
    }
  switch (q->header.type)
    {
    case PRISM_WIRE_READ:
      agent_read_start (q);
      break;
    case PRISM_WIRE_WRITE:
      agent_write_start (q);
      break;
    case PRISM_WIRE_STAT:
    case PRISM_WIRE_RENAME:
    case PRISM_WIRE_MKDIR:
    case PRISM_WIRE_REMOVE:
      if (!agent_entry_request (q))
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
      if (job->type == PRISM_WIRE_WRITE && job->work == NULL)
        agent_write_some (job, q);
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
      agent_job_end (job);
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
    agent_job_end (job);
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
      if (job->fd >= 0 && job->type == PRISM_WIRE_READ)
        agent_read_some (job);
      if (job->in.held != NULL)
        agent_watch (job->in.fd, POLLOUT, sink_ready, job);
      /* What is complete and waited for credit or room may go now; else the pipe tells. */
      if (agent_worker_holds (job) && agent_worker_relay (job))
        agent_job_end (job);
      else if (!agent_worker_holds (job) && agent_channel_has_room ())
        agent_watch (job->results, POLLIN, results_ready, job);
    }
}

void
agent_files_disconnect (void)
{
  for (struct agent_job *job = jobs; job != NULL; job = job->next)
    if (!job->over)
      agent_job_end (job);
}
