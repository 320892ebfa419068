/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a container has that a sandbox of namespaces has not: a socket on which the host
 * awaits the agent, mounts that an engine made, and its neighbours. */
#include "../malice.h"

#include <dirent.h>
#include <mntent.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>

#define MOST_ENTRIES 40000
#define MOST_DEPTH   8

static int entries;

/* In the agent's name: its first frame, by version 1 of the protocol. */
static const unsigned char hello[] = {
  16, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x52, 0x53, 0x4d, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};

static int
connect_there (const char *path, int type)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket (AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (strlen (path) >= sizeof address.sun_path)
    {
      close (fd);
      return -1;
    }
  strcpy (address.sun_path, path);
  if (fd >= 0 && connect (fd, (struct sockaddr *)&address, sizeof address) == 0)
    return fd;
  close (fd);
  return -1;
}

/* Whoever listens must not take this for the agent: not a byte may come back. */
static void
pose_as_agent (const char *path)
{
  static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };
  char answer[64];
  for (int i = 0; i < 2; i++)
    {
      int fd = connect_there (path, types[i]);
      if (fd < 0)
        continue;
      (void)!send (fd, hello, sizeof hello, MSG_NOSIGNAL);
      struct pollfd wait = { .fd = fd, .events = POLLIN };
      ssize_t got = poll (&wait, 1, 2000) == 1 ? recv (fd, answer, sizeof answer, MSG_DONTWAIT) : 0;
      if (got > 0)
        escaped ("%s answers to who says that it is the agent, with %zd bytes", path, got);
      close (fd);
    }
}

/* The host would connect to, or be dialled by, something else. */
static void
put_another_there (const char *path)
{
  char beside[4200];
  snprintf (beside, sizeof beside, "%s.malice", path);
  if (rename (path, beside) == 0)
    escaped ("moved %s away", path);
  if (unlink (path) == 0)
    escaped ("removed %s", path);
  if (symlink ("/tmp", beside) == 0)
    escaped ("made a link beside %s", path);
  if (chmod (path, 0777) == 0)
    escaped ("changed the mode of %s", path);
  if (mount ("/tmp", path, NULL, MS_BIND, NULL) == 0)
    escaped ("mounted over %s", path);
}

static void
look_in (const char *folder, int depth)
{
  DIR *dir = opendir (folder);
  struct dirent *entry;
  while (dir != NULL && (entry = readdir (dir)) != NULL && entries++ < MOST_ENTRIES)
    {
      char path[4096];
      struct stat st;
      if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0
          || snprintf (path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path || lstat (path, &st) != 0)
        continue;
      if (S_ISSOCK (st.st_mode))
        {
          pose_as_agent (path);
          put_another_there (path);
        }
      else if (S_ISDIR (st.st_mode) && depth < MOST_DEPTH && strcmp (path, "/proc") != 0 && strcmp (path, "/sys") != 0)
        look_in (path, depth + 1);
    }
  if (dir != NULL)
    closedir (dir);
}

void
attack_find_sockets (void)
{
  static const char *const first[] = { "/.prism", "/run", "/tmp", "" };
  for (int i = 0; i < 4; i++)
    look_in (first[i], 0);
}

void
attack_mount_options (void)
{
  FILE *mounts = setmntent ("/proc/self/mounts", "r");
  struct mntent *mount;
  while (mounts != NULL && (mount = getmntent (mounts)) != NULL)
    {
      struct statvfs st;
      if (access (mount->mnt_dir, W_OK) != 0 || statvfs (mount->mnt_dir, &st) != 0 || (st.f_flag & ST_RDONLY))
        continue;
      struct stat what;
      if (stat (mount->mnt_dir, &what) != 0 || !S_ISDIR (what.st_mode) || strncmp (mount->mnt_dir, "/proc", 5) == 0)
        continue;
      if (!(st.f_flag & ST_NOSUID))
        escaped ("%s can be written and heeds set-id files", mount->mnt_dir);
      if (!(st.f_flag & ST_NODEV))
        escaped ("%s can be written and heeds device nodes", mount->mnt_dir);
    }
  if (mounts != NULL)
    endmntent (mounts);
}
