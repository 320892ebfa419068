/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Processes and mounts end with the keeper, by the kernel's hand; control groups and what
 * leads to a detached sandbox do not. One is a leftover when its lock is free: then its
 * keeper is dead. */
#include "prism-native-reap.h"

#include "prism-native-cgroup-state.h"
#include "prism-native-early.h"
#include "prism-native-runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static gboolean
is_ours (const char *name)
{
  return g_str_has_prefix (name, PRISM_NATIVE_GROUP_PREFIX)
         && prism_native_is_id (name + strlen (PRISM_NATIVE_GROUP_PREFIX));
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
  if (cgroup->freezer != NULL)
    visit (cgroup->freezer, func, data);
}

static void
add_reference (const char *folder, const char *name, gpointer data)
{
  g_hash_table_add (data, g_strdup (name + strlen (PRISM_NATIVE_GROUP_PREFIX)));
}

char **
prism_native_sandboxes_list (const PrismNativeCgroup *cgroup)
{
  g_autoptr (GHashTable) found = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray) references = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer id;

  visit_all (cgroup, add_reference, found);
  prism_native_runtime_list (found);
  g_hash_table_iter_init (&iter, found);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    g_ptr_array_add (references, g_strconcat ("native:", id, NULL));
  g_ptr_array_add (references, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&references), FALSE);
}

/* What was held still when its keeper died is dead as soon as it goes on. Still populated
 * is possible for a moment. */
static void
remove_one (const char *folder, const char *name, gpointer data)
{
  prism_native_cgroup_thaw (folder);
  if (rmdir (folder) == 0)
    g_hash_table_add (data, g_strdup (name + strlen (PRISM_NATIVE_GROUP_PREFIX)));
}

guint
prism_native_leftovers_remove (const PrismNativeCgroup *cgroup)
{
  g_autoptr (GHashTable) removed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  /* The freezer's groups come last: what is in them is in the others too. */
  visit_all (cgroup, remove_one, removed);
  prism_native_runtime_remove (removed);
  return g_hash_table_size (removed);
}
