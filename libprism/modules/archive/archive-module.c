/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "archive-io.h"

#include <gmodule.h>

G_MODULE_EXPORT const PrismArchiveModule *prism_archive_module_query (void);

const PrismArchiveModule *
prism_archive_module_query (void)
{
  static const PrismArchiveModule module = {
    PRISM_ARCHIVE_MODULE_VERSION,
    archive_export,
    archive_import,
    archive_read_tar,
  };
  return &module;
}
