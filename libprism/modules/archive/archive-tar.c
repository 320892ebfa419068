/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes the canonical tar. By hand and not by libarchive: an identity must not
 * change with the version of a library, and the writer's cost an entry would be a
 * third of the whole. What is written here is read back by libarchive, GNU tar and
 * Python's tarfile in the tests. */
#include "archive-io.h"

#define BLOCK         512u
#define NAME_FIELD    100u
#define LARGEST_OCTAL 077777777777u /* 11 digits: 8 GiB - 1 */

static const guint8 zeros[2 * BLOCK];

/* @digits digits and a NUL. */
static void
put_octal (char *field, guint digits, guint64 value)
{
  for (guint i = digits; i > 0; i--, value >>= 3)
    field[i - 1] = (char)('0' + (value & 7));
}

static gboolean
put_ustar (ArchiveOutput *tar,
           char type,
           const char *name,
           gsize name_length,
           const char *link,
           gsize link_length,
           guint mode,
           guint64 size,
           GError **error)
{
  char *block = (char *)archive_output_room (tar, BLOCK, error);
  guint sum = 0;
  if (block == NULL)
    return FALSE;
  memset (block, 0, BLOCK);
  memcpy (block, name, MIN (name_length, NAME_FIELD));
  put_octal (block + 100, 7, mode);
  put_octal (block + 108, 7, 0);
  put_octal (block + 116, 7, 0);
  put_octal (block + 124, 11, size);
  put_octal (block + 136, 11, 0);
  block[156] = type;
  memcpy (block + 157, link, MIN (link_length, NAME_FIELD));
  memcpy (block + 257, "ustar\00000", 8);
  put_octal (block + 329, 7, 0);
  put_octal (block + 337, 7, 0);
  memset (block + 148, ' ', 8);
  for (guint i = 0; i < BLOCK; i++)
    sum += (guchar)block[i];
  put_octal (block + 148, 6, sum);
  block[154] = '\0';
  tar->used += BLOCK;
  return TRUE;
}

/* "LENGTH key=value\n", where LENGTH counts itself. */
static void
add_record (GString *records, const char *key, const char *value)
{
  gsize rest = strlen (key) + strlen (value) + 3; /* space, =, newline */
  gsize length = rest + 1;
  for (gsize digits = 1, ten = 10; length >= ten; ten *= 10)
    length = rest + ++digits;
  g_string_append_printf (records, "%" G_GSIZE_FORMAT " %s=%s\n", length, key, value);
}

static gboolean
put_pax (ArchiveOutput *tar, const ArchiveEntry *entry, const char *name, GError **error)
{
  g_autoptr (GString) records = g_string_new (NULL);
  gboolean name_long = strlen (name) > NAME_FIELD, link_long = entry->link_length > NAME_FIELD;
  if ((name_long && !g_utf8_validate (name, -1, NULL)) || (link_long && !g_utf8_validate (entry->link, -1, NULL)))
    add_record (records, "hdrcharset", "BINARY");
  if (name_long)
    add_record (records, "path", name);
  if (link_long)
    add_record (records, "linkpath", entry->link);
  if (entry->size > LARGEST_OCTAL)
    {
      char digits[24];
      g_snprintf (digits, sizeof digits, "%" G_GUINT64_FORMAT, entry->size);
      add_record (records, "size", digits);
    }
  if (records->len == 0)
    return TRUE;
  return put_ustar (tar, 'x', "PaxHeader", 9, "", 0, 0644, records->len, error)
         && archive_output_put (tar, records->str, records->len, error)
         && archive_tar_put_padding (tar, records->len, error);
}

gboolean
archive_tar_put_header (ArchiveOutput *tar, const ArchiveEntry *entry, GError **error)
{
  static const char types[] = { [PRISM_WIRE_FILE] = '0', [PRISM_WIRE_FOLDER] = '5', [PRISM_WIRE_LINK] = '2' };
  gboolean folder = entry->type == PRISM_WIRE_FOLDER;
  gboolean large = entry->size > LARGEST_OCTAL;
  char name[PRISM_WIRE_MAX_PATH + 2];
  gsize length = entry->name_length;
  memcpy (name, entry->name, length + 1);
  if (folder)
    {
      name[length++] = '/';
      name[length] = '\0';
    }
  if ((length > NAME_FIELD || entry->link_length > NAME_FIELD || large) && !put_pax (tar, entry, name, error))
    return FALSE;
  return put_ustar (tar, types[entry->type], name, length, entry->link, entry->link_length, entry->mode & 0777,
                    large ? 0 : entry->size, error);
}

gboolean
archive_tar_put_padding (ArchiveOutput *tar, guint64 size, GError **error)
{
  gsize over = (gsize)(size % BLOCK);
  return over == 0 || archive_output_put (tar, zeros, BLOCK - over, error);
}

gboolean
archive_tar_put_end (ArchiveOutput *tar, GError **error)
{
  return archive_output_put (tar, zeros, sizeof zeros, error) && archive_output_flush (tar, error);
}
