/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-cli-json.h"

#include "prism-cli-names.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

PrismJson *
prism_json_new (void)
{
  PrismJson *self = g_new0 (PrismJson, 1);

  self->text = g_string_new (NULL);
  self->first = TRUE;

  return self;
}

/* For protocols in which a line is a message. */
PrismJson *
prism_json_new_compact (void)
{
  PrismJson *self = prism_json_new ();

  self->compact = TRUE;
  return self;
}

void
prism_json_free (PrismJson *self)
{
  g_string_free (self->text, TRUE);
  g_free (self);
}

/* The whole text and a line feed; FALSE with errno set if it could not be written. */
gboolean
prism_json_print (PrismJson *self, int fd)
{
  gsize done = 0;

  g_assert (self->depth == 0);
  g_string_append_c (self->text, '\n');
  while (done < self->text->len)
    {
      gssize n = write (fd, self->text->str + done, self->text->len - done);

      if (n >= 0)
        done += n;
      else if (errno == EAGAIN)
        (void)poll (&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
      else if (errno != EINTR)
        return FALSE;
    }

  return TRUE;
}

/* Legal in JSON, and mischief where it is shown or cut into lines: DEL, the C1 controls,
 * U+2028 and U+2029. How many bytes it has; 0: it is none of these. */
static gsize
odd_character (const char *data, gsize length, gunichar *code)
{
  const guchar *p = (const guchar *)data;

  if (p[0] == 0x7f)
    *code = 0x7f;
  else if (p[0] == 0xc2 && length > 1 && p[1] < 0xa0)
    *code = p[1];
  else if (p[0] == 0xe2 && length > 2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9))
    *code = 0x2000 | (p[2] & 0x3f);
  else
    return 0;
  return p[0] == 0x7f ? 1 : p[0] == 0xc2 ? 2 : 3;
}

/* @data is UTF-8. */
static void
append_escaped (GString *text, const char *data, gsize length)
{
  static const char names[] = { ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't' };
  gsize start = 0;

  for (gsize i = 0; i < length; i++)
    {
      guchar c = data[i];
      gunichar code = c;
      gsize odd = c >= 0x7f ? odd_character (data + i, length - i, &code) : 0;

      if (c >= 0x20 && c != '"' && c != '\\' && odd == 0)
        continue;
      g_string_append_len (text, data + start, i - start);
      if (c == '"' || c == '\\')
        g_string_append_printf (text, "\\%c", c);
      else if (c < sizeof names && names[c] != 0)
        g_string_append_printf (text, "\\%c", names[c]);
      else
        g_string_append_printf (text, "\\u%04x", code);
      i += odd > 0 ? odd - 1 : 0;
      start = i + 1;
    }
  g_string_append_len (text, data + start, length - start);
}

/* Any bytes: NUL stays NUL, each byte that is not UTF-8 becomes U+FFFD. */
static void
append_quoted (GString *text, const char *data, gsize length)
{
  const char *end = data + length;
  const char *stop = data;

  g_string_append_c (text, '"');
  for (const char *p = data; p < end; p = stop + 1)
    {
      if (g_utf8_validate_len (p, end - p, &stop))
        stop = end;
      append_escaped (text, p, stop - p);
      if (stop < end)
        g_string_append (text, *stop == '\0' ? "\\u0000" : "\xef\xbf\xbd");
    }
  g_string_append_c (text, '"');
}

gboolean
prism_json_is_text (const char *data, gsize length)
{
  const char *end = data + length;
  const char *stop;

  for (const char *p = data; p < end; p = stop + 1)
    if (g_utf8_validate_len (p, end - p, &stop))
      return TRUE;
    else if (*stop != '\0')
      return FALSE;

  return TRUE;
}

static void
begin_value (PrismJson *self, const char *key)
{
  if (!self->first)
    g_string_append_c (self->text, ',');
  if (self->depth > 0 && !self->compact)
    {
      g_string_append_c (self->text, '\n');
      for (guint i = 0; i < self->depth; i++)
        g_string_append (self->text, "  ");
    }
  if (key != NULL)
    {
      append_quoted (self->text, key, strlen (key));
      g_string_append (self->text, self->compact ? ":" : ": ");
    }
  self->first = FALSE;
}

static void
begin (PrismJson *self, const char *key, char bracket)
{
  begin_value (self, key);
  g_string_append_c (self->text, bracket);
  self->depth++;
  self->first = TRUE;
}

static void
end (PrismJson *self, char bracket)
{
  self->depth--;
  if (!self->first && !self->compact)
    {
      g_string_append_c (self->text, '\n');
      for (guint i = 0; i < self->depth; i++)
        g_string_append (self->text, "  ");
    }
  g_string_append_c (self->text, bracket);
  self->first = FALSE;
}

void
prism_json_begin_object (PrismJson *self, const char *key)
{
  begin (self, key, '{');
}

void
prism_json_end_object (PrismJson *self)
{
  end (self, '}');
}

void
prism_json_begin_array (PrismJson *self, const char *key)
{
  begin (self, key, '[');
}

void
prism_json_end_array (PrismJson *self)
{
  end (self, ']');
}

void
prism_json_null (PrismJson *self, const char *key)
{
  begin_value (self, key);
  g_string_append (self->text, "null");
}

void
prism_json_boolean (PrismJson *self, const char *key, gboolean value)
{
  begin_value (self, key);
  g_string_append (self->text, value ? "true" : "false");
}

void
prism_json_integer (PrismJson *self, const char *key, gint64 value)
{
  begin_value (self, key);
  g_string_append_printf (self->text, "%" G_GINT64_FORMAT, value);
}

void
prism_json_unsigned (PrismJson *self, const char *key, guint64 value)
{
  begin_value (self, key);
  g_string_append_printf (self->text, "%" G_GUINT64_FORMAT, value);
}

/* Three decimals: a microsecond, where the unit is a millisecond. */
void
prism_json_double (PrismJson *self, const char *key, double value)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  begin_value (self, key);
  g_string_append (self->text, isfinite (value) ? g_ascii_formatd (buffer, sizeof buffer, "%.3f", value) : "null");
}

void
prism_json_bytes (PrismJson *self, const char *key, const char *data, gsize length)
{
  begin_value (self, key);
  append_quoted (self->text, data, length);
}

void
prism_json_string (PrismJson *self, const char *key, const char *value)
{
  if (value == NULL)
    prism_json_null (self, key);
  else
    prism_json_bytes (self, key, value, strlen (value));
}

void
prism_json_strv (PrismJson *self, const char *key, const char *const *values)
{
  prism_json_begin_array (self, key);
  for (guint i = 0; values != NULL && values[i] != NULL; i++)
    prism_json_string (self, NULL, values[i]);
  prism_json_end_array (self);
}

void
prism_json_raw (PrismJson *self, const char *key, const char *value)
{
  begin_value (self, key);
  g_string_append (self->text, value);
}

void
prism_json_error (PrismJson *self, const char *key, const GError *error)
{
  g_autoptr (PrismExplanation) explanation = NULL;
  g_autofree char *code = NULL;

  if (error == NULL)
    {
      prism_json_null (self, key);
      return;
    }

  explanation = prism_error_explain (error);
  code = prism_cli_error_code (error);
  prism_json_begin_object (self, key);
  prism_json_string (self, "domain", g_quark_to_string (error->domain));
  prism_json_string (self, "code", code);
  prism_json_string (self, "message", error->message);
  prism_json_string (self, "name", prism_error_get_code_name (error));
  prism_json_string (self, "explanation", explanation != NULL ? prism_explanation_get_id (explanation) : NULL);
  prism_json_string (self, "hint", explanation != NULL ? prism_explanation_get_hint (explanation) : NULL);
  prism_json_end_object (self);
}
