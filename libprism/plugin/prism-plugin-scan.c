/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading one plug-in folder: no code of a plug-in runs here. Everything that
 * looks like a plug-in gets an info object, the refused ones with the reason:
 * nothing is skipped without a word. */
#include "prism-plugin-scan-private.h"

#include "prism-fd-private.h"
#include "prism-registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST_SUFFIX ".plugin"
#define MODULE_SUFFIX   ".so"
#define MAX_ENTRIES     4096

static void
refuse (GPtrArray *infos, const char *name, const char *manifest_path, const char *module_path, GError *error)
{
  PrismPluginInfo *info = prism_plugin_info_new (name, manifest_path, NULL);

  prism_plugin_info_set_module (info, module_path);
  prism_plugin_info_take_error (info, error);
  g_ptr_array_add (infos, info);
}

static gboolean
read_manifest (int fd, char *buffer, gsize size, gsize *length, GError **error)
{
  *length = 0;
  while (*length < size)
    {
      gssize n = read (fd, buffer + *length, size - *length);

      if (n == 0)
        return TRUE;
      if (n < 0 && errno != EINTR)
        {
          g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST, "cannot be read: %s",
                       g_strerror (errno));
          return FALSE;
        }
      *length += MAX (n, 0);
    }
  g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST, "longer than %d bytes",
               PRISM_PLUGIN_MANIFEST_MAX);
  return FALSE;
}

/* A link is refused: what it leads to lies in a folder that nobody checked. */
static int
open_checked (int folder_fd, const PrismPluginFolder *folder, const char *name, GError **error)
{
  g_autofree char *path = g_build_filename (folder->path, name, NULL);
  prism_autofd int fd = openat (folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

  if (fd < 0)
    {
      g_set_error (error, PRISM_PLUGIN_ERROR,
                   errno == ENOENT ? PRISM_PLUGIN_ERROR_MANIFEST : PRISM_PLUGIN_ERROR_UNTRUSTED, "%s %s", path,
                   errno == ELOOP    ? "is a symbolic link; install the file itself"
                   : errno == ENOENT ? "does not exist; install the module beside its manifest"
                                     : g_strerror (errno));
      return -1;
    }
  if (!prism_plugin_check_file (fd, path, folder, error))
    return -1;

  return g_steal_fd (&fd);
}

static PrismPluginManifest *
load_manifest (int folder_fd, const PrismPluginFolder *folder, const char *file, GError **error)
{
  g_autofree char *path = g_build_filename (folder->path, file, NULL);
  g_autofree char *buffer = g_malloc (PRISM_PLUGIN_MANIFEST_MAX + 1);
  g_autofree char *expected = NULL;
  g_autoptr (PrismPluginManifest) manifest = NULL;
  prism_autofd int fd = open_checked (folder_fd, folder, file, error);
  gsize length;

  if (fd < 0)
    return NULL;
  if (!read_manifest (fd, buffer, PRISM_PLUGIN_MANIFEST_MAX + 1, &length, error)
      || (manifest = prism_plugin_manifest_parse (buffer, length, error)) == NULL)
    {
      g_prefix_error (error, "%s: ", path);
      return NULL;
    }

  expected = g_strconcat (manifest->name, MANIFEST_SUFFIX, NULL);
  if (!g_str_equal (expected, file))
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST,
                   "%s says Name=%s; the file of that plug-in is called %s", path, manifest->name, expected);
      return NULL;
    }

  return g_steal_pointer (&manifest);
}

static void
scan_manifest (int folder_fd, const PrismPluginFolder *folder, const char *file, GHashTable *claimed, GPtrArray *infos)
{
  g_autofree char *path = g_build_filename (folder->path, file, NULL);
  g_autofree char *name = g_strndup (file, strlen (file) - strlen (MANIFEST_SUFFIX));
  g_autofree char *module_path = NULL;
  g_autofree char *guess = NULL;
  g_autoptr (GError) error = NULL;
  PrismPluginManifest *manifest = load_manifest (folder_fd, folder, file, &error);
  PrismPluginInfo *info;
  prism_autofd int fd = -1;

  if (manifest == NULL)
    {
      guess = g_strconcat (name, MODULE_SUFFIX, NULL);
      g_hash_table_add (claimed, g_steal_pointer (&guess));
      refuse (infos, name, path, NULL, g_steal_pointer (&error));
      return;
    }

  g_hash_table_add (claimed, g_strdup (manifest->module));
  module_path = g_build_filename (folder->path, manifest->module, NULL);
  fd = open_checked (folder_fd, folder, manifest->module, &error);
  info = prism_plugin_info_new (name, path, manifest);
  prism_plugin_info_set_module (info, module_path);
  if (fd < 0)
    prism_plugin_info_take_error (info, g_steal_pointer (&error));
  g_ptr_array_add (infos, info);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* Names in the folder, sorted, so that what is found does not depend on the file system. */
static GPtrArray *
list_names (int folder_fd)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  int copy = fcntl (folder_fd, F_DUPFD_CLOEXEC, 3);
  DIR *stream = copy >= 0 ? fdopendir (copy) : NULL;
  struct dirent *entry;

  if (stream == NULL)
    {
      if (copy >= 0)
        close (copy);
      return g_steal_pointer (&names);
    }
  while (names->len < MAX_ENTRIES && (entry = readdir (stream)) != NULL)
    if (entry->d_name[0] != '.' && entry->d_type != DT_DIR
        && (g_str_has_suffix (entry->d_name, MANIFEST_SUFFIX) || g_str_has_suffix (entry->d_name, MODULE_SUFFIX)))
      g_ptr_array_add (names, g_strdup (entry->d_name));
  closedir (stream);
  g_ptr_array_sort (names, compare_names);

  return g_steal_pointer (&names);
}

/* A folder that others can write to: whatever is in it is refused, unread. */
static void
refuse_all (const PrismPluginFolder *folder, GPtrArray *names, const GError *error, GPtrArray *infos)
{
  guint before = infos->len;

  for (guint i = 0; i < names->len; i++)
    if (g_str_has_suffix (names->pdata[i], MANIFEST_SUFFIX))
      {
        const char *file = names->pdata[i];
        g_autofree char *name = g_strndup (file, strlen (file) - strlen (MANIFEST_SUFFIX));
        g_autofree char *path = g_build_filename (folder->path, file, NULL);

        refuse (infos, name, path, NULL, g_error_copy (error));
      }

  if (infos->len == before)
    refuse (infos, folder->path, NULL, NULL, g_error_copy (error));
}

static void
scan_names (int folder_fd, const PrismPluginFolder *folder, GPtrArray *names, GPtrArray *infos)
{
  g_autoptr (GHashTable) claimed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < names->len; i++)
    if (g_str_has_suffix (names->pdata[i], MANIFEST_SUFFIX))
      scan_manifest (folder_fd, folder, names->pdata[i], claimed, infos);

  for (guint i = 0; i < names->len; i++)
    if (g_str_has_suffix (names->pdata[i], MODULE_SUFFIX) && !g_hash_table_contains (claimed, names->pdata[i]))
      {
        g_autofree char *path = g_build_filename (folder->path, names->pdata[i], NULL);

        refuse (infos, names->pdata[i], NULL, path,
                g_error_new (PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST,
                             "%s has no manifest; a plug-in is a module and the file NAME.plugin beside it", path));
      }
}

/* Appends a PrismPluginInfo for each plug-in, and for each thing that is none. */
void
prism_plugin_scan (const PrismPluginFolder *folder, PrismPluginAbove *above, GPtrArray *infos)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) names = NULL;
  prism_autofd int fd = -1;

  if (folder->path[0] != '/')
    {
      refuse (infos, folder->path, NULL, NULL,
              g_error_new (PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_UNTRUSTED,
                           "the plug-in folder %s is not an absolute path; what it means would depend on where the "
                           "program was started",
                           folder->path));
      return;
    }

  fd = open (folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    {
      if (folder->named || errno != ENOENT)
        refuse (infos, folder->path, NULL, NULL,
                g_error_new (PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_NOT_FOUND, "the plug-in folder %s: %s",
                             folder->path, g_strerror (errno)));
      return;
    }

  names = list_names (fd);
  if (!prism_plugin_check_folder (fd, folder, above, &error))
    refuse_all (folder, names, error, infos);
  else
    scan_names (fd, folder, names, infos);
}
