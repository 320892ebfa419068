/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-tool-table-private.h"

#include <string.h>

/* Only a file is replaced, and only by a file. */
static gboolean
check_target (PrismToolRun *run, PrismFileEntry *from, const char *to, gboolean overwrite, GError **error)
{
  GError *fault = NULL;
  g_autoptr (PrismFileEntry) there = prism_tree_stat (run->tree, to, run->cancellable, &fault);
  g_autofree char *shown = prism_tool_show (run, to);

  if (there == NULL && fault->code == PRISM_TREE_FAULT_NOT_FOUND)
    {
      g_error_free (fault);
      return TRUE;
    }
  if (there == NULL)
    {
      prism_tool_take_fault (error, fault);
      return FALSE;
    }
  if (!overwrite)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_CONFLICT,
                            "%s is there already; send another name, or \"overwrite\": true to replace a file", shown);
  if (prism_file_entry_get_file_type (there) != G_FILE_TYPE_REGULAR
      || prism_file_entry_get_file_type (from) == G_FILE_TYPE_DIRECTORY)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_TYPE, "%s is there: only a file is replaced, and by no folder",
                            shown);
  return TRUE;
}

static gboolean
move_it (PrismToolRun *run, const char *from, const char *to, GError **error)
{
  gboolean overwrite = prism_tool_get_boolean (run, "overwrite", FALSE);
  GError *fault = NULL;
  g_autoptr (PrismFileEntry) entry = prism_tree_stat (run->tree, from, run->cancellable, &fault);
  g_autofree char *shown_from = prism_tool_show (run, from);
  g_autofree char *shown_to = prism_tool_show (run, to);

  if (entry == NULL)
    {
      prism_tool_take_fault (error, fault);
      return FALSE;
    }
  if (!check_target (run, entry, to, overwrite, error))
    return FALSE;
  if (!prism_tree_rename (run->tree, from, to, overwrite, run->cancellable, &fault)
      && !prism_tool_settle_move (run, from, to, &fault))
    {
      gboolean missing = fault->code == PRISM_TREE_FAULT_NOT_FOUND;
      prism_tool_take_fault (error, fault);
      if (missing)
        g_prefix_error (error, "the folder that %s is to be in has to be there: ", shown_to);
      return FALSE;
    }
  prism_tool_settings_note (run->settings, from, NULL);
  prism_tool_settings_note (run->settings, to, NULL);
  prism_tool_changed (run, to, "move");
  prism_tool_say (run, "moved %s to %s", shown_from, shown_to);
  prism_tool_add_string (run, "from", shown_from);
  prism_tool_add_string (run, "to", shown_to);
  prism_tool_add_integer (
      run, "bytes",
      prism_file_entry_get_file_type (entry) == G_FILE_TYPE_REGULAR ? (gint64)prism_file_entry_get_size (entry) : 0);
  prism_tool_add_boolean (run, "overwrite", overwrite);
  return TRUE;
}

gboolean
prism_tool_run_move (PrismToolRun *run, GError **error)
{
  const char *root = prism_tree_get_root (run->settings->tree);
  char *from = prism_tool_dup_path (run, "from", error);
  char *to = from != NULL ? prism_tool_resolve (run, prism_tool_get_string (run, "to"), error) : NULL;
  char *paths[3] = { from, to, NULL };
  const PrismToolAsk ask = {
    .kind = "move", .operation = "move", .risk = PRISM_RISK_HIGH, .effect = PRISM_EFFECT_LOCAL_MUTATION, .paths = paths
  };
  gboolean done = to != NULL;

  if (done && (g_str_equal (from, root) || g_str_equal (to, root)))
    done = prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "the workspace itself is not moved, nor replaced");
  if (done && g_str_equal (from, to))
    done = prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "from and to are the same path");
  done = done && prism_tool_authorize (run, &ask, error) && move_it (run, paths[0], paths[1], error);
  g_free (paths[0]);
  g_free (paths[1]);
  return done;
}

/* By where it is, and is no more. */
gboolean
prism_tool_prove_move (PrismToolRun *run)
{
  g_autofree char *from = prism_tool_dup_path (run, "from", NULL);
  g_autofree char *to = from != NULL ? prism_tool_resolve (run, prism_tool_get_string (run, "to"), NULL) : NULL;
  g_autoptr (PrismFileEntry) there = NULL;

  if (to != NULL && prism_tool_is_absent (run, from))
    there = prism_tree_stat (run->settings->tree, to, run->cancellable, NULL);
  return there != NULL;
}
