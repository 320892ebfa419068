/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files by the service's own two interfaces, as long as these can say what is meant: they
 * follow links wherever these lead, change no modes, and know no names but UTF-8. For all
 * else there is the helper. */
#include <string.h>

#include "prism-e2b-helper.h"

/* What JSON has in place of bytes that are no UTF-8. */
#define REPLACED "\xef\xbf\xbd"

static gint64
most_bytes (PrismE2bSandbox *self)
{
  return prism_limits_get (prism_sandbox_spec_get_limits (self->spec), "max-file-bytes");
}

/* --- by way of the helper --------------------------------------------------------------------- */

typedef void (*Method) (PrismSandbox *sandbox, gpointer operation);

/* Blocks until it is there, which is why it is called in a thread. */
static void
pass_on (PrismE2bSandbox *self, gpointer operation, gsize method)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) helper = NULL;

  if (prism_e2b_sandbox_check_running (self, &error))
    helper = prism_e2b_helper_get (self, operation, &error);
  if (helper != NULL)
    G_STRUCT_MEMBER (Method, PRISM_SANDBOX_GET_IFACE (helper), method) (helper, operation);
  else
    prism_operation_fail (operation, error);
}

#define PASS_ON(self, operation, method) pass_on (self, operation, G_STRUCT_OFFSET (PrismSandboxInterface, method))

/* What the service could not be told at all. */
static gboolean
is_beyond_it (PrismFileOperation *operation)
{
  const char *destination = prism_file_operation_get_destination (operation);

  return (prism_file_operation_get_flags (operation) & PRISM_FILE_FLAGS_BENEATH) != 0
         || !g_utf8_validate (prism_file_operation_get_path (operation), -1, NULL)
         || (destination != NULL && !g_utf8_validate (destination, -1, NULL));
}

/* --- what is asked --------------------------------------------------------------------------- */

static void
end (PrismFileOperation *operation, const GError *error)
{
  if (error != NULL)
    prism_operation_fail (PRISM_OPERATION (operation), error);
  else
    prism_file_operation_complete (operation);
}

static gboolean
call (PrismE2bSandbox *self,
      const char *method,
      const char *what,
      GBytes *body,
      gboolean idempotent,
      JsonNode **answer,
      gpointer operation,
      GError **error)
{
  g_autofree char *path = g_strconcat ("/filesystem.Filesystem/", method, NULL);
  return prism_e2b_sandbox_call (self, path, what, body, idempotent, answer, operation, error);
}

static PrismFileEntry *
look (PrismE2bSandbox *self, const char *path, gpointer operation, GError **error)
{
  g_autoptr (GBytes) body = prism_e2b_path_new (path, 0, error);
  g_autoptr (JsonNode) answer = NULL;

  if (!call (self, "Stat", "look at the file", body, TRUE, &answer, operation, error))
    return NULL;
  return prism_e2b_entry_parse (prism_http_json_get (answer, "entry", NULL), error);
}

static gboolean
check_parent (PrismE2bSandbox *self, const char *path, gpointer operation, GError **error)
{
  g_autofree char *parent = g_path_get_dirname (path);
  g_autoptr (PrismFileEntry) entry = look (self, parent, operation, error);

  return entry != NULL;
}

static gboolean
remove_one (PrismE2bSandbox *self, const char *path, gpointer operation, GError **error)
{
  g_autoptr (GBytes) body = prism_e2b_path_new (path, 0, error);
  return call (self, "Remove", "remove the file", body, TRUE, NULL, operation, error);
}

static gboolean
move (PrismE2bSandbox *self, const char *source, const char *destination, gpointer operation, GError **error)
{
  g_autoptr (GBytes) body = prism_e2b_move_new (source, destination, error);
  return call (self, "Move", "rename the file", body, FALSE, NULL, operation, error);
}

/* --- bytes -------------------------------------------------------------------------------------- */

static gboolean
transfer (PrismE2bSandbox *self,
          const char *method,
          const char *path,
          GBytes *body,
          const char *range,
          gsize most,
          PrismE2bReply *reply,
          PrismOperation *operation,
          GError **error)
{
  g_autofree char *target = prism_e2b_files_path (path, self->user);
  gboolean read = body == NULL;
  PrismE2bRequest request = {
    .plane = PRISM_E2B_PLANE_DATA,
    .identity = IDENTITY (self),
    .method = method,
    .path = target,
    .what = read ? "read the file" : "write the file",
    .type = read ? NULL : "application/octet-stream",
    .range = range,
    .body = body,
    .idempotent = TRUE, /* the write goes to a name of its own */
    .most_bytes = most,
    .deadline = prism_operation_get_deadline (operation),
  };

  if (prism_e2b_client_call (self->client, &request, reply, prism_operation_get_cancellable (operation), error))
    return TRUE;
  prism_e2b_sandbox_refine (self, error);
  return FALSE;
}

static void
read_file (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = sandbox;
  PrismFileOperation *file = PRISM_FILE_OPERATION (operation);
  const char *path = prism_file_operation_get_path (file);
  gint64 offset = prism_file_operation_get_offset (file), length = prism_file_operation_get_length (file), size;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismFileEntry) entry = NULL;
  g_autoptr (GBytes) part = NULL;
  g_autofree char *range = NULL;
  g_auto (PrismE2bReply) reply = { 0 };
  gboolean beyond = is_beyond_it (file);

  if (!beyond && prism_e2b_sandbox_check_running (self, &error))
    entry = look (self, path, operation, &error);
  /* What a link leads to is not known here. */
  if (beyond || (entry != NULL && prism_file_entry_get_file_type (entry) == G_FILE_TYPE_SYMBOLIC_LINK))
    {
      PASS_ON (self, operation, read_file);
      return;
    }
  if (entry == NULL)
    {
      end (file, error);
      return;
    }
  if (prism_file_entry_get_file_type (entry) == G_FILE_TYPE_SPECIAL)
    {
      /* The service would wait for who writes into a pipe. */
      g_set_error_literal (&error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED, "it is no regular file");
      end (file, error);
      return;
    }
  size = (gint64)MIN (prism_file_entry_get_size (entry), (guint64)G_MAXINT64);
  if (length < 0)
    length = MAX (size - offset, 0);
  if (length > most_bytes (self))
    g_set_error_literal (&error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT,
                         "the file has more bytes than the limit max-file-bytes allows");
  else if (length != 0 && offset > 0)
    range = g_strdup_printf ("bytes=%" G_GINT64_FORMAT "-%" G_GINT64_FORMAT, offset, offset + length - 1);
  else if (length > 0 && length < size)
    range = g_strdup_printf ("bytes=0-%" G_GINT64_FORMAT, length - 1);
  if (error == NULL && (length == 0 || offset >= size))
    part = g_bytes_new_static ("", 0);
  else if (error == NULL
           && transfer (self, "GET", path, NULL, range, (gsize)most_bytes (self), &reply, operation, &error))
    {
      gsize got = g_bytes_get_size (reply.body);
      /* A server that does not know ranges sends all of it. */
      gsize skip = range != NULL && reply.status == 200 ? MIN ((gsize)offset, got) : 0;
      gsize keep = MIN ((gsize)length, got - skip);

      part = g_bytes_new_from_bytes (reply.body, skip, keep);
    }
  if (part != NULL)
    prism_file_operation_complete_bytes (file, part);
  else
    end (file, error);
}

/* To a name of its own first: the service writes into the file that is there. */
static void
write_file (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = sandbox;
  PrismFileOperation *file = PRISM_FILE_OPERATION (operation);
  const char *path = prism_file_operation_get_path (file);
  guint mode = prism_file_operation_get_mode (file);
  gboolean parents = (prism_file_operation_get_flags (file) & PRISM_FILE_FLAGS_PARENTS) != 0;
  g_autofree char *unique = g_uuid_string_random (), *folder = g_path_get_dirname (path);
  g_autofree char *name = g_strconcat (".prism-", unique, NULL), *part = g_build_filename (folder, name, NULL);
  g_autoptr (PrismFileEntry) before = NULL;
  g_auto (PrismE2bReply) reply = { 0 };
  g_autoptr (GError) error = NULL;
  gboolean fine = FALSE;

  if (is_beyond_it (file) || (mode != 0 && mode != 0644))
    {
      PASS_ON (self, operation, write_file);
      return;
    }
  if (prism_e2b_sandbox_check_running (self, &error) && (parents || check_parent (self, path, operation, &error)))
    {
      fine = TRUE;
      before = look (self, path, operation, NULL);
    }
  if (before != NULL
      && (prism_file_entry_get_file_type (before) != G_FILE_TYPE_REGULAR
          || (mode == 0 && prism_file_entry_get_mode (before) != 0644)))
    {
      PASS_ON (self, operation, write_file);
      return;
    }
  if (fine
      && transfer (self, "POST", part, prism_file_operation_get_bytes (file), NULL, 64 * 1024, &reply, operation,
                   &error)
      && !move (self, part, path, operation, &error))
    remove_one (self, part, operation, NULL);
  end (file, error);
}

/* --- names ------------------------------------------------------------------------------------------ */

static void
stat_file (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = sandbox;
  PrismFileOperation *file = PRISM_FILE_OPERATION (operation);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismFileEntry) entry = NULL;

  if (is_beyond_it (file))
    {
      PASS_ON (self, operation, stat_file);
      return;
    }
  if (prism_e2b_sandbox_check_running (self, &error))
    entry = look (self, prism_file_operation_get_path (file), operation, &error);
  if (entry != NULL)
    prism_file_operation_complete_entry (file, entry);
  else
    end (file, error);
}

static int
compare_entries (gconstpointer a, gconstpointer b, gpointer data)
{
  return strcmp (prism_file_entry_get_path ((gpointer)a), prism_file_entry_get_path ((gpointer)b));
}

static gboolean
is_hidden (const char *path, const char *root)
{
  const char *rest = g_str_has_prefix (path, root) ? path + strlen (root) : path;
  return strstr (rest, "/.") != NULL || *rest == '.';
}

static void
list_files (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = sandbox;
  PrismFileOperation *file = PRISM_FILE_OPERATION (operation);
  const char *path = prism_file_operation_get_path (file);
  PrismFileFlags flags = prism_file_operation_get_flags (file);
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) body = NULL;
  g_autoptr (JsonNode) answer = NULL;
  g_autoptr (GListStore) entries = g_list_store_new (PRISM_TYPE_FILE_ENTRY);
  JsonArray *array = NULL;

  if (is_beyond_it (file) || (flags & PRISM_FILE_FLAGS_RECURSIVE) != 0)
    {
      PASS_ON (self, operation, list_files);
      return;
    }
  if (prism_e2b_sandbox_check_running (self, &error))
    body = prism_e2b_path_new (path, 1, &error);
  if (body != NULL && call (self, "ListDir", "list the folder", body, TRUE, &answer, operation, &error))
    array = prism_http_json_array (prism_http_json_get (answer, "entries", NULL));
  for (guint i = 0; array != NULL && error == NULL && i < json_array_get_length (array); i++)
    {
      g_autoptr (PrismFileEntry) entry = prism_e2b_entry_parse (json_array_get_element (array, i), &error);

      if (entry != NULL && strstr (prism_file_entry_get_path (entry), REPLACED) != NULL)
        {
          PASS_ON (self, operation, list_files);
          return;
        }
      if (entry != NULL
          && ((flags & PRISM_FILE_FLAGS_HIDDEN) != 0 || !is_hidden (prism_file_entry_get_path (entry), path)))
        g_list_store_append (entries, entry);
    }
  /* A name that the service's own language could not carry: it says so, or names another. */
  if (error != NULL
      && (strstr (error->message, "invalid UTF-8") != NULL
          || (g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND)
              && strstr (error->message, REPLACED) != NULL)))
    {
      PASS_ON (self, operation, list_files);
      return;
    }
  if (error != NULL)
    {
      end (file, error);
      return;
    }
  g_list_store_sort (entries, compare_entries, NULL);
  prism_file_operation_complete_entries (file, G_LIST_MODEL (entries));
}

/* The service takes a tree with what is in it, and says nothing of what is not there. */
static void
remove_file (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = sandbox;
  PrismFileOperation *file = PRISM_FILE_OPERATION (operation);
  const char *path = prism_file_operation_get_path (file);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismFileEntry) entry = NULL;

  if (is_beyond_it (file))
    {
      PASS_ON (self, operation, remove_file);
      return;
    }
  if (prism_e2b_sandbox_check_running (self, &error))
    entry = look (self, path, operation, &error);
  if (entry != NULL && prism_file_entry_get_file_type (entry) == G_FILE_TYPE_DIRECTORY
      && (prism_file_operation_get_flags (file) & PRISM_FILE_FLAGS_RECURSIVE) == 0)
    {
      g_autoptr (GBytes) body = prism_e2b_path_new (path, 1, &error);
      g_autoptr (JsonNode) answer = NULL;
      JsonArray *inside;

      if (call (self, "ListDir", "list the folder", body, TRUE, &answer, operation, &error)
          && (inside = prism_http_json_array (prism_http_json_get (answer, "entries", NULL))) != NULL
          && json_array_get_length (inside) > 0)
        g_set_error_literal (&error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE, "the folder is not empty");
    }
  if (error == NULL)
    remove_one (self, path, operation, &error);
  end (file, error);
}

static void
rename_file (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = sandbox;
  PrismFileOperation *file = PRISM_FILE_OPERATION (operation);
  const char *path = prism_file_operation_get_path (file), *destination = prism_file_operation_get_destination (file);
  g_autoptr (GError) error = NULL;

  if (is_beyond_it (file))
    {
      PASS_ON (self, operation, rename_file);
      return;
    }
  if (prism_e2b_sandbox_check_running (self, &error) && check_parent (self, destination, operation, &error))
    {
      g_autoptr (PrismFileEntry) there = (prism_file_operation_get_flags (file) & PRISM_FILE_FLAGS_OVERWRITE) == 0
                                             ? look (self, destination, operation, NULL)
                                             : NULL;
      if (there != NULL)
        g_set_error_literal (&error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE, "the destination exists already");
      else
        move (self, path, destination, operation, &error);
    }
  end (file, error);
}

static void
make_directory (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = sandbox;
  PrismFileOperation *file = PRISM_FILE_OPERATION (operation);
  const char *path = prism_file_operation_get_path (file);
  guint mode = prism_file_operation_get_mode (file);
  gboolean parents = (prism_file_operation_get_flags (file) & PRISM_FILE_FLAGS_PARENTS) != 0;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) body = NULL;

  if (is_beyond_it (file) || (mode != 0 && mode != 0755))
    {
      PASS_ON (self, operation, make_directory);
      return;
    }
  if (prism_e2b_sandbox_check_running (self, &error) && (parents || check_parent (self, path, operation, &error)))
    {
      body = prism_e2b_path_new (path, 0, &error);
      if (!call (self, "MakeDir", "make the folder", body, FALSE, NULL, operation, &error) && parents
          && g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE))
        g_clear_error (&error);
    }
  end (file, error);
}

/* --- what the service has nothing of ----------------------------------------------------------- */

static void
search (gpointer sandbox, PrismOperation *operation)
{
  PASS_ON (sandbox, operation, search);
}

static void
import_tree (gpointer sandbox, PrismOperation *operation)
{
  PASS_ON (sandbox, operation, import_tree);
}

static void
export_tree (gpointer sandbox, PrismOperation *operation)
{
  PASS_ON (sandbox, operation, export_tree);
}

#define IN_A_THREAD(Kind, work)                                                                                        \
  static void hand_##work (PrismSandbox *sandbox, Kind *operation)                                                     \
  {                                                                                                                    \
    prism_operation_run_in_thread (PRISM_OPERATION (operation), work);                                                 \
  }

IN_A_THREAD (PrismFileOperation, read_file)
IN_A_THREAD (PrismFileOperation, write_file)
IN_A_THREAD (PrismFileOperation, stat_file)
IN_A_THREAD (PrismFileOperation, list_files)
IN_A_THREAD (PrismFileOperation, remove_file)
IN_A_THREAD (PrismFileOperation, rename_file)
IN_A_THREAD (PrismFileOperation, make_directory)
IN_A_THREAD (PrismFileOperation, search)
IN_A_THREAD (PrismTreeOperation, import_tree)
IN_A_THREAD (PrismTreeOperation, export_tree)

void
prism_e2b_files_init (PrismSandboxInterface *iface)
{
  iface->read_file = hand_read_file;
  iface->write_file = hand_write_file;
  iface->stat_file = hand_stat_file;
  iface->list_files = hand_list_files;
  iface->remove_file = hand_remove_file;
  iface->rename_file = hand_rename_file;
  iface->make_directory = hand_make_directory;
  iface->search = hand_search;
  iface->import_tree = hand_import_tree;
  iface->export_tree = hand_export_tree;
}
