/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* This process's launchers that stay. There is one for all that is started one after
 * another; for threads that start at once, and would wait for each other there, there are
 * more, at most one for each CPU. Each ends by itself when nothing was asked of it for a
 * second; a thread waits for that, so that its descriptor does not stay. */
#include "prism-native-server.h"

#include <errno.h>
#include <libprism/prism.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prism-launch.h"
#include "prism-native-begin.h"
#include "prism-native-packet.h"
#include "prism-native-reap.h"

#define MOST_SERVERS 8u
/* A start that finds every launcher busy counts for that many that do not, and another is
 * worth its own start after so many: two that happen to meet are served by one. */
#define WEIGHT 4
#define ENOUGH 12
/* One that was not asked for so long is not at work, though it is still there. */
#define AT_WORK_US (20 * 1000)

struct _PrismNativeServer
{
  int socket;
  pid_t pid, host;
  GBytes *template; /* that it was told of last */
  guint refs, starting, kept;
  gint64 asked; /* when, last */
  int place;    /* the CPU where it works, or -1 */
};

static GMutex lock;
/* Of the lock; each owned by its thread, and by what it keeps. */
static PrismNativeServer *all[MOST_SERVERS];
static guint n_all;
static int crowd; /* how often all of them were busy, lately */

static void
unref (PrismNativeServer *self)
{
  if (--self->refs > 0)
    return;
  g_clear_pointer (&self->template, g_bytes_unref);
  g_free (self);
}

static void
forget (PrismNativeServer *self)
{
  for (guint i = 0; i < n_all; i++)
    if (all[i] == self)
      {
        all[i] = all[--n_all];
        return;
      }
}

static gpointer
watch (gpointer data)
{
  PrismNativeServer *self = data;
  struct pollfd fd = { self->socket, POLLIN | POLLRDHUP, 0 };
  int status = 0;

  while (poll (&fd, 1, -1) < 0 && errno == EINTR)
    ;
  g_mutex_lock (&lock);
  forget (self);
  g_mutex_unlock (&lock);
  close (self->socket);
  while (waitpid (self->pid, &status, 0) < 0 && errno == EINTR)
    ;
  /* It was killed: control groups that served nobody just then are left. */
  if (WIFSIGNALED (status))
    prism_native_leftovers_remove (prism_native_cgroup_get ());
  g_mutex_lock (&lock);
  unref (self);
  g_mutex_unlock (&lock);
  return NULL;
}

/* No signal of the application's is handled in a thread that it does not know. */
static gboolean
start_watch (PrismNativeServer *self)
{
  sigset_t all_signals, before;
  GThread *thread;

  sigfillset (&all_signals);
  pthread_sigmask (SIG_SETMASK, &all_signals, &before);
  thread = g_thread_try_new ("prism-native", watch, self, NULL);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (thread != NULL)
    g_thread_unref (thread);
  return thread != NULL;
}

static PrismNativeServer *
start (const char *agent)
{
  int ends[2], fds[3] = { -1, -1, -1 };
  PrismNativeServer *self;

  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    return NULL;
  self = g_new0 (PrismNativeServer, 1);
  self->refs = 1;
  self->host = getpid ();
  self->socket = ends[0];
  self->place = -1;
  fds[2] = ends[1];
  if (prism_native_spawn (agent, TRUE, fds, &self->pid) != 0)
    self->pid = -1;
  close (ends[1]);
  if (self->pid > 0 && start_watch (self))
    return all[n_all++] = self;
  close (self->socket);
  if (self->pid > 0)
    waitpid (self->pid, NULL, 0);
  unref (self);
  return NULL;
}

/* Whoever holds it as the process forks is not in the fork to let it go. */
static void
before_fork (void)
{
  g_mutex_lock (&lock);
}

static void
after_fork (void)
{
  g_mutex_unlock (&lock);
}

static void
watch_forks (void)
{
  static gsize once;

  if (g_once_init_enter (&once))
    {
      pthread_atfork (before_fork, after_fork, after_fork);
      g_once_init_leave (&once, 1);
    }
}

/* A fork of the process that started them has its own; the threads are not there. */
static void
forget_parents_servers (void)
{
  pid_t host = getpid ();

  for (guint i = n_all; i-- > 0;)
    if (all[i]->host != host)
      {
        PrismNativeServer *theirs = all[i];
        close (theirs->socket);
        forget (theirs);
        unref (theirs);
      }
}

/* The one that is at work on the fewest starts, and keeps the fewest. */
static PrismNativeServer *
find_idlest (void)
{
  PrismNativeServer *found = NULL;

  for (guint i = 0; i < n_all; i++)
    if (found == NULL || all[i]->starting < found->starting
        || (all[i]->starting == found->starting && all[i]->kept < found->kept))
      found = all[i];
  return found;
}

static PrismNativeServer *
find_at (int place)
{
  for (guint i = 0; place >= 0 && i < n_all; i++)
    if (all[i]->place == place)
      return all[i];
  return NULL;
}

static PrismNativeServer *
choose (const char *agent, int here)
{
  static guint most; /* of the lock, too */
  PrismNativeServer *found = find_idlest (), *more = NULL, *near = find_at (here);

  if (found == NULL)
    return start (agent);
  if (most == 0)
    most = MIN (MOST_SERVERS, g_get_num_processors ());
  crowd += found->starting > 0 ? WEIGHT : crowd > 0 ? -1 : 0;
  if (crowd >= ENOUGH && n_all < most)
    more = start (agent);
  crowd = more != NULL ? 0 : MIN (crowd, ENOUGH);
  if (more == NULL && near != NULL && near->starting == 0)
    return near;
  return more != NULL ? more : found;
}

static gboolean
is_one_of_several (const PrismNativeServer *self, gint64 now)
{
  for (guint i = 0; i < n_all; i++)
    if (all[i] != self && (all[i]->starting > 0 || now - all[i]->asked < AT_WORK_US))
      return TRUE;
  return FALSE;
}

/* Several at once work where their callers wait, no two in one place. */
static void
place (PrismNativeServer *self, gboolean several, int here)
{
  if (!several)
    self->place = -1;
  else if (self->starting == 0 && find_at (here) == NULL)
    self->place = here;
}

static gboolean
send_request (PrismNativeServer *self, int here, GBytes *template, GBytes *plan, const int ends[2])
{
  gboolean known = self->template != NULL && g_bytes_equal (self->template, template);
  gsize template_size, plan_size;
  const void *template_bytes = g_bytes_get_data (template, &template_size);
  const void *plan_bytes = g_bytes_get_data (plan, &plan_size);
  guint8 head[9];
  gboolean several;
  gsize told = known ? 0 : template_size;
  struct prism_wire_writer w = prism_wire_write_to (head, sizeof head);
  struct iovec parts[3] = { { head, sizeof head },
                            { (void *)template_bytes, told },
                            { (void *)plan_bytes, plan_size } };

  if (sizeof head + template_size + plan_size > PRISM_LAUNCH_MAX_REQUEST)
    return FALSE;
  self->asked = g_get_monotonic_time ();
  several = is_one_of_several (self, self->asked);
  place (self, several, here);
  prism_wire_put (&w, several, 1);
  prism_wire_put (&w, (guint32)self->place, 4);
  prism_wire_put (&w, told, 4);
  if (!prism_native_packet_send (self->socket, parts, G_N_ELEMENTS (parts), ends, 2))
    return FALSE;
  if (!known)
    {
      g_clear_pointer (&self->template, g_bytes_unref);
      self->template = g_bytes_ref (template);
    }
  return TRUE;
}

PrismNativeServer *
prism_native_server_ask (const char *agent, GBytes *template, GBytes *plan, const int ends[2], GError **error)
{
  PrismNativeServer *self;
  int here = sched_getcpu ();

  watch_forks ();
  g_mutex_lock (&lock);
  forget_parents_servers ();
  self = choose (agent, here);
  if (self != NULL && !send_request (self, here, template, plan, ends))
    self = NULL;
  if (self != NULL)
    {
      self->refs++;
      self->starting++;
      self->kept++;
    }
  g_mutex_unlock (&lock);
  if (self == NULL)
    g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST,
                         "native: the launcher that stays takes no request");
  return self;
}

void
prism_native_server_started (PrismNativeServer *self)
{
  g_mutex_lock (&lock);
  self->starting--;
  g_mutex_unlock (&lock);
}

void
prism_native_server_release (PrismNativeServer *self)
{
  g_mutex_lock (&lock);
  self->kept--;
  unref (self);
  g_mutex_unlock (&lock);
}
