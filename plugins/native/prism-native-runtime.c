/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TRUST. The folder is the user's own and nobody else may look into it: another's, or one
 * that others can enter, is refused. Who may connect is decided by both ends for
 * themselves, by the user that the kernel names. Paths are only used to find the folder;
 * what is in it is reached through its descriptor. */
#include "prism-native-runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <libprism/prism.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "prism-launch.h"
#include "prism-native-begin.h"

#define BACKLOG 8

gboolean
prism_native_is_id (const char *text)
{
  return strlen (text) == PRISM_NATIVE_ID_LENGTH && strspn (text, "0123456789abcdef") == PRISM_NATIVE_ID_LENGTH;
}

static void
close_fd (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

static void
refuse (GError **error, PrismSandboxError code, const char *path, const char *why)
{
  g_set_error (error, PRISM_SANDBOX_ERROR, code, "native: the runtime folder %s: %s", path, why);
}

static char *
dup_path (void)
{
  const char *dir = g_getenv ("XDG_RUNTIME_DIR");

  if (geteuid () == 0)
    return g_strdup ("/run/prism");
  return dir != NULL && g_path_is_absolute (dir) ? g_build_filename (dir, "prism", NULL) : NULL;
}

/* -1 with an error; without one, where nothing is to be made, there is none. */
static int
open_runtime (gboolean make, char **path, GError **error)
{
  struct stat info;
  int fd;

  *path = dup_path ();
  if (*path == NULL)
    {
      if (make)
        g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE,
                             "native: lifetime=detached needs a runtime folder: set XDG_RUNTIME_DIR to a folder that "
                             "is yours alone");
      return -1;
    }
  if (make && mkdir (*path, 0700) < 0 && errno != EEXIST)
    {
      refuse (error, PRISM_SANDBOX_ERROR_UNAVAILABLE, *path, g_strerror (errno));
      return -1;
    }
  fd = open (*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0)
    {
      if (make || errno != ENOENT)
        refuse (error, PRISM_SANDBOX_ERROR_UNAVAILABLE, *path, g_strerror (errno));
      return -1;
    }
  if (fstat (fd, &info) == 0 && info.st_uid == geteuid () && (info.st_mode & 077) == 0)
    return fd;
  refuse (error, PRISM_SANDBOX_ERROR_REFUSED, *path, "it must be yours and closed to others (mode 0700)");
  close (fd);
  return -1;
}

/* A socket's name has a hundred bytes: the descriptor's is short, however long the path. */
static void
set_address (struct sockaddr_un *address, int folder)
{
  *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
  g_snprintf (address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/" PRISM_LAUNCH_SOCKET, folder);
}

/* --- making one ------------------------------------------------------------------ */

/* Between the making and the lock somebody may take it for a leftover. */
static int
make_folder (int runtime, const char *id)
{
  for (guint tries = 0; tries < 8; tries++)
    {
      struct stat named, itself;
      int fd;
      if (mkdirat (runtime, id, 0700) < 0 && errno != EEXIST)
        return -1;
      fd = openat (runtime, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
      if (fd >= 0 && flock (fd, LOCK_EX) == 0 && fstat (fd, &itself) == 0
          && fstatat (runtime, id, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == itself.st_ino)
        return fd;
      close_fd (&fd);
    }
  errno = EAGAIN;
  return -1;
}

static int
open_listener (int folder)
{
  struct sockaddr_un address;
  int fd = socket (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

  set_address (&address, folder);
  if (fd >= 0 && bind (fd, (const struct sockaddr *)&address, sizeof address) == 0 && listen (fd, BACKLOG) == 0)
    return fd;
  close_fd (&fd);
  return -1;
}

gboolean
prism_native_way_in_make (PrismNativeWayIn *self, const char *id, GError **error)
{
  g_autofree char *path = NULL;
  int runtime;

  *self = (PrismNativeWayIn){ NULL, -1, -1 };
  runtime = open_runtime (TRUE, &path, error);
  if (runtime < 0)
    return FALSE;
  self->path = g_build_filename (path, id, NULL);
  self->folder = make_folder (runtime, id);
  if (self->folder >= 0)
    self->listener = open_listener (self->folder);
  if (self->listener < 0)
    refuse (error, PRISM_SANDBOX_ERROR_UNAVAILABLE, path, g_strerror (errno));
  close (runtime);
  if (self->listener >= 0)
    return TRUE;
  prism_native_way_in_abandon (self);
  return FALSE;
}

void
prism_native_way_in_abandon (PrismNativeWayIn *self)
{
  if (self->folder >= 0)
    {
      unlinkat (self->folder, PRISM_LAUNCH_SOCKET, 0);
      rmdir (self->path);
    }
  prism_native_way_in_clear (self);
}

void
prism_native_way_in_clear (PrismNativeWayIn *self)
{
  close_fd (&self->folder);
  close_fd (&self->listener);
  g_clear_pointer (&self->path, g_free);
}

/* --- finding one ------------------------------------------------------------------- */

static gboolean
is_own_user (int fd)
{
  struct ucred peer = { 0, (uid_t)-1, (gid_t)-1 };
  socklen_t size = sizeof peer;

  return getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid ();
}

int
prism_native_way_in_connect (const char *id, GError **error)
{
  g_autofree char *path = NULL;
  g_autoptr (GError) failure = NULL;
  struct sockaddr_un address;
  int runtime = open_runtime (FALSE, &path, &failure), folder, fd = -1;

  if (failure != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return -1;
    }
  folder = runtime >= 0 ? openat (runtime, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
  if (folder >= 0)
    {
      set_address (&address, folder);
      /* Not blocking: a keeper whose queue is full is busy. */
      fd = socket (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      if (fd >= 0 && connect (fd, (const struct sockaddr *)&address, sizeof address) < 0)
        {
          int saved = errno;
          close_fd (&fd);
          errno = saved;
        }
    }
  if (fd < 0 && errno == EAGAIN)
    g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE, "native: other hosts wait for it");
  else if (fd < 0)
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND,
                 "native: no detached sandbox of this id is in %s: it has ended, or was not detached",
                 path != NULL ? path : "a runtime folder (XDG_RUNTIME_DIR is not set)");
  else if (!is_own_user (fd))
    {
      close_fd (&fd);
      g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_DENIED,
                           "native: the sandbox is kept by another user");
    }
  else
    fcntl (fd, F_SETFL, 0);
  close_fd (&folder);
  close_fd (&runtime);
  return fd;
}

/* --- all of them -------------------------------------------------------------------- */

typedef void (*Visit) (int runtime, const char *id, GHashTable *ids);

static void
visit (GHashTable *ids, Visit func)
{
  g_autofree char *path = NULL;
  int runtime = open_runtime (FALSE, &path, NULL);
  g_autoptr (GDir) dir = runtime >= 0 ? g_dir_open (path, 0, NULL) : NULL;
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (prism_native_is_id (name))
      func (runtime, name, ids);
  close_fd (&runtime);
}

static void
add (int runtime, const char *id, GHashTable *ids)
{
  g_hash_table_add (ids, g_strdup (id));
}

static void
remove_dead (int runtime, const char *id, GHashTable *ids)
{
  int folder = openat (runtime, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

  if (folder < 0)
    return;
  if (flock (folder, LOCK_EX | LOCK_NB) == 0)
    {
      unlinkat (folder, PRISM_LAUNCH_SOCKET, 0);
      if (unlinkat (runtime, id, AT_REMOVEDIR) == 0)
        g_hash_table_add (ids, g_strdup (id));
    }
  close (folder);
}

void
prism_native_runtime_list (GHashTable *ids)
{
  visit (ids, add);
}

void
prism_native_runtime_remove (GHashTable *ids)
{
  visit (ids, remove_dead);
}
