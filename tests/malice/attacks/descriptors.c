/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command gets by inheritance: descriptors, folders, a terminal. */
#include "../malice.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

void
attack_inherited (void)
{
  for (int fd = 3; fd < 20000; fd++)
    if (fcntl (fd, F_GETFD) >= 0)
      {
        char path[64], to[256];
        snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink (path, to, sizeof to);
        escaped ("descriptor %d is open: %.*s", fd, (int)(n > 0 ? n : 0), to);
      }
}

void
attack_climb_from_descriptor (void)
{
  const char *secret = given ("SECRET");
  for (int fd = 0; fd < 1024; fd++)
    {
      char path[1024] = "";
      for (int up = 0; up < 24; up++)
        {
          int file = openat (fd, "secret", O_RDONLY | O_CLOEXEC);
          char bytes[256];
          if (file < 0)
            {
              snprintf (path + 3 * (size_t)up, sizeof path - 3 * (size_t)up, "%s", secret + 1);
              file = openat (fd, path, O_RDONLY | O_CLOEXEC);
            }
          ssize_t n = file >= 0 ? read (file, bytes, sizeof bytes) : -1;
          close (file);
          if (n > 0)
            look_for_bait ("a climb from a descriptor", bytes, n);
          memcpy (path + 3 * (size_t)up, "../", 4);
        }
    }
}

void
attack_stdio_kind (void)
{
  for (int fd = 0; fd < 3; fd++)
    {
      struct stat st;
      if (fstat (fd, &st) != 0)
        continue;
      if (S_ISREG (st.st_mode) || S_ISDIR (st.st_mode) || S_ISBLK (st.st_mode))
        escaped ("descriptor %d is a file or folder", fd);
      if (S_ISSOCK (st.st_mode))
        escaped ("descriptor %d is a socket", fd);
      if (S_ISCHR (st.st_mode) && st.st_rdev != makedev (1, 3))
        escaped ("descriptor %d is device %u:%u", fd, major (st.st_rdev), minor (st.st_rdev));
    }
}

void
attack_working_folder (void)
{
  char path[4096], id[64];
  struct stat st;
  if (syscall (SYS_getcwd, path, sizeof path) > 0 && path[0] != '/')
    escaped ("the working folder is %s", path);
  if (stat (".", &st) != 0)
    return;
  snprintf (id, sizeof id, "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
  if (strcmp (id, given ("HOST_CWD")) == 0)
    escaped ("the working folder is the host program's");
}
