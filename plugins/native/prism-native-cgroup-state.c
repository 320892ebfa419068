/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is read of a control group that is there, and done to it. */
#include "prism-native-cgroup-state.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void
prism_native_cgroup_thaw (const char *folder)
{
  g_autofree char *file = g_build_filename (folder, "freezer.state", NULL);
  int fd = open (file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

  if (fd < 0)
    return;
  (void)!write (fd, "THAWED", 6);
  close (fd);
}

gint64
prism_native_cgroup_parse_memory_kills (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", 0);

  for (gsize i = 0; lines[i] != NULL; i++)
    if (g_str_has_prefix (lines[i], "oom_kill "))
      return g_ascii_strtoll (lines[i] + strlen ("oom_kill "), NULL, 10);
  return -1;
}

gint64
prism_native_cgroup_count_memory_kills (const char *folder)
{
  static const char *const files[] = { "memory.events", "memory.oom_control" };
  static gint there; /* that was found last: each end of a sandbox asks */
  gint first = g_atomic_int_get (&there);

  for (gint i = 0; i < (gint)G_N_ELEMENTS (files); i++)
    {
      gint at = (first + i) % (gint)G_N_ELEMENTS (files);
      g_autofree char *path = g_strconcat (folder, "/", files[at], NULL);
      char text[4096];
      int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
      ssize_t n = fd < 0 ? -1 : read (fd, text, sizeof text - 1);
      if (fd >= 0)
        close (fd);
      if (n < 0)
        continue;
      text[n] = '\0';
      g_atomic_int_set (&there, at);
      return prism_native_cgroup_parse_memory_kills (text);
    }
  return -1;
}
