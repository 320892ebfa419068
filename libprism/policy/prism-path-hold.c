/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a name meant when it was looked up, held open. TRUST: as in the guard; whoever changes
 * the names meanwhile gains nothing: what is held is used, or it is found out that the name
 * means another thing by now. As long as it is held, its number is nobody else's. */
#include "prism-path-lookup-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "prism-fd-private.h"

/* --- which object ------------------------------------------------------------------------ */

static gboolean
read_identity (int fd, PrismPathIdentity *identity)
{
  struct statx status;

  if (statx (fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &status) != 0)
    return FALSE;
  identity->dev = ((dev_t)status.stx_dev_major << 32) | status.stx_dev_minor;
  identity->ino = status.stx_ino;
  identity->born_ns = (status.stx_mask & STATX_BTIME) != 0
                          ? status.stx_btime.tv_sec * G_GINT64_CONSTANT (1000000000) + status.stx_btime.tv_nsec
                          : 0;
  return TRUE;
}

static gboolean
is_equal (const PrismPathIdentity *a, const PrismPathIdentity *b)
{
  return a->dev == b->dev && a->ino == b->ino && a->born_ns == b->born_ns;
}

/* --- holding ------------------------------------------------------------------------------ */

/* A folder that is no link, in @name, which is relative to @root; -errno. */
static int
open_folder (const PrismPathGuard *self, int root, const char *name)
{
  struct stat status;
  int fd = prism_path_look_up (self, root, name, FALSE, O_PATH, 0);
  int number;

  if (fd < 0 || (fstat (fd, &status) == 0 && S_ISDIR (status.st_mode)))
    return fd;
  number = S_ISLNK (status.st_mode) ? ELOOP : ENOTDIR;
  (void)close (fd);
  return -number;
}

/* The deepest folder above @rest that is there. *@missing: how many components are not. */
static int
open_above (const PrismPathGuard *self, int root, const char *rest, gboolean follow, guint *missing)
{
  char name[PRISM_PATH_MAX];
  int fd;

  g_strlcpy (name, rest, sizeof name);
  *missing = 0;
  do
    {
      char *slash = strrchr (name, '/');

      if (g_str_equal (slash != NULL ? slash + 1 : name, ".."))
        return -EXDEV;
      if (*missing > 0 && g_str_equal (name, "."))
        return -ENOENT;
      if (slash != NULL)
        *slash = '\0';
      else
        g_strlcpy (name, ".", sizeof name);
      ++*missing;
      fd = follow ? prism_path_look_up (self, root, name, TRUE, O_PATH | O_DIRECTORY, 0)
                  : open_folder (self, root, name);
    }
  while (fd == -ENOENT);
  return fd;
}

typedef struct
{
  PrismPathIntent intent;
  PrismPathHold *hold;
} Holding;

static void
take_rest (PrismPathHold *hold, const char *rest, guint components)
{
  const char *at = rest + strlen (rest);

  for (guint i = 0; i < components && at > rest; i++)
    for (at--; at > rest && at[-1] != '/';)
      at--;
  g_free (hold->rest);
  hold->rest = g_strdup (at);
}

/* To read: what it leads to. */
static int
hold_target (const PrismPathGuard *self, int root, const char *rest, PrismPathHold *hold)
{
  int fd = prism_path_look_up (self, root, rest, TRUE, O_PATH, 0);

  if (fd == -ENOENT)
    {
      fd = open_above (self, root, rest, TRUE, &hold->object.missing);
      hold->folder = MAX (fd, -1);
    }
  else
    hold->fd = MAX (fd, -1);
  return fd;
}

/* To change: the name itself, in its folder. */
static int
hold_name (const PrismPathGuard *self, int root, const char *rest, PrismPathHold *hold)
{
  int fd;

  if (g_str_equal (rest, "."))
    {
      fd = prism_path_look_up (self, root, rest, FALSE, O_PATH, 0);
      hold->fd = MAX (fd, -1);
      return fd;
    }
  fd = open_above (self, root, rest, FALSE, &hold->object.missing);
  if (fd < 0)
    return fd;
  hold->folder = fd;
  take_rest (hold, rest, hold->object.missing);
  if (hold->object.missing > 1)
    return fd;
  hold->fd = openat (hold->folder, hold->rest, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (hold->fd >= 0)
    hold->object.missing = 0;
  return hold->fd >= 0 || errno == ENOENT ? fd : -errno;
}

static int
hold_at (const PrismPathGuard *self, int root, const char *rest, gpointer data)
{
  Holding *holding = data;
  int result;

  prism_path_hold_clear (holding->hold);
  result = holding->intent == PRISM_PATH_INTENT_READ ? hold_target (self, root, rest, holding->hold)
                                                     : hold_name (self, root, rest, holding->hold);
  if (result < 0)
    prism_path_hold_clear (holding->hold);
  return result;
}

gboolean
prism_path_guard_hold (
    PrismPathGuard *self, const char *path, PrismPathIntent intent, PrismPathHold *hold, GError **error)
{
  Holding holding = { intent, hold };

  *hold = (PrismPathHold){ .fd = -1, .folder = -1 };
  if (prism_path_at_roots (self, path, hold_at, &holding, error) < 0)
    return FALSE;
  if (read_identity (hold->fd >= 0 ? hold->fd : hold->folder, &hold->object))
    return TRUE;
  prism_path_set_error (errno, path, "", error);
  prism_path_hold_clear (hold);
  return FALSE;
}

void
prism_path_hold_clear (PrismPathHold *self)
{
  prism_clear_fd (&self->fd);
  prism_clear_fd (&self->folder);
  g_clear_pointer (&self->rest, g_free);
  self->object = (PrismPathIdentity){ 0 };
}

gboolean
prism_path_guard_identify (
    PrismPathGuard *self, const char *path, PrismPathIntent intent, PrismPathIdentity *identity, GError **error)
{
  PrismPathHold hold;

  *identity = (PrismPathIdentity){ 0 };
  if (!prism_path_guard_hold (self, path, intent, &hold, error))
    return FALSE;
  *identity = hold.object;
  prism_path_hold_clear (&hold);
  return TRUE;
}

/* --- whether it is that still --------------------------------------------------------------- */

typedef struct
{
  PrismPathIntent intent;
  const PrismPathIdentity *object;
} Asked;

/* What has the name now, or the name of the folder above it that was there. */
static int
look_again (const PrismPathGuard *self, int root, const char *rest, gpointer data)
{
  const Asked *asked = data;
  gboolean follow = asked->intent == PRISM_PATH_INTENT_READ;
  int fd = prism_path_look_up (self, root, rest, follow, O_PATH, 0);
  char name[PRISM_PATH_MAX];

  if (asked->object->missing == 0)
    return fd;
  if (fd >= 0)
    (void)close (fd);
  if (fd != -ENOENT)
    return fd >= 0 ? -EEXIST : fd;
  g_strlcpy (name, rest, sizeof name);
  for (guint i = 0; i < asked->object->missing; i++)
    {
      char *slash = strrchr (name, '/');

      if (slash != NULL)
        *slash = '\0';
      else if (g_str_equal (name, "."))
        return -EXDEV;
      else
        g_strlcpy (name, ".", sizeof name);
    }
  return prism_path_look_up (self, root, name, follow, O_PATH, 0);
}

gboolean
prism_path_guard_is_object (PrismPathGuard *self,
                            const char *path,
                            PrismPathIntent intent,
                            const PrismPathIdentity *object)
{
  Asked asked = { intent, object };
  PrismPathIdentity now = { 0 };
  prism_autofd int fd = prism_path_at_roots (self, path, look_again, &asked, NULL);

  return fd >= 0 && read_identity (fd, &now) && is_equal (&now, object);
}

/* --- using it --------------------------------------------------------------------------------- */

/* One component at a time, from a descriptor to a descriptor, and never up. */
int
prism_path_hold_make_folder (const PrismPathHold *self, guint mode)
{
  int at = self->folder >= 0 ? fcntl (self->folder, F_DUPFD_CLOEXEC, 3) : -1;
  const char *name = self->rest;

  if (self->folder < 0)
    errno = EXDEV;
  for (const char *slash; at >= 0 && (slash = strchr (name, '/')) != NULL; name = slash + 1)
    {
      g_autofree char *folder = g_strndup (name, (gsize)(slash - name));
      prism_autofd int parent = at;
      struct stat status;

      at = mkdirat (parent, folder, mode & 0777) == 0 || errno == EEXIST
               ? openat (parent, folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
               : -1;
      if (at < 0 && errno == ENOTDIR)
        errno =
            fstatat (parent, folder, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK (status.st_mode) ? ELOOP : ENOTDIR;
    }
  return at;
}

const char *
prism_path_hold_get_leaf (const PrismPathHold *self)
{
  const char *slash = self->rest != NULL ? strrchr (self->rest, '/') : NULL;

  return slash != NULL ? slash + 1 : self->rest;
}

int
prism_path_guard_open_below (PrismPathGuard *self, int folder, const char *rest, int flags, GError **error)
{
  int fd = prism_path_look_up (self, folder, rest, FALSE, flags, 0);

  return fd >= 0 ? fd : prism_path_set_error (-fd, rest, "", error);
}
