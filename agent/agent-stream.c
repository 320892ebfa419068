/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The credit of one stream, and what came from the host faster than a pipe
 * takes it. What is held never exceeds the window: the host has no credit for more. */
#include "agent-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

bool
agent_source_credit (struct agent_source *source, uint32_t bytes)
{
  source->credit += bytes;
  return source->credit <= PRISM_WIRE_MAX_CREDIT;
}

void
agent_sink_init (struct agent_sink *sink, int fd, uint8_t stream)
{
  *sink = (struct agent_sink){ .fd = fd, .stream = stream, .window = PRISM_WIRE_WINDOW };
  if (fd >= 0)
    fcntl (fd, F_SETFL, fcntl (fd, F_GETFL) | O_NONBLOCK);
}

static void
consumed (struct agent_sink *sink, uint32_t id, size_t bytes)
{
  sink->owed += (uint32_t)bytes;
  if (sink->owed < PRISM_WIRE_WINDOW / 4 || sink->ends || id == 0)
    return;
  agent_send_credit (id, sink->stream, sink->owed);
  sink->window += sink->owed;
  sink->owed = 0;
}

/* The reader is gone or the bytes are for nobody: silently dropped. */
static void
drop (struct agent_sink *sink)
{
  agent_close (&sink->fd);
  free (sink->held);
  sink->held = NULL;
  sink->size = sink->at = 0;
}

static size_t
put (struct agent_sink *sink, const uint8_t *bytes, size_t size)
{
  size_t done = 0;

  if (sink->pending)
    return 0;
  while (done < size && sink->fd >= 0)
    {
      ssize_t n = write (sink->fd, bytes + done, size - done);
      if (n > 0)
        done += (size_t)n;
      else if (n < 0 && errno == EINTR)
        continue;
      else if (n < 0 && errno == EAGAIN)
        break;
      else
        {
          drop (sink);
          return size;
        }
    }
  return sink->fd < 0 ? size : done;
}

/* A terminal has no end of file; its line discipline has a character for it. */
static void
finish (struct agent_sink *sink)
{
  struct termios terminal;

  if (sink->pty && sink->fd >= 0 && tcgetattr (sink->fd, &terminal) == 0 && (terminal.c_lflag & ICANON) != 0
      && write (sink->fd, &terminal.c_cc[VEOF], 1) < 0)
    sink->ends = true;
  drop (sink);
}

bool
agent_sink_push (struct agent_sink *sink, uint32_t id, const uint8_t *bytes, size_t size)
{
  size_t done = 0;

  if (size > sink->window || sink->ends)
    return false;
  sink->window -= (uint32_t)size;
  if (sink->held == NULL)
    done = put (sink, bytes, size);
  if (done < size)
    {
      if (sink->held == NULL)
        sink->held = malloc (PRISM_WIRE_WINDOW);
      if (sink->held == NULL)
        {
          drop (sink);
          return true;
        }
      if (sink->at > 0)
        memmove (sink->held, sink->held + sink->at, sink->size - sink->at);
      sink->size -= sink->at;
      sink->at = 0;
      memcpy (sink->held + sink->size, bytes + done, size - done);
      sink->size += (uint32_t)(size - done);
    }
  consumed (sink, id, done);
  return true;
}

void
agent_sink_end (struct agent_sink *sink)
{
  sink->ends = true;
  if (sink->held == NULL)
    finish (sink);
}

void
agent_sink_flush (struct agent_sink *sink, uint32_t id)
{
  size_t done;

  if (sink->held == NULL)
    return;
  done = put (sink, sink->held + sink->at, sink->size - sink->at);
  consumed (sink, id, done);
  if (sink->held == NULL)
    return;
  sink->at += (uint32_t)done;
  if (sink->at < sink->size)
    return;
  free (sink->held);
  sink->held = NULL;
  sink->size = sink->at = 0;
  if (sink->ends)
    finish (sink);
}

void
agent_sink_clear (struct agent_sink *sink)
{
  drop (sink);
}
