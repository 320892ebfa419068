/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-tool-table-private.h"
#include "prism-tool-walk-private.h"

static const char *
kind_of (PrismFileEntry *entry)
{
  switch (prism_file_entry_get_file_type (entry))
    {
    case G_FILE_TYPE_REGULAR:
      return "file";
    case G_FILE_TYPE_DIRECTORY:
      return "dir";
    case G_FILE_TYPE_SYMBOLIC_LINK:
      return "symlink";
    default:
      return "other";
    }
}

static void
answer_entries (PrismToolRun *run, PrismToolWalk *walk)
{
  g_autoptr (GString) text = g_string_new (NULL);

  json_builder_set_member_name (run->metadata, "entries");
  json_builder_begin_array (run->metadata);
  for (guint i = 0; i < walk->found->len; i++)
    {
      PrismFileEntry *entry = walk->found->pdata[i];
      g_autofree char *shown = prism_tool_show (run, prism_file_entry_get_path (entry));
      gboolean file = prism_file_entry_get_file_type (entry) == G_FILE_TYPE_REGULAR;

      g_string_append_printf (text, "%s\t%s", kind_of (entry), shown);
      if (file)
        g_string_append_printf (text, "\t%" G_GUINT64_FORMAT, prism_file_entry_get_size (entry));
      g_string_append_c (text, '\n');
      json_builder_begin_object (run->metadata);
      prism_tool_add_string (run, "kind", kind_of (entry));
      prism_tool_add_string (run, "path", shown);
      if (file)
        prism_tool_add_integer (run, "size", (gint64)prism_file_entry_get_size (entry));
      json_builder_end_object (run->metadata);
    }
  json_builder_end_array (run->metadata);
  prism_tool_result_add_text (run->result, text->str);
}

static gboolean
list (PrismToolRun *run, PrismToolWalk *walk, GError **error)
{
  char *paths[2] = { prism_tool_dup_path (run, "path", error), NULL };
  const PrismToolAsk ask = {
    .kind = "repo_list", .operation = "list", .risk = PRISM_RISK_LOW, .effect = PRISM_EFFECT_NONE, .paths = paths
  };
  gboolean may = paths[0] != NULL && prism_tool_authorize (run, &ask, error);
  g_autofree char *path = paths[0];

  if (!may || !prism_tool_walk (run, walk, path, error))
    return FALSE;
  answer_entries (run, walk);
  prism_tool_walk_answer (run, walk);
  return TRUE;
}

gboolean
prism_tool_run_list (PrismToolRun *run, GError **error)
{
  PrismToolWalk walk;
  gboolean done = prism_tool_walk_begin (run, &walk, error) && list (run, &walk, error);

  prism_tool_walk_clear (&walk);
  return done;
}

gboolean
prism_tool_run_ls (PrismToolRun *run, GError **error)
{
  PrismToolWalk walk;
  gboolean recursive = prism_tool_get_boolean (run, "recursive", FALSE), done = FALSE;

  if (prism_tool_walk_begin (run, &walk, error))
    {
      walk.hidden = prism_tool_get_boolean (run, "all", FALSE);
      walk.max_depth = recursive ? prism_tool_get_integer (run, "max_depth", 3) : 1;
      done = list (run, &walk, error);
      prism_tool_add_integer (run, "count", walk.found->len);
      prism_tool_add_boolean (run, "sandboxed", run->settings->sandboxed);
    }
  prism_tool_walk_clear (&walk);
  return done;
}
