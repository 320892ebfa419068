/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The channel's one I/O thread: whatever has no thread of its own to wait in.
 * Each round steps every job that has something to do once, so no job, however
 * busy, keeps another or a timer waiting for longer than one step of each. */
#include "prism-agent-channel-struct-private.h"

#include "prism-operation-private.h"
#include "prism-sandbox-error.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#define EVENTS_A_ROUND 64
/* Nothing to do for so long: the thread ends, the next job starts another. */
#define LINGER_US (5 * G_USEC_PER_SEC)

void
prism_agent_job_init (PrismAgentJob *job,
                      gboolean (*step) (PrismAgentJob *job, gint64 now),
                      void (*free_job) (PrismAgentJob *job))
{
  g_atomic_ref_count_init (&job->refs);
  job->step = step;
  job->free_job = free_job;
  job->channel = NULL;
  job->deadline = G_MAXINT64;
  job->woken = FALSE;
  job->link = (GList){ job, NULL, NULL };
  job->runnable = (GList){ job, NULL, NULL };
}

void
prism_agent_channel_wake_io_locked (PrismAgentChannel *self)
{
  if (!self->io_running || self->io_signalled || g_thread_self () == self->io_thread)
    return;
  self->io_signalled = TRUE;
  prism_agent_wake_signal (self->io_wake);
}

void
prism_agent_channel_wake_job_locked (PrismAgentChannel *self, PrismAgentJob *job)
{
  if (job->channel == NULL || job->woken)
    return;
  job->woken = TRUE;
  g_queue_push_tail_link (&self->runnable, &job->runnable);
  prism_agent_channel_wake_io_locked (self);
}

PrismAgentJob *
prism_agent_job_ref (PrismAgentJob *job)
{
  g_atomic_ref_count_inc (&job->refs);
  return job;
}

void
prism_agent_job_unref (PrismAgentJob *job)
{
  if (g_atomic_ref_count_dec (&job->refs))
    job->free_job (job);
}

void
prism_agent_channel_wake_job (PrismAgentChannel *self, PrismAgentJob *job)
{
  g_mutex_lock (&self->lock);
  prism_agent_channel_wake_job_locked (self, job);
  g_mutex_unlock (&self->lock);
}

typedef struct
{
  PrismAgentChannel *channel;
  PrismAgentJob *job;
} Alarm;

static void
on_cancelled (GCancellable *cancellable, gpointer user_data)
{
  Alarm *alarm = user_data;
  prism_agent_channel_wake_job (alarm->channel, alarm->job);
}

static void
alarm_free (gpointer data, GClosure *closure)
{
  Alarm *alarm = data;
  prism_agent_job_unref (alarm->job);
  prism_agent_channel_unref (alarm->channel);
  g_free (alarm);
}

gulong
prism_agent_job_watch_cancellable (PrismAgentJob *job, PrismAgentChannel *channel, GCancellable *cancellable)
{
  Alarm *alarm = g_new (Alarm, 1);
  *alarm = (Alarm){ prism_agent_channel_ref (channel), prism_agent_job_ref (job) };
  return g_signal_connect_data (cancellable, "cancelled", G_CALLBACK (on_cancelled), alarm, alarm_free, 0);
}

gboolean
prism_agent_channel_in_io_thread (PrismAgentChannel *self)
{
  g_mutex_lock (&self->lock);
  gboolean inside = self->io_running && g_thread_self () == self->io_thread;
  g_mutex_unlock (&self->lock);
  return inside;
}

/* --- what the thread listens to --- */

/* The kernel counts what epoll watches by user: a sandbox of the same user's can use all of
 * it up. What is refused then is polled beside the set. */
typedef struct
{
  int fd;
  guint32 events;
  gpointer who;
} PrismAgentUnheard;

static gboolean
change_unheard (PrismAgentChannel *self, int fd, guint32 events, gpointer who, gboolean add)
{
  PrismAgentUnheard one = { fd, events, who };
  guint i = 0;
  g_mutex_lock (&self->unheard_lock);
  if (self->unheard == NULL)
    self->unheard = g_array_new (FALSE, FALSE, sizeof one);
  while (i < self->unheard->len && g_array_index (self->unheard, PrismAgentUnheard, i).who != who)
    i++;
  gboolean found = i < self->unheard->len;
  if (found && events != 0)
    g_array_index (self->unheard, PrismAgentUnheard, i) = one;
  else if (found)
    g_array_remove_index_fast (self->unheard, i);
  else if (add)
    g_array_append_val (self->unheard, one);
  g_atomic_int_set (&self->n_unheard, (gint)self->unheard->len);
  g_mutex_unlock (&self->unheard_lock);
  return found || add;
}

/* FALSE: not by the set, and the thread is to know of it if it sleeps. */
static gboolean
listen_to (PrismAgentChannel *self, gpointer who, int fd, guint32 before, guint32 events)
{
  struct epoll_event event = { .events = events, .data.ptr = who };
  int op = events == 0 ? EPOLL_CTL_DEL : before == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (before != 0 && g_atomic_int_get (&self->n_unheard) > 0 && change_unheard (self, fd, events, who, FALSE))
    return FALSE;
  if (epoll_ctl (self->epoll, op, fd, &event) == 0 || op != EPOLL_CTL_ADD || (errno != ENOSPC && errno != ENOMEM))
    return TRUE;
  return !change_unheard (self, fd, events, who, TRUE);
}

/* As epoll_wait(); the bits of poll() are the same. */
static int
wait_for_events (PrismAgentChannel *self, struct epoll_event *events, int timeout)
{
  int found = 0;
  if (g_atomic_int_get (&self->n_unheard) == 0)
    return epoll_wait (self->epoll, events, EVENTS_A_ROUND, timeout);
  g_mutex_lock (&self->unheard_lock);
  guint n = self->unheard->len;
  g_autofree struct pollfd *fds = g_new (struct pollfd, n + 1);
  g_autofree gpointer *who = g_new (gpointer, n + 1);
  fds[0] = (struct pollfd){ self->epoll, POLLIN, 0 };
  for (guint i = 1; i <= n; i++)
    {
      const PrismAgentUnheard *one = &g_array_index (self->unheard, PrismAgentUnheard, i - 1);
      fds[i] = (struct pollfd){ one->fd, (short)one->events, 0 };
      who[i] = one->who;
    }
  g_mutex_unlock (&self->unheard_lock);
  if (poll (fds, n + 1, timeout) <= 0)
    return 0;
  for (guint i = 1; i <= n && found < EVENTS_A_ROUND / 2; i++)
    if (fds[i].revents != 0)
      events[found++] = (struct epoll_event){ .events = (guint32)fds[i].revents, .data.ptr = who[i] };
  if (fds[0].revents != 0)
    found += MAX (epoll_wait (self->epoll, events + found, EVENTS_A_ROUND - found, 0), 0);
  return found;
}

/* What the I/O thread should hear of from the socket. Not registered at all when
 * that is nothing: epoll reports a hang-up whether asked for or not. */
void
prism_agent_channel_rearm_locked (PrismAgentChannel *self)
{
  if (!self->io_running)
    return;
  self->io_reads = self->leader == NULL && g_queue_is_empty (&self->followers) && self->interest > 0;
  guint32 events = 0;
  if (self->end == PRISM_AGENT_END_NONE)
    events = (self->io_reads ? EPOLLIN : 0) | (g_queue_is_empty (&self->pending) ? 0 : EPOLLOUT);
  if (events == self->armed)
    return;
  if (!listen_to (self, self, self->fd, self->armed, events))
    prism_agent_channel_wake_io_locked (self);
  self->armed = events;
}

void
prism_agent_watch_set (PrismAgentWatch *watch, PrismAgentJob *job, int fd, guint32 events)
{
  if (events == watch->events)
    return;
  watch->job = job;
  listen_to (job->channel, watch, fd, watch->events, events);
  watch->fd = fd;
  watch->events = events;
}

/* The socket and its readiness; with the lock held. */
static void
handle_socket_locked (PrismAgentChannel *self, guint32 events)
{
  if (self->end != PRISM_AGENT_END_NONE)
    return;
  if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0)
    prism_agent_channel_flush_locked (self);
  /* A waiter may have taken the lead since epoll looked. */
  if (self->io_reads && self->leader == NULL && (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0)
    prism_agent_channel_read_locked (self);
  prism_agent_channel_rearm_locked (self);
}

static void
handle_events (PrismAgentChannel *self, struct epoll_event *events, int n)
{
  g_mutex_lock (&self->lock);
  for (int i = 0; i < n; i++)
    {
      if (events[i].data.ptr == NULL)
        {
          prism_agent_wake_drain (self->io_wake);
          self->io_signalled = FALSE;
        }
      else if (events[i].data.ptr == self)
        handle_socket_locked (self, events[i].events);
      else
        {
          PrismAgentWatch *watch = events[i].data.ptr;
          watch->ready |= events[i].events;
          prism_agent_channel_wake_job_locked (self, watch->job);
        }
    }
  prism_agent_channel_unlock_and_tell (self);
}

static void
remove_job_locked (PrismAgentChannel *self, PrismAgentJob *job)
{
  if (job->woken)
    g_queue_unlink (&self->runnable, &job->runnable);
  g_queue_unlink (&self->jobs, &job->link);
  job->channel = NULL;
}

/* Everything that is runnable or due, once each. */
static void
step_jobs (PrismAgentChannel *self)
{
  gint64 now = g_get_monotonic_time ();
  g_mutex_lock (&self->lock);
  for (GList *l = self->jobs.head; l != NULL; l = l->next)
    {
      PrismAgentJob *job = l->data;
      if (job->deadline <= now)
        prism_agent_channel_wake_job_locked (self, job);
    }
  for (guint n = self->runnable.length; n > 0; n--)
    {
      PrismAgentJob *job = g_queue_pop_head_link (&self->runnable)->data;
      job->woken = FALSE;
      g_mutex_unlock (&self->lock);
      gboolean more = job->step (job, g_get_monotonic_time ());
      g_mutex_lock (&self->lock);
      if (more)
        continue;
      remove_job_locked (self, job);
      g_mutex_unlock (&self->lock);
      prism_agent_job_unref (job);
      g_mutex_lock (&self->lock);
    }
  g_mutex_unlock (&self->lock);
}

/* How long to sleep, in ms; -1 = the thread is to end. */
static int
next_timeout_locked (PrismAgentChannel *self, gint64 *idle_since)
{
  gint64 now = g_get_monotonic_time ();
  gboolean idle = self->jobs.length == 0 && self->pending.length == 0;
  if (!idle)
    *idle_since = now;
  gint64 deadline = idle ? *idle_since + LINGER_US : G_MAXINT64;
  if (idle && (self->end != PRISM_AGENT_END_NONE || now >= deadline))
    return -1;
  if (self->runnable.length > 0)
    return 0;
  for (GList *l = self->jobs.head; l != NULL; l = l->next)
    deadline = MIN (deadline, ((PrismAgentJob *)l->data)->deadline);
  if (deadline == G_MAXINT64)
    return G_MAXINT;
  return (int)CLAMP ((deadline - now + 999) / 1000, 0, G_MAXINT - 1);
}

static void
stop_io_locked (PrismAgentChannel *self)
{
  self->io_running = FALSE;
  self->io_reads = FALSE;
  self->io_signalled = FALSE;
  self->armed = 0;
  g_clear_pointer (&self->unheard, g_array_unref);
  self->n_unheard = 0;
  close (self->epoll);
  self->epoll = -1;
  g_clear_pointer (&self->io_wake, prism_agent_wake_unref);
}

static gpointer
io_main (gpointer data)
{
  PrismAgentChannel *self = data;
  struct epoll_event events[EVENTS_A_ROUND];
  gint64 idle_since = g_get_monotonic_time ();
  while (TRUE)
    {
      g_mutex_lock (&self->lock);
      int timeout = next_timeout_locked (self, &idle_since);
      if (timeout == -1)
        stop_io_locked (self);
      g_mutex_unlock (&self->lock);
      if (timeout == -1)
        break;
      int n = wait_for_events (self, events, timeout == G_MAXINT ? -1 : timeout);
      handle_events (self, events, MAX (n, 0));
      step_jobs (self);
    }
  prism_agent_channel_unref (self);
  return NULL;
}

static gboolean
prepare_io_locked (PrismAgentChannel *self, GError **error)
{
  self->epoll = epoll_create1 (EPOLL_CLOEXEC);
  self->io_wake = prism_agent_wake_new ();
  if (self->epoll >= 0 && self->io_wake != NULL)
    {
      listen_to (self, NULL, self->io_wake->fd, 0, EPOLLIN);
      return TRUE;
    }
  prism_agent_set_no_fds (error, "the sandbox's I/O thread");
  if (self->epoll >= 0)
    close (self->epoll);
  self->epoll = -1;
  g_clear_pointer (&self->io_wake, prism_agent_wake_unref);
  return FALSE;
}

gboolean
prism_agent_channel_start_io_locked (PrismAgentChannel *self, GError **error)
{
  if (self->io_running)
    return TRUE;
  if (!prepare_io_locked (self, error))
    return FALSE;
  g_autoptr (GError) failure = NULL;
  /* Signals are the application's: its handlers must not run here, and a write to
   * a pipe that nobody reads is an error here, not the end of the process. */
  self->io_running = TRUE;
  self->io_thread = prism_start_thread ("prism-io", io_main, prism_agent_channel_ref (self), &failure);
  if (self->io_thread == NULL)
    {
      stop_io_locked (self);
      prism_agent_channel_unref (self);
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED,
                   "the sandbox's I/O thread cannot be started: %s", failure->message);
      return FALSE;
    }
  g_thread_unref (self->io_thread);
  prism_agent_channel_rearm_locked (self);
  return TRUE;
}

gboolean
prism_agent_channel_add_job (PrismAgentChannel *self, PrismAgentJob *job, GError **error)
{
  g_mutex_lock (&self->lock);
  gboolean running = prism_agent_channel_start_io_locked (self, error);
  if (running)
    {
      job->channel = self;
      g_queue_push_tail_link (&self->jobs, &job->link);
      prism_agent_channel_wake_job_locked (self, job);
    }
  g_mutex_unlock (&self->lock);
  return running;
}

/* --- what nobody waits for any more --- */

typedef struct
{
  PrismAgentJob job; /* first */
  PrismAgentTicket *ticket;
} Abandoned;

static gboolean
abandoned_step (PrismAgentJob *job, gint64 now)
{
  Abandoned *self = (Abandoned *)job;
  PrismAgentChannel *channel = job->channel;
  prism_agent_channel_lock (channel);
  gboolean over = self->ticket->call.id == 0;
  prism_agent_inbox_clear (&self->ticket->call.in[0]);
  prism_agent_inbox_clear (&self->ticket->call.in[1]);
  if (over)
    self->ticket->job = NULL;
  prism_agent_channel_unlock (channel);
  if (!over && now >= job->deadline)
    prism_agent_channel_accuse (channel, "it did not confirm a cancellation in time");
  return !over;
}

static void
abandoned_free (PrismAgentJob *job)
{
  prism_agent_ticket_unref (((Abandoned *)job)->ticket);
  g_free (job);
}

void
prism_agent_channel_abandon (PrismAgentChannel *self, PrismAgentTicket *ticket, gint64 confirm_by)
{
  g_mutex_lock (&self->lock);
  ticket->waiter = NULL;
  ticket->job = NULL;
  gboolean waits = ticket->call.id != 0 && confirm_by != 0 && self->end == PRISM_AGENT_END_NONE
                   && prism_agent_channel_start_io_locked (self, NULL);
  if (!waits)
    {
      if (ticket->interest)
        self->interest--;
      ticket->interest = FALSE;
      prism_agent_channel_rearm_locked (self);
      g_mutex_unlock (&self->lock);
      prism_agent_ticket_unref (ticket);
      return;
    }
  Abandoned *abandoned = g_new0 (Abandoned, 1);
  prism_agent_job_init (&abandoned->job, abandoned_step, abandoned_free);
  abandoned->ticket = ticket;
  abandoned->job.deadline = confirm_by;
  abandoned->job.channel = self;
  ticket->job = &abandoned->job;
  if (!ticket->interest)
    self->interest++;
  ticket->interest = TRUE;
  g_queue_push_tail_link (&self->jobs, &abandoned->job.link);
  prism_agent_channel_wake_job_locked (self, &abandoned->job);
  prism_agent_channel_hand_on_locked (self);
  g_mutex_unlock (&self->lock);
}
