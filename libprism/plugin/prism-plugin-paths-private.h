/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-types.h"

#include <sys/stat.h>

G_BEGIN_DECLS

typedef struct
{
  char *path;
  gboolean built_in; /* compiled in, as trusted as this library itself */
  gboolean named;    /* somebody asked for it by name, so its absence is worth a word */
} PrismPluginFolder;

/* The folder above the last one that was found in order, with all above it: most often the
 * next one's too. Starts as zero. */
typedef struct
{
  gboolean known;
  struct stat folder;
} PrismPluginAbove;

void       prism_plugin_folder_free     (PrismPluginFolder   *self);
GPtrArray *prism_plugin_folders         (void);
GPtrArray *prism_plugin_folders_from    (const char          *built_in,
                                         const char          *replacement,
                                         const char          *in_front);
GPtrArray *prism_plugin_folders_exactly (const char * const  *paths);

gboolean   prism_plugin_owner_is_trusted (guint      owner,
                                          guint      caller,
                                          gboolean   unmapped,
                                          gboolean   unmapped_is_fine);
gboolean   prism_plugin_check_file       (int                      fd,
                                          const char              *path,
                                          const PrismPluginFolder *folder,
                                          GError                 **error);
gboolean   prism_plugin_check_folder     (int                      fd,
                                          const PrismPluginFolder *folder,
                                          PrismPluginAbove        *above,
                                          GError                 **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismPluginFolder, prism_plugin_folder_free)

G_END_DECLS
