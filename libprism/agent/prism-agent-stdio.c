/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command's three streams: pipes whose one end is passed inside, a terminal's
 * master that comes from inside, or frames. TRUST: see prism-agent-exec-private.h. */
#include "prism-agent-exec-private.h"

#include "prism-fd-left.h"
#include "prism-fd-private.h"
#include "prism-operation-private.h"
#include "prism-sandbox-error.h"

#include <fcntl.h>
#include <gio/gfiledescriptorbased.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>

#define SMALL_READ (16u * 1024u)
#define FRAMED_IN  (64u * 1024u)

/* --- making them --- */

static gboolean
open_pipe (int *ours, int *theirs, gboolean we_read, GError **error)
{
  int ends[2];
  if (pipe2 (ends, O_CLOEXEC) < 0)
    {
      prism_agent_set_no_fds (error, "a command's streams");
      return FALSE;
    }
  *ours = ends[we_read ? 0 : 1];
  *theirs = ends[we_read ? 1 : 0];
  /* A command opens its own streams anew (/dev/stdout, tee /dev/stderr), by a name that
   * nobody can follow who could not trace it; root's pipe would not let it in. */
  if (geteuid () == 0)
    fchmod (*theirs, 0666);
  /* Ours only: a command may not expect a pipe that does not block. */
  fcntl (*ours, F_SETFL, O_NONBLOCK);
  return TRUE;
}

/* A stream that cannot be polled is read by a thread of its own, into a pipe. */
typedef struct
{
  GInputStream *stream;
  GCancellable *stop;
  int to;
} Pump;

static gboolean
pump_write (Pump *pump, const guint8 *bytes, gsize size)
{
  while (size > 0)
    {
      GPollFD fds[2] = { { pump->to, G_IO_OUT, 0 } };
      guint n_fds = g_cancellable_make_pollfd (pump->stop, &fds[1]) ? 2 : 1;
      g_poll (fds, n_fds, -1);
      if (n_fds == 2)
        g_cancellable_release_fd (pump->stop);
      if (g_cancellable_is_cancelled (pump->stop))
        return FALSE;
      ssize_t n = write (pump->to, bytes, size);
      if (n < 0 && errno != EAGAIN && errno != EINTR)
        return FALSE;
      bytes += MAX (n, 0);
      size -= (gsize)MAX (n, 0);
    }
  return TRUE;
}

static gpointer
pump_main (gpointer data)
{
  g_autofree Pump *pump = data;
  g_autofree guint8 *buffer = g_malloc (SMALL_READ);
  gssize n;
  do
    n = g_input_stream_read (pump->stream, buffer, SMALL_READ, pump->stop, NULL);
  while (n > 0 && pump_write (pump, buffer, (gsize)n));
  close (pump->to);
  g_cancellable_release_fd (pump->stop);
  g_object_unref (pump->stream);
  g_object_unref (pump->stop);
  return NULL;
}

/* Takes @to when it succeeds. */
static gboolean
start_pump (PrismAgentInput *in, GInputStream *stream, int to, GError **error)
{
  if (!prism_fd_is_left ())
    {
      prism_agent_set_no_fds (error, "a command's streams");
      return FALSE;
    }
  in->worker = g_cancellable_new ();
  g_cancellable_get_fd (in->worker); /* the thread's, from here on */
  Pump *pump = g_new (Pump, 1);
  *pump = (Pump){ g_object_ref (stream), g_object_ref (in->worker), to };
  g_autoptr (GError) failure = NULL;
  GThread *thread = prism_start_thread ("prism-stdin", pump_main, pump, &failure);
  if (thread != NULL)
    {
      g_thread_unref (thread);
      return TRUE;
    }
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED,
               "the thread that reads the command's standard input cannot be started: %s", failure->message);
  g_cancellable_release_fd (pump->stop);
  g_object_unref (pump->stream);
  g_object_unref (pump->stop);
  g_free (pump);
  return FALSE;
}

/* Where standard input comes from. Without descriptors of its own to write to
 * (frames, a terminal) a pumped stream goes through a pipe of ours. */
static gboolean
open_source (PrismAgentExec *self, GError **error)
{
  PrismAgentInput *in = &self->in;
  GInputStream *stream = prism_command_get_stdin_stream (self->command);
  GBytes *bytes = prism_command_get_stdin_bytes (self->command);
  if (bytes != NULL)
    in->bytes = g_bytes_ref (bytes);
  if (stream == NULL)
    return TRUE;
  if (G_IS_FILE_DESCRIPTOR_BASED (stream))
    {
      in->from = g_file_descriptor_based_get_fd (G_FILE_DESCRIPTOR_BASED (stream));
      return TRUE;
    }
  prism_autofd int ours = -1;
  prism_autofd int theirs = -1;
  if (in->to >= 0)
    theirs = g_steal_fd (&in->to);
  else if (!open_pipe (&ours, &theirs, TRUE, error))
    return FALSE;
  else
    fcntl (theirs, F_SETFL, O_NONBLOCK);
  if (!start_pump (in, stream, theirs, error))
    return FALSE;
  theirs = -1;
  in->from = g_steal_fd (&ours);
  in->owns_from = in->from >= 0;
  in->open = in->owns_from;
  return TRUE;
}

gboolean
prism_agent_exec_open_streams (PrismAgentExec *self, int *fds, guint *n_fds, GError **error)
{
  gboolean pty = prism_command_get_pty_columns (self->command) > 0;
  gboolean framed = prism_agent_sandbox_is_framed (self->sandbox);
  gboolean feeds =
      prism_command_get_stdin_bytes (self->command) != NULL || prism_command_get_stdin_stream (self->command) != NULL;
  self->in.framed = framed;
  self->in.open = feeds || pty;
  self->in.to_ready = TRUE;
  *n_fds = 0;
  if (feeds && !pty && !framed)
    {
      if (!open_pipe (&self->in.to, &fds[*n_fds], FALSE, error))
        return FALSE;
      (*n_fds)++;
      self->in.owns_to = TRUE;
    }
  for (guint i = 0; i < 2 && !pty && !framed; i++)
    {
      if (!open_pipe (&self->out[i].fd, &fds[*n_fds], TRUE, error))
        return FALSE;
      (*n_fds)++;
    }
  return !feeds || open_source (self, error);
}

gboolean
prism_agent_exec_take_master (PrismAgentExec *self, int fd)
{
  struct stat st;
  unsigned int number;
  /* It comes from inside: what is no pseudo-terminal might block whoever reads it. */
  if (fstat (fd, &st) < 0 || !S_ISCHR (st.st_mode) || st.st_rdev != makedev (5, 2) || ioctl (fd, TIOCGPTN, &number) < 0)
    {
      close (fd);
      return FALSE;
    }
  fcntl (fd, F_SETFL, O_NONBLOCK);
  self->out[0].fd = fd;
  self->in.to = fcntl (fd, F_DUPFD_CLOEXEC, 3);
  self->in.owns_to = TRUE;
  if (self->in.to < 0)
    self->in.open = FALSE;
  return TRUE;
}

/* --- closing them --- */

static void
close_input (PrismAgentExec *self)
{
  PrismAgentInput *in = &self->in;
  in->open = FALSE;
  if (self->waiter == NULL && in->from >= 0)
    prism_agent_watch_set (&in->from_watch, &self->job, in->from, 0);
  if (self->waiter == NULL && in->to >= 0)
    prism_agent_watch_set (&in->to_watch, &self->job, in->to, 0);
  if (in->owns_from)
    prism_clear_fd (&in->from);
  in->from = -1;
  prism_clear_fd (&in->to);
  g_clear_pointer (&in->bytes, g_bytes_unref);
  if (in->worker != NULL)
    g_cancellable_cancel (in->worker);
  g_clear_object (&in->worker);
}

void
prism_agent_exec_close_streams (PrismAgentExec *self)
{
  close_input (self);
  prism_clear_fd (&self->master);
  for (guint i = 0; i < 2; i++)
    {
      PrismAgentOutput *output = &self->out[i];
      if (output->fd < 0)
        continue;
      if (self->waiter == NULL)
        prism_agent_watch_set (&output->watch, &self->job, output->fd, 0);
      if (self->exit.how != 0)
        prism_agent_channel_drain (self->channel, g_steal_fd (&output->fd));
      else
        prism_clear_fd (&output->fd);
    }
}

/* --- standard input --- */

/* A command that closed its input is no reason for SIGPIPE to end this process. */
static ssize_t
write_quietly (int fd, const void *bytes, gsize size)
{
  static const struct timespec now = { 0, 0 };
  sigset_t pipe, before, waiting;
  sigemptyset (&pipe);
  sigaddset (&pipe, SIGPIPE);
  sigpending (&waiting);
  pthread_sigmask (SIG_BLOCK, &pipe, &before);
  ssize_t n = write (fd, bytes, size);
  int saved = errno;
  if (n < 0 && saved == EPIPE && !sigismember (&waiting, SIGPIPE) && !sigismember (&before, SIGPIPE))
    sigtimedwait (&pipe, NULL, &now);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  errno = saved;
  return n;
}

/* No more comes: says so the way the command's input understands it. A terminal has to be
 * told in bytes, which may have to wait like all others. TRUE: there are some. */
static gboolean
finish_input (PrismAgentExec *self)
{
  PrismAgentInput *in = &self->in;
  gboolean pty = prism_command_get_pty_columns (self->command) > 0;
  if (pty && !in->ended)
    {
      in->ended = TRUE;
      in->bytes = g_bytes_new_static (PRISM_AGENT_END_OF_TTY, prism_agent_end_of_tty (in->last));
      return TRUE;
    }
  if (in->framed && !pty)
    {
      g_auto (PrismAgentFrame) frame = { 0 };
      prism_agent_frame_init (&frame, PRISM_WIRE_IN_EOF, 0, 0);
      prism_agent_channel_send (self->channel, &frame, self->ticket);
    }
  close_input (self);
  return FALSE;
}

/* FALSE: nothing to write now. */
static gboolean
next_input (PrismAgentExec *self)
{
  PrismAgentInput *in = &self->in;
  if (in->bytes != NULL && in->at < g_bytes_get_size (in->bytes))
    return TRUE;
  g_clear_pointer (&in->bytes, g_bytes_unref);
  in->at = 0;
  if (in->from < 0 || in->ended)
    return finish_input (self);
  if (!in->from_ready)
    return FALSE;
  in->from_ready = FALSE;
  guint8 local[SMALL_READ];
  ssize_t n = read (in->from, local, sizeof local);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return FALSE;
  if (n <= 0)
    return finish_input (self);
  in->bytes = g_bytes_new (local, (gsize)n);
  return TRUE;
}

static gssize
send_framed (PrismAgentExec *self, const guint8 *bytes, gsize size)
{
  prism_agent_channel_lock (self->channel);
  gsize credit = (gsize)MAX (self->ticket->call.may_send, 0);
  prism_agent_channel_unlock (self->channel);
  gsize n = MIN (MIN (size, credit), FRAMED_IN);
  if (n == 0 || prism_agent_channel_is_congested (self->channel))
    return 0;
  g_auto (PrismAgentFrame) frame = { 0 };
  prism_agent_frame_init (&frame, PRISM_WIRE_IN, 0, 0);
  prism_agent_frame_put_bytes (&frame, bytes, n);
  prism_agent_channel_lock (self->channel);
  self->ticket->call.may_send -= (gint64)n;
  prism_agent_channel_unlock (self->channel);
  prism_agent_channel_send (self->channel, &frame, self->ticket);
  return (gssize)n;
}

gboolean
prism_agent_exec_feed (PrismAgentExec *self)
{
  PrismAgentInput *in = &self->in;
  /* A terminal's master comes with STARTED. */
  for (guint round = 0; round < 16 && in->open && (in->framed || in->to >= 0); round++)
    {
      gsize size;
      if (!next_input (self) || (!in->framed && !in->to_ready))
        return FALSE;
      const guint8 *bytes = g_bytes_get_data (in->bytes, &size);
      gssize n;
      if (in->framed)
        n = send_framed (self, bytes + in->at, size - in->at);
      else if (self->waiter != NULL)
        n = write_quietly (in->to, bytes + in->at, size - in->at);
      else
        n = write (in->to, bytes + in->at, size - in->at);
      if (n == 0)
        return FALSE;
      if (n > 0)
        {
          in->at += (gsize)n;
          in->last = bytes[in->at - 1];
        }
      else if (errno == EAGAIN)
        in->to_ready = FALSE;
      else if (errno != EINTR)
        close_input (self); /* EPIPE: it reads no more, as it may */
    }
  return in->open && (in->framed || in->to >= 0);
}

gboolean
prism_agent_input_wants_from (const PrismAgentInput *in)
{
  return in->open && in->from >= 0 && in->bytes == NULL && !in->from_ready;
}

gboolean
prism_agent_input_wants_to (const PrismAgentInput *in)
{
  return in->open && in->to >= 0 && in->bytes != NULL && !in->to_ready;
}
