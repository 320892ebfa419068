/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-command-private.h"
#include "prism-operations-private.h"
#include "prism-sandbox-error-private.h"
#include "prism-sandbox-private.h"

/* A command's timeout is the backend's to enforce; this much later the wrapper
 * gives up on a backend that did not. */
#define EXEC_GRACE_MS 30000

static gint64
exec_deadline (PrismCommand *command)
{
  gint64 timeout = prism_command_get_timeout_ms (command);

  return timeout > 0 ? timeout + EXEC_GRACE_MS : PRISM_OPERATION_NO_DEADLINE;
}

/* A process that came too late is not left running. */
static void
kill_process (gpointer process)
{
  prism_process_kill_async (process, NULL, NULL, NULL);
}

/* --- exec ----------------------------------------------------------------------- */

static const PrismMethod exec_method = SANDBOX_METHOD (exec, PRISM_METHOD_NONE, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_exec (PrismSandbox *self, PrismCommand *command, GError **error)
{
  if (!prism_command_check (command, error))
    return NULL;
  prism_command_freeze (command);
  return prism_exec_operation_new (command);
}

/**
 * prism_sandbox_exec:
 * @self: a sandbox
 * @command: what is to run; frozen from here on
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Runs a command to its end. A command that started has a result, be it timed
 * out, cancelled or lost; one that did not start is an error. Cancelling ends
 * the whole tree of its processes, and only those.
 *
 * It has no deadline but the command's own timeout.
 *
 * Returns: (transfer full): how it ended
 *
 * Since: 1.0
 */
PrismResult *
prism_sandbox_exec (PrismSandbox *self, PrismCommand *command, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  g_return_val_if_fail (PRISM_IS_COMMAND (command), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (new_exec (self, command, error), self, &exec_method, exec_deadline (command), cancellable,
                              error);
}

/**
 * prism_sandbox_exec_async:
 * @self: a sandbox
 * @command: what is to run; frozen from here on
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.exec], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_exec_async (PrismSandbox *self,
                          PrismCommand *command,
                          GCancellable *cancellable,
                          GAsyncReadyCallback callback,
                          gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_SANDBOX (self));
  g_return_if_fail (PRISM_IS_COMMAND (command));

  operation = new_exec (self, command, &error);
  prism_operation_start (operation, error, self, &exec_method, exec_deadline (command), cancellable, callback,
                         user_data);
}

/**
 * prism_sandbox_exec_finish:
 * @self: a sandbox
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
prism_sandbox_exec_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &exec_method, error);
}

/* --- start_process -------------------------------------------------------------- */

static const PrismMethod start_process_method = SANDBOX_METHOD (start_process, PRISM_METHOD_NONE, kill_process);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_start_process (PrismSandbox *self, PrismCommand *command, GError **error)
{
  if (!prism_command_check (command, error))
    return NULL;
  prism_command_freeze (command);
  return prism_process_operation_new (command, NULL);
}

/**
 * prism_sandbox_start_process:
 * @self: a sandbox
 * @command: what is to run; frozen from here on
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Starts a long-running process and returns.
 *
 * Returns: (transfer full): the process
 *
 * Since: 1.0
 */
PrismProcess *
prism_sandbox_start_process (PrismSandbox *self, PrismCommand *command, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  g_return_val_if_fail (PRISM_IS_COMMAND (command), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (new_start_process (self, command, error), self, &start_process_method,
                              PRISM_OPERATION_DEADLINE_MS, cancellable, error);
}

/**
 * prism_sandbox_start_process_async:
 * @self: a sandbox
 * @command: what is to run; frozen from here on
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.start_process], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_start_process_async (PrismSandbox *self,
                                   PrismCommand *command,
                                   GCancellable *cancellable,
                                   GAsyncReadyCallback callback,
                                   gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_SANDBOX (self));
  g_return_if_fail (PRISM_IS_COMMAND (command));

  operation = new_start_process (self, command, &error);
  prism_operation_start (operation, error, self, &start_process_method, PRISM_OPERATION_DEADLINE_MS, cancellable,
                         callback, user_data);
}

/**
 * prism_sandbox_start_process_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Gets the process.
 *
 * Returns: (transfer full): the process
 *
 * Since: 1.0
 */
PrismProcess *
prism_sandbox_start_process_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &start_process_method, error);
}

/* --- attach_process ------------------------------------------------------------- */

static const PrismMethod attach_process_method = SANDBOX_METHOD (attach_process, PRISM_METHOD_NONE, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_attach_process (PrismSandbox *self, const char *reference, GError **error)
{
  return prism_process_operation_new (NULL, reference);
}

/**
 * prism_sandbox_attach_process:
 * @self: a sandbox
 * @reference: a process's reference
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Attaches to a process that an earlier connection started, after attesting
 * that it is the one that @reference names.
 *
 * Returns: (transfer full): the process
 *
 * Since: 1.0
 */
PrismProcess *
prism_sandbox_attach_process (PrismSandbox *self, const char *reference, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  g_return_val_if_fail (reference != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (new_attach_process (self, reference, error), self, &attach_process_method,
                              PRISM_OPERATION_DEADLINE_MS, cancellable, error);
}

/**
 * prism_sandbox_attach_process_async:
 * @self: a sandbox
 * @reference: a process's reference
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.attach_process], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_attach_process_async (PrismSandbox *self,
                                    const char *reference,
                                    GCancellable *cancellable,
                                    GAsyncReadyCallback callback,
                                    gpointer user_data)
{
  g_return_if_fail (PRISM_IS_SANDBOX (self));
  g_return_if_fail (reference != NULL);

  prism_operation_start (new_attach_process (self, reference, NULL), NULL, self, &attach_process_method,
                         PRISM_OPERATION_DEADLINE_MS, cancellable, callback, user_data);
}

/**
 * prism_sandbox_attach_process_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Gets the process.
 *
 * Returns: (transfer full): the process
 *
 * Since: 1.0
 */
PrismProcess *
prism_sandbox_attach_process_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &attach_process_method, error);
}
