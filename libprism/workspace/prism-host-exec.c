/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command on the host, for compositions that have no sandbox: nothing isolates it, and
 * nothing here says so. It gets a session of its own, so that its process group can be ended;
 * what leaves that group lives on. Output is handed on in the order in which it comes. */
#include "prism-host-tree-private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prism-fd-left.h"
#include "prism-fd-private.h"

#define CHUNK    65536
#define GRACE_US (2 * G_USEC_PER_SEC)

typedef struct
{
  int fd;
  PrismStream stream;
  GByteArray *kept;
  guint64 total;
} Output;

typedef struct
{
  PrismCommand *command;
  pid_t pid;
  int pidfd, in;
  gsize sent;
  Output out[2];
  guint64 most;
  gint64 started, ends; /* monotonic; 0 = never */
  gboolean timed_out, cancelled, over;
  gboolean unseen; /* somebody else took its status */
  int status;
} Child;

static void
clear_child (Child *child)
{
  for (guint i = 0; i < 2; i++)
    {
      prism_clear_fd (&child->out[i].fd);
      g_clear_pointer (&child->out[i].kept, g_byte_array_unref);
    }
  prism_clear_fd (&child->in);
  prism_clear_fd (&child->pidfd);
}

static gboolean
spawn (Child *child, int cwd, const char *const *environment, int in, int out, int err, GError **error)
{
  const char *const *argv = prism_command_get_argv (child->command);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, all;
  int number;

  sigemptyset (&none);
  sigfillset (&all);
  posix_spawn_file_actions_init (&actions);
  posix_spawnattr_init (&attributes);
  posix_spawn_file_actions_addfchdir_np (&actions, cwd);
  posix_spawn_file_actions_adddup2 (&actions, in, 0);
  posix_spawn_file_actions_adddup2 (&actions, out, 1);
  posix_spawn_file_actions_adddup2 (&actions, err, 2);
  posix_spawn_file_actions_addclosefrom_np (&actions, 3);
  posix_spawnattr_setsigmask (&attributes, &none);
  posix_spawnattr_setsigdefault (&attributes, &all);
  posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  number = posix_spawnp (&child->pid, argv[0], &actions, &attributes, (char *const *)argv, (char *const *)environment);
  posix_spawn_file_actions_destroy (&actions);
  posix_spawnattr_destroy (&attributes);
  if (number == 0)
    return TRUE;
  g_set_error (error, PRISM_TREE_FAULT, number == ENOENT ? PRISM_TREE_FAULT_NOT_FOUND : PRISM_TREE_FAULT_DENIED,
               "%s: %s", argv[0], g_strerror (number));
  return FALSE;
}

static gboolean
start (Child *child, int cwd, const char *const *environment, GError **error)
{
  GBytes *bytes = prism_command_get_stdin_bytes (child->command);
  int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
  gboolean started = TRUE;

  if (bytes != NULL)
    started = pipe2 (pipes[0], O_CLOEXEC) == 0;
  else
    pipes[0][0] = open ("/dev/null", O_RDONLY | O_CLOEXEC);
  started = started && pipes[0][0] >= 0 && pipe2 (pipes[1], O_CLOEXEC) == 0 && pipe2 (pipes[2], O_CLOEXEC) == 0;
  if (!started)
    prism_tree_set_errno (error, errno, "a pipe");
  else
    started = spawn (child, cwd, environment, pipes[0][0], pipes[1][1], pipes[2][1], error);
  prism_clear_fd (&pipes[0][0]);
  prism_clear_fd (&pipes[1][1]);
  prism_clear_fd (&pipes[2][1]);
  child->in = pipes[0][1];
  child->out[0].fd = pipes[1][0];
  child->out[1].fd = pipes[2][0];
  if (!started)
    return FALSE;
  if (child->in >= 0)
    fcntl (child->in, F_SETFL, O_NONBLOCK);
  child->pidfd = (int)syscall (SYS_pidfd_open, child->pid, 0);
  return TRUE;
}

static void
take_output (Child *child, Output *output)
{
  g_autofree guint8 *buffer = g_malloc (CHUNK);
  ssize_t n = read (output->fd, buffer, CHUNK);

  if (n < 0 && (errno == EINTR || errno == EAGAIN))
    return;
  if (n <= 0)
    {
      prism_clear_fd (&output->fd);
      return;
    }
  output->total += (guint64)n;
  if (child->out[0].total + child->out[1].total > child->most && child->most > 0)
    child->over = TRUE;
  if (prism_command_get_capture (child->command) && !child->over)
    g_byte_array_append (output->kept, buffer, (guint)n);
  {
    g_autoptr (GBytes) bytes = g_bytes_new (buffer, (gsize)n);
    prism_command_emit_output (child->command, output->stream, bytes);
  }
}

/* SIGPIPE is not ours to set: the write is by a descriptor that nobody may read any more. */
static void
send_input (Child *child)
{
  gsize size;
  const char *data = g_bytes_get_data (prism_command_get_stdin_bytes (child->command), &size);
  sigset_t pipe_only, before;
  ssize_t n;

  sigemptyset (&pipe_only);
  sigaddset (&pipe_only, SIGPIPE);
  pthread_sigmask (SIG_BLOCK, &pipe_only, &before);
  n = child->sent < size ? write (child->in, data + child->sent, size - child->sent) : 0;
  if (n < 0 && errno == EPIPE)
    {
      const struct timespec now = { 0, 0 };
      sigtimedwait (&pipe_only, NULL, &now);
    }
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (n > 0)
    child->sent += (gsize)n;
  else if (n == 0 || (errno != EAGAIN && errno != EINTR))
    prism_clear_fd (&child->in);
}

/* The first time it is asked, then, after the grace, for good. */
static void
end_group (Child *child, gint64 *kill_at)
{
  if (*kill_at == 0)
    {
      kill (-child->pid, SIGTERM);
      *kill_at = g_get_monotonic_time () + GRACE_US;
    }
  else if (g_get_monotonic_time () >= *kill_at)
    kill (-child->pid, SIGKILL);
}

static int
wait_ms (const Child *child, gint64 kill_at)
{
  gint64 now = g_get_monotonic_time (), next = kill_at > 0 ? kill_at : child->ends;

  return next == 0 ? 1000 : (int)CLAMP ((next - now) / 1000 + 1, 0, 1000);
}

/* Its group is ended with it: what it left behind would go on where nobody looks. */
static void
attend (Child *child, GCancellable *cancellable)
{
  GPollFD woken = { .fd = -1 };
  gboolean blind = cancellable != NULL && !prism_fd_is_left ();
  gboolean watched = cancellable != NULL && !blind && g_cancellable_make_pollfd (cancellable, &woken);
  gint64 kill_at = 0;
  gboolean exited = FALSE;

  while (!exited)
    {
      struct pollfd fds[5] = { { child->pidfd, POLLIN, 0 },
                               { child->out[0].fd, POLLIN, 0 },
                               { child->out[1].fd, POLLIN, 0 },
                               { child->in, POLLOUT, 0 },
                               { child->cancelled ? -1 : woken.fd, POLLIN, 0 } };

      poll (fds, 5, child->pidfd < 0 || blind ? 10 : wait_ms (child, kill_at));
      for (guint i = 0; i < 2; i++)
        if (child->out[i].fd >= 0 && fds[1 + i].revents != 0)
          take_output (child, &child->out[i]);
      if (child->in >= 0 && fds[3].revents != 0)
        send_input (child);
      child->cancelled = child->cancelled || (g_cancellable_is_cancelled (cancellable) && !child->timed_out);
      if (child->ends > 0 && g_get_monotonic_time () >= child->ends && !child->cancelled)
        child->timed_out = TRUE;
      if (child->cancelled || child->timed_out || child->over)
        end_group (child, &kill_at);
      pid_t pid = waitpid (child->pid, &child->status, WNOHANG);
      /* A program that ignores SIGCHLD, or waits for any child, has it: what is not known is
       * not said. */
      child->unseen = pid < 0 && errno != EINTR;
      exited = pid > 0 || child->unseen;
    }
  kill (-child->pid, SIGKILL);
  if (watched)
    g_cancellable_release_fd (cancellable);
}

/* What is in the pipes still; what left the group may hold them open: no waiting for that. */
static void
drain (Child *child)
{
  for (guint i = 0; i < 2; i++)
    {
      fcntl (child->out[i].fd, F_SETFL, O_NONBLOCK);
      while (child->out[i].fd >= 0 && !child->over)
        {
          guint64 before = child->out[i].total;
          take_output (child, &child->out[i]);
          if (child->out[i].total == before)
            break;
        }
    }
}

static PrismResult *
make_result (Child *child)
{
  PrismOutcome outcome = child->over                   ? PRISM_OUTCOME_OUTPUT_LIMIT
                         : child->timed_out            ? PRISM_OUTCOME_TIMED_OUT
                         : child->cancelled            ? PRISM_OUTCOME_CANCELLED
                         : child->unseen               ? PRISM_OUTCOME_LOST
                         : WIFSIGNALED (child->status) ? PRISM_OUTCOME_SIGNALLED
                                                       : PRISM_OUTCOME_EXITED;
  g_autoptr (GBytes) out = g_byte_array_free_to_bytes (g_steal_pointer (&child->out[0].kept));
  g_autoptr (GBytes) err = g_byte_array_free_to_bytes (g_steal_pointer (&child->out[1].kept));

  return g_object_new (PRISM_TYPE_RESULT, "outcome", outcome, "exit-code",
                       outcome == PRISM_OUTCOME_EXITED ? WEXITSTATUS (child->status) : -1, "term-signal",
                       WIFSIGNALED (child->status) ? WTERMSIG (child->status) : 0, "stdout-bytes", out, "stderr-bytes",
                       err, "stdout-total", child->out[0].total, "stderr-total", child->out[1].total, "duration-us",
                       g_get_monotonic_time () - child->started, "reason",
                       outcome == PRISM_OUTCOME_LOST ? "its end was not seen: this program ignores SIGCHLD, or waits "
                                                       "for children that are not its own"
                                                     : NULL,
                       NULL);
}

PrismResult *
prism_host_exec (
    PrismCommand *command, int cwd_fd, const char *const *environment, GCancellable *cancellable, GError **error)
{
  Child child = { .command = command, .pidfd = -1, .in = -1, .started = g_get_monotonic_time () };
  gint64 timeout_ms = prism_command_get_timeout_ms (command), most = prism_command_get_max_output_bytes (command);
  PrismResult *result = NULL;

  child.out[0] = (Output){ -1, PRISM_STREAM_STDOUT, g_byte_array_new (), 0 };
  child.out[1] = (Output){ -1, PRISM_STREAM_STDERR, g_byte_array_new (), 0 };
  child.most = most > 0 ? (guint64)most : 0;
  child.ends = timeout_ms > 0 ? child.started + timeout_ms * 1000 : 0;
  if (start (&child, cwd_fd, environment, error))
    {
      attend (&child, cancellable);
      drain (&child);
      result = make_result (&child);
    }
  clear_child (&child);
  return result;
}
