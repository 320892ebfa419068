/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What became of a change whose answer never came: a sandbox that was too slow, or went away in
 * the middle. What the tree shows now may prove that it was done; nothing proves that it will
 * not be done yet. TRUST: the tree, which said nothing; only for what it shows. */
#include "prism-tool-table-private.h"

static gboolean
is_unknown (const GError *fault)
{
  return fault->domain == PRISM_TREE_FAULT
         && (fault->code == PRISM_TREE_FAULT_TIMEOUT || fault->code == PRISM_TREE_FAULT_UNKNOWN);
}

static gboolean
settle (PrismToolRun *run, gboolean proven, GError **fault)
{
  if (proven)
    {
      g_clear_error (fault);
      prism_tool_add_boolean (run, "reconciled", TRUE);
    }
  else
    {
      (*fault)->code = PRISM_TREE_FAULT_UNKNOWN;
      g_prefix_error (fault, "whether it was done is not known; look before you go on: ");
    }
  return proven;
}

gboolean
prism_tool_settle_write (PrismToolRun *run, const char *path, GBytes *bytes, GError **fault)
{
  g_autoptr (GBytes) now = NULL;

  if (!is_unknown (*fault))
    return FALSE;
  now = prism_tree_read (run->settings->tree, path, 0, (gint64)g_bytes_get_size (bytes) + 1, run->cancellable, NULL);
  return settle (run, now != NULL && g_bytes_equal (now, bytes), fault);
}

gboolean
prism_tool_settle_delete (PrismToolRun *run, const char *path, GError **fault)
{
  return is_unknown (*fault) && settle (run, prism_tool_is_absent (run, path), fault);
}

gboolean
prism_tool_settle_move (PrismToolRun *run, const char *from, const char *to, GError **fault)
{
  g_autoptr (PrismFileEntry) there = NULL;

  if (!is_unknown (*fault))
    return FALSE;
  if (prism_tool_is_absent (run, from))
    there = prism_tree_stat (run->settings->tree, to, run->cancellable, NULL);
  return settle (run, there != NULL, fault);
}
