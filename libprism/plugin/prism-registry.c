/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finding plug-ins and what they provide.
 *
 * Folders are read on first use, not on construction; a module is opened when
 * something that its manifest offers is first asked for. What the manifest says
 * binds the module: it may add neither more nor less. Two locks: @lock guards the
 * data and is never held while foreign code runs; @load_lock makes loads follow
 * one another and may be taken again by a plug-in's own load function.
 */
#include "prism-registry.h"

#include "prism-plugin-module-private.h"
#include "prism-plugin-scan-private.h"

#include <string.h>

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
struct _PrismRegistry
{
  GObject parent_instance;

  GRecMutex load_lock;

  GMutex lock;
  GPtrArray *folders; /* of PrismPluginFolder */
  GPtrArray *infos;   /* of PrismPluginInfo; NULL until the folders were read, fixed from then on */
  GPtrArray *types;   /* of TypeEntry */
};

typedef struct
{
  char *name;
  GType type;
  int priority;
  PrismPluginInfo *info; /* unowned; NULL: added by the application */
} TypeEntry;

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

static void list_model_iface_init (GListModelInterface *iface);

G_DEFINE_TYPE_WITH_CODE (PrismRegistry,
                         prism_registry,
                         G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, list_model_iface_init))

G_DEFINE_QUARK (prism-plugin-error-quark, prism_plugin_error);

static void
type_entry_free (TypeEntry *entry)
{
  g_free (entry->name);
  g_free (entry);
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
    g_once_init_leave (&instance, prism_registry_new (NULL));

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

static GPtrArray *
ensure_infos (PrismRegistry *self)
{
  G_GNUC_UNUSED g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  if (self->infos == NULL)
    {
      GPtrArray *infos = g_ptr_array_new_with_free_func (g_object_unref);

      for (guint i = 0; self->folders != NULL && i < self->folders->len; i++)
        prism_plugin_scan (self->folders->pdata[i], infos);
      mark_shadowed (infos);
      self->infos = infos;
    }

  return self->infos;
}

static gboolean
check_interface_properties (GObjectClass *klass, GError **error)
{
  gpointer iface = g_type_default_interface_ref (PRISM_TYPE_BACKEND);
  guint n = 0;
  g_autofree GParamSpec **pspecs = g_object_interface_list_properties (iface, &n);
  gboolean good = TRUE;

  for (guint i = 0; i < n && good; i++)
    {
      GParamSpec *own = g_object_class_find_property (klass, pspecs[i]->name);

      good = own != NULL && !G_TYPE_IS_INTERFACE (own->owner_type);
      if (!good)
        g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_TYPE,
                     "the type %s does not override the property “%s” of PrismBackend", G_OBJECT_CLASS_NAME (klass),
                     pspecs[i]->name);
    }
  g_type_default_interface_unref (iface);

  return good;
}

static gboolean
check_methods (GObjectClass *klass, GError **error)
{
  PrismBackendInterface *iface = g_type_interface_peek (klass, PRISM_TYPE_BACKEND);
  const char *missing = NULL;

  if (iface->get_name == NULL)
    missing = "get_name";
  else if (iface->probe == NULL)
    missing = "probe";
  else if (iface->create_sandbox == NULL)
    missing = "create_sandbox";
  if (missing == NULL)
    return TRUE;

  g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_TYPE,
               "the type %s does not implement %s(), which every backend has to", G_OBJECT_CLASS_NAME (klass), missing);
  return FALSE;
}

static gboolean
check_type (GType type, GError **error)
{
  gpointer klass;
  gboolean good;

  if (type == G_TYPE_INVALID || type == G_TYPE_NONE || g_type_name (type) == NULL)
    {
      g_set_error_literal (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_TYPE,
                           "the type could not be registered with GObject: most often because another plug-in or the "
                           "program has a type of the same name; type names carry their plug-in's name");
      return FALSE;
    }
  if (!G_TYPE_IS_OBJECT (type) || !g_type_is_a (type, PRISM_TYPE_BACKEND))
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_TYPE,
                   "the type %s does not implement the interface PrismBackend", g_type_name (type));
      return FALSE;
    }
  if (G_TYPE_IS_ABSTRACT (type))
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_TYPE, "the type %s is abstract", g_type_name (type));
      return FALSE;
    }

  klass = g_type_class_ref (type);
  good = check_methods (klass, error) && check_interface_properties (klass, error);
  g_type_class_unref (klass);

  return good;
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

static gboolean
add_type (PrismRegistry *self, const char *name, GType type, int priority, PrismPluginInfo *info, GError **error)
{
  g_autoptr (GMutexLocker) locker = NULL;
  TypeEntry *entry;

  if (!prism_plugin_name_is_valid (name))
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_TYPE,
                   "“%s” is no backend name: a-z, then also 0-9 and “-”, at most 64", name);
      return FALSE;
    }
  if (info != NULL && !prism_plugin_info_offers (info, name))
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST,
                   "its load function adds the backend “%s”, which its manifest does not name under Backends=", name);
      return FALSE;
    }
  if (!check_type (type, error))
    {
      g_prefix_error (error, "backend “%s”: ", name);
      return FALSE;
    }

  locker = g_mutex_locker_new (&self->lock);
  if (find_entry (self, name, type) != NULL)
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_TYPE,
                   "the type %s is already there as the backend “%s”", g_type_name (type), name);
      return FALSE;
    }
  entry = g_new0 (TypeEntry, 1);
  entry->name = g_strdup (name);
  entry->type = type;
  entry->priority = priority;
  entry->info = info;
  g_ptr_array_add (self->types, entry);

  return TRUE;
}

/**
 * prism_registry_add_type:
 * @self: a registry
 * @name: what the backend is asked for by
 * @type: an instantiable type that implements [iface@Prism.Backend]
 * @priority: of several with one name, the highest is made; of equal ones, the first
 * @error: return location for an error
 *
 * Adds a backend. Plug-ins call this from their load function; so can an
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
  if (add_type (self, name, type, priority, loading != NULL ? loading->info : NULL, &local))
    return TRUE;

  /* Whether or not its load function looks: the plug-in is refused for it. */
  if (loading != NULL && loading->error == NULL)
    loading->error = g_error_copy (local);
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

static void
remove_types (PrismRegistry *self, PrismPluginInfo *info)
{
  G_GNUC_UNUSED g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  for (guint i = self->types->len; i > 0; i--)
    if (((TypeEntry *)self->types->pdata[i - 1])->info == info)
      g_ptr_array_remove_index (self->types, i - 1);
}

static GType
best_type (PrismRegistry *self, const char *name, PrismPluginInfo *only)
{
  G_GNUC_UNUSED g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);
  TypeEntry *best = NULL;

  for (guint i = 0; i < self->types->len; i++)
    {
      TypeEntry *entry = self->types->pdata[i];

      if (g_str_equal (entry->name, name) && (only == NULL || entry->info == only)
          && (best == NULL || entry->priority > best->priority))
        best = entry;
    }

  return best != NULL ? best->type : G_TYPE_INVALID;
}

static gboolean
is_loading (PrismRegistry *self, PrismPluginInfo *info)
{
  for (Loading *loading = g_private_get (&loading_key); loading != NULL; loading = loading->outer)
    if (loading->registry == self && loading->info == info)
      return TRUE;

  return FALSE;
}

/* Opens the module and lets it add its types. */
static gboolean
run_load (PrismRegistry *self, PrismPluginInfo *info, GError **error)
{
  Loading loading = { g_private_get (&loading_key), self, info, NULL };
  const char *const *backends = prism_plugin_info_get_backends (info);
  const PrismPluginDescriptor *descriptor =
      prism_plugin_module_open (prism_plugin_info_get_module (info), prism_plugin_info_get_parsed (info), error);

  if (descriptor == NULL)
    return FALSE;

  g_private_set (&loading_key, &loading);
  descriptor->load (self);
  g_private_set (&loading_key, loading.outer);

  for (guint i = 0; loading.error == NULL && backends[i] != NULL; i++)
    if (best_type (self, backends[i], info) == G_TYPE_INVALID)
      loading.error =
          g_error_new (PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST,
                       "its manifest names the backend “%s”, which its load function does not add", backends[i]);
  if (loading.error == NULL)
    return TRUE;

  remove_types (self, info);
  g_propagate_error (error, loading.error);
  return FALSE;
}

static gboolean
fail_with_state (PrismPluginInfo *info, GError **error)
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
  g_return_val_if_fail (g_ptr_array_find (ensure_infos (self), info, NULL), FALSE);

  locker = g_rec_mutex_locker_new (&self->load_lock);
  switch (prism_plugin_info_get_state (info))
    {
    case PRISM_PLUGIN_STATE_LOADED:
      return TRUE;
    case PRISM_PLUGIN_STATE_SHADOWED:
    case PRISM_PLUGIN_STATE_REFUSED:
      return fail_with_state (info, error);
    case PRISM_PLUGIN_STATE_FOUND:
    default:
      break;
    }
  if (is_loading (self, info))
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
  return fail_with_state (info, error);
}

/* What there is, and who would have been it: an answer that can be acted on. */
static void
set_not_found (PrismRegistry *self, const char *name, GError **error)
{
  g_auto (GStrv) names = prism_registry_list_backends (self);
  g_autofree char *list = g_strjoinv (", ", names);
  g_autofree char *shown = g_strescape (name, NULL);

  if (names[0] == NULL)
    g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_NOT_FOUND,
                 "there is no backend “%s”, and no other: no plug-in was found that provides one; install libprism's "
                 "plug-ins, or name their folder in PRISM_PLUGIN_PATH",
                 shown);
  else
    g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_NOT_FOUND, "there is no backend “%s”; there is: %s",
                 shown, list);
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
  PrismPluginInfo *refused = NULL;
  GPtrArray *infos;
  GType type;

  g_return_val_if_fail (PRISM_IS_REGISTRY (self), G_TYPE_INVALID);
  g_return_val_if_fail (name != NULL, G_TYPE_INVALID);
  g_return_val_if_fail (error == NULL || *error == NULL, G_TYPE_INVALID);

  infos = ensure_infos (self);
  for (guint i = 0; i < infos->len; i++)
    {
      PrismPluginInfo *info = infos->pdata[i];
      PrismPluginState state = prism_plugin_info_get_state (info);

      if (!prism_plugin_info_offers (info, name) && !g_str_equal (prism_plugin_info_get_name (info), name))
        continue;
      if (state == PRISM_PLUGIN_STATE_FOUND && prism_plugin_info_offers (info, name) && !is_loading (self, info))
        prism_registry_load (self, info, NULL);
      if (refused == NULL && prism_plugin_info_get_state (info) == PRISM_PLUGIN_STATE_REFUSED)
        refused = info;
    }

  type = best_type (self, name, NULL);
  if (type != G_TYPE_INVALID)
    return type;

  if (refused != NULL)
    fail_with_state (refused, error);
  else
    set_not_found (self, name, error);
  return G_TYPE_INVALID;
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

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
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
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  GPtrArray *infos;

  g_return_val_if_fail (PRISM_IS_REGISTRY (self), NULL);

  infos = ensure_infos (self);
  g_mutex_lock (&self->lock);
  for (guint i = 0; i < self->types->len; i++)
    {
      const char *name = ((TypeEntry *)self->types->pdata[i])->name;

      if (!g_hash_table_contains (seen, name))
        {
          g_ptr_array_add (names, g_strdup (name));
          g_hash_table_add (seen, g_ptr_array_index (names, names->len - 1));
        }
    }
  g_mutex_unlock (&self->lock);

  for (guint i = 0; i < infos->len; i++)
    {
      const char *const *backends = prism_plugin_info_get_backends (infos->pdata[i]);

      if (prism_plugin_info_get_state (infos->pdata[i]) != PRISM_PLUGIN_STATE_FOUND)
        continue;
      for (guint j = 0; backends[j] != NULL; j++)
        if (!g_hash_table_contains (seen, backends[j]))
          {
            g_ptr_array_add (names, g_strdup (backends[j]));
            g_hash_table_add (seen, (gpointer)backends[j]);
          }
    }

  g_ptr_array_sort (names, compare_names);
  g_ptr_array_add (names, NULL);
  g_ptr_array_set_free_func (names, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

static GType
list_model_get_item_type (GListModel *model)
{
  return PRISM_TYPE_PLUGIN_INFO;
}

static guint
list_model_get_n_items (GListModel *model)
{
  return ensure_infos (PRISM_REGISTRY (model))->len;
}

static gpointer
list_model_get_item (GListModel *model, guint position)
{
  GPtrArray *infos = ensure_infos (PRISM_REGISTRY (model));

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
