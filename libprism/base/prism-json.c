/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* json-glib's own parser takes comments, trailing commas, duplicate members and
 * more, and says nothing of it. What decides about a sandbox is read by this one
 * instead, into json-glib's values. */
#include "prism-json-private.h"

#include <math.h>
#include <string.h>

#define MAX_BYTES  (1024u * 1024u)
#define MAX_DEPTH  16
#define MAX_VALUES 65536
#define MAX_SAFE   G_GINT64_CONSTANT (9007199254740991)

typedef struct
{
  const char *start, *at, *end;
  guint depth, values;
  GString *path;
  const char *wrong;
  gboolean is_member; /* what is wrong is said of the path, not of the place */
} Reader;

static JsonNode *read_value (Reader *self);

static gpointer
fail (Reader *self, const char *wrong)
{
  if (self->wrong == NULL)
    self->wrong = wrong;
  return NULL;
}

static void
skip_blanks (Reader *self)
{
  while (self->at < self->end && strchr (" \t\r\n", *self->at) != NULL)
    self->at++;
}

static gboolean
take (Reader *self, char c)
{
  if (self->at == self->end || *self->at != c)
    return FALSE;
  self->at++;
  return TRUE;
}

/* --- strings ----------------------------------------------------------------- */

static gboolean
read_hex (Reader *self, gunichar *unit)
{
  *unit = 0;
  for (guint i = 0; i < 4; i++)
    {
      int digit = self->at < self->end ? g_ascii_xdigit_value (*self->at) : -1;

      if (digit < 0)
        return FALSE;
      *unit = *unit * 16 + (gunichar)digit;
      self->at++;
    }
  return TRUE;
}

static gboolean
read_unicode (Reader *self, GString *text)
{
  gunichar unit, low;

  if (!read_hex (self, &unit))
    return FALSE;
  if (unit >= 0xd800 && unit < 0xdc00)
    {
      if (!take (self, '\\') || !take (self, 'u') || !read_hex (self, &low) || low < 0xdc00 || low > 0xdfff)
        return FALSE;
      unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
  else if (unit == 0 || (unit >= 0xdc00 && unit < 0xe000))
    return FALSE;
  g_string_append_unichar (text, unit);
  return TRUE;
}

static gboolean
read_escape (Reader *self, GString *text)
{
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char *found;

  if (take (self, 'u'))
    return read_unicode (self, text);
  found = self->at < self->end && *self->at != '\0' ? strchr (from, *self->at) : NULL;
  if (found == NULL)
    return FALSE;
  g_string_append_c (text, to[found - from]);
  self->at++;
  return TRUE;
}

static char *
read_string (Reader *self)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (!take (self, '"'))
    return fail (self, "a string in double quotes is expected");
  while (self->at < self->end && *self->at != '"')
    {
      if ((guchar)*self->at < 0x20)
        return fail (self, "a control character has to be escaped");
      if (*self->at != '\\')
        g_string_append_c (text, *self->at++);
      else
        {
          self->at++;
          if (!read_escape (self, text))
            return fail (self, "an escape sequence is malformed");
        }
    }
  if (!take (self, '"'))
    return fail (self, "a string does not end");
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* --- numbers ----------------------------------------------------------------- */

static gboolean
skip_digits (Reader *self)
{
  const char *from = self->at;

  while (self->at < self->end && g_ascii_isdigit (*self->at))
    self->at++;
  return self->at > from;
}

/* Past a number as the grammar has it; *@whole is whether it is an integer. */
static gboolean
skip_number (Reader *self, gboolean *whole)
{
  *whole = TRUE;
  take (self, '-');
  if (!take (self, '0') && !skip_digits (self))
    return FALSE;
  if (take (self, '.'))
    {
      *whole = FALSE;
      if (!skip_digits (self))
        return FALSE;
    }
  if (take (self, 'e') || take (self, 'E'))
    {
      *whole = FALSE;
      if (!take (self, '+'))
        take (self, '-');
      if (!skip_digits (self))
        return FALSE;
    }
  return TRUE;
}

static JsonNode *
read_number (Reader *self)
{
  const char *from = self->at;
  g_autofree char *text = NULL;
  gboolean whole;
  double value;

  if (!skip_number (self, &whole))
    return fail (self, "a value is expected");
  text = g_strndup (from, (gsize)(self->at - from));
  value = g_ascii_strtod (text, NULL);
  if (!isfinite (value) || (whole && fabs (value) > (double)MAX_SAFE))
    return fail (self, "a number is out of range");
  if (whole)
    return json_node_init_int (json_node_alloc (), g_ascii_strtoll (text, NULL, 10));
  return json_node_init_double (json_node_alloc (), value);
}

/* --- values ------------------------------------------------------------------ */

static gboolean
read_member (Reader *self, JsonObject *object)
{
  gsize length = self->path->len;
  g_autofree char *name = NULL;
  JsonNode *value;

  skip_blanks (self);
  name = read_string (self);
  if (name == NULL)
    return FALSE;
  g_string_append_printf (self->path, "/%s", name);
  if (json_object_has_member (object, name))
    {
      self->is_member = TRUE;
      fail (self, "appears twice");
      return FALSE;
    }
  skip_blanks (self);
  if (!take (self, ':'))
    {
      fail (self, "a colon is expected");
      return FALSE;
    }
  value = read_value (self);
  if (value == NULL)
    return FALSE;
  json_object_set_member (object, name, value);
  g_string_truncate (self->path, length);
  return TRUE;
}

static gboolean
read_element (Reader *self, JsonArray *array)
{
  gsize length = self->path->len;
  JsonNode *value;

  g_string_append_printf (self->path, "/%u", json_array_get_length (array));
  value = read_value (self);
  if (value == NULL)
    return FALSE;
  json_array_add_element (array, value);
  g_string_truncate (self->path, length);
  return TRUE;
}

static JsonNode *
read_object (Reader *self)
{
  g_autoptr (JsonObject) object = json_object_new ();

  skip_blanks (self);
  if (!take (self, '}'))
    do
      {
        if (!read_member (self, object))
          return NULL;
        skip_blanks (self);
        if (take (self, '}'))
          break;
        if (!take (self, ','))
          return fail (self, "a comma or a closing brace is expected");
      }
    while (TRUE);
  return json_node_init_object (json_node_alloc (), object);
}

static JsonNode *
read_array (Reader *self)
{
  g_autoptr (JsonArray) array = json_array_new ();

  skip_blanks (self);
  if (!take (self, ']'))
    do
      {
        if (!read_element (self, array))
          return NULL;
        skip_blanks (self);
        if (take (self, ']'))
          break;
        if (!take (self, ','))
          return fail (self, "a comma or a closing bracket is expected");
      }
    while (TRUE);
  return json_node_init_array (json_node_alloc (), array);
}

static gboolean
take_word (Reader *self, const char *word)
{
  gsize length = strlen (word);

  if ((gsize)(self->end - self->at) < length || memcmp (self->at, word, length) != 0)
    return FALSE;
  self->at += length;
  return TRUE;
}

static JsonNode *
read_scalar (Reader *self)
{
  if (self->at < self->end && *self->at == '"')
    {
      g_autofree char *text = read_string (self);
      return text != NULL ? json_node_init_string (json_node_alloc (), text) : NULL;
    }
  if (take_word (self, "true"))
    return json_node_init_boolean (json_node_alloc (), TRUE);
  if (take_word (self, "false"))
    return json_node_init_boolean (json_node_alloc (), FALSE);
  if (take_word (self, "null"))
    return json_node_init_null (json_node_alloc ());
  return read_number (self);
}

static JsonNode *
read_value (Reader *self)
{
  JsonNode *value;

  if (++self->values > MAX_VALUES)
    return fail (self, "there are too many values");
  if (self->depth == MAX_DEPTH)
    return fail (self, "it is nested too deeply");
  self->depth++;
  skip_blanks (self);
  if (take (self, '{'))
    value = read_object (self);
  else if (take (self, '['))
    value = read_array (self);
  else
    value = read_scalar (self);
  self->depth--;
  return value;
}

static void
set_syntax_fault (const Reader *self, const PrismJsonFaults *faults, GError **error)
{
  guint line = 1;
  const char *start = self->start;

  for (const char *p = self->start; p < self->at; p++)
    if (*p == '\n')
      {
        line++;
        start = p + 1;
      }
  g_set_error (error, faults->domain, faults->code, "%s: line %u, column %u: %s", faults->what, line,
               (guint)(self->at - start) + 1, self->wrong);
}

void
prism_json_set_fault (const PrismJsonFaults *faults, GError **error, const char *path, const char *wrong)
{
  g_autofree char *cut = g_utf8_substring (path, 0, MIN (g_utf8_strlen (path, -1), 100));
  g_autofree char *shown = g_strescape (cut, NULL);

  g_set_error (error, faults->domain, faults->code, "%s: %s: %s", faults->what, shown, wrong);
}

JsonNode *
prism_json_parse (const char *text, gsize length, const PrismJsonFaults *faults, GError **error)
{
  return prism_json_parse_up_to (text, length, MAX_BYTES, faults, error);
}

JsonNode *
prism_json_parse_up_to (const char *text, gsize length, gsize most, const PrismJsonFaults *faults, GError **error)
{
  g_autoptr (GString) path = g_string_new (NULL);
  g_autoptr (JsonNode) value = NULL;
  Reader reader = { .start = text, .at = text, .end = text + length, .path = path };

  if (length > most)
    {
      g_set_error (error, faults->domain, faults->code, "%s: longer than %" G_GSIZE_FORMAT " MiB", faults->what,
                   most >> 20);
      return NULL;
    }
  if (!g_utf8_validate_len (text, length, &reader.at))
    fail (&reader, "not UTF-8, or a NUL");
  else
    {
      reader.at = text;
      value = read_value (&reader);
      if (value != NULL)
        skip_blanks (&reader);
      if (value != NULL && reader.at < reader.end)
        fail (&reader, "something follows the end");
    }
  if (reader.wrong == NULL)
    return g_steal_pointer (&value);
  if (reader.is_member)
    prism_json_set_fault (faults, error, path->str, reader.wrong);
  else
    set_syntax_fault (&reader, faults, error);
  return NULL;
}

/* --- objects of known members ------------------------------------------------ */

static const PrismJsonMember *
find_member (const PrismJsonMember *members, const char *name)
{
  for (; members->name != NULL; members++)
    if (g_str_equal (members->name, name))
      return members;
  return NULL;
}

const char *
prism_json_get_string (JsonNode *node)
{
  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING
             ? json_node_get_string (node)
             : NULL;
}

/* NULL, or what it should be. */
static const char *
read_as (JsonNode *value, const PrismJsonMember *member, gpointer into)
{
  gpointer place = (char *)into + member->offset;
  GType type = JSON_NODE_HOLDS_VALUE (value) ? json_node_get_value_type (value) : G_TYPE_INVALID;

  switch (member->type)
    {
    case PRISM_JSON_STRING:
      if (type != G_TYPE_STRING)
        return "a string is expected";
      *(const char **)place = json_node_get_string (value);
      return NULL;
    case PRISM_JSON_INTEGER:
      if (type != G_TYPE_INT64 || json_node_get_int (value) < 0)
        return "a whole number from 0 to 9007199254740991 is expected";
      *(gint64 *)place = json_node_get_int (value);
      return NULL;
    case PRISM_JSON_BOOLEAN:
    default:
      if (type != G_TYPE_BOOLEAN)
        return "true or false is expected";
      *(gboolean *)place = json_node_get_boolean (value);
      return NULL;
    }
}

static char *
list_members (const PrismJsonMember *members)
{
  g_autoptr (GString) list = g_string_new ("unknown; there are: ");

  for (guint i = 0; members[i].name != NULL; i++)
    g_string_append_printf (list, "%s%s", i > 0 ? ", " : "", members[i].name);
  return g_string_free (g_steal_pointer (&list), FALSE);
}

static gboolean
set_member_fault (const PrismJsonFaults *faults, GError **error, const char *name, const char *wrong)
{
  g_autofree char *path = g_strconcat ("/", name, NULL);

  prism_json_set_fault (faults, error, path, wrong);
  return FALSE;
}

gboolean
prism_json_read_members (
    JsonNode *node, const PrismJsonMember *members, gpointer into, const PrismJsonFaults *faults, GError **error)
{
  JsonObjectIter iter;
  const char *name;
  JsonNode *value;

  if (!JSON_NODE_HOLDS_OBJECT (node))
    {
      prism_json_set_fault (faults, error, "/", "an object is expected");
      return FALSE;
    }
  json_object_iter_init_ordered (&iter, json_node_get_object (node));
  while (json_object_iter_next_ordered (&iter, &name, &value))
    {
      const PrismJsonMember *member = find_member (members, name);
      g_autofree char *unknown = member == NULL ? list_members (members) : NULL;
      const char *wrong = member == NULL ? unknown : read_as (value, member, into);

      if (wrong != NULL)
        return set_member_fault (faults, error, name, wrong);
    }
  for (; members->name != NULL; members++)
    if (members->required && !json_object_has_member (json_node_get_object (node), members->name))
      return set_member_fault (faults, error, members->name, "missing");
  return TRUE;
}
