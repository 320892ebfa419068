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
#define VERSION   2
/* Paths and variables are bytes, not text. */
#define TYPE "(uvua{ss}aybaaymay)" /* version, ..., controls, evidence, inside, framed, groups, freezer */
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
  g_autoptr (GVariant) evidence = prism_capabilities_dup_evidence (self->capabilities);
  g_autoptr (GVariant) variant = g_variant_ref_sink (
      g_variant_new ("(uvu@a{ss}^ayb@aay@may)", (guint32)VERSION, prism_sandbox_spec_to_variant (self->spec),
                     (guint32)prism_capabilities_get_controls (self->capabilities), evidence, self->inside,
                     self->framed, strings ((const char *const *)self->groups), maybe (self->freezer)));
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

  g_variant_get (variant, "(uvu@a{ss}^&ayb@aay@may)", &version, &spec, &controls, &evidence, &inside, &framed, &groups,
                 &freezer);
  if (version != VERSION)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED,
                   "native: the sandbox was made by another version (%u, this is %d)", version, VERSION);
      return FALSE;
    }
  self->spec = prism_sandbox_spec_new_from_variant (spec, PRISM_LIFETIME_DETACHED, error);
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
