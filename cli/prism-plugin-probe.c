/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loads one plug-in and prints what it offers: run by prism in a process of its
 * own, so that a plug-in that crashes takes nothing with it.
 *
 *   prism-plugin-probe /path/NAME.plugin
 */
#include "prism-cli-backend-json.h"

#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

static PrismPluginInfo *
find_plugin (PrismRegistry *registry, const char *manifest)
{
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (registry)); i++)
    {
      g_autoptr (PrismPluginInfo) info = g_list_model_get_item (G_LIST_MODEL (registry), i);

      if (g_strcmp0 (prism_plugin_info_get_manifest (info), manifest) == 0)
        return g_steal_pointer (&info);
    }

  return NULL;
}

int
main (int argc, char **argv)
{
  g_autofree char *folder = argc == 2 ? g_path_get_dirname (argv[1]) : NULL;
  g_autoptr (PrismRegistry) registry = NULL;
  g_autoptr (PrismPluginInfo) info = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismJson) json = NULL;

  if (folder == NULL)
    {
      fprintf (stderr, "usage: prism-plugin-probe /path/NAME.plugin\n");
      return 2;
    }

  registry = prism_registry_new ((const char *const[]){ folder, NULL });
  info = find_plugin (registry, argv[1]);
  if (info == NULL)
    g_set_error (&error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_NOT_FOUND, "%s is not there any more", argv[1]);
  else
    prism_registry_load (registry, info, &error);
  if (error != NULL)
    {
      const GError *reason = info != NULL ? prism_plugin_info_get_error (info) : NULL;

      printf ("\nprism-plugin-probe: error %d %s\n", error->code, reason != NULL ? reason->message : error->message);
      return 0;
    }

  json = prism_json_new ();
  prism_json_begin_object (json, NULL);
  prism_cli_json_backends (json, "backends", registry, prism_plugin_info_get_backends (info));
  prism_cli_json_egress_proxies (json, "proxies", registry, prism_plugin_info_get_egress_proxies (info));
  prism_json_end_object (json);
  printf ("\nprism-plugin-probe: ok\n");
  fflush (stdout);
  return prism_json_print (json, 1) ? 0 : 1;
}
