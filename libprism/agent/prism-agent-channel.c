/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Its life, its end, and reading. Who may read when, and the trust model, are said
 * in prism-agent-channel-private.h; sending is prism-agent-channel-send.c's. */
#include "prism-agent-channel-struct-private.h"

#include "prism-fd-left.h"
#include "prism-fd-private.h"
#include "prism-sandbox-error.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

/* One turn of the leader reads no more often than this before it looks at its own pipes. */
#define READS_A_TURN 4

void
prism_agent_set_no_fds (GError **error, const char *what)
{
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT,
               "no descriptors left for %s: %s; raise the limit of open files (ulimit -n)", what, g_strerror (errno));
}

/* --- life --- */

PrismAgentChannel *
prism_agent_channel_new (int fd, gboolean passes_fds)
{
  PrismAgentChannel *self = g_new0 (PrismAgentChannel, 1);
  g_atomic_ref_count_init (&self->refs);
  g_mutex_init (&self->lock);
  g_mutex_init (&self->unheard_lock);
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

void
prism_agent_pending_free (PrismAgentPending *pending)
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
  g_queue_clear_full (&self->pending, (GDestroyNotify)prism_agent_pending_free);
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
  g_mutex_clear (&self->unheard_lock);
  g_clear_pointer (&self->unheard, g_array_unref);
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
  if (ticket->last && call->exit.how == PRISM_WIRE_HOW_CODE && call->exit.flags == 0)
    self->leaves = TRUE;
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
  g_queue_clear_full (&self->pending, (GDestroyNotify)prism_agent_pending_free);
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

void
prism_agent_channel_lose_locked (PrismAgentChannel *self, const char *format, ...)
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
  prism_agent_channel_lose_locked (self, "the agent broke the protocol: %s", what);
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
          prism_agent_channel_lose_locked (self, "the agent closed its connection");
        }
      return FALSE;
    }
  if (n <= 0)
    {
      int saved = errno;
      self->hung_up = self->end == PRISM_AGENT_END_NONE;
      if (n == 0 && self->peer.size > 0)
        prism_agent_channel_lose_locked (self, "the agent broke the protocol: it ended in the middle of a frame");
      else if (n == 0 || saved == ECONNRESET)
        prism_agent_channel_lose_locked (self, "the agent ended");
      else
        prism_agent_channel_lose_locked (self, "the connection to the agent failed: %s", g_strerror (saved));
      return FALSE;
    }

  int fds[PRISM_WIRE_MAX_FDS];
  guint n_fds = take_control (&message, fds, PRISM_WIRE_MAX_FDS);
  const char *wrong = NULL;
  if ((message.msg_flags & MSG_CTRUNC) != 0)
    {
      wrong = self->passes_fds ? "descriptors that could not be taken" : "descriptors over a channel that takes none";
      gboolean ours = n_fds == 0 && self->passes_fds && !prism_fd_is_left ();
      for (guint i = 0; i < n_fds; i++)
        close (fds[i]);
      if (ours)
        {
          prism_agent_channel_lose_locked (self, "no descriptor was left for what the agent sent; raise the limit of "
                                                 "open files (ulimit -n)");
          return FALSE;
        }
    }
  else
    wrong = prism_agent_peer_commit (&self->peer, (gsize)n, fds, n_fds, take_news, self);
  if (wrong != NULL)
    prism_agent_channel_lose_locked (
        self, wrong == self->peer.parting ? "the agent is lost: %s" : "the agent broke the protocol: %s", wrong);
  else if (self->leaves)
    prism_agent_channel_end_locked (self, PRISM_AGENT_END_CLOSED,
                                    g_error_new_literal (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE,
                                                         "the sandbox ended with its last command"));
  return wrong == NULL && (gsize)n == room;
}

void
prism_agent_channel_read_locked (PrismAgentChannel *self)
{
  for (guint i = 0; i < READS_A_TURN && self->end == PRISM_AGENT_END_NONE; i++)
    if (!read_once_locked (self))
      return;
}
