/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kinds of operations: what is asked, and how it is answered. */
#include "prism-operations-private.h"

#include "prism-command-private.h"
#include "prism-process.h"
#include "prism-sandbox.h"

/* Every kind is a final type whose fields are set by its constructor and freed
 * by its finalizer. */
#define DEFINE_KIND(Type, type)                                                                                        \
  G_DEFINE_FINAL_TYPE (Type, type, PRISM_TYPE_OPERATION)                                                               \
  static void type##_clear (Type *self);                                                                               \
  static void type##_finalize (GObject *object)                                                                        \
  {                                                                                                                    \
    type##_clear ((Type *)object);                                                                                     \
    G_OBJECT_CLASS (type##_parent_class)->finalize (object);                                                           \
  }                                                                                                                    \
  static void type##_class_init (Type##Class *klass)                                                                   \
  {                                                                                                                    \
    G_OBJECT_CLASS (klass)->finalize = type##_finalize;                                                                \
  }                                                                                                                    \
  static void type##_init (Type *self)                                                                                 \
  {                                                                                                                    \
  }

static void
answer_object (gpointer self, gpointer object)
{
  prism_operation_answer (PRISM_OPERATION (self), g_object_ref (object), g_object_unref);
}

static void
answer_done (gpointer self)
{
  prism_operation_answer (PRISM_OPERATION (self), GINT_TO_POINTER (TRUE), NULL);
}

/* --- probe ---------------------------------------------------------------------- */

struct _PrismProbeOperation
{
  PrismOperation parent_instance;
};

/**
 * PrismProbeOperation:
 *
 * Asks a backend what it can do on this machine.
 *
 * Since: 1.0
 */
DEFINE_KIND (PrismProbeOperation, prism_probe_operation)

static void
prism_probe_operation_clear (PrismProbeOperation *self)
{
}

PrismOperation *
prism_probe_operation_new (void)
{
  return g_object_new (PRISM_TYPE_PROBE_OPERATION, NULL);
}

/**
 * prism_probe_operation_complete:
 * @self: an operation that was not answered
 * @report: what was found
 *
 * Since: 1.0
 */
void
prism_probe_operation_complete (PrismProbeOperation *self, PrismHealthReport *report)
{
  g_return_if_fail (PRISM_IS_PROBE_OPERATION (self));
  g_return_if_fail (PRISM_IS_HEALTH_REPORT (report));

  answer_object (self, report);
}

/* --- create, connect ------------------------------------------------------------- */

struct _PrismCreateOperation
{
  PrismOperation parent_instance;
  PrismSandboxSpec *spec;
  char *reference;
};

/**
 * PrismCreateOperation:
 *
 * Asks a backend for a sandbox: a new one, or one that exists.
 *
 * Since: 1.0
 */
DEFINE_KIND (PrismCreateOperation, prism_create_operation)

static void
prism_create_operation_clear (PrismCreateOperation *self)
{
  g_clear_object (&self->spec);
  g_free (self->reference);
}

PrismOperation *
prism_create_operation_new (PrismSandboxSpec *spec, const char *reference)
{
  PrismCreateOperation *self = g_object_new (PRISM_TYPE_CREATE_OPERATION, NULL);

  g_set_object (&self->spec, spec);
  self->reference = g_strdup (reference);
  return PRISM_OPERATION (self);
}

/**
 * prism_create_operation_get_spec:
 * @self: an operation
 *
 * Returns: (transfer none) (nullable): `create_sandbox`: what is asked for; it
 *   was checked and is frozen
 *
 * Since: 1.0
 */
PrismSandboxSpec *
prism_create_operation_get_spec (PrismCreateOperation *self)
{
  g_return_val_if_fail (PRISM_IS_CREATE_OPERATION (self), NULL);
  return self->spec;
}

/**
 * prism_create_operation_get_reference:
 * @self: an operation
 *
 * Returns: (transfer none) (nullable): `connect_sandbox`: which one
 *
 * Since: 1.0
 */
const char *
prism_create_operation_get_reference (PrismCreateOperation *self)
{
  g_return_val_if_fail (PRISM_IS_CREATE_OPERATION (self), NULL);
  return self->reference;
}

/**
 * prism_create_operation_complete:
 * @self: an operation that was not answered
 * @sandbox: a running sandbox. If nobody waits for it any more, it is closed.
 *
 * Since: 1.0
 */
void
prism_create_operation_complete (PrismCreateOperation *self, PrismSandbox *sandbox)
{
  g_return_if_fail (PRISM_IS_CREATE_OPERATION (self));
  g_return_if_fail (PRISM_IS_SANDBOX (sandbox));

  answer_object (self, sandbox);
}

/* --- list, reap --------------------------------------------------------------------- */

struct _PrismListOperation
{
  PrismOperation parent_instance;
};

/**
 * PrismListOperation:
 *
 * Asks a backend which sandboxes there are.
 *
 * Since: 1.0
 */
DEFINE_KIND (PrismListOperation, prism_list_operation)

static void
prism_list_operation_clear (PrismListOperation *self)
{
}

PrismOperation *
prism_list_operation_new (void)
{
  return g_object_new (PRISM_TYPE_LIST_OPERATION, NULL);
}

/**
 * prism_list_operation_complete:
 * @self: an operation that was not answered
 * @references: (array zero-terminated=1): references, as
 *   [method@Backend.connect_sandbox] takes them
 *
 * Since: 1.0
 */
void
prism_list_operation_complete (PrismListOperation *self, const char *const *references)
{
  g_return_if_fail (PRISM_IS_LIST_OPERATION (self));
  g_return_if_fail (references != NULL);

  prism_operation_answer (PRISM_OPERATION (self), g_strdupv ((char **)references), (GDestroyNotify)g_strfreev);
}

struct _PrismReapOperation
{
  PrismOperation parent_instance;
};

/**
 * PrismReapOperation:
 *
 * Asks a backend to remove what dead hosts left behind.
 *
 * Since: 1.0
 */
DEFINE_KIND (PrismReapOperation, prism_reap_operation)

static void
prism_reap_operation_clear (PrismReapOperation *self)
{
}

PrismOperation *
prism_reap_operation_new (void)
{
  return g_object_new (PRISM_TYPE_REAP_OPERATION, NULL);
}

gint
prism_reap_answer (gpointer value)
{
  return value != NULL ? (gint)(GPOINTER_TO_UINT (value) - 1) : -1;
}

/**
 * prism_reap_operation_complete:
 * @self: an operation that was not answered
 * @removed: how many leftovers were removed
 *
 * Since: 1.0
 */
void
prism_reap_operation_complete (PrismReapOperation *self, guint removed)
{
  g_return_if_fail (PRISM_IS_REAP_OPERATION (self));
  g_return_if_fail (removed < G_MAXINT);

  prism_operation_answer (PRISM_OPERATION (self), GUINT_TO_POINTER (removed + 1), NULL);
}

/* --- exec --------------------------------------------------------------------------- */

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
DEFINE_KIND (PrismExecOperation, prism_exec_operation)

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

typedef struct
{
  PrismCommand *command;
  PrismStream stream;
  GBytes *bytes;
} Chunk;

static void
chunk_emit (gpointer data)
{
  Chunk *chunk = data;

  prism_command_emit_output (chunk->command, chunk->stream, chunk->bytes);
}

static void
chunk_free (gpointer data)
{
  Chunk *chunk = data;

  g_object_unref (chunk->command);
  g_bytes_unref (chunk->bytes);
  g_free (chunk);
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
  Chunk *chunk;

  g_return_if_fail (PRISM_IS_EXEC_OPERATION (self));
  g_return_if_fail (bytes != NULL);

  if (!prism_command_has_output_handler (self->command))
    {
      if (done != NULL)
        done (done_data);
      return;
    }
  chunk = g_new (Chunk, 1);
  *chunk = (Chunk){ g_object_ref (self->command), stream, g_bytes_ref (bytes) };
  prism_operation_emit (PRISM_OPERATION (self), chunk_emit, chunk, chunk_free, done, done_data);
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
 * Since: 1.0
 */
void
prism_exec_operation_complete (PrismExecOperation *self, PrismResult *result)
{
  g_return_if_fail (PRISM_IS_EXEC_OPERATION (self));
  g_return_if_fail (PRISM_IS_RESULT (result));

  answer_object (self, result);
}

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
DEFINE_KIND (PrismProcessOperation, prism_process_operation)

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
 * Since: 1.0
 */
void
prism_process_operation_complete (PrismProcessOperation *self, PrismProcess *process)
{
  g_return_if_fail (PRISM_IS_PROCESS_OPERATION (self));
  g_return_if_fail (PRISM_IS_PROCESS (process));

  answer_object (self, process);
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
DEFINE_KIND (PrismWaitOperation, prism_wait_operation)

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
 * Since: 1.0
 */
void
prism_wait_operation_complete (PrismWaitOperation *self, PrismResult *result)
{
  g_return_if_fail (PRISM_IS_WAIT_OPERATION (self));
  g_return_if_fail (PRISM_IS_RESULT (result));

  answer_object (self, result);
}

/* --- trees -------------------------------------------------------------------------- */

struct _PrismTreeOperation
{
  PrismOperation parent_instance;
  PrismSandbox *sandbox;
  char *path;
  GFile *folder;
  GOutputStream *stream;
};

/**
 * PrismTreeOperation:
 *
 * Asks a sandbox to take in a host folder, or to give a folder of its own out
 * as a tar.
 *
 * Since: 1.0
 */
DEFINE_KIND (PrismTreeOperation, prism_tree_operation)

static void
prism_tree_operation_clear (PrismTreeOperation *self)
{
  g_object_unref (self->sandbox);
  g_free (self->path);
  g_clear_object (&self->folder);
  g_clear_object (&self->stream);
}

PrismOperation *
prism_tree_operation_new (PrismSandbox *sandbox, const char *path, GFile *folder, GOutputStream *stream)
{
  PrismTreeOperation *self = g_object_new (PRISM_TYPE_TREE_OPERATION, NULL);

  self->sandbox = g_object_ref (sandbox);
  self->path = g_strdup (path);
  g_set_object (&self->folder, folder);
  g_set_object (&self->stream, stream);
  return PRISM_OPERATION (self);
}

/**
 * prism_tree_operation_get_path:
 * @self: an operation
 *
 * Returns: (transfer none) (type filename): the folder inside
 *
 * Since: 1.0
 */
const char *
prism_tree_operation_get_path (PrismTreeOperation *self)
{
  g_return_val_if_fail (PRISM_IS_TREE_OPERATION (self), NULL);
  return self->path;
}

/**
 * prism_tree_operation_get_folder:
 * @self: an operation
 *
 * Returns: (transfer none) (nullable): `import_tree`: the host folder that goes in
 *
 * Since: 1.0
 */
GFile *
prism_tree_operation_get_folder (PrismTreeOperation *self)
{
  g_return_val_if_fail (PRISM_IS_TREE_OPERATION (self), NULL);
  return self->folder;
}

/**
 * prism_tree_operation_get_stream:
 * @self: an operation
 *
 * Returns: (transfer none) (nullable): `export_tree`: where the tar goes
 *
 * Since: 1.0
 */
GOutputStream *
prism_tree_operation_get_stream (PrismTreeOperation *self)
{
  g_return_val_if_fail (PRISM_IS_TREE_OPERATION (self), NULL);
  return self->stream;
}

typedef struct
{
  PrismSandbox *sandbox;
  guint64 entries, bytes, total_bytes;
} Progress;

static void
progress_emit (gpointer data)
{
  const Progress *progress = data;

  prism_sandbox_emit_tree_progress (progress->sandbox, progress->entries, progress->bytes, progress->total_bytes);
}

static void
progress_free (gpointer data)
{
  Progress *progress = data;

  g_object_unref (progress->sandbox);
  g_free (progress);
}

/**
 * prism_tree_operation_progress:
 * @self: an operation
 * @entries: entries that are done
 * @bytes: bytes that are done
 * @total_bytes: bytes in all; 0 = not known
 *
 * Emits [signal@Sandbox::tree-progress] in the caller's context, and starts the
 * operation's deadline anew: what moves is not late. May be called from any
 * thread; a few times a second are enough.
 *
 * Since: 1.0
 */
void
prism_tree_operation_progress (PrismTreeOperation *self, guint64 entries, guint64 bytes, guint64 total_bytes)
{
  Progress *progress;

  g_return_if_fail (PRISM_IS_TREE_OPERATION (self));

  prism_operation_renew_deadline (PRISM_OPERATION (self));
  progress = g_new (Progress, 1);
  *progress = (Progress){ g_object_ref (self->sandbox), entries, bytes, total_bytes };
  prism_operation_emit (PRISM_OPERATION (self), progress_emit, progress, progress_free, NULL, NULL);
}

/**
 * prism_tree_operation_complete:
 * @self: an operation that was not answered
 * @identity: what went in or out
 *
 * Since: 1.0
 */
void
prism_tree_operation_complete (PrismTreeOperation *self, PrismTreeIdentity *identity)
{
  g_return_if_fail (PRISM_IS_TREE_OPERATION (self));
  g_return_if_fail (identity != NULL);

  prism_operation_answer (PRISM_OPERATION (self), prism_tree_identity_copy (identity),
                          (GDestroyNotify)prism_tree_identity_free);
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
DEFINE_KIND (PrismControlOperation, prism_control_operation)

static void
prism_control_operation_clear (PrismControlOperation *self)
{
}

PrismOperation *
prism_control_operation_new (const PrismControlRequest *request)
{
  PrismControlOperation *self = g_object_new (PRISM_TYPE_CONTROL_OPERATION, NULL);

  if (request != NULL)
    self->request = *request;
  return PRISM_OPERATION (self);
}

/**
 * prism_control_operation_get_signal:
 * @self: an operation
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
 * prism_control_operation_complete:
 * @self: an operation that was not answered
 *
 * Since: 1.0
 */
void
prism_control_operation_complete (PrismControlOperation *self)
{
  g_return_if_fail (PRISM_IS_CONTROL_OPERATION (self));

  answer_done (self);
}
