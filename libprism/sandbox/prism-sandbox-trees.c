/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-operations-private.h"
#include "prism-sandbox-error-private.h"
#include "prism-sandbox-private.h"

/* --- import_tree ---------------------------------------------------------------- */

static const PrismMethod import_tree_method = SANDBOX_METHOD (import_tree, PRISM_METHOD_NONE, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_import_tree (PrismSandbox *self, GFile *folder, const char *path, GError **error)
{
  g_autofree char *resolved = prism_sandbox_resolve (self, path, error);

  if (resolved == NULL)
    return NULL;
  if (g_file_peek_path (folder) == NULL)
    {
      g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID, "the folder is not a local one");
      return NULL;
    }
  return prism_tree_operation_new (self, resolved, folder, NULL);
}

/**
 * prism_sandbox_import_tree:
 * @self: a sandbox
 * @folder: a folder of the host
 * @path: (type filename): the folder inside that its content goes into
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Takes a host folder in: files, folders, and links that stay inside; anything
 * else is an error, and then nothing half done stays. Its deadline starts anew
 * with all progress.
 *
 * Returns: (transfer full): what went in
 *
 * Since: 1.0
 */
PrismTreeIdentity *
prism_sandbox_import_tree (
    PrismSandbox *self, GFile *folder, const char *path, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  g_return_val_if_fail (G_IS_FILE (folder), NULL);
  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (new_import_tree (self, folder, path, error), self, &import_tree_method,
                              PRISM_OPERATION_DEADLINE_MS, cancellable, error);
}

/**
 * prism_sandbox_import_tree_async:
 * @self: a sandbox
 * @folder: a folder of the host
 * @path: (type filename): the folder inside that its content goes into
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.import_tree], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_import_tree_async (PrismSandbox *self,
                                 GFile *folder,
                                 const char *path,
                                 GCancellable *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_SANDBOX (self));
  g_return_if_fail (G_IS_FILE (folder));
  g_return_if_fail (path != NULL);

  operation = new_import_tree (self, folder, path, &error);
  prism_operation_start (operation, error, self, &import_tree_method, PRISM_OPERATION_DEADLINE_MS, cancellable,
                         callback, user_data);
}

/**
 * prism_sandbox_import_tree_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells what went in.
 *
 * Returns: (transfer full): what went in
 *
 * Since: 1.0
 */
PrismTreeIdentity *
prism_sandbox_import_tree_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &import_tree_method, error);
}

/* --- export_tree ---------------------------------------------------------------- */

static const PrismMethod export_tree_method = SANDBOX_METHOD (export_tree, PRISM_METHOD_NONE, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_export_tree (PrismSandbox *self, const char *path, GOutputStream *stream, GError **error)
{
  g_autofree char *resolved = prism_sandbox_resolve (self, path, error);

  if (resolved == NULL)
    return NULL;
  return prism_tree_operation_new (self, resolved, NULL, stream);
}

/**
 * prism_sandbox_export_tree:
 * @self: a sandbox
 * @path: (type filename): a folder inside
 * @stream: where its pax tar goes; it is not closed
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Gives a folder out. The bytes are canonical: equal trees give equal tars.
 * @stream is written in full, or the error says that it was not. Its deadline
 * starts anew with all progress.
 *
 * Returns: (transfer full): what went out
 *
 * Since: 1.0
 */
PrismTreeIdentity *
prism_sandbox_export_tree (
    PrismSandbox *self, const char *path, GOutputStream *stream, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (G_IS_OUTPUT_STREAM (stream), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (new_export_tree (self, path, stream, error), self, &export_tree_method,
                              PRISM_OPERATION_DEADLINE_MS, cancellable, error);
}

/**
 * prism_sandbox_export_tree_async:
 * @self: a sandbox
 * @path: (type filename): a folder inside
 * @stream: where its pax tar goes; it is not closed
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.export_tree], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_export_tree_async (PrismSandbox *self,
                                 const char *path,
                                 GOutputStream *stream,
                                 GCancellable *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_SANDBOX (self));
  g_return_if_fail (path != NULL);
  g_return_if_fail (G_IS_OUTPUT_STREAM (stream));

  operation = new_export_tree (self, path, stream, &error);
  prism_operation_start (operation, error, self, &export_tree_method, PRISM_OPERATION_DEADLINE_MS, cancellable,
                         callback, user_data);
}

/**
 * prism_sandbox_export_tree_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells what went out.
 *
 * Returns: (transfer full): what went out
 *
 * Since: 1.0
 */
PrismTreeIdentity *
prism_sandbox_export_tree_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &export_tree_method, error);
}
