/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-http-json.h"

#include <gio/gio.h>

#define MOST_DEEP 64

/* The parser calls itself for each level. */
static gboolean
is_shallow (const char *text, gsize size)
{
  gboolean quoted = FALSE;
  guint depth = 0;

  for (gsize i = 0; i < size; i++)
    if (quoted && text[i] == '\\')
      i++;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && (text[i] == '[' || text[i] == '{') && ++depth > MOST_DEEP)
      return FALSE;
    else if (!quoted && (text[i] == ']' || text[i] == '}') && depth > 0)
      depth--;
  return TRUE;
}

JsonNode *
prism_http_json_parse (GBytes *bytes, GError **error)
{
  g_autoptr (JsonParser) parser = NULL;
  g_autoptr (GError) failure = NULL;
  gsize size;
  const char *text = g_bytes_get_data (bytes, &size);

  if (text == NULL || !is_shallow (text, size) || !g_utf8_validate (text, (gssize)size, NULL))
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "the answer is %s",
                   text == NULL ? "empty" : "no JSON, or nested too deeply");
      return NULL;
    }
  parser = json_parser_new_immutable ();
  if (json_parser_load_from_data (parser, text, (gssize)size, &failure) && json_parser_get_root (parser) != NULL)
    return json_node_ref (json_parser_get_root (parser));
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "the answer is no JSON: %s",
               failure != NULL ? failure->message : "it is empty");
  return NULL;
}

JsonNode *
prism_http_json_get (JsonNode *node, ...)
{
  const char *name;
  va_list names;

  va_start (names, node);
  while (node != NULL && (name = va_arg (names, const char *)) != NULL)
    node = JSON_NODE_HOLDS_OBJECT (node) ? json_object_get_member (json_node_get_object (node), name) : NULL;
  va_end (names);
  return node;
}

const char *
prism_http_json_text (JsonNode *node)
{
  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING
             ? json_node_get_string (node)
             : NULL;
}

gint64
prism_http_json_number (JsonNode *node, gint64 otherwise)
{
  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_INT64
             ? json_node_get_int (node)
             : otherwise;
}

gboolean
prism_http_json_flag (JsonNode *node)
{
  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_BOOLEAN
         && json_node_get_boolean (node);
}

JsonArray *
prism_http_json_array (JsonNode *node)
{
  return node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
}

JsonObject *
prism_http_json_object (JsonNode *node)
{
  return node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}
