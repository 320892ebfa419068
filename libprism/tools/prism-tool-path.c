/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paths as models write them, and as they are shown. By words alone: what a name leads to
 * is the tree's to check, where it is used. */
#include "prism-tool-run-private.h"

#include <string.h>

#define MOST_PATH 4095

/* --- bytes that are no text ------------------------------------------------------------------ */

static gboolean
is_plain (gunichar c)
{
  return c >= 0x20 && c != 0x7f && !(c >= 0x80 && c < 0xa0) && c != 0x2028 && c != 0x2029
         && !(c >= 0x202a && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069) && c != 0x200e && c != 0x200f && c != 0xfeff;
}

static gboolean
looks_escaped (const char *at)
{
  return at[0] == '\\' && at[1] == 'x' && g_ascii_isxdigit (at[2]) && g_ascii_isxdigit (at[3]);
}

/* Reversible: what would read as an escape has its backslash escaped. */
char *
prism_tool_escape (const char *bytes)
{
  GString *text = g_string_new (NULL);

  while (*bytes != '\0')
    {
      gunichar c = g_utf8_get_char_validated (bytes, -1);
      gsize length = c < 0x110000 ? (gsize)(g_utf8_next_char (bytes) - bytes) : 1;

      if (c < 0x110000 && is_plain (c) && !looks_escaped (bytes))
        g_string_append_len (text, bytes, (gssize)length);
      else
        for (gsize i = 0; i < length; i++)
          g_string_append_printf (text, "\\x%02x", (guchar)bytes[i]);
      bytes += length;
    }
  return g_string_free (text, FALSE);
}

char *
prism_tool_unescape (const char *text, GError **error)
{
  g_autoptr (GString) bytes = g_string_new (NULL);

  while (*text != '\0')
    if (looks_escaped (text))
      {
        int byte = g_ascii_xdigit_value (text[2]) * 16 + g_ascii_xdigit_value (text[3]);
        if (byte == 0)
          {
            prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "a path has no NUL; send it without \\x00");
            return NULL;
          }
        g_string_append_c (bytes, (char)byte);
        text += 4;
      }
    else
      g_string_append_c (bytes, *text++);
  return g_string_free (g_steal_pointer (&bytes), FALSE);
}

/* --- resolving ---------------------------------------------------------------------------------- */

/* Without empty and "." components, ".." taken by its words; NULL: it goes above "/". */
static char *
canonical (const char *path)
{
  g_autoptr (GString) clean = g_string_new (NULL);

  while (*path != '\0')
    {
      gsize length = strcspn (path, "/");

      if (length == 2 && path[0] == '.' && path[1] == '.')
        {
          const char *slash = strrchr (clean->str, '/');
          if (slash == NULL)
            return NULL;
          g_string_truncate (clean, (gsize)(slash - clean->str));
        }
      else if (length > 0 && !(length == 1 && path[0] == '.'))
        g_string_append_len (g_string_append_c (clean, '/'), path, (gssize)length);
      path += length + (path[length] == '/');
    }
  if (clean->len == 0)
    g_string_append_c (clean, '/');
  return g_string_free (g_steal_pointer (&clean), FALSE);
}

static gboolean
is_below (const char *path, const char *root)
{
  gsize length = strlen (root);

  while (length > 0 && root[length - 1] == '/')
    length--;
  return strncmp (path, root, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static char *
make_absolute (PrismToolRun *run, const char *bytes)
{
  const char *root = prism_tree_get_root (run->settings->tree), *home = prism_tree_get_home (run->settings->tree);

  if (bytes[0] == '~' && (bytes[1] == '/' || bytes[1] == '\0') && home != NULL)
    return g_strconcat (home, bytes + 1, NULL);
  if (g_str_has_prefix (bytes, "file:///"))
    {
      g_autofree char *name = g_filename_from_uri (bytes, NULL, NULL);
      if (name != NULL)
        return g_steal_pointer (&name);
    }
  if (bytes[0] == '/')
    return g_strdup (bytes);
  return g_strconcat (root, "/", bytes, NULL);
}

char *
prism_tool_resolve (PrismToolRun *run, const char *written, GError **error)
{
  const char *root = prism_tree_get_root (run->settings->tree), *workspace = run->settings->workspace;
  g_autofree char *shown = prism_visible_text (written, 200, NULL);
  g_autofree char *bytes = NULL;
  g_autofree char *absolute = NULL;
  g_autofree char *path = NULL;

  if (*written == '\0')
    {
      prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "path: is empty; send a path below %s, as src/main.c", root);
      return NULL;
    }
  bytes = prism_tool_unescape (written, error);
  if (bytes == NULL)
    return NULL;
  absolute = make_absolute (run, bytes);
  path = strlen (absolute) <= MOST_PATH ? canonical (absolute) : NULL;
  if (strlen (absolute) > MOST_PATH)
    {
      prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "path: longer than %d bytes", MOST_PATH);
      return NULL;
    }
  /* A model may know the workspace by its name on the host. */
  if (path != NULL && !is_below (path, root) && workspace != NULL && is_below (path, workspace))
    {
      char *inside = g_strconcat (root, path + strlen (workspace), NULL);
      g_free (path);
      path = inside;
    }
  if (path != NULL && is_below (path, root))
    return g_steal_pointer (&path);
  prism_tool_fail (error, PRISM_TOOL_ERROR_ESCAPE, "%s leads outside of %s; send a path below it", shown, root);
  return NULL;
}

/* --- other spellings ------------------------------------------------------------------------------- */

static char *
with_plain_blanks (const char *text)
{
  GString *plain = g_string_new (NULL);

  for (; *text != '\0'; text = g_utf8_next_char (text))
    {
      gunichar c = g_utf8_get_char (text);
      g_string_append_unichar (plain, g_unichar_type (c) == G_UNICODE_SPACE_SEPARATOR ? ' ' : c);
    }
  return g_string_free (plain, FALSE);
}

static char *
with (const char *text, const char *from, const char *to)
{
  g_autoptr (GString) changed = g_string_new (text);

  g_string_replace (changed, from, to, 0);
  return g_string_free (g_steal_pointer (&changed), FALSE);
}

static gboolean
is_there (PrismToolRun *run, const char *path)
{
  g_autoptr (PrismFileEntry) entry = prism_tree_stat (run->settings->tree, path, run->cancellable, NULL);

  return entry != NULL;
}

/* What is written otherwise than it is called: a mention's @, a blank that is none, an accent
 * that is taken apart, a typographer's apostrophe, the narrow space in a screenshot's name. */
static char *
find_spelling (PrismToolRun *run, const char *written)
{
  const char *bare = written[0] == '@' ? written + 1 : written;
  g_autofree char *blanks = with_plain_blanks (bare);
  char *spellings[] = {
    g_strdup (bare),
    g_strdup (blanks),
    g_utf8_normalize (blanks, -1, G_NORMALIZE_NFD),
    with (blanks, "'", "\342\200\231"),
    with (blanks, " AM.", "\342\200\257AM."),
    with (blanks, " PM.", "\342\200\257PM."),
  };
  char *found = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (spellings); i++)
    {
      if (found == NULL && spellings[i] != NULL && *spellings[i] != '\0' && !g_str_equal (spellings[i], written))
        {
          g_autofree char *path = prism_tool_resolve (run, spellings[i], NULL);
          if (path != NULL && is_there (run, path))
            found = g_steal_pointer (&path);
        }
      g_free (spellings[i]);
    }
  return found;
}

static gboolean
may_be_spelled_otherwise (const char *written)
{
  for (const char *p = written; *p != '\0'; p++)
    if ((guchar)*p >= 0x80 || *p == '\'')
      return TRUE;
  return written[0] == '@' || strstr (written, " AM.") != NULL || strstr (written, " PM.") != NULL;
}

char *
prism_tool_dup_path (PrismToolRun *run, const char *name, GError **error)
{
  const char *written = prism_tool_get_string (run, name);
  g_autofree char *path = prism_tool_resolve (run, written != NULL ? written : ".", error);

  if (path != NULL && written != NULL && may_be_spelled_otherwise (written) && !is_there (run, path))
    {
      char *otherwise = find_spelling (run, written);
      if (otherwise != NULL)
        return otherwise;
    }
  return g_steal_pointer (&path);
}

char *
prism_tool_show (PrismToolRun *run, const char *path)
{
  const char *root = prism_tree_get_root (run->settings->tree);
  gsize length = strlen (root);

  if (is_below (path, root) && path[length] == '/' && path[length + 1] != '\0')
    return prism_tool_escape (path + length + 1);
  return prism_tool_escape (g_str_equal (path, root) ? "." : path);
}
