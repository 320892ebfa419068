/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PrismSandbox: reading and writing files, and looking at them. */
#include <string.h>

#include "prism-environment-private.h"
#include "prism-operations-private.h"
#include "prism-sandbox-error-private.h"
#include "prism-sandbox-private.h"

#define MAX_PATH    4095
#define MAX_QUERY   65536
#define MAX_MATCHES 1000000

gboolean
prism_sandbox_invalid (GError **error, const char *message)
{
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID, message);
  return FALSE;
}

/* Without empty and "." components, which say nothing; ".." is the backend's, as
 * only it knows what is a link. */
static char *
plain (const char *path)
{
  GString *clean = g_string_new (NULL);

  while (*path != '\0')
    {
      gsize length = strcspn (path, "/");
      if (length > 0 && !(length == 1 && path[0] == '.'))
        g_string_append_len (g_string_append_c (clean, '/'), path, (gssize)length);
      path += length + (path[length] == '/');
    }
  if (clean->len == 0)
    g_string_append_c (clean, '/');
  return g_string_free (clean, FALSE);
}

char *
prism_sandbox_resolve (PrismSandbox *self, const char *path, GError **error)
{
  g_autofree char *absolute = NULL;

  if (path[0] == '/')
    absolute = plain (path);
  else if (path[0] != '\0')
    {
      g_autofree char *workspace = prism_sandbox_dup_workspace (self);
      g_autofree char *joined = g_strconcat (workspace != NULL ? workspace : "", "/", path, NULL);
      absolute = plain (joined);
    }
  if (absolute == NULL || strlen (absolute) > MAX_PATH)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID, "path “%s” is %s", prism_printable (path),
                   absolute == NULL ? "empty" : "longer than 4095 bytes");
      return NULL;
    }
  return g_steal_pointer (&absolute);
}

gboolean
prism_sandbox_check_mode (guint mode, GError **error)
{
  return (mode & ~0777u) == 0 || prism_sandbox_invalid (error, "mode: only permission bits (0777) can be set");
}

PrismOperation *
prism_sandbox_new_file_operation (PrismSandbox *self, PrismFileRequest *request, GError **error)
{
  g_autofree char *path = prism_sandbox_resolve (self, request->path, error);

  if (path == NULL)
    return NULL;
  request->path = path;
  return prism_file_operation_new (request);
}

/* --- read_file ------------------------------------------------------------------ */

static const PrismMethod read_file_method = SANDBOX_METHOD (read_file, PRISM_METHOD_NONE, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_read_file (PrismSandbox *self, const char *path, gint64 offset, gint64 length, GError **error)
{
  if (offset < 0 || length < -1)
    {
      prism_sandbox_invalid (error, "offset: at least 0; length: at least 0, or -1");
      return NULL;
    }
  return prism_sandbox_new_file_operation (
      self, &(PrismFileRequest){ .path = path, .expects = PRISM_FILE_ANSWER_BYTES, .offset = offset, .length = length },
      error);
}

/**
 * prism_sandbox_read_file:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @offset: the first byte
 * @length: how many bytes; -1 = to the end. More than the limit `max-file-bytes` is an error, never a short answer
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Reads from a regular file.
 *
 * Returns: (transfer full): its bytes
 *
 * Since: 1.0
 */
GBytes *
prism_sandbox_read_file (
    PrismSandbox *self, const char *path, gint64 offset, gint64 length, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (new_read_file (self, path, offset, length, error), self, &read_file_method,
                              PRISM_OPERATION_DEADLINE_MS, cancellable, error);
}

/**
 * prism_sandbox_read_file_async:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @offset: the first byte
 * @length: how many bytes; -1 = to the end. More than the limit `max-file-bytes` is an error, never a short answer
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.read_file], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_read_file_async (PrismSandbox *self,
                               const char *path,
                               gint64 offset,
                               gint64 length,
                               GCancellable *cancellable,
                               GAsyncReadyCallback callback,
                               gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_SANDBOX (self));
  g_return_if_fail (path != NULL);

  operation = new_read_file (self, path, offset, length, &error);
  prism_operation_start (operation, error, self, &read_file_method, PRISM_OPERATION_DEADLINE_MS, cancellable, callback,
                         user_data);
}

/**
 * prism_sandbox_read_file_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Gets its bytes.
 *
 * Returns: (transfer full): its bytes
 *
 * Since: 1.0
 */
GBytes *
prism_sandbox_read_file_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &read_file_method, error);
}

/* --- write_file ----------------------------------------------------------------- */

static const PrismMethod write_file_method = SANDBOX_METHOD (write_file, PRISM_METHOD_NONE, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_write_file (PrismSandbox *self, const char *path, GBytes *bytes, guint mode, PrismFileFlags flags, GError **error)
{
  if (!prism_sandbox_check_mode (mode, error))
    return NULL;
  return prism_sandbox_new_file_operation (
      self,
      &(PrismFileRequest){
          .path = path, .expects = PRISM_FILE_ANSWER_DONE, .bytes = bytes, .mode = mode, .flags = flags },
      error);
}

/**
 * prism_sandbox_write_file:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @bytes: the new content
 * @mode: permission bits; 0 = an existing file's, else 0644
 * @flags: %PRISM_FILE_FLAGS_PARENTS makes missing folders
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Writes a file, by a temporary file and rename: whoever reads sees the old or
 * the new content.
 *
 * Returns: whether it was written
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_write_file (PrismSandbox *self,
                          const char *path,
                          GBytes *bytes,
                          guint mode,
                          PrismFileFlags flags,
                          GCancellable *cancellable,
                          GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (path != NULL && bytes != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_run (new_write_file (self, path, bytes, mode, flags, error), self, &write_file_method,
                              PRISM_OPERATION_DEADLINE_MS, cancellable, error)
         != NULL;
}

/**
 * prism_sandbox_write_file_async:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @bytes: the new content
 * @mode: permission bits; 0 = an existing file's, else 0644
 * @flags: %PRISM_FILE_FLAGS_PARENTS makes missing folders
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.write_file], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_write_file_async (PrismSandbox *self,
                                const char *path,
                                GBytes *bytes,
                                guint mode,
                                PrismFileFlags flags,
                                GCancellable *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_SANDBOX (self));
  g_return_if_fail (path != NULL && bytes != NULL);

  operation = new_write_file (self, path, bytes, mode, flags, &error);
  prism_operation_start (operation, error, self, &write_file_method, PRISM_OPERATION_DEADLINE_MS, cancellable, callback,
                         user_data);
}

/**
 * prism_sandbox_write_file_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells whether it was written.
 *
 * Returns: whether it was written
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_write_file_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &write_file_method, error) != NULL;
}

/* --- list_files ----------------------------------------------------------------- */

static const PrismMethod list_files_method = SANDBOX_METHOD (list_files, PRISM_METHOD_NONE, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_list_files (PrismSandbox *self, const char *path, PrismFileFlags flags, GError **error)
{
  return prism_sandbox_new_file_operation (
      self, &(PrismFileRequest){ .path = path, .expects = PRISM_FILE_ANSWER_ENTRIES, .flags = flags }, error);
}

/**
 * prism_sandbox_list_files:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @flags: %PRISM_FILE_FLAGS_RECURSIVE: the whole tree, never through a link; %PRISM_FILE_FLAGS_HIDDEN: names that start
 * with a dot as well
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Lists a folder, sorted by path.
 *
 * Returns: (transfer full): a list of [class@FileEntry]
 *
 * Since: 1.0
 */
GListModel *
prism_sandbox_list_files (
    PrismSandbox *self, const char *path, PrismFileFlags flags, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (new_list_files (self, path, flags, error), self, &list_files_method,
                              PRISM_OPERATION_DEADLINE_MS, cancellable, error);
}

/**
 * prism_sandbox_list_files_async:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @flags: %PRISM_FILE_FLAGS_RECURSIVE: the whole tree, never through a link; %PRISM_FILE_FLAGS_HIDDEN: names that start
 * with a dot as well
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.list_files], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_list_files_async (PrismSandbox *self,
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

  operation = new_list_files (self, path, flags, &error);
  prism_operation_start (operation, error, self, &list_files_method, PRISM_OPERATION_DEADLINE_MS, cancellable, callback,
                         user_data);
}

/**
 * prism_sandbox_list_files_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Gets a list of [class@FileEntry].
 *
 * Returns: (transfer full): a list of [class@FileEntry]
 *
 * Since: 1.0
 */
GListModel *
prism_sandbox_list_files_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &list_files_method, error);
}

/* --- stat_file ------------------------------------------------------------------ */

static const PrismMethod stat_file_method = SANDBOX_METHOD (stat_file, PRISM_METHOD_NONE, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_stat_file (PrismSandbox *self, const char *path, GError **error)
{
  return prism_sandbox_new_file_operation (
      self, &(PrismFileRequest){ .path = path, .expects = PRISM_FILE_ANSWER_ENTRY }, error);
}

/**
 * prism_sandbox_stat_file:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Looks at a file, folder or link; at a link itself, not at what it names.
 *
 * Returns: (transfer full): what it is
 *
 * Since: 1.0
 */
PrismFileEntry *
prism_sandbox_stat_file (PrismSandbox *self, const char *path, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (new_stat_file (self, path, error), self, &stat_file_method, PRISM_OPERATION_DEADLINE_MS,
                              cancellable, error);
}

/**
 * prism_sandbox_stat_file_async:
 * @self: a sandbox
 * @path: (type filename): a path inside
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.stat_file], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_stat_file_async (
    PrismSandbox *self, const char *path, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_SANDBOX (self));
  g_return_if_fail (path != NULL);

  operation = new_stat_file (self, path, &error);
  prism_operation_start (operation, error, self, &stat_file_method, PRISM_OPERATION_DEADLINE_MS, cancellable, callback,
                         user_data);
}

/**
 * prism_sandbox_stat_file_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells what it is.
 *
 * Returns: (transfer full): what it is
 *
 * Since: 1.0
 */
PrismFileEntry *
prism_sandbox_stat_file_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &stat_file_method, error);
}
