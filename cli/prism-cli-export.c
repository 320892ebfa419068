/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --export: the workspace as a tar file, whole or not at all. The file has no
 * name until it is complete, so that a prism that is killed leaves nothing. Whether
 * there can be one is looked at before there is anything that could be lost. */
#include "prism-cli-export.h"

#include "prism-cli-progress.h"
#include "prism-cli.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixoutputstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct
{
  const char *path; /* what was asked for */
  char *place;      /* where links in that lead */
  char *folder;
  char *temporary; /* its name, where the file system has no nameless files */
  int fd;
} Target;

static void
target_clear (Target *target)
{
  if (target->temporary != NULL)
    (void)unlink (target->temporary);
  if (target->fd >= 0)
    (void)close (target->fd);
  g_free (target->place);
  g_free (target->folder);
  g_free (target->temporary);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Target, target_clear)

static gboolean
fail (GError **error, const char *path, int code)
{
  g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (code), _ ("writing %s: %s"), path, g_strerror (code));
  return FALSE;
}

/* What is renamed to its place takes the place of whatever is there: of a file that is
 * meant, of a device or a pipe it must not. As root /dev/null would be a file from then
 * on, for the whole machine. */
static gboolean
target_find (Target *self, GError **error)
{
  struct stat info;

  if (self->path[0] == '\0')
    return prism_cli_bad_value (error, _ ("--export: an empty path names no file"));
  if (stat (self->path, &info) != 0)
    {
      int code = errno;

      if (code != ENOENT || lstat (self->path, &info) == 0)
        return fail (error, self->path, code);
      self->place = g_strdup (self->path);
      return TRUE;
    }
  if (S_ISDIR (info.st_mode))
    return fail (error, self->path, EISDIR);
  if (!S_ISREG (info.st_mode))
    return prism_cli_bad_value (error,
                                _ ("--export %s: it is there and no ordinary file, and would be replaced by one; "
                                   "name another"),
                                self->path);
  self->place = realpath (self->path, NULL);

  return self->place != NULL || fail (error, self->path, errno);
}

static gboolean
target_open (Target *self, GError **error)
{
  if (!target_find (self, error))
    return FALSE;
  self->folder = g_path_get_dirname (self->place);

  self->fd = open (self->folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (self->fd >= 0)
    return TRUE;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
    return fail (error, self->path, errno);

  self->temporary = g_strdup_printf ("%s/.prism-export-XXXXXX", self->folder);
  self->fd = g_mkstemp_full (self->temporary, O_WRONLY | O_CLOEXEC, 0666);
  if (self->fd < 0)
    {
      int code = errno;

      g_clear_pointer (&self->temporary, g_free);
      return fail (error, self->path, code);
    }

  return TRUE;
}

/* Gives a nameless file a name of its own beside the target, to be renamed. */
static gboolean
target_link (Target *self, GError **error)
{
  g_autofree char *source = g_strdup_printf ("/proc/self/fd/%d", self->fd);

  for (guint i = 0; i < 100; i++)
    {
      g_autofree char *name = g_strdup_printf ("%s/.prism-export-%08x", self->folder, g_random_int ());

      if (linkat (AT_FDCWD, source, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0)
        {
          self->temporary = g_steal_pointer (&name);
          return TRUE;
        }
      if (errno != EEXIST)
        break;
    }

  return fail (error, self->path, errno);
}

static gboolean
target_commit (Target *self, GError **error)
{
  if (self->temporary == NULL && !target_link (self, error))
    return FALSE;
  if (rename (self->temporary, self->place) != 0)
    return fail (error, self->path, errno);

  g_clear_pointer (&self->temporary, g_free);
  return TRUE;
}

/* Before a sandbox is made: a command may run for hours, and what it made would go with
 * its sandbox. */
gboolean
prism_cli_export_check (const char *path, GError **error)
{
  g_auto (Target) target = { .path = path, .fd = -1 };

  return target_open (&target, error);
}

PrismTreeIdentity *
prism_cli_export (PrismSandbox *sandbox, const char *path, gboolean quiet, GCancellable *cancellable, GError **error)
{
  g_auto (Target) target = { .path = path, .fd = -1 };
  g_autofree char *workspace = prism_sandbox_dup_workspace (sandbox);
  g_autoptr (PrismTreeIdentity) identity = NULL;
  g_autoptr (GOutputStream) file = NULL;
  g_autoptr (GOutputStream) counted = NULL;

  if (!target_open (&target, error))
    return NULL;

  file = g_unix_output_stream_new (target.fd, FALSE);
  counted = prism_cli_progress_stream_new (file, _ ("exporting"), quiet);
  identity = prism_sandbox_export_tree (sandbox, workspace, counted, cancellable, error);
  prism_cli_progress_done ();
  if (identity == NULL)
    {
      g_prefix_error (error, _ ("exporting to %s: "), path);
      return NULL;
    }
  if (!g_output_stream_flush (counted, NULL, error) || !target_commit (&target, error))
    return NULL;

  return g_steal_pointer (&identity);
}

void
prism_cli_export_explain (const PrismTreeIdentity *identity, const char *path)
{
  g_autofree char *entries = g_strdup_printf ("%" G_GUINT64_FORMAT, prism_tree_identity_get_entries (identity));
  g_autofree char *bytes = g_strdup_printf ("%" G_GUINT64_FORMAT, prism_tree_identity_get_bytes (identity));

  prism_cli_message (_ ("exported %s: sha256 %s, %s entries, %s bytes"), path,
                     prism_tree_identity_get_sha256 (identity), entries, bytes);
}
