/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A host folder becomes a tree stream. The folder may change under the walk, and
 * by someone who wants it to lead elsewhere: every step is an openat() of one
 * component that follows nothing, from a descriptor of the folder it lies in, and
 * what was opened is asked what it is. A hard link is content like any other (the
 * file can be reached in the folder). A file that has another size than it said
 * ends the import. Set-id bits do not travel. */
#include "archive-io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRESS_ENTRIES 256u

typedef struct
{
  const PrismArchiveJob *job;
  ArchiveRules rules;
  ArchiveOutput tree; /* where it goes */
  ArchiveOutput tar;  /* hashed only */
  ArchiveEntry entry; /* the current one; name is the path so far */
  guint depth;
} Import;

static gboolean
failed (Import *import, GError **error, int saved, const char *what)
{
  g_autofree char *quoted = archive_quote (import->entry.name);
  if (saved == ELOOP || saved == ENOTDIR || saved == ENOENT || saved == ENXIO)
    g_set_error (error, ARCHIVE_TREE_ERROR, ARCHIVE_ERROR_CHANGED, "%s changed while it was read (%s: %s)", quoted,
                 what, g_strerror (saved));
  else
    g_set_error (error, ARCHIVE_TREE_ERROR, ARCHIVE_ERROR_FAILED, "%s: cannot %s: %s", quoted, what,
                 g_strerror (saved));
  return FALSE;
}

static gboolean
changed (Import *import, GError **error, const char *what)
{
  g_autofree char *quoted = archive_quote (import->entry.name);
  g_set_error (error, ARCHIVE_TREE_ERROR, ARCHIVE_ERROR_CHANGED, "%s %s while it was read", quoted, what);
  return FALSE;
}

static gboolean
begin_entry (Import *import, guint8 type, const struct stat *st, GError **error)
{
  ArchiveEntry *entry = &import->entry;
  entry->type = type;
  entry->mode = st->st_mode & 0777;
  entry->mtime = st->st_mtim.tv_sec;
  entry->mtime_ns = (guint32)st->st_mtim.tv_nsec;
  entry->size = type == PRISM_WIRE_FILE ? (guint64)st->st_size : 0;
  if (type != PRISM_WIRE_LINK)
    {
      entry->link_length = 0;
      entry->link[0] = '\0';
    }
  if (!archive_rules_check (&import->rules, entry, error) || !archive_tree_put (&import->tree, entry, error)
      || !archive_tar_put_header (&import->tar, entry, error))
    return FALSE;
  if (import->job->progress != NULL && import->rules.entries % PROGRESS_ENTRIES == 0)
    import->job->progress (import->rules.entries, import->rules.bytes, import->job->user_data);
  return TRUE;
}

/* Asks for one byte more than there should be: a file that grew is seen without
 * another call. */
static gboolean
send_content (Import *import, int fd, guint64 size, GError **error)
{
  guint64 left = size;
  while (left > 0)
    {
      gsize want = (gsize)MIN (left + 1, ARCHIVE_BUFFER);
      guint8 *room = archive_output_room (&import->tree, want, error);
      ssize_t n;
      if (room == NULL)
        return FALSE;
      n = read (fd, room, want);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return failed (import, error, errno, "read it");
      if (n == 0)
        return changed (import, error, "shrank");
      if ((guint64)n > left)
        return changed (import, error, "grew");
      if (!archive_output_put (&import->tar, room, (gsize)n, error))
        return FALSE;
      import->tree.used += (gsize)n;
      left -= (guint64)n;
      /* A short read at the end has met the end of the file already. */
      if (left == 0 && (gsize)n == want)
        {
          guint8 byte;
          if (read (fd, &byte, 1) != 0)
            return changed (import, error, "grew");
        }
    }
  return archive_tar_put_padding (&import->tar, size, error);
}

static gboolean
import_file (Import *import, int folder, const char *leaf, GError **error)
{
  struct stat st;
  gboolean good;
  int fd = openat (folder, leaf, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0)
    return failed (import, error, errno, "open it");
  if (fstat (fd, &st) != 0)
    good = failed (import, error, errno, "look at it");
  else if (!S_ISREG (st.st_mode))
    good = changed (import, error, "became something else");
  else
    good = begin_entry (import, PRISM_WIRE_FILE, &st, error) && send_content (import, fd, (guint64)st.st_size, error);
  close (fd);
  return good;
}

static gboolean
import_link (Import *import, int folder, const char *leaf, GError **error)
{
  struct stat st;
  ssize_t n = readlinkat (folder, leaf, import->entry.link, PRISM_WIRE_MAX_PATH + 1);
  if (n < 0)
    return failed (import, error, errno == EINVAL ? ENOENT : errno, "read the link");
  if (n > (ssize_t)PRISM_WIRE_MAX_PATH)
    return failed (import, error, ENAMETOOLONG, "read the link");
  import->entry.link[n] = '\0';
  import->entry.link_length = (guint16)n;
  if (fstatat (folder, leaf, &st, AT_SYMLINK_NOFOLLOW) != 0)
    return failed (import, error, errno, "look at it");
  st.st_mode = 0777;
  return begin_entry (import, PRISM_WIRE_LINK, &st, error);
}

static gboolean
import_special (Import *import, GError **error)
{
  import->entry.type = PRISM_WIRE_OTHER;
  return archive_rules_check (&import->rules, &import->entry, error);
}

/* A name and, before it, its type: sorted, they keep together. */
static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a + 1, *(const char *const *)b + 1);
}

static gboolean
list_folder (Import *import, int fd, GStringChunk *chunk, GPtrArray *names, GError **error)
{
  const PrismArchiveLimits *limits = import->job->limits;
  int copy = fcntl (fd, F_DUPFD_CLOEXEC, 3);
  DIR *dir = copy >= 0 ? fdopendir (copy) : NULL;
  struct dirent *d;
  gboolean good = TRUE;
  if (dir == NULL)
    {
      int saved = errno;
      if (copy >= 0)
        close (copy);
      return failed (import, error, saved, "list it");
    }
  for (errno = 0; good && (d = readdir (dir)) != NULL; errno = 0)
    {
      char typed[NAME_MAX + 3] = { (char)('A' + d->d_type), '\0' };
      if (strcmp (d->d_name, ".") == 0 || strcmp (d->d_name, "..") == 0)
        continue;
      good = archive_check_limits (limits, import->rules.entries + names->len + 1, 0, d->d_name, error);
      g_strlcpy (typed + 1, d->d_name, sizeof typed - 1);
      g_ptr_array_add (names, g_string_chunk_insert (chunk, typed));
    }
  if (good && errno != 0)
    good = failed (import, error, errno, "list it");
  closedir (dir);
  g_ptr_array_sort (names, compare_names);
  return good;
}

static gboolean import_folder (Import *import, int folder, const char *leaf, GError **error);

static gboolean
import_entry (Import *import, int folder, guchar type, const char *leaf, GError **error)
{
  if (type == DT_UNKNOWN)
    {
      struct stat st;
      if (fstatat (folder, leaf, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return failed (import, error, errno, "look at it");
      type = (guchar)IFTODT (st.st_mode);
    }
  switch (type)
    {
    case DT_REG:
      return import_file (import, folder, leaf, error);
    case DT_DIR:
      return import_folder (import, folder, leaf, error);
    case DT_LNK:
      return import_link (import, folder, leaf, error);
    default:
      return import_special (import, error);
    }
}

static gboolean
import_children (Import *import, int fd, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  GStringChunk *chunk = g_string_chunk_new (4096);
  guint16 prefix = import->entry.name_length;
  gboolean good = list_folder (import, fd, chunk, names, error);
  for (guint i = 0; good && i < names->len; i++)
    {
      const char *typed = g_ptr_array_index (names, i);
      gsize length = strlen (typed + 1), slash = prefix > 0 ? 1 : 0;
      if (prefix + slash + length > PRISM_WIRE_MAX_PATH)
        {
          good = failed (import, error, ENAMETOOLONG, "name what lies in it");
          break;
        }
      if (slash)
        import->entry.name[prefix] = '/';
      memcpy (import->entry.name + prefix + slash, typed + 1, length + 1);
      import->entry.name_length = (guint16)(prefix + slash + length);
      good = import_entry (import, fd, (guchar)(typed[0] - 'A'), typed + 1, error);
    }
  if (good)
    {
      import->entry.name[prefix] = '\0';
      import->entry.name_length = prefix;
    }
  g_string_chunk_free (chunk);
  return good;
}

static gboolean
import_folder (Import *import, int folder, const char *leaf, GError **error)
{
  struct stat st;
  gboolean good;
  int fd = openat (folder, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    return failed (import, error, errno, "open it");
  if (fstat (fd, &st) != 0)
    good = failed (import, error, errno, "look at it");
  else
    good = begin_entry (import, PRISM_WIRE_FOLDER, &st, error) && import_children (import, fd, error);
  close (fd);
  return good;
}

static gboolean
import_root (Import *import, int folder_fd, GError **error)
{
  gboolean good;
  int fd = openat (folder_fd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    {
      int saved = errno;
      g_set_error (error, ARCHIVE_TREE_ERROR, ARCHIVE_ERROR_FAILED, "cannot open the folder to import: %s",
                   g_strerror (saved));
      return FALSE;
    }
  good = import_children (import, fd, error) && archive_tree_put_end (&import->tree, import->rules.entries, error)
         && archive_tar_put_end (&import->tar, error);
  close (fd);
  return good;
}

gboolean
archive_import (int folder_fd, int tree_fd, const PrismArchiveJob *job, PrismArchiveResult *result, GError **error)
{
  g_autofree Import *import = g_new0 (Import, 1);
  ArchiveWait wait;
  gboolean good;
  import->job = job;
  import->rules.limits = job->limits;
  archive_wait_init (&wait, job);
  good = archive_output_init (&import->tree, &wait, tree_fd, NULL, FALSE, error)
         && archive_output_init (&import->tar, &wait, -1, NULL, TRUE, error) && import_root (import, folder_fd, error);
  if (good)
    {
      archive_output_digest (&import->tar, result->sha256);
      result->entries = import->rules.entries;
      result->bytes = import->rules.bytes;
    }
  archive_output_clear (&import->tree);
  archive_output_clear (&import->tar);
  archive_wait_clear (&wait);
  return good;
}
