/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A specification as one value, for a backend that must have it again when another host
 * connects to what was made of it.
 *
 * TRUST. What is read is checked as any specification is: bounded, and what does not fit
 * is refused. */
#include "prism-sandbox-spec-private.h"

#include <string.h>

#include "prism-sandbox-error.h"

/* Paths and variables are bytes, not text. */
#define SPEC_TYPE "(mayuayaayaayaayaayaayaaya(aybmay)uua{sx})"
#define CONTROLS                                                                                                       \
  (PRISM_CONTROLS_FILESYSTEM | PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_PROCESS | PRISM_CONTROLS_PRIVILEGE              \
   | PRISM_CONTROLS_EGRESS | PRISM_CONTROLS_WORKSPACE)

/* --- writing ------------------------------------------------------------------------ */

static GVariant *
strings (const char *const *list)
{
  static const char *const none[] = { NULL };
  return g_variant_new_bytestring_array (list != NULL ? list : none, -1);
}

static GVariant *
maybe (const char *text)
{
  return g_variant_new_maybe (G_VARIANT_TYPE_BYTESTRING, text != NULL ? g_variant_new_bytestring (text) : NULL);
}

static const char *
path_of (GFile *file)
{
  return file != NULL ? g_file_peek_path (file) : NULL;
}

static GVariant *
list_mounts (GListModel *mounts)
{
  GVariantBuilder builder = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(aybmay)"));

  for (guint i = 0; i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (PrismMount) mount = g_list_model_get_item (mounts, i);
      g_variant_builder_add (&builder, "(^aybm@ay)", path_of (prism_mount_get_source (mount)),
                             prism_mount_get_writable (mount),
                             g_variant_new_bytestring (prism_mount_get_destination (mount)));
    }
  return g_variant_builder_end (&builder);
}

static GVariant *
list_limits (PrismLimits *limits)
{
  GVariantBuilder builder = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a{sx}"));
  g_auto (GStrv) names = prism_limits_list_names (limits);

  for (guint i = 0; names[i] != NULL; i++)
    if (prism_limits_is_set (limits, names[i]))
      g_variant_builder_add (&builder, "{sx}", names[i], prism_limits_get (limits, names[i]));
  return g_variant_builder_end (&builder);
}

/**
 * prism_sandbox_spec_to_variant:
 * @self: a specification
 *
 * Puts it into one value, for a backend whose sandboxes outlive their host and which
 * must have it again when the next host connects. It holds the secrets: keep it where
 * only the caller's user can read. What belongs to a running proxy (policy, credentials,
 * audit log) is left out: a sandbox with network=egress does not outlive its host.
 *
 * Returns: (transfer floating): the value, of a form of this version's own
 *
 * Since: 1.0
 */
GVariant *
prism_sandbox_spec_to_variant (PrismSandboxSpec *self)
{
  PrismLimits *limits;

  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (self), NULL);

  limits = prism_sandbox_spec_get_limits (self);
  return g_variant_new (
      "(@mayu^ay@aay@aay@aay@aay@aay@aay@a(aybmay)uu@a{sx})", maybe (path_of (prism_sandbox_spec_get_workspace (self))),
      (guint32)prism_sandbox_spec_get_workspace_mode (self), prism_sandbox_spec_get_sandbox_path (self),
      strings (prism_sandbox_spec_get_env (self)), strings (prism_sandbox_spec_get_secrets (self)),
      strings (prism_sandbox_spec_get_hide (self)), strings (prism_sandbox_spec_get_protect (self)),
      strings (prism_sandbox_spec_get_labels (self)), strings (prism_sandbox_spec_get_allow_env (self)),
      list_mounts (prism_sandbox_spec_get_mounts (self)), (guint32)prism_sandbox_spec_get_require (self),
      (guint32)prism_limits_get_profile (limits), list_limits (limits));
}

/* --- reading ------------------------------------------------------------------------- */

/* Of a maybe; it lives as long as @variant. */
static const char *
read_maybe (GVariant *variant)
{
  g_autoptr (GVariant) text = g_variant_get_maybe (variant);
  return text != NULL ? g_variant_get_bytestring (text) : NULL;
}

static void
read_variables (GVariant *list, PrismSandboxSpec *spec, void (*add) (PrismSandboxSpec *, const char *, const char *))
{
  g_autofree const char **entries = g_variant_get_bytestring_array (list, NULL);

  for (guint i = 0; entries[i] != NULL; i++)
    {
      const char *equals = strchr (entries[i], '=');
      g_autofree char *name = equals != NULL ? g_strndup (entries[i], equals - entries[i]) : NULL;
      if (name != NULL)
        add (spec, name, equals + 1);
    }
}

static void
read_paths (GVariant *list, PrismSandboxSpec *spec, void (*add) (PrismSandboxSpec *, const char *))
{
  g_autofree const char **entries = g_variant_get_bytestring_array (list, NULL);

  for (guint i = 0; entries[i] != NULL; i++)
    add (spec, entries[i]);
}

static void
read_mounts (GVariant *list, PrismSandboxSpec *spec)
{
  for (gsize i = 0; i < g_variant_n_children (list); i++)
    {
      g_autoptr (GVariant) entry = g_variant_get_child_value (list, i), destination = NULL;
      g_autoptr (GFile) file = NULL;
      g_autoptr (PrismMount) mount = NULL;
      const char *source;
      gboolean writable;
      g_variant_get (entry, "(^&ayb@may)", &source, &writable, &destination);
      file = g_file_new_for_path (source);
      mount = prism_mount_new (file, read_maybe (destination), writable);
      prism_sandbox_spec_add_mount (spec, mount);
    }
}

static PrismLimits *
read_limits (guint32 profile, GVariant *list, GError **error)
{
  g_autoptr (PrismLimits) limits = prism_limits_new (
      profile == PRISM_LIMITS_PROFILE_STRICT ? PRISM_LIMITS_PROFILE_STRICT : PRISM_LIMITS_PROFILE_STANDARD);
  const char *name;
  gint64 value;
  GVariantIter iter;

  g_variant_iter_init (&iter, list);
  while (g_variant_iter_next (&iter, "{&sx}", &name, &value))
    if (!prism_limits_set (limits, name, value, error))
      return NULL;
  return g_steal_pointer (&limits);
}

/**
 * prism_sandbox_spec_new_from_variant:
 * @variant: what [method@SandboxSpec.to_variant] gave
 * @lifetime: what ends a sandbox of it
 * @error: return location for a [error@SandboxError] or [error@LimitError]
 *
 * Takes a specification out of its value, and checks it.
 *
 * Returns: (transfer full): the specification
 *
 * Since: 1.0
 */
PrismSandboxSpec *
prism_sandbox_spec_new_from_variant (GVariant *variant, PrismLifetime lifetime, GError **error)
{
  g_return_val_if_fail (variant != NULL, NULL);

  if (!g_variant_is_of_type (variant, G_VARIANT_TYPE (SPEC_TYPE)))
    {
      g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID, "that is no specification");
      return NULL;
    }
  g_autoptr (GVariant) env = NULL, secrets = NULL, hide = NULL, protect = NULL, labels = NULL, allow = NULL;
  g_autoptr (GVariant) mounts = NULL, set = NULL, workspace = NULL;
  const char *path;
  guint32 mode, require, profile;

  g_variant_get (variant, "(@mayu^&ay@aay@aay@aay@aay@aay@aay@a(aybmay)uu@a{sx})", &workspace, &mode, &path, &env,
                 &secrets, &hide, &protect, &labels, &allow, &mounts, &require, &profile, &set);
  const char *host = read_maybe (workspace);
  g_autoptr (GFile) folder = host != NULL ? g_file_new_for_path (host) : NULL;
  g_autoptr (PrismLimits) limits = read_limits (profile, set, error);
  g_autofree const char **allowed = g_variant_get_bytestring_array (allow, NULL);
  g_autoptr (PrismSandboxSpec) spec = NULL;
  if (limits == NULL)
    return NULL;
  spec = g_object_new (PRISM_TYPE_SANDBOX_SPEC, "workspace", folder, "workspace-mode",
                       MIN (mode, PRISM_WORKSPACE_MODE_READONLY), "sandbox-path", path, "allow-env", allowed, "limits",
                       limits, "lifetime", lifetime, "require", require & CONTROLS, NULL);
  read_variables (env, spec, prism_sandbox_spec_set_variable);
  read_variables (secrets, spec, prism_sandbox_spec_add_secret);
  read_variables (labels, spec, prism_sandbox_spec_add_label);
  read_paths (hide, spec, prism_sandbox_spec_add_hide);
  read_paths (protect, spec, prism_sandbox_spec_add_protect);
  read_mounts (mounts, spec);
  return prism_sandbox_spec_check (spec, error) ? g_steal_pointer (&spec) : NULL;
}
