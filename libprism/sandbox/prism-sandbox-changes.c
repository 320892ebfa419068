/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PrismSandbox: what changes the tree, and search. */
#include <string.h>

#include "prism-sandbox-error-private.h"
#include "prism-sandbox-private.h"

#define MAX_QUERY   65536
#define MAX_MATCHES 1000000

/* --- remove_file ---------------------------------------------------------------- */

static const PrismMethod remove_file_method = SANDBOX_METHOD (remove_file, PRISM_METHOD_NONE, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_remove_file (PrismSandbox *self, const char *path, PrismFileFlags flags, GError **error)
{
  return prism_sandbox_new_file_operation (
      self, &(PrismFileRequest){ .path = path, .expects = PRISM_FILE_ANSWER_DONE, .flags = flags }, error);
}

/**
 * prism_sandbox_remove_file:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @flags: %PRISM_FILE_FLAGS_RECURSIVE: a folder with all in it
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Removes a file, an empty folder or a link itself.
 *
 * Returns: whether it was removed
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_remove_file (
    PrismSandbox *self, const char *path, PrismFileFlags flags, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_run (new_remove_file (self, path, flags, error), self, &remove_file_method,
                              PRISM_OPERATION_DEADLINE_MS, cancellable, error)
         != NULL;
}

/**
 * prism_sandbox_remove_file_async:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @flags: %PRISM_FILE_FLAGS_RECURSIVE: a folder with all in it
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.remove_file], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_remove_file_async (PrismSandbox *self,
                                 const char *path,
                                 PrismFileFlags flags,
                                 GCancellable *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_SANDBOX (self));
  g_return_if_fail (path != NULL);

  operation = new_remove_file (self, path, flags, &error);
  prism_operation_start (operation, error, self, &remove_file_method, PRISM_OPERATION_DEADLINE_MS, cancellable,
                         callback, user_data);
}

/**
 * prism_sandbox_remove_file_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells whether it was removed.
 *
 * Returns: whether it was removed
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_remove_file_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &remove_file_method, error) != NULL;
}

/* --- rename_file ---------------------------------------------------------------- */

static const PrismMethod rename_file_method = SANDBOX_METHOD (rename_file, PRISM_METHOD_NONE, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_rename_file (PrismSandbox *self, const char *path, const char *destination, PrismFileFlags flags, GError **error)
{
  g_autofree char *resolved = prism_sandbox_resolve (self, destination, error);

  if (resolved == NULL)
    return NULL;
  return prism_sandbox_new_file_operation (
      self,
      &(PrismFileRequest){ .path = path, .expects = PRISM_FILE_ANSWER_DONE, .destination = resolved, .flags = flags },
      error);
}

/**
 * prism_sandbox_rename_file:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @destination: (type filename): the new path
 * @flags: %PRISM_FILE_FLAGS_OVERWRITE: an existing file may be replaced
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Renames a file, folder or link itself.
 *
 * Returns: whether it was renamed
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_rename_file (PrismSandbox *self,
                           const char *path,
                           const char *destination,
                           PrismFileFlags flags,
                           GCancellable *cancellable,
                           GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (path != NULL && destination != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_run (new_rename_file (self, path, destination, flags, error), self, &rename_file_method,
                              PRISM_OPERATION_DEADLINE_MS, cancellable, error)
         != NULL;
}

/**
 * prism_sandbox_rename_file_async:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @destination: (type filename): the new path
 * @flags: %PRISM_FILE_FLAGS_OVERWRITE: an existing file may be replaced
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.rename_file], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_rename_file_async (PrismSandbox *self,
                                 const char *path,
                                 const char *destination,
                                 PrismFileFlags flags,
                                 GCancellable *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_SANDBOX (self));
  g_return_if_fail (path != NULL && destination != NULL);

  operation = new_rename_file (self, path, destination, flags, &error);
  prism_operation_start (operation, error, self, &rename_file_method, PRISM_OPERATION_DEADLINE_MS, cancellable,
                         callback, user_data);
}

/**
 * prism_sandbox_rename_file_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells whether it was renamed.
 *
 * Returns: whether it was renamed
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_rename_file_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &rename_file_method, error) != NULL;
}

/* --- make_directory ------------------------------------------------------------- */

static const PrismMethod make_directory_method = SANDBOX_METHOD (make_directory, PRISM_METHOD_NONE, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_make_directory (PrismSandbox *self, const char *path, guint mode, PrismFileFlags flags, GError **error)
{
  if (!prism_sandbox_check_mode (mode, error))
    return NULL;
  return prism_sandbox_new_file_operation (
      self, &(PrismFileRequest){ .path = path, .expects = PRISM_FILE_ANSWER_DONE, .mode = mode, .flags = flags },
      error);
}

/**
 * prism_sandbox_make_directory:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @mode: permission bits; 0 = 0755
 * @flags: %PRISM_FILE_FLAGS_PARENTS: missing parents as well; an existing folder is success
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Makes a folder.
 *
 * Returns: whether it is there
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_make_directory (
    PrismSandbox *self, const char *path, guint mode, PrismFileFlags flags, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_run (new_make_directory (self, path, mode, flags, error), self, &make_directory_method,
                              PRISM_OPERATION_DEADLINE_MS, cancellable, error)
         != NULL;
}

/**
 * prism_sandbox_make_directory_async:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @mode: permission bits; 0 = 0755
 * @flags: %PRISM_FILE_FLAGS_PARENTS: missing parents as well; an existing folder is success
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.make_directory], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_make_directory_async (PrismSandbox *self,
                                    const char *path,
                                    guint mode,
                                    PrismFileFlags flags,
                                    GCancellable *cancellable,
                                    GAsyncReadyCallback callback,
                                    gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_SANDBOX (self));
  g_return_if_fail (path != NULL);

  operation = new_make_directory (self, path, mode, flags, &error);
  prism_operation_start (operation, error, self, &make_directory_method, PRISM_OPERATION_DEADLINE_MS, cancellable,
                         callback, user_data);
}

/**
 * prism_sandbox_make_directory_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells whether it is there.
 *
 * Returns: whether it is there
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_make_directory_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &make_directory_method, error) != NULL;
}

/* --- search --------------------------------------------------------------------- */

static const PrismMethod search_method = SANDBOX_METHOD (search, PRISM_METHOD_NONE, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_search (
    PrismSandbox *self, const char *path, const char *query, PrismFileFlags flags, gint64 max_matches, GError **error)
{
  if (query[0] == '\0' || strlen (query) > MAX_QUERY || strpbrk (query, "\r\n") != NULL)
    {
      prism_sandbox_invalid (error, "query: 1 to 65536 bytes without line breaks");
      return NULL;
    }
  if (max_matches < 1 || max_matches > MAX_MATCHES)
    {
      prism_sandbox_invalid (error, "max-matches: 1 to 1000000");
      return NULL;
    }
  return prism_sandbox_new_file_operation (
      self,
      &(PrismFileRequest){
          .path = path, .expects = PRISM_FILE_ANSWER_BYTES, .query = query, .flags = flags, .length = max_matches },
      error);
}

/**
 * prism_sandbox_search:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @query: a literal text without line breaks
 * @flags: %PRISM_FILE_FLAGS_IGNORE_CASE, %PRISM_FILE_FLAGS_HIDDEN
 * @max_matches: stop after so many, 1 to 1,000,000
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Looks for a text in all regular files of a tree.
 *
 * Returns: (transfer full): lines of PATH NUL LINE-NUMBER NUL COLUMN NUL TEXT LF
 *
 * Since: 1.0
 */
GBytes *
prism_sandbox_search (PrismSandbox *self,
                      const char *path,
                      const char *query,
                      PrismFileFlags flags,
                      gint64 max_matches,
                      GCancellable *cancellable,
                      GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  g_return_val_if_fail (path != NULL && query != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (new_search (self, path, query, flags, max_matches, error), self, &search_method,
                              PRISM_OPERATION_DEADLINE_MS, cancellable, error);
}

/**
 * prism_sandbox_search_async:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @query: a literal text without line breaks
 * @flags: %PRISM_FILE_FLAGS_IGNORE_CASE, %PRISM_FILE_FLAGS_HIDDEN
 * @max_matches: stop after so many, 1 to 1,000,000
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.search], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_search_async (PrismSandbox *self,
                            const char *path,
                            const char *query,
                            PrismFileFlags flags,
                            gint64 max_matches,
                            GCancellable *cancellable,
                            GAsyncReadyCallback callback,
                            gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_SANDBOX (self));
  g_return_if_fail (path != NULL && query != NULL);

  operation = new_search (self, path, query, flags, max_matches, &error);
  prism_operation_start (operation, error, self, &search_method, PRISM_OPERATION_DEADLINE_MS, cancellable, callback,
                         user_data);
}

/**
 * prism_sandbox_search_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Gets lines of PATH NUL LINE-NUMBER NUL COLUMN NUL TEXT LF.
 *
 * Returns: (transfer full): lines of PATH NUL LINE-NUMBER NUL COLUMN NUL TEXT LF
 *
 * Since: 1.0
 */
GBytes *
prism_sandbox_search_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &search_method, error);
}
