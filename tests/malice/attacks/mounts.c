/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changing what is mounted. */
#include "../malice.h"

#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>

static char *
fresh_folder (void)
{
  char *path = workspace_path ("mount-here");
  mkdir (path, 0755);
  return path;
}

void
attack_mount_new (void)
{
  static const char *const types[] = { "tmpfs",   "proc",    "sysfs",    "devpts",      "mqueue",
                                       "cgroup2", "overlay", "devtmpfs", "binfmt_misc", "securityfs" };
  char *at = fresh_folder ();
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (mount (types[i], at, types[i], 0, NULL) == 0
        || mount (types[i], at, types[i], MS_RDONLY | MS_NOSUID, NULL) == 0)
      escaped ("mounted a %s", types[i]);
}

void
attack_mount_bind (void)
{
  char *at = fresh_folder ();
  const char *sources[] = { "/", "/usr", "/etc", "/proc", "/tmp", given ("WORKSPACE") };
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
    if (mount (sources[i], at, NULL, MS_BIND, NULL) == 0 || mount (sources[i], at, NULL, MS_BIND | MS_REC, NULL) == 0
        || mount (sources[i], at, NULL, MS_MOVE, NULL) == 0)
      escaped ("bound %s elsewhere", sources[i]);
}

/* Calls back with each mount point of this namespace; the last ones first, as
 * those cover the others. */
static void
each_mount_point (void (*try_it) (const char *path))
{
  static char points[512][256];
  int n = 0;
  char line[4096];
  FILE *file = fopen ("/proc/self/mountinfo", "re");
  while (file != NULL && n < 512 && fgets (line, sizeof line, file) != NULL)
    if (sscanf (line, "%*d %*d %*s %*s %255s", points[n]) == 1)
      n++;
  if (file != NULL)
    fclose (file);
  while (n-- > 0)
    try_it (points[n]);
}

static void
try_remount (const char *path)
{
  if (mount (NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL) == 0)
    escaped ("remounted %s writable, without nosuid and nodev", path);
  if (mount (NULL, path, NULL, MS_REMOUNT, NULL) == 0)
    escaped ("remounted the filesystem of %s", path);
  if (mount (NULL, path, NULL, MS_SHARED | MS_REC, NULL) == 0)
    escaped ("made %s shared", path);
}

void
attack_remount (void)
{
  each_mount_point (try_remount);
}

static void
try_unmount (const char *path)
{
  if (strcmp (path, "/") != 0 && strcmp (path, "/proc") != 0
      && (umount2 (path, 0) == 0 || umount2 (path, MNT_DETACH) == 0))
    escaped ("unmounted %s", path);
}

void
attack_unmount (void)
{
  each_mount_point (try_unmount);
}

void
attack_mount_api (void)
{
  char *at = fresh_folder ();
  int tree = (int)syscall (SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE | AT_RECURSIVE);
  if (tree >= 0)
    escaped ("open_tree cloned /usr");
  tree = (int)syscall (SYS_open_tree, AT_FDCWD, given ("WORKSPACE"), 0);
  if (tree >= 0 && syscall (SYS_move_mount, tree, "", AT_FDCWD, at, MOVE_MOUNT_F_EMPTY_PATH) == 0)
    escaped ("move_mount moved the workspace");
  if (syscall (SYS_fsopen, "tmpfs", 0) >= 0)
    escaped ("fsopen gave a context");
  if (syscall (SYS_fspick, AT_FDCWD, "/", 0) >= 0)
    escaped ("fspick gave a context");
  struct mount_attr attributes = { .attr_clr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };
  const char *paths[] = { "/", "/usr", "/proc", given ("RO"), given ("WORKSPACE") };
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    if (syscall (SYS_mount_setattr, AT_FDCWD, paths[i], 0, &attributes, sizeof attributes) == 0)
      escaped ("mount_setattr made %s writable", paths[i]);
}

void
attack_pivot (void)
{
  char *at = fresh_folder ();
  mount ("tmpfs", at, "tmpfs", 0, NULL);
  if (chdir (at) == 0 && syscall (SYS_pivot_root, ".", ".") == 0)
    escaped ("pivot_root");
  const char *roots[] = { given ("WORKSPACE"), "/tmp", "/usr", "/proc", "/dev" };
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
    if (chdir (roots[i]) == 0 && syscall (SYS_pivot_root, ".", ".") == 0)
      escaped ("pivot_root to %s", roots[i]);
}

void
attack_chroot_out (void)
{
  int kept = open ("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (chroot (given ("WORKSPACE")) != 0)
    return;
  (void)!fchdir (kept);
  for (int i = 0; i < 32; i++)
    (void)!chdir ("..");
  (void)!chroot (".");
  try_to_read (given ("SECRET"));
  escaped ("chroot is allowed");
}
