/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which file requests may be answered in the loop. A file system that asks a program or
 * another machine (FUSE, NFS and their kin) may keep a system call for as long as it
 * likes, and with it the whole agent. A fork for each small file would be four times as
 * dear as the file, so it is made only where such a one is mounted: what leads there, by a
 * link or a path, is a command's to choose. What lies below an overlay is not seen here. */
#include "agent-job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static const char *const own[] = {
  "bcachefs", "binfmt_misc", "bpf",     "btrfs",  "cgroup", "cgroup2", "configfs",   "debugfs",   "devpts",
  "devtmpfs", "efivarfs",    "erofs",   "exfat",  "ext2",   "ext3",    "ext4",       "f2fs",      "fusectl",
  "hfsplus",  "hugetlbfs",   "iso9660", "jfs",    "minix",  "mqueue",  "msdos",      "nilfs2",    "nsfs",
  "ntfs3",    "overlay",     "proc",    "pstore", "ramfs",  "rootfs",  "securityfs", "selinuxfs", "squashfs",
  "sysfs",    "tmpfs",       "tracefs", "udf",    "vfat",   "xfs",     "zfs",
};

static int table = -1;

/* The kernel's own, on what is attached to this machine. */
static bool
is_own (const char *type, size_t size)
{
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (strncmp (own[i], type, size) == 0 && own[i][size] == 0)
      return true;
  return false;
}

/* A line: ... - TYPE SOURCE OPTIONS */
static bool
line_may_hang (const char *line, const char *end)
{
  const char *dash = memmem (line, (size_t)(end - line), " - ", 3);
  const char *type = dash != NULL ? dash + 3 : end, *space = memchr (type, ' ', (size_t)(end - type));

  return space == NULL || !is_own (type, (size_t)(space - type));
}

/* Whole lines at a time; one that does not fit is longer than any path allows. */
static bool
table_may_hang (void)
{
  char *text = (char *)agent.scratch;
  size_t have = 0;

  agent.scratch_used = true;
  if (lseek (table, 0, SEEK_SET) != 0)
    return true;
  for (;;)
    {
      ssize_t n = read (table, text + have, AGENT_BULK - have);
      char *line = text, *end;

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return n < 0 || have > 0;
      have += (size_t)n;
      while ((end = memchr (line, '\n', have - (size_t)(line - text))) != NULL)
        {
          if (line_may_hang (line, end))
            return true;
          line = end + 1;
        }
      have -= (size_t)(line - text);
      memmove (text, line, have);
      if (have == AGENT_BULK)
        return true;
    }
}

bool
agent_files_may_hang (void)
{
  static bool may_hang = true;
  struct pollfd changed;
  bool look = false;

  if (table < 0)
    {
      table = open ("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
      if (table < 0)
        return true; /* not known: not to be risked */
      look = true;
    }
  /* The kernel tells a reader of it that something was mounted since. */
  changed = (struct pollfd){ table, POLLPRI, 0 };
  if (look || poll (&changed, 1, 0) != 0)
    may_hang = table_may_hang ();
  return may_hang;
}
