/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What git does not ignore. TRUST: what git says is names of the tree, and nothing but a choice
 * of what the walk, which looks for itself, finds there. */
#include "prism-tool-git-private.h"
#include "prism-tool-walk-private.h"

#include <string.h>

struct _PrismToolTracked
{
  GHashTable *names; /* files, and the folders that lead to them */
  GHashTable *whole; /* repositories in this one: git knows no more than that they are there */
};

void
prism_tool_tracked_free (PrismToolTracked *self)
{
  g_hash_table_unref (self->names);
  g_hash_table_unref (self->whole);
  g_free (self);
}

gboolean
prism_tool_tracked_has (const PrismToolTracked *self, const char *path)
{
  g_autofree char *above = NULL;

  if (g_hash_table_contains (self->names, path))
    return TRUE;
  if (g_hash_table_size (self->whole) == 0)
    return FALSE;
  above = g_strdup (path);
  for (char *slash; (slash = strrchr (above, '/')) != NULL && slash > above;)
    {
      *slash = '\0';
      if (g_hash_table_contains (self->whole, above))
        return TRUE;
    }
  return FALSE;
}

/* @name: relative to the root. */
static void
add_name (PrismToolTracked *self, const char *root, const char *name, gsize length)
{
  gboolean whole = length > 0 && name[length - 1] == '/';
  char *path = g_strdup_printf ("%s/%.*s", g_str_equal (root, "/") ? "" : root, (int)(length - (whole ? 1 : 0)), name);

  if (whole)
    g_hash_table_add (self->whole, g_strdup (path));
  while (strlen (path) > strlen (root) && g_hash_table_add (self->names, path))
    path = g_path_get_dirname (path);
  if (strlen (path) <= strlen (root))
    g_free (path);
}

/* Git, a work tree of it, and commands that see the same files. */
static gboolean
has_say (PrismToolRun *run, GError **error)
{
  static const char *const args[] = { "rev-parse", "--is-inside-work-tree", NULL };
  g_autoptr (PrismResult) result = NULL;
  GError *wrong = NULL;

  if (!run->settings->git_aware || run->settings->place != run->settings->tree)
    return FALSE;
  result = prism_tool_git_plain (run, args, PRISM_TOOL_LIMIT_GIT_OUTPUT_BYTES, &wrong);
  if (g_error_matches (wrong, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_NOT_SUPPORTED))
    g_clear_error (&wrong);
  if (wrong != NULL)
    g_propagate_error (error, wrong);
  return result != NULL && prism_result_get_exit_code (result) == 0
         && g_bytes_get_size (prism_result_get_stdout (result)) >= 4
         && memcmp (g_bytes_get_data (prism_result_get_stdout (result), NULL), "true", 4) == 0;
}

PrismToolTracked *
prism_tool_tracked_new (PrismToolRun *run, const char *path, GError **error)
{
  const char *root = prism_tree_get_root (run->settings->tree), *at, *end;
  g_autofree char *start =
      g_strconcat (":(top,literal)", g_str_equal (path, root) ? "" : path + strlen (root) + 1, NULL);
  const char *const args[] = { "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", start, NULL };
  g_autoptr (PrismResult) result = NULL;
  PrismToolTracked *self;
  gsize size;

  if (!has_say (run, error))
    return NULL;
  result = prism_tool_git_plain (run, args, PRISM_TOOL_LIMIT_GIT_LIST_BYTES, error);
  if (result == NULL)
    return NULL;
  if (prism_result_get_exit_code (result) != 0)
    {
      g_autofree char *words = prism_result_dup_stderr_text (result);
      prism_tool_fail (error, PRISM_TOOL_ERROR_FAILED, "git ls-files: %.2000s", g_strchomp (words));
      return NULL;
    }
  self = g_new0 (PrismToolTracked, 1);
  self->names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->whole = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  at = g_bytes_get_data (prism_result_get_stdout (result), &size);
  for (end = at + size; at < end; at += strnlen (at, (gsize)(end - at)) + 1)
    add_name (self, root, at, strnlen (at, (gsize)(end - at)));
  return self;
}
