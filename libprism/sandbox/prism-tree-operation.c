/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* import_tree and export_tree. */
#include "prism-operations-private.h"

#include "prism-sandbox.h"

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
PRISM_DEFINE_OPERATION (PrismTreeOperation, prism_tree_operation)

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
 * Gets the folder inside.
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
 * Gets `import_tree`: the host folder that goes in.
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
 * Gets `export_tree`: where the tar goes.
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
  g_return_if_fail (PRISM_IS_TREE_OPERATION (self));

  prism_operation_emit_progress (PRISM_OPERATION (self), prism_sandbox_emit_tree_progress, self->sandbox, entries,
                                 bytes, total_bytes);
}

/**
 * prism_tree_operation_complete:
 * @self: an operation that was not answered
 * @identity: what went in or out
 *
 * Answers with what went in or out.
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
