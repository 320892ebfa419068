/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations of a process, and what makes one. */
#include "prism-operations-private.h"

#include "prism-process.h"

/* --- start_process, attach_process -------------------------------------------------- */

struct _PrismProcessOperation
{
  PrismOperation parent_instance;
  PrismCommand *command;
  char *reference;
};

/**
 * PrismProcessOperation:
 *
 * Asks a sandbox for a long-running process: a new one, or one that exists.
 *
 * Since: 1.0
 */
PRISM_DEFINE_OPERATION (PrismProcessOperation, prism_process_operation)

static void
prism_process_operation_clear (PrismProcessOperation *self)
{
  g_clear_object (&self->command);
  g_free (self->reference);
}

PrismOperation *
prism_process_operation_new (PrismCommand *command, const char *reference)
{
  PrismProcessOperation *self = g_object_new (PRISM_TYPE_PROCESS_OPERATION, NULL);

  g_set_object (&self->command, command);
  self->reference = g_strdup (reference);
  return PRISM_OPERATION (self);
}

/**
 * prism_process_operation_get_command:
 * @self: an operation
 *
 * Gets `start_process`: what is to run.
 *
 * Returns: (transfer none) (nullable): `start_process`: what is to run
 *
 * Since: 1.0
 */
PrismCommand *
prism_process_operation_get_command (PrismProcessOperation *self)
{
  g_return_val_if_fail (PRISM_IS_PROCESS_OPERATION (self), NULL);
  return self->command;
}

/**
 * prism_process_operation_get_reference:
 * @self: an operation
 *
 * Gets `attach_process`: which one.
 *
 * Returns: (transfer none) (nullable): `attach_process`: which one
 *
 * Since: 1.0
 */
const char *
prism_process_operation_get_reference (PrismProcessOperation *self)
{
  g_return_val_if_fail (PRISM_IS_PROCESS_OPERATION (self), NULL);
  return self->reference;
}

/**
 * prism_process_operation_complete:
 * @self: an operation that was not answered
 * @process: a process that was started; if nobody waits for it any more, it is killed
 *
 * Answers with the process.
 *
 * Since: 1.0
 */
void
prism_process_operation_complete (PrismProcessOperation *self, PrismProcess *process)
{
  g_return_if_fail (PRISM_IS_PROCESS_OPERATION (self));
  g_return_if_fail (PRISM_IS_PROCESS (process));

  prism_operation_answer_object (self, process);
}

/* --- wait --------------------------------------------------------------------------- */

struct _PrismWaitOperation
{
  PrismOperation parent_instance;
};

/**
 * PrismWaitOperation:
 *
 * Waits for a process's end. It has no deadline.
 *
 * Since: 1.0
 */
PRISM_DEFINE_OPERATION (PrismWaitOperation, prism_wait_operation)

static void
prism_wait_operation_clear (PrismWaitOperation *self)
{
}

PrismOperation *
prism_wait_operation_new (void)
{
  return g_object_new (PRISM_TYPE_WAIT_OPERATION, NULL);
}

/**
 * prism_wait_operation_complete:
 * @self: an operation that was not answered
 * @result: how the process ended
 *
 * Answers with how the process ended.
 *
 * Since: 1.0
 */
void
prism_wait_operation_complete (PrismWaitOperation *self, PrismResult *result)
{
  g_return_if_fail (PRISM_IS_WAIT_OPERATION (self));
  g_return_if_fail (PRISM_IS_RESULT (result));

  prism_operation_answer_object (self, result);
}

/* --- control ------------------------------------------------------------------------ */

struct _PrismControlOperation
{
  PrismOperation parent_instance;
  PrismControlRequest request;
};

/**
 * PrismControlOperation:
 *
 * Asks a sandbox or a process to change its state; answered when it has.
 *
 * Since: 1.0
 */
PRISM_DEFINE_OPERATION (PrismControlOperation, prism_control_operation)

static void
prism_control_operation_clear (PrismControlOperation *self)
{
  g_clear_object (&self->request.policy);
}

PrismOperation *
prism_control_operation_new (const PrismControlRequest *request)
{
  PrismControlOperation *self = g_object_new (PRISM_TYPE_CONTROL_OPERATION, NULL);

  if (request != NULL)
    {
      self->request = *request;
      if (request->policy != NULL)
        g_object_ref (request->policy);
    }
  return PRISM_OPERATION (self);
}

/**
 * prism_control_operation_get_signal:
 * @self: an operation
 *
 * Gets a process's `send_signal`: which.
 *
 * Returns: a process's `send_signal`: which
 *
 * Since: 1.0
 */
int
prism_control_operation_get_signal (PrismControlOperation *self)
{
  g_return_val_if_fail (PRISM_IS_CONTROL_OPERATION (self), 0);
  return self->request.signal;
}

/**
 * prism_control_operation_get_grace_ms:
 * @self: an operation
 *
 * Gets `stop`: time between SIGTERM and SIGKILL, ms; -1 = the sandbox's `stop-grace-ms`.
 *
 * Returns: `stop`: time between SIGTERM and SIGKILL, ms; -1 = the sandbox's `stop-grace-ms`
 *
 * Since: 1.0
 */
gint64
prism_control_operation_get_grace_ms (PrismControlOperation *self)
{
  g_return_val_if_fail (PRISM_IS_CONTROL_OPERATION (self), 0);
  return self->request.grace_ms;
}

/**
 * prism_control_operation_get_columns:
 * @self: an operation
 *
 * Gets a process's `resize`: the terminal's width.
 *
 * Returns: a process's `resize`: the terminal's width
 *
 * Since: 1.0
 */
guint
prism_control_operation_get_columns (PrismControlOperation *self)
{
  g_return_val_if_fail (PRISM_IS_CONTROL_OPERATION (self), 0);
  return self->request.columns;
}

/**
 * prism_control_operation_get_rows:
 * @self: an operation
 *
 * Gets a process's `resize`: the terminal's height.
 *
 * Returns: a process's `resize`: the terminal's height
 *
 * Since: 1.0
 */
guint
prism_control_operation_get_rows (PrismControlOperation *self)
{
  g_return_val_if_fail (PRISM_IS_CONTROL_OPERATION (self), 0);
  return self->request.rows;
}

/**
 * prism_control_operation_get_policy:
 * @self: an operation
 *
 * Gets `set_network_policy`: what may be reached from now on.
 *
 * Returns: (transfer none) (nullable): `set_network_policy`: what may be reached from now on
 *
 * Since: 1.0
 */
PrismEgressPolicy *
prism_control_operation_get_policy (PrismControlOperation *self)
{
  g_return_val_if_fail (PRISM_IS_CONTROL_OPERATION (self), NULL);
  return self->request.policy;
}

/**
 * prism_control_operation_complete:
 * @self: an operation that was not answered
 *
 * Answers that it was done.
 *
 * Since: 1.0
 */
void
prism_control_operation_complete (PrismControlOperation *self)
{
  g_return_if_fail (PRISM_IS_CONTROL_OPERATION (self));

  prism_operation_answer_done (self);
}
