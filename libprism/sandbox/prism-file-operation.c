/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-operations-private.h"
#include "prism-sandbox-error.h"

struct _PrismFileOperation
{
  PrismOperation parent_instance;
  char *path, *destination, *query;
  GBytes *bytes;
  gint64 offset, length;
  guint mode;
  PrismFileFlags flags;
  PrismFileAnswer expects;
  PrismSearchBounds bounds;
};

/**
 * PrismFileOperation:
 *
 * Asks a sandbox about or for its files. Which getters mean something is said
 * at each method of [iface@Sandbox]; the others answer %NULL or 0.
 *
 * Since: 1.0
 */
PRISM_DEFINE_OPERATION (PrismFileOperation, prism_file_operation)

static void
prism_file_operation_clear (PrismFileOperation *self)
{
  g_free (self->path);
  g_free (self->destination);
  g_free (self->query);
  g_clear_pointer (&self->bytes, g_bytes_unref);
}

PrismOperation *
prism_file_operation_new (const PrismFileRequest *request)
{
  PrismFileOperation *self = g_object_new (PRISM_TYPE_FILE_OPERATION, NULL);

  self->path = g_strdup (request->path);
  self->destination = g_strdup (request->destination);
  self->query = g_strdup (request->query);
  self->bytes = request->bytes != NULL ? g_bytes_ref (request->bytes) : NULL;
  self->offset = request->offset;
  self->length = request->length;
  self->mode = request->mode;
  self->flags = request->flags;
  self->expects = request->expects;
  self->bounds = request->bounds;
  return PRISM_OPERATION (self);
}

/**
 * prism_file_operation_get_path:
 * @self: an operation
 *
 * Gets a path inside.
 *
 * Returns: (transfer none) (type filename): a path inside
 *
 * Since: 1.0
 */
const char *
prism_file_operation_get_path (PrismFileOperation *self)
{
  g_return_val_if_fail (PRISM_IS_FILE_OPERATION (self), NULL);
  return self->path;
}

/**
 * prism_file_operation_get_destination:
 * @self: an operation
 *
 * Gets `rename_file`: where it goes.
 *
 * Returns: (transfer none) (nullable) (type filename): `rename_file`: where it goes
 *
 * Since: 1.0
 */
const char *
prism_file_operation_get_destination (PrismFileOperation *self)
{
  g_return_val_if_fail (PRISM_IS_FILE_OPERATION (self), NULL);
  return self->destination;
}

/**
 * prism_file_operation_get_bytes:
 * @self: an operation
 *
 * Gets `write_file`: the new content.
 *
 * Returns: (transfer none) (nullable): `write_file`: the new content
 *
 * Since: 1.0
 */
GBytes *
prism_file_operation_get_bytes (PrismFileOperation *self)
{
  g_return_val_if_fail (PRISM_IS_FILE_OPERATION (self), NULL);
  return self->bytes;
}

/**
 * prism_file_operation_get_query:
 * @self: an operation
 *
 * Gets `search`: the literal text.
 *
 * Returns: (transfer none) (nullable): `search`: the literal text
 *
 * Since: 1.0
 */
const char *
prism_file_operation_get_query (PrismFileOperation *self)
{
  g_return_val_if_fail (PRISM_IS_FILE_OPERATION (self), NULL);
  return self->query;
}

/**
 * prism_file_operation_get_offset:
 * @self: an operation
 *
 * Gets `read_file`: the first byte.
 *
 * Returns: `read_file`: the first byte
 *
 * Since: 1.0
 */
gint64
prism_file_operation_get_offset (PrismFileOperation *self)
{
  g_return_val_if_fail (PRISM_IS_FILE_OPERATION (self), 0);
  return self->offset;
}

/**
 * prism_file_operation_get_length:
 * @self: an operation
 *
 * Gets `read_file`: how many bytes, -1 = to the end; `search`: most matches;
 * `remove_file`: most entries, 0 = any number.
 *
 * Returns: `read_file`: how many bytes, -1 = to the end; `search`: most matches; `remove_file`: most
 *   entries, 0 = any number
 *
 * Since: 1.0
 */
gint64
prism_file_operation_get_length (PrismFileOperation *self)
{
  g_return_val_if_fail (PRISM_IS_FILE_OPERATION (self), 0);
  return self->length;
}

/**
 * prism_file_operation_get_mode:
 * @self: an operation
 *
 * Gets `write_file`, `make_directory`: permission bits; 0 = the usual.
 *
 * Returns: `write_file`, `make_directory`: permission bits; 0 = the usual
 *
 * Since: 1.0
 */
guint
prism_file_operation_get_mode (PrismFileOperation *self)
{
  g_return_val_if_fail (PRISM_IS_FILE_OPERATION (self), 0);
  return self->mode;
}

/**
 * prism_file_operation_get_flags:
 * @self: an operation
 *
 * Tells how.
 *
 * Returns: how
 *
 * Since: 1.0
 */
PrismFileFlags
prism_file_operation_get_flags (PrismFileOperation *self)
{
  g_return_val_if_fail (PRISM_IS_FILE_OPERATION (self), PRISM_FILE_FLAGS_NONE);
  return self->flags;
}

const PrismSearchBounds *
prism_file_operation_get_bounds (PrismFileOperation *self)
{
  return &self->bounds;
}

/* An answer of another kind fails the call: the caller expects an object of one type. */
static void
answer (PrismFileOperation *self, PrismFileAnswer kind, gpointer value, GDestroyNotify free_value)
{
  if (self->expects == kind)
    {
      prism_operation_answer (PRISM_OPERATION (self), value, free_value);
      return;
    }
  if (free_value != NULL)
    free_value (value);
  prism_operation_fail_literal (PRISM_OPERATION (self), PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED,
                                "the backend answered with another kind of thing than was asked for");
}

/**
 * prism_file_operation_complete:
 * @self: an operation that was not answered
 *
 * Answers `write_file`, `remove_file`, `rename_file`, `make_directory`.
 *
 * Since: 1.0
 */
void
prism_file_operation_complete (PrismFileOperation *self)
{
  g_return_if_fail (PRISM_IS_FILE_OPERATION (self));

  prism_file_operation_complete_counted (self, 1);
}

void
prism_file_operation_complete_counted (PrismFileOperation *self, guint64 entries)
{
  answer (self, PRISM_FILE_ANSWER_DONE, GSIZE_TO_POINTER ((gsize)CLAMP (entries, 1, G_MAXSSIZE)), NULL);
}

/**
 * prism_file_operation_complete_bytes:
 * @self: an operation that was not answered
 * @bytes: what was read or found
 *
 * Answers `read_file` and `search`.
 *
 * Since: 1.0
 */
void
prism_file_operation_complete_bytes (PrismFileOperation *self, GBytes *bytes)
{
  g_return_if_fail (PRISM_IS_FILE_OPERATION (self));
  g_return_if_fail (bytes != NULL);

  answer (self, PRISM_FILE_ANSWER_BYTES, g_bytes_ref (bytes), (GDestroyNotify)g_bytes_unref);
}

/**
 * prism_file_operation_complete_entry:
 * @self: an operation that was not answered
 * @entry: what it is
 *
 * Answers `stat_file`.
 *
 * Since: 1.0
 */
void
prism_file_operation_complete_entry (PrismFileOperation *self, PrismFileEntry *entry)
{
  g_return_if_fail (PRISM_IS_FILE_OPERATION (self));
  g_return_if_fail (PRISM_IS_FILE_ENTRY (entry));

  answer (self, PRISM_FILE_ANSWER_ENTRY, g_object_ref (entry), g_object_unref);
}

/**
 * prism_file_operation_complete_entries:
 * @self: an operation that was not answered
 * @entries: a list of [class@FileEntry], sorted by path
 *
 * Answers `list_files`.
 *
 * Since: 1.0
 */
void
prism_file_operation_complete_entries (PrismFileOperation *self, GListModel *entries)
{
  g_return_if_fail (PRISM_IS_FILE_OPERATION (self));
  g_return_if_fail (G_IS_LIST_MODEL (entries));
  g_return_if_fail (g_type_is_a (g_list_model_get_item_type (entries), PRISM_TYPE_FILE_ENTRY));

  answer (self, PRISM_FILE_ANSWER_ENTRIES, g_object_ref (entries), g_object_unref);
}
