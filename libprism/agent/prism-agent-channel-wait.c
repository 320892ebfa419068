/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads that wait for an answer: one of them leads and reads for all, the
 * others have an eventfd each. Who may read when is said in
 * prism-agent-channel-private.h. */
#include "prism-agent-channel-struct-private.h"

#include "prism-fd-left.h"
#include "prism-sandbox-error.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* --- wake-ups --- */

PrismAgentWake *
prism_agent_wake_new (void)
{
  int fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0)
    return NULL;
  PrismAgentWake *wake = g_new (PrismAgentWake, 1);
  g_atomic_ref_count_init (&wake->refs);
  wake->fd = fd;
  return wake;
}

void
prism_agent_wake_unref (PrismAgentWake *wake)
{
  if (!g_atomic_ref_count_dec (&wake->refs))
    return;
  close (wake->fd);
  g_free (wake);
}

void
prism_agent_wake_signal (PrismAgentWake *wake)
{
  const guint64 one = 1;
  ssize_t n G_GNUC_UNUSED = write (wake->fd, &one, sizeof one);
}

void
prism_agent_wake_drain (PrismAgentWake *wake)
{
  guint64 count;
  ssize_t n G_GNUC_UNUSED = read (wake->fd, &count, sizeof count);
}

/* --- waiting --- */

static PrismAgentWake *
take_wake_locked (PrismAgentChannel *self)
{
  for (guint i = 0; i < PRISM_AGENT_SPARE_WAKES; i++)
    if (self->spare[i] != NULL)
      return g_steal_pointer (&self->spare[i]);
  return prism_agent_wake_new ();
}

static void
give_wake_locked (PrismAgentChannel *self, PrismAgentWake *wake)
{
  /* A cancellation that is under way still holds it. */
  if (g_atomic_ref_count_compare (&wake->refs, 1))
    for (guint i = 0; i < PRISM_AGENT_SPARE_WAKES; i++)
      if (self->spare[i] == NULL)
        {
          prism_agent_wake_drain (wake);
          self->spare[i] = wake;
          return;
        }
  prism_agent_wake_unref (wake);
}

static void
on_cancelled (GCancellable *cancellable, gpointer user_data)
{
  prism_agent_wake_signal (user_data);
}

static void
free_wake_closure (gpointer wake, GClosure *closure)
{
  prism_agent_wake_unref (wake);
}

void
prism_agent_waiter_init (PrismAgentWaiter *waiter, PrismAgentChannel *channel, GCancellable *cancellable)
{
  memset (waiter, 0, sizeof *waiter);
  waiter->channel = channel;
  waiter->link.data = waiter;
  if (cancellable == NULL)
    return;
  g_mutex_lock (&channel->lock);
  waiter->wake = take_wake_locked (channel);
  g_mutex_unlock (&channel->lock);
  waiter->blind = waiter->wake == NULL;
  if (waiter->blind)
    return;
  /* Not g_cancellable_connect(): its disconnect waits for foreign handlers, which
   * may wait for this very sandbox. */
  waiter->cancellable = cancellable;
  g_atomic_ref_count_inc (&waiter->wake->refs);
  waiter->cancelled_id =
      g_signal_connect_data (cancellable, "cancelled", G_CALLBACK (on_cancelled), waiter->wake, free_wake_closure, 0);
}

static void
stop_following_locked (PrismAgentWaiter *waiter)
{
  if (waiter->following)
    g_queue_unlink (&waiter->channel->followers, &waiter->link);
  waiter->following = FALSE;
}

void
prism_agent_channel_hand_on_locked (PrismAgentChannel *self)
{
  if (self->leader != NULL || self->end != PRISM_AGENT_END_NONE)
    return;
  PrismAgentWaiter *next = g_queue_peek_head (&self->followers);
  if (next != NULL)
    prism_agent_wake_signal (next->wake);
  prism_agent_channel_rearm_locked (self);
}

void
prism_agent_waiter_pause (PrismAgentWaiter *waiter)
{
  PrismAgentChannel *self = waiter->channel;
  if (!waiter->leading && !waiter->following)
    return;
  g_mutex_lock (&self->lock);
  stop_following_locked (waiter);
  if (waiter->leading)
    self->leader = NULL;
  waiter->leading = FALSE;
  prism_agent_channel_hand_on_locked (self);
  g_mutex_unlock (&self->lock);
}

void
prism_agent_waiter_clear (PrismAgentWaiter *waiter)
{
  prism_agent_waiter_pause (waiter);
  if (waiter->cancelled_id != 0)
    g_signal_handler_disconnect (waiter->cancellable, waiter->cancelled_id);
  if (waiter->wake == NULL)
    return;
  g_mutex_lock (&waiter->channel->lock);
  give_wake_locked (waiter->channel, g_steal_pointer (&waiter->wake));
  g_mutex_unlock (&waiter->channel->lock);
}

void
prism_agent_waiter_ensure_wake (PrismAgentWaiter *waiter)
{
  g_mutex_lock (&waiter->channel->lock);
  if (waiter->wake == NULL)
    waiter->wake = take_wake_locked (waiter->channel);
  waiter->blind = waiter->blind || waiter->wake == NULL;
  g_mutex_unlock (&waiter->channel->lock);
}

void
prism_agent_waiter_wake (PrismAgentWaiter *waiter)
{
  PrismAgentChannel *self = waiter->channel;
  g_mutex_lock (&self->lock);
  waiter->news = TRUE;
  if (waiter->wake != NULL)
    prism_agent_wake_signal (waiter->wake);
  g_mutex_unlock (&self->lock);
}

/* Leads, or queues up. FALSE: there is something to look at before any wait. */
static gboolean
prepare_locked (PrismAgentWaiter *waiter)
{
  PrismAgentChannel *self = waiter->channel;
  if (waiter->news || self->end != PRISM_AGENT_END_NONE)
    {
      waiter->news = FALSE;
      return FALSE;
    }
  if (!waiter->leading && self->leader == NULL)
    {
      stop_following_locked (waiter);
      self->leader = waiter;
      waiter->leading = TRUE;
      prism_agent_channel_rearm_locked (self);
    }
  if (waiter->leading)
    return TRUE;
  if (waiter->wake == NULL)
    waiter->wake = take_wake_locked (self);
  if (waiter->wake == NULL)
    return TRUE; /* out of descriptors: looks again every few ms */
  if (!waiter->following)
    g_queue_push_tail_link (&self->followers, &waiter->link);
  waiter->following = TRUE;
  return TRUE;
}

static void
wait_for (GPollFD *fds, guint n_fds, gint64 until)
{
  struct timespec span, *limit = NULL;
  if (until != G_MAXINT64)
    {
      gint64 left = MAX (until - g_get_monotonic_time (), 0);
      span.tv_sec = left / G_USEC_PER_SEC;
      span.tv_nsec = (left % G_USEC_PER_SEC) * 1000;
      limit = &span;
    }
  G_STATIC_ASSERT (sizeof (GPollFD) == sizeof (struct pollfd));
  if (ppoll ((struct pollfd *)fds, n_fds, limit, NULL) < 0)
    for (guint i = 0; i < n_fds; i++)
      fds[i].revents = 0;
}

void
prism_agent_waiter_poll (PrismAgentWaiter *waiter, GPollFD *fds, guint n_fds, gint64 until)
{
  PrismAgentChannel *self = waiter->channel;
  g_mutex_lock (&self->lock);
  gboolean wait = prepare_locked (waiter);
  gboolean leading = waiter->leading;
  PrismAgentWake *wake = waiter->wake;
  g_mutex_unlock (&self->lock);

  guint n = n_fds, wake_at = G_MAXUINT;
  if (leading)
    fds[n++] = (GPollFD){ .fd = self->fd, .events = G_IO_IN };
  if (wake != NULL)
    {
      wake_at = n;
      fds[n++] = (GPollFD){ .fd = wake->fd, .events = G_IO_IN };
    }
  if (!wait)
    until = 0;
  else if (waiter->blind || (!leading && wake == NULL))
    until = MIN (until, g_get_monotonic_time () + PRISM_BLIND_WAIT_MS * 1000);
  wait_for (fds, n, until);

  if (wake_at != G_MAXUINT && fds[wake_at].revents != 0)
    prism_agent_wake_drain (wake);
  if (!leading || fds[n_fds].revents == 0)
    return;
  g_mutex_lock (&self->lock);
  prism_agent_channel_read_locked (self);
  waiter->news = FALSE; /* whoever polls looks for news now */
  prism_agent_channel_unlock_and_tell (self);
}

void
prism_agent_channel_look (PrismAgentChannel *self)
{
  g_mutex_lock (&self->lock);
  if (self->leader == NULL && !self->io_reads && self->end == PRISM_AGENT_END_NONE)
    prism_agent_channel_read_locked (self);
  prism_agent_channel_unlock_and_tell (self);
}

gboolean
prism_agent_channel_greet (
    PrismAgentChannel *self, gint64 deadline, GCancellable *cancellable, PrismAgentHello *hello, GError **error)
{
  PrismAgentWaiter waiter;
  GPollFD fds[2];
  gboolean greeted = FALSE, ended = FALSE, cancelled = FALSE;
  prism_agent_channel_look (self); /* most often it is there */
  prism_agent_waiter_init (&waiter, self, cancellable);
  do
    {
      g_mutex_lock (&self->lock);
      greeted = self->peer.greeted;
      *hello = self->peer.hello;
      ended = self->end != PRISM_AGENT_END_NONE;
      g_mutex_unlock (&self->lock);
      cancelled = g_cancellable_is_cancelled (cancellable);
      if (greeted || ended || cancelled || g_get_monotonic_time () >= deadline)
        break;
      prism_agent_waiter_poll (&waiter, fds, 0, deadline);
    }
  while (TRUE);
  prism_agent_waiter_clear (&waiter);

  if (greeted && !ended)
    return TRUE;
  if (ended)
    prism_agent_channel_get_end (self, error);
  else if (cancelled)
    g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED,
                         "cancelled while the sandbox was starting");
  else
    g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT,
                         "the agent did not answer within startup-timeout-ms");
  return FALSE;
}
