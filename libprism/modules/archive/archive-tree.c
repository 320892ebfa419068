/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tree stream, read and written; and the export, which reads one and writes
 * the canonical tar. The stream comes from inside a sandbox: hostile. */
#include "archive-io.h"

#define PROGRESS_ENTRIES 256u
#define PROGRESS_BYTES   (4u * 1024u * 1024u)

gboolean
archive_tree_put (ArchiveOutput *tree, const ArchiveEntry *entry, GError **error)
{
  gsize size = PRISM_WIRE_RECORD + entry->name_length + entry->link_length;
  guint8 *room = archive_output_room (tree, size, error);
  if (room == NULL)
    return FALSE;
  archive_record_format (room, entry);
  memcpy (room + PRISM_WIRE_RECORD, entry->name, entry->name_length);
  memcpy (room + PRISM_WIRE_RECORD + entry->name_length, entry->link, entry->link_length);
  tree->used += size;
  return TRUE;
}

gboolean
archive_tree_put_end (ArchiveOutput *tree, guint64 entries, GError **error)
{
  ArchiveEntry *end = g_newa0 (ArchiveEntry, 1);
  end->size = entries;
  return archive_tree_put (tree, end, error) && archive_output_flush (tree, error);
}

static gboolean
malformed (GError **error, const char *what)
{
  g_set_error (error, ARCHIVE_TREE_ERROR, ARCHIVE_ERROR_FAILED, "the tree stream %s: its sender broke the protocol",
               what);
  return FALSE;
}

gboolean
archive_tree_next (ArchiveInput *tree, ArchiveRules *rules, ArchiveEntry *entry, GError **error)
{
  const guint8 *bytes = archive_input_take (tree, PRISM_WIRE_RECORD, error);
  if (bytes == NULL || !archive_record_parse (bytes, entry, error))
    return FALSE;
  if (entry->type == 0)
    {
      if (entry->size != rules->entries)
        return malformed (error, "counts its entries wrongly");
      return tree->start == tree->end || malformed (error, "goes on after its end");
    }
  bytes = archive_input_take (tree, (gsize)entry->name_length + entry->link_length, error);
  if (bytes == NULL)
    return FALSE;
  if (memchr (bytes, 0, (gsize)entry->name_length + entry->link_length) != NULL)
    return malformed (error, "has a NUL in a name");
  memcpy (entry->name, bytes, entry->name_length);
  entry->name[entry->name_length] = '\0';
  memcpy (entry->link, bytes + entry->name_length, entry->link_length);
  entry->link[entry->link_length] = '\0';
  return archive_rules_check (rules, entry, error);
}

static gboolean
export_file (ArchiveInput *tree, ArchiveOutput *tar, guint64 size, GError **error)
{
  for (guint64 left = size; left > 0;)
    {
      gsize n;
      const guint8 *bytes = archive_input_some (tree, left, &n, error);
      if (bytes == NULL || !archive_output_put (tar, bytes, n, error))
        return FALSE;
      left -= n;
    }
  return archive_tar_put_padding (tar, size, error);
}

static gboolean
export_entries (ArchiveInput *tree, ArchiveOutput *tar, const PrismArchiveJob *job, ArchiveRules *rules, GError **error)
{
  g_autofree ArchiveEntry *entry = g_new0 (ArchiveEntry, 1);
  guint64 told_bytes = 0, told_entries = 0;
  for (;;)
    {
      if (!archive_tree_next (tree, rules, entry, error))
        return FALSE;
      if (entry->type == 0)
        return archive_tar_put_end (tar, error);
      if (!archive_tar_put_header (tar, entry, error) || !export_file (tree, tar, entry->size, error))
        return FALSE;
      if (job->progress != NULL
          && (rules->bytes - told_bytes >= PROGRESS_BYTES || rules->entries - told_entries >= PROGRESS_ENTRIES))
        {
          told_bytes = rules->bytes;
          told_entries = rules->entries;
          job->progress (told_entries, told_bytes, job->user_data);
        }
    }
}

gboolean
archive_export (
    int tree_fd, GOutputStream *stream, const PrismArchiveJob *job, PrismArchiveResult *result, GError **error)
{
  g_autofree ArchiveRules *rules = g_new0 (ArchiveRules, 1);
  ArchiveWait wait;
  ArchiveInput tree;
  ArchiveOutput tar;
  gboolean good;
  rules->limits = job->limits;
  archive_wait_init (&wait, job);
  archive_input_init (&tree, &wait, tree_fd);
  good = archive_output_init (&tar, &wait, -1, stream, TRUE, error) && export_entries (&tree, &tar, job, rules, error);
  if (good)
    {
      archive_output_digest (&tar, result->sha256);
      result->entries = rules->entries;
      result->bytes = rules->bytes;
    }
  archive_output_clear (&tar);
  archive_input_clear (&tree);
  archive_wait_clear (&wait);
  return good;
}
