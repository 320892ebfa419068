/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-process.h"
#include "prism-home-private.h"
#include "prism-operations-private.h"
#include "prism-sandbox-error-private.h"

#define MAX_SIGNAL      64
#define MAX_PTY_COLUMNS 500
#define MAX_PTY_ROWS    200

/**
 * PrismProcess:
 *
 * A process in a sandbox that runs while its caller does other things.
 *
 * Since: 1.0
 */
G_DEFINE_INTERFACE (PrismProcess, prism_process, G_TYPE_OBJECT)

static void
prism_process_default_init (PrismProcessInterface *iface)
{
  const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  /**
   * PrismProcess:reference:
   *
   * What [method@Sandbox.attach_process] takes.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface, g_param_spec_string ("reference", NULL, NULL, NULL, flags));
  /**
   * PrismProcess:stdin-stream:
   *
   * Its standard input; a terminal's input as well.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface,
                                       g_param_spec_object ("stdin-stream", NULL, NULL, G_TYPE_OUTPUT_STREAM, flags));
  /**
   * PrismProcess:stdout-stream:
   *
   * Its standard output; a terminal's output as well.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface,
                                       g_param_spec_object ("stdout-stream", NULL, NULL, G_TYPE_INPUT_STREAM, flags));
  /**
   * PrismProcess:stderr-stream:
   *
   * Its standard error; none with a terminal.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface,
                                       g_param_spec_object ("stderr-stream", NULL, NULL, G_TYPE_INPUT_STREAM, flags));
  prism_home_watch_interface (PRISM_TYPE_PROCESS, sizeof (PrismProcessInterface));
}

/**
 * prism_process_dup_reference:
 * @self: a process
 *
 * Tells what [method@Sandbox.attach_process] takes.
 *
 * Returns: (transfer full) (nullable): what [method@Sandbox.attach_process] takes
 *
 * Since: 1.0
 */
char *
prism_process_dup_reference (PrismProcess *self)
{
  g_auto (GValue) value = G_VALUE_INIT;

  g_return_val_if_fail (PRISM_IS_PROCESS (self), NULL);

  g_value_init (&value, G_TYPE_STRING);
  prism_home_get (self, "reference", &value);
  return g_value_dup_string (&value);
}

/* The process keeps its streams as long as it lives, so a borrowed one is safe. */
static gpointer
borrow_stream (PrismProcess *self, const char *name)
{
  g_auto (GValue) value = G_VALUE_INIT;

  g_value_init (&value, G_TYPE_OBJECT);
  prism_home_get (self, name, &value);
  return g_value_get_object (&value);
}

/**
 * prism_process_get_stdin_stream:
 * @self: a process
 *
 * Gets its standard input.
 *
 * Returns: (transfer none) (nullable): its standard input
 *
 * Since: 1.0
 */
GOutputStream *
prism_process_get_stdin_stream (PrismProcess *self)
{
  g_return_val_if_fail (PRISM_IS_PROCESS (self), NULL);
  return borrow_stream (self, "stdin-stream");
}

/**
 * prism_process_get_stdout_stream:
 * @self: a process
 *
 * Gets its standard output.
 *
 * Returns: (transfer none) (nullable): its standard output
 *
 * Since: 1.0
 */
GInputStream *
prism_process_get_stdout_stream (PrismProcess *self)
{
  g_return_val_if_fail (PRISM_IS_PROCESS (self), NULL);
  return borrow_stream (self, "stdout-stream");
}

/**
 * prism_process_get_stderr_stream:
 * @self: a process
 *
 * Gets its standard error; none with a terminal.
 *
 * Returns: (transfer none) (nullable): its standard error; none with a terminal
 *
 * Since: 1.0
 */
GInputStream *
prism_process_get_stderr_stream (PrismProcess *self)
{
  g_return_val_if_fail (PRISM_IS_PROCESS (self), NULL);
  return borrow_stream (self, "stderr-stream");
}

#define PROCESS_METHOD(method, flags, discard)                                                                         \
  PRISM_METHOD (prism_process_get_type, PrismProcessInterface, method, flags, &prism_sandbox_operation_errors, NULL,   \
                discard)

/* --- send_signal ---------------------------------------------------------------- */

static const PrismMethod send_signal_method = PROCESS_METHOD (send_signal, PRISM_METHOD_NONE, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_send_signal (PrismProcess *self, int signal_number, GError **error)
{
  if (signal_number < 1 || signal_number > MAX_SIGNAL)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID, "signal %d (allowed: 1 to %d)",
                   signal_number, MAX_SIGNAL);
      return NULL;
    }
  return prism_control_operation_new (&(PrismControlRequest){ .signal = signal_number });
}

/**
 * prism_process_send_signal:
 * @self: a process
 * @signal_number: a signal, 1 to 64
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Sends a signal to the process and its group.
 *
 * Returns: whether it was sent
 *
 * Since: 1.0
 */
gboolean
prism_process_send_signal (PrismProcess *self, int signal_number, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_PROCESS (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_run (new_send_signal (self, signal_number, error), self, &send_signal_method,
                              PRISM_OPERATION_DEADLINE_MS, cancellable, error)
         != NULL;
}

/**
 * prism_process_send_signal_async:
 * @self: a process
 * @signal_number: a signal, 1 to 64
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Process.send_signal], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_process_send_signal_async (
    PrismProcess *self, int signal_number, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_PROCESS (self));

  operation = new_send_signal (self, signal_number, &error);
  prism_operation_start (operation, error, self, &send_signal_method, PRISM_OPERATION_DEADLINE_MS, cancellable,
                         callback, user_data);
}

/**
 * prism_process_send_signal_finish:
 * @self: a process
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells whether it was sent.
 *
 * Returns: whether it was sent
 *
 * Since: 1.0
 */
gboolean
prism_process_send_signal_finish (PrismProcess *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &send_signal_method, error) != NULL;
}

/* --- kill ----------------------------------------------------------------------- */

static const PrismMethod kill_method = PROCESS_METHOD (kill, PRISM_METHOD_KEEPS_WORKING, NULL);

/**
 * prism_process_kill:
 * @self: a process
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Ends the process and all that it started, at once.
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_process_kill (PrismProcess *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_PROCESS (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_run (prism_control_operation_new (NULL), self, &kill_method, PRISM_OPERATION_DEADLINE_MS,
                              cancellable, error)
         != NULL;
}

/**
 * prism_process_kill_async:
 * @self: a process
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Process.kill], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_process_kill_async (PrismProcess *self,
                          GCancellable *cancellable,
                          GAsyncReadyCallback callback,
                          gpointer user_data)
{
  g_return_if_fail (PRISM_IS_PROCESS (self));

  prism_operation_start (prism_control_operation_new (NULL), NULL, self, &kill_method, PRISM_OPERATION_DEADLINE_MS,
                         cancellable, callback, user_data);
}

/**
 * prism_process_kill_finish:
 * @self: a process
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells whether it was done.
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_process_kill_finish (PrismProcess *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &kill_method, error) != NULL;
}

/* --- resize --------------------------------------------------------------------- */

static const PrismMethod resize_method = PROCESS_METHOD (resize, PRISM_METHOD_NONE, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_resize (PrismProcess *self, guint columns, guint rows, GError **error)
{
  if (columns < 1 || columns > MAX_PTY_COLUMNS || rows < 1 || rows > MAX_PTY_ROWS)
    {
      g_set_error (error, PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_PTY_LIMIT, "%u by %u (allowed: 1 by 1 to %d by %d)",
                   columns, rows, MAX_PTY_COLUMNS, MAX_PTY_ROWS);
      return NULL;
    }
  return prism_control_operation_new (&(PrismControlRequest){ .columns = columns, .rows = rows });
}

/**
 * prism_process_resize:
 * @self: a process
 * @columns: width, 1 to 500
 * @rows: height, 1 to 200
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Resizes its terminal.
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_process_resize (PrismProcess *self, guint columns, guint rows, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_PROCESS (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_run (new_resize (self, columns, rows, error), self, &resize_method,
                              PRISM_OPERATION_DEADLINE_MS, cancellable, error)
         != NULL;
}

/**
 * prism_process_resize_async:
 * @self: a process
 * @columns: width, 1 to 500
 * @rows: height, 1 to 200
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Process.resize], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_process_resize_async (PrismProcess *self,
                            guint columns,
                            guint rows,
                            GCancellable *cancellable,
                            GAsyncReadyCallback callback,
                            gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_PROCESS (self));

  operation = new_resize (self, columns, rows, &error);
  prism_operation_start (operation, error, self, &resize_method, PRISM_OPERATION_DEADLINE_MS, cancellable, callback,
                         user_data);
}

/**
 * prism_process_resize_finish:
 * @self: a process
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells whether it was done.
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_process_resize_finish (PrismProcess *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &resize_method, error) != NULL;
}

/* --- release -------------------------------------------------------------------- */

static const PrismMethod release_method = PROCESS_METHOD (release, PRISM_METHOD_NONE, NULL);

/**
 * prism_process_release:
 * @self: a process
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Lets go of the process without ending it; afterwards every method fails.
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_process_release (PrismProcess *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_PROCESS (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_run (prism_control_operation_new (NULL), self, &release_method, PRISM_OPERATION_DEADLINE_MS,
                              cancellable, error)
         != NULL;
}

/**
 * prism_process_release_async:
 * @self: a process
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Process.release], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_process_release_async (PrismProcess *self,
                             GCancellable *cancellable,
                             GAsyncReadyCallback callback,
                             gpointer user_data)
{
  g_return_if_fail (PRISM_IS_PROCESS (self));

  prism_operation_start (prism_control_operation_new (NULL), NULL, self, &release_method, PRISM_OPERATION_DEADLINE_MS,
                         cancellable, callback, user_data);
}

/**
 * prism_process_release_finish:
 * @self: a process
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells whether it was done.
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_process_release_finish (PrismProcess *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &release_method, error) != NULL;
}

/* --- wait ----------------------------------------------------------------------- */

static const PrismMethod wait_method = PROCESS_METHOD (wait, PRISM_METHOD_CANCEL_ENDS_WAIT, NULL);

/**
 * prism_process_wait:
 * @self: a process
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Waits for its end. Cancelling ends the wait, not the process.
 *
 * Returns: (transfer full): how it ended
 *
 * Since: 1.0
 */
PrismResult *
prism_process_wait (PrismProcess *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_PROCESS (self), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (prism_wait_operation_new (), self, &wait_method, PRISM_OPERATION_NO_DEADLINE, cancellable,
                              error);
}

/**
 * prism_process_wait_async:
 * @self: a process
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Process.wait], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_process_wait_async (PrismProcess *self,
                          GCancellable *cancellable,
                          GAsyncReadyCallback callback,
                          gpointer user_data)
{
  g_return_if_fail (PRISM_IS_PROCESS (self));

  prism_operation_start (prism_wait_operation_new (), NULL, self, &wait_method, PRISM_OPERATION_NO_DEADLINE,
                         cancellable, callback, user_data);
}

/**
 * prism_process_wait_finish:
 * @self: a process
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells how it ended.
 *
 * Returns: (transfer full): how it ended
 *
 * Since: 1.0
 */
PrismResult *
prism_process_wait_finish (PrismProcess *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &wait_method, error);
}
