/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* read: whole lines of a text file, or an image. TRUST: a file's content is data, whatever
 * it says; what is no UTF-8 is replaced when it is shown, never guessed at. */
#include "prism-tool-table-private.h"

#include <string.h>

#include "prism-conversion-private.h"
#include "prism-operation-private.h"

#define CHUNK (256 * 1024)

/* --- what is no text ---------------------------------------------------------------------- */

static const struct
{
  const char *suffix, *format, *type;
} zipped[] = {
  { ".docx", "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document" },
  { ".pptx", "pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation" },
  { ".xlsx", "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" },
  { ".odt", "odt", "application/vnd.oasis.opendocument.text" },
  { ".odp", "odp", "application/vnd.oasis.opendocument.presentation" },
  { ".ods", "ods", "application/vnd.oasis.opendocument.spreadsheet" },
};

/* A document's format, and what it is called elsewhere; NULL: none. */
static const char *
document_format (const guint8 *data, gsize size, const char *path, const char **type)
{
  g_autofree char *lower = g_ascii_strdown (path, -1);

  *type = "application/pdf";
  if (size >= 5 && memcmp (data, "%PDF-", 5) == 0)
    return "pdf";
  if (size >= 4 && memcmp (data, "PK\003\004", 4) == 0)
    for (guint i = 0; i < G_N_ELEMENTS (zipped); i++)
      if (g_str_has_suffix (lower, zipped[i].suffix))
        {
          *type = zipped[i].type;
          return zipped[i].format;
        }
  return NULL;
}

static GBytes *
read_whole (PrismToolRun *run, const char *path, const char *shown, PrismToolLimit limit, GError **error)
{
  gint64 most = prism_tool_limit (run, limit);
  GError *fault = NULL;
  g_autoptr (GBytes) bytes = prism_tree_read (run->tree, path, 0, most + 1, run->cancellable, &fault);

  if (bytes == NULL)
    {
      prism_tool_take_fault (error, fault);
      return NULL;
    }
  if ((gint64)g_bytes_get_size (bytes) <= most)
    return g_steal_pointer (&bytes);
  prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "%s: has more than %" G_GINT64_FORMAT " bytes (%s)", shown, most,
                   prism_tool_limit_rows[limit].name);
  return NULL;
}

static void
emit_conversion (gpointer composition, gpointer conversion)
{
  if (!prism_composition_emit_conversion (composition, conversion))
    prism_conversion_decline (conversion, NULL);
}

static gboolean
has_reader (PrismToolRun *run)
{
  g_autoptr (PrismComposition) composition = g_weak_ref_get (&run->settings->composition);

  return composition != NULL && prism_composition_emit_conversion (composition, NULL);
}

/* What the program makes of it, if it has somebody who does. */
static gboolean
convert (PrismToolRun *run,
         const char *shown,
         const char *type,
         GBytes *bytes,
         gboolean image,
         PrismConverted *converted,
         GError **error)
{
  g_autoptr (PrismComposition) composition = g_weak_ref_get (&run->settings->composition);
  gint64 most = prism_tool_limit (run, image ? PRISM_TOOL_LIMIT_IMAGE_BYTES : PRISM_TOOL_LIMIT_DOCUMENT_BYTES);
  g_autoptr (PrismConversion) conversion = NULL;

  *converted = (PrismConverted){ 0 };
  if (composition == NULL || !prism_composition_emit_conversion (composition, NULL))
    return TRUE;
  conversion = prism_conversion_new (shown, type, bytes, most, image);
  prism_operation_emit_about (PRISM_OPERATION (run->operation), emit_conversion, composition, conversion);
  g_clear_object (&composition); /* to wait for a person keeps nobody */
  return prism_conversion_wait (conversion, prism_tool_limit (run, PRISM_TOOL_LIMIT_CONVERSION_TIMEOUT_S),
                                run->cancellable, converted, error);
}

static gboolean
answer_image (PrismToolRun *run, const char *path, const char *shown, const char *type, GError **error)
{
  g_autoptr (GBytes) bytes = read_whole (run, path, shown, PRISM_TOOL_LIMIT_IMAGE_BYTES, error);
  g_auto (PrismConverted) converted = { 0 };
  GBytes *image;
  gsize size;
  const guint8 *data;

  if (bytes == NULL || !convert (run, shown, type, bytes, TRUE, &converted, error))
    return FALSE;
  image = converted.image != NULL ? converted.image : bytes;
  data = g_bytes_get_data (image, &size);
  prism_tool_result_add_image (run->result, image, prism_image_type (data, size));
  json_builder_set_member_name (run->metadata, "image");
  json_builder_begin_object (run->metadata);
  prism_tool_add_string (run, "mimeType", prism_image_type (data, size));
  prism_tool_add_boolean (run, "resized", !g_bytes_equal (image, bytes));
  prism_tool_add_integer (run, "bytes", (gint64)size);
  json_builder_end_object (run->metadata);
  return TRUE;
}

/* --- text, as it comes --------------------------------------------------------------------- */

typedef struct
{
  PrismToolRun *run;
  const char *path;
  GByteArray *held; /* of the file, from `from` on */
  gint64 read;      /* bytes that were asked for */
  gsize at;         /* in held: the next line */
  gboolean ended;
} Source;

/* More of the file; FALSE at its end too. */
static gboolean
fill (Source *self, GError **error)
{
  gint64 most = prism_tool_limit (self->run, PRISM_TOOL_LIMIT_READ_SCAN_BYTES);
  GError *fault = NULL;
  g_autoptr (GBytes) more = NULL;
  gsize size;
  const guint8 *data;

  if (self->ended)
    return FALSE;
  if (self->read >= most)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT,
                            "the page lies after the first %" G_GINT64_FORMAT " bytes (read-scan-bytes)", most);
  more = prism_tree_read (self->run->tree, self->path, self->read, CHUNK, self->run->cancellable, &fault);
  if (more == NULL)
    {
      prism_tool_take_fault (error, fault);
      return FALSE;
    }
  data = g_bytes_get_data (more, &size);
  if (self->at > CHUNK)
    {
      g_byte_array_remove_range (self->held, 0, (guint)self->at);
      self->at = 0;
    }
  g_byte_array_append (self->held, data, (guint)size);
  self->read += (gint64)size;
  self->ended = size < CHUNK;
  return size > 0;
}

typedef struct
{
  gsize at, size; /* in held, without its LF */
  gboolean feed;  /* it has one */
} Row;

/* The next line; FALSE: there is none. */
static gboolean
next_row (Source *self, Row *row, GError **error)
{
  gsize searched = self->at;
  GError *wrong = NULL;

  for (;;)
    {
      const guint8 *end =
          self->held->len > searched ? memchr (self->held->data + searched, '\n', self->held->len - searched) : NULL;
      gsize before = self->at;

      if (end != NULL)
        {
          *row = (Row){ self->at, (gsize)(end - self->held->data) - self->at, TRUE };
          self->at += row->size + 1;
          return TRUE;
        }
      searched = self->held->len;
      if (!fill (self, &wrong))
        break;
      searched -= before - self->at; /* what was before is gone */
    }
  if (wrong != NULL)
    {
      g_propagate_error (error, wrong);
      return FALSE;
    }
  *row = (Row){ self->at, self->held->len - self->at, FALSE };
  self->at = self->held->len;
  return row->size > 0;
}

/* --- a page ------------------------------------------------------------------------------------ */

typedef struct
{
  gint64 line;  /* its number, from 1 */
  gint64 first; /* of the page; 0: not begun */
  gint64 lines;
  const char *cut; /* why it ended before the file did */
  gboolean too_long;
} Page;

static gboolean
has_text (const guint8 *data, gsize size, const char *text, gboolean fold)
{
  gsize length = strlen (text);

  if (!fold)
    return memmem (data, size, text, length) != NULL;
  for (gsize i = 0; i + length <= size; i++)
    if (g_ascii_strncasecmp ((const char *)data + i, text, length) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
begins_here (PrismToolRun *run, const Source *source, const Row *row, gint64 line)
{
  const char *text = prism_tool_get_string (run, "findText");

  if (line < prism_tool_get_integer (run, "offset", 1))
    return FALSE;
  return text == NULL || *text == '\0'
         || has_text (source->held->data + row->at, row->size, text,
                      g_strcmp0 (prism_tool_get_string (run, "findMode"), "case-insensitive") == 0);
}

static gboolean
read_page (PrismToolRun *run, Source *source, GString *text, Page *page, GError **error)
{
  gint64 most_lines =
      MIN (prism_tool_get_integer (run, "limit", G_MAXINT64), prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_LINES));
  gsize most_bytes = (gsize)prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_BYTES);
  GError *wrong = NULL;
  Row row;

  while (next_row (source, &row, &wrong))
    {
      page->line++;
      if (page->first == 0 && !begins_here (run, source, &row, page->line))
        continue;
      if (page->first == 0)
        page->first = page->line;
      if (page->lines >= most_lines || text->len + row.size + 1 > most_bytes)
        {
          page->too_long = page->lines == 0;
          page->cut = page->lines >= most_lines ? "lines" : "bytes";
          return TRUE;
        }
      g_string_append_len (text, (const char *)source->held->data + row.at, (gssize)row.size);
      if (row.feed)
        g_string_append_c (text, '\n');
      page->lines++;
    }
  if (wrong != NULL)
    g_propagate_error (error, wrong);
  return wrong == NULL;
}

static gboolean
check_page (PrismToolRun *run, const Page *page, const char *shown, GError **error)
{
  gint64 offset = prism_tool_get_integer (run, "offset", 1);
  const char *text = prism_tool_get_string (run, "findText");

  if (page->first > 0 || (page->line == 0 && offset == 1 && text == NULL))
    return TRUE;
  if (offset > MAX (page->line, 1))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_NOT_FOUND,
                            "%s: offset %" G_GINT64_FORMAT " is after its end; it has %" G_GINT64_FORMAT " lines",
                            shown, offset, page->line);
  return prism_tool_fail (
      error, PRISM_TOOL_ERROR_NOT_FOUND,
      "%s: findText is not there from line %" G_GINT64_FORMAT " on; leave it out or send another text", shown, offset);
}

static void
answer_page (PrismToolRun *run, const Source *source, GString *text, const Page *page)
{
  gboolean whole = page->cut == NULL;

  prism_tool_result_add_text (run->result, text->str);
  if (page->too_long)
    prism_tool_say (run,
                    "[line %" G_GINT64_FORMAT " is longer than %" G_GINT64_FORMAT
                    " bytes and is not shown; cut it with the shell: sed -n %" G_GINT64_FORMAT "p FILE | cut -c1-2000]",
                    page->first, prism_tool_limit (run, PRISM_TOOL_LIMIT_OUTPUT_BYTES), page->first);
  else if (!whole)
    prism_tool_say (run,
                    "[lines %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT "; go on with \"offset\": %" G_GINT64_FORMAT "]",
                    page->first, page->first + page->lines - 1, page->first + page->lines);
  json_builder_set_member_name (run->metadata, "truncation");
  json_builder_begin_object (run->metadata);
  prism_tool_add_boolean (run, "truncated", !whole);
  prism_tool_add_string (run, "truncatedBy", page->cut);
  prism_tool_add_integer (run, "firstLine", MAX (page->first, 1));
  prism_tool_add_integer (run, "lines", page->lines);
  if (whole)
    prism_tool_add_integer (run, "totalLines", page->line);
  else
    prism_tool_add_integer (run, "nextOffset", page->first + MAX (page->lines, 1));
  json_builder_end_object (run->metadata);
  prism_tool_add_integer (run, "scannedBytes", source->read);
}

/* What the guard remembers is all of the file, though a page was shown. */
static void
note_content (PrismToolRun *run, const Source *source, const char *path)
{
  g_autoptr (GBytes) bytes = NULL;

  if (!run->settings->read_before_write)
    return;
  if (source->ended && source->read == (gint64)source->held->len)
    bytes = g_bytes_new (source->held->data, source->held->len);
  else
    bytes = prism_tree_read (run->tree, path, 0, prism_tool_limit (run, PRISM_TOOL_LIMIT_READ_SCAN_BYTES),
                             run->cancellable, NULL);
  prism_tool_settings_note (run->settings, path, bytes);
}

static gboolean
read_text (PrismToolRun *run, Source *source, const char *path, const char *shown, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  Page page = { 0 };

  if (source->held->len > 0 && memchr (source->held->data, 0, MIN (source->held->len, 8192)) != NULL)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_TYPE,
                            "%s: is binary, not text; look at it with the shell, as od -c | head", shown);
  if (!read_page (run, source, text, &page, error) || !check_page (run, &page, shown, error))
    return FALSE;
  note_content (run, source, path);
  answer_page (run, source, text, &page);
  return TRUE;
}

/* Its text, page by page, as if the file were that. */
static gboolean
answer_document (
    PrismToolRun *run, const char *path, const char *shown, const char *format, const char *type, GError **error)
{
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GByteArray) held = g_byte_array_new ();
  g_autoptr (GString) text = g_string_new (NULL);
  g_auto (PrismConverted) converted = { 0 };
  Source source = { .run = run, .path = path, .held = held, .ended = TRUE };
  Page page = { 0 };

  /* Where nobody reads it, nobody has to load it. */
  if (has_reader (run))
    {
      bytes = read_whole (run, path, shown, PRISM_TOOL_LIMIT_DOCUMENT_BYTES, error);
      if (bytes == NULL || !convert (run, shown, type, bytes, FALSE, &converted, error))
        return FALSE;
    }
  if (converted.text == NULL)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_TYPE,
                            "%s: is a document (%s)%s%s; turn it into text with the shell first, as with pdftotext or "
                            "pandoc",
                            shown, format, converted.reason != NULL ? ", and " : "",
                            converted.reason != NULL ? converted.reason : "");
  g_byte_array_append (held, (const guint8 *)converted.text, (guint)strlen (converted.text));
  source.read = (gint64)g_bytes_get_size (bytes);
  if (!read_page (run, &source, text, &page, error) || !check_page (run, &page, shown, error))
    return FALSE;
  answer_page (run, &source, text, &page);
  json_builder_set_member_name (run->metadata, "document");
  json_builder_begin_object (run->metadata);
  prism_tool_add_string (run, "format", format);
  json_builder_set_member_name (run->metadata, "pages");
  if (converted.pages > 0)
    json_builder_add_int_value (run->metadata, converted.pages);
  else
    json_builder_add_null_value (run->metadata);
  prism_tool_add_string (run, "truncatedBy", page.cut != NULL ? page.cut : converted.truncated_by);
  json_builder_end_object (run->metadata);
  if (converted.truncated_by != NULL)
    prism_tool_say (run, "[this is not all of the document: %s]", converted.truncated_by);
  return TRUE;
}

/* [first, last], as some models know it: offset and limit in other words. */
static gboolean
take_range (PrismToolRun *run, GError **error)
{
  JsonArray *range = prism_tool_get_array (run, "readRange");
  gint64 first, last;

  if (range == NULL)
    return TRUE;
  first = json_array_get_int_element (range, 0);
  last = json_array_get_int_element (range, 1);
  if (json_object_has_member (run->arguments, "offset") || json_object_has_member (run->arguments, "limit"))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID,
                            "readRange: send either it or offset and limit, which say the same");
  if (last < first)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID,
                            "readRange: the last line is before the first; send [first, last], as [1, 50]");
  json_object_set_int_member (run->arguments, "offset", first);
  json_object_set_int_member (run->arguments, "limit", last - first + 1);
  return TRUE;
}

gboolean
prism_tool_run_read (PrismToolRun *run, GError **error)
{
  char *paths[2] = { take_range (run, error) ? prism_tool_dup_path (run, "path", error) : NULL, NULL };
  const PrismToolAsk ask = {
    .kind = "read", .operation = "read", .risk = PRISM_RISK_LOW, .effect = PRISM_EFFECT_NONE, .paths = paths
  };
  g_autoptr (GByteArray) held = g_byte_array_new ();
  gboolean done = paths[0] != NULL && prism_tool_authorize (run, &ask, error);
  g_autofree char *path = paths[0];
  g_autofree char *shown = NULL;
  Source source = { .run = run, .path = path, .held = held };
  g_autoptr (GError) wrong = NULL;
  const char *type, *format;

  if (!done)
    return FALSE;
  shown = prism_tool_show (run, path);
  if (!fill (&source, &wrong) && wrong != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&wrong));
      return FALSE;
    }
  type = prism_image_type (held->data, held->len);
  if (type != NULL)
    return answer_image (run, path, shown, type, error);
  format = document_format (held->data, held->len, path, &type);
  if (format != NULL)
    return answer_document (run, path, shown, format, type, error);
  return read_text (run, &source, path, shown, error);
}
