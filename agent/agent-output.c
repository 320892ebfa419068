/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command's framed output: read by credit, so that one stream which nobody
 * reads stalls its own command and nothing else; of a kept process into a
 * bounded log first. */
#include "agent-command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READS          8u /* of one stream in one turn */
#define TERMINAL_HOLDS (64u * 1024u)
#define LEAST_LOG      (4u * 1024u)
#define USUAL_LOG      (1024u * 1024u)

/* --- logs ------------------------------------------------------------------------------ */

bool
agent_log_open (struct agent_log *log)
{
  uint64_t size = agent.settings.log_bytes != 0 ? agent.settings.log_bytes : USUAL_LOG;

  *log = (struct agent_log){ .size = size < LEAST_LOG ? LEAST_LOG : size };
  log->bytes = malloc (log->size);
  return log->bytes != NULL;
}

void
agent_log_append (struct agent_log *log, const uint8_t *bytes, size_t size)
{
  while (size > 0)
    {
      size_t at = log->end % log->size;
      size_t n = log->size - at < size ? log->size - at : size;
      memcpy (log->bytes + at, bytes, n);
      log->end += n;
      bytes += n;
      size -= n;
    }
  if (log->end - log->begin > log->size)
    log->begin = log->end - log->size;
}

uint64_t
agent_log_room (const struct agent_log *log)
{
  return log->size - (log->end - log->sent);
}

void
agent_log_send (struct agent_log *log, uint32_t id, struct agent_source *source)
{
  while (log->sent < log->end && source->credit > 0 && agent_channel_has_room ())
    {
      size_t at = log->sent % log->size, n = log->size - at;

      n = n < log->end - log->sent ? n : log->end - log->sent;
      n = n < source->credit ? n : source->credit;
      n = n < AGENT_BULK ? n : AGENT_BULK;
      agent_send (source->type, 0, id, log->bytes + at, n, -1);
      log->sent += n;
      source->credit -= n;
    }
}

/* --- reading --------------------------------------------------------------------------- */

/* Nobody will see it: after EXITED, over the cap, or for a host that gives no credit to what it ended. */
static bool
is_discarded (const struct agent_command *command, int i)
{
  return command->limited || (!command->keep && command->told_exited)
         || (!command->keep && command->cancelled && command->main_done && command->source[i].credit == 0);
}

static size_t
may_read (const struct agent_command *command, int i)
{
  uint64_t n = command->source[i].credit;

  if (command->source[i].fd < 0)
    return 0;
  if (is_discarded (command, i))
    return AGENT_BULK;
  if (command->keep)
    n = command->id == 0 ? AGENT_BULK : agent_log_room (&command->log[i]);
  else if (!agent_channel_has_room ())
    return 0;
  return n < AGENT_BULK ? n : AGENT_BULK;
}

static void
take (struct agent_command *command, int i, size_t n)
{
  bool discard = is_discarded (command, i);
  uint64_t total = command->bytes[0] + command->bytes[1];
  struct agent_source *source = &command->source[i];

  if (command->main_done && command->draining[i] <= n)
    command->drained[i] = true;
  else if (command->main_done)
    command->draining[i] -= n;
  if (discard)
    return;
  if (command->most_bytes != 0 && n > command->most_bytes - total)
    {
      n = command->most_bytes - total;
      command->limited = true;
    }
  command->bytes[i] += n;
  if (command->keep)
    agent_log_append (&command->log[i], agent.scratch, n);
  else if (n > 0)
    {
      agent_send (source->type, 0, command->id, agent.scratch, n, -1);
      source->credit -= n;
    }
  if (command->limited)
    agent_command_kill (command);
}

static void
pump (struct agent_command *command, int i)
{
  struct agent_source *source = &command->source[i];
  size_t want;

  for (unsigned turn = 0; turn < READS && (want = may_read (command, i)) > 0; turn++)
    {
      ssize_t n = read (source->fd, agent.scratch, want);

      agent.scratch_used = true;
      if (n > 0)
        {
          take (command, i, (size_t)n);
          continue;
        }
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0 && errno == EAGAIN)
        {
          command->drained[i] = command->main_done;
          break;
        }
      agent_close (&source->fd); /* its end; a terminal's is EIO */
    }
  if (command->keep && command->id != 0)
    agent_log_send (&command->log[i], command->id, source);
}

void
agent_command_pump (struct agent_command *command)
{
  /* STARTED, where it is wanted, comes first. */
  if (!command->framed || command->over || (command->tells && !command->started))
    return;
  for (int i = 0; i < 2; i++)
    pump (command, i);
}

void
agent_command_drain (struct agent_command *command)
{
  for (int i = 0; i < 2; i++)
    {
      int size = command->source[i].fd >= 0 ? fcntl (command->source[i].fd, F_GETPIPE_SZ) : 0;
      command->draining[i] = size > 0 ? (uint64_t)size : TERMINAL_HOLDS;
    }
}

bool
agent_command_is_drained (struct agent_command *command)
{
  for (int i = 0; i < 2; i++)
    {
      if (command->source[i].fd >= 0 && !command->drained[i])
        return false;
      if (command->keep && command->log[i].sent < command->log[i].end)
        return false;
    }
  return true;
}

static void
ready (void *data, short events)
{
  struct agent_command *command = data;

  agent_command_pump (command);
  agent_command_settle (command);
}

void
agent_command_watch_streams (struct agent_command *command)
{
  if (!command->framed || command->over || (command->tells && !command->started))
    return;
  if ((command->main_done && command->id != 0) || command->keep)
    agent_command_pump (command);
  if (command->main_done && command->id != 0)
    agent_command_settle (command);
  for (int i = 0; i < 2 && !command->over; i++)
    if (may_read (command, i) > 0)
      agent_watch (command->source[i].fd, POLLIN, ready, command);
}
