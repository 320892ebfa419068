/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* exec: what is to run, its output while it runs, how it ended. */
#include "prism-operations-private.h"

#include "prism-command-private.h"

struct _PrismExecOperation
{
  PrismOperation parent_instance;
  PrismCommand *command;
};

/**
 * PrismExecOperation:
 *
 * Asks a sandbox to run a command to its end. Its deadline is the command's
 * timeout plus grace; there is none if no timeout was asked.
 *
 * Since: 1.0
 */
PRISM_DEFINE_OPERATION (PrismExecOperation, prism_exec_operation)

static void
prism_exec_operation_clear (PrismExecOperation *self)
{
  g_object_unref (self->command);
}

PrismOperation *
prism_exec_operation_new (PrismCommand *command)
{
  PrismExecOperation *self = g_object_new (PRISM_TYPE_EXEC_OPERATION, NULL);

  self->command = g_object_ref (command);
  return PRISM_OPERATION (self);
}

/**
 * prism_exec_operation_get_command:
 * @self: an operation
 *
 * Tells what is to run; it was checked and is frozen.
 *
 * Returns: (transfer none): what is to run; it was checked and is frozen
 *
 * Since: 1.0
 */
PrismCommand *
prism_exec_operation_get_command (PrismExecOperation *self)
{
  g_return_val_if_fail (PRISM_IS_EXEC_OPERATION (self), NULL);
  return self->command;
}

/**
 * prism_exec_operation_get_wants_output:
 * @self: an operation
 *
 * Tells whether anyone listens to the command's `output`.
 *
 * Returns: whether anyone listens to the command's `output`
 *
 * Since: 1.0
 */
gboolean
prism_exec_operation_get_wants_output (PrismExecOperation *self)
{
  g_return_val_if_fail (PRISM_IS_EXEC_OPERATION (self), FALSE);
  return prism_command_has_output_handler (self->command);
}

/**
 * prism_exec_operation_output_full: (skip)
 * @self: an operation
 * @stream: which of the command's streams
 * @bytes: what it wrote
 * @done: (nullable): called once when the handlers ran, or when nobody listens
 *   (any more); in any thread, this one included
 * @done_data: for @done
 *
 * As [method@ExecOperation.output], for those who keep the promise of
 * [signal@Command::output]: read on only when @done was called.
 *
 * Since: 1.0
 */
void
prism_exec_operation_output_full (
    PrismExecOperation *self, PrismStream stream, GBytes *bytes, GDestroyNotify done, gpointer done_data)
{
  g_return_if_fail (PRISM_IS_EXEC_OPERATION (self));
  g_return_if_fail (bytes != NULL);

  if (!prism_command_has_output_handler (self->command))
    {
      if (done != NULL)
        done (done_data);
      return;
    }
  prism_command_pass_output (self->command, PRISM_OPERATION (self), stream, bytes, done, done_data);
}

/**
 * prism_exec_operation_output:
 * @self: an operation
 * @stream: which of the command's streams
 * @bytes: what it wrote
 *
 * Emits [signal@Command::output] in the context that was current when the
 * caller called, or in its thread if it called synchronously; before the
 * answer, in the order of these calls. May be called from any thread.
 *
 * Since: 1.0
 */
void
prism_exec_operation_output (PrismExecOperation *self, PrismStream stream, GBytes *bytes)
{
  prism_exec_operation_output_full (self, stream, bytes, NULL, NULL);
}

/**
 * prism_exec_operation_complete:
 * @self: an operation that was not answered
 * @result: how the command ended; a command that did not start is an error
 *
 * Answers with how the command ended.
 *
 * Since: 1.0
 */
void
prism_exec_operation_complete (PrismExecOperation *self, PrismResult *result)
{
  g_return_if_fail (PRISM_IS_EXEC_OPERATION (self));
  g_return_if_fail (PRISM_IS_RESULT (result));

  prism_operation_answer_object (self, result);
}
