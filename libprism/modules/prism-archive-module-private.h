/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the archive module gives to the library: a table behind one exported
 * symbol. The module links neither the library nor what links it, so that a
 * static copy of the library in a test can use it as well. */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

typedef struct
{
  guint64 max_entries; /* 0: none */
  guint64 max_bytes;   /* of all files together; 0: none */
  gint64 stall_ms;     /* the other end may do nothing for so long; 0: for ever */
} PrismArchiveLimits;

/* Seldom enough to be drawn each time; in the calling thread. */
typedef void (*PrismArchiveProgress) (guint64 entries, guint64 bytes, gpointer user_data);

typedef struct
{
  char sha256[65];
  guint64 entries;
  guint64 bytes; /* of all files together */
} PrismArchiveResult;

typedef struct
{
  const PrismArchiveLimits *limits;
  PrismArchiveProgress progress; /* may be NULL */
  gpointer user_data;
  GCancellable *cancellable; /* may be NULL */
} PrismArchiveJob;

#define PRISM_ARCHIVE_MODULE_VERSION 1
#define PRISM_ARCHIVE_MODULE_SYMBOL  "prism_archive_module_query"

typedef struct
{
  guint version;
  gboolean (*export_tree) (
      int tree_fd, GOutputStream *stream, const PrismArchiveJob *job, PrismArchiveResult *result, GError **error);
  gboolean (*import_tree) (
      int folder_fd, int tree_fd, const PrismArchiveJob *job, PrismArchiveResult *result, GError **error);
  gboolean (*read_tar) (
      int tar_fd, int tree_fd, const PrismArchiveJob *job, PrismArchiveResult *result, GError **error);
} PrismArchiveModule;

typedef const PrismArchiveModule *(*PrismArchiveModuleQuery) (void);

G_END_DECLS
