/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-tool-table-private.h"

#include <string.h>

static gboolean
delete_it (PrismToolRun *run, const char *path, GError **error)
{
  gboolean recursive = prism_tool_get_boolean (run, "recursive", FALSE);
  g_autofree char *shown = prism_tool_show (run, path);
  g_autoptr (PrismFileEntry) entry = NULL;
  gint64 most = 0, removed = 0;
  GError *fault = NULL;
  gboolean folder;

  if (!prism_tool_get_bounded (run, "maxEntries", PRISM_TOOL_LIMIT_DELETE_ENTRIES, &most, error))
    return FALSE;
  entry = prism_tree_stat (run->tree, path, run->cancellable, &fault);
  if (entry == NULL)
    {
      prism_tool_take_fault (error, fault);
      return FALSE;
    }
  folder = prism_file_entry_get_file_type (entry) == G_FILE_TYPE_DIRECTORY;
  if (!prism_tree_remove (run->tree, path, recursive, most, &removed, run->cancellable, &fault)
      && !prism_tool_settle_delete (run, path, &fault))
    {
      gboolean full = fault->code == PRISM_TREE_FAULT_EXISTS && !recursive;
      prism_tool_take_fault (error, fault);
      if (full)
        g_prefix_error (error,
                        "%s: is a folder that is not empty; send \"recursive\": true to delete all in it: ", shown);
      return FALSE;
    }
  prism_tool_settings_note (run->settings, path, NULL);
  prism_tool_changed (run, path, "delete");
  prism_tool_say (run, "deleted %s", shown);
  prism_tool_add_string (run, "path", shown);
  prism_tool_add_string (run, "kind",
                         folder                                                                ? "dir"
                         : prism_file_entry_get_file_type (entry) == G_FILE_TYPE_SYMBOLIC_LINK ? "symlink"
                                                                                               : "file");
  prism_tool_add_integer (run, "bytes", folder ? 0 : (gint64)prism_file_entry_get_size (entry));
  prism_tool_add_boolean (run, "recursive", recursive);
  /* Not known where it was the tree that showed it. */
  if (removed > 0)
    prism_tool_add_integer (run, "entriesDeleted", removed);
  return TRUE;
}

gboolean
prism_tool_run_delete (PrismToolRun *run, GError **error)
{
  char *paths[2] = { prism_tool_dup_path (run, "path", error), NULL };
  const PrismToolAsk ask = { .kind = "delete",
                             .operation = "delete",
                             .risk = PRISM_RISK_HIGH,
                             .effect = PRISM_EFFECT_LOCAL_MUTATION,
                             .paths = paths };
  gboolean done = paths[0] != NULL;

  if (done && g_str_equal (paths[0], prism_tree_get_root (run->settings->tree)))
    done = prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "the workspace itself is not deleted; send what is in it");
  done = done && prism_tool_authorize (run, &ask, error) && delete_it (run, paths[0], error);
  g_free (paths[0]);
  return done;
}

gboolean
prism_tool_is_absent (PrismToolRun *run, const char *path)
{
  g_autoptr (GError) fault = NULL;
  g_autoptr (PrismFileEntry) entry = prism_tree_stat (run->settings->tree, path, run->cancellable, &fault);

  return entry == NULL && g_error_matches (fault, PRISM_TREE_FAULT, PRISM_TREE_FAULT_NOT_FOUND);
}

/* By absence. */
gboolean
prism_tool_prove_delete (PrismToolRun *run)
{
  g_autofree char *path = prism_tool_dup_path (run, "path", NULL);

  return path != NULL && prism_tool_is_absent (run, path);
}
