/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The same literal search as the agent's, on the host: depth first, names by byte value, no
 * link followed, nothing opened that is no regular file, binary files left out. */
#include "prism-host-tree-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_DEPTH  256
#define MAX_UNREAD 64
#define MAX_TEXT   1024
#define MAX_FOUND  (64u * 1024u * 1024u)
#define BINARY     8192

typedef struct
{
  const PrismTreeQuery *query;
  PrismTreeFound *found;
  GCancellable *cancellable;
  GString *path;
  GByteArray *lines;
  char *needle;
  gsize size;
  GByteArray *text, *folded;
  gint64 matches, ends;
  guint unread;
  gboolean late;
} Search;

static gboolean
is_full (Search *self)
{
  if (self->ends > 0 && g_get_monotonic_time () > self->ends)
    self->late = TRUE;
  return self->late || self->found->cut == 2 || self->matches >= self->query->max_matches
         || self->lines->len > MAX_FOUND || g_cancellable_is_cancelled (self->cancellable);
}

static void
add_record (Search *self, guint64 line, gsize column, const char *text, gsize size)
{
  char numbers[64];
  int n = g_snprintf (numbers, sizeof numbers, "%" G_GUINT64_FORMAT "%c%" G_GSIZE_FORMAT, line, 0, column);

  g_byte_array_append (self->lines, (const guint8 *)self->path->str, (guint)self->path->len + 1);
  g_byte_array_append (self->lines, (const guint8 *)numbers, (guint)n + 1);
  g_byte_array_append (self->lines, (const guint8 *)text, (guint)size);
  g_byte_array_append (self->lines, (const guint8 *)"\n", 1);
}

static void
add_unread (Search *self, const char *why)
{
  if (self->unread == MAX_UNREAD)
    return;
  if (++self->unread == MAX_UNREAD)
    why = "this and more could not be read";
  add_record (self, 0, 0, why, strlen (why));
}

static void
note_unread (Search *self, int number)
{
  if (number != ENOENT && number != ELOOP && number != ENOTDIR)
    add_unread (self, g_strerror (number));
}

/* --- one file ------------------------------------------------------------------------------ */

typedef struct
{
  const char *at; /* after the last line that was told */
  guint64 line;   /* that line's number */
  guint after;
} Around;

static const char *
line_end (const char *at, const char *end)
{
  const char *stop = memchr (at, '\n', (gsize)(end - at));

  return stop != NULL ? stop : end;
}

static void
add_context (Search *self, guint64 line, const char *at, const char *stop)
{
  add_record (self, line, 0, at, MIN ((gsize)(stop - at), MAX_TEXT));
}

static void
add_after (Search *self, Around *around, const char *until, const char *end)
{
  for (; around->after > 0 && around->at < until; around->after--)
    {
      const char *stop = line_end (around->at, end);
      add_context (self, ++around->line, around->at, stop);
      around->at = stop + (stop < end);
    }
}

static void
add_before (Search *self, const Around *around, guint64 line, const char *start, const char *end)
{
  const char *from = start;
  guint lines = 0;

  for (; lines < self->query->context && from > around->at; lines++)
    for (from--; from > around->at && from[-1] != '\n';)
      from--;
  for (; lines > 0; lines--)
    {
      const char *stop = line_end (from, end);
      add_context (self, line - lines, from, stop);
      from = stop + 1;
    }
}

static void
add_match (Search *self, guint64 line, const char *start, const char *match, const char *stop)
{
  gsize column = (gsize)(match - start) + 1, size = (gsize)(stop - start);

  if (size > MAX_TEXT)
    {
      if (column + self->size > MAX_TEXT)
        start = match - MAX_TEXT / 4;
      size = MIN ((gsize)(stop - start), MAX_TEXT);
    }
  add_record (self, line, column, start, size);
  self->matches++;
}

static const char *
fold (Search *self, const char *text, gsize size)
{
  if (!self->query->ignore_case)
    return text;
  g_byte_array_set_size (self->folded, (guint)size + 1);
  for (gsize i = 0; i < size; i++)
    self->folded->data[i] = (guint8)g_ascii_tolower (text[i]);
  return (const char *)self->folded->data;
}

static void
search_text (Search *self, const char *text, gsize size)
{
  const char *hay = fold (self, text, size), *end = text + size, *counted = text, *match;
  Around around = { .at = text };
  guint64 line = 1;

  for (const char *at = hay;
       !is_full (self) && (match = memmem (at, (gsize)(hay + size - at), self->needle, self->size)) != NULL;)
    {
      const char *here = text + (match - hay);
      const char *before = memrchr (text, '\n', (gsize)(here - text));
      const char *start = before != NULL ? before + 1 : text, *stop = line_end (here, end);

      for (; counted < start; counted++)
        line += *counted == '\n';
      if (self->query->line_bytes > 0 && stop - start > self->query->line_bytes)
        self->found->long_lines++;
      else
        {
          if (self->query->context > 0)
            {
              add_after (self, &around, start, end);
              add_before (self, &around, line, start, end);
            }
          add_match (self, line, start, here, stop);
          around = (Around){ stop + (stop < end), line, self->query->context };
        }
      if (stop == end)
        break;
      at = hay + (stop - text) + 1;
    }
  add_after (self, &around, end, end);
}

/* False: it is not to be searched, and that was counted. */
static gboolean
read_text (Search *self, int fd)
{
  gint64 most = self->query->file_bytes;
  struct stat s;
  gsize have = 0;
  ssize_t n;

  if (fstat (fd, &s) != 0)
    return FALSE;
  g_byte_array_set_size (self->text, (guint)CLAMP (s.st_size, 4096, 1 << 20) + 1);
  while ((n = read (fd, self->text->data + have, self->text->len - have)) != 0)
    {
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        {
          note_unread (self, errno);
          return FALSE;
        }
      have += (gsize)n;
      self->found->bytes += n;
      if (self->query->scan_bytes > 0 && self->found->bytes > self->query->scan_bytes)
        self->found->cut = 2;
      if (memchr (self->text->data, 0, MIN (have, BINARY)) != NULL)
        {
          self->found->binary++;
          return FALSE;
        }
      if (most > 0 && ((gint64)have > most || s.st_size > most))
        {
          self->found->large++;
          return FALSE;
        }
      if (self->found->cut == 2)
        return FALSE;
      if (have == self->text->len)
        g_byte_array_set_size (self->text, MIN (self->text->len * 2, MAX_FOUND * 2));
    }
  g_byte_array_set_size (self->text, (guint)have);
  return TRUE;
}

/* Takes @fd. */
static void
search_file (Search *self, int fd)
{
  self->found->files++;
  if (read_text (self, fd) && self->text->len > 0)
    search_text (self, (const char *)self->text->data, self->text->len);
  close (fd);
}

/* --- the walk -------------------------------------------------------------------------------- */

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

static gboolean
is_left_out (const Search *self, const char *name)
{
  return (name[0] == '.' && !self->query->hidden) || g_str_equal (name, ".git") || g_str_equal (name, "node_modules")
         || g_str_equal (name, "dist");
}

/* Each name with its type in front. */
static GPtrArray *
read_names (Search *self, DIR *folder)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  const struct dirent *item;

  while ((item = readdir (folder)) != NULL)
    if (!g_str_equal (item->d_name, ".") && !g_str_equal (item->d_name, ".."))
      {
        if (item->d_name[0] != '.' || self->query->hidden)
          self->found->entries++;
        if (!is_left_out (self, item->d_name))
          g_ptr_array_add (names, g_strdup (item->d_name));
      }
  g_ptr_array_sort (names, compare_names);
  return names;
}

static void search_folder (Search *self, int fd, guint depth);

static void
search_name (Search *self, int folder, const char *name, guint depth)
{
  gsize length = self->path->len;
  struct stat s;
  int fd;

  if (fstatat (folder, name, &s, AT_SYMLINK_NOFOLLOW) != 0 || (!S_ISREG (s.st_mode) && !S_ISDIR (s.st_mode)))
    return;
  g_string_append_printf (self->path, "%s%s", length > 0 ? "/" : "", name);
  fd = openat (folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0)
    note_unread (self, errno);
  else if (S_ISDIR (s.st_mode))
    search_folder (self, fd, depth + 1);
  else if (fstat (fd, &s) == 0 && S_ISREG (s.st_mode))
    search_file (self, fd);
  else
    close (fd);
  g_string_truncate (self->path, length);
}

/* Takes @fd. */
static void
search_folder (Search *self, int fd, guint depth)
{
  DIR *folder = depth <= MAX_DEPTH ? fdopendir (fd) : NULL;
  g_autoptr (GPtrArray) names = NULL;

  if (folder == NULL)
    {
      add_unread (self, depth > MAX_DEPTH ? "too many folders in folders" : g_strerror (errno));
      close (fd);
      return;
    }
  names = read_names (self, folder);
  for (guint i = 0; i < names->len && !is_full (self); i++)
    search_name (self, fd, names->pdata[i], depth);
  closedir (folder);
}

gboolean
prism_host_search (int fd,
                   const char *name,
                   const PrismTreeQuery *query,
                   PrismTreeFound *found,
                   GCancellable *cancellable,
                   GError **error)
{
  Search self = { .query = query, .found = found, .cancellable = cancellable };

  self.path = g_string_new (name);
  self.lines = g_byte_array_new ();
  self.text = g_byte_array_new ();
  self.folded = g_byte_array_new ();
  self.needle = query->ignore_case ? g_ascii_strdown (query->query, -1) : g_strdup (query->query);
  self.size = strlen (self.needle);
  self.ends = query->timeout_ms > 0 ? g_get_monotonic_time () + query->timeout_ms * 1000 : 0;
  *found = (PrismTreeFound){ .entries = name != NULL };
  if (name != NULL)
    search_file (&self, fd);
  else
    search_folder (&self, fd, 1);
  if (found->cut == 0 && self.matches >= query->max_matches)
    found->cut = 1;
  found->lines = g_byte_array_free_to_bytes (self.lines);
  g_string_free (self.path, TRUE);
  g_byte_array_unref (self.text);
  g_byte_array_unref (self.folded);
  g_free (self.needle);
  if (!self.late && !g_cancellable_is_cancelled (cancellable))
    return TRUE;
  prism_tree_found_clear (found);
  g_set_error (error, PRISM_TREE_FAULT, self.late ? PRISM_TREE_FAULT_LIMIT : PRISM_TREE_FAULT_CANCELLED, "%s",
               self.late ? "the search took longer than it may" : "cancelled");
  return FALSE;
}
