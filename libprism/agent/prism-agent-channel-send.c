/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sending, and what is kept because the agent does not take it now. */
#include "prism-agent-channel-struct-private.h"

#include "prism-fd-left.h"
#include "prism-sandbox-error.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

/* A peer that leaves this much unread has stopped to be one. */
#define MAX_PENDING (16u * 1024u * 1024u)
#define CONGESTED   (256u * 1024u)

static ssize_t
send_some (PrismAgentChannel *self, const guint8 *bytes, gsize size, const int *fds, guint n_fds)
{
  union
  {
    char bytes[CMSG_SPACE (PRISM_WIRE_MAX_FDS * sizeof (int))];
    struct cmsghdr align;
  } control;
  struct iovec part = { (guint8 *)bytes, size };
  struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
  if (n_fds > 0)
    {
      memset (&control, 0, sizeof control);
      message.msg_control = control.bytes;
      message.msg_controllen = CMSG_SPACE (n_fds * sizeof (int));
      struct cmsghdr *c = CMSG_FIRSTHDR (&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN (n_fds * sizeof (int));
      memcpy (CMSG_DATA (c), fds, n_fds * sizeof (int));
    }
  ssize_t n;
  do
    n = sendmsg (self->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  return n;
}

/* What cannot be sent is not the end yet: the agent may have said why it left. */
static void
sending_failed_locked (PrismAgentChannel *self)
{
  self->broken = TRUE;
  while (self->end == PRISM_AGENT_END_NONE)
    prism_agent_channel_read_locked (self);
}

void
prism_agent_channel_flush_locked (PrismAgentChannel *self)
{
  PrismAgentPending *first;
  while (self->end == PRISM_AGENT_END_NONE && (first = g_queue_peek_head (&self->pending)) != NULL)
    {
      gboolean fresh = first->sent == 0;
      ssize_t n =
          send_some (self, first->data + first->sent, first->size - first->sent, first->fds, fresh ? first->n_fds : 0);
      if (n < 0)
        {
          if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ETOOMANYREFS)
            sending_failed_locked (self);
          return;
        }
      first->sent += (gsize)n;
      self->pending_bytes -= (gsize)n;
      if (first->sent == first->size)
        prism_agent_pending_free (g_queue_pop_head (&self->pending));
    }
}

/* Keeps what the socket does not take now; the I/O thread sends it. */
static gboolean
keep_locked (PrismAgentChannel *self, const guint8 *bytes, gsize size, const int *fds, guint n_fds, GError **error)
{
  if (self->pending_bytes + size > MAX_PENDING)
    {
      prism_agent_channel_lose_locked (self, "the agent no longer reads what it is sent");
      return TRUE;
    }
  PrismAgentPending *pending = g_new0 (PrismAgentPending, 1);
  for (guint i = 0; i < n_fds; i++)
    {
      int fd = fcntl (fds[i], F_DUPFD_CLOEXEC, 3);
      if (fd < 0)
        {
          g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED,
                       "a descriptor cannot be kept for the agent: %s", g_strerror (errno));
          prism_agent_pending_free (pending);
          return FALSE;
        }
      pending->fds[pending->n_fds++] = fd;
    }
  if (!prism_agent_channel_start_io_locked (self, error))
    {
      prism_agent_pending_free (pending);
      return FALSE;
    }
  pending->data = g_memdup2 (bytes, size);
  pending->size = size;
  self->pending_bytes += size;
  g_queue_push_tail (&self->pending, pending);
  prism_agent_channel_rearm_locked (self);
  return TRUE;
}

/* Sends or keeps. FALSE only when nothing of it went out. */
static gboolean
send_locked (PrismAgentChannel *self, const PrismAgentFrame *frame, const int *fds, guint n_fds, GError **error)
{
  ssize_t n = 0;
  if (g_queue_is_empty (&self->pending))
    n = send_some (self, frame->data, frame->size, fds, n_fds);
  if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != ETOOMANYREFS)
    {
      sending_failed_locked (self);
      return TRUE;
    }
  n = MAX (n, 0);
  if ((gsize)n == frame->size)
    return TRUE;
  gboolean kept = keep_locked (self, frame->data + n, frame->size - (gsize)n, fds, n == 0 ? n_fds : 0, error);
  if (!kept && n > 0)
    prism_agent_channel_lose_locked (self, "a request was cut in the middle");
  return kept || n > 0;
}

gboolean
prism_agent_channel_send (PrismAgentChannel *self, PrismAgentFrame *frame, PrismAgentTicket *ticket)
{
  g_mutex_lock (&self->lock);
  gboolean alive = self->end == PRISM_AGENT_END_NONE;
  g_autoptr (GError) error = NULL;
  if (alive && (ticket == NULL || ticket->call.id != 0)
      && prism_agent_frame_seal (frame, ticket != NULL ? ticket->call.id : 0, 0)
      && !send_locked (self, frame, NULL, 0, &error))
    prism_agent_channel_lose_locked (self, "the agent does not read, and nobody can wait for it: %s", error->message);
  alive = self->end == PRISM_AGENT_END_NONE;
  prism_agent_channel_unlock_and_tell (self);
  return alive;
}

gboolean
prism_agent_channel_is_congested (PrismAgentChannel *self)
{
  g_mutex_lock (&self->lock);
  gboolean congested = self->pending_bytes > CONGESTED;
  g_mutex_unlock (&self->lock);
  return congested;
}

static gboolean
submit_locked (PrismAgentChannel *self,
               PrismAgentTicket *ticket,
               PrismAgentFrame *frame,
               const int *fds,
               guint n_fds,
               GError **error)
{
  if (self->end != PRISM_AGENT_END_NONE)
    {
      g_propagate_error (error, g_error_copy (self->error));
      return FALSE;
    }
  if (ticket->job != NULL && !prism_agent_channel_start_io_locked (self, error))
    return FALSE;
  /* One that came and could not be taken would be the end of all that goes on here. */
  if (prism_agent_call_brings_fd (&ticket->call) && !prism_fd_is_left ())
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT,
                   "no descriptor left for what the agent is to send: %s; raise the limit of open files (ulimit -n)",
                   g_strerror (errno));
      return FALSE;
    }
  if (!prism_agent_peer_expect (&self->peer, &ticket->call))
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT,
                   "%u requests and commands with processes left behind are alive; end some of them",
                   g_hash_table_size (self->peer.calls));
      return FALSE;
    }
  if (!prism_agent_frame_seal (frame, ticket->call.id, n_fds))
    {
      prism_agent_peer_forget (&self->peer, &ticket->call);
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT,
                   "the request is larger than %u KiB: shorten its arguments or environment",
                   PRISM_WIRE_MAX_PAYLOAD / 1024);
      return FALSE;
    }
  if (!send_locked (self, frame, fds, n_fds, error))
    {
      prism_agent_peer_forget (&self->peer, &ticket->call);
      return FALSE;
    }
  if (self->end != PRISM_AGENT_END_NONE)
    {
      /* Ended while it was being sent: it is not in the table any more. */
      g_propagate_error (error, g_error_copy (self->error));
      return FALSE;
    }
  if (ticket->job != NULL)
    {
      ticket->interest = TRUE;
      self->interest++;
      prism_agent_channel_hand_on_locked (self);
    }
  return TRUE;
}

gboolean
prism_agent_channel_submit (PrismAgentChannel *self,
                            PrismAgentTicket *ticket,
                            PrismAgentFrame *frame,
                            const int *fds,
                            guint n_fds,
                            GError **error)
{
  g_mutex_lock (&self->lock);
  ticket->channel = self;
  g_atomic_ref_count_inc (&ticket->refs); /* the table's */
  gboolean inside = self->end == PRISM_AGENT_END_NONE;
  gboolean submitted = submit_locked (self, ticket, frame, fds, n_fds, error);
  /* Where the channel ended meanwhile, the table's reference went with its table. */
  if (!submitted && !(inside && self->end != PRISM_AGENT_END_NONE))
    prism_agent_ticket_unref (ticket);
  prism_agent_channel_unlock_and_tell (self);
  return submitted;
}

/* --- all at once --- */

void
prism_agent_channel_look_at_clocks (PrismAgentChannel *self)
{
  g_mutex_lock (&self->lock);
  for (GList *l = self->jobs.head; l != NULL; l = l->next)
    prism_agent_channel_wake_job_locked (self, l->data);
  prism_agent_channel_wake_io_locked (self);
  prism_agent_channel_unlock_and_tell (self);
}

void
prism_agent_channel_tell_resumed (PrismAgentChannel *self, gint64 paused_us)
{
  g_mutex_lock (&self->lock);
  if (self->end == PRISM_AGENT_END_NONE)
    {
      g_auto (PrismAgentFrame) told = { 0 }, ping = { 0 };
      prism_agent_frame_init (&told, PRISM_WIRE_RESUMED, 0, 0);
      prism_agent_frame_put (&told, (guint64)MAX (paused_us, 0) / 1000, 8);
      prism_agent_frame_init (&ping, PRISM_WIRE_PING, 0, 0);
      prism_agent_frame_seal (&told, 0, 0);
      prism_agent_frame_seal (&ping, 0, 0);
      self->peer.pings++; /* whoever reads wakes by the answer */
      send_locked (self, &told, NULL, 0, NULL);
      send_locked (self, &ping, NULL, 0, NULL);
    }
  prism_agent_channel_unlock_and_tell (self);
}

static gboolean
is_command (const PrismAgentTicket *ticket)
{
  return ticket->call.type == PRISM_WIRE_EXEC || ticket->call.type == PRISM_WIRE_ATTACH;
}

guint
prism_agent_channel_count_commands (PrismAgentChannel *self)
{
  guint n = 0;
  GHashTableIter iter;
  gpointer call;
  g_mutex_lock (&self->lock);
  g_hash_table_iter_init (&iter, self->peer.calls);
  while (g_hash_table_iter_next (&iter, NULL, &call))
    n += is_command (call) ? 1 : 0;
  g_mutex_unlock (&self->lock);
  return n;
}

guint
prism_agent_channel_cancel_all (PrismAgentChannel *self, guint32 grace_ms)
{
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (guint32));
  GHashTableIter iter;
  gpointer call;
  g_mutex_lock (&self->lock);
  g_hash_table_iter_init (&iter, self->peer.calls);
  while (g_hash_table_iter_next (&iter, NULL, &call))
    if (is_command (call))
      g_array_append_val (ids, ((PrismAgentTicket *)call)->call.id);
  for (guint i = 0; i < ids->len && self->end == PRISM_AGENT_END_NONE; i++)
    {
      g_auto (PrismAgentFrame) frame = { 0 };
      prism_agent_frame_init (&frame, PRISM_WIRE_CANCEL, 0, 0);
      prism_agent_frame_put (&frame, grace_ms, 4);
      prism_agent_frame_seal (&frame, g_array_index (ids, guint32, i), 0);
      send_locked (self, &frame, NULL, 0, NULL);
    }
  prism_agent_channel_unlock_and_tell (self);
  return ids->len;
}
