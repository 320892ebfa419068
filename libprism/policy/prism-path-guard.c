/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names that stay in their folders.
 *
 * Trusted: the folders, as they were when the guard was made. Not trusted: every name, and
 * everything below the folders, which somebody may change while a name is looked up. So a
 * name is looked up once, by the kernel, beneath a descriptor, and what comes out is a
 * descriptor. Not attempted: a hard link to something outside looks like any other file,
 * and so does what somebody mounts below a root. */
#include "prism-path-guard-private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "prism-action.h"
#include "prism-fd-private.h"
#include "prism-path-lookup-private.h"
#include "prism-path-walk-private.h"

#define MAX_PATH    PRISM_PATH_MAX
#define MAX_RETRIES 128
#define MAX_SHOWN   300

typedef struct
{
  int fd;
  char *given, *real; /* without a final slash; that of / is empty */
} Root;

struct _PrismPathGuard
{
  GObject parent_instance;

  GArray *roots;
  gboolean walk;
};

/**
 * PrismPathGuard:
 *
 * Folders that names have to stay in, held open: what was checked is what is used.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismPathGuard, prism_path_guard, G_TYPE_OBJECT)

static void
clear_root (gpointer data)
{
  Root *root = data;

  prism_clear_fd (&root->fd);
  g_free (root->given);
  g_free (root->real);
}

static void
prism_path_guard_finalize (GObject *object)
{
  g_array_unref (PRISM_PATH_GUARD (object)->roots);
  G_OBJECT_CLASS (prism_path_guard_parent_class)->finalize (object);
}

static void
prism_path_guard_class_init (PrismPathGuardClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = prism_path_guard_finalize;
}

static void
prism_path_guard_init (PrismPathGuard *self)
{
  self->roots = g_array_new (FALSE, FALSE, sizeof (Root));
  g_array_set_clear_func (self->roots, clear_root);
}

/* --- names ------------------------------------------------------------------------------ */

/* Into @out: no empty component and none that is `.`, and no slash at the end. */
static gboolean
clean (const char *path, char out[MAX_PATH])
{
  gsize at = 0;

  if (path[0] != '/' || strlen (path) >= MAX_PATH)
    return FALSE;
  while (*path != '\0')
    {
      gsize length;

      path += strspn (path, "/");
      length = strcspn (path, "/");
      if (length > 0 && !(length == 1 && path[0] == '.'))
        {
          out[at++] = '/';
          memcpy (out + at, path, length);
          at += length;
        }
      path += length;
    }
  out[at] = '\0';
  return TRUE;
}

/* What follows the root's name in @path, by whole components; NULL: it is not below it. */
static const char *
rest_of (const char *path, const char *root)
{
  gsize length;

  if (root == NULL)
    return NULL;
  length = strlen (root);
  if (strncmp (path, root, length) != 0 || (path[length] != '/' && path[length] != '\0'))
    return NULL;
  return path[length] == '/' ? path + length + 1 : ".";
}

static const char *
rest_below (const Root *root, const char *path)
{
  const char *rest = rest_of (path, root->given);

  return rest != NULL ? rest : rest_of (path, root->real);
}

static gboolean
has_dot_dot (const char *path)
{
  for (const char *at = path; at != NULL; at = strchr (at, '/'))
    {
      at += at[0] == '/';
      if (strncmp (at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
        return TRUE;
    }
  return FALSE;
}

/* GLib leaves two slashes in front as they are. */
char *
prism_path_simplify (const char *path)
{
  while (path[0] == '/' && path[1] == '/')
    path++;
  return g_canonicalize_filename (path, "/");
}

/**
 * prism_path_is_inside:
 * @path: an absolute path
 * @root: an absolute path
 *
 * Compares names, component by component, and looks at nothing: links are not followed,
 * and a name that goes up by `..` is taken at its word. It proves nothing about files:
 * [method@PathGuard.check] does.
 *
 * Returns: whether @path is @root or below it
 *
 * Since: 1.0
 */
gboolean
prism_path_is_inside (const char *path, const char *root)
{
  g_autofree char *clean_path = NULL;
  g_autofree char *clean_root = NULL;

  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (root != NULL, FALSE);

  if (path[0] != '/' || root[0] != '/')
    return FALSE;
  clean_path = prism_path_simplify (path);
  clean_root = prism_path_simplify (root);
  if (g_str_equal (clean_root, "/"))
    return TRUE;
  return rest_of (clean_path, clean_root) != NULL;
}

/* --- making one --------------------------------------------------------------------------- */

static char *
real_name (int fd)
{
  char link[64];
  char *name;

  g_snprintf (link, sizeof link, "/proc/self/fd/%d", fd);
  name = g_file_read_link (link, NULL);
  if (name != NULL && (name[0] != '/' || g_str_has_suffix (name, " (deleted)")))
    g_clear_pointer (&name, g_free);
  if (name != NULL && g_str_equal (name, "/"))
    name[0] = '\0';
  return name;
}

/* Where a filter or an old kernel has none. */
static gboolean
lacks_openat2 (int root)
{
  struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
  prism_autofd int fd = (int)syscall (SYS_openat2, root, ".", &how, sizeof how);

  return fd < 0;
}

/* With @keep_name a folder that cannot be opened is kept as a name: of a sandbox's tree, say. */
static gboolean
add_root (PrismPathGuard *self, const char *path, gboolean keep_name, GError **error)
{
  char name[MAX_PATH];
  Root root = { -1, NULL, NULL };
  int number;

  if (!clean (path, name) || has_dot_dot (name))
    {
      g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_FAILED,
                   "root %s: an absolute path without .. is expected", path);
      return FALSE;
    }
  root.fd = open (path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  number = errno;
  if (root.fd < 0)
    {
      g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_UNREADABLE, "root %s: %s", path, g_strerror (number));
      if (!keep_name)
        return FALSE;
    }
  root.given = g_strdup (name);
  if (root.fd >= 0)
    {
      root.real = real_name (root.fd);
      self->walk |= lacks_openat2 (root.fd);
    }
  g_array_append_val (self->roots, root);
  return TRUE;
}

PrismPathGuard *
prism_path_guard_new_for_those_there (const char *const *roots, GError **error)
{
  PrismPathGuard *self = g_object_new (PRISM_TYPE_PATH_GUARD, NULL);
  g_autoptr (GError) first = NULL;

  for (guint i = 0; roots[i] != NULL; i++)
    add_root (self, roots[i], TRUE, first == NULL ? &first : NULL);
  if (first != NULL)
    g_propagate_error (error, g_steal_pointer (&first));
  return self;
}

/**
 * prism_path_guard_new:
 * @roots: (array zero-terminated=1): absolute paths of folders
 * @error: return location for an error
 *
 * Opens the folders, once: if one of them is replaced later, names still mean what is
 * below the first.
 *
 * Returns: (transfer full): a guard; %NULL if a folder cannot be opened
 *
 * Since: 1.0
 */
PrismPathGuard *
prism_path_guard_new (const char *const *roots, GError **error)
{
  g_autoptr (PrismPathGuard) self = NULL;

  g_return_val_if_fail (roots != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  self = g_object_new (PRISM_TYPE_PATH_GUARD, NULL);
  for (guint i = 0; roots[i] != NULL; i++)
    if (!add_root (self, roots[i], FALSE, error))
      return NULL;
  return g_steal_pointer (&self);
}

gboolean
prism_path_guard_has_name (PrismPathGuard *self, const char *path)
{
  char name[MAX_PATH];

  if (!clean (path, name) || has_dot_dot (name))
    return FALSE;
  for (guint i = 0; i < self->roots->len; i++)
    if (rest_below (&g_array_index (self->roots, Root, i), name) != NULL)
      return TRUE;
  return FALSE;
}

void
prism_path_guard_set_walk (PrismPathGuard *self, gboolean walk)
{
  self->walk = walk;
}

/* --- looking up ------------------------------------------------------------------------------ */

/* A descriptor, or -errno. EXDEV: it leaves the root. ELOOP: a link where none may be. */
int
prism_path_look_up (const PrismPathGuard *self, int root, const char *rest, gboolean follow, int flags, guint mode)
{
  struct open_how how = {
    .flags = (guint64)(guint)(flags | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW)),
    .mode = (flags & O_CREAT) != 0 ? mode & 0777 : 0,
    .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (follow ? 0 : RESOLVE_NO_SYMLINKS),
  };

  for (guint i = 0; i < MAX_RETRIES; i++)
    {
      int fd = self->walk ? prism_path_walk (root, rest, follow, flags, mode & 0777)
                          : (int)syscall (SYS_openat2, root, rest, &how, sizeof how);

      if (fd >= 0)
        return fd;
      if (errno != EAGAIN && errno != EINTR)
        return -errno;
    }
  return -EAGAIN;
}

int
prism_path_set_error (int number, const char *path, const char *root, GError **error)
{
  const char *below = root[0] != '\0' ? root : "/";
  g_autofree char *shown = prism_visible_text (path, MAX_SHOWN, NULL);

  if (number == EXDEV)
    g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_DENIED, "%s leads outside of %s", shown, below);
  else if (number == ELOOP)
    g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_DENIED,
                 "%s goes through a link that is not followed here; name what is meant, below %s", shown, below);
  else if (number == EAGAIN)
    g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_DENIED, "%s changes while it is looked up", shown);
  else
    g_set_error (error, G_IO_ERROR, g_io_error_from_errno (number), "%s: %s", shown, g_strerror (number));
  return -1;
}

static int
set_outside (const PrismPathGuard *self, const char *path, GError **error)
{
  g_autoptr (GString) roots = g_string_new (NULL);
  g_autofree char *shown = prism_visible_text (path, MAX_SHOWN, NULL);

  for (guint i = 0; i < self->roots->len && i < 4; i++)
    {
      const char *name = g_array_index (self->roots, Root, i).given;

      g_string_append_printf (roots, "%s%s", i > 0 ? ", " : "", name[0] != '\0' ? name : "/");
    }
  if (path[0] != '/')
    g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_DENIED, "“%s” is not an absolute path", shown);
  else if (strlen (path) >= MAX_PATH)
    g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_DENIED,
                 "a path of %" G_GSIZE_FORMAT " bytes is too long", strlen (path));
  else
    g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_DENIED, "%s is outside of %s", shown,
                 roots->len > 0 ? roots->str : "every root: there is none");
  return -1;
}

/* The first root where it comes out well; else the last failure. */
int
prism_path_at_roots (
    const PrismPathGuard *self, const char *path, PrismPathAtRoot at_root, gpointer data, GError **error)
{
  char name[MAX_PATH];
  int result = -1;
  const char *failed = NULL;

  if (clean (path, name))
    for (guint i = 0; i < self->roots->len; i++)
      {
        const Root *root = &g_array_index (self->roots, Root, i);
        const char *rest = rest_below (root, name);

        if (rest == NULL || root->fd < 0)
          continue;
        result = at_root (self, root->fd, rest, data);
        if (result >= 0)
          return result;
        failed = root->given;
      }
  return failed != NULL ? prism_path_set_error (-result, path, failed, error) : set_outside (self, path, error);
}

/* --- checks ------------------------------------------------------------------------------------ */

/* The deepest folder of @rest that is there decides for what is not; `..` in what is
 * missing could mean anything once it is there. */
static int
look_up_ancestor (const PrismPathGuard *self, int root, const char *rest, gboolean follow)
{
  char name[MAX_PATH];
  char *slash;

  g_strlcpy (name, rest, sizeof name);
  while ((slash = strrchr (name, '/')) != NULL)
    {
      int fd;

      if (g_str_equal (slash + 1, ".."))
        return -EXDEV;
      *slash = '\0';
      fd = prism_path_look_up (self, root, name, follow, O_PATH | O_DIRECTORY, 0);
      if (fd != -ENOENT)
        return fd;
    }
  return g_str_equal (name, "..") ? -EXDEV : prism_path_look_up (self, root, ".", follow, O_PATH, 0);
}

typedef struct
{
  PrismPathIntent intent;
  gboolean missing;
} Check;

static int
check_at (const PrismPathGuard *self, int root, const char *rest, gpointer data)
{
  Check *check = data;
  gboolean follow = check->intent == PRISM_PATH_INTENT_READ;
  struct stat status;
  int fd;

  if (check->intent == PRISM_PATH_INTENT_REMOVE && g_str_equal (rest, "."))
    return -EXDEV;
  fd = prism_path_look_up (self, root, rest, follow, O_PATH, 0);
  check->missing = fd == -ENOENT;
  if (check->missing)
    fd = look_up_ancestor (self, root, rest, follow);
  if (fd < 0 || check->missing || check->intent != PRISM_PATH_INTENT_WRITE)
    return fd;
  if (fstat (fd, &status) == 0 && !S_ISLNK (status.st_mode))
    return fd;
  (void)close (fd);
  return -ELOOP;
}

/**
 * prism_path_guard_check:
 * @self: a guard
 * @path: an absolute path
 * @intent: what it is wanted for
 * @error: return location for an error
 *
 * Looks whether a name stays inside. It need not be there: then the deepest folder that is
 * there decides. What cannot be looked at is outside.
 *
 * It is true for the moment of the look-up. Who wants to use what was checked opens it
 * with [method@PathGuard.open].
 *
 * Returns: whether it stays inside
 *
 * Since: 1.0
 */
gboolean
prism_path_guard_check (PrismPathGuard *self, const char *path, PrismPathIntent intent, GError **error)
{
  Check check = { .intent = intent };
  prism_autofd int fd = -1;

  g_return_val_if_fail (PRISM_IS_PATH_GUARD (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  fd = prism_path_at_roots (self, path, check_at, &check, error);
  return fd >= 0;
}

typedef struct
{
  PrismPathIntent intent;
  int flags;
  guint mode;
} Open;

static int
open_at (const PrismPathGuard *self, int root, const char *rest, gpointer data)
{
  const Open *wanted = data;

  return prism_path_look_up (self, root, rest, wanted->intent == PRISM_PATH_INTENT_READ, wanted->flags, wanted->mode);
}

/**
 * prism_path_guard_open:
 * @self: a guard
 * @path: an absolute path
 * @intent: what it is wanted for
 * @flags: of open(2)
 * @mode: of a file that is made: its permissions
 * @error: return location for an error
 *
 * Opens what a name means, if that is inside, in one look-up. It never waits for the other
 * end of a FIFO; whoever takes only regular files looks at what it got.
 *
 * Returns: a descriptor, closed on exec; -1 if there is none: %PRISM_POLICY_ERROR_DENIED
 *   says that it is outside
 *
 * Since: 1.0
 */
int
prism_path_guard_open (
    PrismPathGuard *self, const char *path, PrismPathIntent intent, int flags, guint mode, GError **error)
{
  Open wanted = { intent, flags | ((flags & O_PATH) != 0 ? 0 : O_NONBLOCK | O_NOCTTY), mode };

  g_return_val_if_fail (PRISM_IS_PATH_GUARD (self), -1);
  g_return_val_if_fail (path != NULL, -1);
  g_return_val_if_fail (error == NULL || *error == NULL, -1);

  return prism_path_at_roots (self, path, open_at, &wanted, error);
}
