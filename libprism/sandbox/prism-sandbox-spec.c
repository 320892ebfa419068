/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a caller asks of any backend. Everything that can be judged without
 * looking at the machine is judged here, all offenders at once, before any side
 * effect; what needs a look (does the folder exist, may it be shown) is the
 * backend's. */
#include "prism-sandbox-spec-private.h"

#include <string.h>

#include "prism-enum-types.h"
#include "prism-environment-private.h"
#include "prism-limits-private.h"
#include "prism-sandbox-error.h"

#define MAX_PATH    4095
#define MAX_ENTRIES 4096 /* of any list: mounts, labels, hide, protect */

struct _PrismSandboxSpec
{
  GObject parent_instance;
  GFile *workspace;
  PrismWorkspaceMode workspace_mode;
  char *sandbox_path;
  GListStore *mounts;
  char **env, **secrets, **hide, **protect, **labels, **allow_env;
  PrismLimits *limits;
  PrismLifetime lifetime;
  PrismNetworkMode network;
  PrismControls require;
  gint frozen; /* atomic */
};

enum
{
  PROP_0,
  PROP_WORKSPACE,
  PROP_WORKSPACE_MODE,
  PROP_SANDBOX_PATH,
  PROP_MOUNTS,
  PROP_ENV,
  PROP_HIDE,
  PROP_PROTECT,
  PROP_LABELS,
  PROP_ALLOW_ENV,
  PROP_LIMITS,
  PROP_LIFETIME,
  PROP_NETWORK,
  PROP_REQUIRE,
  N_PROPS
};

static GParamSpec *props[N_PROPS];

/**
 * PrismSandboxSpec:
 *
 * What a caller asks of any backend. Frozen once a sandbox is made of it.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismSandboxSpec, prism_sandbox_spec, G_TYPE_OBJECT)

static gboolean
may_change (PrismSandboxSpec *self)
{
  if (!g_atomic_int_get (&self->frozen))
    return TRUE;
  g_critical ("a specification that a sandbox was made of cannot change any more");
  return FALSE;
}

static void
replace_strv (char ***list, const GValue *value)
{
  g_strfreev (*list);
  *list = g_value_dup_boxed (value);
}

static char ***
list_of (PrismSandboxSpec *self, guint id)
{
  switch (id)
    {
    case PROP_ENV:
      return &self->env;
    case PROP_HIDE:
      return &self->hide;
    case PROP_PROTECT:
      return &self->protect;
    case PROP_LABELS:
      return &self->labels;
    case PROP_ALLOW_ENV:
      return &self->allow_env;
    default:
      return NULL;
    }
}

static void
replace_mounts (PrismSandboxSpec *self, GListModel *mounts)
{
  g_list_store_remove_all (self->mounts);
  for (guint i = 0; mounts != NULL && i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (GObject) mount = g_list_model_get_item (mounts, i);
      if (PRISM_IS_MOUNT (mount))
        g_list_store_append (self->mounts, mount);
      else
        g_critical ("mounts holds a %s", G_OBJECT_TYPE_NAME (mount));
    }
}

static void
prism_sandbox_spec_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismSandboxSpec *self = PRISM_SANDBOX_SPEC (object);

  if (!may_change (self))
    return;
  switch (id)
    {
    case PROP_WORKSPACE:
      g_set_object (&self->workspace, g_value_get_object (value));
      break;
    case PROP_WORKSPACE_MODE:
      self->workspace_mode = g_value_get_enum (value);
      break;
    case PROP_SANDBOX_PATH:
      g_free (self->sandbox_path);
      self->sandbox_path = g_value_dup_string (value);
      break;
    case PROP_MOUNTS:
      replace_mounts (self, g_value_get_object (value));
      break;
    case PROP_ENV:
    case PROP_HIDE:
    case PROP_PROTECT:
    case PROP_LABELS:
    case PROP_ALLOW_ENV:
      replace_strv (list_of (self, id), value);
      break;
    case PROP_LIMITS:
      g_set_object (&self->limits, g_value_get_object (value));
      break;
    case PROP_LIFETIME:
      self->lifetime = g_value_get_enum (value);
      break;
    case PROP_NETWORK:
      self->network = g_value_get_enum (value);
      break;
    case PROP_REQUIRE:
      self->require = g_value_get_flags (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_sandbox_spec_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismSandboxSpec *self = PRISM_SANDBOX_SPEC (object);

  switch (id)
    {
    case PROP_WORKSPACE:
      g_value_set_object (value, self->workspace);
      break;
    case PROP_WORKSPACE_MODE:
      g_value_set_enum (value, self->workspace_mode);
      break;
    case PROP_SANDBOX_PATH:
      g_value_set_string (value, self->sandbox_path);
      break;
    case PROP_MOUNTS:
      g_value_set_object (value, self->mounts);
      break;
    case PROP_ENV:
    case PROP_HIDE:
    case PROP_PROTECT:
    case PROP_LABELS:
    case PROP_ALLOW_ENV:
      g_value_set_boxed (value, *list_of (self, id));
      break;
    case PROP_LIMITS:
      g_value_set_object (value, self->limits);
      break;
    case PROP_LIFETIME:
      g_value_set_enum (value, self->lifetime);
      break;
    case PROP_NETWORK:
      g_value_set_enum (value, self->network);
      break;
    case PROP_REQUIRE:
      g_value_set_flags (value, self->require);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_sandbox_spec_finalize (GObject *object)
{
  PrismSandboxSpec *self = PRISM_SANDBOX_SPEC (object);

  g_clear_object (&self->workspace);
  g_free (self->sandbox_path);
  g_object_unref (self->mounts);
  g_strfreev (self->env);
  g_strfreev (self->secrets);
  g_strfreev (self->hide);
  g_strfreev (self->protect);
  g_strfreev (self->labels);
  g_strfreev (self->allow_env);
  g_clear_object (&self->limits);
  G_OBJECT_CLASS (prism_sandbox_spec_parent_class)->finalize (object);
}

static void
prism_sandbox_spec_class_init (PrismSandboxSpecClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;

  object_class->set_property = prism_sandbox_spec_set_property;
  object_class->get_property = prism_sandbox_spec_get_property;
  object_class->finalize = prism_sandbox_spec_finalize;

  props[PROP_WORKSPACE] = g_param_spec_object ("workspace", NULL, NULL, G_TYPE_FILE, flags);
  props[PROP_WORKSPACE_MODE] =
      g_param_spec_enum ("workspace-mode", NULL, NULL, PRISM_TYPE_WORKSPACE_MODE, PRISM_WORKSPACE_MODE_DIRECT, flags);
  props[PROP_SANDBOX_PATH] = g_param_spec_string ("sandbox-path", NULL, NULL, "/workspace", flags);
  props[PROP_MOUNTS] = g_param_spec_object ("mounts", NULL, NULL, G_TYPE_LIST_MODEL, flags);
  props[PROP_ENV] = g_param_spec_boxed ("env", NULL, NULL, G_TYPE_STRV, flags);
  props[PROP_HIDE] = g_param_spec_boxed ("hide", NULL, NULL, G_TYPE_STRV, flags);
  props[PROP_PROTECT] = g_param_spec_boxed ("protect", NULL, NULL, G_TYPE_STRV, flags);
  props[PROP_LABELS] = g_param_spec_boxed ("labels", NULL, NULL, G_TYPE_STRV, flags);
  props[PROP_ALLOW_ENV] = g_param_spec_boxed ("allow-env", NULL, NULL, G_TYPE_STRV, flags);
  props[PROP_LIMITS] = g_param_spec_object ("limits", NULL, NULL, PRISM_TYPE_LIMITS, flags);
  props[PROP_LIFETIME] = g_param_spec_enum ("lifetime", NULL, NULL, PRISM_TYPE_LIFETIME, PRISM_LIFETIME_HOST, flags);
  props[PROP_NETWORK] =
      g_param_spec_enum ("network", NULL, NULL, PRISM_TYPE_NETWORK_MODE, PRISM_NETWORK_MODE_NONE, flags);
  props[PROP_REQUIRE] = g_param_spec_flags ("require", NULL, NULL, PRISM_TYPE_CONTROLS, PRISM_CONTROLS_NONE, flags);
  g_object_class_install_properties (object_class, N_PROPS, props);
}

static void
prism_sandbox_spec_init (PrismSandboxSpec *self)
{
  self->sandbox_path = g_strdup ("/workspace");
  self->mounts = g_list_store_new (PRISM_TYPE_MOUNT);
  self->limits = prism_limits_new (PRISM_LIMITS_PROFILE_STANDARD);
}

/**
 * prism_sandbox_spec_new:
 * @workspace: (nullable): the host folder that is the workspace
 *
 * Returns: (transfer full): a specification with everything else at its default
 *
 * Since: 1.0
 */
PrismSandboxSpec *
prism_sandbox_spec_new (GFile *workspace)
{
  g_return_val_if_fail (workspace == NULL || G_IS_FILE (workspace), NULL);
  return g_object_new (PRISM_TYPE_SANDBOX_SPEC, "workspace", workspace, NULL);
}

/**
 * prism_sandbox_spec_get_workspace:
 * @self: a specification
 *
 * Returns: (transfer none) (nullable): the host folder that is the workspace;
 *   %NULL = an empty one of the sandbox's own
 *
 * Since: 1.0
 */
GFile *
prism_sandbox_spec_get_workspace (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), NULL);
  return self->workspace;
}

/**
 * prism_sandbox_spec_get_workspace_mode:
 * @self: a specification
 *
 * Returns: what the sandbox may do with the workspace
 *
 * Since: 1.0
 */
PrismWorkspaceMode
prism_sandbox_spec_get_workspace_mode (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), PRISM_WORKSPACE_MODE_READONLY);
  return self->workspace_mode;
}

/**
 * prism_sandbox_spec_get_sandbox_path:
 * @self: a specification
 *
 * Returns: (transfer none): where the workspace is inside
 *
 * Since: 1.0
 */
const char *
prism_sandbox_spec_get_sandbox_path (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), NULL);
  return self->sandbox_path;
}

/**
 * prism_sandbox_spec_get_mounts:
 * @self: a specification
 *
 * Returns: (transfer none): further host paths: a list of [class@Mount]
 *
 * Since: 1.0
 */
GListModel *
prism_sandbox_spec_get_mounts (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), NULL);
  return G_LIST_MODEL (self->mounts);
}

/**
 * prism_sandbox_spec_add_mount:
 * @self: a specification that no sandbox is made of yet
 * @mount: one more host path
 *
 * Since: 1.0
 */
void
prism_sandbox_spec_add_mount (PrismSandboxSpec *self, PrismMount *mount)
{
  g_return_if_fail (PRISM_IS_SANDBOX_SPEC (self));
  g_return_if_fail (PRISM_IS_MOUNT (mount));

  if (may_change (self))
    g_list_store_append (self->mounts, mount);
}

/**
 * prism_sandbox_spec_get_env:
 * @self: a specification
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): `NAME=VALUE`s
 *   for every command, on top of the sandbox's own small environment
 *
 * Since: 1.0
 */
const char *const *
prism_sandbox_spec_get_env (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), NULL);
  return (const char *const *)self->env;
}

/**
 * prism_sandbox_spec_set_variable:
 * @self: a specification that no sandbox is made of yet
 * @name: a variable's name
 * @value: its value
 *
 * Since: 1.0
 */
void
prism_sandbox_spec_set_variable (PrismSandboxSpec *self, const char *name, const char *value)
{
  g_return_if_fail (PRISM_IS_SANDBOX_SPEC (self));
  g_return_if_fail (name != NULL && value != NULL);

  if (may_change (self))
    self->env = prism_environment_set (self->env, name, value);
}

/**
 * prism_sandbox_spec_add_secret:
 * @self: a specification that no sandbox is made of yet
 * @name: a variable's name
 * @value: its value: in the environment of every command, and redacted
 *   everywhere else
 *
 * Since: 1.0
 */
void
prism_sandbox_spec_add_secret (PrismSandboxSpec *self, const char *name, const char *value)
{
  g_return_if_fail (PRISM_IS_SANDBOX_SPEC (self));
  g_return_if_fail (name != NULL && value != NULL);

  if (may_change (self))
    self->secrets = prism_environment_set (self->secrets, name, value);
}

/**
 * prism_sandbox_spec_get_secrets:
 * @self: a specification
 *
 * For backends only. There is no property of them, so that nothing that lists
 * properties shows one.
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): `NAME=VALUE`s
 *
 * Since: 1.0
 */
const char *const *
prism_sandbox_spec_get_secrets (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), NULL);
  return (const char *const *)self->secrets;
}

static char **
append (char **list, char *entry)
{
  gsize n = list != NULL ? g_strv_length (list) : 0;

  list = g_renew (char *, list, n + 2);
  list[n] = entry;
  list[n + 1] = NULL;
  return list;
}

/**
 * prism_sandbox_spec_get_hide:
 * @self: a specification
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): host paths that
 *   are not there inside, though something shown contains them
 *
 * Since: 1.0
 */
const char *const *
prism_sandbox_spec_get_hide (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), NULL);
  return (const char *const *)self->hide;
}

/**
 * prism_sandbox_spec_add_hide:
 * @self: a specification that no sandbox is made of yet
 * @path: an absolute host path
 *
 * Since: 1.0
 */
void
prism_sandbox_spec_add_hide (PrismSandboxSpec *self, const char *path)
{
  g_return_if_fail (PRISM_IS_SANDBOX_SPEC (self));
  g_return_if_fail (path != NULL);

  if (may_change (self))
    self->hide = append (self->hide, g_strdup (path));
}

/**
 * prism_sandbox_spec_get_protect:
 * @self: a specification
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): host paths that
 *   are there inside, but not writable
 *
 * Since: 1.0
 */
const char *const *
prism_sandbox_spec_get_protect (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), NULL);
  return (const char *const *)self->protect;
}

/**
 * prism_sandbox_spec_add_protect:
 * @self: a specification that no sandbox is made of yet
 * @path: an absolute host path
 *
 * Since: 1.0
 */
void
prism_sandbox_spec_add_protect (PrismSandboxSpec *self, const char *path)
{
  g_return_if_fail (PRISM_IS_SANDBOX_SPEC (self));
  g_return_if_fail (path != NULL);

  if (may_change (self))
    self->protect = append (self->protect, g_strdup (path));
}

/**
 * prism_sandbox_spec_get_labels:
 * @self: a specification
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): `KEY=VALUE`s
 *   that the backend attaches to what it makes
 *
 * Since: 1.0
 */
const char *const *
prism_sandbox_spec_get_labels (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), NULL);
  return (const char *const *)self->labels;
}

/**
 * prism_sandbox_spec_add_label:
 * @self: a specification that no sandbox is made of yet
 * @key: without white space and `=`; names that start with `prism.` are reserved
 * @value: without line breaks
 *
 * Since: 1.0
 */
void
prism_sandbox_spec_add_label (PrismSandboxSpec *self, const char *key, const char *value)
{
  g_return_if_fail (PRISM_IS_SANDBOX_SPEC (self));
  g_return_if_fail (key != NULL && value != NULL);

  if (may_change (self))
    self->labels = append (self->labels, g_strconcat (key, "=", value, NULL));
}

/**
 * prism_sandbox_spec_get_allow_env:
 * @self: a specification
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): names of
 *   variables that are refused otherwise: `LD_…`, `GCONV_PATH`, `BASH_ENV`, `ENV`
 *
 * Since: 1.0
 */
const char *const *
prism_sandbox_spec_get_allow_env (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), NULL);
  return (const char *const *)self->allow_env;
}

/**
 * prism_sandbox_spec_get_limits:
 * @self: a specification
 *
 * Returns: (transfer none): its limits; change them in place until a sandbox is made
 *
 * Since: 1.0
 */
PrismLimits *
prism_sandbox_spec_get_limits (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), NULL);

  if (self->limits == NULL)
    self->limits = prism_limits_new (PRISM_LIMITS_PROFILE_STANDARD);
  return self->limits;
}

/**
 * prism_sandbox_spec_get_lifetime:
 * @self: a specification
 *
 * Returns: what ends the sandbox
 *
 * Since: 1.0
 */
PrismLifetime
prism_sandbox_spec_get_lifetime (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), PRISM_LIFETIME_HOST);
  return self->lifetime;
}

/**
 * prism_sandbox_spec_get_network:
 * @self: a specification
 *
 * Returns: what the sandbox may reach
 *
 * Since: 1.0
 */
PrismNetworkMode
prism_sandbox_spec_get_network (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), PRISM_NETWORK_MODE_NONE);
  return self->network;
}

/**
 * prism_sandbox_spec_get_require:
 * @self: a specification
 *
 * Returns: the controls without which the sandbox is not to be made
 *
 * Since: 1.0
 */
PrismControls
prism_sandbox_spec_get_require (PrismSandboxSpec *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), PRISM_CONTROLS_NONE);
  return self->require;
}

void
prism_sandbox_spec_freeze (PrismSandboxSpec *self)
{
  prism_limits_freeze (prism_sandbox_spec_get_limits (self));
  g_atomic_int_set (&self->frozen, TRUE);
}

/* --- validation ---------------------------------------------------------------- */

/* Absolute, and says where it leads: no empty, "." or ".." component. */
static gboolean
is_plain_path (const char *path)
{
  if (path == NULL || path[0] != '/' || strlen (path) > MAX_PATH)
    return FALSE;
  for (const char *at = path; *at != '\0';)
    {
      gsize length = strcspn (at + 1, "/");
      if (length == 0 && path[1] != '\0')
        return FALSE;
      if ((length == 1 && at[1] == '.') || (length == 2 && at[1] == '.' && at[2] == '.'))
        return FALSE;
      at += 1 + length;
    }
  return TRUE;
}

static void
check_paths (const char *const *paths, const char *what, GString *offenders)
{
  for (gsize i = 0; paths != NULL && paths[i] != NULL; i++)
    if (!is_plain_path (paths[i]))
      prism_offend (offenders, "%s: “%s” is not a plain absolute path", what, prism_printable (paths[i]));
}

static void
check_mounts (PrismSandboxSpec *self, GString *offenders)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  guint n = g_list_model_get_n_items (G_LIST_MODEL (self->mounts));

  if (n > MAX_ENTRIES)
    prism_offend (offenders, "mounts: more than %d", MAX_ENTRIES);
  for (guint i = 0; i < n && i < MAX_ENTRIES; i++)
    {
      g_autoptr (PrismMount) mount = g_list_model_get_item (G_LIST_MODEL (self->mounts), i);
      GFile *source = prism_mount_get_source (mount);
      const char *destination = prism_mount_get_destination (mount);

      if (source == NULL || g_file_peek_path (source) == NULL)
        prism_offend (offenders, "mounts: number %u has no local source", i + 1);
      else if (!is_plain_path (destination) || destination[1] == '\0')
        prism_offend (offenders, "mounts: destination “%s” is not a plain absolute path",
                      prism_printable (destination != NULL ? destination : ""));
      else if (strcmp (destination, self->sandbox_path != NULL ? self->sandbox_path : "") == 0)
        prism_offend (offenders, "mounts: destination “%s” is the workspace", prism_printable (destination));
      else if (!g_hash_table_add (seen, (gpointer)destination)) /* the mount, and it with it, lives in the list */
        prism_offend (offenders, "mounts: destination “%s” twice", prism_printable (destination));
    }
}

static void
check_label (const char *label, GString *offenders)
{
  gssize length = prism_environment_name_length (label);

  if (length < 0)
    prism_offend (offenders, "labels: “%s” is not KEY=VALUE", prism_printable (label));
  else if (length == 0 || strcspn (label, " \t\r\n\v\f=") < (gsize)length)
    prism_offend (offenders, "labels: the key of “%s” is empty or has white space", prism_printable (label));
  else if (g_str_has_prefix (label, "prism."))
    prism_offend (offenders, "labels: “%s”: keys that start with prism. are reserved", prism_printable (label));
  else if (strpbrk (label + length + 1, "\r\n") != NULL)
    prism_offend (offenders, "labels: the value of “%s” has a line break", prism_printable (label));
}

static void
check_lists (PrismSandboxSpec *self, GString *offenders)
{
  char **const lists[] = { self->labels, self->hide, self->protect, self->allow_env };

  for (gsize i = 0; i < G_N_ELEMENTS (lists); i++)
    if (lists[i] != NULL && g_strv_length (lists[i]) > MAX_ENTRIES)
      {
        prism_offend (offenders, "labels, hide, protect or allow-env: more than %d", MAX_ENTRIES);
        return;
      }
  check_paths ((const char *const *)self->hide, "hide", offenders);
  check_paths ((const char *const *)self->protect, "protect", offenders);
  for (gsize i = 0; self->labels != NULL && self->labels[i] != NULL; i++)
    check_label (self->labels[i], offenders);
}

/* Both together are what a command gets. */
static void
check_amount (PrismSandboxSpec *self, const char *const *more, GString *offenders)
{
  gint64 names = 0, bytes = 0;
  gint64 max_names = prism_limits_get (self->limits, "max-env-names");
  gint64 max_bytes = prism_limits_get (self->limits, "max-env-bytes");

  prism_environment_count ((const char *const *)self->env, &names, &bytes);
  prism_environment_count ((const char *const *)self->secrets, &names, &bytes);
  prism_environment_count (more, &names, &bytes);
  if (names > max_names)
    prism_offend (offenders, "env: %" G_GINT64_FORMAT " variables, and max-env-names is %" G_GINT64_FORMAT, names,
                  max_names);
  if (bytes > max_bytes)
    prism_offend (offenders, "env: %" G_GINT64_FORMAT " bytes, and max-env-bytes is %" G_GINT64_FORMAT, bytes,
                  max_bytes);
}

static void
check_environment (PrismSandboxSpec *self, GString *offenders)
{
  const char *const *allowed = (const char *const *)self->allow_env;

  prism_environment_check_names ((const char *const *)self->env, "env", offenders);
  prism_environment_check_names ((const char *const *)self->secrets, "secrets", offenders);
  prism_environment_check_dangerous ((const char *const *)self->env, allowed, "env", offenders);
  prism_environment_check_dangerous ((const char *const *)self->secrets, allowed, "secrets", offenders);
  check_amount (self, NULL, offenders);
}

static void
check_rest (PrismSandboxSpec *self, GString *offenders)
{
  if (self->workspace != NULL && g_file_peek_path (self->workspace) == NULL)
    prism_offend (offenders, "workspace: not a local folder");
  if (!is_plain_path (self->sandbox_path) || self->sandbox_path[1] == '\0')
    prism_offend (offenders, "sandbox-path: “%s” is not a plain absolute path other than /",
                  prism_printable (self->sandbox_path != NULL ? self->sandbox_path : ""));
  if (self->lifetime == PRISM_LIFETIME_DETACHED && prism_limits_get (self->limits, "wall-time-ms") == 0)
    prism_offend (offenders, "lifetime: detached needs the limit wall-time-ms");
}

/**
 * prism_sandbox_spec_check:
 * @self: a specification
 * @error: return location for a [error@SandboxError] or [error@LimitError]
 *
 * Everything that is wrong with it, before any side effect, in one error.
 *
 * Returns: whether nothing is
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_spec_check (PrismSandboxSpec *self, GError **error)
{
  g_autoptr (GString) offenders = NULL;
  g_autoptr (GError) limits = NULL;

  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  offenders = g_string_new (NULL);
  prism_limits_check (prism_sandbox_spec_get_limits (self), &limits);
  check_rest (self, offenders);
  check_mounts (self, offenders);
  check_lists (self, offenders);
  check_environment (self, offenders);
  if (limits != NULL && offenders->len == 0)
    {
      g_propagate_error (error, g_steal_pointer (&limits));
      return FALSE;
    }
  if (limits != NULL)
    prism_offend (offenders, "limits %s", limits->message);
  return prism_offend_report (offenders, error);
}

/**
 * prism_sandbox_spec_check_command:
 * @self: what the sandbox was made of
 * @command: a command for it
 * @error: return location for a [error@SandboxError]
 *
 * What depends on the sandbox: its variables together with the sandbox's, names
 * that must be allowed, and the timeout. For those who implement `exec` and
 * `start_process`; [method@Command.check] was called before.
 *
 * Returns: whether nothing is wrong
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_spec_check_command (PrismSandboxSpec *self, PrismCommand *command, GError **error)
{
  g_autoptr (GString) offenders = NULL;
  const char *const *env;
  gint64 most;

  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), FALSE);
  g_return_val_if_fail (PRISM_IS_COMMAND (command), FALSE);

  most = prism_limits_get (self->limits, "max-timeout-ms");
  env = prism_command_get_env (command);
  if (env == NULL && (most == 0 || prism_command_get_timeout_ms (command) <= most))
    return TRUE;
  offenders = g_string_new (NULL);
  prism_environment_check_dangerous (env, (const char *const *)self->allow_env, "env", offenders);
  check_amount (self, env, offenders);
  if (most != 0 && prism_command_get_timeout_ms (command) > most)
    prism_offend (offenders, "timeout-ms = %" G_GINT64_FORMAT " (allowed: 1 to %" G_GINT64_FORMAT ")",
                  prism_command_get_timeout_ms (command), most);
  return prism_offend_report (offenders, error);
}
