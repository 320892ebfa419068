/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Everything about a specification that can be judged without looking at the
 * machine is judged here, all offenders at once, before any side effect; what needs
 * a look (does the folder exist, may it be shown) is the backend's. */
#include "prism-sandbox-spec-private.h"

#include <string.h>

#include "prism-environment-private.h"
#include "prism-sandbox-error.h"

#define MAX_PATH    4095
#define MAX_NAME    255
#define MAX_ENTRIES 4096 /* of any list: mounts, labels, hide, protect */

/* Absolute, and says where it leads: no empty, "." or ".." component, and none that no
 * file can be called. */
static gboolean
is_plain_path (const char *path)
{
  if (path == NULL || path[0] != '/' || strlen (path) > MAX_PATH)
    return FALSE;
  for (const char *at = path; *at != '\0';)
    {
      gsize length = strcspn (at + 1, "/");
      if ((length == 0 && path[1] != '\0') || length > MAX_NAME)
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
    else if (paths[i][1] == '\0')
      prism_offend (offenders, "%s: “/” is everything; name what is meant", what);
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
  prism_sandbox_spec_check_egress (self, offenders);
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
