/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Binding: which tools there are, which tree they work on, and what may be claimed of that.
 * TRUST: who sets a composition up; what its sandbox says of itself is passed on as that. */
#include "prism-composition-private.h"

#include "prism-coding-tool-private.h"
#include "prism-host-tree-private.h"
#include "prism-sandbox-tree-private.h"

/* --- tools ----------------------------------------------------------------------------- */

static PrismTool *
find_listed (PrismComposition *self, const char *name)
{
  PrismTool *tool = g_hash_table_lookup (self->named, name);

  return tool != NULL ? g_object_ref (tool) : NULL;
}

static void
list_tool (PrismComposition *self, PrismTool *tool)
{
  char *name = prism_tool_dup_name (tool);

  g_list_store_append (self->tools, tool);
  if (name != NULL) /* a script's may have changed its mind */
    g_hash_table_insert (self->named, name, g_object_ref (tool));
}

static const PrismToolKind *
find_kind (const PrismToolKind *kinds, const char *name)
{
  for (; kinds->name != NULL; kinds++)
    if (g_str_equal (kinds->name, name))
      return kinds;
  return NULL;
}

static gboolean
is_reserved (const char *name)
{
  return find_kind (prism_tool_kinds, name) != NULL || find_kind (prism_tool_git_kinds, name) != NULL
         || find_kind (prism_tool_other_kinds, name) != NULL || find_kind (prism_tool_alias_kinds, name) != NULL;
}

/**
 * prism_composition_add_tool:
 * @self: a composition that is not bound
 * @tool: a tool
 * @error: return location for an error
 *
 * Puts a tool of the caller's own beside the others. It asks no policy but its own.
 *
 * Returns: whether its name is free
 *
 * Since: 1.0
 */
gboolean
prism_composition_add_tool (PrismComposition *self, PrismTool *tool, GError **error)
{
  g_autofree char *name = NULL;

  g_return_val_if_fail (PRISM_IS_COMPOSITION (self) && !self->bound, FALSE);
  g_return_val_if_fail (PRISM_IS_TOOL (tool), FALSE);

  name = prism_tool_dup_name (tool);
  if (name == NULL || !prism_composition_is_name (name) || is_reserved (name))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "a tool cannot be called “%s”", name != NULL ? name : "");
  for (guint i = 0; i < self->own->len; i++)
    {
      g_autofree char *other = prism_tool_dup_name (self->own->pdata[i]);
      if (g_strcmp0 (other, name) == 0)
        return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "there are two tools that are called “%s”", name);
    }
  g_ptr_array_add (self->own, g_object_ref (tool));
  return TRUE;
}

static void
add_kinds (PrismComposition *self, const PrismToolKind *kinds)
{
  for (; kinds->name != NULL; kinds++)
    if (kinds->effect == PRISM_EFFECT_NONE || !self->settings->read_only)
      {
        g_autoptr (PrismTool) tool = prism_coding_tool_new (kinds, self->settings);
        list_tool (self, tool);
      }
}

static void
add_tools (PrismComposition *self)
{
  add_kinds (self, prism_tool_kinds);
  if (self->settings->git)
    add_kinds (self, prism_tool_git_kinds);
  for (const PrismToolKind *kind = prism_tool_other_kinds; kind->name != NULL; kind++)
    if (!g_str_equal (kind->name, "coding_check") || (self->settings->checks->len > 0 && !self->settings->read_only))
      {
        g_autoptr (PrismTool) tool = prism_coding_tool_new (kind, self->settings);
        list_tool (self, tool);
      }
  for (guint i = 0; i < self->own->len; i++)
    list_tool (self, self->own->pdata[i]);
}

/* --- wiring -------------------------------------------------------------------------------- */

static gboolean
wire_host (PrismComposition *self, GError **error)
{
  g_autofree char *path = self->folder != NULL ? g_file_get_path (self->folder) : NULL;
  GError *fault = NULL;

  if (path == NULL)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_COMPOSITION, "host mode: a folder of the host is needed");
  if (self->sandbox != NULL && !self->allow_mixed_wiring)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_COMPOSITION,
                            "host mode and a sandbox: commands and files would be of two trees; take sandbox mode, or "
                            "allow-mixed-wiring, which gives up all claims");
  self->settings->tree = prism_host_tree_new (path, &fault);
  if (self->settings->tree != NULL && self->sandbox != NULL)
    self->settings->place = prism_sandbox_tree_new (self->sandbox, &fault);
  else if (self->settings->tree != NULL)
    self->settings->place = g_object_ref (self->settings->tree);
  if (fault != NULL)
    {
      g_set_error (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_COMPOSITION, "%s", fault->message);
      g_error_free (fault);
      return FALSE;
    }
  self->coherent = self->sandbox == NULL;
  if (!self->coherent)
    g_ptr_array_add (
        self->warnings,
        g_strdup ("mixed wiring: commands run in the sandbox, file tools on the host; nothing is claimed"));
  return TRUE;
}

static gboolean
wire_sandbox (PrismComposition *self, GError **error)
{
  g_autoptr (GError) fault = NULL;

  if (self->sandbox == NULL)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_COMPOSITION, "sandbox mode: a sandbox is needed");
  if (self->folder != NULL)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_COMPOSITION,
                            "sandbox mode and a folder of the host: files and commands would be of two trees; leave "
                            "the folder out, or take host mode with allow-mixed-wiring");
  self->settings->tree = prism_sandbox_tree_new (self->sandbox, &fault);
  if (self->settings->tree == NULL)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_COMPOSITION, "%s", fault->message);
  self->settings->place = g_object_ref (self->settings->tree);
  self->settings->sandboxed = TRUE;
  self->settings->sandbox_id = prism_sandbox_dup_id (self->sandbox);
  /* The hatch costs the claims even where it was not needed. */
  self->coherent = !self->allow_mixed_wiring;
  if (!self->coherent)
    g_ptr_array_add (self->warnings, g_strdup ("allow-mixed-wiring is set: nothing is claimed"));
  return TRUE;
}

/**
 * prism_composition_bind:
 * @self: a composition that is not bound
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Checks that its parts make one tree, and binds the tools to it. After an error it may be
 * set up otherwise and bound again.
 *
 * Returns: whether the tools are there now
 *
 * Since: 1.0
 */
gboolean
prism_composition_bind (PrismComposition *self, GCancellable *cancellable, GError **error)
{
  gboolean wired;

  g_return_val_if_fail (PRISM_IS_COMPOSITION (self) && !self->bound, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  g_ptr_array_set_size (self->warnings, 0);
  wired = self->mode == PRISM_COMPOSITION_MODE_HOST ? wire_host (self, error) : wire_sandbox (self, error);
  if (!wired)
    {
      g_clear_object (&self->settings->tree);
      g_clear_object (&self->settings->place);
      return FALSE;
    }
  g_weak_ref_set (&self->settings->composition, self);
  self->bound = TRUE;
  add_tools (self);
  return TRUE;
}

/**
 * prism_composition_get_tools:
 * @self: a composition
 *
 * Gets the tools.
 *
 * Returns: (transfer none): a list of [iface@Tool], empty before it is bound
 *
 * Since: 1.0
 */
GListModel *
prism_composition_get_tools (PrismComposition *self)
{
  g_return_val_if_fail (PRISM_IS_COMPOSITION (self), NULL);
  return G_LIST_MODEL (self->tools);
}

/**
 * prism_composition_find_tool:
 * @self: a composition
 * @name: a tool's name, or one of the other names that models know tools by: bash, ls
 *
 * Finds a tool; from any thread, once the composition is bound.
 *
 * Returns: (transfer full) (nullable): a tool
 *
 * Since: 1.0
 */
PrismTool *
prism_composition_find_tool (PrismComposition *self, const char *name)
{
  const PrismToolKind *alias;
  PrismTool *tool;

  g_return_val_if_fail (PRISM_IS_COMPOSITION (self), NULL);
  g_return_val_if_fail (name != NULL, NULL);

  tool = find_listed (self, name);
  alias = tool == NULL && self->bound ? find_kind (prism_tool_alias_kinds, name) : NULL;
  if (alias != NULL && (alias->effect == PRISM_EFFECT_NONE || !self->settings->read_only))
    tool = prism_coding_tool_new (alias, self->settings);
  return tool;
}

/* --- what it claims -------------------------------------------------------------------------- */

/**
 * prism_composition_dup_capabilities:
 * @self: a composition that is bound
 *
 * Gets what the tools' tree contains: all false where files and commands are not of one tree;
 * on the host that they are, and nothing else; in a sandbox that, and what the sandbox has.
 *
 * Returns: (transfer full): capabilities
 *
 * Since: 1.0
 */
PrismCapabilities *
prism_composition_dup_capabilities (PrismComposition *self)
{
  g_autoptr (PrismCapabilities) its = NULL;
  g_autoptr (GVariant) evidence = NULL;

  g_return_val_if_fail (PRISM_IS_COMPOSITION (self), NULL);

  if (!self->bound || !self->coherent)
    return prism_capabilities_new (PRISM_CONTROLS_NONE, NULL);
  if (self->mode == PRISM_COMPOSITION_MODE_HOST)
    return prism_capabilities_new (PRISM_CONTROLS_WORKSPACE, NULL);
  its = prism_sandbox_dup_capabilities (self->sandbox);
  if (its == NULL)
    return prism_capabilities_new (PRISM_CONTROLS_WORKSPACE, NULL);
  evidence = prism_capabilities_dup_evidence (its);
  return prism_capabilities_new (prism_capabilities_get_controls (its) | PRISM_CONTROLS_WORKSPACE, evidence);
}

/**
 * prism_composition_dup_warnings:
 * @self: a composition
 *
 * Gets what is to be said loudly about it.
 *
 * Returns: (transfer full) (array zero-terminated=1): sentences
 *
 * Since: 1.0
 */
char **
prism_composition_dup_warnings (PrismComposition *self)
{
  char **copy;

  g_return_val_if_fail (PRISM_IS_COMPOSITION (self), NULL);

  copy = g_new0 (char *, self->warnings->len + 1);
  for (guint i = 0; i < self->warnings->len; i++)
    copy[i] = g_strdup (self->warnings->pdata[i]);
  return copy;
}

/**
 * prism_composition_get_workspace_root: (get-property workspace-root)
 * @self: a composition
 *
 * Gets where the tree begins, in its own names.
 *
 * Returns: (transfer none) (nullable) (type filename): an absolute path; %NULL before it is bound
 *
 * Since: 1.0
 */
const char *
prism_composition_get_workspace_root (PrismComposition *self)
{
  g_return_val_if_fail (PRISM_IS_COMPOSITION (self), NULL);
  return self->bound ? prism_tree_get_root (self->settings->tree) : NULL;
}

/**
 * prism_composition_dup_tree_identity:
 * @self: a composition
 *
 * Gets what the tree was last known to be.
 *
 * Returns: (transfer full) (nullable): of the last import or export that was noted
 *
 * Since: 1.0
 */
PrismTreeIdentity *
prism_composition_dup_tree_identity (PrismComposition *self)
{
  g_return_val_if_fail (PRISM_IS_COMPOSITION (self), NULL);
  return self->identity != NULL ? prism_tree_identity_copy (self->identity) : NULL;
}
