/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One launcher, or one sandbox of a launcher that stays: its sockets, what it says and
 * what it is asked. */
#include "prism-native-launcher.h"

#include <errno.h>
#include <libprism/prism.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prism-fd-left.h"
#include "prism-launch.h"
#include "prism-native-begin.h"
#include "prism-native-cgroup-state.h"
#include "prism-native-failure.h"
#include "prism-native-forked.h"
#include "prism-native-packet.h"
#include "prism-native-server.h"

#define MAX_NOTES 64
/* How long an agent may take to see that its host is gone before it is killed. */
#define ALONE_US (20 * 1000)

struct _PrismNativeLauncher
{
  pid_t pid;
  char *id; /* of the sandbox that was begun */
  GBytes *early_plan;
  PrismNativeEarlySteps early; /* of it, or of the program's */
  int pidfd, control, keeper;
  int agent;                 /* the control socket once somebody has it; its number, to be polled */
  int plan;                  /* the stream that the plan goes into, until it has gone */
  PrismNativeServer *server; /* that was asked; NULL once it has no more to do with it */
  gboolean starting;         /* by that one */
  GPtrArray *notes;          /* of PrismNativeNote */
  GPtrArray *groups;         /* of folders that the keeper makes and removes */
  gboolean ready, running, ended, reaped, deposited; /* the last: it goes on without this host */
  PrismNativeForked forked;
  guint32 left, facts;
  int status; /* of the inner half, once it ended */
  struct
  {
    guint8 to; /* 0: none came yet */
    guint32 error;
    guint64 value;
    int fd;
  } answer;
  GError *failure;
};

static void
close_fd (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

static void
note_free (gpointer data)
{
  PrismNativeNote *note = data;
  g_free (note->key);
  g_free (note->text);
  g_free (note);
}

static void
set_errno_error (GError **error, const char *what, int number)
{
  g_set_error (error, PRISM_SANDBOX_ERROR, number == EMFILE ? PRISM_SANDBOX_ERROR_LIMIT : PRISM_SANDBOX_ERROR_FAILED,
               "native: %s: %s%s", what, g_strerror (number),
               number == EMFILE ? "; raise the limit of open files (ulimit -n)" : "");
}

static gboolean
make_pair (int type, int ends[2], GError **error)
{
  if (socketpair (AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0)
    {
      set_errno_error (error, "a pair of sockets", errno);
      return FALSE;
    }
  return TRUE;
}

static PrismNativeLauncher *
new_launcher (int control, int keeper)
{
  PrismNativeLauncher *self = g_new0 (PrismNativeLauncher, 1);

  self->pid = self->pidfd = self->plan = self->answer.fd = self->agent = -1;
  self->reaped = TRUE;
  self->control = control;
  self->keeper = keeper;
  self->notes = g_ptr_array_new_with_free_func (note_free);
  self->groups = g_ptr_array_new_with_free_func (g_free);
  prism_native_forked_add (&self->forked, &self->keeper, &self->plan);
  return self;
}

/* Both sockets' other ends are the launcher's, and closed here by the caller. */
static PrismNativeLauncher *
new_launcher_with_sockets (int ends[2], GError **error)
{
  int control[2] = { -1, -1 }, keeper[2] = { -1, -1 };

  if (!make_pair (SOCK_STREAM, control, error))
    return NULL;
  if (!make_pair (SOCK_SEQPACKET, keeper, error))
    {
      close_fd (&control[0]);
      close_fd (&control[1]);
      return NULL;
    }
  ends[0] = control[1];
  ends[1] = keeper[1];
  return new_launcher (control[0], keeper[0]);
}

static PrismNativeLauncher *
new_begun (const PrismNativeBegun *begun)
{
  PrismNativeLauncher *self = new_launcher (begun->control, begun->keeper);

  self->plan = begun->plan;
  self->pid = begun->pid;
  self->id = g_strdup (begun->id);
  self->early = begun->early;
  self->reaped = FALSE;
  self->running = TRUE;
  return self;
}

PrismNativeLauncher *
prism_native_launcher_begin (const char *agent, GError **error)
{
  PrismNativeBegun begun;
  int status = prism_native_begin (&begun, agent);

  if (status == 0)
    return new_begun (&begun);
  if (status == EMFILE)
    set_errno_error (error, "the launcher", status);
  else
    g_set_error (
        error, PRISM_SANDBOX_ERROR, status == ENOENT ? PRISM_SANDBOX_ERROR_UNAVAILABLE : PRISM_SANDBOX_ERROR_FAILED,
        "native: %s cannot be started: %s; install prism-agent, or set PRISM_AGENT", agent, g_strerror (status));
  return NULL;
}

PrismNativeLauncher *
prism_native_launcher_take_begun (const char *agent, gint64 most_us)
{
  const PrismNativeBegun *begun = prism_native_begun_take (agent, most_us);

  return begun != NULL ? new_begun (begun) : NULL;
}

PrismNativeLauncher *
prism_native_launcher_ask (const char *agent, GBytes *template, GBytes *plan, GError **error)
{
  g_autoptr (PrismNativeLauncher) self = NULL;
  int ends[2] = { -1, -1 };

  self = new_launcher_with_sockets (ends, error);
  if (self == NULL)
    return NULL;
  self->server = prism_native_server_ask (agent, template, plan, ends, error);
  close_fd (&ends[0]);
  close_fd (&ends[1]);
  if (self->server == NULL)
    return NULL;
  self->running = self->starting = TRUE;
  return g_steal_pointer (&self);
}

int
prism_native_launcher_steal_control (PrismNativeLauncher *self)
{
  self->agent = self->control;
  self->control = -1;
  return self->agent;
}

GPid
prism_native_launcher_get_pid (PrismNativeLauncher *self)
{
  return self->pid;
}

const char *
prism_native_launcher_get_id (PrismNativeLauncher *self)
{
  return self->id;
}

/* --- what it says ----------------------------------------------------------- */

static void
take_note (PrismNativeLauncher *self, struct prism_wire_reader *r)
{
  const char *key = prism_wire_str (r, PRISM_LAUNCH_MAX_MESSAGE), *text = prism_wire_str (r, PRISM_LAUNCH_MAX_MESSAGE);
  PrismNativeNote *note;

  if (r->bad || self->notes->len == MAX_NOTES)
    return;
  note = g_new0 (PrismNativeNote, 1);
  note->key = g_strdup (key);
  note->text = g_utf8_make_valid (text, -1);
  g_ptr_array_add (self->notes, note);
}

static void
take_failure (PrismNativeLauncher *self, struct prism_wire_reader *r)
{
  guint32 stage = prism_wire_u32 (r);
  int code = (int)prism_wire_u32 (r);
  const char *what = prism_wire_str (r, PRISM_LAUNCH_MAX_MESSAGE);

  if (r->bad || self->failure != NULL)
    return;
  g_autofree char *text = g_utf8_make_valid (what, -1);
  self->failure = prism_native_failure_new (stage, code, text);
}

/* FALSE when what follows in the packet cannot be told. */
static gboolean
take_message (PrismNativeLauncher *self, struct prism_wire_reader *r)
{
  switch (prism_wire_u8 (r))
    {
    case PRISM_LAUNCH_NOTE:
      take_note (self, r);
      break;
    case PRISM_LAUNCH_READY:
      self->facts = prism_wire_u32 (r);
      self->ready = !r->bad;
      break;
    case PRISM_LAUNCH_FAILED:
      take_failure (self, r);
      break;
    case PRISM_LAUNCH_ENDED:
      self->status = (int)prism_wire_u32 (r);
      self->left = prism_wire_u32 (r);
      self->ended = TRUE;
      break;
    case PRISM_LAUNCH_ANSWER:
      self->answer.to = prism_wire_u8 (r);
      self->answer.error = prism_wire_u32 (r);
      self->answer.value = prism_wire_u64 (r);
      break;
    default:
      return FALSE;
    }
  return !r->bad && !prism_wire_done (r);
}

static void
take_packet (PrismNativeLauncher *self, const guint8 *bytes, gsize size)
{
  struct prism_wire_reader r = prism_wire_read_from (bytes, size);

  while (take_message (self, &r))
    ;
}

/* FALSE at the end of the stream. */
static gboolean
read_messages (PrismNativeLauncher *self)
{
  guint8 bytes[PRISM_LAUNCH_MAX_MESSAGE];

  for (;;)
    {
      ssize_t n = prism_native_packet_receive (self->keeper, bytes, sizeof bytes, &self->answer.fd);
      if (n > 0)
        take_packet (self, bytes, n);
      else if (n < 0 && errno == EINTR)
        continue;
      else
        return n < 0 && errno == EAGAIN;
    }
}

/* Milliseconds for poll(); -1 without a deadline. */
static int
time_left (gint64 deadline)
{
  gint64 left;

  if (deadline < 0)
    return -1;
  left = (deadline - g_get_monotonic_time () + 999) / 1000;
  return (int)CLAMP (left, 0, G_MAXINT);
}

static gboolean
wait_for (int fd, short events, gint64 deadline, GCancellable *cancellable, GError **error)
{
  gboolean blind = cancellable != NULL && !prism_fd_is_left ();
  struct pollfd fds[2] = { { fd, events, 0 }, { blind ? -1 : g_cancellable_get_fd (cancellable), POLLIN, 0 } };
  int n;

  do
    n = poll (fds, 2, blind ? PRISM_BLIND_WAIT_MS : time_left (deadline));
  while (n == 0 && blind && time_left (deadline) != 0 && !g_cancellable_is_cancelled (cancellable));
  if (fds[1].fd >= 0)
    g_cancellable_release_fd (cancellable);
  if (g_cancellable_is_cancelled (cancellable))
    g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED, "native: cancelled");
  else if (n == 0)
    g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT,
                         "native: the sandbox did not start in time; raise startup-timeout-ms");
  else
    return TRUE;
  return FALSE;
}

gboolean
prism_native_launcher_give_early_plan (PrismNativeLauncher *self, GBytes *plan, const PrismNativeEarlySteps *steps)
{
  const PrismNativeBegun begun = { .plan = self->plan };
  gsize size = 0;
  const void *bytes = g_bytes_get_data (plan, &size);

  if (!prism_native_begun_give_early_plan (&begun, bytes, size))
    return FALSE;
  self->early_plan = g_bytes_ref (plan);
  self->early = *steps;
  return TRUE;
}

const PrismNativeEarlySteps *
prism_native_launcher_get_early (PrismNativeLauncher *self)
{
  return self->early.bytes != NULL ? &self->early : NULL;
}

/* A launcher that is gone says why, or its end does: wait_ready() hears of it. */
gboolean
prism_native_launcher_give_plan (
    PrismNativeLauncher *self, GBytes *plan, gint64 deadline, GCancellable *cancellable, GError **error)
{
  gsize size = 0;
  const guint8 *bytes = g_bytes_get_data (plan, &size);

  while (size > 0)
    {
      ssize_t n = send (self->plan, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0)
        {
          bytes += n;
          size -= n;
        }
      else if (errno == EAGAIN)
        {
          if (!wait_for (self->plan, POLLOUT, deadline, cancellable, error))
            return FALSE;
        }
      else if (errno != EINTR)
        break;
    }
  /* The end of it is heard also where a fork of this process holds a copy. */
  shutdown (self->plan, SHUT_WR);
  close_fd (&self->plan);
  return TRUE;
}

static void
end_start (PrismNativeLauncher *self)
{
  if (self->starting)
    prism_native_server_started (self->server);
  self->starting = FALSE;
}

gboolean
prism_native_launcher_wait_ready (
    PrismNativeLauncher *self, gboolean agent_speaks, gint64 deadline, GCancellable *cancellable, GError **error)
{
  /* The agent's first word comes right after this one, and is waited for too: one wait
   * does for both. Whatever fails, its end of the control socket is closed. */
  int first = agent_speaks ? self->agent : -1;
  gboolean open = TRUE;

  while (open && !(open = read_messages (self), self->ready || self->failure != NULL))
    {
      if (!wait_for (first >= 0 ? first : self->keeper, POLLIN, deadline, cancellable, error))
        return FALSE;
      first = -1;
    }
  end_start (self);
  if (self->failure != NULL)
    {
      g_propagate_error (error, g_error_copy (self->failure));
      return FALSE;
    }
  if (self->ready)
    return TRUE;
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST,
                       "native: the launcher ended without a word; was it killed?");
  return FALSE;
}

guint32
prism_native_launcher_get_facts (PrismNativeLauncher *self)
{
  return self->facts;
}

const char *
prism_native_launcher_get_note (PrismNativeLauncher *self, const char *key)
{
  for (guint i = 0; i < self->notes->len; i++)
    {
      const PrismNativeNote *note = self->notes->pdata[i];
      if (strcmp (note->key, key) == 0)
        return note->text;
    }
  return NULL;
}

GPtrArray *
prism_native_launcher_get_notes (PrismNativeLauncher *self)
{
  return self->notes;
}

/* --- what it is asked ------------------------------------------------------- */

/* The answer's errno, 0 when it was done; -1 with @error when none came. */
static int
hear (PrismNativeLauncher *self, guint8 type, gint64 deadline, GCancellable *cancellable, GError **error)
{
  gboolean open = TRUE;

  while ((open = read_messages (self)), self->answer.to != type && open)
    if (!wait_for (self->keeper, POLLIN, deadline, cancellable, error))
      return -1;
  if (self->answer.to == type)
    return (int)self->answer.error;
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST, "native: the keeper is gone");
  return -1;
}

static int
ask (PrismNativeLauncher *self,
     struct prism_wire_writer *request,
     const int *fds,
     gsize n,
     gint64 deadline,
     GCancellable *cancellable,
     GError **error)
{
  const struct iovec part = { request->start, (gsize)(request->at - request->start) };

  self->answer.to = 0;
  if (!request->bad && prism_native_packet_send (self->keeper, &part, 1, fds, n))
    return hear (self, request->start[0], deadline, cancellable, error);
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST, "native: the keeper hears nothing");
  return -1;
}

gboolean
prism_native_launcher_deposit (
    PrismNativeLauncher *self, const PrismNativeWayIn *way, int deposit, gint64 ms, gint64 deadline, GError **error)
{
  guint8 bytes[PRISM_LAUNCH_MAX_MESSAGE];
  struct prism_wire_writer w = prism_wire_write_to (bytes, sizeof bytes);
  const int fds[3] = { way->listener, way->folder, deposit };
  int answer;

  prism_wire_put (&w, PRISM_LAUNCH_DEPOSIT, 1);
  prism_wire_put (&w, (guint64)ms, 8);
  prism_wire_put_str (&w, way->path);
  answer = ask (self, &w, fds, 3, deadline, NULL, error);
  self->deposited = answer == 0;
  if (answer > 0)
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED, "native: the keeper: %s", g_strerror (answer));
  return self->deposited;
}

PrismNativeLauncher *
prism_native_launcher_connect (
    int keeper, gint64 deadline, gint64 *left_ms, int *deposit, GCancellable *cancellable, GError **error)
{
  guint8 bytes[1];
  struct prism_wire_writer w = prism_wire_write_to (bytes, sizeof bytes);
  g_autoptr (PrismNativeLauncher) self = NULL;
  int ends[2] = { -1, -1 }, answer;

  self = new_launcher_with_sockets (ends, error);
  if (self == NULL)
    {
      close (keeper);
      return NULL;
    }
  close_fd (&self->keeper);
  close_fd (&ends[1]);
  self->keeper = keeper;
  self->running = self->deposited = TRUE;
  answer = hear (self, PRISM_LAUNCH_CALL, deadline, cancellable, error);
  prism_wire_put (&w, PRISM_LAUNCH_CONNECT, 1);
  if (answer == 0)
    answer = ask (self, &w, ends, 1, deadline, cancellable, error);
  close_fd (&ends[0]);
  if (answer == EBUSY)
    g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE,
                         "native: another host is connected to it; it takes the next one when that is gone");
  else if (answer > 0)
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED, "native: the keeper: %s", g_strerror (answer));
  if (answer != 0)
    return NULL;
  *left_ms = (gint64)MIN (self->answer.value, (guint64)G_MAXINT64);
  *deposit = self->answer.fd;
  self->answer.fd = -1;
  return g_steal_pointer (&self);
}

gboolean
prism_native_launcher_freeze (
    PrismNativeLauncher *self, const char *folder, gint64 deadline, GCancellable *cancellable, GError **error)
{
  guint8 bytes[PRISM_LAUNCH_MAX_MESSAGE];
  struct prism_wire_writer w = prism_wire_write_to (bytes, sizeof bytes);
  int answer;

  prism_wire_put (&w, folder != NULL ? PRISM_LAUNCH_FREEZE : PRISM_LAUNCH_THAW, 1);
  if (folder != NULL)
    prism_wire_put_str (&w, folder);
  answer = ask (self, &w, NULL, 0, deadline, cancellable, error);
  if (answer == ETIMEDOUT)
    g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT,
                         "native: a process does not stand still; all of them go on");
  else if (answer > 0)
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED, "native: the kernel's freezer: %s",
                 g_strerror (answer));
  return answer == 0;
}

/* --- the end ---------------------------------------------------------------- */

/* Our child, and only it. A host that ignores SIGCHLD, or waits for any child, has
 * reaped it already: the descriptor tells of its end all the same. */
static void
reap (PrismNativeLauncher *self)
{
  /* The child of a launcher that stays is reaped by that. */
  while (!self->reaped && waitpid (self->pid, NULL, 0) < 0 && errno == EINTR)
    ;
  self->reaped = TRUE;
}

void
prism_native_launcher_add_group (PrismNativeLauncher *self, const char *folder)
{
  g_ptr_array_add (self->groups, g_strdup (folder));
}

gint64
prism_native_launcher_count_memory_kills (PrismNativeLauncher *self)
{
  gint64 kills = -1;

  /* One of them at most has memory's controller. */
  for (guint i = 0; i < self->groups->len && kills < 0; i++)
    kills = prism_native_cgroup_count_memory_kills (self->groups->pdata[i]);
  return MAX (kills, 0);
}

void
prism_native_launcher_disown (PrismNativeLauncher *self)
{
  reap (self);
}

char *
prism_native_launcher_dup_end (PrismNativeLauncher *self)
{
  if (self->running)
    return NULL;
  if (!self->ended)
    return g_strdup ("its keeper ended without a word; was it killed?");
  if (WIFSIGNALED (self->status))
    return g_strdup_printf ("it was killed by signal %d (%s)", WTERMSIG (self->status),
                            g_strsignal (WTERMSIG (self->status)));
  return g_strdup_printf ("it exited with status %d", WEXITSTATUS (self->status));
}

/* The keeper was killed. The kernel has killed its sandbox with it; a control group
 * is left, and cannot be removed before the last process in it is gone. */
static gboolean
clean_up_for_keeper (PrismNativeLauncher *self, gint64 deadline)
{
  struct pollfd none = { -1, 0, 0 };
  gboolean all = TRUE;

  for (guint i = 0; i < self->groups->len; i++)
    {
      int status;
      prism_native_cgroup_thaw (self->groups->pdata[i]);
      while ((status = rmdir (self->groups->pdata[i])) < 0 && errno == EBUSY && time_left (deadline) != 0)
        poll (&none, 1, 1);
      all = all && (status == 0 || errno == ENOENT);
    }
  return all;
}

static void
leave_server (PrismNativeLauncher *self)
{
  end_start (self);
  g_clear_pointer (&self->server, prism_native_server_release);
}

/* A keeper that holds a deposit takes an end of file for a host that went away. */
static void
tell_end (PrismNativeLauncher *self)
{
  (void)send (self->keeper, &(const guint8){ PRISM_LAUNCH_END }, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown (self->keeper, SHUT_WR);
}

gboolean
prism_native_launcher_end (PrismNativeLauncher *self, gint64 deadline, GError **error)
{
  gint64 alone = g_get_monotonic_time () + ALONE_US;
  gboolean open = TRUE, told = FALSE, leaves = prism_native_begun_reaps (self->pid);

  close_fd (&self->control);
  close_fd (&self->plan);
  if (!self->running || self->forked.anothers)
    return TRUE;
  while (open && (open = read_messages (self)) && !self->ended)
    {
      /* A process of this one's own is waited for in any case: then its last word is read when
       * it has gone, which is to sleep once and not twice. */
      struct pollfd fd = { self->keeper, self->reaped || leaves ? POLLIN : 0, 0 };
      /* An agent whose host is gone ends by itself, which is one process less to wake; not
       * one that is to wait for the next host. */
      if (!told && !self->deposited && poll (&fd, 1, time_left (alone)) > 0)
        continue;
      if (!told)
        tell_end (self);
      told = TRUE;
      if (poll (&fd, 1, time_left (deadline)) == 0)
        {
          g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT,
                       "native: the keeper has not confirmed in time that all is gone; it goes on trying");
          return FALSE;
        }
    }
  self->running = FALSE;
  if (leaves && self->ended)
    {
      prism_native_begun_leave ();
      self->reaped = TRUE;
    }
  reap (self);
  leave_server (self);
  if (!self->ended && !clean_up_for_keeper (self, deadline))
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST,
                   "native: the keeper died, and its control groups could not be removed; the next reap tries again");
      return FALSE;
    }
  if (self->left > 0)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED,
                   "native: %u control groups could not be removed", self->left);
      return FALSE;
    }
  return TRUE;
}

void
prism_native_launcher_free (PrismNativeLauncher *self)
{
  if (self->running && !self->deposited)
    prism_native_launcher_end (self, g_get_monotonic_time () + 10 * G_USEC_PER_SEC, NULL);
  if (!self->forked.anothers)
    leave_server (self); /* whose lock may be held by a thread that is not here */
  prism_native_forked_remove (&self->forked);
  close_fd (&self->control);
  close_fd (&self->plan);
  close_fd (&self->keeper);
  close_fd (&self->pidfd);
  close_fd (&self->answer.fd);
  g_ptr_array_unref (self->notes);
  g_ptr_array_unref (self->groups);
  g_clear_error (&self->failure);
  g_clear_pointer (&self->early_plan, g_bytes_unref);
  g_free (self->id);
  g_free (self);
}
