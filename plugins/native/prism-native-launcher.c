/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts the launcher and hears what it says. The host never forks or clones:
 * posix_spawn costs the same from a process with a gigabyte of heap, and is safe
 * with threads. The launcher gets three descriptors and an empty environment; what
 * it is to do is in the first of them, never in its arguments. */
#include "prism-native-launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <libprism/prism.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prism-launch.h"
#include "prism-native-failure.h"

#define MAX_NOTES 64

struct _PrismNativeLauncher
{
  pid_t pid;
  int pidfd, control, keeper;
  GPtrArray *notes; /* of PrismNativeNote */
  gboolean ready, ended, reaped;
  guint32 left, facts;
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
set_errno_error (GError **error, const char *what)
{
  int saved = errno;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED, "native: %s: %s", what, g_strerror (saved));
}

/* A descriptor above those that the launcher's own numbers would overwrite. */
static int
lift (int fd)
{
  int high = fd >= 0 && fd <= PRISM_LAUNCH_KEEPER_FD ? fcntl (fd, F_DUPFD_CLOEXEC, PRISM_LAUNCH_KEEPER_FD + 1) : fd;

  if (high != fd)
    close (fd);
  return high;
}

static int
write_plan (GBytes *plan, GError **error)
{
  gsize size = 0;
  const guint8 *bytes = g_bytes_get_data (plan, &size);
  int fd = lift (memfd_create ("prism-plan", MFD_CLOEXEC));

  if (fd < 0)
    {
      set_errno_error (error, "a file in memory for the plan");
      return -1;
    }
  while (size > 0)
    {
      ssize_t n = write (fd, bytes, size);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        {
          set_errno_error (error, "writing the plan");
          close (fd);
          return -1;
        }
      bytes += n;
      size -= n;
    }
  return fd;
}

static gboolean
make_pair (int type, int ends[2], GError **error)
{
  if (socketpair (AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0)
    {
      set_errno_error (error, "a pair of sockets");
      return FALSE;
    }
  ends[0] = lift (ends[0]);
  ends[1] = lift (ends[1]);
  return TRUE;
}

static int
spawn (const char *agent, pid_t *pid, int plan, int control, int keeper)
{
  char *const arguments[] = { (char *)"prism-agent", (char *)"--launch", NULL }, *const environment[] = { NULL };
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t all, none;
  int error;

  sigfillset (&all);
  sigemptyset (&none);
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_addopen (&actions, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2 (&actions, 0, 1);
  posix_spawn_file_actions_adddup2 (&actions, 0, 2);
  posix_spawn_file_actions_adddup2 (&actions, plan, PRISM_LAUNCH_PLAN_FD);
  posix_spawn_file_actions_adddup2 (&actions, control, PRISM_LAUNCH_CONTROL_FD);
  posix_spawn_file_actions_adddup2 (&actions, keeper, PRISM_LAUNCH_KEEPER_FD);
  posix_spawn_file_actions_addclosefrom_np (&actions, PRISM_LAUNCH_KEEPER_FD + 1);
  posix_spawnattr_init (&attributes);
  posix_spawnattr_setsigmask (&attributes, &none);
  posix_spawnattr_setsigdefault (&attributes, &all);
  posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  error = posix_spawn (pid, agent, &actions, &attributes, arguments, environment);
  posix_spawnattr_destroy (&attributes);
  posix_spawn_file_actions_destroy (&actions);
  return error;
}

PrismNativeLauncher *
prism_native_launcher_spawn (const char *agent, GBytes *plan, GError **error)
{
  PrismNativeLauncher *self = NULL;
  int control[2] = { -1, -1 }, keeper[2] = { -1, -1 }, status;
  pid_t pid = -1;
  int fd = write_plan (plan, error);

  if (fd < 0)
    return NULL;
  if (make_pair (SOCK_STREAM, control, error) && make_pair (SOCK_SEQPACKET, keeper, error))
    {
      status = spawn (agent, &pid, fd, control[1], keeper[1]);
      if (status != 0)
        g_set_error (
            error, PRISM_SANDBOX_ERROR, status == ENOENT ? PRISM_SANDBOX_ERROR_UNAVAILABLE : PRISM_SANDBOX_ERROR_FAILED,
            "native: %s cannot be started: %s; install prism-agent, or set PRISM_AGENT", agent, g_strerror (status));
    }
  close_fd (&fd);
  close_fd (&control[1]);
  close_fd (&keeper[1]);
  if (pid < 0)
    {
      close_fd (&control[0]);
      close_fd (&keeper[0]);
      return NULL;
    }
  self = g_new0 (PrismNativeLauncher, 1);
  self->pid = pid;
  self->pidfd = (int)syscall (SYS_pidfd_open, pid, 0);
  self->control = control[0];
  self->keeper = keeper[0];
  self->notes = g_ptr_array_new_with_free_func (note_free);
  return self;
}

int
prism_native_launcher_steal_control (PrismNativeLauncher *self)
{
  int fd = self->control;
  self->control = -1;
  return fd;
}

GPid
prism_native_launcher_get_pid (PrismNativeLauncher *self)
{
  return self->pid;
}

/* --- what it says ----------------------------------------------------------- */

static void
take_note (PrismNativeLauncher *self, struct prism_wire_reader *r)
{
  const char *key = prism_wire_str (r, PRISM_LAUNCH_MAX_MESSAGE), *text = prism_wire_str (r, PRISM_LAUNCH_MAX_MESSAGE);
  PrismNativeNote *note;

  if (!prism_wire_done (r) || self->notes->len == MAX_NOTES)
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

  if (!prism_wire_done (r) || self->failure != NULL)
    return;
  g_autofree char *text = g_utf8_make_valid (what, -1);
  self->failure = prism_native_failure_new (stage, code, text);
}

static void
take_message (PrismNativeLauncher *self, const guint8 *bytes, gsize size)
{
  struct prism_wire_reader r = prism_wire_read_from (bytes, size);

  switch (prism_wire_u8 (&r))
    {
    case PRISM_LAUNCH_NOTE:
      take_note (self, &r);
      break;
    case PRISM_LAUNCH_READY:
      self->facts = prism_wire_u32 (&r);
      self->ready = TRUE;
      break;
    case PRISM_LAUNCH_FAILED:
      take_failure (self, &r);
      break;
    case PRISM_LAUNCH_ENDED:
      (void)prism_wire_u32 (&r);
      self->left = prism_wire_u32 (&r);
      self->ended = TRUE;
      break;
    default:
      break;
    }
}

/* FALSE at the end of the stream. */
static gboolean
read_messages (PrismNativeLauncher *self)
{
  guint8 bytes[PRISM_LAUNCH_MAX_MESSAGE];

  for (;;)
    {
      ssize_t n = recv (self->keeper, bytes, sizeof bytes, MSG_DONTWAIT);
      if (n > 0)
        take_message (self, bytes, n);
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

gboolean
prism_native_launcher_wait_ready (PrismNativeLauncher *self, gint64 deadline, GCancellable *cancellable, GError **error)
{
  gboolean open = TRUE;

  while (open && !(open = read_messages (self), self->ready || self->failure != NULL))
    {
      struct pollfd fds[2] = { { self->keeper, POLLIN, 0 }, { g_cancellable_get_fd (cancellable), POLLIN, 0 } };
      int n = poll (fds, fds[1].fd >= 0 ? 2 : 1, time_left (deadline));
      if (fds[1].fd >= 0)
        g_cancellable_release_fd (cancellable);
      if (g_cancellable_is_cancelled (cancellable))
        {
          g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED, "native: cancelled");
          return FALSE;
        }
      if (n == 0)
        {
          g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT,
                               "native: the sandbox did not start in time; raise startup-timeout-ms");
          return FALSE;
        }
    }
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

/* --- the end ---------------------------------------------------------------- */

/* Our child, and only it. A host that ignores SIGCHLD, or waits for any child, has
 * reaped it already: the descriptor tells of its end all the same. */
static void
reap (PrismNativeLauncher *self)
{
  while (waitpid (self->pid, NULL, 0) < 0 && errno == EINTR)
    ;
  self->reaped = TRUE;
}

gboolean
prism_native_launcher_end (PrismNativeLauncher *self, gint64 deadline, GError **error)
{
  gboolean open = TRUE;

  close_fd (&self->control);
  if (self->reaped)
    return TRUE;
  shutdown (self->keeper, SHUT_WR);
  while (open && (open = read_messages (self)))
    {
      struct pollfd fd = { self->keeper, POLLIN, 0 };
      if (poll (&fd, 1, time_left (deadline)) == 0)
        {
          g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT,
                       "native: the keeper (process %d) has not confirmed in time that all is gone; it goes on trying",
                       (int)self->pid);
          return FALSE;
        }
    }
  reap (self);
  if (!self->ended)
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST,
                 "native: the keeper died; what is left of its sandbox is removed by the next reap");
  else if (self->left > 0)
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED,
                 "native: %u control groups could not be removed", self->left);
  return self->ended && self->left == 0;
}

void
prism_native_launcher_free (PrismNativeLauncher *self)
{
  if (!self->reaped)
    prism_native_launcher_end (self, g_get_monotonic_time () + 10 * G_USEC_PER_SEC, NULL);
  close_fd (&self->control);
  close_fd (&self->keeper);
  close_fd (&self->pidfd);
  g_ptr_array_unref (self->notes);
  g_clear_error (&self->failure);
  g_free (self);
}
