/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The fake backend's files: the workspace's folder, and nothing that leads out. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "prism-fake-private.h"
#include "prism-fd-private.h"

typedef struct
{
  int parent; /* the folder that holds it */
  char leaf[256];
} Place;

static void
place_clear (Place *place)
{
  prism_clear_fd (&place->parent);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Place, place_clear)

static void
fail_errno (gpointer operation, const char *path)
{
  int code = errno;

  prism_fake_fail (operation,
                   code == ENOENT                                                      ? PRISM_SANDBOX_ERROR_NOT_FOUND
                   : code == EXDEV || code == ELOOP || code == EACCES || code == EPERM ? PRISM_SANDBOX_ERROR_DENIED
                   : code == ENOSPC                                                    ? PRISM_SANDBOX_ERROR_LIMIT
                                                                                       : PRISM_SANDBOX_ERROR_FAILED,
                   "%s: %s", path, g_strerror (code));
}

static int
open_beneath (int folder, const char *path, int flags)
{
  struct open_how how = { .flags = (guint64)(flags | O_CLOEXEC), .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };

  return (int)syscall (SYS_openat2, folder, path, &how, sizeof how);
}

/* The folder that holds @path, by descriptor; with @parents, made on the way. */
static gboolean
find_place (PrismFakeSandbox *self, const char *path, gboolean parents, Place *place)
{
  gsize length = strlen (self->workspace);
  const char *relative, *slash;
  g_autofree char *folder = NULL;
  prism_autofd int root = open (self->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);

  place->parent = -1;
  if (strncmp (path, self->workspace, length) != 0 || (path[length] != '/' && path[length] != '\0'))
    {
      errno = EXDEV;
      return FALSE;
    }
  for (relative = path + length; *relative == '/'; relative++)
    ;
  slash = strrchr (relative, '/');
  folder = slash != NULL ? g_strndup (relative, (gsize)(slash - relative)) : g_strdup (".");
  if (strlen (slash != NULL ? slash + 1 : relative) > 255)
    {
      errno = ENAMETOOLONG;
      return FALSE;
    }
  g_strlcpy (place->leaf, slash != NULL ? slash + 1 : relative, sizeof place->leaf);
  if (place->leaf[0] == '\0')
    strcpy (place->leaf, ".");
  if (strcmp (place->leaf, "..") == 0)
    {
      errno = EXDEV;
      return FALSE;
    }
  if (parents)
    for (char *at = folder; at != NULL;)
      {
        char *next = strchr (at, '/');
        if (next != NULL)
          *next = '\0';
        prism_autofd int there = open_beneath (root, folder, O_PATH | O_DIRECTORY);
        if (there < 0 && errno == ENOENT)
          mkdirat (root, folder, 0755);
        if (next != NULL)
          *next++ = '/';
        at = next;
      }
  place->parent = open_beneath (root, folder, O_RDONLY | O_DIRECTORY);
  return place->parent >= 0;
}

static gboolean
find_or_fail (PrismFakeSandbox *self, PrismFileOperation *operation, gboolean parents, Place *place)
{
  const char *path = prism_file_operation_get_path (operation);

  if (!prism_fake_is_running (self, operation))
    return FALSE;
  if (find_place (self, path, parents, place))
    return TRUE;
  fail_errno (operation, path);
  return FALSE;
}

static void
do_read (PrismFakeSandbox *self, gpointer operation)
{
  const char *path = prism_file_operation_get_path (operation);
  gint64 length = prism_file_operation_get_length (operation), offset = prism_file_operation_get_offset (operation);
  gint64 most = prism_limits_get (prism_sandbox_spec_get_limits (self->spec), "max-file-bytes");
  g_auto (Place) place = { -1, "" };
  prism_autofd int fd = -1;
  g_autofree char *data = NULL;
  g_autoptr (GBytes) bytes = NULL;
  struct stat st;
  gsize got = 0;
  ssize_t n;

  if (!find_or_fail (self, operation, FALSE, &place))
    return;
  fd = open_beneath (place.parent, place.leaf, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  if (fd < 0 || fstat (fd, &st) != 0)
    {
      fail_errno (operation, path);
      return;
    }
  if (!S_ISREG (st.st_mode))
    {
      prism_fake_fail (operation, PRISM_SANDBOX_ERROR_FAILED, "%s: not a regular file", path);
      return;
    }
  if (length < 0)
    length = MAX (st.st_size - offset, 0);
  if (length > most)
    {
      prism_fake_fail (operation, PRISM_SANDBOX_ERROR_LIMIT, "%s: longer than max-file-bytes", path);
      return;
    }
  data = g_malloc ((gsize)length + 1);
  while (got < (gsize)length && (n = pread (fd, data + got, (gsize)length - got, offset + (gint64)got)) > 0)
    got += (gsize)n;
  bytes = g_bytes_new_take (g_steal_pointer (&data), got);
  prism_file_operation_complete_bytes (operation, bytes);
}

static void
do_write (PrismFakeSandbox *self, gpointer operation)
{
  const char *path = prism_file_operation_get_path (operation);
  gboolean parents = (prism_file_operation_get_flags (operation) & PRISM_FILE_FLAGS_PARENTS) != 0;
  g_auto (Place) place = { -1, "" };
  g_autofree char *name = g_strdup_printf (".fake-%u", g_random_int ());
  prism_autofd int fd = -1;
  guint mode = prism_file_operation_get_mode (operation);
  struct stat st;
  gsize size, done = 0;
  const char *data = g_bytes_get_data (prism_file_operation_get_bytes (operation), &size);
  ssize_t n = 0;

  if (!find_or_fail (self, operation, parents, &place))
    return;
  if (mode == 0)
    mode = fstatat (place.parent, place.leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode & 0777 : 0644;
  fd = openat (place.parent, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  while (fd >= 0 && done < size && (n = write (fd, data + done, size - done)) > 0)
    done += (gsize)n;
  if (fd < 0 || done < size || fchmod (fd, mode) != 0 || renameat (place.parent, name, place.parent, place.leaf) != 0)
    {
      fail_errno (operation, path);
      unlinkat (place.parent, name, 0);
      return;
    }
  prism_file_operation_complete (operation);
}

static PrismFileEntry *
make_entry (const char *path, const struct stat *st)
{
  GFileType type = S_ISREG (st->st_mode)   ? G_FILE_TYPE_REGULAR
                   : S_ISDIR (st->st_mode) ? G_FILE_TYPE_DIRECTORY
                   : S_ISLNK (st->st_mode) ? G_FILE_TYPE_SYMBOLIC_LINK
                                           : G_FILE_TYPE_SPECIAL;

  return prism_file_entry_new (path, type, (guint64)st->st_size, st->st_mode & 07777,
                               st->st_mtim.tv_sec * G_USEC_PER_SEC + st->st_mtim.tv_nsec / 1000);
}

static void
do_stat (PrismFakeSandbox *self, gpointer operation)
{
  const char *path = prism_file_operation_get_path (operation);
  g_auto (Place) place = { -1, "" };
  struct stat st;

  if (!find_or_fail (self, operation, FALSE, &place))
    return;
  if (fstatat (place.parent, place.leaf, &st, AT_SYMLINK_NOFOLLOW) != 0)
    {
      fail_errno (operation, path);
      return;
    }
  g_autoptr (PrismFileEntry) entry = make_entry (path, &st);
  prism_file_operation_complete_entry (operation, entry);
}

typedef void (*Visit) (const char *path, const struct stat *st, gpointer data);

static gboolean
walk (const char *path, PrismFileFlags flags, Visit visit, gpointer data)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  if (dir == NULL)
    return FALSE;
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_strconcat (path, "/", name, NULL);
      struct stat st;

      if ((name[0] == '.' && (flags & PRISM_FILE_FLAGS_HIDDEN) == 0) || lstat (child, &st) != 0)
        continue;
      visit (child, &st, data);
      if (S_ISDIR (st.st_mode) && (flags & PRISM_FILE_FLAGS_RECURSIVE) != 0)
        walk (child, flags, visit, data);
    }
  return TRUE;
}

static void
collect (const char *path, const struct stat *st, gpointer data)
{
  g_ptr_array_add (data, make_entry (path, st));
}

static int
compare (gconstpointer a, gconstpointer b)
{
  return strcmp (prism_file_entry_get_path (*(PrismFileEntry **)a), prism_file_entry_get_path (*(PrismFileEntry **)b));
}

static void
do_list (PrismFakeSandbox *self, gpointer operation)
{
  const char *path = prism_file_operation_get_path (operation);
  g_auto (Place) place = { -1, "" };
  g_autoptr (GPtrArray) entries = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GListStore) list = g_list_store_new (PRISM_TYPE_FILE_ENTRY);
  struct stat st;

  if (!find_or_fail (self, operation, FALSE, &place))
    return;
  if (fstatat (place.parent, place.leaf, &st, AT_SYMLINK_NOFOLLOW) != 0)
    {
      fail_errno (operation, path);
      return;
    }
  if (!S_ISDIR (st.st_mode) || !walk (path, prism_file_operation_get_flags (operation), collect, entries))
    {
      prism_fake_fail (operation, PRISM_SANDBOX_ERROR_FAILED, "%s: not a folder", path);
      return;
    }
  g_ptr_array_sort (entries, compare);
  g_list_store_splice (list, 0, 0, entries->pdata, entries->len);
  prism_file_operation_complete_entries (operation, G_LIST_MODEL (list));
}

static void
remove_all (int parent, const char *name)
{
  prism_autofd int fd = openat (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  g_autofree char *path = g_strdup_printf ("/proc/self/fd/%d", fd);
  g_autoptr (GDir) dir = fd >= 0 ? g_dir_open (path, 0, NULL) : NULL;
  const char *child;

  while (dir != NULL && (child = g_dir_read_name (dir)) != NULL)
    remove_all (fd, child);
  unlinkat (parent, name, fd >= 0 ? AT_REMOVEDIR : 0);
}

static void
do_remove (PrismFakeSandbox *self, gpointer operation)
{
  const char *path = prism_file_operation_get_path (operation);
  g_auto (Place) place = { -1, "" };
  struct stat st;

  if (!find_or_fail (self, operation, FALSE, &place))
    return;
  if (fstatat (place.parent, place.leaf, &st, AT_SYMLINK_NOFOLLOW) != 0)
    {
      fail_errno (operation, path);
      return;
    }
  if ((prism_file_operation_get_flags (operation) & PRISM_FILE_FLAGS_RECURSIVE) != 0)
    remove_all (place.parent, place.leaf);
  else if (unlinkat (place.parent, place.leaf, S_ISDIR (st.st_mode) ? AT_REMOVEDIR : 0) != 0)
    {
      fail_errno (operation, path);
      return;
    }
  prism_file_operation_complete (operation);
}

static void
do_rename (PrismFakeSandbox *self, gpointer operation)
{
  const char *path = prism_file_operation_get_path (operation);
  const char *destination = prism_file_operation_get_destination (operation);
  gboolean overwrite = (prism_file_operation_get_flags (operation) & PRISM_FILE_FLAGS_OVERWRITE) != 0;
  g_auto (Place) from = { -1, "" };
  g_auto (Place) to = { -1, "" };

  if (!find_or_fail (self, operation, FALSE, &from))
    return;
  if (!find_place (self, destination, FALSE, &to))
    fail_errno (operation, destination);
  else if (renameat2 (from.parent, from.leaf, to.parent, to.leaf, overwrite ? 0 : RENAME_NOREPLACE) != 0)
    fail_errno (operation, path);
  else
    prism_file_operation_complete (operation);
}

static void
do_make_directory (PrismFakeSandbox *self, gpointer operation)
{
  const char *path = prism_file_operation_get_path (operation);
  gboolean parents = (prism_file_operation_get_flags (operation) & PRISM_FILE_FLAGS_PARENTS) != 0;
  guint mode = prism_file_operation_get_mode (operation);
  g_auto (Place) place = { -1, "" };
  struct stat st;

  if (!find_or_fail (self, operation, parents, &place))
    return;
  if (mkdirat (place.parent, place.leaf, 0700) == 0)
    {
      fchmodat (place.parent, place.leaf, mode != 0 ? mode : 0755, 0);
      prism_file_operation_complete (operation);
    }
  else if (parents && errno == EEXIST && fstatat (place.parent, place.leaf, &st, AT_SYMLINK_NOFOLLOW) == 0
           && S_ISDIR (st.st_mode))
    prism_file_operation_complete (operation);
  else
    fail_errno (operation, path);
}

typedef struct
{
  const char *query;
  gboolean ignore_case;
  gint64 left;
  GPtrArray *lines;
} Search;

static char *
find_text (const Search *search, char *line)
{
  return search->ignore_case ? strcasestr (line, search->query) : strstr (line, search->query);
}

static void
search_file (const char *path, const struct stat *st, gpointer data)
{
  Search *search = data;
  g_autofree char *text = NULL;
  guint number = 1;

  if (!S_ISREG (st->st_mode) || !g_file_get_contents (path, &text, NULL, NULL))
    return;
  for (char *line = text; line != NULL; number++)
    {
      char *end = strchr (line, '\n'), *found;
      if (end != NULL)
        *end++ = '\0';
      found = find_text (search, line);
      if (found != NULL && search->left-- > 0)
        {
          GString *match = g_string_new (path);
          g_string_append_c (match, '\0');
          g_string_append_printf (match, "%u", number);
          g_string_append_c (match, '\0');
          g_string_append_printf (match, "%u", (guint)(found - line) + 1);
          g_string_append_c (match, '\0');
          g_string_append (match, line);
          g_string_append_c (match, '\n');
          g_ptr_array_add (search->lines, match);
        }
      line = end;
    }
}

static void
free_line (gpointer line)
{
  g_string_free (line, TRUE);
}

static void
do_search (PrismFakeSandbox *self, gpointer operation)
{
  const char *path = prism_file_operation_get_path (operation);
  PrismFileFlags flags = prism_file_operation_get_flags (operation);
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (free_line);
  g_autoptr (GString) all = g_string_new (NULL);
  g_autoptr (GBytes) bytes = NULL;
  Search search = { prism_file_operation_get_query (operation), (flags & PRISM_FILE_FLAGS_IGNORE_CASE) != 0,
                    prism_file_operation_get_length (operation), lines };
  g_auto (Place) place = { -1, "" };

  if (!find_or_fail (self, operation, FALSE, &place))
    return;
  walk (path, flags | PRISM_FILE_FLAGS_RECURSIVE, search_file, &search);
  for (guint i = 0; i < lines->len; i++)
    {
      const GString *line = g_ptr_array_index (lines, i);
      g_string_append_len (all, line->str, (gssize)line->len);
    }
  bytes = g_string_free_to_bytes (g_steal_pointer (&all));
  prism_file_operation_complete_bytes (operation, bytes);
}

#define HAND_OVER(name)                                                                                                \
  static void hand_##name (PrismSandbox *sandbox, PrismFileOperation *operation)                                       \
  {                                                                                                                    \
    prism_fake_hand_over (PRISM_FAKE_SANDBOX (sandbox), operation, do_##name);                                         \
  }

HAND_OVER (read)
HAND_OVER (write)
HAND_OVER (list)
HAND_OVER (stat)
HAND_OVER (remove)
HAND_OVER (rename)
HAND_OVER (make_directory)
HAND_OVER (search)

void
prism_fake_files_init (PrismSandboxInterface *iface)
{
  iface->read_file = hand_read;
  iface->write_file = hand_write;
  iface->list_files = hand_list;
  iface->stat_file = hand_stat;
  iface->remove_file = hand_remove;
  iface->rename_file = hand_rename;
  iface->make_directory = hand_make_directory;
  iface->search = hand_search;
}
