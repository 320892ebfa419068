/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files inside, one at a time: each method is one request. TRUST: names, sizes and
 * contents come from inside; names are checked to be names, the rest is the
 * caller's to judge. */
#include "prism-agent-ask-private.h"
#include "prism-operations-private.h"

#include "prism-sandbox-error.h"

/* --- answers --- */

static void
answer_done (PrismAgentAsk *ask)
{
  prism_file_operation_complete (PRISM_FILE_OPERATION (ask->operation));
}

static void
answer_counted (PrismAgentAsk *ask)
{
  prism_file_operation_complete_counted (PRISM_FILE_OPERATION (ask->operation), ask->ticket->call.done_entries);
}

static void
answer_bytes (PrismAgentAsk *ask)
{
  g_autoptr (GBytes) bytes = g_byte_array_free_to_bytes (g_steal_pointer (&ask->data));
  prism_file_operation_complete_bytes (PRISM_FILE_OPERATION (ask->operation), bytes);
}

/* Relative, and no component that is not a name. */
static gboolean
is_name (const char *name)
{
  while (TRUE)
    {
      const char *end = strchrnul (name, '/');
      gsize length = (gsize)(end - name);
      if (length == 0 || length > 255 || (length == 1 && name[0] == '.')
          || (length == 2 && name[0] == '.' && name[1] == '.'))
        return FALSE;
      if (*end == '\0')
        return TRUE;
      name = end + 1;
    }
}

static GFileType
file_type (guint8 wire)
{
  switch (wire)
    {
    case PRISM_WIRE_FILE:
      return G_FILE_TYPE_REGULAR;
    case PRISM_WIRE_FOLDER:
      return G_FILE_TYPE_DIRECTORY;
    case PRISM_WIRE_LINK:
      return G_FILE_TYPE_SYMBOLIC_LINK;
    default:
      return G_FILE_TYPE_SPECIAL;
    }
}

/* NULL: it is none. @folder is what was listed; with @itself, what was asked for. */
static PrismFileEntry *
read_entry (struct prism_wire_reader *r, const char *folder, gboolean itself)
{
  guint8 told = prism_wire_u8 (r), type = told & ~PRISM_WIRE_UNREADABLE;
  guint32 mode = prism_wire_u32 (r);
  guint64 size = prism_wire_u64 (r);
  gint64 mtime = (gint64)prism_wire_u64 (r);
  const char *name = prism_wire_str (r, PRISM_WIRE_MAX_PATH);
  const char *target = prism_wire_str (r, PRISM_WIRE_MAX_PATH);
  if (name == NULL || target == NULL || type < PRISM_WIRE_FILE || type > PRISM_WIRE_OTHER || (mode & ~07777u) != 0)
    return NULL;
  if (itself ? name[0] != '\0' : !is_name (name))
    return NULL;
  if (told != type && (itself || type != PRISM_WIRE_FOLDER))
    return NULL;
  g_autofree char *path =
      itself ? g_strdup (folder) : g_strconcat (folder, g_str_has_suffix (folder, "/") ? "" : "/", name, NULL);
  PrismFileEntry *entry = prism_file_entry_new (path, file_type (type), size, mode, mtime);
  if (told != type)
    prism_file_entry_set_unreadable (entry, TRUE);
  return entry;
}

static gint
compare_entries (gconstpointer a, gconstpointer b)
{
  PrismFileEntry *first = *(PrismFileEntry *const *)a, *second = *(PrismFileEntry *const *)b;
  return strcmp (prism_file_entry_get_path (first), prism_file_entry_get_path (second));
}

static void
answer_liar (PrismAgentAsk *ask, const char *what)
{
  g_autoptr (GError) error = NULL;
  prism_agent_channel_accuse (ask->channel, what);
  prism_agent_channel_get_end (ask->channel, &error);
  prism_operation_fail (ask->operation, error);
}

static void
answer_entries (PrismAgentAsk *ask)
{
  struct prism_wire_reader r = prism_wire_read_from (ask->data->data, ask->data->len);
  g_autoptr (GPtrArray) entries = g_ptr_array_new_with_free_func (g_object_unref);
  while (!prism_wire_done (&r))
    {
      PrismFileEntry *entry = read_entry (&r, ask->path, FALSE);
      if (entry == NULL)
        {
          answer_liar (ask, "an entry of a folder that is none");
          return;
        }
      g_ptr_array_add (entries, entry);
    }
  g_ptr_array_sort (entries, compare_entries);
  g_autoptr (GListStore) list = g_list_store_new (PRISM_TYPE_FILE_ENTRY);
  g_list_store_splice (list, 0, 0, entries->pdata, entries->len);
  prism_file_operation_complete_entries (PRISM_FILE_OPERATION (ask->operation), G_LIST_MODEL (list));
}

static void
answer_entry (PrismAgentAsk *ask)
{
  struct prism_wire_reader r = prism_wire_read_from (ask->data->data, ask->data->len);
  g_autoptr (PrismFileEntry) entry = read_entry (&r, ask->path, TRUE);
  if (entry != NULL && prism_wire_done (&r))
    prism_file_operation_complete_entry (PRISM_FILE_OPERATION (ask->operation), entry);
  else
    answer_liar (ask, "a file's facts that are none");
}

/* --- requests --- */

static PrismAgentAsk *
ask_new (PrismSandbox *sandbox,
         PrismFileOperation *operation,
         enum prism_wire_type type,
         const char *what,
         void (*answer) (PrismAgentAsk *ask))
{
  g_autoptr (GError) error = NULL;
  if (!prism_agent_sandbox_check_running (PRISM_AGENT_SANDBOX (sandbox), &error))
    {
      prism_operation_fail (PRISM_OPERATION (operation), error);
      return NULL;
    }
  const char *path = prism_file_operation_get_path (operation);
  PrismAgentAsk *ask =
      prism_agent_ask_new (PRISM_AGENT_SANDBOX (sandbox), PRISM_OPERATION (operation), type, what, path, answer);
  prism_agent_frame_put_str (&ask->frame, path);
  return ask;
}

static gboolean
refuse_large (PrismSandbox *sandbox, PrismFileOperation *operation, guint64 size)
{
  guint64 most = (guint64)prism_agent_sandbox_get_limits (PRISM_AGENT_SANDBOX (sandbox))->max_file_bytes;
  if (size <= most)
    return FALSE;
  g_autofree char *message =
      g_strdup_printf ("%" G_GUINT64_FORMAT " bytes are more than max-file-bytes (%" G_GUINT64_FORMAT ")", size, most);
  prism_operation_fail_literal (PRISM_OPERATION (operation), PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT, message);
  return TRUE;
}

static void
agent_read_file (PrismSandbox *sandbox, PrismFileOperation *operation)
{
  gint64 length = prism_file_operation_get_length (operation);
  if (length >= 0 && refuse_large (sandbox, operation, (guint64)length))
    return;
  PrismAgentAsk *ask = ask_new (sandbox, operation, PRISM_WIRE_READ, "file", answer_bytes);
  if (ask == NULL)
    return;
  prism_agent_frame_put (&ask->frame, (guint64)prism_file_operation_get_offset (operation), 8);
  prism_agent_frame_put (&ask->frame, length < 0 ? G_MAXUINT64 : (guint64)length, 8);
  prism_agent_frame_put (&ask->frame, prism_file_operation_get_flags (operation), 4);
  if (length >= 0)
    ask->most = (gsize)length;
  prism_agent_ask_run (ask);
}

static void
agent_write_file (PrismSandbox *sandbox, PrismFileOperation *operation)
{
  GBytes *bytes = prism_file_operation_get_bytes (operation);
  if (refuse_large (sandbox, operation, g_bytes_get_size (bytes)))
    return;
  PrismAgentAsk *ask = ask_new (sandbox, operation, PRISM_WIRE_WRITE, "file", answer_done);
  if (ask == NULL)
    return;
  prism_agent_frame_put (&ask->frame, prism_file_operation_get_mode (operation), 4);
  prism_agent_frame_put (&ask->frame, prism_file_operation_get_flags (operation), 4);
  ask->send = g_bytes_ref (bytes);
  prism_agent_ask_run (ask);
}

static guint32
most_entries (PrismSandbox *sandbox)
{
  gint64 most = prism_agent_sandbox_get_limits (PRISM_AGENT_SANDBOX (sandbox))->max_export_entries;
  return (guint32)MIN (most, G_MAXUINT32);
}

static void
agent_list_files (PrismSandbox *sandbox, PrismFileOperation *operation)
{
  PrismAgentAsk *ask = ask_new (sandbox, operation, PRISM_WIRE_LIST, "folder", answer_entries);
  if (ask == NULL)
    return;
  prism_agent_frame_put (&ask->frame, prism_file_operation_get_flags (operation), 4);
  prism_agent_frame_put (&ask->frame, most_entries (sandbox), 4);
  prism_agent_ask_run (ask);
}

static void
agent_stat_file (PrismSandbox *sandbox, PrismFileOperation *operation)
{
  PrismAgentAsk *ask = ask_new (sandbox, operation, PRISM_WIRE_STAT, "file", answer_entry);
  if (ask == NULL)
    return;
  prism_agent_frame_put (&ask->frame, prism_file_operation_get_flags (operation), 4);
  prism_agent_ask_run (ask);
}

static void
agent_remove_file (PrismSandbox *sandbox, PrismFileOperation *operation)
{
  PrismAgentAsk *ask = ask_new (sandbox, operation, PRISM_WIRE_REMOVE, "file", answer_counted);
  if (ask == NULL)
    return;
  prism_agent_frame_put (&ask->frame, prism_file_operation_get_flags (operation), 4);
  gint64 most = prism_file_operation_get_length (operation);
  prism_agent_frame_put (&ask->frame, most > 0 ? (guint64)MIN (most, G_MAXUINT32) : G_MAXUINT32, 4);
  prism_agent_ask_run (ask);
}

static void
agent_rename_file (PrismSandbox *sandbox, PrismFileOperation *operation)
{
  PrismAgentAsk *ask = ask_new (sandbox, operation, PRISM_WIRE_RENAME, "file", answer_done);
  if (ask == NULL)
    return;
  prism_agent_frame_put_str (&ask->frame, prism_file_operation_get_destination (operation));
  prism_agent_frame_put (&ask->frame, prism_file_operation_get_flags (operation), 4);
  prism_agent_ask_run (ask);
}

static void
agent_make_directory (PrismSandbox *sandbox, PrismFileOperation *operation)
{
  PrismAgentAsk *ask = ask_new (sandbox, operation, PRISM_WIRE_MKDIR, "folder", answer_done);
  if (ask == NULL)
    return;
  prism_agent_frame_put (&ask->frame, prism_file_operation_get_mode (operation), 4);
  prism_agent_frame_put (&ask->frame, prism_file_operation_get_flags (operation), 4);
  prism_agent_ask_run (ask);
}

static void
agent_search (PrismSandbox *sandbox, PrismFileOperation *operation)
{
  PrismAgentAsk *ask = ask_new (sandbox, operation, PRISM_WIRE_SEARCH, "search", answer_bytes);
  if (ask == NULL)
    return;
  prism_agent_frame_put_str (&ask->frame, prism_file_operation_get_query (operation));
  prism_agent_frame_put (&ask->frame, prism_file_operation_get_flags (operation), 4);
  prism_agent_frame_put (&ask->frame, (guint64)prism_file_operation_get_length (operation), 4);
  PrismSearchBounds bounds = *prism_file_operation_get_bounds (operation);
  prism_agent_frame_put (&ask->frame, bounds.context, 4);
  prism_agent_frame_put (&ask->frame, (guint64)bounds.scan_bytes, 8);
  prism_agent_frame_put (&ask->frame, (guint64)bounds.file_bytes, 8);
  prism_agent_frame_put (&ask->frame, (guint64)bounds.line_bytes, 8);
  prism_agent_ask_run (ask);
}

void
prism_agent_files_init_interface (PrismSandboxInterface *iface)
{
  iface->read_file = agent_read_file;
  iface->write_file = agent_write_file;
  iface->list_files = agent_list_files;
  iface->stat_file = agent_stat_file;
  iface->remove_file = agent_remove_file;
  iface->rename_file = agent_rename_file;
  iface->make_directory = agent_make_directory;
  iface->search = agent_search;
}
