/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints what the process's own registry finds, one plug-in a line. Linked
 * statically with the library, so that it can be made set-user-id. */
#include "prism-registry.h"

#include <stdio.h>

int
main (void)
{
  GListModel *plugins = G_LIST_MODEL (prism_registry_get_default ());

  for (guint i = 0; i < g_list_model_get_n_items (plugins); i++)
    {
      g_autoptr (PrismPluginInfo) info = g_list_model_get_item (plugins, i);

      printf ("%s %d\n", prism_plugin_info_get_name (info), prism_plugin_info_get_state (info));
    }

  return 0;
}
