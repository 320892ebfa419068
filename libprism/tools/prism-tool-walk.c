/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-tool-walk-private.h"

#include <string.h>

static gboolean
is_left_out (const char *name)
{
  return g_str_equal (name, ".git") || g_str_equal (name, "node_modules") || g_str_equal (name, "dist");
}

gboolean
prism_tool_walk_begin (PrismToolRun *run, PrismToolWalk *walk, GError **error)
{
  *walk = (PrismToolWalk){ 0 };
  walk->hidden = prism_tool_get_boolean (run, "includeHidden", FALSE);
  walk->offset = prism_tool_get_integer (run, "offset", 0);
  walk->found = g_ptr_array_new_with_free_func (g_object_unref);
  return prism_tool_get_bounded (run, "maxDepth", PRISM_TOOL_LIMIT_LIST_DEPTH, &walk->max_depth, error)
         && prism_tool_get_bounded (run, "maxResults", PRISM_TOOL_LIMIT_LIST_PAGE, &walk->page, error);
}

void
prism_tool_walk_clear (PrismToolWalk *walk)
{
  g_clear_pointer (&walk->found, g_ptr_array_unref);
  g_clear_pointer (&walk->tracked, prism_tool_tracked_free);
}

/* FALSE: no more is wanted. */
static gboolean
retain (PrismToolRun *run, PrismToolWalk *walk, PrismFileEntry *entry, const char *start)
{
  const char *path = prism_file_entry_get_path (entry), *relative = path + strlen (start);
  gboolean file = prism_file_entry_get_file_type (entry) == G_FILE_TYPE_REGULAR;
  gint64 most = prism_tool_limit (run, PRISM_TOOL_LIMIT_LIST_ENTRIES);

  if (walk->entries == most || (file && walk->files == most))
    {
      walk->cut = walk->entries == most ? "entries" : "files";
      return FALSE;
    }
  walk->entries++;
  walk->files += file;
  relative += *relative == '/';
  if ((walk->files_only && !file) || (walk->fits != NULL && !walk->fits (relative, walk->data)))
    return TRUE;
  if (walk->found->len == (guint)walk->page)
    {
      walk->cut = "results";
      return FALSE;
    }
  if (walk->retained++ >= walk->offset)
    g_ptr_array_add (walk->found, g_object_ref (entry));
  return TRUE;
}

typedef struct
{
  char *path;
  gint64 depth;
} Folder;

static void
folder_free (gpointer data)
{
  Folder *folder = data;

  g_free (folder->path);
  g_free (folder);
}

/* FALSE: no more is wanted. */
static gboolean
look_into (PrismToolRun *run,
           PrismToolWalk *walk,
           const Folder *folder,
           GPtrArray *entries,
           GQueue *folders,
           const char *start)
{
  for (guint i = 0; i < entries->len; i++)
    {
      PrismFileEntry *entry = entries->pdata[i];
      const char *path = prism_file_entry_get_path (entry);

      if (is_left_out (strrchr (path, '/') + 1)
          || (walk->tracked != NULL && !prism_tool_tracked_has (walk->tracked, path)))
        continue;
      if (!retain (run, walk, entry, start))
        return FALSE;
      if (prism_file_entry_get_file_type (entry) != G_FILE_TYPE_DIRECTORY)
        continue;
      if (folder->depth >= walk->max_depth)
        walk->too_deep = TRUE;
      else
        {
          Folder *below = g_new (Folder, 1);
          *below = (Folder){ g_strdup (path), folder->depth + 1 };
          g_queue_push_tail (folders, below);
        }
    }
  return TRUE;
}

/* What goes or is closed while it is looked at is counted; the start has to be there. */
static gboolean
walk_folders (PrismToolRun *run, PrismToolWalk *walk, const char *start, GError **error)
{
  GQueue folders = G_QUEUE_INIT;
  Folder *first = g_new (Folder, 1);
  gboolean wanted = TRUE, begun = FALSE, well = TRUE;

  *first = (Folder){ g_strdup (start), 1 };
  g_queue_push_tail (&folders, first);
  while (wanted && well && !g_queue_is_empty (&folders))
    {
      Folder *folder = g_queue_pop_head (&folders);
      GError *fault = NULL;
      g_autoptr (GPtrArray) entries = prism_tree_list (run->tree, folder->path, walk->hidden, run->cancellable, &fault);

      if (entries != NULL)
        wanted = look_into (run, walk, folder, entries, &folders, start);
      else if (!begun || fault->code == PRISM_TREE_FAULT_CANCELLED || fault->code == PRISM_TREE_FAULT_LOST
               || fault->code == PRISM_TREE_FAULT_UNKNOWN)
        {
          prism_tool_take_fault (error, g_steal_pointer (&fault));
          well = FALSE;
        }
      else
        walk->unreadable += fault->code != PRISM_TREE_FAULT_NOT_FOUND;
      g_clear_error (&fault);
      begun = TRUE;
      folder_free (folder);
    }
  g_queue_clear_full (&folders, folder_free);
  return well;
}

gboolean
prism_tool_walk (PrismToolRun *run, PrismToolWalk *walk, const char *path, GError **error)
{
  GError *fault = NULL, *wrong = NULL;
  g_autoptr (PrismFileEntry) entry = prism_tree_stat (run->tree, path, run->cancellable, &fault);

  if (entry == NULL)
    {
      prism_tool_take_fault (error, fault);
      return FALSE;
    }
  if (prism_file_entry_get_file_type (entry) == G_FILE_TYPE_REGULAR)
    {
      g_autofree char *folder = g_path_get_dirname (path);
      retain (run, walk, entry, folder);
      return TRUE;
    }
  walk->tracked = prism_tool_tracked_new (run, path, &wrong);
  if (wrong != NULL)
    {
      g_propagate_error (error, wrong);
      return FALSE;
    }
  return walk_folders (run, walk, path, error);
}

void
prism_tool_walk_answer (PrismToolRun *run, PrismToolWalk *walk)
{
  gboolean more = walk->cut != NULL;

  prism_tool_add_boolean (run, "truncated", more || walk->too_deep);
  prism_tool_add_string (run, "truncatedBy", more ? walk->cut : walk->too_deep ? "depth" : NULL);
  prism_tool_add_integer (run, "offset", walk->offset);
  if (more)
    prism_tool_add_integer (run, "nextOffset", walk->offset + walk->found->len);
  prism_tool_add_integer (run, "returned", walk->found->len);
  prism_tool_add_integer (run, "scannedEntries", walk->entries);
  prism_tool_add_integer (run, "scannedFiles", walk->files);
  prism_tool_add_integer (run, "unreadableFolders", walk->unreadable);
  if (more && g_str_equal (walk->cut, "results"))
    prism_tool_say (run, "[%u shown; go on with \"offset\": %" G_GINT64_FORMAT "]", walk->found->len,
                    walk->offset + walk->found->len);
  else if (more)
    prism_tool_say (run, "[stopped after %" G_GINT64_FORMAT " entries; send a deeper path]", walk->entries);
  else if (walk->too_deep)
    prism_tool_say (run, "[folders deeper than %" G_GINT64_FORMAT " are not shown; send a deeper path]",
                    walk->max_depth);
  if (walk->unreadable > 0)
    prism_tool_say (run, "[%" G_GINT64_FORMAT " folders could not be read]", walk->unreadable);
}
