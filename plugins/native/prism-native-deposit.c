/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TRUST. It comes from a keeper of the same user, sealed: nobody changes it after it was
 * written. It is read as if that were not so: bounded, and what does not fit is refused. */
#include "prism-native-deposit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES (8 * 1024 * 1024)
#define SEALS     (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define VERSION   1
/* Paths and variables are bytes, not text. */
#define SPEC_TYPE "(mayuayaayaayaayaayaayaaya(aybmay)uua{sx})"
#define TYPE      "(u" SPEC_TYPE "ua{ss}aybaaymay)" /* version, ..., controls, evidence, inside, framed, groups, freezer */
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

static GVariant *
write_spec (PrismSandboxSpec *spec)
{
  PrismLimits *limits = prism_sandbox_spec_get_limits (spec);

  return g_variant_new (
      "(@mayu^ay@aay@aay@aay@aay@aay@aay@a(aybmay)uu@a{sx})", maybe (path_of (prism_sandbox_spec_get_workspace (spec))),
      (guint32)prism_sandbox_spec_get_workspace_mode (spec), prism_sandbox_spec_get_sandbox_path (spec),
      strings (prism_sandbox_spec_get_env (spec)), strings (prism_sandbox_spec_get_secrets (spec)),
      strings (prism_sandbox_spec_get_hide (spec)), strings (prism_sandbox_spec_get_protect (spec)),
      strings (prism_sandbox_spec_get_labels (spec)), strings (prism_sandbox_spec_get_allow_env (spec)),
      list_mounts (prism_sandbox_spec_get_mounts (spec)), (guint32)prism_sandbox_spec_get_require (spec),
      (guint32)prism_limits_get_profile (limits), list_limits (limits));
}

static gboolean
write_all (int fd, GBytes *bytes)
{
  gsize size;
  const guint8 *at = g_bytes_get_data (bytes, &size);

  while (size > 0)
    {
      ssize_t n = write (fd, at, size);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return FALSE;
      at += n;
      size -= n;
    }
  return fcntl (fd, F_ADD_SEALS, SEALS) == 0;
}

int
prism_native_deposit_write (const PrismNativeDeposit *self, GError **error)
{
  g_autoptr (GVariant) variant = g_variant_ref_sink (
      g_variant_new ("(u@" SPEC_TYPE "u@a{ss}^ayb@aay@may)", (guint32)VERSION, write_spec (self->spec),
                     (guint32)prism_capabilities_get_controls (self->capabilities),
                     prism_capabilities_dup_evidence (self->capabilities), self->inside, self->framed,
                     strings ((const char *const *)self->groups), maybe (self->freezer)));
  g_autoptr (GBytes) bytes = g_variant_get_data_as_bytes (variant);
  int fd = memfd_create ("prism-sandbox", MFD_CLOEXEC | MFD_ALLOW_SEALING);

  if (fd >= 0 && g_bytes_get_size (bytes) <= MAX_BYTES && write_all (fd, bytes))
    return fd;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED, "native: what a later host is to be told: %s",
               g_bytes_get_size (bytes) > MAX_BYTES ? "it is too much" : g_strerror (errno));
  if (fd >= 0)
    close (fd);
  return -1;
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

static PrismSandboxSpec *
read_spec (GVariant *variant, GError **error)
{
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
                       limits, "lifetime", PRISM_LIFETIME_DETACHED, "require", require & CONTROLS, NULL);
  read_variables (env, spec, prism_sandbox_spec_set_variable);
  read_variables (secrets, spec, prism_sandbox_spec_add_secret);
  read_variables (labels, spec, prism_sandbox_spec_add_label);
  read_paths (hide, spec, prism_sandbox_spec_add_hide);
  read_paths (protect, spec, prism_sandbox_spec_add_protect);
  read_mounts (mounts, spec);
  return prism_sandbox_spec_check (spec, error) ? g_steal_pointer (&spec) : NULL;
}

static GBytes *
read_sealed (int fd)
{
  g_autofree guint8 *bytes = NULL;
  struct stat info;
  int seals = fcntl (fd, F_GET_SEALS);
  gsize done = 0;

  if (seals < 0 || (seals & SEALS) != SEALS || fstat (fd, &info) < 0 || info.st_size > MAX_BYTES)
    return NULL;
  bytes = g_malloc ((gsize)info.st_size);
  while (done < (gsize)info.st_size)
    {
      ssize_t n = pread (fd, bytes + done, (gsize)info.st_size - done, (off_t)done);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return NULL;
      done += (gsize)n;
    }
  return g_bytes_new_take (g_steal_pointer (&bytes), done);
}

static gboolean
take (PrismNativeDeposit *self, GVariant *variant, GError **error)
{
  g_autoptr (GVariant) spec = NULL, evidence = NULL, groups = NULL, freezer = NULL;
  const char *inside;
  guint32 version, controls;
  gboolean framed;

  g_variant_get (variant, "(u@" SPEC_TYPE "u@a{ss}^&ayb@aay@may)", &version, &spec, &controls, &evidence, &inside,
                 &framed, &groups, &freezer);
  if (version != VERSION)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED,
                   "native: the sandbox was made by another version (%u, this is %d)", version, VERSION);
      return FALSE;
    }
  self->spec = read_spec (spec, error);
  if (self->spec == NULL)
    return FALSE;
  self->capabilities = prism_capabilities_new (controls & CONTROLS, evidence);
  self->inside = g_strdup (inside);
  self->framed = framed;
  self->groups = g_variant_dup_bytestring_array (groups, NULL);
  self->freezer = g_strdup (read_maybe (freezer));
  return TRUE;
}

gboolean
prism_native_deposit_read (PrismNativeDeposit *self, int fd, GError **error)
{
  g_autoptr (GBytes) bytes = read_sealed (fd);
  g_autoptr (GVariant) variant = NULL;

  *self = (PrismNativeDeposit){ 0 };
  close (fd);
  if (bytes != NULL)
    variant = g_variant_ref_sink (g_variant_new_from_bytes (G_VARIANT_TYPE (TYPE), bytes, FALSE));
  if (variant != NULL && g_variant_is_normal_form (variant))
    return take (self, variant, error);
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED,
                       "native: what the keeper holds is no description of a sandbox");
  return FALSE;
}

void
prism_native_deposit_clear (PrismNativeDeposit *self)
{
  g_clear_object (&self->spec);
  g_clear_pointer (&self->capabilities, prism_capabilities_unref);
  g_clear_pointer (&self->inside, g_free);
  g_clear_pointer (&self->groups, g_strfreev);
  g_clear_pointer (&self->freezer, g_free);
}
