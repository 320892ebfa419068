/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a specification holds, field by field. */
#include "prism-sandbox-spec-private.h"

#include "prism-environment-private.h"

/**
 * prism_sandbox_spec_get_workspace:
 * @self: a specification
 *
 * Gets the host folder that is the workspace; %NULL = an empty one of the sandbox's own.
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
 * Tells what the sandbox may do with the workspace.
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
 * Tells where the workspace is inside.
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
 * Gets further host paths: a list of [class@Mount].
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
 * Adds a host path that is shown inside.
 *
 * Since: 1.0
 */
void
prism_sandbox_spec_add_mount (PrismSandboxSpec *self, PrismMount *mount)
{
  g_return_if_fail (PRISM_IS_SANDBOX_SPEC (self));
  g_return_if_fail (PRISM_IS_MOUNT (mount));

  if (prism_sandbox_spec_may_change (self))
    g_list_store_append (self->mounts, mount);
}

/**
 * prism_sandbox_spec_get_env:
 * @self: a specification
 *
 * Gets `NAME=VALUE`s for every command, on top of the sandbox's own small environment.
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
 * Sets one variable of the environment of every command.
 *
 * Since: 1.0
 */
void
prism_sandbox_spec_set_variable (PrismSandboxSpec *self, const char *name, const char *value)
{
  g_return_if_fail (PRISM_IS_SANDBOX_SPEC (self));
  g_return_if_fail (name != NULL && value != NULL);

  if (prism_sandbox_spec_may_change (self))
    self->env = prism_environment_set (self->env, name, value);
}

/**
 * prism_sandbox_spec_add_secret:
 * @self: a specification that no sandbox is made of yet
 * @name: a variable's name
 * @value: its value: in the environment of every command, and redacted
 *   everywhere else
 *
 * Adds a secret variable.
 *
 * Since: 1.0
 */
void
prism_sandbox_spec_add_secret (PrismSandboxSpec *self, const char *name, const char *value)
{
  g_return_if_fail (PRISM_IS_SANDBOX_SPEC (self));
  g_return_if_fail (name != NULL && value != NULL);

  if (prism_sandbox_spec_may_change (self))
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
 * Gets host paths that are not there inside, though something shown contains them.
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
 * Adds a path that is not there inside.
 *
 * Since: 1.0
 */
void
prism_sandbox_spec_add_hide (PrismSandboxSpec *self, const char *path)
{
  g_return_if_fail (PRISM_IS_SANDBOX_SPEC (self));
  g_return_if_fail (path != NULL);

  if (prism_sandbox_spec_may_change (self))
    self->hide = append (self->hide, g_strdup (path));
}

/**
 * prism_sandbox_spec_get_protect:
 * @self: a specification
 *
 * Gets host paths that are there inside, but not writable.
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
 * Adds a path that is there inside, and not writable.
 *
 * Since: 1.0
 */
void
prism_sandbox_spec_add_protect (PrismSandboxSpec *self, const char *path)
{
  g_return_if_fail (PRISM_IS_SANDBOX_SPEC (self));
  g_return_if_fail (path != NULL);

  if (prism_sandbox_spec_may_change (self))
    self->protect = append (self->protect, g_strdup (path));
}

/**
 * prism_sandbox_spec_get_labels:
 * @self: a specification
 *
 * Gets `KEY=VALUE`s that the backend attaches to what it makes.
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
 * Adds a label.
 *
 * Since: 1.0
 */
void
prism_sandbox_spec_add_label (PrismSandboxSpec *self, const char *key, const char *value)
{
  g_return_if_fail (PRISM_IS_SANDBOX_SPEC (self));
  g_return_if_fail (key != NULL && value != NULL);

  if (prism_sandbox_spec_may_change (self))
    self->labels = append (self->labels, g_strconcat (key, "=", value, NULL));
}

/**
 * prism_sandbox_spec_get_allow_env:
 * @self: a specification
 *
 * Gets names of variables that are refused otherwise: `LD_…`, `GCONV_PATH`, `BASH_ENV`, `ENV`.
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
 * Gets its limits; change them in place until a sandbox is made.
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
 * Tells what ends the sandbox.
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
 * Tells what the sandbox may reach.
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
 * Gets the controls without which the sandbox is not to be made.
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
