/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TRUST. The program is the caller's choice, by an absolute path. Its environment is two
 * variables, its arguments are an array, its output is bounded, and it is ended with the
 * wait for it. */
#include "prism-docker-cli.h"

#include <errno.h>
#include <fcntl.h>
#include <libprism/prism.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prism-docker-plan.h"

#define MOST_OUTPUT (16 * 1024 * 1024)
#define MOST_ERRORS (16 * 1024)
#define CHUNK       (64 * 1024)

typedef struct
{
  pid_t pid;
  int pidfd;
  int ends[2]; /* its stdout and stderr */
  GByteArray *output[2];
  gboolean too_much;
} Run;

static void
close_fd (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

/* Whatever became of it, it is ended and reaped. */
static int
run_end (Run *self)
{
  int status = -1;

  if (self->pid > 0)
    {
      if (self->pidfd >= 0)
        kill (self->pid, SIGKILL);
      while (waitpid (self->pid, &status, 0) < 0 && errno == EINTR)
        ;
    }
  self->pid = 0;
  close_fd (&self->pidfd);
  close_fd (&self->ends[0]);
  close_fd (&self->ends[1]);
  return status;
}

static void
run_clear (Run *self)
{
  run_end (self);
  g_byte_array_unref (self->output[0]);
  g_byte_array_unref (self->output[1]);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Run, run_clear)

static gboolean
spawn (Run *self, const char *program, const char *const *argv, const char *what, GError **error)
{
  const char *const environment[] = { "PATH=/usr/bin:/bin", "LANG=C", NULL };
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  posix_spawn_file_actions_t actions;
  int out[2] = { -1, -1 }, err[2] = { -1, -1 }, failure = 0;

  g_ptr_array_add (words, (gpointer)program);
  for (; *argv != NULL; argv++)
    g_ptr_array_add (words, (gpointer)*argv);
  g_ptr_array_add (words, NULL);
  if (pipe2 (out, O_CLOEXEC) < 0 || pipe2 (err, O_CLOEXEC) < 0)
    failure = errno;
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_addopen (&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2 (&actions, out[1], 1);
  posix_spawn_file_actions_adddup2 (&actions, err[1], 2);
  if (failure == 0)
    failure =
        posix_spawn (&self->pid, program, &actions, NULL, (char *const *)words->pdata, (char *const *)environment);
  posix_spawn_file_actions_destroy (&actions);
  close_fd (&out[1]);
  close_fd (&err[1]);
  self->ends[0] = out[0];
  self->ends[1] = err[0];
  if (failure != 0)
    {
      self->pid = 0;
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CLI, "docker: %s: %s: %s", what, program,
                   g_strerror (failure));
      return FALSE;
    }
  self->pidfd = (int)syscall (SYS_pidfd_open, self->pid, 0);
  return TRUE;
}

static void
take (Run *self, guint which)
{
  guint8 chunk[CHUNK];
  ssize_t n = read (self->ends[which], chunk, sizeof chunk);
  gsize most = which == 0 ? MOST_OUTPUT : MOST_ERRORS;

  if (n < 0 && (errno == EINTR || errno == EAGAIN))
    return;
  if (n <= 0)
    {
      close_fd (&self->ends[which]);
      return;
    }
  if (self->output[which]->len + (gsize)n <= most)
    g_byte_array_append (self->output[which], chunk, (guint)n);
  else if (which == 0)
    self->too_much = TRUE;
}

/* Until it has ended and said all; FALSE where somebody or the time said no. */
static gboolean
follow (Run *self, const char *what, gint64 deadline, GCancellable *cancellable, GError **error)
{
  GPollFD cancel = { -1, 0, 0 };
  gboolean has_cancel = cancellable != NULL && g_cancellable_make_pollfd (cancellable, &cancel), good = FALSE;

  while (!self->too_much)
    {
      struct pollfd fds[4] = {
        { self->ends[0], POLLIN, 0 }, { self->ends[1], POLLIN, 0 }, { self->pidfd, POLLIN, 0 }, { cancel.fd, POLLIN, 0 }
      };
      gint64 left = (deadline - g_get_monotonic_time () + 999) / 1000;
      gboolean silent = self->ends[0] < 0 && self->ends[1] < 0;

      if (g_cancellable_is_cancelled (cancellable))
        {
          g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED, "docker: %s: cancelled", what);
          break;
        }
      if (left <= 0)
        {
          g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT,
                       "docker: %s: the engine's program did not end in time", what);
          break;
        }
      if (poll (fds, 4, (int)MIN (left, G_MAXINT)) < 0 && errno != EINTR)
        break;
      if (fds[0].revents != 0)
        take (self, 0);
      if (fds[1].revents != 0)
        take (self, 1);
      /* What it left in the background may hold its streams. */
      if (self->pidfd < 0 ? silent : (fds[2].revents != 0 && fds[0].revents == 0 && fds[1].revents == 0))
        {
          good = TRUE;
          break;
        }
    }
  if (has_cancel)
    g_cancellable_release_fd (cancellable);
  return good || self->too_much;
}

/* Its own words, cut to a line. */
static char *
dup_words (Run *self)
{
  return g_strstrip (prism_docker_dup_printable ((const char *)self->output[1]->data, MIN (self->output[1]->len, 512)));
}

GBytes *
prism_docker_cli_run (const char *program,
                      const char *const *argv,
                      const char *what,
                      gint64 deadline,
                      GCancellable *cancellable,
                      GError **error)
{
  g_auto (Run) self = { .pidfd = -1, .ends = { -1, -1 } };
  g_autofree char *words = NULL;
  int status;

  self.output[0] = g_byte_array_new ();
  self.output[1] = g_byte_array_new ();
  if (!spawn (&self, program, argv, what, error) || !follow (&self, what, deadline, cancellable, error))
    return NULL;
  if (self.too_much)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CLI, "docker: %s: %s wrote more than %d MiB", what,
                   program, MOST_OUTPUT >> 20);
      return NULL;
    }
  status = run_end (&self);
  if (WIFEXITED (status) && WEXITSTATUS (status) == 0)
    return g_bytes_new (self.output[0]->data, self.output[0]->len);
  words = dup_words (&self);
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CLI, "docker: %s: %s: %s", what, program,
               *words != 0 ? words : "it failed and does not say why");
  return NULL;
}
