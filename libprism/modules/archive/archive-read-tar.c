/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tar becomes a tree stream. One parser, libarchive's, and the names it gives are
 * the ones judged and the ones used. Uncompressed only: then what comes out is no
 * larger than what went in, but for sparse maps, which count at full size.
 * Refused: what libarchive only warns about, a name that is there twice, something
 * inside a non-folder, types other than file, folder and link, a hard link to what
 * is not an earlier file of the archive or with bytes of its own, an archive
 * without its end marker, and anything after it. Dropped: owners, set-id bits,
 * extended attributes, ACLs. */
#include "archive-io.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <locale.h>
#include <poll.h>
#include <unistd.h>

#define END_MARKER 1024u
#define MAX_TAIL   (1024u * 1024u) /* zeros that may follow the end marker: tar pads to its record size */

/* Members are spooled, because the stream is sorted and an archive need not be. */
typedef struct
{
  guint8 type;
  guint32 mode;
  guint32 mtime_ns;
  gint64 mtime;
  guint64 size;
  guint64 offset;
  char *name;
  char *link; /* or NULL */
} TarMember;

typedef struct
{
  const PrismArchiveJob *job;
  ArchiveWait wait;
  struct archive *archive;
  int fd;
  GError *read_error;
  guint64 read_bytes;   /* of the archive so far */
  guint64 last_nonzero; /* offset after the last byte that is not zero */
  int spool;
  guint64 bytes; /* spooled, and those of hard links once more */
  guint64 spooled;
  GPtrArray *members;  /* of TarMember */
  GHashTable *by_name; /* to those */
  guint8 buffer[ARCHIVE_BUFFER];
  guint8 data[ARCHIVE_BUFFER];
} Reader;

static void
tar_member_free (gpointer data)
{
  TarMember *member = data;
  g_free (member->name);
  g_free (member->link);
  g_free (member);
}

static gboolean
refuse (GError **error, int code, const char *name, const char *why)
{
  g_autofree char *quoted = archive_quote (name);
  g_set_error (error, ARCHIVE_TREE_ERROR, code, "%s in the archive %s", quoted, why);
  return FALSE;
}

static la_ssize_t
read_archive (struct archive *archive, void *data, const void **bytes)
{
  Reader *reader = data;
  ssize_t n;
  do
    {
      if (!archive_wait_for (&reader->wait, reader->fd, POLLIN, &reader->read_error))
        {
          archive_set_error (archive, EIO, "stopped");
          return -1;
        }
      n = read (reader->fd, reader->buffer, ARCHIVE_BUFFER);
    }
  while (n < 0 && (errno == EINTR || errno == EAGAIN));
  if (n < 0)
    {
      archive_set_error (archive, errno, "%s", g_strerror (errno));
      return -1;
    }
  for (gsize i = (gsize)n; i > 0; i--)
    if (reader->buffer[i - 1] != 0)
      {
        reader->last_nonzero = reader->read_bytes + i;
        break;
      }
  reader->read_bytes += (guint64)n;
  *bytes = reader->buffer;
  return n;
}

static gboolean
archive_failed (Reader *reader, GError **error)
{
  if (reader->read_error != NULL)
    g_propagate_error (error, g_steal_pointer (&reader->read_error));
  else
    g_set_error (error, ARCHIVE_TREE_ERROR, ARCHIVE_ERROR_FAILED, "the archive is damaged or not a plain tar: %s",
                 archive_error_string (reader->archive) != NULL ? archive_error_string (reader->archive)
                                                                : "unreadable");
  return FALSE;
}

/* "./a/b/" is a/b; NULL for the root itself. */
static char *
plain_name (const char *name)
{
  g_autofree char *plain = NULL;
  while (name[0] == '.' && name[1] == '/')
    for (name += 2; name[0] == '/'; name++)
      ;
  if (name[0] == '\0' || strcmp (name, ".") == 0)
    return NULL;
  plain = g_strdup (name);
  if (g_str_has_suffix (plain, "/"))
    plain[strlen (plain) - 1] = '\0';
  return g_steal_pointer (&plain);
}

static gboolean
spool (Reader *reader, const guint8 *bytes, gsize size, GError **error)
{
  while (size > 0)
    {
      ssize_t n = write (reader->spool, bytes, size);
      if (n < 0 && errno != EINTR)
        {
          int saved = errno;
          g_set_error (error, ARCHIVE_TREE_ERROR, ARCHIVE_ERROR_FAILED, "cannot keep the archive's content in %s: %s",
                       g_get_tmp_dir (), g_strerror (saved));
          return FALSE;
        }
      bytes += MAX (n, 0);
      size -= (gsize)MAX (n, 0);
      reader->spooled += (guint64)MAX (n, 0);
    }
  return TRUE;
}

static gboolean
spool_content (Reader *reader, TarMember *member, GError **error)
{
  member->offset = reader->spooled;
  for (guint64 left = member->size; left > 0;)
    {
      la_ssize_t n = archive_read_data (reader->archive, reader->data, (gsize)MIN (left, sizeof reader->data));
      if (n < 0)
        return archive_failed (reader, error);
      if (n == 0)
        return refuse (error, ARCHIVE_ERROR_FAILED, member->name, "has fewer bytes than it says");
      if (!spool (reader, reader->data, (gsize)n, error))
        return FALSE;
      left -= (guint64)n;
    }
  return TRUE;
}

/* Becomes a file of its own with the same content. */
static gboolean
take_hard_link (Reader *reader, struct archive_entry *from, TarMember *member, GError **error)
{
  g_autofree char *target = plain_name (archive_entry_hardlink (from));
  const TarMember *file = target != NULL ? g_hash_table_lookup (reader->by_name, target) : NULL;
  if (file == NULL || file->type != PRISM_WIRE_FILE)
    return refuse (error, ARCHIVE_ERROR_UNSAFE_PATH, member->name,
                   "is a hard link to something that is no earlier file of it");
  if (archive_entry_size_is_set (from) && archive_entry_size (from) != 0)
    return refuse (error, ARCHIVE_ERROR_TYPE, member->name, "is a hard link with bytes of its own");
  member->type = PRISM_WIRE_FILE;
  member->mode = file->mode;
  member->size = file->size;
  member->offset = file->offset;
  return TRUE;
}

static gboolean
take_type (Reader *reader, struct archive_entry *from, TarMember *member, GError **error)
{
  la_int64_t size = archive_entry_size_is_set (from) ? archive_entry_size (from) : 0;
  if (archive_entry_hardlink (from) != NULL)
    return take_hard_link (reader, from, member, error);
  if (size < 0)
    return refuse (error, ARCHIVE_ERROR_FAILED, member->name, "has a negative size");
  switch (archive_entry_filetype (from))
    {
    case AE_IFREG:
      member->type = PRISM_WIRE_FILE;
      member->size = (guint64)size;
      return TRUE;
    case AE_IFDIR:
      member->type = PRISM_WIRE_FOLDER;
      return size == 0 || refuse (error, ARCHIVE_ERROR_TYPE, member->name, "is a folder with bytes of its own");
    case AE_IFLNK:
      member->type = PRISM_WIRE_LINK;
      member->link = g_strdup (archive_entry_symlink (from));
      if (member->link == NULL || size != 0)
        return refuse (error, ARCHIVE_ERROR_TYPE, member->name, "is a symbolic link without a target, or with bytes");
      return archive_check_link (member->name, member->link, error);
    default:
      return refuse (error, ARCHIVE_ERROR_TYPE, member->name,
                     "is a device, FIFO or another type that a tree does not hold");
    }
}

static TarMember *
add_member (Reader *reader, const char *name)
{
  TarMember *member = g_new0 (TarMember, 1);
  member->name = g_strdup (name);
  g_ptr_array_add (reader->members, member);
  g_hash_table_insert (reader->by_name, member->name, member);
  return member;
}

static gboolean
take_member (Reader *reader, struct archive_entry *from, GError **error)
{
  const char *given = archive_entry_pathname (from);
  g_autofree char *name = given != NULL ? plain_name (given) : NULL;
  TarMember *member;
  if (given == NULL)
    return refuse (error, ARCHIVE_ERROR_UNSAFE_PATH, "(an entry)", "has no readable name");
  if (name == NULL) /* the root: its own mode is not carried */
    return archive_entry_filetype (from) == AE_IFDIR
           || refuse (error, ARCHIVE_ERROR_UNSAFE_PATH, given, "is the root and not a folder");
  if (!archive_check_name (name, error))
    return FALSE;
  if (g_hash_table_contains (reader->by_name, name))
    return refuse (error, ARCHIVE_ERROR_UNSAFE_PATH, name, "is there twice");
  member = add_member (reader, name);
  member->mode = archive_entry_perm (from) & 0777;
  member->mtime = archive_entry_mtime_is_set (from) ? archive_entry_mtime (from) : 0;
  member->mtime_ns = (guint32)CLAMP (archive_entry_mtime_nsec (from), 0, 999999999);
  if (!take_type (reader, from, member, error))
    return FALSE;
  if (reader->bytes + member->size < reader->bytes)
    return refuse (error, ARCHIVE_ERROR_LIMIT, name, "is larger than anything can be");
  reader->bytes += member->size;
  if (!archive_check_limits (reader->job->limits, reader->members->len, reader->bytes, name, error))
    return FALSE;
  return archive_entry_hardlink (from) != NULL || spool_content (reader, member, error);
}

/* libarchive takes an end of input between two members for the archive's end. */
static gboolean
check_end (Reader *reader, GError **error)
{
  guint64 end = (guint64)archive_read_header_position (reader->archive);
  const void *rest;
  while (reader->read_bytes <= end + MAX_TAIL)
    {
      la_ssize_t n = read_archive (reader->archive, reader, &rest);
      if (n < 0)
        return archive_failed (reader, error);
      if (n == 0)
        break;
    }
  if (reader->read_bytes < end + END_MARKER)
    {
      g_set_error_literal (error, ARCHIVE_TREE_ERROR, ARCHIVE_ERROR_FAILED,
                           "the archive was cut short: it has no end marker (two blocks of zeros)");
      return FALSE;
    }
  if (reader->last_nonzero > end || reader->read_bytes > end + MAX_TAIL)
    {
      g_set_error_literal (error, ARCHIVE_TREE_ERROR, ARCHIVE_ERROR_FAILED, "the archive goes on after its end marker");
      return FALSE;
    }
  return TRUE;
}

static gboolean
read_members (Reader *reader, GError **error)
{
  struct archive_entry *from;
  for (;;)
    {
      int got = archive_read_next_header (reader->archive, &from);
      if (got == ARCHIVE_EOF)
        return check_end (reader, error);
      if (got != ARCHIVE_OK)
        return archive_failed (reader, error);
      if (!take_member (reader, from, error))
        return FALSE;
    }
}

/* Folders that the archive only implies. */
static gboolean
add_parents (Reader *reader, GError **error)
{
  for (guint i = 0; i < reader->members->len; i++)
    {
      const TarMember *member = g_ptr_array_index (reader->members, i);
      g_autofree char *parent = g_path_get_dirname (member->name);
      TarMember *folder;
      if (strcmp (parent, ".") == 0 || g_hash_table_contains (reader->by_name, parent))
        continue;
      folder = add_member (reader, parent);
      folder->type = PRISM_WIRE_FOLDER;
      folder->mode = 0755;
      if (!archive_check_limits (reader->job->limits, reader->members->len, 0, parent, error))
        return FALSE;
    }
  return TRUE;
}

static int
compare_members (gconstpointer a, gconstpointer b)
{
  return archive_compare ((*(const TarMember *const *)a)->name, (*(const TarMember *const *)b)->name);
}

static void
fill_entry (ArchiveEntry *entry, const TarMember *member)
{
  const char *link = member->link != NULL ? member->link : "";
  entry->type = member->type;
  entry->mode = member->mode;
  entry->mtime = member->mtime;
  entry->mtime_ns = member->mtime_ns;
  entry->size = member->size;
  entry->name_length = (guint16)strlen (member->name);
  entry->link_length = (guint16)strlen (link);
  memcpy (entry->name, member->name, entry->name_length + 1u);
  memcpy (entry->link, link, entry->link_length + 1u);
}

static gboolean
send_content (Reader *reader, const TarMember *member, ArchiveOutput *tree, ArchiveOutput *tar, GError **error)
{
  for (guint64 done = 0; done < member->size;)
    {
      gsize want = (gsize)MIN (member->size - done, sizeof reader->data);
      ssize_t n = pread (reader->spool, reader->data, want, (off_t)(member->offset + done));
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return refuse (error, ARCHIVE_ERROR_FAILED, member->name, "could not be read back");
      if (!archive_output_put (tree, reader->data, (gsize)n, error)
          || !archive_output_put (tar, reader->data, (gsize)n, error))
        return FALSE;
      done += (guint64)n;
    }
  return archive_tar_put_padding (tar, member->size, error);
}

/* Twice over the members: nothing is sent of an archive that would be refused. */
static gboolean
send_members (Reader *reader, ArchiveOutput *tree, ArchiveOutput *tar, PrismArchiveResult *result, GError **error)
{
  g_autofree ArchiveRules *rules = g_new0 (ArchiveRules, 1);
  g_autofree ArchiveEntry *entry = g_new0 (ArchiveEntry, 1);
  const PrismArchiveJob *job = reader->job;
  rules->limits = job->limits;
  g_ptr_array_sort (reader->members, compare_members);
  for (guint i = 0; i < reader->members->len; i++)
    {
      fill_entry (entry, g_ptr_array_index (reader->members, i));
      if (!archive_rules_check (rules, entry, error))
        return FALSE;
    }
  for (guint i = 0; i < reader->members->len; i++)
    {
      const TarMember *member = g_ptr_array_index (reader->members, i);
      fill_entry (entry, member);
      if (!archive_tree_put (tree, entry, error) || !archive_tar_put_header (tar, entry, error)
          || !send_content (reader, member, tree, tar, error))
        return FALSE;
      if (job->progress != NULL && i % 256 == 255)
        job->progress (i + 1, rules->bytes, job->user_data);
    }
  result->entries = rules->entries;
  result->bytes = rules->bytes;
  return archive_tree_put_end (tree, rules->entries, error) && archive_tar_put_end (tar, error);
}

static gboolean
open_spool (Reader *reader, GError **error)
{
  g_autofree char *name = NULL;
  reader->spool = open (g_get_tmp_dir (), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (reader->spool >= 0)
    return TRUE;
  reader->spool = g_file_open_tmp ("prism-XXXXXX", &name, error);
  return reader->spool >= 0 && g_unlink (name) == 0;
}

static gboolean
open_archive (Reader *reader, GError **error)
{
  reader->archive = archive_read_new ();
  if (reader->archive != NULL && archive_read_support_format_tar (reader->archive) == ARCHIVE_OK
      && archive_read_open (reader->archive, reader, NULL, read_archive, NULL) == ARCHIVE_OK)
    return TRUE;
  return archive_failed (reader, error);
}

static void
reader_free (Reader *reader)
{
  archive_wait_clear (&reader->wait);
  g_clear_pointer (&reader->archive, archive_read_free);
  g_clear_pointer (&reader->by_name, g_hash_table_unref);
  g_clear_pointer (&reader->members, g_ptr_array_unref);
  g_clear_error (&reader->read_error);
  if (reader->spool >= 0)
    close (reader->spool);
  g_free (reader);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Reader, reader_free)

static gboolean
read_and_send (Reader *reader, int tree_fd, PrismArchiveResult *result, GError **error)
{
  ArchiveOutput tree = { 0 }, tar = { 0 };
  gboolean good = open_spool (reader, error) && open_archive (reader, error) && read_members (reader, error)
                  && add_parents (reader, error);
  good = good && archive_output_init (&tree, &reader->wait, tree_fd, NULL, FALSE, error)
         && archive_output_init (&tar, &reader->wait, -1, NULL, TRUE, error)
         && send_members (reader, &tree, &tar, result, error);
  if (good)
    archive_output_digest (&tar, result->sha256);
  archive_output_clear (&tree);
  archive_output_clear (&tar);
  return good;
}

gboolean
archive_read_tar (int tar_fd, int tree_fd, const PrismArchiveJob *job, PrismArchiveResult *result, GError **error)
{
  g_autoptr (Reader) reader = g_new0 (Reader, 1);
  /* Names in pax headers are UTF-8: libarchive compares that with the locale's. */
  locale_t utf8 = newlocale (LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  locale_t before = utf8 != (locale_t)0 ? uselocale (utf8) : (locale_t)0;
  gboolean good;
  reader->job = job;
  reader->fd = tar_fd;
  reader->spool = -1;
  reader->members = g_ptr_array_new_with_free_func (tar_member_free);
  reader->by_name = g_hash_table_new (g_str_hash, g_str_equal);
  archive_wait_init (&reader->wait, job);
  good = read_and_send (reader, tree_fd, result, error);
  if (utf8 != (locale_t)0)
    {
      uselocale (before);
      freelocale (utf8);
    }
  return good;
}
