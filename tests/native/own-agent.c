/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "own-agent.h"

#include <gio/gio.h>
#include <glib/gstdio.h>

static char *
copy_agent (void)
{
  g_autoptr (GError) error = NULL;
  char *folder = g_dir_make_tmp ("prism-agent-XXXXXX", &error);
  g_assert_no_error (error);
  g_autofree char *path = g_build_filename (folder, "prism-agent", NULL);
  g_autoptr (GFile) from = g_file_new_for_path (g_getenv ("PRISM_AGENT")), to = g_file_new_for_path (path);

  g_file_copy (from, to, G_FILE_COPY_NONE, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (g_chmod (folder, 0755), ==, 0);
  g_assert_cmpint (g_chmod (path, 0755), ==, 0);
  g_setenv ("PRISM_AGENT", path, TRUE);
  return folder;
}

int
own_agent_test_run (void)
{
  g_autofree char *folder = copy_agent ();
  int status = g_test_run ();

  g_unlink (g_getenv ("PRISM_AGENT"));
  g_rmdir (folder);
  return status;
}

guint
own_agent_count (void)
{
  g_autoptr (GDir) proc = g_dir_open ("/proc", 0, NULL);
  const char *name;
  guint n = 0;

  while (proc != NULL && (name = g_dir_read_name (proc)) != NULL)
    {
      g_autofree char *path = g_build_filename ("/proc", name, "exe", NULL), *target = NULL;
      if (!g_ascii_isdigit (*name))
        continue;
      target = g_file_read_link (path, NULL);
      n += target != NULL && g_strcmp0 (target, g_getenv ("PRISM_AGENT")) == 0;
    }
  return n;
}
