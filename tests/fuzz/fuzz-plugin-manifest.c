/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plug-in's manifest: what is accepted is one line of text that can be shown. */
#include "prism-plugin-manifest-private.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismPluginManifest) manifest = prism_plugin_manifest_parse ((const char *)data, size, &error);

  g_assert ((manifest == NULL) == (error != NULL));
  if (manifest == NULL)
    return 0;

  g_assert (prism_plugin_name_is_valid (manifest->name));
  g_assert (g_utf8_validate (manifest->description, -1, NULL));
  for (const char *p = manifest->description; *p != '\0'; p = g_utf8_next_char (p))
    g_assert (g_unichar_isprint (g_utf8_get_char (p)));
  for (guint i = 0; manifest->backends[i] != NULL; i++)
    g_assert (prism_plugin_name_is_valid (manifest->backends[i]));

  return 0;
}
