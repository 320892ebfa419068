/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A folder of the host. TRUST: the folder as it was when the tree was made; not its content,
 * nor any name. Every name is looked up once, beneath the folder, by the path guard; the
 * descriptor that comes of it is what is used. Nothing here isolates what a command does. */
#include "prism-host-tree-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "prism-fd-private.h"
#include "prism-path-guard-private.h"

#define NOREPLACE 1u

struct _PrismHostTree
{
  PrismTree parent_instance;

  PrismPathGuard *guard;
  GMutex lock;
  char *kept; /* the folder of what prism_tree_keep() wrote; NULL: none yet */
};

G_DEFINE_FINAL_TYPE (PrismHostTree, prism_host_tree, PRISM_TYPE_TREE)

/* --- what goes wrong -------------------------------------------------------------------- */

static PrismTreeFault
fault_of (int number)
{
  switch (number)
    {
    case ENOENT:
      return PRISM_TREE_FAULT_NOT_FOUND;
    case EXDEV:
      return PRISM_TREE_FAULT_ESCAPE;
    case EACCES:
    case EPERM:
    case EROFS:
    case EBUSY:
      return PRISM_TREE_FAULT_DENIED;
    case EEXIST:
    case ENOTEMPTY:
      return PRISM_TREE_FAULT_EXISTS;
    case EISDIR:
    case ENOTDIR:
    case ENXIO:
    case ELOOP:
      return PRISM_TREE_FAULT_TYPE;
    case ENAMETOOLONG:
    case EINVAL:
      return PRISM_TREE_FAULT_INVALID;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EFBIG:
      return PRISM_TREE_FAULT_LIMIT;
    default:
      return PRISM_TREE_FAULT_FAILED;
    }
}

void
prism_tree_set_errno (GError **error, int number, const char *path)
{
  g_set_error (error, PRISM_TREE_FAULT, (int)fault_of (number), "%s: %s", path, g_strerror (number));
}

static const struct
{
  int code;
  PrismTreeFault fault;
} io_faults[] = {
  { G_IO_ERROR_NOT_FOUND, PRISM_TREE_FAULT_NOT_FOUND },
  { G_IO_ERROR_EXISTS, PRISM_TREE_FAULT_EXISTS },
  { G_IO_ERROR_NOT_EMPTY, PRISM_TREE_FAULT_EXISTS },
  { G_IO_ERROR_IS_DIRECTORY, PRISM_TREE_FAULT_TYPE },
  { G_IO_ERROR_NOT_DIRECTORY, PRISM_TREE_FAULT_TYPE },
  { G_IO_ERROR_TOO_MANY_LINKS, PRISM_TREE_FAULT_TYPE },
  { G_IO_ERROR_NOT_REGULAR_FILE, PRISM_TREE_FAULT_TYPE },
  { G_IO_ERROR_FILENAME_TOO_LONG, PRISM_TREE_FAULT_INVALID },
  { G_IO_ERROR_INVALID_FILENAME, PRISM_TREE_FAULT_INVALID },
  { G_IO_ERROR_INVALID_ARGUMENT, PRISM_TREE_FAULT_INVALID },
  { G_IO_ERROR_PERMISSION_DENIED, PRISM_TREE_FAULT_DENIED },
  { G_IO_ERROR_READ_ONLY, PRISM_TREE_FAULT_DENIED },
  { G_IO_ERROR_BUSY, PRISM_TREE_FAULT_DENIED },
  { G_IO_ERROR_NO_SPACE, PRISM_TREE_FAULT_LIMIT },
  { G_IO_ERROR_TOO_MANY_OPEN_FILES, PRISM_TREE_FAULT_LIMIT },
};

/* Of the path guard. */
static void
take_fault (GError **error, GError *from)
{
  PrismTreeFault fault = PRISM_TREE_FAULT_FAILED;

  if (g_error_matches (from, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_DENIED))
    fault = PRISM_TREE_FAULT_ESCAPE;
  for (guint i = 0; from->domain == G_IO_ERROR && i < G_N_ELEMENTS (io_faults); i++)
    if (from->code == io_faults[i].code)
      fault = io_faults[i].fault;
  g_set_error_literal (error, PRISM_TREE_FAULT, (int)fault, from->message);
  g_error_free (from);
}

static gboolean
is_cancelled (GCancellable *cancellable, GError **error)
{
  if (!g_cancellable_is_cancelled (cancellable))
    return FALSE;
  g_set_error_literal (error, PRISM_TREE_FAULT, PRISM_TREE_FAULT_CANCELLED, "cancelled");
  return TRUE;
}

/* --- names ------------------------------------------------------------------------------- */

/* What @path leads to, without opening it: that alone does things to a FIFO or a device. */
static int
look_at (PrismHostTree *self, const char *path, struct stat *s, GError **error)
{
  GError *wrong = NULL;
  int fd = prism_path_guard_open (self->guard, path, PRISM_PATH_INTENT_READ, O_PATH | O_CLOEXEC, 0, &wrong);

  if (fd < 0)
    take_fault (error, wrong);
  else if (fstat (fd, s) != 0)
    {
      prism_tree_set_errno (error, errno, path);
      prism_clear_fd (&fd);
    }
  return fd;
}

/* A descriptor that reads what @fd names. */
static int
open_again (int fd, int flags, const char *path, GError **error)
{
  char link[64];
  int again;

  g_snprintf (link, sizeof link, "/proc/self/fd/%d", fd);
  again = open (link, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (again < 0)
    prism_tree_set_errno (error, errno, path);
  return again;
}

/* A link in the place of a folder is no folder where links are not followed: said as what it is. */
static gboolean
is_through_link (PrismHostTree *self, const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);
  g_autoptr (GError) error = NULL;
  struct stat s;
  prism_autofd int fd = look_at (self, folder, &s, &error);

  return fd >= 0 ? S_ISDIR (s.st_mode) : error->code == PRISM_TREE_FAULT_ESCAPE;
}

static int
open_parent (PrismHostTree *self, const char *path, gboolean make, char **leaf, GError **error)
{
  GError *wrong = NULL;
  int fd = make ? prism_path_guard_make_parents (self->guard, path, 0755, leaf, &wrong)
                : prism_path_guard_open_parent (self->guard, path, leaf, &wrong);

  if (fd < 0 && g_error_matches (wrong, G_IO_ERROR, G_IO_ERROR_NOT_DIRECTORY) && is_through_link (self, path))
    {
      g_error_free (wrong);
      g_set_error (error, PRISM_TREE_FAULT, PRISM_TREE_FAULT_ESCAPE,
                   "%s goes through a link, which is not followed here; name what is meant", path);
      return fd;
    }
  if (fd < 0)
    take_fault (error, wrong);
  return fd;
}

static PrismFileEntry *
entry_of (const char *path, const struct stat *s)
{
  GFileType type = S_ISREG (s->st_mode)   ? G_FILE_TYPE_REGULAR
                   : S_ISDIR (s->st_mode) ? G_FILE_TYPE_DIRECTORY
                   : S_ISLNK (s->st_mode) ? G_FILE_TYPE_SYMBOLIC_LINK
                                          : G_FILE_TYPE_SPECIAL;

  return prism_file_entry_new (path, type, (guint64)s->st_size, s->st_mode & 07777,
                               (gint64)s->st_mtim.tv_sec * G_USEC_PER_SEC + s->st_mtim.tv_nsec / 1000);
}

/* --- looking ------------------------------------------------------------------------------ */

static PrismFileEntry *
host_tree_stat (PrismTree *tree, const char *path, GCancellable *cancellable, GError **error)
{
  PrismHostTree *self = PRISM_HOST_TREE (tree);
  g_autofree char *folder = g_path_get_dirname (path);
  g_autofree char *leaf = g_path_get_basename (path);
  struct stat s, folder_stat;
  prism_autofd int fd = -1;

  if (g_str_equal (path, prism_tree_get_root (tree)) || g_str_equal (leaf, ".."))
    {
      fd = look_at (self, path, &s, error);
      return fd >= 0 ? entry_of (path, &s) : NULL;
    }
  fd = look_at (self, folder, &folder_stat, error);
  if (fd < 0)
    return NULL;
  if (fstatat (fd, leaf, &s, AT_SYMLINK_NOFOLLOW) != 0)
    {
      prism_tree_set_errno (error, errno, path);
      return NULL;
    }
  return entry_of (path, &s);
}

static GBytes *
read_some (int fd, const char *path, gint64 offset, gint64 length, gint64 size, GError **error)
{
  gint64 most = length >= 0 ? length : MAX (size - offset, 0);
  gsize room = (gsize)CLAMP (size - offset, 0, most) + 1;
  g_autofree char *buffer = g_try_malloc (room);
  gsize have = 0;
  ssize_t n = 1;

  if (buffer == NULL)
    {
      prism_tree_set_errno (error, ENOMEM, path);
      return NULL;
    }
  while (have < room && (gint64)have < most && n > 0)
    {
      n = pread (fd, buffer + have, MIN (room - have, (gsize)most - have), (off_t)(offset + (gint64)have));
      if (n < 0 && errno == EINTR)
        n = 1;
      else if (n < 0)
        {
          prism_tree_set_errno (error, errno, path);
          return NULL;
        }
      else
        have += (gsize)n;
    }
  return g_bytes_new_take (g_steal_pointer (&buffer), have);
}

static GBytes *
host_tree_read (
    PrismTree *tree, const char *path, gint64 offset, gint64 length, GCancellable *cancellable, GError **error)
{
  struct stat s;
  prism_autofd int named = look_at (PRISM_HOST_TREE (tree), path, &s, error);
  prism_autofd int fd = -1;

  if (named < 0)
    return NULL;
  if (!S_ISREG (s.st_mode))
    {
      g_set_error (error, PRISM_TREE_FAULT, PRISM_TREE_FAULT_TYPE, "%s: is no regular file", path);
      return NULL;
    }
  fd = open_again (named, O_RDONLY, path, error);
  return fd >= 0 ? read_some (fd, path, offset, length, s.st_size, error) : NULL;
}

static gint
compare_entries (gconstpointer a, gconstpointer b)
{
  PrismFileEntry *first = *(PrismFileEntry *const *)a, *second = *(PrismFileEntry *const *)b;

  return strcmp (prism_file_entry_get_path (first), prism_file_entry_get_path (second));
}

static GPtrArray *
host_tree_list (PrismTree *tree, const char *path, gboolean hidden, GCancellable *cancellable, GError **error)
{
  g_autoptr (GPtrArray) entries = g_ptr_array_new_with_free_func (g_object_unref);
  const char *slash = g_str_has_suffix (path, "/") ? "" : "/";
  struct stat s;
  prism_autofd int named = look_at (PRISM_HOST_TREE (tree), path, &s, error);
  int fd = named >= 0 ? open_again (named, O_RDONLY | O_DIRECTORY, path, error) : -1;
  const struct dirent *item;
  DIR *folder;

  if (fd < 0)
    return NULL;
  folder = fdopendir (fd);
  while (folder != NULL && (item = readdir (folder)) != NULL)
    {
      g_autofree char *whole = NULL;
      if (g_str_equal (item->d_name, ".") || g_str_equal (item->d_name, "..") || (item->d_name[0] == '.' && !hidden)
          || fstatat (fd, item->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0)
        continue;
      whole = g_strconcat (path, slash, item->d_name, NULL);
      g_ptr_array_add (entries, entry_of (whole, &s));
    }
  if (folder != NULL)
    closedir (folder);
  g_ptr_array_sort (entries, compare_entries);
  return is_cancelled (cancellable, error) ? NULL : g_steal_pointer (&entries);
}

static gboolean
host_tree_search (PrismTree *tree,
                  const char *path,
                  const PrismTreeQuery *query,
                  PrismTreeFound *found,
                  GCancellable *cancellable,
                  GError **error)
{
  g_autofree char *leaf = g_path_get_basename (path);
  struct stat s;
  prism_autofd int named = look_at (PRISM_HOST_TREE (tree), path, &s, error);
  int fd;

  if (named < 0)
    return FALSE;
  if (!S_ISREG (s.st_mode) && !S_ISDIR (s.st_mode))
    {
      g_set_error (error, PRISM_TREE_FAULT, PRISM_TREE_FAULT_TYPE, "%s: neither a folder nor a regular file", path);
      return FALSE;
    }
  fd = open_again (named, O_RDONLY, path, error);
  return fd >= 0 && prism_host_search (fd, S_ISREG (s.st_mode) ? leaf : NULL, query, found, cancellable, error);
}

/* --- writing ------------------------------------------------------------------------------- */

typedef struct
{
  int folder, fd;
  char name[48]; /* of a file that is to be renamed; "" while it has none */
} Fresh;

static void
name_fresh (Fresh *fresh)
{
  g_snprintf (fresh->name, sizeof fresh->name, ".prism-%08x%08x", g_random_int (), g_random_int ());
}

static gboolean
open_fresh (Fresh *fresh)
{
  fresh->name[0] = '\0';
  fresh->fd = openat (fresh->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (fresh->fd >= 0)
    return TRUE;
  name_fresh (fresh);
  fresh->fd = openat (fresh->folder, fresh->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fresh->fd < 0)
    fresh->name[0] = '\0';
  return fresh->fd >= 0;
}

static gboolean
write_all (int fd, GBytes *bytes)
{
  gsize size;
  const char *data = g_bytes_get_data (bytes, &size);

  while (size > 0)
    {
      ssize_t n = write (fd, data, size);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return FALSE;
      data += n;
      size -= (gsize)n;
    }
  return TRUE;
}

static gboolean
fill_fresh (Fresh *fresh, GBytes *bytes, guint mode)
{
  return write_all (fresh->fd, bytes) && fchmod (fresh->fd, mode) == 0 && fsync (fresh->fd) == 0;
}

/* Gives it @leaf's name, in place of what has it. */
static gboolean
publish_fresh (Fresh *fresh, const char *leaf)
{
  char link[64];

  g_snprintf (link, sizeof link, "/proc/self/fd/%d", fresh->fd);
  if (fresh->name[0] == '\0')
    {
      if (linkat (AT_FDCWD, link, fresh->folder, leaf, AT_SYMLINK_FOLLOW) == 0)
        return TRUE;
      if (errno != EEXIST)
        return FALSE;
      name_fresh (fresh);
      if (linkat (AT_FDCWD, link, fresh->folder, fresh->name, AT_SYMLINK_FOLLOW) != 0)
        {
          fresh->name[0] = '\0';
          return FALSE;
        }
    }
  if (renameat (fresh->folder, fresh->name, fresh->folder, leaf) != 0)
    return FALSE;
  fresh->name[0] = '\0';
  return TRUE;
}

static gboolean
replace (int folder, const char *leaf, GBytes *bytes, guint mode, const struct stat *old)
{
  Fresh fresh = { .folder = folder };
  gboolean whole = open_fresh (&fresh) && fill_fresh (&fresh, bytes, mode);
  int number;

  /* Root writes for somebody: the file stays theirs. */
  if (whole && old != NULL && geteuid () == 0)
    whole = fchown (fresh.fd, old->st_uid, old->st_gid) == 0 && fchmod (fresh.fd, mode) == 0;
  whole = whole && publish_fresh (&fresh, leaf);
  number = errno;
  if (fresh.name[0] != '\0')
    unlinkat (folder, fresh.name, 0);
  prism_clear_fd (&fresh.fd);
  errno = number;
  return whole;
}

static gboolean
host_tree_write (
    PrismTree *tree, const char *path, GBytes *bytes, guint mode, GCancellable *cancellable, GError **error)
{
  g_autofree char *leaf = NULL;
  prism_autofd int folder = -1;
  struct stat s;
  gboolean there;

  if (is_cancelled (cancellable, error))
    return FALSE;
  folder = open_parent (PRISM_HOST_TREE (tree), path, TRUE, &leaf, error);
  if (folder < 0)
    return FALSE;
  there = fstatat (folder, leaf, &s, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && !S_ISREG (s.st_mode))
    {
      g_set_error (error, PRISM_TREE_FAULT, PRISM_TREE_FAULT_TYPE,
                   "%s: is there and no regular file; a link is not written through", path);
      return FALSE;
    }
  if (mode == 0)
    mode = there ? s.st_mode & 0777 : 0644;
  if (replace (folder, leaf, bytes, mode, there ? &s : NULL))
    return TRUE;
  prism_tree_set_errno (error, errno, path);
  return FALSE;
}

/* --- removing and moving ------------------------------------------------------------------- */

static gboolean
host_tree_remove (PrismTree *tree,
                  const char *path,
                  gboolean recursive,
                  gint64 max_entries,
                  gint64 *removed,
                  GCancellable *cancellable,
                  GError **error)
{
  g_autofree char *leaf = NULL;
  gint64 most = max_entries > 0 ? max_entries : G_MAXINT64, done = 0;
  prism_autofd int folder = -1;

  if (is_cancelled (cancellable, error))
    return FALSE;
  folder = open_parent (PRISM_HOST_TREE (tree), path, FALSE, &leaf, error);
  if (folder < 0)
    return FALSE;
  if (recursive ? prism_host_remove (folder, leaf, most, &done)
                : unlinkat (folder, leaf, 0) == 0
                      || ((errno == EISDIR || errno == EPERM) && unlinkat (folder, leaf, AT_REMOVEDIR) == 0))
    {
      *removed = recursive ? done : 1;
      return TRUE;
    }
  if (errno == E2BIG)
    g_set_error (error, PRISM_TREE_FAULT, PRISM_TREE_FAULT_LIMIT,
                 "%s: more than the most entries (%" G_GINT64_FORMAT " entries were removed before)", path, done);
  else if (done > 0)
    g_set_error (error, PRISM_TREE_FAULT, (int)fault_of (errno),
                 "%s: %s (%" G_GINT64_FORMAT " entries were removed before)", path, g_strerror (errno), done);
  else
    prism_tree_set_errno (error, errno, path);
  return FALSE;
}

static gboolean
host_tree_rename (
    PrismTree *tree, const char *from, const char *to, gboolean overwrite, GCancellable *cancellable, GError **error)
{
  PrismHostTree *self = PRISM_HOST_TREE (tree);
  g_autofree char *from_leaf = NULL;
  g_autofree char *to_leaf = NULL;
  prism_autofd int from_folder = -1;
  prism_autofd int to_folder = -1;
  struct stat s;
  int result;

  if (is_cancelled (cancellable, error))
    return FALSE;
  from_folder = open_parent (self, from, FALSE, &from_leaf, error);
  if (from_folder < 0)
    return FALSE;
  to_folder = open_parent (self, to, FALSE, &to_leaf, error);
  if (to_folder < 0)
    return FALSE;
  if (overwrite)
    result = renameat (from_folder, from_leaf, to_folder, to_leaf);
  else
    {
      result = (int)syscall (SYS_renameat2, from_folder, from_leaf, to_folder, to_leaf, NOREPLACE);
      if (result != 0 && (errno == EINVAL || errno == ENOSYS)
          && fstatat (from_folder, from_leaf, &s, AT_SYMLINK_NOFOLLOW) == 0)
        {
          if (fstatat (to_folder, to_leaf, &s, AT_SYMLINK_NOFOLLOW) == 0)
            errno = EEXIST;
          else
            result = renameat (from_folder, from_leaf, to_folder, to_leaf);
        }
    }
  if (result != 0)
    prism_tree_set_errno (error, errno, from);
  return result == 0;
}

/* --- commands -------------------------------------------------------------------------------- */

/* What a command gets of the environment here: nothing that is not named. */
static char **
make_environment (PrismCommand *command)
{
  static const char *const kept[] = { "PATH", "LANG", "LC_ALL", "HOME", "TERM" };
  g_auto (GStrv) environment = g_new0 (char *, 1);
  const char *const *own = prism_command_get_env (command);

  for (guint i = 0; i < G_N_ELEMENTS (kept); i++)
    if (g_getenv (kept[i]) != NULL)
      environment = g_environ_setenv (environment, kept[i], g_getenv (kept[i]), TRUE);
  for (guint i = 0; own != NULL && own[i] != NULL; i++)
    {
      g_autofree char *name = g_strndup (own[i], strcspn (own[i], "="));
      environment = g_environ_setenv (environment, name, own[i] + strlen (name) + 1, TRUE);
    }
  return g_steal_pointer (&environment);
}

static PrismResult *
host_tree_exec (PrismTree *tree, PrismCommand *command, GCancellable *cancellable, GError **error)
{
  const char *cwd = prism_command_get_cwd (command);
  g_auto (GStrv) environment = make_environment (command);
  struct stat s;
  prism_autofd int fd =
      look_at (PRISM_HOST_TREE (tree), cwd != NULL && *cwd != '\0' ? cwd : prism_tree_get_root (tree), &s, error);

  if (fd < 0)
    return NULL;
  return prism_host_exec (command, fd, (const char *const *)environment, cancellable, error);
}

/* --- what is kept ------------------------------------------------------------------------------ */

static const char *
kept_folder (PrismHostTree *self, GError **error)
{
  const char *folder;

  g_mutex_lock (&self->lock);
  if (self->kept == NULL)
    self->kept = g_dir_make_tmp ("prism-XXXXXX", NULL);
  folder = self->kept;
  g_mutex_unlock (&self->lock);
  if (folder == NULL)
    g_set_error (error, PRISM_TREE_FAULT, PRISM_TREE_FAULT_DENIED, "%s: no folder can be made there", g_get_tmp_dir ());
  return folder;
}

static char *
host_tree_keep (PrismTree *tree, const char *suffix, GBytes *bytes, GCancellable *cancellable, GError **error)
{
  const char *folder = kept_folder (PRISM_HOST_TREE (tree), error);
  g_autofree char *random = g_uuid_string_random ();
  g_autofree char *path = folder != NULL ? g_strconcat (folder, "/", random, suffix, NULL) : NULL;
  prism_autofd int fd = -1;
  int number;

  if (path == NULL || is_cancelled (cancellable, error))
    return NULL;
  fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0 && write_all (fd, bytes))
    return g_steal_pointer (&path);
  number = errno;
  if (fd >= 0)
    unlink (path);
  prism_tree_set_errno (error, number, path);
  return NULL;
}

/* --- the type ---------------------------------------------------------------------------------- */

static void
prism_host_tree_finalize (GObject *object)
{
  PrismHostTree *self = PRISM_HOST_TREE (object);
  gint64 removed = 0;

  if (self->kept != NULL)
    prism_host_remove (AT_FDCWD, self->kept, G_MAXINT64, &removed);
  g_free (self->kept);
  g_mutex_clear (&self->lock);
  g_clear_object (&self->guard);
  G_OBJECT_CLASS (prism_host_tree_parent_class)->finalize (object);
}

static void
prism_host_tree_class_init (PrismHostTreeClass *klass)
{
  PrismTreeClass *tree = PRISM_TREE_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = prism_host_tree_finalize;
  tree->stat = host_tree_stat;
  tree->read = host_tree_read;
  tree->write = host_tree_write;
  tree->list = host_tree_list;
  tree->remove = host_tree_remove;
  tree->rename = host_tree_rename;
  tree->search = host_tree_search;
  tree->exec = host_tree_exec;
  tree->keep = host_tree_keep;
}

static void
prism_host_tree_init (PrismHostTree *self)
{
  g_mutex_init (&self->lock);
}

PrismTree *
prism_host_tree_new (const char *folder, GError **error)
{
  g_autofree char *root = g_canonicalize_filename (folder, NULL);
  GError *wrong = NULL;
  PrismPathGuard *guard = prism_path_guard_new ((const char *const[]){ root, NULL }, &wrong);
  PrismHostTree *self;

  if (guard == NULL)
    {
      take_fault (error, wrong);
      return NULL;
    }
  self = g_object_new (PRISM_TYPE_HOST_TREE, NULL);
  self->guard = guard;
  prism_tree_set_root (PRISM_TREE (self), root, g_get_home_dir ());
  return PRISM_TREE (self);
}
