/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-enums.h"

G_BEGIN_DECLS

#define PRISM_TYPE_FILE_ENTRY (prism_file_entry_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismFileEntry, prism_file_entry, PRISM, FILE_ENTRY, GObject)

PRISM_AVAILABLE_IN_1_0
PrismFileEntry *prism_file_entry_new        (const char     *path,
                                             GFileType       type,
                                             guint64         size,
                                             guint           mode,
                                             gint64          mtime_us);
/* Absolute, inside the sandbox; bytes as the file system has them. */
PRISM_AVAILABLE_IN_1_0
const char     *prism_file_entry_get_path   (PrismFileEntry *self);
PRISM_AVAILABLE_IN_1_0
GFileType       prism_file_entry_get_file_type (PrismFileEntry *self);
PRISM_AVAILABLE_IN_1_0
guint64         prism_file_entry_get_size   (PrismFileEntry *self);
PRISM_AVAILABLE_IN_1_0
guint           prism_file_entry_get_mode   (PrismFileEntry *self);
PRISM_AVAILABLE_IN_1_0
gint64          prism_file_entry_get_mtime_us (PrismFileEntry *self);
/* A folder of a recursive listing that could not be read: what is in it is missing there. */
PRISM_AVAILABLE_IN_1_0
gboolean        prism_file_entry_get_unreadable (PrismFileEntry *self);
/* For who makes the entry, before anybody else has it. */
PRISM_AVAILABLE_IN_1_0
void            prism_file_entry_set_unreadable (PrismFileEntry *self,
                                                 gboolean        unreadable);

G_END_DECLS
