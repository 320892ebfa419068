/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All is looked for in the text as it was, with its line ends as LF; what is found is then
 * replaced in the bytes. Time is linear in the file for each edit. */
#include "prism-text-edit-private.h"

#include <string.h>

#define MOST_COUNT 1000
#define MOST_NEAR  3
#define MOST_LINE  160
#define CONTEXT    4
#define BOM        "\357\273\277"

typedef struct
{
  gsize start, end;     /* in the text with LF */
  gsize from, to;       /* in the bytes */
  const char *old_text; /* owned: with LF */
  char *new_text;       /* with LF */
  guint edit;
} Match;

typedef struct
{
  const char *bytes;
  gsize size, bom;
  char *text; /* after the mark, with LF */
  gsize length;
  gboolean cr_only;
} Source;

static void
match_clear (gpointer data)
{
  Match *match = data;

  g_free ((char *)match->old_text);
  g_free (match->new_text);
}

/* --- line ends ---------------------------------------------------------------------------- */

/* CR LF becomes LF; a CR alone does only where the text has no LF at all. */
static char *
with_feeds (const char *text, gsize size, gboolean cr_only, gsize *length)
{
  char *plain = g_malloc (size + 1);
  gsize at = 0;

  for (gsize i = 0; i < size; i++)
    if (text[i] == '\r' && (cr_only || (i + 1 < size && text[i + 1] == '\n')))
      {
        if (cr_only)
          plain[at++] = '\n';
      }
    else
      plain[at++] = text[i];
  plain[at] = '\0';
  *length = at;
  return plain;
}

/* Edits in a file of CR LF may be written with either. */
static char *
plain_of (const char *text, const Source *source)
{
  gsize length;

  return with_feeds (text, strlen (text), source->cr_only && strchr (text, '\n') == NULL, &length);
}

static const char *
not_a_text (const char *bytes, gsize size)
{
  if (size >= 2 && (memcmp (bytes, "\377\376", 2) == 0 || memcmp (bytes, "\376\377", 2) == 0))
    return "it is UTF-16";
  if (memchr (bytes, 0, size) != NULL)
    return "it has NUL bytes: it is binary";
  if (!g_utf8_validate_len (bytes, size, NULL))
    return "it is not UTF-8";
  return NULL;
}

/* --- finding -------------------------------------------------------------------------------- */

static guint
count_matches (const char *text, gsize length, const char *wanted, gsize size, gsize *first)
{
  const char *end = text + length;
  guint count = 0;

  for (const char *at = text; count < MOST_COUNT; at++)
    {
      at = memmem (at, (gsize)(end - at), wanted, size);
      if (at == NULL)
        break;
      if (count++ == 0)
        *first = (gsize)(at - text);
    }
  return count;
}

/* What the eye does not tell apart. */
static gunichar
fold_character (gunichar c)
{
  if (c == 0x2018 || c == 0x2019 || c == 0x201a || c == 0x201b)
    return '\'';
  if (c == 0x201c || c == 0x201d || c == 0x201e || c == 0x201f)
    return '"';
  if ((c >= 0x2010 && c <= 0x2015) || c == 0x2212)
    return '-';
  if (c >= 0x80 && g_unichar_type (c) == G_UNICODE_SPACE_SEPARATOR)
    return ' ';
  return c;
}

static char *
fold_line (const char *line, gsize size)
{
  g_autofree char *normal = g_utf8_normalize (line, (gssize)size, G_NORMALIZE_ALL_COMPOSE);
  GString *folded = g_string_new (NULL);

  for (const char *p = normal; p != NULL && *p != '\0'; p = g_utf8_next_char (p))
    g_string_append_unichar (folded, fold_character (g_utf8_get_char (p)));
  while (folded->len > 0 && (folded->str[folded->len - 1] == ' ' || folded->str[folded->len - 1] == '\t'))
    g_string_truncate (folded, folded->len - 1);
  return g_string_free (folded, FALSE);
}

typedef struct
{
  GPtrArray *folded;
  GArray *starts; /* gsize; one more than lines: the end */
} Lines;

static void
split_lines (const char *text, gsize length, Lines *lines)
{
  gsize at = 0;

  lines->folded = g_ptr_array_new_with_free_func (g_free);
  lines->starts = g_array_new (FALSE, FALSE, sizeof (gsize));
  while (at < length)
    {
      const char *feed = memchr (text + at, '\n', length - at);
      gsize size = feed != NULL ? (gsize)(feed - text) - at : length - at;
      g_array_append_val (lines->starts, at);
      g_ptr_array_add (lines->folded, fold_line (text + at, size));
      at += size + (feed != NULL);
    }
  g_array_append_val (lines->starts, length);
}

static void
lines_clear (Lines *lines)
{
  g_ptr_array_unref (lines->folded);
  g_array_unref (lines->starts);
}

/* Whole lines, compared as the eye does. */
static guint
count_folded (const Lines *hay, const Lines *wanted, gsize *start, gsize *end)
{
  guint n = wanted->folded->len, count = 0;

  for (guint i = 0; n > 0 && i + n <= hay->folded->len && count < MOST_COUNT; i++)
    {
      guint k = 0;
      while (k < n && g_str_equal (hay->folded->pdata[i + k], wanted->folded->pdata[k]))
        k++;
      if (k < n || count++ > 0)
        continue;
      *start = g_array_index (hay->starts, gsize, i);
      *end = g_array_index (hay->starts, gsize, i + n);
    }
  return count;
}

/* --- what was not found ------------------------------------------------------------------------ */

static gsize
alike (const char *line, gsize size, const char *wanted, gsize wanted_size)
{
  gsize n = 0;

  while (size > 0 && g_ascii_isspace (*line))
    {
      line++;
      size--;
    }
  while (n < size && n < wanted_size && line[n] == wanted[n])
    n++;
  return n;
}

/* Up to three lines that begin most like the first line of what was wanted. */
static char *
near_lines (const Source *source, const char *old_text)
{
  const char *wanted = old_text + strspn (old_text, " \t\n");
  gsize wanted_size = strcspn (wanted, "\n"), scores[MOST_NEAR] = { 0 }, starts[MOST_NEAR] = { 0 };
  guint64 numbers[MOST_NEAR] = { 0 }, number = 0;
  g_autoptr (GString) text = g_string_new (NULL);

  for (gsize at = 0; at < source->length; number++)
    {
      const char *feed = memchr (source->text + at, '\n', source->length - at);
      gsize size = feed != NULL ? (gsize)(feed - source->text) - at : source->length - at;
      gsize score = alike (source->text + at, size, wanted, wanted_size);
      gsize least = 0;

      for (gsize i = 1; i < MOST_NEAR; i++)
        if (scores[i] < scores[least])
          least = i;
      if (score > scores[least] && score >= MIN (wanted_size, 4))
        {
          scores[least] = score;
          starts[least] = at;
          numbers[least] = number + 1;
        }
      at += size + 1;
    }
  for (guint64 next = 1, last = 0; next != last;)
    {
      guint best = MOST_NEAR;
      for (guint i = 0; i < MOST_NEAR; i++)
        if (numbers[i] > 0 && (best == MOST_NEAR || numbers[i] < numbers[best]))
          best = i;
      last = next;
      if (best == MOST_NEAR)
        break;
      next = numbers[best] + 1;
      {
        const char *line = source->text + starts[best];
        gsize size = MIN (strcspn (line, "\n"), MOST_LINE);
        g_autofree char *valid = g_utf8_make_valid (line, (gssize)size);
        g_string_append_printf (text, "\n%" G_GUINT64_FORMAT ": %s", numbers[best], valid);
      }
      numbers[best] = 0;
      last = 0;
    }
  return text->len > 0 ? g_string_free (g_steal_pointer (&text), FALSE) : NULL;
}

/* --- from text to bytes --------------------------------------------------------------------------- */

static gint
compare_matches (gconstpointer a, gconstpointer b)
{
  const Match *first = a, *second = b;

  return first->start < second->start ? -1 : first->start > second->start;
}

/* Where in the bytes the matches' ends are: one pass, as they are sorted. */
static void
place_matches (const Source *source, GArray *matches)
{
  gsize at = source->bom, text = 0;

  for (guint i = 0; i < matches->len; i++)
    {
      Match *match = &g_array_index (matches, Match, i);
      gsize *const wanted[] = { &match->start, &match->end }, *const place[] = { &match->from, &match->to };

      for (guint k = 0; k < 2; k++)
        {
          while (text < *wanted[k])
            {
              if (!source->cr_only && source->bytes[at] == '\r' && at + 1 < source->size
                  && source->bytes[at + 1] == '\n')
                at++;
              at++;
              text++;
            }
          *place[k] = at;
        }
    }
}

/* How lines end where it is: in what is replaced, else in the line that it is in or before it. */
static const char *
line_end_at (const Source *source, const Match *match)
{
  const char *feed = memchr (source->bytes + match->from, '\n', source->size - match->from);

  if (source->cr_only)
    return "\r";
  if (feed == NULL)
    feed = memrchr (source->bytes, '\n', match->from);
  return feed != NULL && feed > source->bytes && feed[-1] == '\r' ? "\r\n" : "\n";
}

static void
append_with_ends (GByteArray *out, const char *text, const char *end)
{
  while (*text != '\0')
    {
      gsize n = strcspn (text, "\n");
      g_byte_array_append (out, (const guint8 *)text, (guint)n);
      if (text[n] == '\n')
        g_byte_array_append (out, (const guint8 *)end, (guint)strlen (end));
      text += n + (text[n] == '\n');
    }
}

static GBytes *
replace_bytes (const Source *source, GArray *matches)
{
  GByteArray *out = g_byte_array_sized_new ((guint)source->size + 64);
  gsize at = 0;

  for (guint i = 0; i < matches->len; i++)
    {
      const Match *match = &g_array_index (matches, Match, i);
      g_byte_array_append (out, (const guint8 *)source->bytes + at, (guint)(match->from - at));
      append_with_ends (out, match->new_text, line_end_at (source, match));
      at = match->to;
    }
  g_byte_array_append (out, (const guint8 *)source->bytes + at, (guint)(source->size - at));
  return g_byte_array_free_to_bytes (out);
}

/* --- showing what changed ------------------------------------------------------------------------------ */

typedef struct
{
  GString *diff, *patch;
  const Source *source;
  guint64 old_line, new_line; /* of what comes next, from 1 */
} Show;

static void
show_line (Show *self, char mark, const char *line, gsize size)
{
  guint64 number = mark == '+' ? self->new_line : self->old_line;

  g_string_append_printf (self->diff, "%c%6" G_GUINT64_FORMAT "  ", mark, number);
  g_string_append_len (self->diff, line, (gssize)size);
  g_string_append_c (self->diff, '\n');
  g_string_append_c (self->patch, mark);
  g_string_append_len (self->patch, line, (gssize)size);
  g_string_append_c (self->patch, '\n');
  self->old_line += mark != '+';
  self->new_line += mark != '-';
}

static guint64
show_lines (Show *self, char mark, const char *text, gsize size)
{
  guint64 lines = 0;

  for (gsize at = 0; at < size; lines++)
    {
      const char *feed = memchr (text + at, '\n', size - at);
      gsize length = feed != NULL ? (gsize)(feed - text) - at : size - at;
      show_line (self, mark, text + at, length);
      if (feed == NULL)
        g_string_append (self->patch, "\\ No newline at end of file\n");
      at += length + 1;
    }
  return lines;
}

static gsize
line_start (const Source *source, gsize at)
{
  while (at > 0 && source->text[at - 1] != '\n')
    at--;
  return at;
}

static gsize
line_after (const Source *source, gsize at)
{
  const char *feed = at < source->length ? memchr (source->text + at, '\n', source->length - at) : NULL;

  return feed != NULL ? (gsize)(feed - source->text) + 1 : source->length;
}

static gsize
lines_before (const Source *source, gsize at, guint lines, gsize least)
{
  for (; lines > 0 && at > least; lines--)
    at = line_start (source, at - 1);
  return MAX (at, least);
}

static gsize
lines_behind (const Source *source, gsize at, guint lines)
{
  for (; lines > 0 && at < source->length; lines--)
    at = line_after (source, at);
  return at;
}

/* Whole lines that some edits change, and what they become. */
typedef struct
{
  gsize start, end;
  GString *becomes;
} Group;

static guint
next_group (const Source *source, GArray *matches, guint i, Group *group)
{
  const Match *match = &g_array_index (matches, Match, i);
  gsize at;

  group->start = line_start (source, match->start);
  group->end = group->start;
  group->becomes = g_string_new (NULL);
  at = group->start;
  for (; i < matches->len; i++)
    {
      match = &g_array_index (matches, Match, i);
      if (match->start >= group->end && group->end > group->start)
        break;
      g_string_append_len (group->becomes, source->text + at, (gssize)(match->start - at));
      g_string_append (group->becomes, match->new_text);
      at = match->end;
      /* What ends with its line and is replaced by what does, leaves the next line alone. */
      if (match->end > match->start && source->text[match->end - 1] == '\n'
          && (group->becomes->len == 0 || group->becomes->str[group->becomes->len - 1] == '\n'))
        group->end = match->end;
      else
        group->end = line_after (source, match->end);
    }
  g_string_append_len (group->becomes, source->text + at, (gssize)(group->end - at));
  return i;
}

static guint64
count_feeds (const char *text, gsize from, gsize to)
{
  guint64 feeds = 0;

  for (; from < to; from++)
    feeds += text[from] == '\n';
  return feeds;
}

/* One hunk: the groups whose context touches. Answers with the next match. */
static guint
show_hunk (Show *self, GArray *matches, guint i, gsize *told)
{
  const Source *source = self->source;
  gsize hunk = self->patch->len, at;
  guint64 old_first, new_first;
  Group group;

  i = next_group (source, matches, i, &group);
  at = lines_before (source, group.start, CONTEXT, *told);
  self->old_line += count_feeds (source->text, *told, at);
  self->new_line += count_feeds (source->text, *told, at);
  old_first = self->old_line;
  new_first = self->new_line;
  for (;;)
    {
      gsize stop;
      gboolean more;

      show_lines (self, ' ', source->text + at, group.start - at);
      show_lines (self, '-', source->text + group.start, group.end - group.start);
      show_lines (self, '+', group.becomes->str, group.becomes->len);
      g_string_free (group.becomes, TRUE);
      at = group.end;
      stop = lines_behind (source, at, CONTEXT);
      more = i < matches->len && g_array_index (matches, Match, i).start < lines_behind (source, stop, CONTEXT);
      if (!more)
        {
          show_lines (self, ' ', source->text + at, stop - at);
          *told = stop;
          break;
        }
      i = next_group (source, matches, i, &group);
    }
  {
    g_autofree char *head = g_strdup_printf (
        "@@ -%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT " +%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT " @@\n",
        self->old_line > old_first ? old_first : old_first - 1, self->old_line - old_first,
        self->new_line > new_first ? new_first : new_first - 1, self->new_line - new_first);
    g_string_insert (self->patch, (gssize)hunk, head);
  }
  return i;
}

static void
show_changes (const Source *source, GArray *matches, const char *name, PrismTextEdited *edited)
{
  Show show = { g_string_new (NULL), g_string_new (NULL), source, 1, 1 };
  gsize told = 0;

  g_string_append_printf (show.patch, "--- a/%s\n+++ b/%s\n", name, name);
  edited->first_line = 1 + count_feeds (source->text, 0, g_array_index (matches, Match, 0).start);
  for (guint i = 0; i < matches->len;)
    {
      if (show.diff->len > 0)
        g_string_append (show.diff, "...\n");
      i = show_hunk (&show, matches, i, &told);
    }
  edited->diff = g_string_free (show.diff, FALSE);
  edited->patch = g_string_free (show.patch, FALSE);
}

/* --- all of it ---------------------------------------------------------------------------------------------- */

static gboolean
find_match (const Source *source, const PrismTextEdit *edit, gboolean fuzzy, Match *match, PrismTextEdited *edited)
{
  g_autofree char *old_text = plain_of (edit->old_text, source);
  gsize size = strlen (old_text);
  guint count = size > 0 ? count_matches (source->text, source->length, old_text, size, &match->start) : 0;

  if (size == 0)
    {
      edited->outcome = PRISM_TEXT_EDIT_EMPTY;
      return FALSE;
    }
  match->new_text = plain_of (edit->new_text, source);
  match->end = match->start + size;
  if (count == 0 && fuzzy)
    {
      Lines hay, wanted;
      split_lines (source->text, source->length, &hay);
      split_lines (old_text, size, &wanted);
      count = count_folded (&hay, &wanted, &match->start, &match->end);
      lines_clear (&hay);
      lines_clear (&wanted);
      edited->fuzzy |= count == 1;
      /* Whole lines are replaced: they keep their last end. */
      if (count == 1 && match->end > match->start && source->text[match->end - 1] == '\n'
          && !g_str_has_suffix (match->new_text, "\n") && *match->new_text != '\0')
        match->end--;
    }
  if (count == 1)
    {
      match->old_text = g_steal_pointer (&old_text);
      return TRUE;
    }
  g_clear_pointer (&match->new_text, g_free);
  edited->outcome = count == 0 ? PRISM_TEXT_EDIT_NO_MATCH : PRISM_TEXT_EDIT_AMBIGUOUS;
  edited->count = count;
  edited->near = count == 0 ? near_lines (source, old_text) : NULL;
  return FALSE;
}

static gboolean
find_matches (const Source *source,
              const PrismTextEdit *edits,
              guint n_edits,
              gboolean fuzzy,
              GArray *matches,
              PrismTextEdited *edited)
{
  for (guint i = 0; i < n_edits; i++)
    {
      Match match = { .edit = i };
      edited->edit = i;
      if (!find_match (source, &edits[i], fuzzy, &match, edited))
        return FALSE;
      g_array_append_val (matches, match);
    }
  g_array_sort (matches, compare_matches);
  for (guint i = 1; i < matches->len; i++)
    if (g_array_index (matches, Match, i).start < g_array_index (matches, Match, i - 1).end)
      {
        edited->outcome = PRISM_TEXT_EDIT_OVERLAP;
        edited->edit = g_array_index (matches, Match, i).edit;
        edited->other = g_array_index (matches, Match, i - 1).edit;
        return FALSE;
      }
  return TRUE;
}

void
prism_text_edit (
    GBytes *bytes, const PrismTextEdit *edits, guint n_edits, gboolean fuzzy, const char *name, PrismTextEdited *edited)
{
  Source source = { 0 };
  g_autoptr (GArray) matches = g_array_new (FALSE, TRUE, sizeof (Match));

  *edited = (PrismTextEdited){ PRISM_TEXT_EDIT_DONE };
  g_array_set_clear_func (matches, match_clear);
  source.bytes = g_bytes_get_data (bytes, &source.size);
  if (source.bytes == NULL)
    source.bytes = "";
  edited->reason = not_a_text (source.bytes, source.size);
  if (edited->reason != NULL)
    {
      edited->outcome = PRISM_TEXT_EDIT_BINARY;
      return;
    }
  source.bom = source.size >= 3 && memcmp (source.bytes, BOM, 3) == 0 ? 3 : 0;
  source.cr_only = memchr (source.bytes, '\n', source.size) == NULL && memchr (source.bytes, '\r', source.size) != NULL;
  source.text = with_feeds (source.bytes + source.bom, source.size - source.bom, source.cr_only, &source.length);
  if (find_matches (&source, edits, n_edits, fuzzy, matches, edited))
    {
      place_matches (&source, matches);
      edited->bytes = replace_bytes (&source, matches);
      if (g_bytes_equal (edited->bytes, bytes))
        edited->outcome = PRISM_TEXT_EDIT_NO_CHANGE;
      else
        show_changes (&source, matches, name, edited);
    }
  g_free (source.text);
}

void
prism_text_edited_clear (PrismTextEdited *edited)
{
  g_clear_pointer (&edited->bytes, g_bytes_unref);
  g_clear_pointer (&edited->near, g_free);
  g_clear_pointer (&edited->diff, g_free);
  g_clear_pointer (&edited->patch, g_free);
}
