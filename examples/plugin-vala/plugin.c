/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <libprism/prism-plugin.h>

void bubblewrap_vala_load (PrismRegistry *registry); /* in backend.vala */

/* `bubblewrap-vala` is no C name, so the descriptor is written out. */
__attribute__ ((visibility ("default"))) extern const PrismPluginDescriptor prism_plugin_descriptor;
const PrismPluginDescriptor prism_plugin_descriptor = {
  .magic = PRISM_PLUGIN_MAGIC,
  .abi_major = PRISM_PLUGIN_ABI_MAJOR,
  .abi_minor = PRISM_PLUGIN_ABI_MINOR,
  .size = sizeof (PrismPluginDescriptor),
  .name = "bubblewrap-vala",
  .version = VERSION,
  .licence = "LGPL-2.1-or-later",
  .load = bubblewrap_vala_load,
};
