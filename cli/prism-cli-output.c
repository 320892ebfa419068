/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Standard streams, relayed: a descriptor of the host never goes inside, since
 * a file or folder behind it would be a hole in the sandbox. */
#include "prism-cli-output.h"

#include "prism-cli-signals.h"
#include "prism-cli.h"

#include <errno.h>
#include <gio/gunixinputstream.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

void
prism_cli_output_init (PrismCliOutput *self, GCancellable *cancellable)
{
  self->cancellable = cancellable;
  self->failed_fd = -1;
  self->failed_errno = 0;
}

/* Who reads us has gone, or the disk is full: the command is ended, as the
 * kernel would have ended it for writing there itself. */
gboolean
prism_cli_output_write (PrismCliOutput *self, int fd, const char *data, gsize length)
{
  gsize done = 0;

  if (self->failed_fd >= 0)
    return FALSE;

  prism_cli_signals_blocking (TRUE);
  while (done < length && prism_cli_signals_received () == 0)
    {
      gssize n = write (fd, data + done, length - done);

      if (n >= 0)
        done += n;
      else if (errno == EAGAIN)
        (void)poll (&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
      else if (errno != EINTR)
        {
          self->failed_fd = fd;
          self->failed_errno = errno;
          break;
        }
    }
  prism_cli_signals_blocking (FALSE);
  if (self->failed_fd >= 0)
    g_cancellable_cancel (self->cancellable);

  return done == length;
}

static void
on_output (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer user_data)
{
  gsize length;
  const char *data = g_bytes_get_data (bytes, &length);

  prism_cli_output_write (user_data, stream == PRISM_STREAM_STDERR ? STDERR_FILENO : STDOUT_FILENO, data, length);
}

void
prism_cli_output_watch (PrismCliOutput *self, PrismCommand *command)
{
  prism_command_set_capture (command, FALSE);
  g_signal_connect (command, "output", G_CALLBACK (on_output), self);
}

/* A shell's background job: it would be stopped for reading its terminal, and for
 * setting it. */
gboolean
prism_cli_in_background (void)
{
  pid_t foreground = tcgetpgrp (STDIN_FILENO);

  return foreground >= 0 && foreground != getpgrp ();
}

/* Our standard input to relay, or NULL where it has nothing to give: closed, /dev/null,
 * or a terminal that somebody else has. */
GInputStream *
prism_cli_input (GError **error)
{
  struct stat st;

  if (prism_cli_was_closed (STDIN_FILENO) || prism_cli_in_background ())
    return NULL;
  if (fstat (STDIN_FILENO, &st) != 0 || S_ISDIR (st.st_mode))
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_IS_DIRECTORY, _ ("the standard input is a folder; it cannot be read"));
      return NULL;
    }
  if (S_ISCHR (st.st_mode) && st.st_rdev == makedev (1, 3))
    return NULL;

  return g_unix_input_stream_new (STDIN_FILENO, FALSE);
}
