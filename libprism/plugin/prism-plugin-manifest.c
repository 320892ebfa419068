/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a plug-in says about itself in the keyfile NAME.plugin beside its module:
 *
 *   [Plugin]
 *   Name=example             as in the file's own name
 *   Module=example.so        a file in the same folder
 *   ABI=1.0
 *   Version=0.1.0
 *   Licence=LGPL-2.1-or-later
 *   Description=…            one line
 *   Backends=example;        what its load function adds, no more and no less
 *
 * Parsing is a pure function over bytes. Nothing of it is trusted beyond what
 * the caller checked of the file; every length is bounded and every value is
 * one line of printable UTF-8, fit to be shown. Unknown keys and groups are for
 * later minor versions and are ignored.
 */
#include "prism-plugin-manifest-private.h"

#include "prism-registry.h"
#include "prism-version.h"

#include <string.h>

#define GROUP     "Plugin"
#define MAX_VALUE 1024
#define MAX_NAME  64
#define MAX_NAMES 32

void
prism_plugin_manifest_free (PrismPluginManifest *self)
{
  g_free (self->name);
  g_free (self->module);
  g_free (self->abi);
  g_free (self->version);
  g_free (self->licence);
  g_free (self->description);
  g_strfreev (self->backends);
  g_strfreev (self->egress_proxies);
  g_free (self);
}

/* Of plug-ins and of what they provide: a-z first, then also 0-9 and "-". */
gboolean
prism_plugin_name_is_valid (const char *name)
{
  gsize length = strlen (name);

  if (length == 0 || length > MAX_NAME || !g_ascii_islower (name[0]))
    return FALSE;

  return strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

gboolean
prism_plugin_abi_fits (guint major, guint minor, GError **error)
{
  if (major != PRISM_PLUGIN_ABI_MAJOR)
    g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_ABI,
                 "made for plug-in ABI %u.%u, and this library has %u.%u: the first number must be the same; install "
                 "the plug-in's build for this version of libprism",
                 major, minor, PRISM_PLUGIN_ABI_MAJOR, PRISM_PLUGIN_ABI_MINOR);
  else if (minor > PRISM_PLUGIN_ABI_MINOR)
    g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_ABI,
                 "made for plug-in ABI %u.%u, which is newer than this library's %u.%u; update libprism", major, minor,
                 PRISM_PLUGIN_ABI_MAJOR, PRISM_PLUGIN_ABI_MINOR);
  else
    return TRUE;

  return FALSE;
}

/* Digits, at most 65535. Not by GLib's function: where another thread is the first to
 * call that at the same moment, GLib 2.74 takes a good number for a bad one. */
static gboolean
take_number (const char **at, guint *number)
{
  const char *from = *at;

  *number = 0;
  while (g_ascii_isdigit (**at) && *number <= G_MAXUINT16)
    *number = *number * 10 + (guint)g_ascii_digit_value (*(*at)++);

  return *at > from && *number <= G_MAXUINT16;
}

/* MAJOR.MINOR, decimal, each at most 65535. */
gboolean
prism_plugin_manifest_check_abi (const char *abi, guint *major, guint *minor, GError **error)
{
  const char *at = abi;

  if (!take_number (&at, major) || *at++ != '.' || !take_number (&at, minor) || *at != '\0')
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST, "ABI=%s is not of the form MAJOR.MINOR",
                   abi);
      return FALSE;
    }

  return prism_plugin_abi_fits (*major, *minor, error);
}

/* What is there, but cannot be read, is not the same as what is not there. */
static gboolean
is_readable (const char *key, const GError *why_not, GError **error)
{
  if (why_not == NULL || g_error_matches (why_not, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_KEY_NOT_FOUND))
    return TRUE;
  g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST, "%s= cannot be read: %s", key, why_not->message);
  return FALSE;
}

static char *
get_value (GKeyFile *keyfile, const char *key, gboolean required, GError **error)
{
  g_autoptr (GError) why_not = NULL;
  g_autofree char *value = g_key_file_get_string (keyfile, GROUP, key, &why_not);

  if (!is_readable (key, why_not, error))
    return NULL;
  if (value == NULL || value[0] == '\0')
    {
      if (!required)
        return g_strdup ("");
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST, "%s= is missing from [" GROUP "]", key);
      return NULL;
    }
  if (strlen (value) > MAX_VALUE)
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST, "%s= is longer than %d bytes", key,
                   MAX_VALUE);
      return NULL;
    }
  for (const char *p = value; *p != '\0'; p = g_utf8_next_char (p))
    if (!g_unichar_isprint (g_utf8_get_char (p)))
      {
        g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST,
                     "%s= holds a character that cannot be shown", key);
        return NULL;
      }

  return g_steal_pointer (&value);
}

static char **
get_names (GKeyFile *keyfile, const char *key, GError **error)
{
  gsize length = 0;
  g_autoptr (GError) why_not = NULL;
  g_auto (GStrv) names = g_key_file_get_string_list (keyfile, GROUP, key, &length, &why_not);

  if (!is_readable (key, why_not, error))
    return NULL;
  if (names == NULL)
    return g_new0 (char *, 1);
  if (length > MAX_NAMES)
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST, "%s= names more than %d", key, MAX_NAMES);
      return NULL;
    }
  for (gsize i = 0; i < length; i++)
    {
      if (!prism_plugin_name_is_valid (names[i]))
        {
          g_autofree char *shown = g_strescape (names[i], NULL);

          g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST,
                       "%s= holds “%.*s”, which is no name: a-z, then also 0-9 and “-”, at most %d", key, MAX_NAME,
                       shown, MAX_NAME);
          return NULL;
        }
      for (gsize j = 0; j < i; j++)
        if (g_str_equal (names[i], names[j]))
          {
            g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST, "%s= holds “%s” twice", key, names[i]);
            return NULL;
          }
    }

  return g_steal_pointer (&names);
}

static gboolean
check_names (const PrismPluginManifest *self, GError **error)
{
  if (!prism_plugin_name_is_valid (self->name))
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST,
                   "Name=%s is no plug-in name: a-z, then also 0-9 and “-”, at most %d", self->name, MAX_NAME);
      return FALSE;
    }
  if (strchr (self->module, '/') != NULL || self->module[0] == '.' || !g_str_has_suffix (self->module, ".so"))
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST,
                   "Module=%s is not the plain name of a .so file in the manifest's own folder", self->module);
      return FALSE;
    }

  return TRUE;
}

/* Fails with MANIFEST for what is malformed and with ABI for what is for another
 * library. */
PrismPluginManifest *
prism_plugin_manifest_parse (const char *data, gsize length, GError **error)
{
  g_autoptr (PrismPluginManifest) self = g_new0 (PrismPluginManifest, 1);
  g_autoptr (GKeyFile) keyfile = g_key_file_new ();
  g_autoptr (GError) local = NULL;
  guint major, minor;

  if (length > PRISM_PLUGIN_MANIFEST_MAX)
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST, "longer than %d bytes",
                   PRISM_PLUGIN_MANIFEST_MAX);
      return NULL;
    }
  if (length == 0 || memchr (data, '\0', length) != NULL
      || !g_key_file_load_from_data (keyfile, data, length, G_KEY_FILE_NONE, &local))
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST, "not a key file: %s",
                   local != NULL ? local->message : "it is empty or binary");
      return NULL;
    }
  /* Nothing here needs one, and GLib's reader trips over two that are wrong. */
  if (memchr (data, '\\', length) != NULL)
    {
      g_set_error_literal (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST, "it has an escape, a “\\”");
      return NULL;
    }
  if (!g_key_file_has_group (keyfile, GROUP))
    {
      g_set_error_literal (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST, "it has no group [" GROUP "]");
      return NULL;
    }

  if ((self->name = get_value (keyfile, "Name", TRUE, error)) == NULL
      || (self->abi = get_value (keyfile, "ABI", TRUE, error)) == NULL
      || !prism_plugin_manifest_check_abi (self->abi, &major, &minor, error)
      || (self->module = get_value (keyfile, "Module", TRUE, error)) == NULL
      || (self->version = get_value (keyfile, "Version", TRUE, error)) == NULL
      || (self->licence = get_value (keyfile, "Licence", TRUE, error)) == NULL
      || (self->description = get_value (keyfile, "Description", FALSE, error)) == NULL || !check_names (self, error)
      || (self->backends = get_names (keyfile, "Backends", error)) == NULL
      || (self->egress_proxies = get_names (keyfile, "EgressProxies", error)) == NULL)
    return NULL;

  return g_steal_pointer (&self);
}
