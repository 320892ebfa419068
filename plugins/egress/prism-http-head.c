/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Trust: none. The bytes come from a program inside a sandbox, or from whatever
 * origin it asked. No allocation, no recursion, one pass over the bytes. */
#include "prism-http-head.h"

#include <string.h>

#define MAX_METHOD 32
/* The largest integer that every reader of a length holds exactly. */
#define MAX_LENGTH G_GUINT64_CONSTANT (9007199254740991)

typedef struct
{
  const char *at, *end;
} Cursor;

#define TOKEN 1
#define TEXT  2

static const guint8 classes[256] = {
  ['\t'] = TEXT,
  [' '] = TEXT,
  ['"'] = TEXT,
  ['(' ... ')'] = TEXT,
  [','] = TEXT,
  ['/'] = TEXT,
  [':' ... '@'] = TEXT,
  ['[' ... ']'] = TEXT,
  ['{'] = TEXT,
  ['}'] = TEXT,
  [0x80 ... 0xff] = TEXT,
  ['0' ... '9'] = TOKEN | TEXT,
  ['A' ... 'Z'] = TOKEN | TEXT,
  ['a' ... 'z'] = TOKEN | TEXT,
  ['!'] = TOKEN | TEXT,
  ['#' ... '\''] = TOKEN | TEXT,
  ['*' ... '+'] = TOKEN | TEXT,
  ['-' ... '.'] = TOKEN | TEXT,
  ['^' ... '`'] = TOKEN | TEXT,
  ['|'] = TOKEN | TEXT,
  ['~'] = TOKEN | TEXT,
};

gboolean
prism_http_is_token (char c)
{
  return (classes[(guchar)c] & TOKEN) != 0;
}

/* What a value may hold: no control character but the tab. */
gboolean
prism_http_is_text (char c)
{
  return (classes[(guchar)c] & TEXT) != 0;
}

gboolean
prism_http_slice_is (const PrismHttpSlice *slice, const char *text)
{
  return slice->length == strlen (text) && memcmp (slice->text, text, slice->length) == 0;
}

gboolean
prism_http_slice_is_word (const PrismHttpSlice *slice, const char *text)
{
  return slice->length == strlen (text) && g_ascii_strncasecmp (slice->text, text, slice->length) == 0;
}

gsize
prism_http_head_find_end (const char *bytes, gsize length, gsize *scanned, const char **wrong)
{
  const char *newline;

  *wrong = NULL;
  if (length == 0)
    return 0; /* @bytes may be NULL */
  if (!prism_http_is_token (bytes[0]))
    {
      *wrong = "it does not start as HTTP does";
      return 0;
    }
  while ((newline = memchr (bytes + *scanned, '\n', length - *scanned)) != NULL)
    {
      gsize at = (gsize)(newline - bytes);

      if (at == 0 || bytes[at - 1] != '\r')
        {
          *wrong = "a line ends without a carriage return";
          return 0;
        }
      *scanned = at + 1;
      if (at >= 3 && bytes[at - 2] == '\n')
        return at + 1;
    }
  *scanned = length;
  return 0;
}

/* --- fields ---------------------------------------------------------------------- */

static PrismHttpMeaning
find_meaning (const PrismHttpSlice *name)
{
  static const struct
  {
    const char *name;
    PrismHttpMeaning meaning;
  } known[] = {
    { "te", PRISM_HTTP_HOP_BY_HOP },
    { "host", PRISM_HTTP_HOST },
    { "cookie", PRISM_HTTP_SECRET },
    { "cookie2", PRISM_HTTP_SECRET },
    { "expect", PRISM_HTTP_EXPECT },
    { "trailer", PRISM_HTTP_HOP_BY_HOP },
    { "upgrade", PRISM_HTTP_HOP_BY_HOP },
    { "location", PRISM_HTTP_LOCATION },
    { "connection", PRISM_HTTP_CONNECTION },
    { "keep-alive", PRISM_HTTP_HOP_BY_HOP },
    { "authorization", PRISM_HTTP_SECRET },
    { "content-length", PRISM_HTTP_CONTENT_LENGTH },
    { "http2-settings", PRISM_HTTP_HOP_BY_HOP },
    { "transfer-encoding", PRISM_HTTP_TRANSFER_ENCODING },
  };

  if (name->length > 6 && g_ascii_strncasecmp (name->text, "proxy-", 6) == 0)
    return PRISM_HTTP_HOP_BY_HOP;
  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    if ((name->text[0] | 0x20) == known[i].name[0] && prism_http_slice_is_word (name, known[i].name))
      return known[i].meaning;
  return PRISM_HTTP_OTHER;
}

/* NAME ":" VALUE CRLF; the cursor stands behind it afterwards. */
static const char *
read_field (Cursor *cursor, PrismHttpField *field)
{
  const char *start = cursor->at;

  while (cursor->at < cursor->end && prism_http_is_token (*cursor->at))
    cursor->at++;
  field->name = (PrismHttpSlice){ start, (gsize)(cursor->at - start) };
  if (field->name.length == 0)
    return *start == ' ' || *start == '\t' ? "a header is folded" : "a header's name is malformed";
  if (*cursor->at != ':')
    return "a header's name is not followed by a colon";
  cursor->at++;
  while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\t'))
    cursor->at++;
  start = cursor->at;
  while (cursor->at < cursor->end && prism_http_is_text (*cursor->at))
    cursor->at++;
  if (cursor->end - cursor->at < 2 || cursor->at[0] != '\r' || cursor->at[1] != '\n')
    return "a header's value holds a control character";
  field->value = (PrismHttpSlice){ start, (gsize)(cursor->at - start) };
  while (field->value.length > 0 && strchr (" \t", start[field->value.length - 1]) != NULL)
    field->value.length--;
  cursor->at += 2;
  field->meaning = find_meaning (&field->name);
  return NULL;
}

static const char *
read_length (PrismHttpHead *head, const PrismHttpSlice *value)
{
  if (head->has_length)
    return "there are two Content-Length headers";
  if (value->length == 0 || value->length > 16)
    return "Content-Length is not a number";
  for (gsize i = 0; i < value->length; i++)
    {
      if (!g_ascii_isdigit (value->text[i]))
        return "Content-Length is not a number";
      head->content_length = head->content_length * 10 + (guint64)(value->text[i] - '0');
    }
  if (head->content_length > MAX_LENGTH)
    return "Content-Length is too large";
  head->has_length = TRUE;
  return NULL;
}

static const char *
read_connection (PrismHttpHead *head, const PrismHttpSlice *value)
{
  const char *at = value->text, *end = value->text + value->length;

  while (at < end)
    {
      PrismHttpSlice word = { at, 0 };

      while (at < end && prism_http_is_token (*at))
        at++;
      word.length = (gsize)(at - word.text);
      if (prism_http_slice_is_word (&word, "close"))
        head->close = TRUE;
      else if (prism_http_slice_is_word (&word, "keep-alive"))
        head->keep_alive = TRUE;
      else if (word.length > 0)
        head->names_fields = TRUE;
      if (at < end && strchr (", \t", *at) == NULL)
        return "Connection is malformed";
      while (at < end && (*at == ',' || *at == ' ' || *at == '\t'))
        at++;
    }
  return NULL;
}

/* What the field says of the message as a whole. */
static const char *
take_field (PrismHttpHead *head, const PrismHttpField *field)
{
  switch (field->meaning)
    {
    case PRISM_HTTP_HOST:
      if (head->host.text != NULL)
        return "there are two Host headers";
      head->host = field->value;
      return NULL;
    case PRISM_HTTP_CONTENT_LENGTH:
      return read_length (head, &field->value);
    case PRISM_HTTP_TRANSFER_ENCODING:
      if (head->chunked)
        return "there are two Transfer-Encoding headers";
      if (!prism_http_slice_is_word (&field->value, "chunked"))
        return "Transfer-Encoding is something else than chunked";
      head->chunked = TRUE;
      return NULL;
    case PRISM_HTTP_CONNECTION:
      return read_connection (head, &field->value);
    case PRISM_HTTP_EXPECT:
      if (head->expects_continue || !prism_http_slice_is_word (&field->value, "100-continue"))
        return "Expect is something else than 100-continue";
      head->expects_continue = TRUE;
      return NULL;
    case PRISM_HTTP_LOCATION:
      if (head->location.text != NULL)
        return "there are two Location headers";
      head->location = field->value;
      return NULL;
    case PRISM_HTTP_OTHER:
    case PRISM_HTTP_SECRET:
    case PRISM_HTTP_HOP_BY_HOP:
    default:
      return NULL;
    }
}

static const char *
check_framing (const PrismHttpHead *head)
{
  if (head->chunked && head->has_length)
    return "it has both Content-Length and Transfer-Encoding";
  if (head->chunked && head->minor == 0)
    return "HTTP/1.0 has no Transfer-Encoding";
  return NULL;
}

static guint
read_fields (Cursor *cursor, PrismHttpHead *head, guint status, const char **wrong)
{
  while (cursor->at < cursor->end && *cursor->at != '\r')
    {
      PrismHttpField *field;

      if (head->n_fields == PRISM_HTTP_FIELDS_MAX)
        {
          *wrong = "it has more than 256 headers";
          return status == 400 ? 431 : status;
        }
      field = &head->fields[head->n_fields++];
      *wrong = read_field (cursor, field);
      if (*wrong == NULL)
        *wrong = take_field (head, field);
      if (*wrong != NULL)
        return status;
    }
  if (cursor->end - cursor->at != 2 || cursor->at[0] != '\r' || cursor->at[1] != '\n')
    *wrong = "a line holds a carriage return";
  else
    *wrong = check_framing (head);
  return *wrong != NULL ? status : 0;
}

/* --- first lines --------------------------------------------------------------- */

static void
clear_head (PrismHttpHead *head)
{
  memset (head, 0, G_STRUCT_OFFSET (PrismHttpHead, fields));
}

/* HTTP/1.0 or HTTP/1.1. */
static guint
read_version (Cursor *cursor, guint *minor, guint status, const char **wrong)
{
  const char *at = cursor->at;

  if (cursor->end - at < 8 || memcmp (at, "HTTP/", 5) != 0 || !g_ascii_isdigit (at[5]) || at[6] != '.'
      || !g_ascii_isdigit (at[7]))
    {
      *wrong = "the version is malformed";
      return status;
    }
  if (at[5] != '1' || at[7] > '1')
    {
      *wrong = "only HTTP/1.0 and HTTP/1.1 are spoken here";
      return status == 400 ? 505 : status;
    }
  *minor = (guint)(at[7] - '0');
  cursor->at += 8;
  return 0;
}

static gboolean
read_line_end (Cursor *cursor)
{
  if (cursor->end - cursor->at < 2 || cursor->at[0] != '\r' || cursor->at[1] != '\n')
    return FALSE;
  cursor->at += 2;
  return TRUE;
}

guint
prism_http_head_parse_request (const char *bytes, gsize length, PrismHttpHead *head, const char **wrong)
{
  Cursor cursor = { bytes, bytes + length };
  const char *start = bytes;
  guint status;

  clear_head (head);
  *wrong = NULL;
  while (cursor.at < cursor.end && prism_http_is_token (*cursor.at))
    cursor.at++;
  head->method = (PrismHttpSlice){ start, (gsize)(cursor.at - start) };
  *wrong = "the request line is malformed";
  if (head->method.length == 0 || head->method.length > MAX_METHOD || cursor.at == cursor.end || *cursor.at != ' ')
    return 400;
  start = ++cursor.at;
  while (cursor.at < cursor.end && (guchar)*cursor.at > 0x20 && (guchar)*cursor.at < 0x7f)
    cursor.at++;
  head->target = (PrismHttpSlice){ start, (gsize)(cursor.at - start) };
  if (head->target.length == 0 || cursor.at == cursor.end || *cursor.at != ' ')
    return 400;
  cursor.at++;
  status = read_version (&cursor, &head->minor, 400, wrong);
  if (status != 0)
    return status;
  if (!read_line_end (&cursor))
    return 400;
  status = read_fields (&cursor, head, 400, wrong);
  if (status != 0)
    return status;
  if (head->host.text == NULL && head->minor == 1)
    {
      *wrong = "the Host header is missing";
      return 400;
    }
  return 0;
}

guint
prism_http_head_parse_response (const char *bytes, gsize length, PrismHttpHead *head, const char **wrong)
{
  Cursor cursor = { bytes, bytes + length };
  const char *start;
  guint status;

  clear_head (head);
  *wrong = NULL;
  status = read_version (&cursor, &head->minor, 502, wrong);
  if (status != 0)
    return status;
  *wrong = "the status line is malformed";
  if (cursor.end - cursor.at < 6 || cursor.at[0] != ' ')
    return 502;
  for (guint i = 1; i <= 3; i++)
    {
      if (!g_ascii_isdigit (cursor.at[i]))
        return 502;
      head->status = head->status * 10 + (guint)(cursor.at[i] - '0');
    }
  cursor.at += 4;
  if (head->status < 100 || head->status > 599 || (*cursor.at != ' ' && *cursor.at != '\r'))
    return 502;
  if (*cursor.at == ' ')
    cursor.at++;
  start = cursor.at;
  while (cursor.at < cursor.end && prism_http_is_text (*cursor.at))
    cursor.at++;
  head->reason = (PrismHttpSlice){ start, (gsize)(cursor.at - start) };
  if (!read_line_end (&cursor))
    return 502;
  return read_fields (&cursor, head, 502, wrong);
}

/* --- what goes on -------------------------------------------------------------- */

static gboolean
names_field (const PrismHttpSlice *connection, const PrismHttpSlice *name)
{
  const char *at = connection->text, *end = connection->text + connection->length;

  while (at < end)
    {
      PrismHttpSlice word = { at, 0 };

      while (at < end && prism_http_is_token (*at))
        at++;
      word.length = (gsize)(at - word.text);
      if (word.length == name->length && g_ascii_strncasecmp (word.text, name->text, word.length) == 0)
        return TRUE;
      while (at < end && !prism_http_is_token (*at))
        at++;
    }
  return FALSE;
}

gboolean
prism_http_head_ends_field (const PrismHttpHead *head, const PrismHttpField *field)
{
  if (field->meaning == PRISM_HTTP_CONNECTION || field->meaning == PRISM_HTTP_HOP_BY_HOP
      || field->meaning == PRISM_HTTP_TRANSFER_ENCODING)
    return TRUE;
  if (!head->names_fields)
    return FALSE;
  for (guint i = 0; i < head->n_fields; i++)
    if (head->fields[i].meaning == PRISM_HTTP_CONNECTION && names_field (&head->fields[i].value, &field->name))
      return TRUE;
  return FALSE;
}
