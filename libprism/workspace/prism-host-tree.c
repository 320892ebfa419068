/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A folder of the host. TRUST: the folder as it was when the tree was made; not its content,
 * nor any name. Every name is looked up once, beneath the folder, by the path guard; the
 * descriptor that comes of it is what is used. Nothing here isolates what a command does. */
#include "prism-host-tree-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "prism-fd-private.h"
#include "prism-path-guard-private.h"

struct _PrismHostTree
{
  PrismTree parent_instance;

  PrismPathGuard *guard;
  GPtrArray *held; /* (nullable) Name: what this tree was made to hold */
  PrismPathIntent intent;
  GMutex lock;
  char *kept; /* the folder of what prism_tree_keep() wrote; NULL: none yet */
};

typedef struct
{
  char *path;
  PrismPathHold hold;
} Name;

G_DEFINE_FINAL_TYPE (PrismHostTree, prism_host_tree, PRISM_TYPE_TREE)

static gboolean
is_cancelled (GCancellable *cancellable, GError **error)
{
  if (!g_cancellable_is_cancelled (cancellable))
    return FALSE;
  g_set_error_literal (error, PRISM_TREE_FAULT, PRISM_TREE_FAULT_CANCELLED, "cancelled");
  return TRUE;
}

/* --- names ------------------------------------------------------------------------------- */

static const Name *
find_name (PrismHostTree *self, const char *path)
{
  for (guint i = 0; self->held != NULL && i < self->held->len; i++)
    if (g_str_equal (((const Name *)self->held->pdata[i])->path, path))
      return self->held->pdata[i];
  return NULL;
}

/* The folder that is held and that @path is below; *@rest is the rest of it. */
static const Name *
find_name_above (PrismHostTree *self, const char *path, const char **rest)
{
  for (guint i = 0; self->held != NULL && i < self->held->len; i++)
    {
      const Name *name = self->held->pdata[i];
      gsize length = strlen (name->path);

      if (name->hold.object.missing == 0 && strncmp (path, name->path, length) == 0 && path[length] == '/')
        {
          *rest = path + length + 1;
          return name;
        }
    }
  return NULL;
}

/* What is held is what is looked at, and what is below it is looked up from there. */
static int
open_object (PrismHostTree *self, const char *path, GError **error)
{
  const char *rest = NULL;
  const Name *name = find_name (self, path), *above;
  struct stat s;

  if (name != NULL && name->hold.object.missing == 0)
    {
      /* A link is held where it is not to be followed: who only reads sees where it leads. */
      if (fstat (name->hold.fd, &s) == 0 && S_ISLNK (s.st_mode))
        return prism_path_guard_open (self->guard, path, PRISM_PATH_INTENT_READ, O_PATH | O_CLOEXEC, 0, error);
      return fcntl (name->hold.fd, F_DUPFD_CLOEXEC, 3);
    }
  if (name != NULL)
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, "%s: %s", path, g_strerror (ENOENT));
      return -1;
    }
  above = find_name_above (self, path, &rest);
  if (above != NULL)
    return prism_path_guard_open_below (self->guard, above->hold.fd, rest, O_PATH | O_CLOEXEC, error);
  return prism_path_guard_open (self->guard, path, PRISM_PATH_INTENT_READ, O_PATH | O_CLOEXEC, 0, error);
}

/* What @path leads to, without opening it: that alone does things to a FIFO or a device. */
static int
look_at (PrismHostTree *self, const char *path, struct stat *s, GError **error)
{
  GError *wrong = NULL;
  int fd = open_object (self, path, &wrong);

  if (wrong != NULL)
    prism_host_take_fault (error, wrong);
  else if (fd < 0)
    prism_tree_set_errno (error, errno, path);
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

/* What a change is about: as it is held, or, where nobody holds it, as it is now. */
typedef struct
{
  const PrismPathHold *hold;
  PrismPathHold own;
} Held;

static void
held_clear (Held *held)
{
  if (held->hold == &held->own)
    prism_path_hold_clear (&held->own);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Held, held_clear)

static gboolean
take_hold (PrismHostTree *self, const char *path, Held *held, GError **error)
{
  const Name *name = find_name (self, path);
  GError *wrong = NULL;

  if (name != NULL)
    {
      held->hold = &name->hold;
      if (prism_path_guard_is_object (self->guard, path, self->intent, &name->hold.object))
        return TRUE;
      prism_tree_set_errno (error, PRISM_HOST_CHANGED, path);
      return FALSE;
    }
  if (!prism_path_guard_hold (self->guard, path, PRISM_PATH_INTENT_REMOVE, &held->own, &wrong))
    {
      prism_host_take_fault (error, wrong);
      return FALSE;
    }
  held->hold = &held->own;
  return TRUE;
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
  /* Of what is held, unless its name is a link that leads there. */
  if (!S_ISLNK (s.st_mode) && find_name (self, path) != NULL)
    {
      prism_autofd int held = look_at (self, path, &s, error);

      return held >= 0 ? entry_of (path, &s) : NULL;
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

/* --- changing ------------------------------------------------------------------------------ */

static gboolean
set_outcome (int number, const char *path, GError **error)
{
  if (number == 0)
    return TRUE;
  prism_tree_set_errno (error, number, path);
  return FALSE;
}

static gboolean
host_tree_write (
    PrismTree *tree, const char *path, GBytes *bytes, guint mode, GCancellable *cancellable, GError **error)
{
  PrismHostTree *self = PRISM_HOST_TREE (tree);
  prism_autofd int folder = -1;
  g_auto (Held) held = { 0 };
  struct stat s;
  gboolean there;

  if (is_cancelled (cancellable, error) || !take_hold (self, path, &held, error))
    return FALSE;
  there = held.hold->object.missing == 0;
  if (there && fstat (held.hold->fd, &s) != 0)
    return set_outcome (errno, path, error);
  if (there && !S_ISREG (s.st_mode))
    {
      g_set_error (error, PRISM_TREE_FAULT, PRISM_TREE_FAULT_TYPE,
                   "%s: is there and no regular file; a link is not written through", path);
      return FALSE;
    }
  folder = prism_path_hold_make_folder (held.hold, 0755);
  if (folder < 0)
    return set_outcome (errno == ELOOP ? PRISM_HOST_CHANGED : errno, path, error);
  if (mode == 0)
    mode = there ? s.st_mode & 0777 : 0644;
  return set_outcome (prism_host_replace (folder, prism_path_hold_get_leaf (held.hold), bytes, mode, there ? &s : NULL),
                      path, error);
}

static gboolean
host_tree_remove (PrismTree *tree,
                  const char *path,
                  gboolean recursive,
                  gint64 max_entries,
                  gint64 *removed,
                  GCancellable *cancellable,
                  GError **error)
{
  PrismHostTree *self = PRISM_HOST_TREE (tree);
  gint64 most = max_entries > 0 ? max_entries : G_MAXINT64, done = 0;
  g_auto (Held) held = { 0 };
  struct stat s;
  int number;

  if (is_cancelled (cancellable, error) || !take_hold (self, path, &held, error))
    return FALSE;
  if (held.hold->object.missing > 0 || fstat (held.hold->fd, &s) != 0)
    return set_outcome (ENOENT, path, error);
  if (held.hold->folder < 0)
    return set_outcome (EXDEV, path, error);
  number = prism_host_remove (held.hold->folder, prism_path_hold_get_leaf (held.hold), held.hold->fd, &s,
                              recursive ? most : 0, &done);
  *removed = done;
  if (number == E2BIG)
    g_set_error (error, PRISM_TREE_FAULT, PRISM_TREE_FAULT_LIMIT,
                 "%s: more than the most entries (%" G_GINT64_FORMAT " entries were removed before)", path, done);
  else if (number != 0 && done > 0)
    g_set_error (error, PRISM_TREE_FAULT, (int)prism_host_fault_of (number),
                 "%s: %s (%" G_GINT64_FORMAT " entries were removed before)", path, prism_host_words_of (number), done);
  else
    set_outcome (number, path, error);
  return number == 0;
}

static gboolean
host_tree_rename (
    PrismTree *tree, const char *from, const char *to, gboolean overwrite, GCancellable *cancellable, GError **error)
{
  PrismHostTree *self = PRISM_HOST_TREE (tree);
  g_auto (Held) held_from = { 0 };
  g_auto (Held) held_to = { 0 };
  struct stat from_stat, to_stat;
  gboolean there;

  if (is_cancelled (cancellable, error) || !take_hold (self, from, &held_from, error)
      || !take_hold (self, to, &held_to, error))
    return FALSE;
  if (held_from.hold->object.missing > 0 || fstat (held_from.hold->fd, &from_stat) != 0)
    return set_outcome (ENOENT, from, error);
  there = held_to.hold->object.missing == 0;
  if (there && (!overwrite || fstat (held_to.hold->fd, &to_stat) != 0))
    return set_outcome (EEXIST, to, error);
  if (held_from.hold->folder < 0 || held_to.hold->folder < 0)
    return set_outcome (EXDEV, from, error);
  if (held_to.hold->object.missing > 1)
    return set_outcome (ENOENT, to, error);
  return set_outcome (prism_host_move (held_from.hold->folder, prism_path_hold_get_leaf (held_from.hold), &from_stat,
                                       held_to.hold->folder, prism_path_hold_get_leaf (held_to.hold),
                                       there ? &to_stat : NULL),
                      from, error);
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
  if (fd >= 0 && prism_host_write_all (fd, bytes))
    return g_steal_pointer (&path);
  number = errno;
  if (fd >= 0)
    unlink (path);
  prism_tree_set_errno (error, number, path);
  return NULL;
}

/* --- what is held ------------------------------------------------------------------------------ */

static void
name_free (gpointer data)
{
  Name *name = data;

  prism_path_hold_clear (&name->hold);
  g_free (name->path);
  g_free (name);
}

static PrismTree *
host_tree_hold (PrismTree *tree, const char *const *paths, PrismPathIntent intent, GError **error)
{
  PrismHostTree *self = PRISM_HOST_TREE (tree);
  g_autoptr (PrismHostTree) held = g_object_new (PRISM_TYPE_HOST_TREE, NULL);

  held->guard = g_object_ref (self->guard);
  /* A link that is to be written is found out by who writes: nothing is followed before. */
  held->intent = intent == PRISM_PATH_INTENT_READ ? intent : PRISM_PATH_INTENT_REMOVE;
  held->held = g_ptr_array_new_with_free_func (name_free);
  prism_tree_set_root (PRISM_TREE (held), prism_tree_get_root (tree), prism_tree_get_home (tree));
  for (guint i = 0; paths[i] != NULL; i++)
    {
      Name *name = g_new0 (Name, 1);
      GError *wrong = NULL;

      name->path = g_strdup (paths[i]);
      name->hold = (PrismPathHold){ .fd = -1, .folder = -1 };
      g_ptr_array_add (held->held, name);
      if (!prism_path_guard_hold (self->guard, paths[i], held->intent, &name->hold, &wrong))
        {
          prism_host_take_fault (error, wrong);
          return NULL;
        }
    }
  return PRISM_TREE (g_steal_pointer (&held));
}

static const PrismPathIdentity *
host_tree_get_object (PrismTree *tree, guint i)
{
  PrismHostTree *self = PRISM_HOST_TREE (tree);

  return self->held != NULL && i < self->held->len ? &((const Name *)self->held->pdata[i])->hold.object : NULL;
}

static gboolean
host_tree_verify (PrismTree *tree, GError **error)
{
  PrismHostTree *self = PRISM_HOST_TREE (tree);

  for (guint i = 0; self->held != NULL && i < self->held->len; i++)
    {
      const Name *name = self->held->pdata[i];

      if (!prism_path_guard_is_object (self->guard, name->path, self->intent, &name->hold.object))
        {
          prism_tree_set_errno (error, PRISM_HOST_CHANGED, name->path);
          return FALSE;
        }
    }
  return TRUE;
}

/* --- the type ---------------------------------------------------------------------------------- */

static void
prism_host_tree_finalize (GObject *object)
{
  PrismHostTree *self = PRISM_HOST_TREE (object);
  gint64 removed = 0;

  if (self->kept != NULL)
    prism_host_remove_all (AT_FDCWD, self->kept, G_MAXINT64, &removed);
  g_free (self->kept);
  g_mutex_clear (&self->lock);
  g_clear_pointer (&self->held, g_ptr_array_unref);
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
  tree->hold = host_tree_hold;
  tree->get_object = host_tree_get_object;
  tree->verify = host_tree_verify;
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
      prism_host_take_fault (error, wrong);
      return NULL;
    }
  self = g_object_new (PRISM_TYPE_HOST_TREE, NULL);
  self->guard = guard;
  prism_tree_set_root (PRISM_TREE (self), root, g_get_home_dir ());
  return PRISM_TREE (self);
}
