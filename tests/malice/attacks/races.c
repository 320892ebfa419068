/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the host may fall over when it reads a folder that a command has filled;
 * and a path that is a folder now and a link out of the workspace in a moment, while
 * the host reads, writes, lists, removes and exports through it. */
#include "../malice.h"

#include <linux/fs.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#define CROWD 30000

void
attack_swap_path (void)
{
  char *folder = workspace_path ("race"), *link_out = workspace_path ("race-link"), to[512];
  snprintf (to, sizeof to, "../%s", given ("SIBLING"));
  mkdir (folder, 0755);
  unlink (link_out);
  if (symlink (to, link_out) != 0)
    broken ("%s: %s", link_out, strerror (errno));
  time_t end = time (NULL) + 60;
  while (time (NULL) < end)
    for (int i = 0; i < 1000; i++)
      syscall (SYS_renameat2, AT_FDCWD, folder, AT_FDCWD, link_out, RENAME_EXCHANGE);
}

void
attack_swap_path_beside (void)
{
  attack_swap_path ();
}

/* Each name is another kind of thing, another size or gone from one moment to the next. */
void
attack_shifting_tree (void)
{
  static char block[200000];
  char *folder = workspace_path ("shifting"), name[32];
  mkdir (folder, 0755);
  if (chdir (folder) != 0)
    broken ("%s: %s", folder, strerror (errno));
  memset (block, 's', sizeof block);
  time_t end = time (NULL) + 60;
  for (unsigned i = 1; time (NULL) < end; i = i * 1103515245 + 12345)
    {
      snprintf (name, sizeof name, "name-%u", i >> 16 & 15);
      switch (i >> 24 & 7)
        {
        case 0:
          unlink (name);
          rmdir (name);
          break;
        case 1:
          mkdir (name, 0755);
          break;
        case 2:
          (void)!symlink ("../kept", name);
          break;
        case 3:
          rename (name, "name-7");
          break;
        case 4:
          (void)!truncate (name, i >> 20 & 0xfff);
          break;
        default:
          {
            int fd = open (name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
            (void)!write (fd, block, i >> 14);
            close (fd);
          }
        }
    }
}

void
attack_crowded_folder (void)
{
  char *folder = workspace_path ("crowd"), name[64];
  mkdir (folder, 0755);
  if (chdir (folder) != 0)
    broken ("%s: %s", folder, strerror (errno));
  for (int i = 0; i < CROWD; i++)
    {
      snprintf (name, sizeof name, "a-name-of-some-length-as-files-have-them-%06d", i);
      if (mknod (name, S_IFREG | 0644, 0) != 0)
        break;
    }
  int fd = open ("needle", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  (void)!write (fd, "needle\n", 7);
  close (fd);
  _exit (MALICE_CONTAINED);
}

static void
make_endless_path (int folder)
{
  for (int depth = 0; depth < 400; depth++)
    {
      if (mkdirat (folder, "a-folder-name-of-thirty-letters", 0755) != 0)
        break;
      int next = openat (folder, "a-folder-name-of-thirty-letters", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      close (folder);
      folder = next;
    }
  close (folder);
}

void
attack_odd_files (void)
{
  static const char *const names[] = { "not\xffutf8", "new\nline", "\x1b[31mescape", "-rf", "\xe2\x80\xaertl" };
  char *odd = workspace_path ("odd"), to[64];
  struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
  mkdir (odd, 0755);
  if (chdir (odd) != 0 || mkfifo ("pipe", 0666) != 0)
    broken ("%s: %s", odd, strerror (errno));
  (void)!bind (socket (AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address);
  int fd = open ("hole", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  (void)!ftruncate (fd, 1ll << 40);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    close (open (names[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  for (int i = 0; i < 60; i++)
    {
      char name[64];
      snprintf (name, sizeof name, "chain-%d", i);
      snprintf (to, sizeof to, "chain-%d", i + 1);
      (void)!symlink (to, name);
    }
  (void)!symlink ("loop", "loop");
  (void)!symlink ("/proc/self/root", "magic");
  (void)!symlink ("/dev/zero", "zero");
  close (open ("unreadable", O_WRONLY | O_CREAT | O_CLOEXEC, 0));
  mkdir ("closed", 0);
  mkdir ("deep", 0755);
  make_endless_path (open ("deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  /* One whose opening waits until the holder of its lease gives it up, or for 45 s. */
  if (fork () == 0)
    {
      int leased = open ("leased", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
      signal (SIGIO, SIG_IGN);
      alarm (60);
      fcntl (leased, F_SETLEASE, F_WRLCK);
      for (;;)
        pause ();
    }
  /* And one that grows while it is read. */
  if (fork () == 0)
    {
      static char block[4096];
      alarm (60);
      int growing = open ("growing", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
      for (long i = 0;; i++)
        {
          (void)!write (growing, block, sizeof block);
          if (i % 4096 == 4095)
            (void)!ftruncate (growing, 0);
        }
    }
  _exit (MALICE_CONTAINED);
}
