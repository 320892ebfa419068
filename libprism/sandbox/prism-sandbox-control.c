/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PrismSandbox: pause, resume, stop, kill, close. */
#include "prism-error.h"
#include "prism-sandbox-error-private.h"
#include "prism-sandbox-private.h"

/* Longer than any cleanup-deadline-ms: the backend answers first, and better. */
#define CLOSE_DEADLINE_MS 150000
#define MAX_GRACE_MS      30000

/* --- pause ---------------------------------------------------------------------- */

static const PrismMethod pause_method = SANDBOX_METHOD (pause, PRISM_METHOD_NONE, NULL);

/**
 * prism_sandbox_pause:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Freezes every process inside; running becomes stopped.
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_pause (PrismSandbox *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_run (prism_control_operation_new (NULL), self, &pause_method, PRISM_OPERATION_DEADLINE_MS,
                              cancellable, error)
         != NULL;
}

/**
 * prism_sandbox_pause_async:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.pause], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_pause_async (PrismSandbox *self,
                           GCancellable *cancellable,
                           GAsyncReadyCallback callback,
                           gpointer user_data)
{
  g_return_if_fail (PRISM_IS_SANDBOX (self));

  prism_operation_start (prism_control_operation_new (NULL), NULL, self, &pause_method, PRISM_OPERATION_DEADLINE_MS,
                         cancellable, callback, user_data);
}

/**
 * prism_sandbox_pause_finish:
 * @self: a sandbox
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
prism_sandbox_pause_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &pause_method, error) != NULL;
}

/* --- resume --------------------------------------------------------------------- */

static const PrismMethod resume_method = SANDBOX_METHOD (resume, PRISM_METHOD_NONE, NULL);

/**
 * prism_sandbox_resume:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Thaws what was paused.
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_resume (PrismSandbox *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_run (prism_control_operation_new (NULL), self, &resume_method, PRISM_OPERATION_DEADLINE_MS,
                              cancellable, error)
         != NULL;
}

/**
 * prism_sandbox_resume_async:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.resume], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_resume_async (PrismSandbox *self,
                            GCancellable *cancellable,
                            GAsyncReadyCallback callback,
                            gpointer user_data)
{
  g_return_if_fail (PRISM_IS_SANDBOX (self));

  prism_operation_start (prism_control_operation_new (NULL), NULL, self, &resume_method, PRISM_OPERATION_DEADLINE_MS,
                         cancellable, callback, user_data);
}

/**
 * prism_sandbox_resume_finish:
 * @self: a sandbox
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
prism_sandbox_resume_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &resume_method, error) != NULL;
}

/* --- stop ----------------------------------------------------------------------- */

static const PrismMethod stop_method = SANDBOX_METHOD (stop, PRISM_METHOD_KEEPS_WORKING, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_stop (PrismSandbox *self, gint64 grace_ms, GError **error)
{
  if (grace_ms < -1 || grace_ms > MAX_GRACE_MS)
    {
      g_set_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE,
                   "grace of %" G_GINT64_FORMAT " ms (allowed: 0 to %d)", grace_ms, MAX_GRACE_MS);
      return NULL;
    }
  return prism_control_operation_new (&(PrismControlRequest){ .grace_ms = grace_ms });
}

/**
 * prism_sandbox_stop:
 * @self: a sandbox
 * @grace_ms: time between SIGTERM and SIGKILL, ms; -1 = the sandbox's `stop-grace-ms`
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Ends every process inside, gently first; running becomes stopped. Nothing
 * happens to one that is stopped or removed.
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_stop (PrismSandbox *self, gint64 grace_ms, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_run (new_stop (self, grace_ms, error), self, &stop_method,
                              MAX_GRACE_MS + PRISM_OPERATION_DEADLINE_MS, cancellable, error)
         != NULL;
}

/**
 * prism_sandbox_stop_async:
 * @self: a sandbox
 * @grace_ms: time between SIGTERM and SIGKILL, ms; -1 = the sandbox's `stop-grace-ms`
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.stop], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_stop_async (
    PrismSandbox *self, gint64 grace_ms, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_SANDBOX (self));

  operation = new_stop (self, grace_ms, &error);
  prism_operation_start (operation, error, self, &stop_method, MAX_GRACE_MS + PRISM_OPERATION_DEADLINE_MS, cancellable,
                         callback, user_data);
}

/**
 * prism_sandbox_stop_finish:
 * @self: a sandbox
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
prism_sandbox_stop_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &stop_method, error) != NULL;
}

/* --- kill ----------------------------------------------------------------------- */

static const PrismMethod kill_method = SANDBOX_METHOD (kill, PRISM_METHOD_KEEPS_WORKING, NULL);

/**
 * prism_sandbox_kill:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Ends every process inside at once; running becomes stopped. Nothing happens
 * to one that is removed.
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_kill (PrismSandbox *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_run (prism_control_operation_new (NULL), self, &kill_method, PRISM_OPERATION_DEADLINE_MS,
                              cancellable, error)
         != NULL;
}

/**
 * prism_sandbox_kill_async:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.kill], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_kill_async (PrismSandbox *self,
                          GCancellable *cancellable,
                          GAsyncReadyCallback callback,
                          gpointer user_data)
{
  g_return_if_fail (PRISM_IS_SANDBOX (self));

  prism_operation_start (prism_control_operation_new (NULL), NULL, self, &kill_method, PRISM_OPERATION_DEADLINE_MS,
                         cancellable, callback, user_data);
}

/**
 * prism_sandbox_kill_finish:
 * @self: a sandbox
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
prism_sandbox_kill_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &kill_method, error) != NULL;
}

/* --- close ---------------------------------------------------------------------- */

static const PrismMethod close_method =
    SANDBOX_METHOD (close, PRISM_METHOD_KEEPS_WORKING | PRISM_METHOD_CANCEL_ENDS_WAIT, NULL);

/**
 * prism_sandbox_close:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Ends the sandbox and removes all of it: no process, mount, file or socket
 * stays. May be called any number of times. Cancelling ends the wait, not the
 * work. Bounded by the limit `cleanup-deadline-ms`.
 *
 * Returns: whether nothing is left
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_close (PrismSandbox *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_run (prism_control_operation_new (NULL), self, &close_method, CLOSE_DEADLINE_MS, cancellable,
                              error)
         != NULL;
}

/**
 * prism_sandbox_close_async:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.close], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_close_async (PrismSandbox *self,
                           GCancellable *cancellable,
                           GAsyncReadyCallback callback,
                           gpointer user_data)
{
  g_return_if_fail (PRISM_IS_SANDBOX (self));

  prism_operation_start (prism_control_operation_new (NULL), NULL, self, &close_method, CLOSE_DEADLINE_MS, cancellable,
                         callback, user_data);
}

/**
 * prism_sandbox_close_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells whether nothing is left.
 *
 * Returns: whether nothing is left
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_close_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &close_method, error) != NULL;
}
