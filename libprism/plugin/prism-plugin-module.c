/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opening a plug-in's module: here foreign code runs for the first time (its
 * constructors), so the caller has checked manifest, ABI, owner and mode before.
 *
 * All symbols are bound at once: one that is missing is an error here and not
 * the end of the program later. A module is never unloaded, not even after a
 * refusal: its constructors may have left pointers to itself anywhere.
 */
#include "prism-plugin-module-private.h"

#include <gmodule.h>
#include <string.h>

#define FIRST_SIZE (G_STRUCT_OFFSET (PrismPluginDescriptor, load) + sizeof (void (*) (void)))

static gboolean
same (const char *descriptor, const char *manifest)
{
  return descriptor != NULL && g_str_equal (descriptor, manifest);
}

/* The module's own word against its manifest's: a mismatch means that one of
 * the two files is left over from another version. */
gboolean
prism_plugin_descriptor_check (const PrismPluginDescriptor *descriptor,
                               const PrismPluginManifest *manifest,
                               GError **error)
{
  const struct
  {
    const char *key;
    const char *descriptor;
    const char *manifest;
  } pairs[] = {
    { "Name", descriptor->name, manifest->name },
    { "Version", descriptor->version, manifest->version },
    { "Licence", descriptor->licence, manifest->licence },
  };
  guint major, minor;

  if (descriptor->magic != PRISM_PLUGIN_MAGIC)
    {
      g_set_error_literal (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_LOAD,
                           "its " PRISM_PLUGIN_SYMBOL
                           " is not a plug-in descriptor; define it with PRISM_PLUGIN_DEFINE");
      return FALSE;
    }
  if (!prism_plugin_abi_fits (descriptor->abi_major, descriptor->abi_minor, error)
      || !prism_plugin_manifest_check_abi (manifest->abi, &major, &minor, error))
    return FALSE;
  if (major != descriptor->abi_major || minor != descriptor->abi_minor)
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST,
                   "the manifest says ABI=%s and the module %u.%u; install both from one build", manifest->abi,
                   descriptor->abi_major, descriptor->abi_minor);
      return FALSE;
    }
  if (descriptor->size < FIRST_SIZE || descriptor->size > sizeof *descriptor || descriptor->load == NULL)
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_ABI,
                   "its descriptor has %u bytes or no load function, which no ABI %u.%u has; rebuild the plug-in",
                   descriptor->size, descriptor->abi_major, descriptor->abi_minor);
      return FALSE;
    }
  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    if (!same (pairs[i].descriptor, pairs[i].manifest))
      {
        g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST,
                     "the manifest says %s=%s and the module “%s”; install both from one build", pairs[i].key,
                     pairs[i].manifest, pairs[i].descriptor != NULL ? pairs[i].descriptor : "");
        return FALSE;
      }

  return TRUE;
}

/* The descriptor of a module that fits @manifest; it lives as long as the process. */
const PrismPluginDescriptor *
prism_plugin_module_open (const char *path, const PrismPluginManifest *manifest, GError **error)
{
  g_autoptr (GError) local = NULL;
  GModule *module = g_module_open_full (path, G_MODULE_BIND_LOCAL, &local);
  gpointer symbol = NULL;

  if (module == NULL)
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_LOAD,
                   "its module cannot be opened: %s; rebuild it against this libprism, and link what it needs",
                   local->message);
      return NULL;
    }

  g_module_make_resident (module);

  if (!g_module_symbol (module, PRISM_PLUGIN_SYMBOL, &symbol) || symbol == NULL)
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_LOAD,
                   "%s does not export " PRISM_PLUGIN_SYMBOL "; define it with PRISM_PLUGIN_DEFINE", path);
      return NULL;
    }
  if (!prism_plugin_descriptor_check (symbol, manifest, error))
    return NULL;

  return symbol;
}
