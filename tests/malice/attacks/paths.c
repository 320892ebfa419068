/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the spec hides (hidden/secret in the workspace) and protects
 * (deep/guarded in the workspace). */
#include "../malice.h"

#include <dirent.h>
#include <linux/fs.h>
#include <sys/mount.h>
#include <sys/stat.h>

void
attack_read_hidden (void)
{
  const char *forms[] = { "hidden/secret",         "./hidden/./secret", "tree/../hidden/secret",
                          "link-to-hidden/secret", "hidden//secret",    "hardlink-to-hidden" };
  char *path;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    {
      path = workspace_path (forms[i]);
      try_to_read (path);
      free (path);
    }
  /* By the workspace's path on the host, which is a link inside. */
  const char *host = maybe_given ("HOST_WORKSPACE");
  if (host != NULL)
    {
      char alias[1024];
      snprintf (alias, sizeof alias, "%s/hidden/secret", host);
      try_to_read (alias);
      snprintf (alias, sizeof alias, "/proc/self/root%s/hidden/secret", host);
      try_to_read (alias);
    }
  /* By a walk with descriptors that never names it. */
  int top = open (given ("WORKSPACE"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = top >= 0 ? fdopendir (top) : NULL;
  for (struct dirent *e; d != NULL && (e = readdir (d)) != NULL;)
    {
      char bytes[256];
      int sub = openat (top, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      int fd = sub >= 0 ? openat (sub, "secret", O_RDONLY | O_CLOEXEC) : -1;
      ssize_t n = fd >= 0 ? read (fd, bytes, sizeof bytes) : -1;
      if (n > 0)
        look_for_bait (e->d_name, bytes, n);
    }
}

void
attack_unhide (void)
{
  char *hidden = workspace_path ("hidden"), *aside = workspace_path ("aside"), *tree = workspace_path ("tree");
  const char *workspace = given ("WORKSPACE");
  char path[1024];
  umount2 (hidden, MNT_DETACH);
  umount2 (hidden, 0);
  rename (hidden, aside);
  syscall (SYS_renameat2, AT_FDCWD, hidden, AT_FDCWD, tree, RENAME_EXCHANGE);
  rmdir (hidden);
  const char *names[] = { hidden, aside, tree };
  for (size_t i = 0; i < 3; i++)
    {
      snprintf (path, sizeof path, "%s/secret", names[i]);
      try_to_read (path);
    }
  /* The whole workspace, where its parent can be written. */
  snprintf (path, sizeof path, "%s-aside", workspace);
  if (rename (workspace, path) == 0)
    {
      strcat (path, "/hidden/secret");
      try_to_read (path);
    }
  /* Outside, without a cover, the plain read is the success. */
  snprintf (path, sizeof path, "%s/secret", hidden);
  try_to_read (path);
}

static void
try_to_write (const char *path)
{
  int fd = open (path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd >= 0 && write (fd, "changed\n", 8) == 8)
    escaped ("%s was written", path);
}

void
attack_write_protected (void)
{
  char *path = workspace_path ("deep/guarded/config"), *other = workspace_path ("deep/guarded/other"), proc[64];
  try_to_write (path);
  if (truncate (path, 0) == 0)
    escaped ("%s was cut", path);
  if (chmod (path, 0777) == 0)
    escaped ("%s changed its mode", path);
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0)
    {
      snprintf (proc, sizeof proc, "/proc/self/fd/%d", fd);
      try_to_write (proc);
      if (fchmod (fd, 0777) == 0 || ftruncate (fd, 0) == 0)
        escaped ("%s changed by descriptor", path);
    }
  const char *host = maybe_given ("HOST_WORKSPACE");
  if (host != NULL)
    {
      char alias[1024];
      snprintf (alias, sizeof alias, "%s/deep/guarded/config", host);
      try_to_write (alias);
    }
  if (unlink (path) == 0)
    escaped ("%s was removed", path);
  int made = open (other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (made >= 0 && rename (other, path) == 0)
    escaped ("%s was replaced", path);
}

/* Each folder above the protected file, itself not protected, but on its path. */
void
attack_replace_protected (void)
{
  static const char *const parents[] = { "deep/guarded", "deep" };
  char *fresh = workspace_path ("fresh"), *aside = workspace_path ("moved-aside"), path[1024];
  mkdir (fresh, 0755);
  snprintf (path, sizeof path, "%s/guarded", fresh);
  mkdir (path, 0755);
  for (size_t i = 0; i < 2; i++)
    {
      char *parent = workspace_path (parents[i]);
      if (syscall (SYS_renameat2, AT_FDCWD, fresh, AT_FDCWD, parent, RENAME_EXCHANGE) == 0)
        escaped ("%s, on a protected path, was exchanged", parent);
      if (rename (parent, aside) == 0)
        escaped ("%s, on a protected path, was renamed away", parent);
    }
}

void
attack_link_protected (void)
{
  char *path = workspace_path ("deep/guarded/config"), *to = workspace_path ("linked-config"), proc[64];
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  snprintf (proc, sizeof proc, "/proc/self/fd/%d", fd);
  if (link (path, to) == 0 || linkat (AT_FDCWD, proc, AT_FDCWD, to, AT_SYMLINK_FOLLOW) == 0
      || linkat (fd, "", AT_FDCWD, to, AT_EMPTY_PATH) == 0)
    try_to_write (to);
}
