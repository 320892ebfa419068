/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules of a tree: pure, and the one place where a name or a link's target is
 * judged. Whatever comes (stream, folder, tar) passes archive_rules_check() with
 * the very strings that are then used. */
#include "archive-entry.h"

#define QUOTE_BYTES 200

char *
archive_quote (const char *name)
{
  g_autofree char *cut = g_strndup (name, QUOTE_BYTES);
  g_autofree char *escaped = g_strescape (cut, NULL);
  return g_strdup_printf ("\"%s%s\"", escaped, strlen (name) > QUOTE_BYTES ? "..." : "");
}

static gboolean
refuse (GError **error, int code, const char *name, const char *why)
{
  g_autofree char *quoted = archive_quote (name);
  g_set_error (error, ARCHIVE_TREE_ERROR, code, "%s %s", quoted, why);
  return FALSE;
}

/* "/" sorts before every other byte: then a folder's content follows it at once. */
int
archive_compare (const char *a, const char *b)
{
  while (*a != '\0' && *a == *b)
    a++, b++;
  if (*a == *b)
    return 0;
  if (*a == '\0' || *b == '\0')
    return *a == '\0' ? -1 : 1;
  if (*a == '/' || *b == '/')
    return *a == '/' ? -1 : 1;
  return (guchar)*a < (guchar)*b ? -1 : 1;
}

gboolean
archive_check_name (const char *name, GError **error)
{
  guint depth = 0;
  if (name[0] == '/')
    return refuse (error, ARCHIVE_ERROR_UNSAFE_PATH, name, "is an absolute name");
  if (strlen (name) > PRISM_WIRE_MAX_PATH)
    return refuse (error, ARCHIVE_ERROR_LIMIT, name, "is longer than 4095 bytes");
  for (const char *at = name;; at++)
    {
      gsize n = strcspn (at, "/");
      if (n == 0 || (n == 1 && at[0] == '.') || (n == 2 && at[0] == '.' && at[1] == '.'))
        return refuse (error, ARCHIVE_ERROR_UNSAFE_PATH, name, "has an empty, \".\" or \"..\" component");
      if (n > NAME_MAX)
        return refuse (error, ARCHIVE_ERROR_LIMIT, name, "has a component longer than 255 bytes");
      if (++depth > ARCHIVE_MAX_DEPTH)
        return refuse (error, ARCHIVE_ERROR_LIMIT, name, "is deeper than 256 folders");
      at += n;
      if (*at == '\0')
        return TRUE;
    }
}

/* Where a link leads is judged without looking: the folders it climbs from are
 * real ones (parents are never links), but what it names further on may be another
 * link, behind which ".." means something else. */
gboolean
archive_check_link (const char *name, const char *target, GError **error)
{
  gsize depth = 0, up = 0;
  gboolean down = FALSE;
  for (const char *at = name; *at != '\0'; at++)
    depth += *at == '/';
  if (target[0] == '\0' || target[0] == '/')
    return refuse (error, ARCHIVE_ERROR_UNSAFE_PATH, name, "is a symbolic link to an absolute path");
  if (strlen (target) > PRISM_WIRE_MAX_PATH)
    return refuse (error, ARCHIVE_ERROR_LIMIT, name, "is a symbolic link to a name longer than 4095 bytes");
  for (const char *at = target;; at++)
    {
      gsize n = strcspn (at, "/");
      gboolean dots = n == 2 && at[0] == '.' && at[1] == '.';
      if (dots && (down || ++up > depth))
        return refuse (error, ARCHIVE_ERROR_UNSAFE_PATH, name, "is a symbolic link that may lead out of the tree");
      down = down || (!dots && n > 0 && !(n == 1 && at[0] == '.'));
      at += n;
      if (*at == '\0')
        return TRUE;
    }
}

gboolean
archive_check_limits (
    const PrismArchiveLimits *limits, guint64 entries, guint64 bytes, const char *name, GError **error)
{
  g_autofree char *quoted = NULL;
  if ((limits->max_entries == 0 || entries <= limits->max_entries)
      && (limits->max_bytes == 0 || bytes <= limits->max_bytes))
    return TRUE;
  quoted = archive_quote (name);
  if (limits->max_entries != 0 && entries > limits->max_entries)
    g_set_error (error, ARCHIVE_TREE_ERROR, ARCHIVE_ERROR_LIMIT,
                 "the tree has more than %" G_GUINT64_FORMAT
                 " entries, the limit (max-export-entries): the first over it is %s",
                 limits->max_entries, quoted);
  else
    g_set_error (error, ARCHIVE_TREE_ERROR, ARCHIVE_ERROR_LIMIT,
                 "the tree has more than %" G_GUINT64_FORMAT
                 " bytes, the limit (max-export-bytes): the first file over it is %s",
                 limits->max_bytes, quoted);
  return FALSE;
}

/* The parent must be the last entry, when that was a folder, or one of its ancestors. */
static gboolean
parent_is_open (const ArchiveRules *rules, const char *name)
{
  const char *slash = strrchr (name, '/');
  gsize n = slash != NULL ? (gsize)(slash - name) : 0;
  if (slash == NULL)
    return TRUE;
  if (strncmp (rules->last, name, n) != 0)
    return FALSE;
  return rules->last[n] == '/' || (rules->last[n] == '\0' && rules->folder);
}

gboolean
archive_rules_check (ArchiveRules *rules, const ArchiveEntry *entry, GError **error)
{
  guint64 size = entry->type == PRISM_WIRE_FILE ? entry->size : 0;
  if (entry->type != PRISM_WIRE_FILE && entry->type != PRISM_WIRE_FOLDER && entry->type != PRISM_WIRE_LINK)
    return refuse (error, ARCHIVE_ERROR_TYPE, entry->name,
                   "is a device, FIFO, socket or another type that a tree does not hold");
  if (!archive_check_name (entry->name, error))
    return FALSE;
  if (entry->type == PRISM_WIRE_LINK && !archive_check_link (entry->name, entry->link, error))
    return FALSE;
  if (rules->entries > 0 && archive_compare (rules->last, entry->name) >= 0)
    return refuse (error, ARCHIVE_ERROR_UNSAFE_PATH, entry->name, "is out of order or there twice");
  if (!parent_is_open (rules, entry->name))
    return refuse (error, ARCHIVE_ERROR_UNSAFE_PATH, entry->name, "lies in something that is not a folder of the tree");
  if (rules->bytes + size < rules->bytes)
    return refuse (error, ARCHIVE_ERROR_LIMIT, entry->name, "is larger than anything can be");
  if (!archive_check_limits (rules->limits, rules->entries + 1, rules->bytes + size, entry->name, error))
    return FALSE;
  rules->entries++;
  rules->bytes += size;
  rules->folder = entry->type == PRISM_WIRE_FOLDER;
  memcpy (rules->last, entry->name, entry->name_length + 1u);
  return TRUE;
}

gboolean
archive_record_parse (const guint8 *record, ArchiveEntry *entry, GError **error)
{
  struct prism_wire_reader r = prism_wire_read_from (record, PRISM_WIRE_RECORD);
  guint zeros;
  entry->type = prism_wire_u8 (&r);
  zeros = prism_wire_u8 (&r);
  entry->name_length = prism_wire_u16 (&r);
  entry->link_length = prism_wire_u16 (&r);
  zeros |= prism_wire_u16 (&r);
  entry->mode = prism_wire_u32 (&r);
  entry->mtime_ns = prism_wire_u32 (&r);
  entry->mtime = (gint64)prism_wire_u64 (&r);
  entry->size = prism_wire_u64 (&r);
  if (zeros == 0 && entry->type <= PRISM_WIRE_OTHER && entry->mode <= 07777 && entry->mtime_ns < 1000000000u
      && entry->name_length <= PRISM_WIRE_MAX_PATH && entry->link_length <= PRISM_WIRE_MAX_PATH
      && (entry->name_length > 0) == (entry->type != 0) && (entry->link_length > 0) == (entry->type == PRISM_WIRE_LINK)
      && (entry->size == 0 || entry->type == PRISM_WIRE_FILE || entry->type == 0)
      && (entry->type != 0 || (entry->mode == 0 && entry->mtime_ns == 0 && entry->mtime == 0)))
    return TRUE;
  g_set_error_literal (error, ARCHIVE_TREE_ERROR, ARCHIVE_ERROR_FAILED,
                       "the tree stream has a malformed record: its sender broke the protocol");
  return FALSE;
}

void
archive_record_format (guint8 *record, const ArchiveEntry *entry)
{
  struct prism_wire_writer w = prism_wire_write_to (record, PRISM_WIRE_RECORD);
  prism_wire_put (&w, entry->type, 1);
  prism_wire_put (&w, 0, 1);
  prism_wire_put (&w, entry->name_length, 2);
  prism_wire_put (&w, entry->link_length, 2);
  prism_wire_put (&w, 0, 2);
  prism_wire_put (&w, entry->mode, 4);
  prism_wire_put (&w, entry->mtime_ns, 4);
  prism_wire_put (&w, (guint64)entry->mtime, 8);
  prism_wire_put (&w, entry->size, 8);
}
