/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One thread is enough for a machine's sandboxes, and has no locks on its way: it
 * never blocks. What may block (names, a policy's resolver) is asked of another
 * thread and comes back as a command. All signals are blocked here, so that a
 * peer's end is an error and never a SIGPIPE, and the program's own handlers never
 * run in a stranger's thread. */
#include "prism-local-engine.h"

#include "prism-local-ask.h"
#include "prism-local-connection.h"
#include "prism-local-pace.h"
#include "prism-local-port.h"
#include "prism-local-record.h"
#include "prism-local-tls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MAX_EVENTS 256
#define SWEEP_US   50000
#define MAX_PIPES  64
#define PIPE_SIZE  (1 << 18)

typedef struct
{
  PrismLocalCommand run;
  gpointer data;
} Command;

/* --- the set --------------------------------------------------------------------- */

void
prism_local_engine_watch (PrismLocalEngine *self, PrismLocalWatch *watch, guint32 events)
{
  struct epoll_event event = { events, { .ptr = watch } };

  if (watch->fd < 0 || watch->events == events)
    return;
  epoll_ctl (self->epoll,
             watch->events == 0 ? EPOLL_CTL_ADD
             : events == 0      ? EPOLL_CTL_DEL
                                : EPOLL_CTL_MOD,
             watch->fd, &event);
  watch->events = events;
}

/* Out of the set first: a socket that somebody else holds too would stay in it. */
void
prism_local_engine_close (PrismLocalEngine *self, PrismLocalWatch *watch)
{
  if (watch->fd < 0)
    return;
  prism_local_engine_watch (self, watch, 0);
  close (watch->fd);
  watch->fd = -1;
}

PrismLocalPipe *
prism_local_engine_take_pipe (PrismLocalEngine *self)
{
  PrismLocalPipe *pipe = self->pipes;
  int fds[2];

  if (pipe != NULL)
    {
      self->pipes = pipe->next;
      self->n_pipes--;
      return pipe;
    }
  if (pipe2 (fds, O_NONBLOCK | O_CLOEXEC) != 0)
    return NULL;
  (void)fcntl (fds[0], F_SETPIPE_SZ, PIPE_SIZE);
  pipe = g_new0 (PrismLocalPipe, 1);
  pipe->fds[0] = fds[0];
  pipe->fds[1] = fds[1];
  return pipe;
}

static void
close_pipe (PrismLocalPipe *pipe)
{
  close (pipe->fds[0]);
  close (pipe->fds[1]);
  g_free (pipe);
}

/* One that still holds something is never given to another. */
void
prism_local_engine_give_pipe (PrismLocalEngine *self, PrismLocalPipe *pipe)
{
  if (pipe->held > 0 || self->n_pipes >= MAX_PIPES)
    {
      close_pipe (pipe);
      return;
    }
  pipe->next = self->pipes;
  self->pipes = pipe;
  self->n_pipes++;
}

/* --- commands -------------------------------------------------------------------- */

static void
wake (PrismLocalEngine *self)
{
  guint64 one = 1;

  while (write (self->wake.fd, &one, sizeof one) < 0 && errno == EINTR)
    ;
}

gboolean
prism_local_engine_call (PrismLocalEngine *self, PrismLocalCommand run, gpointer data)
{
  gboolean room;

  g_mutex_lock (&self->lock);
  room = !self->quitting;
  if (room)
    {
      Command *command = g_new (Command, 1);

      *command = (Command){ run, data };
      g_queue_push_tail (&self->commands, command);
    }
  g_mutex_unlock (&self->lock);
  if (room)
    wake (self);
  return room;
}

static gboolean
run_commands (PrismLocalEngine *self)
{
  GQueue commands;
  gboolean quitting;

  g_mutex_lock (&self->lock);
  commands = self->commands;
  g_queue_init (&self->commands);
  quitting = self->quitting;
  g_mutex_unlock (&self->lock);
  for (Command *command = g_queue_pop_head (&commands); command != NULL; command = g_queue_pop_head (&commands))
    {
      command->run (self, command->data);
      g_free (command);
    }
  return quitting;
}

static void
wake_ready (PrismLocalWatch *watch, guint32 events)
{
  PrismLocalEngine *self = (PrismLocalEngine *)((char *)watch - G_STRUCT_OFFSET (PrismLocalEngine, wake));
  guint64 count;

  while (read (watch->fd, &count, sizeof count) < 0 && errno == EINTR)
    ;
  self->woken = TRUE;
}

/* --- the thread ------------------------------------------------------------------ */

static int
timeout_of (PrismLocalEngine *self)
{
  gint64 at = MAX (self->next_sweep, self->swept + SWEEP_US);
  int soon = prism_local_pace_timeout (self);

  if (soon >= 0 || self->next_sweep == PRISM_LOCAL_NEVER)
    return soon;
  at -= self->now;
  return at <= 0 ? 0 : (int)MIN (at / 1000 + 1, 60000);
}

/* Deadlines are looked at all together, seldom, instead of being kept in order for
 * each byte that comes. */
static void
sweep (PrismLocalEngine *self)
{
  GHashTableIter iter;
  gpointer port;

  if (self->now < MAX (self->next_sweep, self->swept + SWEEP_US))
    return;
  self->swept = self->now;
  self->next_sweep = PRISM_LOCAL_NEVER;
  prism_local_records_retry (self);
  g_hash_table_iter_init (&iter, self->ports);
  while (g_hash_table_iter_next (&iter, NULL, &port))
    prism_local_port_sweep (port);
}

static void
bury (PrismLocalEngine *self)
{
  while (self->grave != NULL)
    {
      PrismLocalConnection *dead = self->grave;

      self->grave = dead->grave_next;
      prism_local_connection_free (dead);
    }
}

static void
end_all (PrismLocalEngine *self)
{
  prism_local_asker_stop (self);
  run_commands (self);
  prism_local_ports_end (self);
  bury (self);
  prism_local_tls_end (self);
  prism_local_records_end (self);
}

static gpointer
run (gpointer data)
{
  PrismLocalEngine *self = data;
  struct epoll_event events[MAX_EVENTS];

  for (;;)
    {
      int n = epoll_wait (self->epoll, events, MAX_EVENTS, timeout_of (self));

      self->now = g_get_monotonic_time ();
      self->woken = FALSE;
      for (int i = 0; i < n; i++)
        {
          PrismLocalWatch *watch = events[i].data.ptr;

          /* What an earlier event of this round closed has no descriptor any more. */
          if (watch->fd >= 0)
            watch->ready (watch, events[i].events);
        }
      if (self->woken && run_commands (self))
        break;
      prism_local_pace_check (self);
      sweep (self);
      bury (self);
    }
  end_all (self);
  prism_local_engine_unref (self);
  return NULL;
}

static gboolean
start_thread (PrismLocalEngine *self, GError **error)
{
  sigset_t all, before;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  self->thread = g_thread_try_new ("prism-egress", run, prism_local_engine_ref (self), error);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (self->thread == NULL)
    prism_local_engine_unref (self);
  return self->thread != NULL;
}

PrismLocalEngine *
prism_local_engine_new (GObject *proxy, const PrismLocalSettings *settings, GError **error)
{
  PrismLocalEngine *self = g_new0 (PrismLocalEngine, 1);

  g_atomic_ref_count_init (&self->refs);
  g_weak_ref_init (&self->proxy, proxy);
  self->audit_signal = g_signal_lookup ("audit", PRISM_TYPE_EGRESS_PROXY);
  self->settings.resolver = settings->resolver != NULL ? g_object_ref (settings->resolver) : NULL;
  self->settings.trust_file = g_strdup (settings->trust_file);
  self->settings.parent_host = g_strdup (settings->parent_host);
  self->settings.parent_port = settings->parent_port;
  g_mutex_init (&self->lock);
  g_queue_init (&self->commands);
  g_queue_init (&self->records);
  self->ports = g_hash_table_new (NULL, NULL);
  self->patient = g_ptr_array_new ();
  self->next_sweep = PRISM_LOCAL_NEVER;
  self->netlink = -1;
  self->epoll = epoll_create1 (EPOLL_CLOEXEC);
  self->wake = (PrismLocalWatch){ eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK), 0, wake_ready };
  if (self->epoll < 0 || self->wake.fd < 0)
    {
      g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_FAILED,
                   "egress: no descriptors for the proxy's thread: %s", g_strerror (errno));
      prism_local_engine_unref (self);
      return NULL;
    }
  prism_local_engine_watch (self, &self->wake, EPOLLIN);
  if (start_thread (self, error))
    return self;
  prism_local_engine_unref (self);
  return NULL;
}

PrismLocalEngine *
prism_local_engine_ref (PrismLocalEngine *self)
{
  g_atomic_ref_count_inc (&self->refs);
  return self;
}

void
prism_local_engine_unref (PrismLocalEngine *self)
{
  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  while (self->pipes != NULL)
    {
      PrismLocalPipe *pipe = self->pipes;

      self->pipes = pipe->next;
      close_pipe (pipe);
    }
  if (self->wake.fd >= 0)
    close (self->wake.fd);
  if (self->epoll >= 0)
    close (self->epoll);
  if (self->netlink >= 0)
    close (self->netlink);
  g_hash_table_unref (self->ports);
  g_ptr_array_unref (self->patient);
  g_clear_object (&self->settings.resolver);
  g_free (self->settings.trust_file);
  g_free (self->settings.parent_host);
  g_weak_ref_clear (&self->proxy);
  g_mutex_clear (&self->lock);
  g_free (self);
}

void
prism_local_engine_quit (PrismLocalEngine *self)
{
  GThread *thread;

  g_mutex_lock (&self->lock);
  self->quitting = TRUE;
  thread = g_steal_pointer (&self->thread);
  g_mutex_unlock (&self->lock);
  if (thread == NULL)
    return;
  wake (self);
  if (thread == g_thread_self ())
    g_thread_unref (thread);
  else
    g_thread_join (thread);
}
