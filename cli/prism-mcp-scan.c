/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a client sent, looked at before anything else does: is it JSON (RFC 8259, to the
 * letter), is it no deeper and of no more values than a parser with a stack and a tree can
 * bear, and does it hold text or numbers that a later parser would silently shorten. Pure:
 * bytes in, an answer with its place out. What is trusted: nothing. */
#include "prism-mcp-scan.h"

#include <errno.h>
#include <math.h>
#include <string.h>

typedef struct
{
  const char *p, *end;
  guint n_values;
  PrismMcpOddity oddity;
  const char *problem;
} Scan;

static gboolean
fail (Scan *scan, const char *problem)
{
  if (scan->problem == NULL)
    scan->problem = problem;
  return FALSE;
}

static void
note (Scan *scan, PrismMcpOddity oddity)
{
  if (scan->oddity == PRISM_MCP_ODD_NOTHING)
    scan->oddity = oddity;
}

static void
skip_space (Scan *scan)
{
  while (scan->p < scan->end && (*scan->p == ' ' || *scan->p == '\t' || *scan->p == '\n' || *scan->p == '\r'))
    scan->p++;
}

static gboolean
at (Scan *scan, char c)
{
  return scan->p < scan->end && *scan->p == c;
}

/* The four digits behind \u; -1: they are not. */
static int
hex4 (const char *p, const char *end)
{
  int value = 0;

  if (end - p < 4)
    return -1;
  for (guint i = 0; i < 4; i++)
    if (g_ascii_isxdigit (p[i]))
      value = value << 4 | g_ascii_xdigit_value (p[i]);
    else
      return -1;
  return value;
}

/* At the u of \u. The second half of a pair is taken with the first. */
static gboolean
scan_code (Scan *scan, gunichar *code)
{
  int value = hex4 (scan->p + 1, scan->end), low;

  if (value < 0)
    return fail (scan, "four hexadecimal digits belong behind \\u");
  scan->p += 5;
  *code = value;
  if (value == 0)
    note (scan, PRISM_MCP_ODD_NUL);
  if (value < 0xd800 || value > 0xdfff)
    return TRUE;

  low = value < 0xdc00 && scan->end - scan->p >= 6 && scan->p[0] == '\\' && scan->p[1] == 'u'
            ? hex4 (scan->p + 2, scan->end)
            : -1;
  if (low >= 0xdc00 && low <= 0xdfff)
    {
      scan->p += 6;
      *code = 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
    }
  else
    {
      note (scan, PRISM_MCP_ODD_SURROGATE);
      *code = 0xfffd;
    }
  return TRUE;
}

/* @into: (nullable): where its text goes. */
static gboolean
scan_string (Scan *scan, GString *into)
{
  static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  const char *start = ++scan->p, *escape;
  gunichar code;

  for (;;)
    {
      while (scan->p < scan->end && (guchar)*scan->p >= 0x20 && *scan->p != '"' && *scan->p != '\\')
        scan->p++;
      if (into != NULL)
        g_string_append_len (into, start, scan->p - start);
      if (scan->p == scan->end)
        return fail (scan, "the text ends inside a string");
      if ((guchar)*scan->p < 0x20)
        return fail (scan, "a control character has to be escaped in a string");
      if (*scan->p++ == '"')
        return TRUE;

      if (at (scan, 'u'))
        {
          if (!scan_code (scan, &code))
            return FALSE;
          if (into != NULL && code != 0)
            g_string_append_unichar (into, code);
        }
      else if (scan->p < scan->end && *scan->p != '\0' && (escape = strchr (escapes, *scan->p)) != NULL)
        {
          if (into != NULL)
            g_string_append_c (into, meant[escape - escapes]);
          scan->p++;
        }
      else
        return fail (scan, "there is no such escape in a string");
      start = scan->p;
    }
}

static gboolean
scan_digits (Scan *scan)
{
  const char *start = scan->p;

  while (scan->p < scan->end && g_ascii_isdigit (*scan->p))
    scan->p++;
  return scan->p > start || fail (scan, "a digit is missing in a number");
}

/* Of a part of a line, which GLib's own, for texts that end, would need a copy of. */
static gboolean
read_whole (const char *text, gsize length, gint64 *value)
{
  gboolean negative = length > 0 && text[0] == '-';
  guint64 most = (guint64)G_MAXINT64 + (negative ? 1 : 0), sum = 0;

  if (length == (negative ? 1u : 0u))
    return FALSE;
  for (gsize i = negative ? 1 : 0; i < length; i++)
    {
      guint64 digit = (guint64)(text[i] - '0');

      if (!g_ascii_isdigit (text[i]) || sum > (most - digit) / 10)
        return FALSE;
      sum = sum * 10 + digit;
    }
  *value = negative ? (gint64)(0 - sum) : (gint64)sum;
  return TRUE;
}

static void
judge_number (Scan *scan, const char *start, gboolean whole)
{
  char copy[64];
  gsize length = scan->p - start;
  gint64 ignored;

  if (length >= sizeof copy)
    {
      note (scan, PRISM_MCP_ODD_NUMBER);
      return;
    }
  memcpy (copy, start, length);
  copy[length] = '\0';
  if (whole ? !read_whole (copy, length, &ignored) : !isfinite (g_ascii_strtod (copy, NULL)))
    note (scan, PRISM_MCP_ODD_NUMBER);
}

static gboolean
scan_number (Scan *scan)
{
  const char *start = scan->p;
  gboolean whole = TRUE;

  if (at (scan, '-'))
    scan->p++;
  if (at (scan, '0') && scan->p + 1 < scan->end && g_ascii_isdigit (scan->p[1]))
    return fail (scan, "a number does not begin with 0");
  if (!scan_digits (scan))
    return FALSE;
  if (at (scan, '.'))
    {
      whole = FALSE;
      scan->p++;
      if (!scan_digits (scan))
        return FALSE;
    }
  if (at (scan, 'e') || at (scan, 'E'))
    {
      whole = FALSE;
      scan->p++;
      if (at (scan, '+') || at (scan, '-'))
        scan->p++;
      if (!scan_digits (scan))
        return FALSE;
    }
  judge_number (scan, start, whole);
  return TRUE;
}

static gboolean
scan_word (Scan *scan)
{
  static const char *const words[] = { "true", "false", "null" };

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      gsize length = strlen (words[i]);

      if ((gsize)(scan->end - scan->p) >= length && memcmp (scan->p, words[i], length) == 0)
        {
          scan->p += length;
          return TRUE;
        }
    }
  return fail (scan, scan->p == scan->end ? "a value is missing" : "no value begins like this");
}

static gboolean scan_value (Scan *scan, guint depth);

/* Behind the opening bracket, up to behind the closing one. */
static gboolean
scan_inside (Scan *scan, gboolean object, guint depth)
{
  char close = object ? '}' : ']';

  if (depth == PRISM_MCP_MAX_DEPTH)
    return fail (scan, "it is nested too deeply");
  scan->p++;
  skip_space (scan);
  if (at (scan, close))
    {
      scan->p++;
      return TRUE;
    }
  for (;;)
    {
      skip_space (scan);
      if (object)
        {
          if (!at (scan, '"'))
            return fail (scan, "a member's name is missing");
          if (!scan_string (scan, NULL))
            return FALSE;
          skip_space (scan);
          if (!at (scan, ':'))
            return fail (scan, "a colon is missing behind a member's name");
          scan->p++;
        }
      if (!scan_value (scan, depth + 1))
        return FALSE;
      skip_space (scan);
      if (at (scan, close))
        {
          scan->p++;
          return TRUE;
        }
      if (!at (scan, ','))
        return fail (scan, scan->p == scan->end ? "the text ends inside an object or array"
                                                : "a comma or closing bracket is missing");
      scan->p++;
    }
}

static gboolean
scan_value (Scan *scan, guint depth)
{
  skip_space (scan);
  if (++scan->n_values > PRISM_MCP_MAX_VALUES)
    return fail (scan, "it holds too many values");
  if (at (scan, '{') || at (scan, '['))
    return scan_inside (scan, *scan->p == '{', depth);
  if (at (scan, '"'))
    return scan_string (scan, NULL);
  if (scan->p < scan->end && (*scan->p == '-' || g_ascii_isdigit (*scan->p)))
    return scan_number (scan);
  return scan_word (scan);
}

gboolean
prism_mcp_scan (const char *text, gsize length, PrismMcpOddity *oddity, gsize *offset, const char **problem)
{
  Scan scan = { text, text + length };
  const char *valid;
  gboolean good;

  if (!g_utf8_validate_len (text, length, &valid))
    {
      scan.p = valid;
      good = fail (&scan, "it is not UTF-8");
    }
  else if ((good = scan_value (&scan, 0)))
    {
      skip_space (&scan);
      good = scan.p == scan.end || fail (&scan, "something stands behind the value");
    }
  *oddity = scan.oddity;
  *offset = scan.p - text;
  *problem = scan.problem;
  return good;
}

const char *
prism_mcp_oddity_text (PrismMcpOddity oddity)
{
  switch (oddity)
    {
    case PRISM_MCP_ODD_NUL:
      return "a string holds the character U+0000, which no path, command or text here can; leave it out";
    case PRISM_MCP_ODD_SURROGATE:
      return "a string holds half of a surrogate pair, which is no character; send the whole pair, or leave it out";
    case PRISM_MCP_ODD_NUMBER:
      return "a number does not fit into 64 bits; send a smaller one";
    case PRISM_MCP_ODD_NOTHING:
    default:
      return NULL;
    }
}

static gboolean
is_name (PrismMcpSlice key, const char *name)
{
  g_autofree char *decoded = NULL;

  if (memchr (key.text, '\\', key.length) == NULL)
    return key.length == strlen (name) + 2 && memcmp (key.text + 1, name, key.length - 2) == 0;
  decoded = prism_mcp_slice_dup_string (key);
  return g_strcmp0 (decoded, name) == 0;
}

static PrismMcpSlice
take (Scan *scan)
{
  PrismMcpSlice slice;

  skip_space (scan);
  slice.text = scan->p;
  /* It has been scanned: this cannot fail, but for the count, which starts anew. */
  scan_value (scan, 0);
  slice.length = scan->p - slice.text;
  return slice;
}

static gboolean
begins (Scan *scan, PrismMcpSlice slice, char bracket)
{
  if (slice.text == NULL)
    return FALSE;
  *scan = (Scan){ slice.text, slice.text + slice.length };
  skip_space (scan);
  if (!at (scan, bracket))
    return FALSE;
  scan->p++;
  skip_space (scan);
  return scan->p < scan->end && *scan->p != '}' && *scan->p != ']';
}

/* To what comes next: FALSE where nothing does. */
static gboolean
advance (Scan *scan)
{
  skip_space (scan);
  if (!at (scan, ','))
    return FALSE;
  scan->p++;
  skip_space (scan);
  return TRUE;
}

gboolean
prism_mcp_scan_members (PrismMcpSlice object, PrismMcpMember *members, guint n_members, const char **twice)
{
  Scan scan;
  gboolean more = begins (&scan, object, '{');

  for (guint i = 0; i < n_members; i++)
    members[i].value = (PrismMcpSlice){ NULL, 0 };
  for (; more; more = advance (&scan))
    {
      PrismMcpSlice key = take (&scan), value;

      skip_space (&scan);
      scan.p++;
      value = take (&scan);
      for (guint i = 0; i < n_members; i++)
        if (is_name (key, members[i].name))
          {
            if (members[i].value.text != NULL)
              {
                *twice = members[i].name;
                return FALSE;
              }
            members[i].value = value;
          }
    }
  return TRUE;
}

GArray *
prism_mcp_scan_elements (PrismMcpSlice array)
{
  GArray *elements = g_array_new (FALSE, FALSE, sizeof (PrismMcpSlice));
  Scan scan;

  for (gboolean more = begins (&scan, array, '['); more; more = advance (&scan))
    {
      PrismMcpSlice element = take (&scan);

      g_array_append_val (elements, element);
    }
  return elements;
}

/* Where it is there twice, or @object is none: not there. */
PrismMcpSlice
prism_mcp_slice_member (PrismMcpSlice object, const char *name)
{
  PrismMcpMember member = { name };
  const char *twice;

  if (!prism_mcp_scan_members (object, &member, 1, &twice))
    return (PrismMcpSlice){ NULL, 0 };
  return member.value;
}

char
prism_mcp_slice_kind (PrismMcpSlice slice)
{
  return slice.text != NULL && slice.length > 0 ? slice.text[0] : '\0';
}

char *
prism_mcp_slice_dup_string (PrismMcpSlice slice)
{
  g_autoptr (GString) text = NULL;
  Scan scan;

  if (prism_mcp_slice_kind (slice) != '"')
    return NULL;
  scan = (Scan){ slice.text, slice.text + slice.length };
  text = g_string_sized_new (slice.length);
  if (!scan_string (&scan, text) || scan.oddity != PRISM_MCP_ODD_NOTHING)
    return NULL;
  return g_string_free (g_steal_pointer (&text), FALSE);
}

gboolean
prism_mcp_slice_integer (PrismMcpSlice slice, gint64 *value)
{
  return slice.text != NULL && read_whole (slice.text, slice.length, value);
}
