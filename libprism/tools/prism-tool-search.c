/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* repo_search: a literal. The pattern is data, whatever it begins with: nothing is run that
 * could take it for an option. TRUST: what was found is as it came from the tree; paths and
 * numbers are read strictly, text is made valid. */
#include "prism-tool-table-private.h"

#include <string.h>

#define CLIP 500

typedef struct
{
  const char *path; /* relative to what was asked */
  guint64 line, column;
  const char *text;
  gsize size;
} Found;

/* The next record; FALSE at the end, and where it is none. */
static gboolean
next_found (const char **at, const char *end, Found *found)
{
  const char *fields[3], *p = *at;
  char *stop;

  for (guint i = 0; i < 3; i++)
    {
      const char *nul = p < end ? memchr (p, 0, (gsize)(end - p)) : NULL;
      if (nul == NULL)
        return FALSE;
      fields[i] = p;
      p = nul + 1;
    }
  found->path = fields[0];
  found->line = g_ascii_strtoull (fields[1], &stop, 10);
  found->column = g_ascii_strtoull (fields[2], NULL, 10);
  found->text = p;
  p = p < end ? memchr (p, '\n', (gsize)(end - p)) : NULL;
  if (p == NULL || *stop != '\0')
    return FALSE;
  found->size = (gsize)(p - found->text);
  *at = p + 1;
  return TRUE;
}

typedef struct
{
  GString *text;
  gint64 matches, most, files, unread;
  gboolean more;
  GString *last; /* path */
  char *prefix;  /* of shown paths */
  guint64 line;  /* of the last match there */
  guint context;
} Answer;

static void
add_line (Answer *answer, const Found *found, const char *shown, gboolean fresh)
{
  /* Before a match, or after one. */
  char mark = !fresh && found->line - answer->line <= answer->context ? '+' : '-';
  gsize size = MIN (found->size, CLIP + 3);
  g_autofree char *valid = g_utf8_make_valid (found->text, (gssize)size);
  glong length = g_utf8_strlen (valid, -1);

  if (length > CLIP)
    *g_utf8_offset_to_pointer (valid, CLIP) = '\0';
  if (found->column > 0)
    g_string_append_printf (answer->text, "%s:%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT ":%s", shown, found->line,
                            found->column, valid);
  else
    g_string_append_printf (answer->text, "%s%c%" G_GUINT64_FORMAT ":%s", shown, mark, found->line, valid);
  g_string_append (answer->text, length > CLIP || found->size > size ? "…\n" : "\n");
}

static void
add_match_metadata (PrismToolRun *run, const Found *found, const char *shown)
{
  g_autofree char *valid = g_utf8_make_valid (found->text, (gssize)MIN (found->size, CLIP));

  json_builder_begin_object (run->metadata);
  prism_tool_add_string (run, "path", shown);
  prism_tool_add_integer (run, "line", (gint64)found->line);
  prism_tool_add_integer (run, "column", (gint64)found->column);
  prism_tool_add_string (run, "text", valid);
  json_builder_end_object (run->metadata);
}

static void
take_found (PrismToolRun *run, Answer *answer, const Found *found, gboolean content)
{
  g_autofree char *whole = g_strconcat (answer->prefix, found->path, NULL);
  g_autofree char *shown = prism_tool_escape (whole);
  gboolean fresh = !g_str_equal (answer->last->str, found->path);

  if (found->line == 0)
    {
      answer->unread++;
      return;
    }
  if (content)
    add_line (answer, found, shown, fresh);
  if (found->column == 0)
    return;
  answer->matches++;
  answer->line = found->line;
  if (content)
    add_match_metadata (run, found, shown);
  else if (fresh)
    g_string_append_printf (answer->text, "%s\n", shown);
  if (fresh)
    {
      answer->files++;
      g_string_assign (answer->last, found->path);
    }
}

static void
read_found (PrismToolRun *run, Answer *answer, GBytes *lines, gboolean content)
{
  gsize size;
  const char *at = g_bytes_get_data (lines, &size), *end = at + size;
  Found found;

  while (at < end && next_found (&at, end, &found))
    {
      if (found.column > 0 && answer->matches == answer->most)
        {
          answer->more = TRUE;
          break;
        }
      take_found (run, answer, &found, content);
    }
}

static void
add_count (PrismToolRun *run, const char *name, gint64 value)
{
  if (value >= 0)
    prism_tool_add_integer (run, name, value);
}

static void
finish (PrismToolRun *run, Answer *answer, const PrismTreeFound *found, const char *mode)
{
  const char *cut = answer->more ? "matches" : found->cut == 2 ? "scan" : NULL;

  if (g_str_equal (mode, "count"))
    g_string_printf (answer->text, "%" G_GINT64_FORMAT " matches in %" G_GINT64_FORMAT " files\n", answer->matches,
                     answer->files);
  if (answer->matches == 0 && !g_str_equal (mode, "count"))
    g_string_append (answer->text, "[no match]\n");
  prism_tool_result_add_text (run->result, answer->text->str);
  if (cut != NULL)
    prism_tool_say (run,
                    answer->more ? "[more than %" G_GINT64_FORMAT " matches; send a longer query or a deeper path]"
                                 : "[stopped after %" G_GINT64_FORMAT " bytes; send a deeper path]",
                    answer->more ? answer->most : prism_tool_limit (run, PRISM_TOOL_LIMIT_SEARCH_SCAN_BYTES));
  if (answer->unread > 0)
    prism_tool_say (run, "[%" G_GINT64_FORMAT " files or folders could not be read]", answer->unread);
  prism_tool_add_string (run, "outputMode", mode);
  prism_tool_add_boolean (run, "truncated", cut != NULL);
  prism_tool_add_string (run, "truncatedBy", cut);
  prism_tool_add_integer (run, "matchCount", answer->matches);
  prism_tool_add_integer (run, "fileCount", answer->files);
  add_count (run, "scannedEntries", found->entries);
  add_count (run, "scannedFiles", found->files);
  add_count (run, "scannedBytes", found->bytes);
  add_count (run, "filesSkippedBinary", found->binary);
  add_count (run, "filesSkippedLarge", found->large);
  add_count (run, "linesSkippedLong", found->long_lines);
  prism_tool_add_integer (run, "unreadable", answer->unread);
}

/* What stands in front of a path that is relative to @path, for the model to send back. */
static char *
prefix_of (PrismToolRun *run, const char *path, GError **error)
{
  const char *root = prism_tree_get_root (run->settings->tree);
  GError *fault = NULL;
  g_autoptr (PrismFileEntry) entry = prism_tree_stat (run->tree, path, run->cancellable, &fault);
  g_autofree char *folder = NULL;

  if (entry == NULL)
    {
      prism_tool_take_fault (error, fault);
      return NULL;
    }
  folder = prism_file_entry_get_file_type (entry) == G_FILE_TYPE_REGULAR ? g_path_get_dirname (path) : g_strdup (path);
  if (g_str_equal (folder, root))
    return g_strdup ("");
  return g_strconcat (folder + strlen (root) + 1, "/", NULL);
}

static gboolean
get_query (PrismToolRun *run, PrismTreeQuery *query, gint64 *most, GError **error)
{
  const char *text = prism_tool_get_string (run, "query");
  gint64 most_bytes = prism_tool_limit (run, PRISM_TOOL_LIMIT_SEARCH_QUERY_BYTES), context = 0;

  if ((gint64)strlen (text) > most_bytes)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT,
                            "query: %" G_GSIZE_FORMAT " bytes are more than %" G_GINT64_FORMAT "; send a shorter one",
                            strlen (text), most_bytes);
  if (strpbrk (text, "\r\n") != NULL)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "query: has line ends; send a text of one line");
  context = prism_tool_get_integer (run, "context", 0);
  if (context > prism_tool_limit (run, PRISM_TOOL_LIMIT_SEARCH_CONTEXT))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "context: at most %" G_GINT64_FORMAT " lines",
                            prism_tool_limit (run, PRISM_TOOL_LIMIT_SEARCH_CONTEXT));
  if (!prism_tool_get_bounded (run, "maxMatches", PRISM_TOOL_LIMIT_SEARCH_MATCHES, most, error))
    return FALSE;
  /* One more tells whether there is more. */
  *query = (PrismTreeQuery){ .query = text,
                             .ignore_case = !prism_tool_get_boolean (run, "caseSensitive", FALSE),
                             .hidden = prism_tool_get_boolean (run, "includeHidden", FALSE),
                             .context = (guint)context,
                             .max_matches = *most + 1,
                             .scan_bytes = prism_tool_limit (run, PRISM_TOOL_LIMIT_SEARCH_SCAN_BYTES),
                             .file_bytes = prism_tool_limit (run, PRISM_TOOL_LIMIT_SEARCH_FILE_BYTES),
                             .line_bytes = prism_tool_limit (run, PRISM_TOOL_LIMIT_SEARCH_LINE_BYTES),
                             .timeout_ms = prism_tool_limit (run, PRISM_TOOL_LIMIT_SEARCH_TIMEOUT_S) * 1000 };
  return TRUE;
}

static gboolean
search (PrismToolRun *run, const PrismTreeQuery *query, const char *path, Answer *answer, GError **error)
{
  const char *mode =
      prism_tool_get_string (run, "outputMode") != NULL ? prism_tool_get_string (run, "outputMode") : "content";
  gboolean content = g_str_equal (mode, "content");
  GError *fault = NULL;
  PrismTreeFound found;

  answer->prefix = prefix_of (run, path, error);
  if (answer->prefix == NULL)
    return FALSE;
  if (!prism_tree_search (run->tree, path, query, &found, run->cancellable, &fault))
    {
      prism_tool_take_fault (error, fault);
      return FALSE;
    }
  json_builder_set_member_name (run->metadata, "matches");
  json_builder_begin_array (run->metadata);
  read_found (run, answer, found.lines, content);
  json_builder_end_array (run->metadata);
  finish (run, answer, &found, mode);
  prism_tree_found_clear (&found);
  return TRUE;
}

gboolean
prism_tool_run_search (PrismToolRun *run, GError **error)
{
  char *paths[2] = { prism_tool_dup_path (run, "path", error), NULL };
  const PrismToolAsk ask = {
    .kind = "repo_search", .operation = "search", .risk = PRISM_RISK_LOW, .effect = PRISM_EFFECT_NONE, .paths = paths
  };
  PrismTreeQuery query;
  Answer answer = { 0 };
  gboolean may =
      paths[0] != NULL && get_query (run, &query, &answer.most, error) && prism_tool_authorize (run, &ask, error);
  g_autofree char *path = paths[0];
  gboolean done;

  answer.text = g_string_new (NULL);
  answer.context = may ? query.context : 0;
  answer.last = g_string_new (NULL);
  done = may && search (run, &query, path, &answer, error);
  g_string_free (answer.text, TRUE);
  g_string_free (answer.last, TRUE);
  g_free (answer.prefix);
  return done;
}
