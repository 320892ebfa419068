/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands that are waited for. argv is what the service is asked to run: no shell is put
 * around it. */
#include <string.h>

#include "prism-e2b-sandbox-private.h"

#define INPUT_CHUNK (64 * 1024)

typedef struct
{
  PrismE2bSandbox *sandbox;
  PrismExecOperation *operation;
  PrismE2bRun *run; /* NULL until its turn, and after its end */
  gulong cancel_id;
  GBytes *input; /* NULL: a stream's, or none */
  gsize input_at;
  GInputStream *input_stream;
  GCancellable *input_stop;
  PrismResult *result; /* what is told if there was such a command at all */
  gboolean over;
  gatomicrefcount refs;
} Exec;

static Exec *
exec_ref (Exec *exec)
{
  g_atomic_ref_count_inc (&exec->refs);
  return exec;
}

static void
exec_unref (gpointer data)
{
  Exec *exec = data;

  if (!g_atomic_ref_count_dec (&exec->refs))
    return;
  g_clear_pointer (&exec->run, prism_e2b_run_unref);
  g_clear_object (&exec->result);
  g_clear_pointer (&exec->input, g_bytes_unref);
  g_clear_object (&exec->input_stream);
  g_clear_object (&exec->input_stop);
  g_object_unref (exec->operation);
  g_object_unref (exec->sandbox);
  g_free (exec);
}

static void begin_next (PrismE2bSandbox *self);

/* --- its standard input ---------------------------------------------------------------------- */

static void feed (Exec *exec);

static void
fed (gboolean fine, gpointer data)
{
  Exec *exec = data;

  if (fine && !exec->over)
    feed (exec);
  exec_unref (exec);
}

static void
closed (gboolean fine, gpointer data)
{
  exec_unref (data);
}

static void
input_read (GObject *source, GAsyncResult *result, gpointer data)
{
  Exec *exec = data;
  g_autoptr (GBytes) bytes = g_input_stream_read_bytes_finish (G_INPUT_STREAM (source), result, NULL);

  if (exec->over)
    exec_unref (exec);
  else if (bytes != NULL && g_bytes_get_size (bytes) > 0)
    prism_e2b_run_write (exec->run, bytes, fed, exec);
  else
    prism_e2b_run_close_stdin (exec->run, closed, exec);
}

static void
feed (Exec *exec)
{
  if (exec->input != NULL)
    {
      gsize left = g_bytes_get_size (exec->input) - exec->input_at, n = MIN (left, INPUT_CHUNK);
      g_autoptr (GBytes) part = g_bytes_new_from_bytes (exec->input, exec->input_at, n);

      exec->input_at += n;
      if (n > 0)
        prism_e2b_run_write (exec->run, part, fed, exec_ref (exec));
      else
        prism_e2b_run_close_stdin (exec->run, closed, exec_ref (exec));
    }
  else if (exec->input_stream != NULL)
    g_input_stream_read_bytes_async (exec->input_stream, INPUT_CHUNK, G_PRIORITY_DEFAULT, exec->input_stop, input_read,
                                     exec_ref (exec));
}

/* --- what the run tells ------------------------------------------------------------------------ */

static void
started (PrismE2bRun *run, gpointer data)
{
  feed (data);
}

static gboolean
go_on (gpointer data)
{
  Exec *exec = data;

  if (exec->run != NULL)
    prism_e2b_run_go_on (exec->run);
  return G_SOURCE_REMOVE;
}

static void
handled (gpointer data)
{
  Exec *exec = data;

  prism_e2b_client_invoke (exec->sandbox->client, go_on, exec, exec_unref);
}

static gboolean
output (PrismE2bRun *run, PrismStream stream, GBytes *bytes, gpointer data)
{
  Exec *exec = data;

  if (!prism_exec_operation_get_wants_output (exec->operation))
    return TRUE;
  prism_exec_operation_output_full (exec->operation, stream, bytes, handled, exec_ref (exec));
  return FALSE;
}

/* A command that never started and may have found its sandbox gone: which, is asked for
 * where one may wait. */
static void
explain (gpointer sandbox, GError *error, PrismOperation *operation)
{
  prism_e2b_sandbox_refine (sandbox, &error);
  prism_operation_fail (operation, error);
  g_error_free (error);
}

typedef struct
{
  PrismE2bSandbox *sandbox;
  PrismOperation *operation;
  GError *error;
} Question;

static void
question_ask (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Question *question = data;

  explain (question->sandbox, g_steal_pointer (&question->error), question->operation);
  g_task_return_boolean (task, TRUE);
}

static void
question_free (gpointer data)
{
  Question *question = data;

  g_object_unref (question->operation);
  g_object_unref (question->sandbox);
  g_clear_error (&question->error);
  g_free (question);
}

static void
fail_explained (PrismE2bSandbox *self, PrismOperation *operation, const GError *error)
{
  g_autoptr (GTask) task = NULL;
  Question *question;

  if (!g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST))
    {
      prism_operation_fail (operation, error);
      return;
    }
  question = g_new (Question, 1);
  *question = (Question){ g_object_ref (self), g_object_ref (operation), g_error_copy (error) };
  task = g_task_new (NULL, NULL, NULL, NULL);
  g_task_set_task_data (task, question, question_free);
  g_task_run_in_thread (task, question_ask);
}

static void
finish (Exec *exec)
{
  exec->over = TRUE;
  g_cancellable_cancel (exec->input_stop);
  g_cancellable_disconnect (prism_operation_get_cancellable (PRISM_OPERATION (exec->operation)), exec->cancel_id);
  exec->cancel_id = 0;
}

/* The last of it. */
static void
leave (Exec *exec)
{
  PrismE2bSandbox *self = exec->sandbox;

  self->running--;
  prism_e2b_sandbox_idle (self);
  begin_next (self);
  g_clear_pointer (&exec->run, prism_e2b_run_unref);
  exec_unref (exec);
}

/* --- no such command ------------------------------------------------------------------------------ */

static void
looked (int code, gpointer data)
{
  Exec *exec = data;
  g_autoptr (GError) error =
      prism_e2b_look_to_error (code, prism_command_get_argv (prism_exec_operation_get_command (exec->operation))[0]);

  if (error != NULL)
    prism_operation_fail (PRISM_OPERATION (exec->operation), error);
  else
    prism_exec_operation_complete (exec->operation, exec->result);
  leave (exec);
}

/* FALSE: there is nothing to ask. */
static gboolean
begin_look (Exec *exec)
{
  PrismE2bSandbox *self = exec->sandbox;
  PrismCommand *command = prism_exec_operation_get_command (exec->operation);
  const char *name = prism_command_get_argv (command)[0], *cwd = prism_command_get_cwd (command);
  int code = prism_result_get_exit_code (exec->result);
  g_auto (GStrv) env = NULL;

  if ((code != 126 && code != 127) || strcmp (name, "/bin/sh") == 0)
    return FALSE;
  env = prism_e2b_sandbox_dup_env (self, command, NULL);
  prism_e2b_script_look (self->client, IDENTITY (self), self->user, name, (const char *const *)env,
                         cwd != NULL ? cwd : self->workspace, looked, exec);
  return TRUE;
}

static void
ended (PrismE2bRun *run, const GError *error, gpointer data)
{
  Exec *exec = data;
  PrismE2bSandbox *self = exec->sandbox;

  finish (exec);
  g_ptr_array_remove_fast (self->runs, run);
  if (error != NULL)
    fail_explained (self, PRISM_OPERATION (exec->operation), error);
  else
    {
      exec->result = prism_e2b_run_new_result (run);
      if (begin_look (exec))
        return;
      prism_exec_operation_complete (exec->operation, exec->result);
    }
  leave (exec);
}

static const PrismE2bRunFuncs run_funcs = { started, output, ended };

/* --- its turn ------------------------------------------------------------------------------------- */

static PrismE2bRun *
make_run (Exec *exec, GError **error)
{
  PrismE2bSandbox *self = exec->sandbox;
  PrismCommand *command = prism_exec_operation_get_command (exec->operation);
  const char *cwd = prism_command_get_cwd (command);
  g_autofree char *mark = g_uuid_string_random ();
  g_auto (GStrv) env = prism_e2b_sandbox_dup_env (self, command, mark);
  guint columns = prism_command_get_pty_columns (command);
  g_autoptr (GBytes) start = prism_e2b_start_new (
      prism_command_get_argv (command), (const char *const *)env, cwd != NULL ? cwd : self->workspace,
      exec->input != NULL || exec->input_stream != NULL, columns, prism_command_get_pty_rows (command), error);
  PrismE2bRunSpec spec = {
    .client = self->client,
    .identity = IDENTITY (self),
    .user = self->user,
    .start = start,
    .pty = columns > 0,
    .timeout_ms = prism_command_get_timeout_ms (command),
    .mark = mark,
    .watched = TRUE,
    .grace_ms = prism_limits_get (prism_sandbox_spec_get_limits (self->spec), "stop-grace-ms"),
    .wall_us = prism_e2b_sandbox_get_end (self),
    .max_kept = prism_command_get_capture (command) ? prism_command_get_max_output_bytes (command) : -1,
    .max_total = prism_limits_get (prism_sandbox_spec_get_limits (self->spec), "max-output-bytes"),
  };

  return start != NULL ? prism_e2b_run_new (&spec, &run_funcs, exec) : NULL;
}

/* Takes @exec. */
static void
begin (Exec *exec)
{
  PrismE2bSandbox *self = exec->sandbox;
  g_autoptr (GError) error = NULL;

  if (!exec->over && prism_e2b_sandbox_check_running (self, &error))
    exec->run = make_run (exec, &error);
  if (exec->run == NULL)
    {
      if (!exec->over)
        prism_operation_fail (PRISM_OPERATION (exec->operation), error);
      finish (exec);
      exec_unref (exec);
      return;
    }
  self->running++;
  prism_e2b_sandbox_busy (self);
  g_ptr_array_add (self->runs, exec->run);
  prism_e2b_run_begin (exec->run);
}

static void
begin_next (PrismE2bSandbox *self)
{
  gint64 most = prism_limits_get (prism_sandbox_spec_get_limits (self->spec), "max-concurrent-execs");

  while (self->running < most && !g_queue_is_empty (&self->waiting))
    begin (g_queue_pop_head (&self->waiting));
}

static gboolean
queue (gpointer data)
{
  Exec *exec = data;
  PrismE2bSandbox *self = exec->sandbox;
  gint64 most = prism_limits_get (prism_sandbox_spec_get_limits (self->spec), "max-commands");

  if (most > 0 && self->commands >= most)
    {
      prism_operation_fail_literal (PRISM_OPERATION (exec->operation), PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT,
                                    "the limit max-commands is used up");
      finish (exec);
      return G_SOURCE_REMOVE;
    }
  self->commands++;
  g_queue_push_tail (&self->waiting, exec_ref (exec));
  begin_next (self);
  return G_SOURCE_REMOVE;
}

/* One that waits for its turn is not begun; its place in the queue is passed over. */
static gboolean
cancel (gpointer data)
{
  Exec *exec = data;

  if (exec->run != NULL)
    prism_e2b_run_end (exec->run, PRISM_OUTCOME_CANCELLED, NULL);
  else if (!exec->over)
    {
      exec->over = TRUE;
      prism_operation_fail_literal (PRISM_OPERATION (exec->operation), PRISM_SANDBOX_ERROR,
                                    PRISM_SANDBOX_ERROR_CANCELLED, "cancelled before it was begun");
    }
  return G_SOURCE_REMOVE;
}

static void
cancelled (GCancellable *cancellable, gpointer data)
{
  Exec *exec = data;

  prism_e2b_client_invoke (exec->sandbox->client, cancel, exec_ref (exec), exec_unref);
}

void
prism_e2b_sandbox_exec (PrismSandbox *sandbox, PrismExecOperation *operation)
{
  PrismE2bSandbox *self = PRISM_E2B_SANDBOX (sandbox);
  PrismCommand *command = prism_exec_operation_get_command (operation);
  g_autoptr (GError) error = NULL;
  Exec *exec;

  if (!prism_e2b_sandbox_check_running (self, &error)
      || !prism_sandbox_spec_check_command (self->spec, command, &error))
    {
      prism_operation_fail (PRISM_OPERATION (operation), error);
      return;
    }
  exec = g_new0 (Exec, 1);
  g_atomic_ref_count_init (&exec->refs);
  exec->sandbox = g_object_ref (self);
  exec->operation = g_object_ref (operation);
  exec->input_stop = g_cancellable_new ();
  exec->input = prism_command_get_stdin_bytes (command);
  if (exec->input != NULL)
    g_bytes_ref (exec->input);
  exec->input_stream = prism_command_get_stdin_stream (command);
  if (exec->input_stream != NULL)
    g_object_ref (exec->input_stream);
  exec->cancel_id = g_cancellable_connect (prism_operation_get_cancellable (PRISM_OPERATION (operation)),
                                           G_CALLBACK (cancelled), exec_ref (exec), exec_unref);
  prism_e2b_client_invoke (self->client, queue, exec_ref (exec), exec_unref);
  exec_unref (exec);
}
