/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command on a pseudo-terminal of the sandbox's own, shown on ours.
 *
 * Our terminal itself never goes inside: what runs there could push characters
 * into it that the caller's shell would then read. It is put into raw mode, so
 * that control keys are typed inside, and always put back: at the end, when a
 * signal ends us, and when we crash. Only SIGKILL cannot be seen.
 */
#include "prism-cli-terminal.h"

#include "prism-cancel-source.h"
#include "prism-cli-signals.h"
#include "prism-cli.h"

#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define CHUNK    (64 * 1024)
#define DRAIN_MS 100
#define END_MS   2000
#define AGAIN_MS 100

static struct
{
  struct termios cooked;
  struct termios raw;
  volatile sig_atomic_t active;
  GMutex lock;      /* between the end of a session and SIGCONT's thread */
  gboolean was_raw; /* while a session lasts */
} terminal;

typedef struct
{
  GMainContext *context;
  GMainLoop *loop;
  GCancellable *cancellable; /* ours: ends reads and the wait */
  PrismProcess *process;
  PrismCliOutput *output;
  PrismResult *result;
  GError *error;
  GSource *input;
  GSource *drain;
  GSource *ends;    /* of an input that has ended */
  guint8 *typed;    /* on its way inside */
  gboolean sending; /* the end of file is */
  guint pending;    /* callbacks that are still to come */
  gboolean output_ended;
  gint64 left; /* of what it may write */
  PrismOutcome *ended;
} Session;

/* Safe in a signal handler. */
static void
restore (void)
{
  if (terminal.active)
    (void)tcsetattr (STDIN_FILENO, TCSADRAIN, &terminal.cooked);
  terminal.active = 0;
}

static void
on_crash (int number)
{
  restore ();
  signal (number, SIG_DFL);
  raise (number);
}

static void
make_raw (void)
{
  static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP };

  if (!isatty (STDIN_FILENO) || tcgetattr (STDIN_FILENO, &terminal.cooked) != 0)
    return;

  terminal.raw = terminal.cooked;
  cfmakeraw (&terminal.raw);
  for (guint i = 0; i < G_N_ELEMENTS (crashes); i++)
    signal (crashes[i], on_crash);
  terminal.active = 1;
  terminal.was_raw = TRUE;
  (void)tcsetattr (STDIN_FILENO, TCSADRAIN, &terminal.raw);
}

void
prism_cli_terminal_size (guint *columns, guint *rows)
{
  struct winsize size;

  *columns = 80;
  *rows = 24;
  if ((ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0 || ioctl (STDIN_FILENO, TIOCGWINSZ, &size) == 0) && size.ws_col > 0
      && size.ws_row > 0)
    {
      *columns = size.ws_col;
      *rows = size.ws_row;
    }
}

static Session *current;

static gboolean
on_resized (gpointer data)
{
  Session *self = current;
  guint columns, rows;

  if (self == NULL)
    return G_SOURCE_REMOVE;
  prism_cli_terminal_size (&columns, &rows);
  prism_process_resize_async (self->process, columns, rows, NULL, NULL, NULL);

  return G_SOURCE_REMOVE;
}

/* In the signal thread. After a stop the shell has set the terminal its own
 * way, and its size may be another. */
static void
on_signal (int number)
{
  g_mutex_lock (&terminal.lock);
  if (number == SIGCONT && terminal.was_raw)
    {
      terminal.active = 1;
      (void)tcsetattr (STDIN_FILENO, TCSADRAIN, &terminal.raw);
    }
  g_mutex_unlock (&terminal.lock);
  if (number == SIGWINCH || number == SIGCONT)
    g_main_context_invoke_full (NULL, G_PRIORITY_HIGH, on_resized, NULL, NULL);
}

/* It is not read any more: what it still writes is nobody's. */
static void
end_for_output (Session *self)
{
  self->output_ended = TRUE;
  if (self->result != NULL || self->error != NULL)
    g_main_loop_quit (self->loop);
  else
    prism_process_kill_async (self->process, NULL, NULL, NULL);
  if (*self->ended == PRISM_OUTCOME_EXITED)
    *self->ended = PRISM_OUTCOME_OUTPUT_LIMIT;
}

static void
on_read (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Session *self = user_data;
  g_autoptr (GBytes) bytes = g_input_stream_read_bytes_finish (G_INPUT_STREAM (source), result, NULL);
  gsize length = 0;
  const char *data = bytes != NULL ? g_bytes_get_data (bytes, &length) : NULL;

  self->pending--;
  if (length == 0)
    {
      /* EIO is how the end of a pseudo-terminal reads. */
      self->output_ended = TRUE;
      if (self->result != NULL || self->error != NULL)
        g_main_loop_quit (self->loop);
      return;
    }
  if ((gint64)length > self->left)
    {
      end_for_output (self);
      return;
    }
  self->left -= (gint64)length;
  if (!prism_cli_output_write (self->output, STDOUT_FILENO, data, length))
    {
      self->output_ended = TRUE;
      g_main_loop_quit (self->loop);
      return;
    }
  if (self->drain != NULL)
    g_source_set_ready_time (self->drain, g_get_monotonic_time () + DRAIN_MS * 1000);
  self->pending++;
  g_input_stream_read_bytes_async (G_INPUT_STREAM (source), CHUNK, G_PRIORITY_DEFAULT, self->cancellable, on_read,
                                   self);
}

static gboolean
on_drained (gpointer user_data)
{
  g_main_loop_quit (((Session *)user_data)->loop);

  return G_SOURCE_REMOVE;
}

static gboolean
drain_dispatch (GSource *source, GSourceFunc callback, gpointer user_data)
{
  return callback (user_data);
}

/* What it started in the background may hold the terminal open for ever: the
 * rest is what still comes without a pause. */
static void
begin_drain (Session *self)
{
  static GSourceFuncs funcs = { .dispatch = drain_dispatch };

  self->drain = g_source_new (&funcs, sizeof (GSource));
  g_source_set_callback (self->drain, on_drained, self, NULL);
  g_source_set_ready_time (self->drain, g_get_monotonic_time () + DRAIN_MS * 1000);
  g_source_attach (self->drain, self->context);
}

static void
on_ended (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Session *self = user_data;

  self->pending--;
  self->result = prism_process_wait_finish (PRISM_PROCESS (source), result, &self->error);
  if (self->result == NULL || self->output_ended)
    g_main_loop_quit (self->loop);
  else
    begin_drain (self);
}

static gboolean on_typed (int fd, GIOCondition condition, gpointer user_data);

static void
watch_input (Session *self)
{
  self->input = g_unix_fd_source_new (STDIN_FILENO, G_IO_IN | G_IO_HUP | G_IO_ERR);
  g_source_set_callback (self->input, (GSourceFunc)(void (*) (void))on_typed, self, NULL);
  g_source_attach (self->input, self->context);
}

static void
unwatch (GSource **source)
{
  if (*source != NULL)
    g_source_destroy (*source);
  g_clear_pointer (source, g_source_unref);
}

static void
on_sent (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Session *self = user_data;
  gboolean sent = g_output_stream_write_all_finish (G_OUTPUT_STREAM (source), result, NULL, NULL);

  self->pending--;
  if (sent && self->result == NULL && !g_cancellable_is_cancelled (self->cancellable))
    watch_input (self);
}

static void
on_end_sent (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Session *self = user_data;

  g_output_stream_write_all_finish (G_OUTPUT_STREAM (source), result, NULL, NULL);
  self->pending--;
  self->sending = FALSE;
}

/* A terminal has no end that stays; it has a character, which only whoever reads just then
 * takes for one. In the middle of a line it hands that over, and what comes while a shell
 * changes the mode is lost. So it is typed until the command has ended: nothing else ever
 * will be, and who waits for that would wait for ever. */
static gboolean
on_end (gpointer user_data)
{
  static const guint8 end_of_file = 4;
  Session *self = user_data;

  if (self->result != NULL || self->error != NULL || self->sending)
    return G_SOURCE_CONTINUE;
  self->sending = TRUE;
  self->pending++;
  g_output_stream_write_all_async (prism_process_get_stdin_stream (self->process), &end_of_file, 1, G_PRIORITY_DEFAULT,
                                   self->cancellable, on_end_sent, self);

  return G_SOURCE_CONTINUE;
}

static gboolean
on_typed (int fd, GIOCondition condition, gpointer user_data)
{
  Session *self = user_data;
  gssize n = read (fd, self->typed, CHUNK);

  if (n < 0 && (errno == EINTR || errno == EAGAIN))
    return G_SOURCE_CONTINUE;

  unwatch (&self->input);
  if (n > 0)
    {
      self->pending++;
      g_output_stream_write_all_async (prism_process_get_stdin_stream (self->process), self->typed, n,
                                       G_PRIORITY_DEFAULT, self->cancellable, on_sent, self);
      return G_SOURCE_REMOVE;
    }

  on_end (self);
  self->ends = g_timeout_source_new (AGAIN_MS);
  g_source_set_callback (self->ends, on_end, self, NULL);
  g_source_attach (self->ends, self->context);

  return G_SOURCE_REMOVE;
}

static gboolean
on_cancelled (gpointer user_data)
{
  g_main_loop_quit (((Session *)user_data)->loop);

  return G_SOURCE_REMOVE;
}

/* A process has no timeout of its own: it may outlive whoever started it. */
static gboolean
on_timeout (gpointer user_data)
{
  Session *self = user_data;

  if (self->result == NULL && self->error == NULL)
    {
      *self->ended = PRISM_OUTCOME_TIMED_OUT;
      prism_process_kill_async (self->process, NULL, NULL, NULL);
    }

  return G_SOURCE_REMOVE;
}

static GSource *
watch_timeout (Session *self, gint64 milliseconds)
{
  GSource *source = milliseconds > 0 ? g_timeout_source_new (MIN (milliseconds, G_MAXUINT)) : NULL;

  if (source != NULL)
    {
      g_source_set_callback (source, on_timeout, self, NULL);
      g_source_attach (source, self->context);
    }

  return source;
}

static void
session_run (Session *self, gint64 timeout_ms, GCancellable *cancellable)
{
  GInputStream *stdout_stream = prism_process_get_stdout_stream (self->process);
  g_autoptr (GSource) cancelled = prism_cancel_source_attach (cancellable, self->context, on_cancelled, self, NULL);
  GSource *timeout = watch_timeout (self, timeout_ms);

  self->pending = 2;
  g_input_stream_read_bytes_async (stdout_stream, CHUNK, G_PRIORITY_DEFAULT, self->cancellable, on_read, self);
  prism_process_wait_async (self->process, self->cancellable, on_ended, self);
  if (!prism_cli_was_closed (STDIN_FILENO))
    watch_input (self);

  g_main_loop_run (self->loop);

  g_source_destroy (cancelled);
  unwatch (&timeout);
  unwatch (&self->input);
  unwatch (&self->ends);
  unwatch (&self->drain);
}

static gboolean
on_late (gpointer user_data)
{
  *(gboolean *)user_data = TRUE;

  return G_SOURCE_REMOVE;
}

/* Ends what was begun: no callback may come later. FALSE if one may. */
static gboolean
session_end (Session *self)
{
  g_autoptr (GSource) timeout = g_timeout_source_new (END_MS);
  gboolean late = FALSE;

  current = NULL;
  g_source_set_callback (timeout, on_late, &late, NULL);
  g_source_attach (timeout, self->context);
  g_cancellable_cancel (self->cancellable);
  while (self->pending > 0 && !late)
    g_main_context_iteration (self->context, TRUE);
  g_source_destroy (timeout);

  return self->pending == 0;
}

/* @command has a pty size. A NULL result without an error of the command's own
 * is CANCELLED: then closing the sandbox ends what runs. */
PrismResult *
prism_cli_terminal_exec (PrismSandbox *sandbox,
                         PrismCommand *command,
                         PrismCliOutput *output,
                         gint64 most,
                         PrismOutcome *ended_for,
                         GCancellable *cancellable,
                         GError **error)
{
  g_autoptr (PrismProcess) process = prism_sandbox_start_process (sandbox, command, cancellable, error);
  Session *self;
  PrismResult *result;
  gboolean ended;

  if (process == NULL)
    return NULL;

  self = g_new0 (Session, 1);
  self->context = g_main_context_ref (g_main_context_default ());
  self->loop = g_main_loop_new (self->context, FALSE);
  self->cancellable = g_cancellable_new ();
  self->process = process;
  self->output = output;
  self->left = most > 0 ? most : G_MAXINT64;
  self->ended = ended_for;
  self->typed = g_malloc (CHUNK);
  current = self;
  prism_cli_signals_on_terminal (restore, on_signal);

  make_raw ();
  session_run (self, prism_command_get_timeout_ms (command), cancellable);
  ended = session_end (self);
  g_mutex_lock (&terminal.lock);
  terminal.was_raw = FALSE;
  restore ();
  g_mutex_unlock (&terminal.lock);

  result = g_steal_pointer (&self->result);
  if (result == NULL && self->error == NULL)
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED, _ ("cancelled"));
  else if (result == NULL)
    g_propagate_error (error, g_steal_pointer (&self->error));
  g_clear_error (&self->error);
  if (ended)
    {
      g_clear_object (&self->cancellable);
      g_clear_pointer (&self->loop, g_main_loop_unref);
      g_clear_pointer (&self->context, g_main_context_unref);
      g_free (self->typed);
      g_free (self);
    }

  return result;
}
