/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the fake backend runs a command: under a reaper that holds all it starts. */
#include "prism-fake-run.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "prism-fd-private.h"

/* How long a pipe must be silent after the command's end: who holds it still is
 * no reason to wait. */
#define QUIET_MS 100

static void pump (PrismFakeSandbox *self);

FakeRun *
fake_run_ref (FakeRun *run)
{
  g_atomic_ref_count_inc (&run->refs);
  return run;
}

static void
stop_source (GSource **source)
{
  if (*source != NULL)
    g_source_destroy (*source);
  g_clear_pointer (source, g_source_unref);
}

void
fake_run_unref (FakeRun *run)
{
  if (!g_atomic_ref_count_dec (&run->refs))
    return;
  stop_source (&run->timeout);
  stop_source (&run->kill);
  stop_source (&run->quiet);
  prism_clear_fd (&run->control);
  prism_clear_fd (&run->terminal);
  g_clear_object (&run->reaper);
  g_clear_object (&run->status);
  g_clear_object (&run->operation);
  g_clear_object (&run->cancellable);
  g_clear_object (&run->out.pipe);
  g_clear_object (&run->err.pipe);
  g_clear_pointer (&run->out.kept, g_byte_array_unref);
  g_clear_pointer (&run->err.kept, g_byte_array_unref);
  g_queue_clear_full (&run->waits, g_object_unref);
  g_object_unref (run->command);
  g_object_unref (run->sandbox);
  g_free (run);
}

static void
arm (FakeRun *run, GSource **slot, gint64 ms, GSourceFunc func)
{
  stop_source (slot);
  *slot = g_timeout_source_new ((guint)CLAMP (ms, 0, G_MAXINT));
  g_source_set_callback (*slot, func, run, NULL);
  g_source_attach (*slot, run->sandbox->context);
}

void
fake_run_order (FakeRun *run, const char *bytes, gsize n)
{
  if (run->control >= 0 && write (run->control, bytes, n) < 0)
    prism_clear_fd (&run->control);
}

static gboolean
kill_now (gpointer data)
{
  FakeRun *run = data;

  stop_source (&run->kill);
  prism_clear_fd (&run->control);
  return G_SOURCE_REMOVE;
}

/* Its whole tree. What ended it first is its outcome. */
void
fake_run_end (FakeRun *run, PrismOutcome outcome, const char *limit, gboolean gently)
{
  if (run->outcome == PRISM_OUTCOME_EXITED && !run->exited)
    {
      run->outcome = outcome;
      run->limit = limit;
    }
  if (!gently)
    kill_now (run);
  else if (run->control >= 0 && run->kill == NULL)
    {
      fake_run_order (run, "T", 1);
      arm (run, &run->kill, prism_limits_get (prism_sandbox_spec_get_limits (run->sandbox->spec), "stop-grace-ms"),
           kill_now);
    }
}

static GBytes *
kept_bytes (FakeStream *stream)
{
  return stream->kept != NULL ? g_bytes_new (stream->kept->data, stream->kept->len) : g_bytes_new (NULL, 0);
}

PrismResult *
fake_run_result (FakeRun *run)
{
  g_autoptr (GBytes) out = kept_bytes (&run->out);
  g_autoptr (GBytes) err = kept_bytes (&run->err);
  PrismOutcome outcome = run->outcome;

  if (outcome == PRISM_OUTCOME_EXITED && run->signal != 0)
    outcome = PRISM_OUTCOME_SIGNALLED;
  return g_object_new (PRISM_TYPE_RESULT, "outcome", outcome, "exit-code", run->code, "term-signal", run->signal,
                       "stdout-bytes", out, "stderr-bytes", err, "stdout-truncated", run->out.truncated,
                       "stderr-truncated", run->err.truncated, "stdout-total", run->out.total, "stderr-total",
                       run->err.total, "duration-us", g_get_monotonic_time () - run->began, "effective-timeout-ms",
                       run->timeout_ms, "limit", run->limit, NULL);
}

static void
give_place (FakeRun *run)
{
  if (!run->holds_place)
    return;
  run->holds_place = FALSE;
  run->sandbox->running--;
  prism_fake_touch (run->sandbox);
  pump (run->sandbox);
}

static void
forget_operation (FakeRun *run)
{
  /* A process's time goes on when its start is told. */
  if (!run->is_process)
    stop_source (&run->timeout);
  if (run->cancelled_id != 0)
    g_cancellable_disconnect (run->cancellable, run->cancelled_id);
  run->cancelled_id = 0;
  g_clear_object (&run->operation);
}

/* The result of an exec: when the command ended and its pipes did, or are quiet. */
static void
answer (FakeRun *run)
{
  g_autoptr (PrismResult) result = fake_run_result (run);

  stop_source (&run->quiet);
  prism_exec_operation_complete (PRISM_EXEC_OPERATION (run->operation), result);
  forget_operation (run);
  give_place (run);
}

static gboolean
is_quiet (gpointer data)
{
  answer (data);
  return G_SOURCE_REMOVE;
}

void
fake_run_output_moved (FakeRun *run)
{
  if (run->operation == NULL || run->is_process || !run->exited)
    return;
  if (run->out.ended && run->err.ended)
    answer (run);
  else if (run->outcome == PRISM_OUTCOME_EXITED)
    arm (run, &run->quiet, QUIET_MS, is_quiet);
}

static void
tell_waiters (FakeRun *run)
{
  PrismOperation *wait;

  while ((wait = g_queue_pop_head (&run->waits)) != NULL)
    {
      g_autoptr (PrismResult) result = fake_run_result (run);
      prism_wait_operation_complete (PRISM_WAIT_OPERATION (wait), result);
      g_object_unref (wait);
    }
}

static void
did_not_start (FakeRun *run, int code)
{
  const char *program = prism_command_get_argv (run->command)[0];

  if (run->operation == NULL)
    return;
  prism_fake_fail (run->operation,
                   code == ENOENT || code == ENOTDIR   ? PRISM_SANDBOX_ERROR_NOT_FOUND
                   : code == EACCES || code == ENOEXEC ? PRISM_SANDBOX_ERROR_NOT_EXECUTABLE
                   : code == EAGAIN                    ? PRISM_SANDBOX_ERROR_LIMIT
                                                       : PRISM_SANDBOX_ERROR_EXECUTION,
                   "%s: %s", program, g_strerror (code));
  forget_operation (run);
  give_place (run);
}

char *
fake_run_dup_reference (FakeRun *run)
{
  return g_strdup_printf ("fake-process:%s:%u", run->sandbox->id, run->number);
}

static void
did_start (FakeRun *run)
{
  run->started = TRUE;
  if (run->is_process && run->operation != NULL)
    {
      g_autoptr (PrismFakeProcess) process = fake_process_new (run);
      prism_process_operation_complete (PRISM_PROCESS_OPERATION (run->operation), PRISM_PROCESS (process));
      forget_operation (run);
    }
}

static void
all_gone (FakeRun *run)
{
  PrismFakeSandbox *self = run->sandbox;

  run->gone = run->exited = TRUE;
  run->moves = FALSE;
  prism_clear_fd (&run->control);
  stop_source (&run->kill);
  tell_waiters (run);
  fake_run_output_moved (run);
  if (run->operation != NULL && run->is_process)
    did_not_start (run, EIO);
  give_place (run);
  g_ptr_array_remove (self->runs, run);
  prism_fake_stands_still (self);
  prism_fake_all_gone (self);
}

static void
on_status (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (FakeRun) run = data;
  g_autofree char *line = g_data_input_stream_read_line_finish (G_DATA_INPUT_STREAM (source), result, NULL, NULL);
  int number = line != NULL ? atoi (line + 1) : 0;

  if (line == NULL)
    {
      all_gone (run);
      return;
    }
  if (line[0] == 'P')
    {
      run->moves = FALSE;
      prism_fake_stands_still (run->sandbox);
    }
  else if (line[0] == 'E')
    did_not_start (run, number);
  else if (line[0] == 'R')
    did_start (run);
  else
    {
      run->exited = TRUE;
      run->code = line[0] == 'C' ? number : -1;
      run->signal = line[0] == 'S' ? number : 0;
      if (run->is_process)
        {
          stop_source (&run->timeout);
          tell_waiters (run);
          prism_fake_touch (run->sandbox);
        }
      fake_run_output_moved (run);
    }
  g_data_input_stream_read_line_async (run->status, G_PRIORITY_DEFAULT, NULL, on_status, fake_run_ref (run));
}

/* --- starting -------------------------------------------------------------------- */

static void
add_environment (GSubprocessLauncher *launcher, const char *const *env)
{
  for (gsize i = 0; env != NULL && env[i] != NULL; i++)
    {
      const char *equals = strchr (env[i], '=');
      g_autofree char *name = g_strndup (env[i], (gsize)(equals - env[i]));
      g_subprocess_launcher_setenv (launcher, name, equals + 1, TRUE);
    }
}

static GSubprocessLauncher *
make_launcher (FakeRun *run)
{
  static const char *const base[] = {
    "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "USER=prism", "LOGNAME=prism", "TMPDIR=/tmp", "LANG=C.UTF-8", NULL
  };
  static char *nothing[] = { NULL };
  PrismFakeSandbox *self = run->sandbox;
  const char *cwd = prism_command_get_cwd (run->command);
  gboolean in = run->is_process || prism_command_get_stdin_bytes (run->command) != NULL
                || prism_command_get_stdin_stream (run->command) != NULL;
  gboolean pty = prism_command_get_pty_columns (run->command) > 0;
  GSubprocessLauncher *launcher = g_subprocess_launcher_new (
      pty ? G_SUBPROCESS_FLAGS_NONE
          : G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE | (in ? G_SUBPROCESS_FLAGS_STDIN_PIPE : 0));

  g_subprocess_launcher_set_environ (launcher, nothing);
  add_environment (launcher, base);
  if (pty)
    g_subprocess_launcher_setenv (launcher, "TERM", "xterm-256color", TRUE);
  add_environment (launcher, prism_sandbox_spec_get_env (self->spec));
  add_environment (launcher, prism_sandbox_spec_get_secrets (self->spec));
  add_environment (launcher, prism_command_get_env (run->command));
  g_subprocess_launcher_set_cwd (launcher, cwd != NULL ? cwd : self->workspace);
  return launcher;
}

/* Its slave is all three streams of the command. */
static gboolean
open_terminal (FakeRun *run, GSubprocessLauncher *launcher)
{
  struct winsize size = { .ws_col = (unsigned short)prism_command_get_pty_columns (run->command),
                          .ws_row = (unsigned short)prism_command_get_pty_rows (run->command) };
  int slave = -1;

  run->terminal = posix_openpt (O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (run->terminal < 0 || unlockpt (run->terminal) != 0
      || (slave = ioctl (run->terminal, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
    return FALSE;
  ioctl (run->terminal, TIOCSWINSZ, &size);
  g_subprocess_launcher_take_stdout_fd (launcher, fcntl (slave, F_DUPFD_CLOEXEC, 3));
  g_subprocess_launcher_take_stderr_fd (launcher, fcntl (slave, F_DUPFD_CLOEXEC, 3));
  g_subprocess_launcher_take_stdin_fd (launcher, slave);
  return TRUE;
}

GInputStream *
fake_run_open_screen (FakeRun *run)
{
  return g_unix_input_stream_new (fcntl (run->terminal, F_DUPFD_CLOEXEC, 3), TRUE);
}

GOutputStream *
fake_run_open_keys (FakeRun *run)
{
  return g_unix_output_stream_new (fcntl (run->terminal, F_DUPFD_CLOEXEC, 3), TRUE);
}

static gboolean
spawn (FakeRun *run, GError **error)
{
  g_autoptr (GSubprocessLauncher) launcher = make_launcher (run);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  const char *const *words = prism_command_get_argv (run->command);
  prism_autofd int status_read = -1, status_write = -1, control_read = -1, control_write = -1;
  int pair[2];
  g_autoptr (GInputStream) status = NULL;

  if (prism_command_get_pty_columns (run->command) > 0 && !open_terminal (run, launcher))
    {
      g_set_error (error, PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_PTY_UNSUPPORTED, "no terminal: %s",
                   g_strerror (errno));
      return FALSE;
    }
  if (!g_unix_open_pipe (pair, FD_CLOEXEC, error))
    return FALSE;
  status_read = pair[0];
  status_write = pair[1];
  if (!g_unix_open_pipe (pair, FD_CLOEXEC, error))
    return FALSE;
  control_read = pair[0];
  control_write = pair[1];
  g_subprocess_launcher_take_fd (launcher, g_steal_fd (&status_write), 3);
  g_subprocess_launcher_take_fd (launcher, g_steal_fd (&control_read), 4);
  g_ptr_array_add (argv, (gpointer)FAKE_REAPER);
  for (gsize i = 0; words[i] != NULL; i++)
    g_ptr_array_add (argv, (gpointer)words[i]);
  g_ptr_array_add (argv, NULL);
  run->reaper = g_subprocess_launcher_spawnv (launcher, (const char *const *)argv->pdata, error);
  if (run->reaper == NULL)
    return FALSE;
  run->control = g_steal_fd (&control_write);
  status = g_unix_input_stream_new (g_steal_fd (&status_read), TRUE);
  run->status = g_data_input_stream_new (status);
  return TRUE;
}

static void
feed (FakeRun *run)
{
  GOutputStream *pipe = g_subprocess_get_stdin_pipe (run->reaper);
  g_autoptr (GOutputStream) in = run->terminal >= 0 ? fake_run_open_keys (run)
                                 : pipe != NULL     ? g_object_ref (pipe)
                                                    : NULL;
  GBytes *bytes = prism_command_get_stdin_bytes (run->command);
  g_autoptr (GInputStream) source = NULL;

  if (bytes != NULL)
    source = g_memory_input_stream_new_from_bytes (bytes);
  else if (prism_command_get_stdin_stream (run->command) != NULL)
    source = g_object_ref (prism_command_get_stdin_stream (run->command));
  if (source != NULL)
    g_output_stream_splice_async (
        in, source, run->terminal >= 0 ? G_OUTPUT_STREAM_SPLICE_NONE : G_OUTPUT_STREAM_SPLICE_CLOSE_TARGET,
        G_PRIORITY_DEFAULT, NULL, NULL, NULL);
}

static void
listen_to (FakeRun *run, FakeStream *stream, PrismStream which, GInputStream *pipe)
{
  stream->run = run;
  stream->which = which;
  stream->kept = g_byte_array_new ();
  stream->pipe = g_object_ref (pipe);
  fake_stream_read (stream);
}

static gboolean
timed_out (gpointer data)
{
  FakeRun *run = data;

  stop_source (&run->timeout);
  fake_run_end (run, PRISM_OUTCOME_TIMED_OUT, NULL, TRUE);
  return G_SOURCE_REMOVE;
}

void
fake_run_stand_still (FakeRun *run)
{
  run->left_ms = 0;
  if (run->timeout != NULL)
    run->left_ms = MAX ((g_source_get_ready_time (run->timeout) - g_get_monotonic_time ()) / 1000, 1);
  stop_source (&run->timeout);
  run->moves = run->control >= 0;
  fake_run_order (run, "P", 1);
  run->moves = run->moves && run->control >= 0;
}

void
fake_run_go_on (FakeRun *run)
{
  fake_run_order (run, "G", 1);
  if (run->left_ms > 0)
    arm (run, &run->timeout, run->left_ms, timed_out);
  run->left_ms = 0;
}

static void
start (FakeRun *run)
{
  PrismFakeSandbox *self = run->sandbox;
  const char *cwd = prism_command_get_cwd (run->command);
  g_autoptr (GError) error = NULL;

  run->began = g_get_monotonic_time ();
  if (!run->is_process)
    {
      run->holds_place = TRUE;
      self->running++;
      self->commands++;
    }
  prism_fake_touch (self);
  if (cwd != NULL && !g_file_test (cwd, G_FILE_TEST_IS_DIR))
    {
      prism_fake_fail (run->operation, PRISM_SANDBOX_ERROR_NOT_FOUND, "%s: no such folder to start in", cwd);
      forget_operation (run);
      give_place (run);
      return;
    }
  if (!spawn (run, &error))
    {
      prism_fake_fail (run->operation, PRISM_SANDBOX_ERROR_EXECUTION, "%s", error->message);
      forget_operation (run);
      give_place (run);
      return;
    }
  g_ptr_array_add (self->runs, fake_run_ref (run));
  g_data_input_stream_read_line_async (run->status, G_PRIORITY_DEFAULT, NULL, on_status, fake_run_ref (run));
  run->timeout_ms = prism_command_get_timeout_ms (run->command);
  if (run->timeout_ms > 0)
    arm (run, &run->timeout, run->timeout_ms, timed_out);
  if (run->is_process)
    return;
  feed (run);
  if (run->terminal >= 0)
    {
      g_autoptr (GInputStream) screen = fake_run_open_screen (run);
      run->err.ended = TRUE;
      listen_to (run, &run->out, PRISM_STREAM_STDOUT, screen);
      return;
    }
  listen_to (run, &run->out, PRISM_STREAM_STDOUT, g_subprocess_get_stdout_pipe (run->reaper));
  listen_to (run, &run->err, PRISM_STREAM_STDERR, g_subprocess_get_stderr_pipe (run->reaper));
}

/* --- taking turns ------------------------------------------------------------------ */

static gint64
limit (PrismFakeSandbox *self, const char *name)
{
  return prism_limits_get (prism_sandbox_spec_get_limits (self->spec), name);
}

static void
pump (PrismFakeSandbox *self)
{
  while ((gint64)self->running < limit (self, "max-concurrent-execs") && !g_queue_is_empty (&self->waiting))
    {
      g_autoptr (FakeRun) run = g_queue_pop_head (&self->waiting);
      gint64 most = limit (self, "max-commands");

      if (most > 0 && self->commands >= most)
        {
          prism_fake_fail (run->operation, PRISM_SANDBOX_ERROR_LIMIT, "max-commands is used up");
          forget_operation (run);
        }
      else
        start (run);
    }
}

gint64
prism_fake_live_processes (PrismFakeSandbox *self)
{
  gint64 n = 0;

  for (guint i = 0; i < self->runs->len; i++)
    {
      const FakeRun *run = g_ptr_array_index (self->runs, i);
      n += run->is_process && !run->exited;
    }
  return n;
}

static gboolean
cancel_here (gpointer data)
{
  FakeRun *run = data;

  if (run->operation == NULL)
    return G_SOURCE_REMOVE;
  if (g_queue_remove (&run->sandbox->waiting, run))
    {
      prism_fake_fail (run->operation, PRISM_SANDBOX_ERROR_CANCELLED, "cancelled while it waited for its turn");
      forget_operation (run);
      fake_run_unref (run);
    }
  else
    fake_run_end (run, PRISM_OUTCOME_CANCELLED, NULL, TRUE);
  return G_SOURCE_REMOVE;
}

static void
on_cancelled (GCancellable *cancellable, gpointer data)
{
  FakeRun *run = data;

  g_main_context_invoke_full (run->sandbox->context, G_PRIORITY_DEFAULT, cancel_here, fake_run_ref (run),
                              (GDestroyNotify)fake_run_unref);
}

static void
enqueue (PrismFakeSandbox *self, gpointer operation, PrismCommand *command, gboolean is_process)
{
  g_autoptr (GError) error = NULL;
  FakeRun *run;

  if (!prism_fake_is_running (self, operation))
    return;
  prism_fake_touch (self);
  if (!prism_sandbox_spec_check_command (self->spec, command, &error))
    {
      prism_operation_fail (operation, error);
      return;
    }
  run = g_new0 (FakeRun, 1);
  g_atomic_ref_count_init (&run->refs);
  run->sandbox = g_object_ref (self);
  run->command = g_object_ref (command);
  run->operation = g_object_ref (operation);
  run->is_process = is_process;
  run->number = is_process ? ++self->processes : 0;
  run->control = run->terminal = -1;
  run->cancellable = g_object_ref (prism_operation_get_cancellable (operation));
  run->cancelled_id = g_cancellable_connect (run->cancellable, G_CALLBACK (on_cancelled), run, NULL);
  if (!is_process)
    {
      g_queue_push_tail (&self->waiting, run);
      pump (self);
      return;
    }
  /* A server must not keep commands from running: processes have their own limit. */
  if (prism_fake_live_processes (self) < limit (self, "max-processes"))
    start (run);
  else
    {
      prism_fake_fail (operation, PRISM_SANDBOX_ERROR_LIMIT, "max-processes is used up");
      forget_operation (run);
    }
  fake_run_unref (run);
}

void
prism_fake_exec (PrismFakeSandbox *self, gpointer operation)
{
  PrismCommand *command = prism_exec_operation_get_command (operation);

  enqueue (self, operation, command, FALSE);
}

void
prism_fake_start_process (PrismFakeSandbox *self, gpointer operation)
{
  PrismCommand *command = prism_process_operation_get_command (operation);

  enqueue (self, operation, command, TRUE);
}

/* One whose every part has ended is forgotten. */
void
prism_fake_attach_process (PrismFakeSandbox *self, gpointer operation)
{
  const char *reference = prism_process_operation_get_reference (operation);

  if (!prism_fake_is_running (self, operation))
    return;
  for (guint i = 0; i < self->runs->len; i++)
    {
      FakeRun *run = g_ptr_array_index (self->runs, i);
      g_autofree char *own = run->is_process && run->started ? fake_run_dup_reference (run) : NULL;
      if (g_strcmp0 (own, reference) == 0)
        {
          g_autoptr (PrismFakeProcess) process = fake_process_new (run);
          prism_process_operation_complete (operation, PRISM_PROCESS (process));
          return;
        }
    }
  prism_fake_fail (operation, PRISM_SANDBOX_ERROR_NOT_FOUND, "no such process");
}

void
prism_fake_end_all (PrismFakeSandbox *self, PrismOutcome outcome, gboolean gently)
{
  FakeRun *waiting;

  while ((waiting = g_queue_pop_head (&self->waiting)) != NULL)
    {
      prism_fake_fail (waiting->operation, PRISM_SANDBOX_ERROR_STATE, "the sandbox ended before its turn");
      forget_operation (waiting);
      fake_run_unref (waiting);
    }
  for (guint i = 0; i < self->runs->len; i++)
    fake_run_end (g_ptr_array_index (self->runs, i), outcome, NULL, gently);
}
