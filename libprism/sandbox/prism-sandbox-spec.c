/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a caller asks of any backend: the object and its properties. Its methods
 * are in prism-sandbox-spec-fields.c and -egress.c, its judgement in -check.c. */
#include "prism-sandbox-spec-private.h"

#include "prism-enum-types.h"
#include "prism-limits-private.h"

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
  PROP_EGRESS_POLICY,
  PROP_CREDENTIALS,
  PROP_EGRESS_PROXY,
  PROP_AUDIT,
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

gboolean
prism_sandbox_spec_may_change (PrismSandboxSpec *self)
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
replace_items (GListStore *store, GListModel *items, const char *property)
{
  g_list_store_remove_all (store);
  for (guint i = 0; items != NULL && i < g_list_model_get_n_items (items); i++)
    {
      g_autoptr (GObject) item = g_list_model_get_item (items, i);
      if (G_TYPE_CHECK_INSTANCE_TYPE (item, g_list_model_get_item_type (G_LIST_MODEL (store))))
        g_list_store_append (store, item);
      else
        g_critical ("%s holds a %s", property, G_OBJECT_TYPE_NAME (item));
    }
}

static void
prism_sandbox_spec_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismSandboxSpec *self = PRISM_SANDBOX_SPEC (object);

  if (!prism_sandbox_spec_may_change (self))
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
      replace_items (self->mounts, g_value_get_object (value), pspec->name);
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
    case PROP_EGRESS_POLICY:
      g_set_object (&self->egress_policy, g_value_get_object (value));
      break;
    case PROP_CREDENTIALS:
      replace_items (self->credentials, g_value_get_object (value), pspec->name);
      break;
    case PROP_EGRESS_PROXY:
      g_set_object (&self->egress_proxy, g_value_get_object (value));
      break;
    case PROP_AUDIT:
      g_set_object (&self->audit, g_value_get_object (value));
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
    case PROP_EGRESS_POLICY:
      g_value_set_object (value, self->egress_policy);
      break;
    case PROP_CREDENTIALS:
      g_value_set_object (value, self->credentials);
      break;
    case PROP_EGRESS_PROXY:
      g_value_set_object (value, self->egress_proxy);
      break;
    case PROP_AUDIT:
      g_value_set_object (value, self->audit);
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
  g_clear_object (&self->egress_policy);
  g_object_unref (self->credentials);
  g_clear_object (&self->egress_proxy);
  g_clear_object (&self->audit);
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

  /**
   * PrismSandboxSpec:workspace:
   *
   * The host folder that is the workspace; %NULL = an empty one of the sandbox's own.
   *
   * Since: 1.0
   */
  props[PROP_WORKSPACE] = g_param_spec_object ("workspace", NULL, NULL, G_TYPE_FILE, flags);
  /**
   * PrismSandboxSpec:workspace-mode:
   *
   * What the sandbox may do with the workspace.
   *
   * Since: 1.0
   */
  props[PROP_WORKSPACE_MODE] =
      g_param_spec_enum ("workspace-mode", NULL, NULL, PRISM_TYPE_WORKSPACE_MODE, PRISM_WORKSPACE_MODE_DIRECT, flags);
  /**
   * PrismSandboxSpec:sandbox-path:
   *
   * Where the workspace is inside.
   *
   * Since: 1.0
   */
  props[PROP_SANDBOX_PATH] = g_param_spec_string ("sandbox-path", NULL, NULL, "/workspace", flags);
  /**
   * PrismSandboxSpec:mounts:
   *
   * Further host paths: a list of [class@Mount].
   *
   * Since: 1.0
   */
  props[PROP_MOUNTS] = g_param_spec_object ("mounts", NULL, NULL, G_TYPE_LIST_MODEL, flags);
  /**
   * PrismSandboxSpec:env:
   *
   * `NAME=VALUE`s for every command, on top of the sandbox's own small environment.
   *
   * Since: 1.0
   */
  props[PROP_ENV] = g_param_spec_boxed ("env", NULL, NULL, G_TYPE_STRV, flags);
  /**
   * PrismSandboxSpec:hide:
   *
   * Host paths that are not there inside, though something shown contains them.
   *
   * Since: 1.0
   */
  props[PROP_HIDE] = g_param_spec_boxed ("hide", NULL, NULL, G_TYPE_STRV, flags);
  /**
   * PrismSandboxSpec:protect:
   *
   * Host paths that are there inside, but not writable.
   *
   * Since: 1.0
   */
  props[PROP_PROTECT] = g_param_spec_boxed ("protect", NULL, NULL, G_TYPE_STRV, flags);
  /**
   * PrismSandboxSpec:labels:
   *
   * `KEY=VALUE`s that the backend attaches to what it makes.
   *
   * Since: 1.0
   */
  props[PROP_LABELS] = g_param_spec_boxed ("labels", NULL, NULL, G_TYPE_STRV, flags);
  /**
   * PrismSandboxSpec:allow-env:
   *
   * Names of variables that are refused otherwise: `LD_…`, `GCONV_PATH`, `BASH_ENV`, `ENV`.
   *
   * Since: 1.0
   */
  props[PROP_ALLOW_ENV] = g_param_spec_boxed ("allow-env", NULL, NULL, G_TYPE_STRV, flags);
  /**
   * PrismSandboxSpec:limits:
   *
   * Its limits; change them in place until a sandbox is made.
   *
   * Since: 1.0
   */
  props[PROP_LIMITS] = g_param_spec_object ("limits", NULL, NULL, PRISM_TYPE_LIMITS, flags);
  /**
   * PrismSandboxSpec:lifetime:
   *
   * What ends the sandbox.
   *
   * Since: 1.0
   */
  props[PROP_LIFETIME] = g_param_spec_enum ("lifetime", NULL, NULL, PRISM_TYPE_LIFETIME, PRISM_LIFETIME_HOST, flags);
  /**
   * PrismSandboxSpec:network:
   *
   * What the sandbox may reach.
   *
   * Since: 1.0
   */
  props[PROP_NETWORK] =
      g_param_spec_enum ("network", NULL, NULL, PRISM_TYPE_NETWORK_MODE, PRISM_NETWORK_MODE_NONE, flags);
  /**
   * PrismSandboxSpec:egress-policy:
   *
   * With network=egress: what may be reached.
   *
   * Since: 1.0
   */
  props[PROP_EGRESS_POLICY] = g_param_spec_object ("egress-policy", NULL, NULL, PRISM_TYPE_EGRESS_POLICY, flags);
  /**
   * PrismSandboxSpec:credentials:
   *
   * With network=egress: a list of [class@Credential] that requests get on their way out, and that are
   * nowhere inside.
   *
   * Since: 1.0
   */
  props[PROP_CREDENTIALS] = g_param_spec_object ("credentials", NULL, NULL, G_TYPE_LIST_MODEL, flags);
  /**
   * PrismSandboxSpec:egress-proxy:
   *
   * Whose listener the sandbox gets; %NULL for the process's own proxy.
   *
   * Since: 1.0
   */
  props[PROP_EGRESS_PROXY] = g_param_spec_object ("egress-proxy", NULL, NULL, PRISM_TYPE_EGRESS_PROXY, flags);
  /**
   * PrismSandboxSpec:audit:
   *
   * Where the proxy's decisions about the sandbox are written down.
   *
   * Since: 1.0
   */
  props[PROP_AUDIT] = g_param_spec_object ("audit", NULL, NULL, PRISM_TYPE_AUDIT_LOG, flags);
  /**
   * PrismSandboxSpec:require:
   *
   * The controls without which the sandbox is not to be made.
   *
   * Since: 1.0
   */
  props[PROP_REQUIRE] = g_param_spec_flags ("require", NULL, NULL, PRISM_TYPE_CONTROLS, PRISM_CONTROLS_NONE, flags);
  g_object_class_install_properties (object_class, N_PROPS, props);
}

static void
prism_sandbox_spec_init (PrismSandboxSpec *self)
{
  self->sandbox_path = g_strdup ("/workspace");
  self->mounts = g_list_store_new (PRISM_TYPE_MOUNT);
  self->limits = prism_limits_new (PRISM_LIMITS_PROFILE_STANDARD);
  self->credentials = g_list_store_new (PRISM_TYPE_CREDENTIAL);
}

/**
 * prism_sandbox_spec_new:
 * @workspace: (nullable): the host folder that is the workspace
 *
 * Makes a specification with everything else at its default.
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

void
prism_sandbox_spec_freeze (PrismSandboxSpec *self)
{
  prism_limits_freeze (prism_sandbox_spec_get_limits (self));
  g_atomic_int_set (&self->frozen, TRUE);
}
