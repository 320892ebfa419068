/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finding plug-ins and what they provide.
 *
 * Folders are read on first use, not on construction; a module is opened when
 * something that its manifest offers is first asked for (prism-registry-load.c).
 */
#include "prism-registry-private.h"

#include "prism-egress-default-private.h"
#include "prism-plugin-scan-private.h"

#include <string.h>

typedef struct
{
  const PrismRegistryKind *kind;
  char *name;
  GType type;
  int priority;
  PrismPluginInfo *info; /* unowned; NULL: added by the application */
} TypeEntry;

static void list_model_iface_init (GListModelInterface *iface);

/**
 * PrismRegistry:
 *
 * Finds plug-ins, and makes what they provide; a [iface@Gio.ListModel] of
 * [class@Prism.PluginInfo], one for each plug-in found, in the order in which
 * folders are searched.
 *
 * All methods may be called from any thread.
 *
 * Since: 1.0
 */
G_DEFINE_TYPE_WITH_CODE (PrismRegistry,
                         prism_registry,
                         G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, list_model_iface_init))

/**
 * prism_plugin_error_quark:
 *
 * The domain of [error@PluginError].
 *
 * Returns: a quark
 *
 * Since: 1.0
 */
G_DEFINE_QUARK (prism-plugin-error-quark, prism_plugin_error);

static void
type_entry_free (TypeEntry *entry)
{
  g_free (entry->name);
  g_free (entry);
}

/* For whatever needs the process's own proxy. */
static PrismEgressProxy *
make_egress_proxy (GError **error)
{
  return prism_registry_create_egress_proxy (prism_registry_get_default (), NULL, error);
}

/**
 * prism_registry_get_default:
 *
 * The process's own registry: the built-in folder and those of the environment
 * variable `PRISM_PLUGIN_PATH`, which is ignored in a process with more rights
 * than its caller.
 *
 * Returns: (transfer none): the registry
 *
 * Since: 1.0
 */
PrismRegistry *
prism_registry_get_default (void)
{
  static PrismRegistry *instance;

  if (g_once_init_enter (&instance))
    {
      prism_egress_default_set_factory (make_egress_proxy);
      g_once_init_leave (&instance, prism_registry_new (NULL));
    }

  return instance;
}

/**
 * prism_registry_new:
 * @folders: (nullable) (array zero-terminated=1): absolute paths of exactly the folders to search, in order, or %NULL
 *   for those of [func@Prism.Registry.get_default]
 *
 * Nothing is read until the registry is first asked for something.
 *
 * Returns: (transfer full): a registry of the caller's own
 *
 * Since: 1.0
 */
PrismRegistry *
prism_registry_new (const char *const *folders)
{
  PrismRegistry *self = g_object_new (PRISM_TYPE_REGISTRY, NULL);

  self->folders = folders != NULL ? prism_plugin_folders_exactly (folders) : prism_plugin_folders ();

  return self;
}

/* The first plug-in of a name wins, also when it is refused: to run another
 * file than the one that was put in front would be a surprise. */
static void
mark_shadowed (GPtrArray *infos)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < infos->len; i++)
    {
      PrismPluginInfo *info = infos->pdata[i];

      if (g_hash_table_add (seen, (gpointer)prism_plugin_info_get_name (info)))
        continue;
      if (prism_plugin_info_get_state (info) == PRISM_PLUGIN_STATE_FOUND)
        prism_plugin_info_set_shadowed (info);
    }
}

GPtrArray *
prism_registry_ensure_infos (PrismRegistry *self)
{
  G_GNUC_UNUSED g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  if (self->infos == NULL)
    {
      GPtrArray *infos = g_ptr_array_new_with_free_func (g_object_unref);
      PrismPluginAbove above = { 0 };

      for (guint i = 0; self->folders != NULL && i < self->folders->len; i++)
        prism_plugin_scan (self->folders->pdata[i], &above, infos);
      mark_shadowed (infos);
      self->infos = infos;
    }

  return self->infos;
}

static TypeEntry *
find_entry (PrismRegistry *self, const char *name, GType type)
{
  for (guint i = 0; i < self->types->len; i++)
    {
      TypeEntry *entry = self->types->pdata[i];

      if (g_str_equal (entry->name, name) && entry->type == type)
        return entry;
    }

  return NULL;
}

/* NULL: anything of that kind. */
static gboolean
offers (PrismPluginInfo *info, const PrismRegistryKind *kind, const char *name)
{
  const char *const *offered = kind->get_offered (info);

  return name != NULL ? g_strv_contains (offered, name) : offered[0] != NULL;
}

gboolean
prism_registry_add_entry (
    PrismRegistry *self, const char *name, GType type, int priority, PrismPluginInfo *info, GError **error)
{
  g_autoptr (GMutexLocker) locker = NULL;
  const PrismRegistryKind *kind = prism_registry_kind_of (type, error);
  TypeEntry *entry;

  if (kind == NULL)
    {
      g_prefix_error (error, "“%s”: ", name);
      return FALSE;
    }

  if (!prism_plugin_name_is_valid (name))
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_TYPE,
                   "“%s” is no %s name: a-z, then also 0-9 and “-”, at most 64", name, kind->noun);
      return FALSE;
    }
  if (info != NULL && !offers (info, kind, name))
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST,
                   "its load function adds the %s “%s”, which its manifest does not name under %s=", kind->noun, name,
                   kind->key);
      return FALSE;
    }

  locker = g_mutex_locker_new (&self->lock);
  if (find_entry (self, name, type) != NULL)
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_TYPE, "the type %s is already there as the %s “%s”",
                   g_type_name (type), kind->noun, name);
      return FALSE;
    }
  entry = g_new0 (TypeEntry, 1);
  entry->kind = kind;
  entry->name = g_strdup (name);
  entry->type = type;
  entry->priority = priority;
  entry->info = info;
  g_ptr_array_add (self->types, entry);

  return TRUE;
}

void
prism_registry_remove_types (PrismRegistry *self, PrismPluginInfo *info)
{
  G_GNUC_UNUSED g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  for (guint i = self->types->len; i > 0; i--)
    if (((TypeEntry *)self->types->pdata[i - 1])->info == info)
      g_ptr_array_remove_index (self->types, i - 1);
}

GType
prism_registry_best_type (PrismRegistry *self, const PrismRegistryKind *kind, const char *name, PrismPluginInfo *only)
{
  G_GNUC_UNUSED g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);
  TypeEntry *best = NULL;

  for (guint i = 0; i < self->types->len; i++)
    {
      TypeEntry *entry = self->types->pdata[i];

      if (entry->kind == kind && (name == NULL || g_str_equal (entry->name, name))
          && (only == NULL || entry->info == only) && (best == NULL || entry->priority > best->priority))
        best = entry;
    }

  return best != NULL ? best->type : G_TYPE_INVALID;
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

static void
add_name (GPtrArray *names, GHashTable *seen, const char *name)
{
  if (g_hash_table_contains (seen, name))
    return;
  g_ptr_array_add (names, g_strdup (name));
  g_hash_table_add (seen, g_ptr_array_index (names, names->len - 1));
}

static char **
list_names (PrismRegistry *self, const PrismRegistryKind *kind)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  GPtrArray *infos = prism_registry_ensure_infos (self);

  g_mutex_lock (&self->lock);
  for (guint i = 0; i < self->types->len; i++)
    if (((TypeEntry *)self->types->pdata[i])->kind == kind)
      add_name (names, seen, ((TypeEntry *)self->types->pdata[i])->name);
  g_mutex_unlock (&self->lock);

  for (guint i = 0; i < infos->len; i++)
    {
      const char *const *offered = kind->get_offered (infos->pdata[i]);

      for (guint j = 0; prism_plugin_info_get_state (infos->pdata[i]) == PRISM_PLUGIN_STATE_FOUND && offered[j] != NULL;
           j++)
        add_name (names, seen, offered[j]);
    }

  g_ptr_array_sort (names, compare_names);
  g_ptr_array_add (names, NULL);
  g_ptr_array_set_free_func (names, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

/* What there is, and who would have been it: an answer that can be acted on. */
static void
set_not_found (PrismRegistry *self, const PrismRegistryKind *kind, const char *name, GError **error)
{
  g_auto (GStrv) names = list_names (self, kind);
  g_autofree char *list = g_strjoinv (", ", names);
  g_autofree char *shown = name != NULL ? g_strescape (name, NULL) : NULL;
  g_autofree char *what = shown != NULL ? g_strdup_printf ("%s “%s”", kind->noun, shown) : g_strdup (kind->noun);

  if (names[0] == NULL)
    g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_NOT_FOUND,
                 "there is no %s, and no other: no plug-in was found that provides one; install libprism's "
                 "plug-ins, or name their folder in PRISM_PLUGIN_PATH",
                 what);
  else
    g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_NOT_FOUND, "there is no %s; there is: %s", what, list);
}

/* Loads who offers it. @name NULL: all that offer something of that kind. */
static GType
find_type (PrismRegistry *self, const PrismRegistryKind *kind, const char *name, GError **error)
{
  PrismPluginInfo *refused = NULL;
  GPtrArray *infos = prism_registry_ensure_infos (self);
  GType type;

  for (guint i = 0; i < infos->len; i++)
    {
      PrismPluginInfo *info = infos->pdata[i];
      gboolean offered = offers (info, kind, name);

      if (!offered && g_strcmp0 (prism_plugin_info_get_name (info), name) != 0)
        continue;
      if (offered && prism_plugin_info_get_state (info) == PRISM_PLUGIN_STATE_FOUND
          && !prism_registry_is_loading (self, info))
        prism_registry_load (self, info, NULL);
      if (refused == NULL && prism_plugin_info_get_state (info) == PRISM_PLUGIN_STATE_REFUSED)
        refused = info;
    }

  type = prism_registry_best_type (self, kind, name, NULL);
  if (type != G_TYPE_INVALID)
    return type;

  if (refused != NULL)
    prism_registry_fail_with_state (refused, error);
  else
    set_not_found (self, kind, name, error);
  return G_TYPE_INVALID;
}

/**
 * prism_registry_get_backend_type:
 * @self: a registry
 * @name: a backend's name
 * @error: return location for an error
 *
 * The type behind a name, for those who list its properties or set
 * construct-only ones. Loads the plug-ins that offer it.
 *
 * Returns: the type, or %G_TYPE_INVALID with @error set: %PRISM_PLUGIN_ERROR_NOT_FOUND if nobody offers it (the message
 *   lists what there is), or the error of the plug-in that does
 *
 * Since: 1.0
 */
GType
prism_registry_get_backend_type (PrismRegistry *self, const char *name, GError **error)
{
  g_return_val_if_fail (PRISM_IS_REGISTRY (self), G_TYPE_INVALID);
  g_return_val_if_fail (name != NULL, G_TYPE_INVALID);
  g_return_val_if_fail (error == NULL || *error == NULL, G_TYPE_INVALID);

  return find_type (self, &prism_registry_backends, name, error);
}

/**
 * prism_registry_create_backend:
 * @self: a registry
 * @name: a backend's name
 * @error: return location for an error
 *
 * Makes a backend, loading the plug-in that offers it if that has not happened.
 * Its options are the object's properties. Nothing is probed, started or
 * connected.
 *
 * Returns: (transfer full): the backend, or %NULL with @error set as by
 *   [method@Prism.Registry.get_backend_type]
 *
 * Since: 1.0
 */
PrismBackend *
prism_registry_create_backend (PrismRegistry *self, const char *name, GError **error)
{
  GType type;

  g_return_val_if_fail (PRISM_IS_REGISTRY (self), NULL);
  g_return_val_if_fail (name != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  type = prism_registry_get_backend_type (self, name, error);

  return type != G_TYPE_INVALID ? g_object_new (type, NULL) : NULL;
}

/**
 * prism_registry_list_backends:
 * @self: a registry
 *
 * The names of all backends that can be asked for: those that were added and
 * those that the manifests of plug-ins not yet loaded offer.
 *
 * Returns: (transfer full) (array zero-terminated=1): the names, sorted
 *
 * Since: 1.0
 */
char **
prism_registry_list_backends (PrismRegistry *self)
{
  g_return_val_if_fail (PRISM_IS_REGISTRY (self), NULL);

  return list_names (self, &prism_registry_backends);
}

/**
 * prism_registry_get_egress_proxy_type:
 * @self: a registry
 * @name: (nullable): an egress proxy's name; %NULL for the one of the highest priority
 * @error: return location for an error
 *
 * The type behind a name, for those who list its properties or set
 * construct-only ones. Loads the plug-ins that offer it.
 *
 * Returns: the type, or %G_TYPE_INVALID with @error set: %PRISM_PLUGIN_ERROR_NOT_FOUND if nobody offers it (the message
 *   lists what there is), or the error of the plug-in that does
 *
 * Since: 1.0
 */
GType
prism_registry_get_egress_proxy_type (PrismRegistry *self, const char *name, GError **error)
{
  g_return_val_if_fail (PRISM_IS_REGISTRY (self), G_TYPE_INVALID);
  g_return_val_if_fail (error == NULL || *error == NULL, G_TYPE_INVALID);

  return find_type (self, &prism_registry_egress_proxies, name, error);
}

/**
 * prism_registry_create_egress_proxy:
 * @self: a registry
 * @name: (nullable): an egress proxy's name; %NULL for the one of the highest priority
 * @error: return location for an error
 *
 * Makes an egress proxy, loading the plug-in that offers it if that has not
 * happened. Its options are the object's properties. Nothing is started.
 *
 * Returns: (transfer full): the proxy; %NULL with @error set as by
 *   [method@Prism.Registry.get_egress_proxy_type]
 *
 * Since: 1.0
 */
PrismEgressProxy *
prism_registry_create_egress_proxy (PrismRegistry *self, const char *name, GError **error)
{
  GType type;

  g_return_val_if_fail (PRISM_IS_REGISTRY (self), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  type = prism_registry_get_egress_proxy_type (self, name, error);

  return type != G_TYPE_INVALID ? g_object_new (type, NULL) : NULL;
}

/**
 * prism_registry_list_egress_proxies:
 * @self: a registry
 *
 * The names of all egress proxies that can be asked for: those that were added and
 * those that the manifests of plug-ins not yet loaded offer.
 *
 * Returns: (transfer full) (array zero-terminated=1): the names, sorted
 *
 * Since: 1.0
 */
char **
prism_registry_list_egress_proxies (PrismRegistry *self)
{
  g_return_val_if_fail (PRISM_IS_REGISTRY (self), NULL);

  return list_names (self, &prism_registry_egress_proxies);
}

static GType
list_model_get_item_type (GListModel *model)
{
  return PRISM_TYPE_PLUGIN_INFO;
}

static guint
list_model_get_n_items (GListModel *model)
{
  return prism_registry_ensure_infos (PRISM_REGISTRY (model))->len;
}

static gpointer
list_model_get_item (GListModel *model, guint position)
{
  GPtrArray *infos = prism_registry_ensure_infos (PRISM_REGISTRY (model));

  return position < infos->len ? g_object_ref (infos->pdata[position]) : NULL;
}

static void
list_model_iface_init (GListModelInterface *iface)
{
  iface->get_item_type = list_model_get_item_type;
  iface->get_n_items = list_model_get_n_items;
  iface->get_item = list_model_get_item;
}

static void
prism_registry_finalize (GObject *object)
{
  PrismRegistry *self = PRISM_REGISTRY (object);

  g_clear_pointer (&self->types, g_ptr_array_unref);
  g_clear_pointer (&self->infos, g_ptr_array_unref);
  g_clear_pointer (&self->folders, g_ptr_array_unref);
  g_mutex_clear (&self->lock);
  g_rec_mutex_clear (&self->load_lock);

  G_OBJECT_CLASS (prism_registry_parent_class)->finalize (object);
}

static void
prism_registry_class_init (PrismRegistryClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = prism_registry_finalize;
}

static void
prism_registry_init (PrismRegistry *self)
{
  g_mutex_init (&self->lock);
  g_rec_mutex_init (&self->load_lock);
  self->types = g_ptr_array_new_with_free_func ((GDestroyNotify)type_entry_free);
}
