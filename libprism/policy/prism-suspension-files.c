/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TRUST: whoever can write in the folder can answer. So it belongs to the caller or to root, nobody
 * else may write there, and no link in it is followed. What its files say is read with bounds
 * all the same. */
#include "prism-suspension-files-private.h"

#include "prism-fd-private.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Of a folder: more than anything of ours leaves there. */
#define MAX_NAMES 100000

void (*prism_suspension_step) (const char *step);

static const char *const suffixes[PRISM_SUSPENSION_N_PARTS] = { ".asked", ".answer", ".begun", ".end" };

static void
step (const char *name)
{
  if (prism_suspension_step != NULL)
    prism_suspension_step (name);
}

static gboolean
fail (GError **error, const char *what, const char *name)
{
  int number = errno;

  g_set_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_FAILED, "suspensions: %s %s: %s", what, name,
               g_strerror (number));
  return FALSE;
}

int
prism_suspension_folder_open (const char *path, gboolean make, GError **error)
{
  prism_autofd int fd = -1;
  struct stat st;

  if (make && g_mkdir_with_parents (path, 0700) != 0)
    {
      fail (error, "making the folder", path);
      return -1;
    }
  fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT && !make)
    return -1;
  if (fd < 0 || fstat (fd, &st) != 0)
    {
      fail (error, "opening the folder", path);
      return -1;
    }
  if ((st.st_uid != geteuid () && st.st_uid != 0) || (st.st_mode & 022) != 0)
    {
      g_set_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_UNSAFE,
                   "suspensions: %s can be written by others, who could answer there: make it your own, with mode 0700",
                   path);
      return -1;
    }
  return g_steal_fd (&fd);
}

/* 32 digits of the binding, a dash, and which of that binding it is. */
gboolean
prism_suspension_is_id (const char *id)
{
  gsize digits = strspn (id, "0123456789abcdef"), number;

  if (digits != PRISM_SUSPENSION_BINDING || id[digits] != '-')
    return FALSE;
  number = strspn (id + digits + 1, "0123456789");
  return number > 0 && number <= 6 && id[digits + 1 + number] == '\0';
}

static gboolean
write_whole (int fd, const char *text)
{
  gsize left = strlen (text);

  while (left > 0)
    {
      gssize n = write (fd, text, left);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return FALSE;
      text += n;
      left -= (gsize)n;
    }
  return fsync (fd) == 0;
}

/* Under its name, if that is free: in one step, or with a second name for a moment where the
 * filesystem knows no such step. */
static int
take_name (int folder, const char *fresh, const char *name)
{
  if (renameat2 (folder, fresh, folder, name, RENAME_NOREPLACE) == 0)
    return 0;
  if (errno != EINVAL && errno != ENOSYS)
    return -1;
  if (linkat (folder, fresh, folder, name, 0) != 0)
    return -1;
  (void)unlinkat (folder, fresh, 0);
  return 0;
}

gboolean
prism_suspension_put (int folder, const char *id, PrismSuspensionPart part, const char *text, GError **error)
{
  g_autofree char *random = g_uuid_string_random ();
  g_autofree char *fresh = g_strconcat (".new-", random, NULL);
  g_autofree char *name = g_strconcat (id, suffixes[part], NULL);
  prism_autofd int fd = -1;

  if (strlen (text) > PRISM_SUSPENSION_MAX_BYTES)
    {
      g_set_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_LIMIT, "suspensions: %s is more than %d bytes", name,
                   PRISM_SUSPENSION_MAX_BYTES);
      return FALSE;
    }
  step ("create");
  fd = openat (folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return fail (error, "making", name);
  step ("write");
  if (!write_whole (fd, text))
    {
      fail (error, "writing", name);
      (void)unlinkat (folder, fresh, 0);
      return FALSE;
    }
  step ("name");
  if (take_name (folder, fresh, name) != 0)
    {
      gboolean taken = errno == EEXIST;

      if (!taken)
        fail (error, "naming", name);
      (void)unlinkat (folder, fresh, 0);
      return FALSE;
    }
  step ("sync");
  if (fsync (folder) != 0)
    return fail (error, "keeping", name);
  step ("put");
  return TRUE;
}

static char *
read_whole (int fd, const char *name, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  char buffer[16384];

  for (;;)
    {
      gssize n = read (fd, buffer, sizeof buffer);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        {
          fail (error, "reading", name);
          return NULL;
        }
      if (n == 0)
        return g_string_free (g_steal_pointer (&text), FALSE);
      g_string_append_len (text, buffer, n);
      if (text->len > PRISM_SUSPENSION_MAX_BYTES)
        {
          g_set_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_LIMIT, "suspensions: %s is more than %d bytes",
                       name, PRISM_SUSPENSION_MAX_BYTES);
          return NULL;
        }
    }
}

char *
prism_suspension_get (int folder, const char *id, PrismSuspensionPart part, GError **error)
{
  g_autofree char *name = g_strconcat (id, suffixes[part], NULL);
  prism_autofd int fd = openat (folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat st;

  if (fd < 0 && errno == ENOENT)
    return NULL;
  if (fd < 0 || fstat (fd, &st) != 0)
    {
      fail (error, "opening", name);
      return NULL;
    }
  if (!S_ISREG (st.st_mode) || (st.st_uid != geteuid () && st.st_uid != 0))
    {
      g_set_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_UNSAFE, "suspensions: %s is no file of your own",
                   name);
      return NULL;
    }
  return read_whole (fd, name, error);
}

/* NULL: it is a part of nothing. */
static char *
id_of (const char *name)
{
  for (guint i = 0; i < PRISM_SUSPENSION_N_PARTS; i++)
    if (g_str_has_suffix (name, suffixes[i]))
      {
        g_autofree char *id = g_strndup (name, strlen (name) - strlen (suffixes[i]));

        return prism_suspension_is_id (id) ? g_steal_pointer (&id) : NULL;
      }
  return NULL;
}

static int
compare (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

GPtrArray *
prism_suspension_scan (int folder, GError **error)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray) ids = g_ptr_array_new_with_free_func (g_free);
  int fd = openat (folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd >= 0 ? fdopendir (fd) : NULL;
  GHashTableIter iter;
  struct dirent *entry;
  gpointer key;
  guint names = 0;

  if (dir == NULL)
    {
      fail (error, "reading", "the folder");
      prism_clear_fd (&fd);
      return NULL;
    }
  while ((entry = readdir (dir)) != NULL && names++ < MAX_NAMES)
    {
      char *id = id_of (entry->d_name);

      if (id != NULL)
        g_hash_table_add (seen, id);
    }
  (void)closedir (dir);
  g_hash_table_iter_init (&iter, seen);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    g_ptr_array_add (ids, g_strdup (key));
  g_ptr_array_sort (ids, compare);
  return g_steal_pointer (&ids);
}

/* The answer first: what is half gone allows nothing. */
gboolean
prism_suspension_drop (int folder, const char *id, GError **error)
{
  static const PrismSuspensionPart order[] = { PRISM_SUSPENSION_ANSWER, PRISM_SUSPENSION_ASKED, PRISM_SUSPENSION_BEGUN,
                                               PRISM_SUSPENSION_END };

  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    {
      g_autofree char *name = g_strconcat (id, suffixes[order[i]], NULL);

      step ("drop");
      if (unlinkat (folder, name, 0) != 0 && errno != ENOENT)
        return fail (error, "removing", name);
      /* That it began must not be forgotten before the yes is. */
      if (order[i] == PRISM_SUSPENSION_ANSWER && fsync (folder) != 0)
        return fail (error, "removing", name);
    }
  return TRUE;
}
