/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-plugin-info-private.h"

#include "prism-enum-types.h"

/**
 * PrismPluginInfo:
 *
 * What is known of one plug-in: what its manifest says, and what became of it.
 *
 * All but the state is fixed. The state goes from found to loaded or refused at
 * most once, possibly in another thread; @notify of it comes in the thread that
 * loads.
 *
 * Since: 1.0
 */
struct _PrismPluginInfo
{
  GObject parent_instance;

  char *name;
  char *manifest_path;
  char *module_path;
  PrismPluginManifest *manifest; /* NULL where it could not be read */
  GError *error;                 /* set before the state is, and never changed after */
  int state;                     /* atomic */
};

enum
{
  PROP_NAME = 1,
  PROP_VERSION,
  PROP_LICENCE,
  PROP_DESCRIPTION,
  PROP_ABI,
  PROP_MANIFEST,
  PROP_MODULE,
  PROP_BACKENDS,
  PROP_EGRESS_PROXIES,
  PROP_STATE,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

G_DEFINE_TYPE (PrismPluginInfo, prism_plugin_info, G_TYPE_OBJECT)

PrismPluginInfo *
prism_plugin_info_new (const char *name, const char *manifest_path, PrismPluginManifest *manifest)
{
  PrismPluginInfo *self = g_object_new (PRISM_TYPE_PLUGIN_INFO, NULL);

  self->name = g_strdup (name);
  self->manifest_path = g_strdup (manifest_path);
  self->manifest = manifest;

  return self;
}

void
prism_plugin_info_set_module (PrismPluginInfo *self, const char *path)
{
  g_free (self->module_path);
  self->module_path = g_strdup (path);
}

static void
set_state (PrismPluginInfo *self, PrismPluginState state)
{
  g_atomic_int_set (&self->state, state);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE]);
}

void
prism_plugin_info_set_loaded (PrismPluginInfo *self)
{
  set_state (self, PRISM_PLUGIN_STATE_LOADED);
}

void
prism_plugin_info_set_shadowed (PrismPluginInfo *self)
{
  set_state (self, PRISM_PLUGIN_STATE_SHADOWED);
}

void
prism_plugin_info_take_error (PrismPluginInfo *self, GError *error)
{
  g_assert (self->error == NULL);

  self->error = error;
  set_state (self, PRISM_PLUGIN_STATE_REFUSED);
}

const PrismPluginManifest *
prism_plugin_info_get_parsed (PrismPluginInfo *self)
{
  return self->manifest;
}

/**
 * prism_plugin_info_get_name:
 * @self: a plug-in
 *
 * Its name. Of something in a plug-in folder that is no plug-in, the file's.
 *
 * Returns: (transfer none): the name
 *
 * Since: 1.0
 */
const char *
prism_plugin_info_get_name (PrismPluginInfo *self)
{
  g_return_val_if_fail (PRISM_IS_PLUGIN_INFO (self), NULL);

  return self->name;
}

/**
 * prism_plugin_info_get_version:
 * @self: a plug-in
 *
 * Gets the plug-in's own version, or %NULL if its manifest could not be read.
 *
 * Returns: (transfer none) (nullable): the plug-in's own version, or %NULL if its manifest could not be read
 *
 * Since: 1.0
 */
const char *
prism_plugin_info_get_version (PrismPluginInfo *self)
{
  g_return_val_if_fail (PRISM_IS_PLUGIN_INFO (self), NULL);

  return self->manifest != NULL ? self->manifest->version : NULL;
}

/**
 * prism_plugin_info_get_licence:
 * @self: a plug-in
 *
 * Gets its licence as an SPDX expression, or %NULL if its manifest could not be read.
 *
 * Returns: (transfer none) (nullable): its licence as an SPDX expression, or %NULL if its manifest could not be read
 *
 * Since: 1.0
 */
const char *
prism_plugin_info_get_licence (PrismPluginInfo *self)
{
  g_return_val_if_fail (PRISM_IS_PLUGIN_INFO (self), NULL);

  return self->manifest != NULL ? self->manifest->licence : NULL;
}

/**
 * prism_plugin_info_get_description:
 * @self: a plug-in
 *
 * Tells what it is, in one line, or %NULL if its manifest could not be read.
 *
 * Returns: (transfer none) (nullable): what it is, in one line, or %NULL if its manifest could not be read
 *
 * Since: 1.0
 */
const char *
prism_plugin_info_get_description (PrismPluginInfo *self)
{
  g_return_val_if_fail (PRISM_IS_PLUGIN_INFO (self), NULL);

  return self->manifest != NULL ? self->manifest->description : NULL;
}

/**
 * prism_plugin_info_get_abi:
 * @self: a plug-in
 *
 * Gets the plug-in ABI it was made for, as MAJOR.MINOR, or %NULL if its manifest could not be
 * read.
 *
 * Returns: (transfer none) (nullable): the plug-in ABI it was made for, as MAJOR.MINOR, or %NULL if its manifest could
 *   not be read
 *
 * Since: 1.0
 */
const char *
prism_plugin_info_get_abi (PrismPluginInfo *self)
{
  g_return_val_if_fail (PRISM_IS_PLUGIN_INFO (self), NULL);

  return self->manifest != NULL ? self->manifest->abi : NULL;
}

/**
 * prism_plugin_info_get_manifest:
 * @self: a plug-in
 *
 * Gets the path of its manifest, or %NULL if there is none.
 *
 * Returns: (transfer none) (type filename) (nullable): the path of its manifest, or %NULL if there is none
 *
 * Since: 1.0
 */
const char *
prism_plugin_info_get_manifest (PrismPluginInfo *self)
{
  g_return_val_if_fail (PRISM_IS_PLUGIN_INFO (self), NULL);

  return self->manifest_path;
}

/**
 * prism_plugin_info_get_module:
 * @self: a plug-in
 *
 * Gets the path of its module, or %NULL if that is not known.
 *
 * Returns: (transfer none) (type filename) (nullable): the path of its module, or %NULL if that is not known
 *
 * Since: 1.0
 */
const char *
prism_plugin_info_get_module (PrismPluginInfo *self)
{
  g_return_val_if_fail (PRISM_IS_PLUGIN_INFO (self), NULL);

  return self->module_path;
}

/**
 * prism_plugin_info_get_backends:
 * @self: a plug-in
 *
 * The names of the backends that its manifest says it provides.
 *
 * Returns: (transfer none) (array zero-terminated=1): the names
 *
 * Since: 1.0
 */
const char *const *
prism_plugin_info_get_backends (PrismPluginInfo *self)
{
  static const char *const none[] = { NULL };

  g_return_val_if_fail (PRISM_IS_PLUGIN_INFO (self), none);

  return self->manifest != NULL ? (const char *const *)self->manifest->backends : none;
}

/**
 * prism_plugin_info_get_egress_proxies:
 * @self: a plug-in
 *
 * The names of the egress proxies that its manifest says it provides.
 *
 * Returns: (transfer none) (array zero-terminated=1): the names
 *
 * Since: 1.0
 */
const char *const *
prism_plugin_info_get_egress_proxies (PrismPluginInfo *self)
{
  static const char *const none[] = { NULL };

  g_return_val_if_fail (PRISM_IS_PLUGIN_INFO (self), none);

  return self->manifest != NULL ? (const char *const *)self->manifest->egress_proxies : none;
}

/**
 * prism_plugin_info_get_state:
 * @self: a plug-in
 *
 * Tells what became of it so far.
 *
 * Returns: what became of it so far
 *
 * Since: 1.0
 */
PrismPluginState
prism_plugin_info_get_state (PrismPluginInfo *self)
{
  g_return_val_if_fail (PRISM_IS_PLUGIN_INFO (self), PRISM_PLUGIN_STATE_REFUSED);

  return g_atomic_int_get (&self->state);
}

/**
 * prism_plugin_info_get_error:
 * @self: a plug-in
 *
 * Why it is refused, and what to do about that.
 *
 * Returns: (transfer none) (nullable): the error of a refused plug-in; %NULL in every other state
 *
 * Since: 1.0
 */
const GError *
prism_plugin_info_get_error (PrismPluginInfo *self)
{
  g_return_val_if_fail (PRISM_IS_PLUGIN_INFO (self), NULL);

  return prism_plugin_info_get_state (self) == PRISM_PLUGIN_STATE_REFUSED ? self->error : NULL;
}

static void
prism_plugin_info_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismPluginInfo *self = PRISM_PLUGIN_INFO (object);

  switch (id)
    {
    case PROP_NAME:
      g_value_set_string (value, self->name);
      break;
    case PROP_VERSION:
      g_value_set_string (value, prism_plugin_info_get_version (self));
      break;
    case PROP_LICENCE:
      g_value_set_string (value, prism_plugin_info_get_licence (self));
      break;
    case PROP_DESCRIPTION:
      g_value_set_string (value, prism_plugin_info_get_description (self));
      break;
    case PROP_ABI:
      g_value_set_string (value, prism_plugin_info_get_abi (self));
      break;
    case PROP_MANIFEST:
      g_value_set_string (value, self->manifest_path);
      break;
    case PROP_MODULE:
      g_value_set_string (value, self->module_path);
      break;
    case PROP_BACKENDS:
      g_value_set_boxed (value, prism_plugin_info_get_backends (self));
      break;
    case PROP_EGRESS_PROXIES:
      g_value_set_boxed (value, prism_plugin_info_get_egress_proxies (self));
      break;
    case PROP_STATE:
      g_value_set_enum (value, prism_plugin_info_get_state (self));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_plugin_info_finalize (GObject *object)
{
  PrismPluginInfo *self = PRISM_PLUGIN_INFO (object);

  g_free (self->name);
  g_free (self->manifest_path);
  g_free (self->module_path);
  g_clear_pointer (&self->manifest, prism_plugin_manifest_free);
  g_clear_error (&self->error);

  G_OBJECT_CLASS (prism_plugin_info_parent_class)->finalize (object);
}

/**
 * PrismPluginInfo:abi:
 *
 * The plug-in ABI it was made for, as MAJOR.MINOR, or %NULL if its manifest could not be read.
 *
 * Since: 1.0
 */

/**
 * PrismPluginInfo:description:
 *
 * What it is, in one line, or %NULL if its manifest could not be read.
 *
 * Since: 1.0
 */

/**
 * PrismPluginInfo:licence:
 *
 * Its licence as an SPDX expression, or %NULL if its manifest could not be read.
 *
 * Since: 1.0
 */

/**
 * PrismPluginInfo:manifest:
 *
 * The path of its manifest, or %NULL if there is none.
 *
 * Since: 1.0
 */

/**
 * PrismPluginInfo:module:
 *
 * The path of its module, or %NULL if that is not known.
 *
 * Since: 1.0
 */

/**
 * PrismPluginInfo:name:
 *
 * The name.
 *
 * Since: 1.0
 */

/**
 * PrismPluginInfo:version:
 *
 * The plug-in's own version, or %NULL if its manifest could not be read.
 *
 * Since: 1.0
 */

static void
prism_plugin_info_class_init (PrismPluginInfoClass *klass)
{
  static const struct
  {
    guint id;
    const char *name;
  } strings[] = {
    { PROP_NAME, "name" },       { PROP_VERSION, "version" },
    { PROP_LICENCE, "licence" }, { PROP_DESCRIPTION, "description" },
    { PROP_ABI, "abi" },         { PROP_MANIFEST, "manifest" },
    { PROP_MODULE, "module" },
  };
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = prism_plugin_info_get_property;
  object_class->finalize = prism_plugin_info_finalize;

  for (guint i = 0; i < G_N_ELEMENTS (strings); i++)
    properties[strings[i].id] =
        g_param_spec_string (strings[i].name, NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  /**
   * PrismPluginInfo:backends:
   *
   * The names.
   *
   * Since: 1.0
   */
  properties[PROP_BACKENDS] =
      g_param_spec_boxed ("backends", NULL, NULL, G_TYPE_STRV, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  /**
   * PrismPluginInfo:egress-proxies:
   *
   * The names.
   *
   * Since: 1.0
   */
  properties[PROP_EGRESS_PROXIES] =
      g_param_spec_boxed ("egress-proxies", NULL, NULL, G_TYPE_STRV, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  /**
   * PrismPluginInfo:state:
   *
   * What became of it so far.
   *
   * Since: 1.0
   */
  properties[PROP_STATE] = g_param_spec_enum ("state", NULL, NULL, PRISM_TYPE_PLUGIN_STATE, PRISM_PLUGIN_STATE_FOUND,
                                              G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
prism_plugin_info_init (PrismPluginInfo *self)
{
}
