/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command's output, from pipe or frame to what is kept and to who listens. A
 * chunk is read only after the handlers of the one before have run, so a slow
 * listener holds the command back instead of filling memory. */
#include "prism-agent-exec-private.h"

#include "prism-command-private.h"
#include "prism-fd-private.h"
#include "prism-operation-private.h"

#include <fcntl.h>

/* Most output is short: it is read into the stack and copied once. What fills
 * that gets large reads into their own buffer, and a larger pipe where it may. */
#define SMALL_READ (16u * 1024u)
#define LARGE_READ (256u * 1024u)
#define LARGE_PIPE (1024 * 1024)
/* One step reads no more than this of one stream: others wait. */
#define READS_A_STEP 8

/* In the caller's context: its handlers have run. */
static void
chunk_done (gpointer data)
{
  PrismAgentOutput *output = data;
  PrismAgentExec *self = output->exec;
  g_atomic_int_set (&output->paused, FALSE);
  if (self->waiter != NULL)
    return;
  prism_agent_channel_wake_job (self->channel, &self->job);
  prism_agent_job_unref (&self->job);
}

/* Takes @bytes. */
static void
emit (PrismAgentExec *self, PrismAgentOutput *output, GBytes *bytes)
{
  g_atomic_int_set (&output->paused, TRUE);
  if (self->waiter != NULL)
    prism_agent_waiter_pause (self->waiter);
  else
    prism_agent_job_ref (&self->job);
  prism_command_pass_output (self->command, PRISM_OPERATION (self->operation), output->stream, bytes, chunk_done,
                             output);
  g_bytes_unref (bytes);
}

/* --- chunk buffers that are used again when nobody kept them --- */

typedef struct
{
  PrismAgentExec *exec; /* a reference of the job's */
  guint8 *data;
} Lent;

static void
give_back (gpointer data)
{
  Lent *lent = data;
  guint8 *none = NULL;
  if (!g_atomic_pointer_compare_and_exchange (&lent->exec->spare, none, lent->data))
    g_free (lent->data);
  prism_agent_job_unref (&lent->exec->job);
  g_free (lent);
}

static guint8 *
take_spare (PrismAgentExec *self)
{
  guint8 *spare;
  do
    spare = g_atomic_pointer_get (&self->spare);
  while (spare != NULL && !g_atomic_pointer_compare_and_exchange (&self->spare, spare, NULL));
  return spare != NULL ? spare : g_malloc (LARGE_READ);
}

static GBytes *
lend (PrismAgentExec *self, guint8 *data, gsize size)
{
  Lent *lent = g_new (Lent, 1);
  *lent = (Lent){ self, data };
  prism_agent_job_ref (&self->job);
  return g_bytes_new_with_free_func (data, size, give_back, lent);
}

/* --- reading --- */

static gboolean
keeps (PrismAgentExec *self)
{
  return !self->over_limit && prism_command_get_capture (self->command);
}

static gboolean
listens (PrismAgentExec *self)
{
  return !self->over_limit && prism_command_has_output_handler (self->command);
}

static void
count (PrismAgentExec *self, PrismAgentOutput *output, gsize size)
{
  self->total += size;
  self->last_read = self->now;
  if (self->phase == PRISM_AGENT_EXEC_EXITED)
    output->read_after_exit += size;
  if (self->total > (guint64)prism_agent_sandbox_get_limits (self->sandbox)->max_output_bytes)
    self->over_limit = TRUE;
}

static void
read_failed (PrismAgentExec *self, PrismAgentOutput *output, ssize_t n)
{
  output->ready = FALSE;
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    {
      output->seen_empty = errno == EAGAIN && self->phase == PRISM_AGENT_EXEC_EXITED;
      return;
    }
  /* End of file; a terminal's master says EIO when its last slave is gone. That is not the
   * command's end: many close all three before they exit, and a SIGHUP would be theirs. */
  if (self->waiter == NULL)
    prism_agent_watch_set (&output->watch, &self->job, output->fd, 0);
  if (prism_command_get_pty_columns (self->command) > 0)
    self->master = g_steal_fd (&output->fd);
  else
    prism_clear_fd (&output->fd);
}

static void
grown (PrismAgentOutput *output)
{
  if (!output->bulk)
    fcntl (output->fd, F_SETPIPE_SZ, LARGE_PIPE); /* where the user's pages allow it */
  output->bulk = TRUE;
}

/* Straight into what is kept, or into a chunk that somebody listens for. */
static gboolean
read_large (PrismAgentExec *self, PrismAgentOutput *output)
{
  gboolean listening = listens (self), keeping = keeps (self);
  gsize room = LARGE_READ;
  guint8 *chunk = listening ? take_spare (self) : NULL, *to = chunk;
  if (to == NULL && keeping)
    to = prism_agent_capture_reserve (&output->capture, LARGE_READ, &room);
  guint8 *scratch = to == NULL ? take_spare (self) : NULL;
  room = MIN (room, LARGE_READ);
  ssize_t n = read (output->fd, to != NULL ? to : scratch, room);
  if (n > 0)
    {
      count (self, output, (gsize)n);
      if (keeping && chunk == NULL && scratch == NULL)
        prism_agent_capture_commit (&output->capture, (gsize)n);
      else if (keeping)
        prism_agent_capture_append (&output->capture, chunk != NULL ? chunk : scratch, (gsize)n);
      else
        output->capture.total += (guint64)n;
    }
  if (n > 0 && chunk != NULL)
    {
      emit (self, output, lend (self, chunk, (gsize)n));
      return (gsize)n == room;
    }
  guint8 *unused = chunk != NULL ? chunk : scratch;
  if (unused != NULL && !g_atomic_pointer_compare_and_exchange (&self->spare, NULL, unused))
    g_free (unused);
  if (n <= 0)
    read_failed (self, output, n);
  return (gsize)MAX (n, 0) == room;
}

static gboolean
read_small (PrismAgentExec *self, PrismAgentOutput *output)
{
  guint8 local[SMALL_READ];
  ssize_t n = read (output->fd, local, sizeof local);
  if (n <= 0)
    {
      read_failed (self, output, n);
      return FALSE;
    }
  count (self, output, (gsize)n);
  if (keeps (self))
    prism_agent_capture_append (&output->capture, local, (gsize)n);
  else
    output->capture.total += (guint64)n;
  if (listens (self))
    emit (self, output, g_bytes_new (local, (gsize)n));
  if ((gsize)n < sizeof local)
    return FALSE;
  grown (output);
  return TRUE;
}

/* Frames that were dispatched to the ticket, then the credit for them. */
static void
take_frames (PrismAgentExec *self, PrismAgentOutput *output)
{
  PrismAgentCall *call = &self->ticket->call;
  guint stream = output->stream == PRISM_STREAM_STDOUT ? 1 : 2;
  if (output->owed > 0)
    {
      g_auto (PrismAgentFrame) frame = { 0 };
      prism_agent_frame_init (&frame, PRISM_WIRE_CREDIT, 0, 0);
      prism_agent_frame_put (&frame, stream, 1);
      prism_agent_frame_put (&frame, output->owed, 4);
      prism_agent_channel_lock (self->channel);
      call->may_receive[stream] += (gint64)output->owed;
      prism_agent_channel_unlock (self->channel);
      output->owed = 0;
      prism_agent_channel_send (self->channel, &frame, self->ticket);
    }
  prism_agent_channel_lock (self->channel);
  PrismAgentInbox inbox = call->in[stream - 1];
  call->in[stream - 1] = (PrismAgentInbox){ 0 };
  prism_agent_channel_unlock (self->channel);
  if (inbox.size == 0)
    {
      prism_agent_inbox_clear (&inbox);
      return;
    }
  count (self, output, inbox.size);
  output->owed = inbox.size;
  if (keeps (self))
    prism_agent_capture_append (&output->capture, inbox.data, inbox.size);
  else
    output->capture.total += inbox.size;
  if (listens (self))
    emit (self, output, g_bytes_new_take (inbox.data, inbox.size));
  else
    prism_agent_inbox_clear (&inbox);
}

static gboolean
framed_pending (PrismAgentExec *self, PrismAgentOutput *output)
{
  prism_agent_channel_lock (self->channel);
  gboolean pending = output->owed > 0 || self->ticket->call.in[output->stream - 1].size > 0;
  prism_agent_channel_unlock (self->channel);
  return pending;
}

static void
read_output (PrismAgentExec *self, PrismAgentOutput *output)
{
  if (self->in.framed)
    {
      for (guint i = 0; i < READS_A_STEP && !g_atomic_int_get (&output->paused) && framed_pending (self, output); i++)
        take_frames (self, output);
      return;
    }
  for (guint i = 0; i < READS_A_STEP && output->fd >= 0 && output->ready; i++)
    {
      if (g_atomic_int_get (&output->paused))
        return;
      gboolean full = output->bulk ? read_large (self, output) : read_small (self, output);
      /* Before the exit one read is enough: the next poll tells of more. */
      if (!full && self->phase != PRISM_AGENT_EXEC_EXITED)
        output->ready = FALSE;
    }
}

void
prism_agent_exec_read (PrismAgentExec *self)
{
  for (guint i = 0; i < 2; i++)
    read_output (self, &self->out[i]);
}

gboolean
prism_agent_exec_drain (PrismAgentExec *self)
{
  gboolean drained = TRUE;
  for (guint i = 0; i < 2; i++)
    {
      PrismAgentOutput *output = &self->out[i];
      if (self->in.framed)
        {
          read_output (self, output);
          drained = drained && !g_atomic_int_get (&output->paused) && !framed_pending (self, output);
          continue;
        }
      if (output->fd < 0)
        {
          drained = drained && !g_atomic_int_get (&output->paused);
          continue;
        }
      output->ready = output->ready || !output->seen_empty;
      read_output (self, output);
      gboolean all = output->fd < 0 || output->seen_empty || output->read_after_exit >= LARGE_PIPE;
      drained = drained && all && !g_atomic_int_get (&output->paused);
    }
  return drained;
}

gboolean
prism_agent_output_wants (const PrismAgentOutput *output)
{
  return output->fd >= 0 && !output->ready && !g_atomic_int_get (&output->paused);
}
