/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sending and reading. Who may read when, and the trust model, are said
 * in prism-agent-channel-private.h. */
#include "prism-agent-channel-struct-private.h"

#include "prism-fd-private.h"
#include "prism-sandbox-error.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

/* A peer that leaves this much unread has stopped to be one. */
#define MAX_PENDING (16u * 1024u * 1024u)
#define CONGESTED   (256u * 1024u)
/* One turn of the leader reads no more often than this before it looks at its own pipes. */
#define READS_A_TURN 4

/* --- life --- */

PrismAgentChannel *
prism_agent_channel_new (int fd, gboolean passes_fds)
{
  PrismAgentChannel *self = g_new0 (PrismAgentChannel, 1);
  g_atomic_ref_count_init (&self->refs);
  g_mutex_init (&self->lock);
  self->fd = fd;
  self->passes_fds = passes_fds;
  self->epoll = -1;
  prism_agent_peer_init (&self->peer, passes_fds);
  g_queue_init (&self->pending);
  g_queue_init (&self->followers);
  g_queue_init (&self->jobs);
  g_queue_init (&self->runnable);
  int flags = fcntl (fd, F_GETFL);
  if (flags >= 0 && (flags & O_NONBLOCK) == 0)
    fcntl (fd, F_SETFL, flags | O_NONBLOCK);
  return self;
}

PrismAgentChannel *
prism_agent_channel_ref (PrismAgentChannel *self)
{
  g_atomic_ref_count_inc (&self->refs);
  return self;
}

static void
pending_free (PrismAgentPending *pending)
{
  for (guint i = 0; i < pending->n_fds; i++)
    close (pending->fds[i]);
  g_free (pending->data);
  g_free (pending);
}

static gboolean
free_call (gpointer id, gpointer call, gpointer user_data)
{
  prism_agent_ticket_unref (call);
  return TRUE;
}

void
prism_agent_channel_unref (PrismAgentChannel *self)
{
  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  g_queue_clear_full (&self->pending, (GDestroyNotify)pending_free);
  if (self->peer.calls != NULL)
    g_hash_table_foreach_remove (self->peer.calls, free_call, NULL);
  prism_agent_peer_clear (&self->peer);
  for (guint i = 0; i < PRISM_AGENT_SPARE_WAKES; i++)
    g_clear_pointer (&self->spare[i], prism_agent_wake_unref);
  if (self->lost_free != NULL)
    self->lost_free (self->lost_data);
  g_clear_error (&self->error);
  close (self->fd);
  g_mutex_clear (&self->lock);
  g_free (self);
}

void
prism_agent_channel_set_lost (PrismAgentChannel *self,
                              PrismAgentLostFunc func,
                              gpointer user_data,
                              GDestroyNotify free_data)
{
  g_mutex_lock (&self->lock);
  self->lost = func;
  self->lost_data = user_data;
  self->lost_free = free_data;
  g_mutex_unlock (&self->lock);
}

gint *
prism_agent_channel_get_drains (PrismAgentChannel *self)
{
  return &self->drains;
}

void
prism_agent_channel_lock (PrismAgentChannel *self)
{
  g_mutex_lock (&self->lock);
}

void
prism_agent_channel_unlock (PrismAgentChannel *self)
{
  prism_agent_channel_unlock_and_tell (self);
}

void
prism_agent_channel_unlock_and_tell (PrismAgentChannel *self)
{
  gboolean tell = self->lost_due && self->lost != NULL;
  self->lost_due = FALSE;
  if (tell)
    prism_agent_channel_ref (self);
  g_mutex_unlock (&self->lock);
  if (!tell)
    return;
  self->lost (self->error, self->lost_data);
  prism_agent_channel_unref (self);
}

/* --- tickets --- */

PrismAgentTicket *
prism_agent_ticket_new (enum prism_wire_type type)
{
  PrismAgentTicket *ticket = g_new0 (PrismAgentTicket, 1);
  prism_agent_call_init (&ticket->call, type);
  g_atomic_ref_count_init (&ticket->refs);
  return ticket;
}

void
prism_agent_ticket_unref (PrismAgentTicket *ticket)
{
  if (!g_atomic_ref_count_dec (&ticket->refs))
    return;
  prism_agent_call_clear (&ticket->call);
  g_free (ticket);
}

static void
drop_interest_locked (PrismAgentChannel *self, PrismAgentTicket *ticket)
{
  if (ticket->interest)
    self->interest--;
  ticket->interest = FALSE;
}

static void
tell_waiter_locked (PrismAgentChannel *self, PrismAgentWaiter *waiter)
{
  waiter->news = TRUE;
  if (waiter != self->leader && waiter->wake != NULL)
    prism_agent_wake_signal (waiter->wake);
}

static void
tell_owner_locked (PrismAgentChannel *self, PrismAgentTicket *ticket)
{
  ticket->news = TRUE;
  if (ticket->waiter != NULL)
    tell_waiter_locked (self, ticket->waiter);
  else if (ticket->job != NULL)
    prism_agent_channel_wake_job_locked (self, ticket->job);
}

static void
take_news (PrismAgentCall *call, enum prism_wire_type type, gpointer user_data)
{
  PrismAgentChannel *self = user_data;
  PrismAgentTicket *ticket = (PrismAgentTicket *)call;
  if (call == NULL)
    {
      for (GList *l = self->followers.head; l != NULL; l = l->next)
        tell_waiter_locked (self, l->data);
      if (self->leader != NULL)
        self->leader->news = TRUE;
      return;
    }
  gboolean abandoned = ticket->waiter == NULL && ticket->job == NULL;
  if (abandoned)
    {
      prism_agent_inbox_clear (&call->in[0]);
      prism_agent_inbox_clear (&call->in[1]);
    }
  tell_owner_locked (self, ticket);
  if (call->phase == PRISM_AGENT_PHASE_OVER)
    {
      drop_interest_locked (self, ticket);
      prism_agent_ticket_unref (ticket); /* the table's */
    }
}

/* --- the end --- */

void
prism_agent_channel_end_locked (PrismAgentChannel *self, PrismAgentEnd end, GError *error)
{
  if (self->end != PRISM_AGENT_END_NONE)
    {
      g_error_free (error);
      return;
    }
  self->end = end;
  self->error = error;
  self->lost_due = end == PRISM_AGENT_END_LOST;
  g_queue_clear_full (&self->pending, (GDestroyNotify)pending_free);
  self->pending_bytes = 0;
  /* Wakes whoever polls it, and tells the agent. */
  shutdown (self->fd, SHUT_RDWR);

  GHashTableIter iter;
  gpointer call;
  g_hash_table_iter_init (&iter, self->peer.calls);
  while (g_hash_table_iter_next (&iter, NULL, &call))
    {
      PrismAgentTicket *ticket = call;
      tell_owner_locked (self, ticket);
      drop_interest_locked (self, ticket);
      ticket->call.id = 0;
      g_hash_table_iter_remove (&iter);
      prism_agent_ticket_unref (ticket);
    }
  for (GList *l = self->followers.head; l != NULL; l = l->next)
    tell_waiter_locked (self, l->data);
  if (self->leader != NULL)
    self->leader->news = TRUE;
  for (GList *l = self->jobs.head; l != NULL; l = l->next)
    prism_agent_channel_wake_job_locked (self, l->data);
  prism_agent_channel_rearm_locked (self);
  prism_agent_channel_wake_io_locked (self); /* with no job left it need not linger */
}

static void G_GNUC_PRINTF (2, 3) lose_locked (PrismAgentChannel *self, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  prism_agent_channel_end_locked (self, PRISM_AGENT_END_LOST,
                                  g_error_new_valist (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST, format, args));
  va_end (args);
}

void
prism_agent_channel_end (PrismAgentChannel *self, PrismAgentEnd end, const GError *error)
{
  g_mutex_lock (&self->lock);
  prism_agent_channel_end_locked (self, end, g_error_copy (error));
  prism_agent_channel_unlock_and_tell (self);
}

void
prism_agent_channel_accuse (PrismAgentChannel *self, const char *what)
{
  g_mutex_lock (&self->lock);
  lose_locked (self, "the agent broke the protocol: %s", what);
  prism_agent_channel_unlock_and_tell (self);
}

gboolean
prism_agent_channel_hung_up (PrismAgentChannel *self)
{
  g_mutex_lock (&self->lock);
  gboolean hung_up = self->hung_up;
  g_mutex_unlock (&self->lock);
  return hung_up;
}

PrismAgentEnd
prism_agent_channel_get_end (PrismAgentChannel *self, GError **error)
{
  g_mutex_lock (&self->lock);
  PrismAgentEnd end = self->end;
  if (self->error != NULL && error != NULL && *error == NULL)
    *error = g_error_copy (self->error);
  g_mutex_unlock (&self->lock);
  return end;
}

/* --- reading --- */

static guint
take_control (struct msghdr *message, int *fds, guint most)
{
  guint n = 0;
  for (struct cmsghdr *c = CMSG_FIRSTHDR (message); c != NULL; c = CMSG_NXTHDR (message, c))
    {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
        continue;
      gsize count = (c->cmsg_len - CMSG_LEN (0)) / sizeof (int);
      for (gsize i = 0; i < count; i++)
        {
          int fd;
          memcpy (&fd, CMSG_DATA (c) + i * sizeof (int), sizeof fd);
          if (n < most)
            fds[n++] = fd;
          else
            close (fd);
        }
    }
  return n;
}

/* FALSE: nothing more to be had now. */
static gboolean
read_once_locked (PrismAgentChannel *self)
{
  union
  {
    char bytes[CMSG_SPACE (PRISM_WIRE_MAX_FDS * sizeof (int))];
    struct cmsghdr align;
  } control;
  gsize room;
  guint8 *to = prism_agent_peer_reserve (&self->peer, &room);
  struct iovec part = { to, room };
  struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
  if (self->passes_fds)
    {
      message.msg_control = control.bytes;
      message.msg_controllen = sizeof control.bytes;
    }
  ssize_t n;
  do
    n = recvmsg (self->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    {
      if (self->broken)
        {
          self->hung_up = TRUE;
          lose_locked (self, "the agent closed its connection");
        }
      return FALSE;
    }
  if (n <= 0)
    {
      int saved = errno;
      self->hung_up = self->end == PRISM_AGENT_END_NONE;
      if (n == 0 && self->peer.size > 0)
        lose_locked (self, "the agent broke the protocol: it ended in the middle of a frame");
      else if (n == 0 || saved == ECONNRESET)
        lose_locked (self, "the agent ended");
      else
        lose_locked (self, "the connection to the agent failed: %s", g_strerror (saved));
      return FALSE;
    }

  int fds[PRISM_WIRE_MAX_FDS];
  guint n_fds = take_control (&message, fds, PRISM_WIRE_MAX_FDS);
  const char *wrong = NULL;
  if ((message.msg_flags & MSG_CTRUNC) != 0)
    {
      wrong = self->passes_fds ? "descriptors that could not be taken" : "descriptors over a channel that takes none";
      for (guint i = 0; i < n_fds; i++)
        close (fds[i]);
    }
  else
    wrong = prism_agent_peer_commit (&self->peer, (gsize)n, fds, n_fds, take_news, self);
  if (wrong != NULL)
    lose_locked (self, wrong == self->peer.parting ? "the agent is lost: %s" : "the agent broke the protocol: %s",
                 wrong);
  return wrong == NULL && (gsize)n == room;
}

void
prism_agent_channel_read_locked (PrismAgentChannel *self)
{
  for (guint i = 0; i < READS_A_TURN && self->end == PRISM_AGENT_END_NONE; i++)
    if (!read_once_locked (self))
      return;
}

/* --- sending --- */

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
        pending_free (g_queue_pop_head (&self->pending));
    }
}

/* Keeps what the socket does not take now; the I/O thread sends it. */
static gboolean
keep_locked (PrismAgentChannel *self, const guint8 *bytes, gsize size, const int *fds, guint n_fds, GError **error)
{
  if (self->pending_bytes + size > MAX_PENDING)
    {
      lose_locked (self, "the agent no longer reads what it is sent");
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
          pending_free (pending);
          return FALSE;
        }
      pending->fds[pending->n_fds++] = fd;
    }
  if (!prism_agent_channel_start_io_locked (self, error))
    {
      pending_free (pending);
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
    lose_locked (self, "a request was cut in the middle");
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
    lose_locked (self, "the agent does not read, and nobody can wait for it: %s", error->message);
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
prism_agent_channel_look_at_clocks (PrismAgentChannel *self, gint64 resumed_us)
{
  g_mutex_lock (&self->lock);
  for (GList *l = self->jobs.head; l != NULL; l = l->next)
    prism_agent_channel_wake_job_locked (self, l->data);
  prism_agent_channel_wake_io_locked (self);
  if (resumed_us > 0 && self->end == PRISM_AGENT_END_NONE)
    {
      g_auto (PrismAgentFrame) told = { 0 }, ping = { 0 };
      prism_agent_frame_init (&told, PRISM_WIRE_RESUMED, 0, 0);
      prism_agent_frame_put (&told, (guint64)resumed_us / 1000, 8);
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
