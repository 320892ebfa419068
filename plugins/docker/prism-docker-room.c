/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TRUST. The runtime folder is the user's own and nobody else may look into it. The
 * container sees one folder of it and cannot write there: no command can put another
 * socket in place of the host's. Whoever connects is judged by who the kernel says it is
 * (prism-docker-peer.c). */
#include "prism-docker-room.h"

#include <errno.h>
#include <fcntl.h>
#include <libprism/prism.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "prism-docker-options.h"

#define BACKLOG      8
#define DEPOSIT      "deposit"
#define MOST_DEPOSIT (8 * 1024 * 1024)
#define MOST_MOUNTS  4096

static void
close_fd (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

static gboolean
fail (GError **error, const char *path)
{
  int saved = errno;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE, "docker: the runtime folder: %s: %s", path,
               g_strerror (saved));
  return FALSE;
}

/* Every folder on the way is ours and closed to others. */
static gboolean
make_private (const char *path, GError **error)
{
  struct stat info;

  if (mkdir (path, 0700) < 0 && errno != EEXIST)
    return fail (error, path);
  if (lstat (path, &info) < 0)
    return fail (error, path);
  if (S_ISDIR (info.st_mode) && info.st_uid == geteuid () && (info.st_mode & 077) == 0)
    return TRUE;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
               "docker: the runtime folder %s must be yours and closed to others (mode 0700)", path);
  return FALSE;
}

char *
prism_docker_room_dup_folder (const char *id, GError **error)
{
  const char *runtime = g_getenv ("XDG_RUNTIME_DIR");
  g_autofree char *top = NULL;

  if (geteuid () == 0)
    top = g_strdup ("/run/prism");
  else if (runtime != NULL && g_path_is_absolute (runtime))
    top = g_build_filename (runtime, "prism", NULL);
  if (top == NULL)
    {
      g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE,
                           "docker: a runtime folder is needed, for the socket to the agent: set XDG_RUNTIME_DIR to a "
                           "folder that is yours alone");
      return NULL;
    }
  return g_build_filename (top, "docker", id, NULL);
}

/* The two above the sandbox's own. */
static gboolean
make_runtime (const char *folder, GError **error)
{
  g_autofree char *all = g_path_get_dirname (folder);
  g_autofree char *top = g_path_get_dirname (all);

  return make_private (top, error) && make_private (all, error);
}

static gboolean
write_file (const char *folder, const char *name, const char *text, GError **error)
{
  g_autofree char *path = g_build_filename (folder, "host", name, NULL);
  int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  gsize size = strlen (text);
  gboolean done = fd >= 0 && fchmod (fd, 0644) == 0 && write (fd, text, size) == (ssize_t)size;

  if (!done)
    fail (error, path);
  close_fd (&fd);
  return done;
}

/* The image's lines but those that ours replace. */
static void
append_others (GString *text, const char *image)
{
  g_auto (GStrv) lines = image != NULL ? g_strsplit (image, "\n", -1) : NULL;

  for (guint i = 0; lines != NULL && lines[i] != NULL; i++)
    if (lines[i][0] != 0 && !g_str_has_prefix (lines[i], "prism:"))
      g_string_append_printf (text, "%s\n", lines[i]);
}

gboolean
prism_docker_room_write_users (
    PrismDockerRoom *self, guint uid, guint gid, const char *passwd, const char *group, GError **error)
{
  g_autoptr (GString) users = g_string_new (NULL);
  g_autoptr (GString) groups = g_string_new (NULL);

  /* The first that fits an id is the one that is found. */
  g_string_append_printf (users, "prism:x:%u:%u:prism:" PRISM_DOCKER_HOME ":/bin/sh\n", uid, gid);
  g_string_append_printf (groups, "prism:x:%u:\n", gid);
  append_others (users, passwd != NULL ? passwd
                                       : "root:x:0:0:root:/root:/bin/sh\n"
                                         "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n");
  append_others (groups, group != NULL ? group : "root:x:0:\nnogroup:x:65534:\n");
  return write_file (self->folder, "passwd", users->str, error)
         && write_file (self->folder, "group", groups->str, error);
}

/* A socket's name has a hundred bytes: the descriptor's is short, however long the path. */
static int
listen_in (const char *host)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int folder = open (host, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  int fd = folder >= 0 ? socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;

  g_snprintf (address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" PRISM_DOCKER_SOCKET, folder);
  unlinkat (folder, PRISM_DOCKER_SOCKET, 0);
  if (fd >= 0
      && (bind (fd, (const struct sockaddr *)&address, sizeof address) < 0
          || fchmodat (folder, PRISM_DOCKER_SOCKET, 0666, 0) < 0 || listen (fd, BACKLOG) < 0))
    close_fd (&fd);
  close_fd (&folder);
  return fd;
}

/* Between the making and the lock somebody may take it for a leftover. */
static gboolean
make_locked (PrismDockerRoom *self)
{
  for (guint tries = 0; tries < 8; tries++)
    {
      struct stat named, itself;
      if (mkdir (self->folder, 0700) < 0 && errno != EEXIST)
        return FALSE;
      self->lock = open (self->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
      if (self->lock >= 0 && flock (self->lock, LOCK_EX) == 0 && fstat (self->lock, &itself) == 0
          && lstat (self->folder, &named) == 0 && named.st_ino == itself.st_ino)
        return TRUE;
      close_fd (&self->lock);
    }
  errno = EAGAIN;
  return FALSE;
}

gboolean
prism_docker_room_make (PrismDockerRoom *self, const char *id, guint uid, guint gid, GError **error)
{
  g_autofree char *host = NULL;

  *self = (PrismDockerRoom){ NULL, -1, -1 };
  self->folder = prism_docker_room_dup_folder (id, error);
  if (self->folder == NULL || !make_runtime (self->folder, error))
    return FALSE;
  host = g_build_filename (self->folder, "host", NULL);
  if (!make_locked (self) || mkdir (host, 0755) < 0 || chmod (host, 0755) < 0)
    return fail (error, self->folder);
  self->listener = listen_in (host);
  if (self->listener < 0)
    return fail (error, host);
  return write_file (self->folder, "empty", "", error)
         && write_file (self->folder, "hosts", "127.0.0.1\tlocalhost prism\n::1\tlocalhost ip6-localhost\n", error)
         && write_file (self->folder, "resolv.conf", "# no resolver: the sandbox has no network of its own\n", error)
         && prism_docker_room_write_users (self, uid, gid, NULL, NULL, error);
}

/* --- one that is there ------------------------------------------------------------------ */

gboolean
prism_docker_room_enter (PrismDockerRoom *self, const char *id, GError **error)
{
  g_autofree char *host = NULL;

  *self = (PrismDockerRoom){ NULL, -1, -1 };
  self->folder = prism_docker_room_dup_folder (id, error);
  if (self->folder == NULL)
    return FALSE;
  self->lock = open (self->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (self->lock < 0)
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND,
                 "docker: no detached sandbox of this id is in %s: it has ended, or was not detached", self->folder);
  else if (flock (self->lock, LOCK_EX | LOCK_NB) < 0)
    g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE, "docker: another host has it");
  else
    return TRUE;
  prism_docker_room_clear (self);
  return FALSE;
}

gboolean
prism_docker_room_open (PrismDockerRoom *self, GError **error)
{
  g_autofree char *host = g_build_filename (self->folder, "host", NULL);

  self->listener = listen_in (host);
  return self->listener >= 0 || fail (error, host);
}

gboolean
prism_docker_room_deposit (PrismDockerRoom *self, GBytes *bytes, GError **error)
{
  g_autofree char *path = g_build_filename (self->folder, DEPOSIT, NULL);
  g_autoptr (GError) failure = NULL;

  if (g_file_set_contents_full (path, g_bytes_get_data (bytes, NULL), (gssize)g_bytes_get_size (bytes),
                                G_FILE_SET_CONTENTS_CONSISTENT, 0600, &failure))
    return TRUE;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED, "docker: what a later host is to be told: %s",
               failure->message);
  return FALSE;
}

GBytes *
prism_docker_room_read_deposit (PrismDockerRoom *self, GError **error)
{
  g_autofree char *path = g_build_filename (self->folder, DEPOSIT, NULL);
  g_autoptr (GError) failure = NULL;
  struct stat info;
  char *text = NULL;
  gsize size = 0;

  if (lstat (path, &info) == 0 && S_ISREG (info.st_mode) && info.st_uid == geteuid () && info.st_size <= MOST_DEPOSIT
      && g_file_get_contents (path, &text, &size, &failure))
    return g_bytes_new_take (text, size);
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND,
               "docker: nothing says what the sandbox in %s is%s%s", self->folder, failure != NULL ? ": " : "",
               failure != NULL ? failure->message : "");
  return NULL;
}

int
prism_docker_room_accept (PrismDockerRoom *self)
{
  return accept4 (self->listener, NULL, NULL, SOCK_CLOEXEC);
}

/* m0, m1, …: of a host that was killed, and its keeper too. */
void
prism_docker_room_remove_mounts (PrismDockerRoom *self)
{
  for (guint i = 0; i < MOST_MOUNTS; i++)
    {
      g_autofree char *path = g_strdup_printf ("%s/m%u", self->folder, i);
      struct stat info;
      if (lstat (path, &info) < 0)
        return;
      while (umount2 (path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        ;
      if (S_ISDIR (info.st_mode))
        rmdir (path);
      else if (info.st_size == 0)
        unlink (path);
    }
}

void
prism_docker_room_remove (PrismDockerRoom *self)
{
  static const char *const names[] = { PRISM_DOCKER_SOCKET, "empty", "hosts", "resolv.conf", "passwd", "group" };
  g_autofree char *host = NULL;
  int folder;

  if (self->folder == NULL)
    return;
  host = g_build_filename (self->folder, "host", NULL);
  folder = open (host, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  for (gsize i = 0; folder >= 0 && i < G_N_ELEMENTS (names); i++)
    unlinkat (folder, names[i], 0);
  close_fd (&folder);
  rmdir (host);
  if (self->lock >= 0)
    unlinkat (self->lock, DEPOSIT, 0);
  rmdir (self->folder);
  prism_docker_room_clear (self);
}

void
prism_docker_room_clear (PrismDockerRoom *self)
{
  close_fd (&self->listener);
  close_fd (&self->lock);
  g_clear_pointer (&self->folder, g_free);
}
