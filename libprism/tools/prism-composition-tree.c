/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A composition's tree for the tools of its owner. TRUST: the caller, who has the composition;
 * not the paths, which may be a model's: they are resolved and looked up as the library's own
 * tools do it. */
#include "prism-composition.h"

#include <string.h>

#include "prism-tool-run-private.h"

typedef struct
{
  PrismToolRun run;
  char *paths[3];
  gboolean entered[2];
} Visit;

static void
leave (Visit *visit)
{
  for (guint i = 0; i < G_N_ELEMENTS (visit->entered); i++)
    if (visit->entered[i])
      prism_tool_settings_leave (visit->run.settings, visit->paths[i]);
  g_free (visit->paths[0]);
  g_free (visit->paths[1]);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Visit, leave)

static gboolean
begin (Visit *visit, PrismComposition *self, const char *path, GCancellable *cancellable, GError **error)
{
  visit->run = (PrismToolRun){ .settings = prism_composition_get_settings (self), .cancellable = cancellable };
  visit->paths[0] = prism_tool_resolve (&visit->run, path, error);
  return visit->paths[0] != NULL;
}

static gboolean
enter (Visit *visit, guint path, GError **error)
{
  visit->entered[path] = prism_tool_settings_enter (visit->run.settings, visit->paths[path], visit->run.cancellable);
  return visit->entered[path] || prism_tool_fail (error, PRISM_TOOL_ERROR_CANCELLED, "cancelled");
}

/* In the order of their names, as the tools do it. @other: (nullable): a second path. */
static gboolean
begin_change (Visit *visit,
              PrismComposition *self,
              const char *path,
              const char *other,
              GCancellable *cancellable,
              GError **error)
{
  guint first;

  if (!begin (visit, self, path, cancellable, error))
    return FALSE;
  if (visit->run.settings->read_only)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_DENIED, "denied (read-only): these tools only look");
  if (other == NULL)
    return enter (visit, 0, error);
  visit->paths[1] = prism_tool_resolve (&visit->run, other, error);
  if (visit->paths[1] == NULL)
    return FALSE;
  if (g_str_equal (visit->paths[0], visit->paths[1]))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "both are the same path");
  first = strcmp (visit->paths[0], visit->paths[1]) < 0 ? 0 : 1;
  return enter (visit, first, error) && enter (visit, 1 - first, error);
}

/* Takes @fault. */
static gboolean
end (gboolean done, GError *fault, GError **error)
{
  if (fault != NULL)
    prism_tool_take_fault (error, fault);
  return done;
}

/**
 * prism_composition_stat_file:
 * @self: a composition that is bound
 * @path: (type filename): relative to the workspace, or absolute in the tree's own names
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Looks at a file, or at the link itself where it is one.
 *
 * Returns: (transfer full): what is there; %NULL with @error set
 *
 * Since: 1.0
 */
PrismFileEntry *
prism_composition_stat_file (PrismComposition *self, const char *path, GCancellable *cancellable, GError **error)
{
  g_auto (Visit) visit = { 0 };
  GError *fault = NULL;
  PrismFileEntry *entry;

  g_return_val_if_fail (PRISM_IS_COMPOSITION (self) && prism_composition_get_settings (self) != NULL, NULL);
  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (!begin (&visit, self, path, cancellable, error))
    return NULL;
  entry = prism_tree_stat (visit.run.settings->tree, visit.paths[0], cancellable, &fault);
  end (entry != NULL, fault, error);
  return entry;
}

/**
 * prism_composition_list_files:
 * @self: a composition that is bound
 * @path: (type filename): relative to the workspace, or absolute in the tree's own names
 * @hidden: names with a leading dot too
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Lists what is in a folder, and not what is below that.
 *
 * Returns: (transfer full): a list of [class@FileEntry], by byte value of their names; %NULL with @error set
 *
 * Since: 1.0
 */
GListModel *
prism_composition_list_files (
    PrismComposition *self, const char *path, gboolean hidden, GCancellable *cancellable, GError **error)
{
  g_auto (Visit) visit = { 0 };
  GError *fault = NULL;
  g_autoptr (GPtrArray) entries = NULL;
  GListStore *list;

  g_return_val_if_fail (PRISM_IS_COMPOSITION (self) && prism_composition_get_settings (self) != NULL, NULL);
  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (!begin (&visit, self, path, cancellable, error))
    return NULL;
  entries = prism_tree_list (visit.run.settings->tree, visit.paths[0], hidden, cancellable, &fault);
  if (!end (entries != NULL, fault, error))
    return NULL;
  list = g_list_store_new (PRISM_TYPE_FILE_ENTRY);
  g_list_store_splice (list, 0, 0, entries->pdata, entries->len);
  return G_LIST_MODEL (list);
}

/**
 * prism_composition_read_file:
 * @self: a composition that is bound
 * @path: (type filename): relative to the workspace, or absolute in the tree's own names
 * @offset: the first byte, from 0
 * @length: how many at most
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Reads part of a file. Links are followed as far as they stay in the workspace.
 *
 * Returns: (transfer full): bytes, fewer at the end of the file; %NULL with @error set
 *
 * Since: 1.0
 */
GBytes *
prism_composition_read_file (
    PrismComposition *self, const char *path, gint64 offset, gint64 length, GCancellable *cancellable, GError **error)
{
  g_auto (Visit) visit = { 0 };
  GError *fault = NULL;
  GBytes *bytes;

  g_return_val_if_fail (PRISM_IS_COMPOSITION (self) && prism_composition_get_settings (self) != NULL, NULL);
  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  g_return_val_if_fail (offset >= 0 && length >= 0, NULL);

  if (!begin (&visit, self, path, cancellable, error))
    return NULL;
  bytes = prism_tree_read (visit.run.settings->tree, visit.paths[0], offset, length, cancellable, &fault);
  end (bytes != NULL, fault, error);
  return bytes;
}

/**
 * prism_composition_write_file:
 * @self: a composition that is bound
 * @path: (type filename): relative to the workspace, or absolute in the tree's own names
 * @bytes: its content
 * @mode: its permission bits; 0: as they were, or 0644
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Writes a whole file, and makes the folders that lead to it: by another file that takes its
 * place, and through no link.
 *
 * Returns: whether it is written
 *
 * Since: 1.0
 */
gboolean
prism_composition_write_file (
    PrismComposition *self, const char *path, GBytes *bytes, guint mode, GCancellable *cancellable, GError **error)
{
  g_auto (Visit) visit = { 0 };
  GError *fault = NULL;
  gboolean done;

  g_return_val_if_fail (PRISM_IS_COMPOSITION (self) && prism_composition_get_settings (self) != NULL, FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  g_return_val_if_fail (bytes != NULL, FALSE);

  if (!begin_change (&visit, self, path, NULL, cancellable, error))
    return FALSE;
  done = prism_tree_write (visit.run.settings->tree, visit.paths[0], bytes, mode, cancellable, &fault);
  if (done)
    prism_tool_settings_note (visit.run.settings, visit.paths[0], bytes);
  return end (done, fault, error);
}

/**
 * prism_composition_remove_file:
 * @self: a composition that is bound
 * @path: (type filename): relative to the workspace, or absolute in the tree's own names
 * @recursive: a folder with all in it
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Removes a file, an empty folder or, with @recursive, a folder with all in it, at most as many
 * entries as the limit `delete-entries` says. A link itself is removed.
 *
 * Returns: whether it is removed
 *
 * Since: 1.0
 */
gboolean
prism_composition_remove_file (
    PrismComposition *self, const char *path, gboolean recursive, GCancellable *cancellable, GError **error)
{
  g_auto (Visit) visit = { 0 };
  GError *fault = NULL;
  gint64 most, removed = 0;
  gboolean done;

  g_return_val_if_fail (PRISM_IS_COMPOSITION (self) && prism_composition_get_settings (self) != NULL, FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (!begin_change (&visit, self, path, NULL, cancellable, error))
    return FALSE;
  most = prism_tool_limit (&visit.run, PRISM_TOOL_LIMIT_DELETE_ENTRIES);
  done = prism_tree_remove (visit.run.settings->tree, visit.paths[0], recursive, most, &removed, cancellable, &fault);
  if (done)
    prism_tool_settings_note (visit.run.settings, visit.paths[0], NULL);
  return end (done, fault, error);
}

/**
 * prism_composition_rename_file:
 * @self: a composition that is bound
 * @from: (type filename): relative to the workspace, or absolute in the tree's own names
 * @to: (type filename): its new path, name included, in a folder that is there
 * @overwrite: whether a file that is there may be replaced
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Moves a file, a folder or a link itself.
 *
 * Returns: whether it is moved
 *
 * Since: 1.0
 */
gboolean
prism_composition_rename_file (PrismComposition *self,
                               const char *from,
                               const char *to,
                               gboolean overwrite,
                               GCancellable *cancellable,
                               GError **error)
{
  g_auto (Visit) visit = { 0 };
  GError *fault = NULL;
  gboolean done;

  g_return_val_if_fail (PRISM_IS_COMPOSITION (self) && prism_composition_get_settings (self) != NULL, FALSE);
  g_return_val_if_fail (from != NULL && to != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (!begin_change (&visit, self, from, to, cancellable, error))
    return FALSE;
  done = prism_tree_rename (visit.run.settings->tree, visit.paths[0], visit.paths[1], overwrite, cancellable, &fault);
  if (done)
    {
      prism_tool_settings_note (visit.run.settings, visit.paths[0], NULL);
      prism_tool_settings_note (visit.run.settings, visit.paths[1], NULL);
    }
  return end (done, fault, error);
}

/**
 * prism_composition_exec:
 * @self: a composition that is bound
 * @command: a command
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Runs a command where the tool shell runs them: in the workspace, unless the command says
 * where below it. A composition that only looks runs none.
 *
 * Returns: (transfer full): how it ended; %NULL with @error set where it did not start
 *
 * Since: 1.0
 */
PrismResult *
prism_composition_exec (PrismComposition *self, PrismCommand *command, GCancellable *cancellable, GError **error)
{
  PrismToolSettings *settings;
  GError *fault = NULL;
  PrismResult *result;

  g_return_val_if_fail (PRISM_IS_COMPOSITION (self) && prism_composition_get_settings (self) != NULL, NULL);
  g_return_val_if_fail (PRISM_IS_COMMAND (command), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  settings = prism_composition_get_settings (self);
  if (settings->read_only)
    {
      prism_tool_fail (error, PRISM_TOOL_ERROR_DENIED, "denied (read-only): these tools only look");
      return NULL;
    }
  result = prism_tree_exec (settings->place, command, cancellable, &fault);
  end (result != NULL, fault, error);
  return result;
}
