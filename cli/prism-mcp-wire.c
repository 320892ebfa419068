/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The two descriptors of MCP's stdio transport. Nothing here waits: a client that reads
 * slowly, or not at all, holds up its own answers and nothing else. While more than
 * HIGH bytes wait for it, nothing is read from it: what it can make us keep is bounded.
 *
 * The descriptors may be shared with others (a shell, a terminal), so their flags are
 * left alone. A pipe is opened anew to have flags of its own; a socket is asked not to
 * wait by each call; what is neither does not keep one waiting for long. */
#include "prism-mcp-wire.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <glib/gi18n.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prism-mcp-lines.h"

#define READ_SIZE (64 * 1024)
#define HIGH      (8u * 1024 * 1024)
#define LOW       (1u * 1024 * 1024)

typedef enum
{
  OUT_PLAIN,
  OUT_SOCKET,
  OUT_OWN_PIPE,    /* its flags are ours */
  OUT_SHARED_PIPE, /* no more at once than surely fits */
} OutKind;

struct _PrismMcpWire
{
  const PrismMcpWireFuncs *funcs;
  gpointer data;
  int in, out;
  OutKind out_kind;
  PrismMcpLines lines;
  char *buffer;
  GSource *reading, *writing, *watching;
  GQueue queue;          /* GString */
  gsize queued, written; /* bytes in all; of the first */
  gboolean stopped, broken;
};

static int
move_away (int fd, int replacement)
{
  int copy = fcntl (fd, F_DUPFD_CLOEXEC, 3);

  if (copy >= 0 && replacement >= 0 && dup2 (replacement, fd) < 0)
    {
      close (copy);
      copy = -1;
    }
  return copy;
}

gboolean
prism_mcp_take_standard_fds (int *in, int *out, GError **error)
{
  int nothing = open ("/dev/null", O_RDONLY | O_CLOEXEC);
  int number;

  *out = -1;
  *in = nothing >= 0 ? move_away (STDIN_FILENO, nothing) : -1;
  if (*in >= 0)
    *out = move_away (STDOUT_FILENO, STDERR_FILENO);
  number = errno;
  if (nothing >= 0)
    close (nothing);
  if (*out >= 0)
    return TRUE;

  if (*in >= 0)
    close (*in);
  g_set_error (error, G_IO_ERROR, g_io_error_from_errno (number), _ ("the standard input and output: %s"),
               g_strerror (number));
  return FALSE;
}

static OutKind
prepare_output (int *out)
{
  g_autofree char *path = g_strdup_printf ("/proc/self/fd/%d", *out);
  struct stat about;
  int own;

  if (fstat (*out, &about) < 0)
    return OUT_PLAIN;
  if (S_ISSOCK (about.st_mode))
    return OUT_SOCKET;
  if (!S_ISFIFO (about.st_mode))
    return OUT_PLAIN;
  own = open (path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (own < 0)
    return OUT_SHARED_PIPE;
  close (*out);
  *out = own;
  return OUT_OWN_PIPE;
}

static void
stop_source (GSource **source)
{
  if (*source == NULL)
    return;
  g_source_destroy (*source);
  g_clear_pointer (source, g_source_unref);
}

static GSource *
start_source (PrismMcpWire *self, int fd, GIOCondition condition, GUnixFDSourceFunc func)
{
  GSource *source = g_unix_fd_source_new (fd, condition);

  g_source_set_callback (source, G_SOURCE_FUNC (func), self, NULL);
  g_source_attach (source, g_main_context_get_thread_default ());
  return source;
}

static void
free_message (gpointer message)
{
  g_string_free (message, TRUE);
}

static void
break_off (PrismMcpWire *self, int number)
{
  if (self->broken)
    return;
  self->broken = TRUE;
  stop_source (&self->writing);
  stop_source (&self->watching);
  g_queue_clear_full (&self->queue, free_message);
  self->queued = 0;
  self->funcs->broken (self->data, number);
}

static gboolean on_readable (int fd, GIOCondition condition, gpointer data);

static void
update_reading (PrismMcpWire *self)
{
  if (self->stopped || self->queued > HIGH)
    stop_source (&self->reading);
  else if (self->reading == NULL && self->queued <= LOW)
    self->reading = start_source (self, self->in, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable);
}

static gssize
write_some (PrismMcpWire *self, const char *text, gsize length)
{
  if (self->out_kind == OUT_SOCKET)
    return send (self->out, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (self->out_kind == OUT_SHARED_PIPE)
    {
      GPollFD poll = { self->out, G_IO_OUT, 0 };

      if (g_poll (&poll, 1, 0) < 1 || (poll.revents & G_IO_OUT) == 0)
        {
          errno = poll.revents != 0 ? EPIPE : EAGAIN;
          return -1;
        }
      length = MIN (length, PIPE_BUF);
    }
  return write (self->out, text, length);
}

/* FALSE: what is left has to wait, or never goes. */
static gboolean
write_queue (PrismMcpWire *self)
{
  GString *message;

  while ((message = g_queue_peek_head (&self->queue)) != NULL)
    {
      gssize n = write_some (self, message->str + self->written, message->len - self->written);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return FALSE;
      if (n < 0)
        {
          int number = errno;

          break_off (self, number);
          return FALSE;
        }
      self->written += n;
      self->queued -= n;
      if (self->written < message->len)
        continue;
      self->written = 0;
      free_message (g_queue_pop_head (&self->queue));
    }
  return TRUE;
}

static gboolean
on_writable (int fd, GIOCondition condition, gpointer data)
{
  PrismMcpWire *self = data;

  gboolean drained = write_queue (self);

  if (drained)
    stop_source (&self->writing);
  if (!self->broken)
    update_reading (self);
  if (drained)
    self->funcs->drained (self->data);
  return !drained && !self->broken;
}

static gboolean
on_hung_up (int fd, GIOCondition condition, gpointer data)
{
  break_off (data, EPIPE);
  return G_SOURCE_REMOVE;
}

static gboolean
on_line (gpointer data, const char *text, gsize length)
{
  PrismMcpWire *self = data;

  self->funcs->line (self->data, text, length);
  return !self->stopped;
}

static gboolean
on_overlong (gpointer data)
{
  PrismMcpWire *self = data;

  self->funcs->overlong (self->data);
  return !self->stopped;
}

static const PrismMcpLinesFuncs lines_funcs = { on_line, on_overlong };

static gboolean
on_readable (int fd, GIOCondition condition, gpointer data)
{
  PrismMcpWire *self = data;
  gssize n = read (self->in, self->buffer, READ_SIZE);
  int number = n < 0 ? errno : 0;

  if (n > 0)
    {
      prism_mcp_lines_feed (&self->lines, self->buffer, n);
      return self->reading != NULL;
    }
  if (n < 0 && (number == EINTR || number == EAGAIN))
    return G_SOURCE_CONTINUE;

  self->stopped = TRUE;
  stop_source (&self->reading);
  self->funcs->ended (self->data, number, prism_mcp_lines_unfinished (&self->lines));
  return G_SOURCE_REMOVE;
}

PrismMcpWire *
prism_mcp_wire_new (int in, int out, const PrismMcpWireFuncs *funcs, gpointer data, gsize max_line)
{
  PrismMcpWire *self = g_new0 (PrismMcpWire, 1);

  self->funcs = funcs;
  self->data = data;
  self->in = in;
  self->out = out;
  self->out_kind = prepare_output (&self->out);
  self->buffer = g_malloc (READ_SIZE);
  prism_mcp_lines_init (&self->lines, &lines_funcs, self, max_line);
  g_queue_init (&self->queue);
  /* That nobody reads any more is noticed also while there is nothing to say. */
  if (self->out_kind != OUT_PLAIN)
    self->watching = start_source (self, self->out, G_IO_ERR | G_IO_HUP, on_hung_up);
  update_reading (self);
  return self;
}

void
prism_mcp_wire_free (PrismMcpWire *self)
{
  stop_source (&self->reading);
  stop_source (&self->writing);
  stop_source (&self->watching);
  g_queue_clear_full (&self->queue, free_message);
  prism_mcp_lines_clear (&self->lines);
  close (self->in);
  close (self->out);
  g_free (self->buffer);
  g_free (self);
}

void
prism_mcp_wire_send (PrismMcpWire *self, GString *message)
{
  if (self->broken)
    {
      free_message (message);
      return;
    }
  self->queued += message->len;
  g_queue_push_tail (&self->queue, message);
  if (self->writing != NULL || write_queue (self) || self->broken)
    return;
  self->writing = start_source (self, self->out, G_IO_OUT | G_IO_ERR | G_IO_HUP, on_writable);
  update_reading (self);
}

void
prism_mcp_wire_stop (PrismMcpWire *self)
{
  self->stopped = TRUE;
  stop_source (&self->reading);
}

gsize
prism_mcp_wire_get_queued (PrismMcpWire *self)
{
  return self->queued;
}
