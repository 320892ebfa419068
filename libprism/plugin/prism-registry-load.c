/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opening a plug-in's module and letting it add its types. What its manifest says
 * binds the module: it may add neither more nor less. */
#include "prism-registry-private.h"

#include "prism-plugin-info-private.h"
#include "prism-plugin-module-private.h"

/* Which plug-in's load function runs in this thread, so that what it adds, and
 * what is wrong with that, is known to be its. */
typedef struct _Loading Loading;
struct _Loading
{
  Loading *outer;
  PrismRegistry *registry;
  PrismPluginInfo *info;
  GError *error;
};

static GPrivate loading_key;

gboolean
prism_registry_is_loading (PrismRegistry *self, PrismPluginInfo *info)
{
  for (Loading *loading = g_private_get (&loading_key); loading != NULL; loading = loading->outer)
    if (loading->registry == self && loading->info == info)
      return TRUE;

  return FALSE;
}

/**
 * prism_registry_add_type:
 * @self: a registry
 * @name: what it is asked for by
 * @type: an instantiable type that implements [iface@Prism.Backend] or [iface@Prism.EgressProxy]
 * @priority: of several with one name, the highest is made; of equal ones, the first
 * @error: return location for an error
 *
 * Adds a backend or an egress proxy. Plug-ins call this from their load function; so can an
 * application or a script, with a type of its own.
 *
 * Fails with %PRISM_PLUGIN_ERROR_TYPE if @type does not implement what it has
 * to, and with %PRISM_PLUGIN_ERROR_MANIFEST if a plug-in adds what its manifest
 * does not name.
 *
 * Returns: %TRUE if it was added
 *
 * Since: 1.0
 */
gboolean
prism_registry_add_type (PrismRegistry *self, const char *name, GType type, int priority, GError **error)
{
  Loading *loading = g_private_get (&loading_key);
  g_autoptr (GError) local = NULL;

  g_return_val_if_fail (PRISM_IS_REGISTRY (self), FALSE);
  g_return_val_if_fail (name != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (loading != NULL && loading->registry != self)
    loading = NULL;
  if (prism_registry_add_entry (self, name, type, priority, loading != NULL ? loading->info : NULL, &local))
    return TRUE;

  /* Whether or not its load function looks: the plug-in is refused for it. */
  if (loading != NULL && loading->error == NULL)
    loading->error = g_error_copy (local);
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

static void
check_all_added (PrismRegistry *self, PrismPluginInfo *info, const PrismRegistryKind *kind, GError **error)
{
  const char *const *offered = kind->get_offered (info);

  for (guint i = 0; offered[i] != NULL; i++)
    if (prism_registry_best_type (self, kind, offered[i], info) == G_TYPE_INVALID)
      {
        g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST,
                     "its manifest names the %s “%s”, which its load function does not add", kind->noun, offered[i]);
        return;
      }
}

/* Opens the module and lets it add its types. */
static gboolean
run_load (PrismRegistry *self, PrismPluginInfo *info, GError **error)
{
  Loading loading = { g_private_get (&loading_key), self, info, NULL };
  const PrismPluginDescriptor *descriptor =
      prism_plugin_module_open (prism_plugin_info_get_module (info), prism_plugin_info_get_parsed (info), error);

  if (descriptor == NULL)
    return FALSE;

  g_private_set (&loading_key, &loading);
  descriptor->load (self);
  g_private_set (&loading_key, loading.outer);

  if (loading.error == NULL)
    check_all_added (self, info, &prism_registry_backends, &loading.error);
  if (loading.error == NULL)
    check_all_added (self, info, &prism_registry_egress_proxies, &loading.error);
  if (loading.error == NULL)
    return TRUE;

  prism_registry_remove_types (self, info);
  g_propagate_error (error, loading.error);
  return FALSE;
}

gboolean
prism_registry_fail_with_state (PrismPluginInfo *info, GError **error)
{
  const GError *reason = prism_plugin_info_get_error (info);

  if (reason != NULL)
    g_set_error (error, reason->domain, reason->code, "the plug-in “%s” is refused: %s",
                 prism_plugin_info_get_name (info), reason->message);
  else
    g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_NOT_FOUND,
                 "the plug-in %s is shadowed: a folder that is searched earlier has one of the same name",
                 prism_plugin_info_get_manifest (info));

  return FALSE;
}

/**
 * prism_registry_load:
 * @self: a registry
 * @info: one of its plug-ins
 * @error: return location for an error
 *
 * Opens a plug-in's module and lets it add its types. This happens by itself
 * when one of its backends is asked for. A module that was opened is never
 * closed.
 *
 * Returns: %TRUE if it is loaded, now or already
 *
 * Since: 1.0
 */
gboolean
prism_registry_load (PrismRegistry *self, PrismPluginInfo *info, GError **error)
{
  g_autoptr (GRecMutexLocker) locker = NULL;
  g_autoptr (GError) local = NULL;

  g_return_val_if_fail (PRISM_IS_REGISTRY (self), FALSE);
  g_return_val_if_fail (PRISM_IS_PLUGIN_INFO (info), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);
  g_return_val_if_fail (g_ptr_array_find (prism_registry_ensure_infos (self), info, NULL), FALSE);

  locker = g_rec_mutex_locker_new (&self->load_lock);
  switch (prism_plugin_info_get_state (info))
    {
    case PRISM_PLUGIN_STATE_LOADED:
      return TRUE;
    case PRISM_PLUGIN_STATE_SHADOWED:
    case PRISM_PLUGIN_STATE_REFUSED:
      return prism_registry_fail_with_state (info, error);
    case PRISM_PLUGIN_STATE_FOUND:
    default:
      break;
    }
  if (prism_registry_is_loading (self, info))
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_LOAD,
                   "the plug-in “%s” asks for itself while it is being loaded", prism_plugin_info_get_name (info));
      return FALSE;
    }

  if (run_load (self, info, &local))
    {
      prism_plugin_info_set_loaded (info);
      return TRUE;
    }

  prism_plugin_info_take_error (info, g_steal_pointer (&local));
  return prism_registry_fail_with_state (info, error);
}
