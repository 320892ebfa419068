/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where plug-ins are looked for, and whom that place has to belong to.
 *
 * A plug-in's code runs with all the rights of the process. So a folder and the
 * files in it must be such that only root and the caller can have put something
 * there: owned by one of the two and writable by nobody else. Files are judged
 * by the opened descriptor, not by name. Of the folders above only one thing is
 * asked: that not everybody can rename what is in them (a sticky one, such as
 * /tmp, is fine). What root or the caller installs is trusted: a malicious
 * plug-in of their own is not defended against, nor is the owner of a folder
 * above in whose tree root chose to run.
 */
#include "prism-plugin-paths-private.h"

#include "prism-registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

void
prism_plugin_folder_free (PrismPluginFolder *self)
{
  g_free (self->path);
  g_free (self);
}

static void
add_folder (GPtrArray *folders, const char *path, gboolean built_in, gboolean named)
{
  PrismPluginFolder *folder = g_new0 (PrismPluginFolder, 1);

  folder->path = g_strdup (path);
  folder->built_in = built_in;
  folder->named = named;
  g_ptr_array_add (folders, folder);
}

static GPtrArray *
folders_new (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify)prism_plugin_folder_free);
}

/* @replacement: (nullable): instead of @built_in; empty: no such folder at all.
 * @in_front: (nullable): more folders, separated by colons, searched first. */
GPtrArray *
prism_plugin_folders_from (const char *built_in, const char *replacement, const char *in_front)
{
  g_autoptr (GPtrArray) folders = folders_new ();

  if (in_front != NULL)
    {
      g_auto (GStrv) paths = g_strsplit (in_front, ":", -1);

      for (guint i = 0; paths[i] != NULL; i++)
        if (paths[i][0] != '\0')
          add_folder (folders, paths[i], FALSE, TRUE);
    }

  if (replacement == NULL)
    add_folder (folders, built_in, TRUE, FALSE);
  else if (replacement[0] != '\0')
    add_folder (folders, replacement, FALSE, TRUE);

  return g_steal_pointer (&folders);
}

/* The environment counts for nothing in a process that has more rights than
 * the one that started it. Being root is not that: root chose its variables. */
GPtrArray *
prism_plugin_folders (void)
{
  if (getauxval (AT_SECURE) != 0)
    return prism_plugin_folders_from (PRISM_PLUGINSDIR, NULL, NULL);

  return prism_plugin_folders_from (PRISM_PLUGINSDIR, g_getenv ("PRISM_PLUGIN_DIR"), g_getenv ("PRISM_PLUGIN_PATH"));
}

GPtrArray *
prism_plugin_folders_exactly (const char *const *paths)
{
  g_autoptr (GPtrArray) folders = folders_new ();

  for (guint i = 0; paths[i] != NULL; i++)
    add_folder (folders, paths[i], g_str_equal (paths[i], PRISM_PLUGINSDIR), TRUE);

  return g_steal_pointer (&folders);
}

/* @unmapped: the file's owner has no number in this user namespace. In an
 * application container that is how root's files look; there the built-in
 * folder came with this library, and is no less trusted than it. */
gboolean
prism_plugin_owner_is_trusted (guint owner, guint caller, gboolean unmapped, gboolean unmapped_is_fine)
{
  if (unmapped)
    return unmapped_is_fine;

  return owner == 0 || owner == caller;
}

static gboolean
is_unmapped (uid_t uid)
{
  g_autofree char *overflow = NULL;
  g_autofree char *map = NULL;
  guint64 inside, outside, count;

  if (uid == 0 || !g_file_get_contents ("/proc/sys/kernel/overflowuid", &overflow, NULL, NULL)
      || g_ascii_strtoull (overflow, NULL, 10) != uid || !g_file_get_contents ("/proc/self/uid_map", &map, NULL, NULL))
    return FALSE;

  /* In the initial namespace every number is itself, nobody's too. */
  return !(sscanf (map, "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, &inside, &outside, &count)
               == 3
           && inside == 0 && outside == 0 && count >= G_MAXUINT32);
}

static gboolean
check_owner (const struct stat *st, const char *path, gboolean unmapped_is_fine, GError **error)
{
  uid_t caller = geteuid ();

  if (prism_plugin_owner_is_trusted (st->st_uid, caller, is_unmapped (st->st_uid), unmapped_is_fine))
    return TRUE;

  g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_UNTRUSTED,
               "%s belongs to user %u, who is neither root nor the caller (user %u); plug-ins run with all of the "
               "caller's rights: install it as root, or as yourself",
               path, (guint)st->st_uid, (guint)caller);
  return FALSE;
}

static gboolean
check_mode (const struct stat *st, const char *path, GError **error)
{
  if ((st->st_mode & (S_IWGRP | S_IWOTH)) == 0)
    return TRUE;

  g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_UNTRUSTED,
               "%s can be written by %s (mode %04o); make it its owner's alone: chmod go-w %s", path,
               (st->st_mode & S_IWOTH) ? "everybody" : "its whole group", (guint)st->st_mode & 07777, path);
  return FALSE;
}

/* The real path of an open folder, or of the one that is @up above it. */
static char *
dup_path (int fd, guint up)
{
  g_autofree char *link = g_strdup_printf ("/proc/self/fd/%d", fd);
  char *path = g_file_read_link (link, NULL);

  for (; path != NULL && path[0] == '/' && up > 0; up--)
    {
      char *slash = strrchr (path, '/');
      slash[slash == path ? 1 : 0] = '\0';
    }
  return path;
}

static gboolean
check_above (const struct stat *st, int fd, guint up, const PrismPluginFolder *folder, GError **error)
{
  g_autofree char *path = NULL;

  if ((st->st_mode & S_IWOTH) == 0 || (st->st_mode & S_ISVTX) != 0)
    return TRUE;

  path = dup_path (fd, up);
  g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_UNTRUSTED,
               "%s, above the plug-in folder %s, can be written by everybody (mode %04o), who could put another folder "
               "in its place: chmod o-w %s",
               path, folder->path, (guint)st->st_mode & 07777, path);
  return FALSE;
}

static gboolean
is_same (const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* All that are above it, as far as the root, which is above itself. A folder that is mounted
 * within itself may look as if it were, but is not the root; what is not below the root has a
 * way up that does not end. */
static gboolean
check_all_above (
    int fd, const struct stat *own, const PrismPluginFolder *folder, PrismPluginAbove *above, GError **error)
{
  g_autoptr (GString) path = g_string_new ("..");
  struct stat root = { 0 }, st, below = *own, first;
  guint up = 1;

  (void)stat ("/", &root);
  for (; fstatat (fd, path->str, &st, AT_SYMLINK_NOFOLLOW) == 0; up++, below = st, g_string_append (path, "/.."))
    {
      if (up == 1)
        first = st;
      if (up == 1 && above->known && is_same (&st, &above->folder))
        return TRUE;
      if (is_same (&st, &below) && is_same (&st, &root))
        {
          above->known = TRUE;
          above->folder = first;
          return TRUE;
        }
      if (!check_above (&st, fd, up, folder, error))
        return FALSE;
    }
  g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_UNTRUSTED, "what is above the plug-in folder %s: %s",
               folder->path, g_strerror (errno));
  return FALSE;
}

/* A regular file, opened, in a folder that was checked. */
gboolean
prism_plugin_check_file (int fd, const char *path, const PrismPluginFolder *folder, GError **error)
{
  struct stat st;

  if (fstat (fd, &st) != 0)
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_UNTRUSTED, "%s: %s", path, g_strerror (errno));
      return FALSE;
    }
  if (!S_ISREG (st.st_mode))
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_UNTRUSTED, "%s is not a regular file", path);
      return FALSE;
    }

  return check_owner (&st, path, folder->built_in, error) && check_mode (&st, path, error);
}

/* The folder itself, opened, and those above it. */
gboolean
prism_plugin_check_folder (int fd, const PrismPluginFolder *folder, PrismPluginAbove *above, GError **error)
{
  struct stat st;

  if (fstat (fd, &st) != 0)
    {
      g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_UNTRUSTED, "the folder %s cannot be examined",
                   folder->path);
      return FALSE;
    }
  return check_owner (&st, folder->path, folder->built_in, error) && check_mode (&st, folder->path, error)
         && check_all_above (fd, &st, folder, above, error);
}
