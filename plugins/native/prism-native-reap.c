/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Processes and mounts end with the keeper, by the kernel's hand; control groups do
 * not. One is a leftover when its lock is free: then its keeper is dead. */
#include "prism-native-reap.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX    "prism-"
#define ID_LENGTH 32

static gboolean
is_ours (const char *name)
{
  if (!g_str_has_prefix (name, PREFIX))
    return FALSE;
  name += strlen (PREFIX);
  return strlen (name) == ID_LENGTH && strspn (name, "0123456789abcdef") == ID_LENGTH;
}

typedef void (*LeftoverFunc) (const char *folder, const char *name, gpointer data);

static void
visit (const char *parent, LeftoverFunc func, gpointer data)
{
  g_autoptr (GDir) dir = g_dir_open (parent, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *folder = NULL;
      int fd;
      if (!is_ours (name))
        continue;
      folder = g_build_filename (parent, name, NULL);
      fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
      if (fd < 0)
        continue;
      if (flock (fd, LOCK_EX | LOCK_NB) == 0)
        func (folder, name, data);
      close (fd);
    }
}

static void
visit_all (const PrismNativeCgroup *cgroup, LeftoverFunc func, gpointer data)
{
  for (guint i = 0; i < PRISM_NATIVE_N_CONTROLLERS; i++)
    {
      gboolean seen = cgroup->parents[i] == NULL;
      for (guint k = 0; k < i && !seen; k++)
        seen = g_strcmp0 (cgroup->parents[k], cgroup->parents[i]) == 0;
      if (!seen)
        visit (cgroup->parents[i], func, data);
    }
}

static void
add_reference (const char *folder, const char *name, gpointer data)
{
  g_hash_table_add (data, g_strconcat ("native:", name + strlen (PREFIX), NULL));
}

char **
prism_native_leftovers_list (const PrismNativeCgroup *cgroup)
{
  g_autoptr (GHashTable) found = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree char **keys = NULL;

  visit_all (cgroup, add_reference, found);
  keys = (char **)g_hash_table_get_keys_as_array (found, NULL);
  return g_strdupv (keys);
}

/* Still populated is possible for a moment: its processes die with the keeper. */
static void
remove_one (const char *folder, const char *name, gpointer data)
{
  if (rmdir (folder) == 0)
    g_hash_table_add (data, g_strdup (name));
}

guint
prism_native_leftovers_remove (const PrismNativeCgroup *cgroup)
{
  g_autoptr (GHashTable) removed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  visit_all (cgroup, remove_one, removed);
  return g_hash_table_size (removed);
}
