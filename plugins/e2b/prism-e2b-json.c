/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-e2b-json.h"

#include <libprism/prism.h>
#include <string.h>

JsonNode *
prism_e2b_json_get (JsonNode *node, const char *name)
{
  JsonNode *member = prism_http_json_get (node, name, NULL);
  g_autoptr (GString) other = NULL;

  if (member == NULL)
    {
      other = g_string_new (NULL);
      for (const char *p = name; *p != 0; p++)
        {
          if (g_ascii_isupper (*p))
            g_string_append_c (other, '_');
          g_string_append_c (other, g_ascii_tolower (*p));
        }
      member = prism_http_json_get (node, other->str, NULL);
    }
  return member != NULL && !JSON_NODE_HOLDS_NULL (member) ? member : NULL;
}

gboolean
prism_e2b_json_int64 (JsonNode *node, gint64 otherwise, gint64 *number)
{
  const char *text;

  *number = otherwise;
  if (node == NULL || JSON_NODE_HOLDS_NULL (node))
    return TRUE;
  if (!JSON_NODE_HOLDS_VALUE (node))
    return FALSE;
  if (json_node_get_value_type (node) == G_TYPE_INT64)
    {
      *number = json_node_get_int (node);
      return TRUE;
    }
  text = prism_http_json_text (node);
  return text != NULL && g_ascii_string_to_signed (text, 10, G_MININT64, G_MAXINT64, number, NULL);
}

/* --- base64 ---------------------------------------------------------------------------- */

#define NO_DIGIT 0xff

static guint8
digit (guint8 c)
{
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : NO_DIGIT;
}

static const guint8 *
digits (void)
{
  static guint8 table[256];
  static gsize once = 0;

  if (g_once_init_enter (&once))
    {
      for (guint i = 0; i < sizeof table; i++)
        table[i] = digit ((guint8)i);
      g_once_init_leave (&once, 1);
    }
  return table;
}

/* Padding where it belongs or none at all. What the last digit has too much is not looked
 * at, as by all who read proto3's JSON. */
GBytes *
prism_e2b_base64_decode (const char *text, gsize size)
{
  const guint8 *table = digits (), *in = (const guint8 *)text;
  g_autofree guint8 *bytes = NULL;
  guint8 *out;
  guint bits = 0, n_bits = 0;
  gsize padding = 0;

  while (padding < 2 && padding < size && text[size - padding - 1] == '=')
    padding++;
  if (padding > 0 && size % 4 != 0)
    return NULL;
  size -= padding;
  if (size % 4 == 1)
    return NULL;
  out = bytes = g_malloc (size / 4 * 3 + 3);
  for (gsize i = 0; i < size; i++)
    {
      guint8 value = table[in[i]];
      if (value == NO_DIGIT)
        return NULL;
      bits = bits << 6 | value;
      n_bits += 6;
      if (n_bits >= 8)
        {
          n_bits -= 8;
          *out++ = (guint8)(bits >> n_bits);
        }
    }
  size = (gsize)(out - bytes);
  return g_bytes_new_take (g_steal_pointer (&bytes), size);
}

/* --- writing --------------------------------------------------------------------------- */

GBytes *
prism_e2b_json_to_bytes (JsonNode *node)
{
  char *text = json_to_string (node, FALSE);

  json_node_unref (node);
  return g_bytes_new_take (text, strlen (text));
}

gboolean
prism_e2b_json_set_text (JsonObject *object, const char *name, const char *text, const char *what, GError **error)
{
  if (!g_utf8_validate (text, -1, NULL))
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID,
                   "%s is not UTF-8, and the service takes nothing else", what);
      return FALSE;
    }
  json_object_set_string_member (object, name, text);
  return TRUE;
}

JsonObject *
prism_e2b_json_new_map (const char *const *pairs, const char *what, GError **error)
{
  g_autoptr (JsonObject) map = json_object_new ();

  for (; pairs != NULL && *pairs != NULL; pairs++)
    {
      const char *sign = strchr (*pairs, '=');
      g_autofree char *name = NULL;

      if (sign == NULL || sign == *pairs || !g_utf8_validate (*pairs, sign - *pairs, NULL))
        {
          g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID, "%s: a name is malformed", what);
          return NULL;
        }
      name = g_strndup (*pairs, (gsize)(sign - *pairs));
      if (!prism_e2b_json_set_text (map, name, sign + 1, what, error))
        return NULL;
    }
  return g_steal_pointer (&map);
}
