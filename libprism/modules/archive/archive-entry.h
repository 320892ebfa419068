/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-archive-module-private.h"
#include "prism-wire.h"

G_BEGIN_DECLS

/* The quark of PRISM_TREE_ERROR, without a link to the library. */
#define ARCHIVE_TREE_ERROR (g_quark_from_static_string ("prism-tree-error-quark"))

enum
{
  ARCHIVE_ERROR_FAILED,
  ARCHIVE_ERROR_UNSAFE_PATH,
  ARCHIVE_ERROR_TYPE,
  ARCHIVE_ERROR_LIMIT,
  ARCHIVE_ERROR_CHANGED,
};

#define ARCHIVE_MAX_DEPTH 256u /* folders in folders; one descriptor each on the way in */

typedef struct
{
  guint8 type; /* enum prism_wire_entry; 0 is the end record, with the count in size */
  guint16 name_length;
  guint16 link_length;
  guint32 mode;
  guint32 mtime_ns;
  gint64 mtime;
  guint64 size;
  char name[PRISM_WIRE_MAX_PATH + 1];
  char link[PRISM_WIRE_MAX_PATH + 1];
} ArchiveEntry;

/* What has been seen of a tree, to judge the next entry by. */
typedef struct
{
  const PrismArchiveLimits *limits;
  guint64 entries;
  guint64 bytes;
  gboolean folder; /* the last entry was one */
  char last[PRISM_WIRE_MAX_PATH + 1];
} ArchiveRules;

/* A name for a message: escaped and cut. */
char *archive_quote (const char *name);
/* Path order: depth first, siblings by byte value. */
int archive_compare (const char *a, const char *b);
gboolean archive_check_name (const char *name, GError **error);
gboolean archive_check_link (const char *name, const char *target, GError **error);
gboolean archive_check_limits (
    const PrismArchiveLimits *limits, guint64 entries, guint64 bytes, const char *name, GError **error);
/* The whole of the stream's rules for one entry; counts it. */
gboolean archive_rules_check (ArchiveRules *rules, const ArchiveEntry *entry, GError **error);

/* PRISM_WIRE_RECORD bytes each way; lengths are checked, nothing else. */
gboolean archive_record_parse (const guint8 *record, ArchiveEntry *entry, GError **error);
void archive_record_format (guint8 *record, const ArchiveEntry *entry);

G_END_DECLS
