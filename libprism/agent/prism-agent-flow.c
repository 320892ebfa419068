/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Carries a process's streams where the caller's end is a pipe of ours: a
 * terminal's master must not be handed out (it is the sandbox's descriptor, and
 * its end of file is an error), and frames have to become something to read. */
#include "prism-agent-process-private.h"

#include "prism-fd-private.h"

#include <errno.h>
#include <fcntl.h>

#define PIECE (16u * 1024u)
#define TURNS 16

static void
close_from (PrismAgentChild *child, PrismAgentFlow *flow)
{
  if (flow->from >= 0)
    prism_agent_watch_set (&flow->from_watch, &child->job, flow->from, 0);
  prism_clear_fd (&flow->from);
}

static void
close_to (PrismAgentChild *child, PrismAgentFlow *flow)
{
  if (flow->to >= 0)
    prism_agent_watch_set (&flow->to_watch, &child->job, flow->to, 0);
  prism_clear_fd (&flow->to);
}

static void
flow_init (PrismAgentFlow *flow, guint stream, int from, int to)
{
  flow->stream = stream;
  flow->from = from;
  flow->to = to;
  flow->inbox = from < 0;
  flow->frames = to < 0;
  flow->open = TRUE;
  if (from >= 0)
    fcntl (from, F_SETFL, O_NONBLOCK);
  if (to >= 0)
    fcntl (to, F_SETFL, O_NONBLOCK);
}

void
prism_agent_child_open_flows (PrismAgentChild *child, const int *theirs, int master)
{
  flow_init (&child->flows[0], 0, theirs[0], master >= 0 ? fcntl (master, F_DUPFD_CLOEXEC, 3) : -1);
  flow_init (&child->flows[1], 1, master >= 0 ? fcntl (master, F_DUPFD_CLOEXEC, 3) : -1, theirs[1]);
  if (theirs[2] >= 0)
    flow_init (&child->flows[2], 2, -1, theirs[2]);
}

void
prism_agent_child_close_flows (PrismAgentChild *child)
{
  for (guint i = 0; i < 3; i++)
    {
      PrismAgentFlow *flow = &child->flows[i];
      flow->open = FALSE;
      prism_clear_fd (&flow->from);
      prism_clear_fd (&flow->to);
      g_clear_pointer (&flow->data, g_free);
    }
}

static void
grant (PrismAgentChild *child, PrismAgentFlow *flow)
{
  g_auto (PrismAgentFrame) frame = { 0 };
  prism_agent_frame_init (&frame, PRISM_WIRE_CREDIT, 0, 0);
  prism_agent_frame_put (&frame, flow->stream, 1);
  prism_agent_frame_put (&frame, flow->owed, 4);
  prism_agent_channel_lock (child->channel);
  child->ticket->call.may_receive[flow->stream] += (gint64)flow->owed;
  prism_agent_channel_unlock (child->channel);
  flow->owed = 0;
  prism_agent_channel_send (child->channel, &frame, child->ticket);
}

/* Its source is over: says so at the other side. */
static void
end_flow (PrismAgentChild *child, PrismAgentFlow *flow)
{
  flow->open = FALSE;
  if (flow->frames && !child->pty)
    {
      g_auto (PrismAgentFrame) frame = { 0 };
      prism_agent_frame_init (&frame, PRISM_WIRE_IN_EOF, 0, 0);
      prism_agent_channel_send (child->channel, &frame, child->ticket);
    }
  close_from (child, flow);
  close_to (child, flow);
}

/* What a terminal is told before that: it may have to wait, like all that it is told. */
static void
fill_end (PrismAgentFlow *flow)
{
  flow->ended = TRUE;
  flow->size = prism_agent_end_of_tty (flow->last);
  flow->data = g_memdup2 (PRISM_AGENT_END_OF_TTY, flow->size);
}

/* FALSE: nothing to carry now. */
static gboolean
fill (PrismAgentChild *child, PrismAgentFlow *flow, gboolean over)
{
  if (flow->inbox)
    {
      prism_agent_channel_lock (child->channel);
      PrismAgentInbox *inbox = &child->ticket->call.in[flow->stream - 1];
      flow->data = inbox->data;
      flow->size = flow->owed = inbox->size;
      *inbox = (PrismAgentInbox){ 0 };
      prism_agent_channel_unlock (child->channel);
      if (flow->size == 0)
        g_clear_pointer (&flow->data, g_free);
      if (flow->size == 0 && over)
        end_flow (child, flow);
      return flow->size > 0;
    }
  if (flow->ended)
    {
      end_flow (child, flow);
      return FALSE;
    }
  flow->data = g_malloc (PIECE);
  ssize_t n = read (flow->from, flow->data, PIECE);
  if (n > 0)
    {
      flow->size = (gsize)n;
      return TRUE;
    }
  gboolean later = n < 0 && (errno == EAGAIN || errno == EINTR);
  g_clear_pointer (&flow->data, g_free);
  if (later && !over)
    prism_agent_watch_set (&flow->from_watch, &child->job, flow->from, EPOLLIN);
  else if (flow->stream == 0 && child->pty)
    fill_end (flow);
  else
    end_flow (child, flow);
  return flow->size > 0;
}

/* How much went; 0 = not now; nobody takes it = all. */
static gsize
empty (PrismAgentChild *child, PrismAgentFlow *flow)
{
  gsize size = flow->size - flow->at;
  if (flow->frames)
    {
      prism_agent_channel_lock (child->channel);
      gsize n = MIN (size, (gsize)MAX (child->ticket->call.may_send, 0));
      child->ticket->call.may_send -= (gint64)n;
      prism_agent_channel_unlock (child->channel);
      if (n == 0)
        return 0;
      g_auto (PrismAgentFrame) frame = { 0 };
      prism_agent_frame_init (&frame, PRISM_WIRE_IN, 0, 0);
      prism_agent_frame_put_bytes (&frame, flow->data + flow->at, n);
      prism_agent_channel_send (child->channel, &frame, child->ticket);
      return n;
    }
  ssize_t n = flow->to >= 0 ? write (flow->to, flow->data + flow->at, size) : (ssize_t)size;
  if (n >= 0)
    return (gsize)n;
  if (errno == EAGAIN || errno == EINTR)
    {
      prism_agent_watch_set (&flow->to_watch, &child->job, flow->to, EPOLLOUT);
      return 0;
    }
  close_to (child, flow); /* the caller reads no more: it is read on and dropped */
  return size;
}

static void
carry (PrismAgentChild *child, PrismAgentFlow *flow, gboolean over)
{
  for (guint i = 0; i < TURNS && flow->open; i++)
    {
      if (flow->size == 0 && !fill (child, flow, over))
        return;
      if (flow->from >= 0)
        prism_agent_watch_set (&flow->from_watch, &child->job, flow->from, 0);
      gsize n = empty (child, flow);
      if (n == 0)
        return;
      flow->at += n;
      flow->last = flow->data[flow->at - 1];
      if (flow->at < flow->size)
        continue;
      flow->at = flow->size = 0;
      g_clear_pointer (&flow->data, g_free);
      if (flow->to >= 0)
        prism_agent_watch_set (&flow->to_watch, &child->job, flow->to, 0);
      if (flow->owed > 0)
        grant (child, flow);
    }
  if (flow->open)
    child->job.deadline = g_get_monotonic_time ();
}

gboolean
prism_agent_child_carry (PrismAgentChild *child, gboolean over)
{
  gboolean open = FALSE;
  for (guint i = 0; i < 3; i++)
    {
      PrismAgentFlow *flow = &child->flows[i];
      flow->from_watch.ready = flow->to_watch.ready = 0;
      if (over && i == 0 && flow->open)
        end_flow (child, flow);
      if (flow->open)
        carry (child, flow, over);
      open = open || flow->open;
    }
  return open;
}
