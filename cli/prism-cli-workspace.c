/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which folder is the workspace when -w does not say so. The current one, but
 * not where a stray `prism run` would hand a whole home or the system over to
 * the command: then -w has to name it. */
#include "prism-cli-workspace.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Themselves and all below them. */
static const char *const system_trees[] = { "/usr",  "/etc", "/boot",  "/dev",   "/proc",   "/sys", "/bin",
                                            "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/run", NULL };
/* Only themselves. */
static const char *const system_folders[] = { "/home", "/mnt", "/media", "/opt", "/srv", "/tmp", "/var", NULL };
/* What lies directly below is the system's; what is deeper may be anybody's. */
static const char *const shallow[] = { "/var", NULL };

static gboolean
is_below (const char *path, const char *folder)
{
  gsize length = strlen (folder);

  return strncmp (path, folder, length) == 0 && path[length] == '/';
}

const char *
prism_cli_workspace_objection (const char *path, const char *const *homes)
{
  if (g_str_equal (path, "/"))
    return _ ("the root folder");
  if (g_strv_contains (homes, path) || g_str_equal (path, "/root")
      || (is_below (path, "/home") && strchr (path + strlen ("/home/"), '/') == NULL))
    return _ ("a home folder");
  if (g_strv_contains (system_folders, path))
    return _ ("a system folder");
  for (guint i = 0; system_trees[i] != NULL; i++)
    if (g_str_equal (path, system_trees[i]) || is_below (path, system_trees[i]))
      return _ ("a system folder");
  for (guint i = 0; shallow[i] != NULL; i++)
    if (is_below (path, shallow[i]) && strchr (path + strlen (shallow[i]) + 1, '/') == NULL)
      return _ ("a system folder");

  return NULL;
}

static char *
real_path (const char *path)
{
  char *real = path != NULL ? realpath (path, NULL) : NULL;
  char *copy = g_strdup (real);

  free (real);
  return copy;
}

static char **
list_homes (void)
{
  GStrvBuilder *builder = g_strv_builder_new ();
  const char *named = g_getenv ("HOME");
  /* The user database is read only where nothing else says it: that is a millisecond. */
  const struct passwd *entry = named == NULL ? getpwuid (getuid ()) : NULL;
  g_autofree char *home = real_path (entry != NULL ? entry->pw_dir : named);
  char **homes;

  if (home != NULL)
    g_strv_builder_add (builder, home);
  homes = g_strv_builder_end (builder);
  g_strv_builder_unref (builder);

  return homes;
}

/* Relative to the current folder. Not left to GIO: where that folder has been removed
 * "." would be the root folder, and "-w ." hand that out. */
char *
prism_cli_path (const char *path, GError **error)
{
  g_autofree char *copy = NULL;
  char *here;

  if (g_path_is_absolute (path))
    return g_canonicalize_filename (path, "/");
  if (path[0] == '\0')
    {
      g_set_error_literal (error, G_FILE_ERROR, G_FILE_ERROR_INVAL, _ ("an empty path names no file or folder"));
      return NULL;
    }

  here = getcwd (NULL, 0);
  if (here == NULL)
    {
      g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (errno),
                   _ ("“%s” is relative, and the current folder cannot be used: %s; name an absolute path"), path,
                   g_strerror (errno));
      return NULL;
    }
  copy = g_strdup (here);
  free (here);

  return g_canonicalize_filename (path, copy);
}

/* Never a URI, and without a look at GIO's modules, which cost a twentieth of a run. */
GFile *
prism_cli_file (const char *path, GError **error)
{
  g_autofree char *full = prism_cli_path (path, error);

  return full != NULL ? g_vfs_get_file_for_path (g_vfs_get_local (), full) : NULL;
}

/* @named: what -w said, or NULL. */
GFile *
prism_cli_workspace (const char *named, PrismWorkspaceMode mode, GError **error)
{
  g_autofree char *path = NULL;
  g_auto (GStrv) homes = NULL;
  const char *objection;

  if (named != NULL)
    return prism_cli_file (named, error);

  path = real_path (".");
  if (path == NULL)
    {
      g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (errno),
                   _ ("the current folder cannot be used as the workspace: %s; name one with -w"), g_strerror (errno));
      return NULL;
    }
  if (mode != PRISM_WORKSPACE_MODE_DIRECT)
    return prism_cli_file (path, error);

  homes = list_homes ();
  objection = prism_cli_workspace_objection (path, (const char *const *)homes);
  if (objection != NULL)
    {
      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_PERM,
                   _ ("the current folder is %s (%s), and the command could write to all of it; go to a project's "
                      "folder, name this one with -w %s, or use --workspace-mode copy"),
                   path, objection, path);
      return NULL;
    }

  return prism_cli_file (path, error);
}
