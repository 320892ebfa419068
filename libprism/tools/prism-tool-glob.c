/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-tool-table-private.h"
#include "prism-tool-walk-private.h"

#include <string.h>

#include "prism-glob-private.h"

#define MOST_ALTERNATIVES 128

static gboolean
fits_any (const char *relative, gpointer data)
{
  for (char **pattern = data; *pattern != NULL; pattern++)
    if (prism_glob_match (*pattern, relative))
      return TRUE;
  return FALSE;
}

/* As bytes, slashes only, relative by its words. */
static char **
get_patterns (PrismToolRun *run, GError **error)
{
  const char *written = prism_tool_get_string (run, "pattern");
  gint64 most = prism_tool_limit (run, PRISM_TOOL_LIMIT_GLOB_PATTERN_BYTES);
  gboolean braces = prism_tool_get_boolean (run, "braceExpansion", FALSE);
  g_autofree char *bytes = NULL;
  char **patterns;

  if ((gint64)strlen (written) > most)
    {
      prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "pattern: more than %" G_GINT64_FORMAT " bytes", most);
      return NULL;
    }
  bytes = prism_tool_unescape (written, error);
  if (bytes == NULL)
    return NULL;
  g_strdelimit (bytes, "\\", '/');
  if (bytes[0] == '/' || g_str_has_prefix (bytes, "../") || strstr (bytes, "/../") != NULL || g_str_equal (bytes, "..")
      || g_str_has_suffix (bytes, "/.."))
    {
      prism_tool_fail (
          error, PRISM_TOOL_ERROR_ESCAPE,
          "pattern: is taken below path and leads nowhere else; send one without .. and without / in front");
      return NULL;
    }
  patterns = braces ? prism_glob_expand (bytes, MOST_ALTERNATIVES) : g_strdupv ((char *[]){ bytes, NULL });
  if (patterns == NULL)
    prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "pattern: braces that do not close, or more than %d alternatives",
                     MOST_ALTERNATIVES);
  return patterns;
}

static void
answer_paths (PrismToolRun *run, PrismToolWalk *walk)
{
  g_autoptr (GString) text = g_string_new (NULL);

  json_builder_set_member_name (run->metadata, "paths");
  json_builder_begin_array (run->metadata);
  for (guint i = 0; i < walk->found->len; i++)
    {
      g_autofree char *shown = prism_tool_show (run, prism_file_entry_get_path (walk->found->pdata[i]));
      g_string_append_printf (text, "%s\n", shown);
      json_builder_add_string_value (run->metadata, shown);
    }
  json_builder_end_array (run->metadata);
  prism_tool_result_add_text (run->result, text->len > 0 ? text->str : "[no file fits]");
}

static gboolean
run_glob (PrismToolRun *run, PrismToolWalk *walk, char **patterns, GError **error)
{
  char *paths[2] = { prism_tool_dup_path (run, "path", error), NULL };
  const PrismToolAsk ask = {
    .kind = "glob", .operation = "glob", .risk = PRISM_RISK_LOW, .effect = PRISM_EFFECT_NONE, .paths = paths
  };
  gboolean may = paths[0] != NULL && prism_tool_authorize (run, &ask, error);
  g_autofree char *path = paths[0];

  walk->files_only = TRUE;
  walk->fits = fits_any;
  walk->data = patterns;
  if (!may || !prism_tool_walk (run, walk, path, error))
    return FALSE;
  answer_paths (run, walk);
  prism_tool_walk_answer (run, walk);
  return TRUE;
}

gboolean
prism_tool_run_glob (PrismToolRun *run, GError **error)
{
  g_auto (GStrv) patterns = get_patterns (run, error);
  PrismToolWalk walk = { 0 };
  gboolean done =
      patterns != NULL && prism_tool_walk_begin (run, &walk, error) && run_glob (run, &walk, patterns, error);

  prism_tool_walk_clear (&walk);
  return done;
}
