/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* write: a whole file, at once or not at all. */
#include "prism-tool-table-private.h"

#include <string.h>

static guint
count_lines (const char *content)
{
  guint lines = 1;

  for (; *content != '\0'; content++)
    lines += *content == '\n';
  return lines;
}

/* The content that is there; NULL without an error: nothing is. */
static GBytes *
read_present (PrismToolRun *run, const char *path, GError **error)
{
  GError *fault = NULL;
  GBytes *now = prism_tree_read (run->tree, path, 0, prism_tool_limit (run, PRISM_TOOL_LIMIT_READ_SCAN_BYTES),
                                 run->cancellable, &fault);

  if (now == NULL && fault->code == PRISM_TREE_FAULT_NOT_FOUND)
    g_error_free (fault);
  else if (now == NULL)
    prism_tool_take_fault (error, fault);
  return now;
}

static gboolean
check_guard (PrismToolRun *run, const char *path, GError **error)
{
  g_autoptr (GBytes) now = NULL;
  GError *wrong = NULL;

  if (!run->settings->read_before_write)
    return TRUE;
  now = read_present (run, path, &wrong);
  if (wrong != NULL)
    {
      g_propagate_error (error, wrong);
      return FALSE;
    }
  return prism_tool_check_read (run, path, now, error);
}

gboolean
prism_tool_run_write (PrismToolRun *run, GError **error)
{
  const char *content = prism_tool_get_string (run, "content");
  gsize size = strlen (content);
  gint64 most = prism_tool_limit (run, PRISM_TOOL_LIMIT_WRITE_BYTES);
  char *paths[2] = { prism_tool_dup_path (run, "path", error), NULL };
  const PrismToolAsk ask = { .kind = "write",
                             .operation = "write",
                             .risk = PRISM_RISK_MEDIUM,
                             .effect = PRISM_EFFECT_LOCAL_MUTATION,
                             .paths = paths };
  /* Its size is checked before anybody is asked. */
  gboolean may = paths[0] != NULL
                 && ((gint64)size <= most
                     || prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT,
                                         "content: %" G_GSIZE_FORMAT " bytes are more than %" G_GINT64_FORMAT
                                         " (write-bytes); write it in parts with the shell",
                                         size, most))
                 && prism_tool_authorize (run, &ask, error);
  g_autofree char *path = paths[0];
  g_autofree char *shown = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new (content, size);
  GError *fault = NULL;

  if (!may || !check_guard (run, path, error))
    return FALSE;
  if (g_cancellable_is_cancelled (run->cancellable))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_CANCELLED, "cancelled");
  if (!prism_tree_write (run->tree, path, bytes, 0, run->cancellable, &fault)
      && !prism_tool_settle_write (run, path, bytes, &fault))
    {
      prism_tool_take_fault (error, fault);
      return FALSE;
    }
  prism_tool_settings_note (run->settings, path, bytes);
  prism_tool_changed (run, path, "write");
  shown = prism_tool_show (run, path);
  prism_tool_say (run, "wrote %" G_GSIZE_FORMAT " bytes to %s", size, shown);
  prism_tool_add_integer (run, "bytes", (gint64)size);
  prism_tool_add_integer (run, "lines", count_lines (content));
  prism_tool_add_string (run, "path", shown);
  return TRUE;
}

/* By equal bytes. */
gboolean
prism_tool_prove_write (PrismToolRun *run)
{
  const char *content = prism_tool_get_string (run, "content");
  g_autoptr (GBytes) wanted = g_bytes_new_static (content, strlen (content));
  g_autofree char *path = prism_tool_dup_path (run, "path", NULL);
  g_autoptr (GBytes) there = NULL;

  if (path != NULL)
    there = prism_tree_read (run->settings->tree, path, 0, (gint64)strlen (content) + 1, run->cancellable, NULL);
  return there != NULL && g_bytes_equal (there, wanted);
}
