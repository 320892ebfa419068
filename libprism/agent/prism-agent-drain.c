/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a finished command's children still write: read and thrown away, because a
 * closed pipe would end them; slowly, because a flood must cost them, not us. */
#include "prism-agent-exec-private.h"

#include "prism-fd-private.h"

#define PIECE   (16u * 1024u)
#define REST_US (20 * 1000) /* after a read that found all it asked for */
/* One process inside can hold the pipes of every command that ever ran there: of
 * more than these, the host's end is closed. */
#define MAX_DRAINS 128

typedef struct
{
  PrismAgentJob job; /* first */
  PrismAgentChannel *channel;
  gint *drains; /* the channel's count; atomic */
  PrismAgentWatch watch;
  int fd;
} Drain;

static gboolean
drain_step (PrismAgentJob *job, gint64 now)
{
  Drain *self = (Drain *)job;
  guint8 bytes[PIECE];
  gboolean over = prism_agent_channel_get_end (job->channel, NULL) != PRISM_AGENT_END_NONE;
  ssize_t n = -1;
  if (!over && (self->watch.ready != 0 || now >= job->deadline))
    {
      n = read (self->fd, bytes, sizeof bytes);
      over = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    }
  self->watch.ready = 0;
  gboolean rests = n == (ssize_t)sizeof bytes;
  prism_agent_watch_set (&self->watch, job, self->fd, over || rests ? 0 : EPOLLIN);
  job->deadline = rests ? now + REST_US : G_MAXINT64;
  return !over;
}

static void
drain_free (PrismAgentJob *job)
{
  Drain *self = (Drain *)job;
  prism_clear_fd (&self->fd);
  g_atomic_int_add (self->drains, -1);
  prism_agent_channel_unref (self->channel);
  g_free (self);
}

void
prism_agent_channel_drain (PrismAgentChannel *channel, int fd)
{
  gint *drains = prism_agent_channel_get_drains (channel);
  if (g_atomic_int_add (drains, 1) >= MAX_DRAINS)
    {
      g_atomic_int_add (drains, -1);
      prism_clear_fd (&fd);
      return;
    }
  Drain *self = g_new0 (Drain, 1);
  self->channel = prism_agent_channel_ref (channel);
  self->drains = drains;
  prism_agent_job_init (&self->job, drain_step, drain_free);
  self->fd = fd;
  if (!prism_agent_channel_add_job (channel, &self->job, NULL))
    prism_agent_job_unref (&self->job);
}
