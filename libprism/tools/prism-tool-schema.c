/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of JSON Schema that the library's own tools use: type, properties, required,
 * additionalProperties: false, enum, items, minimum, maximum, minLength, minItems, maxItems.
 * What does not fit is said by its path, with what to send instead. */
#include "prism-tool-run-private.h"

#include <string.h>

#define MOST_SHOWN 60

static gboolean check_value (JsonObject *schema, JsonNode *value, const char *path, GError **error);

static const char *
type_of (JsonNode *value)
{
  if (JSON_NODE_HOLDS_OBJECT (value))
    return "object";
  if (JSON_NODE_HOLDS_ARRAY (value))
    return "array";
  if (JSON_NODE_HOLDS_NULL (value))
    return "null";
  switch (json_node_get_value_type (value))
    {
    case G_TYPE_STRING:
      return "string";
    case G_TYPE_INT64:
      return "integer";
    case G_TYPE_BOOLEAN:
      return "boolean";
    default:
      return "number";
    }
}

/* What it takes, as in a call: "path, offset?, limit?". */
static char *
names_of (JsonObject *schema)
{
  JsonObject *properties = json_object_get_object_member (schema, "properties");
  JsonArray *required =
      json_object_has_member (schema, "required") ? json_object_get_array_member (schema, "required") : NULL;
  g_autoptr (GList) names = json_object_get_members (properties);
  g_autoptr (GString) text = g_string_new (NULL);

  for (GList *l = names; l != NULL; l = l->next)
    {
      gboolean must = FALSE;
      for (guint i = 0; required != NULL && i < json_array_get_length (required); i++)
        must |= g_str_equal (json_array_get_string_element (required, i), l->data);
      g_string_append_printf (text, "%s%s%s", text->len > 0 ? ", " : "", (const char *)l->data, must ? "" : "?");
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static char *
join (const char *path, const char *name)
{
  return *path != '\0' ? g_strdup_printf ("%s.%s", path, name) : g_strdup (name);
}

static gboolean
check_object (JsonObject *schema, JsonObject *object, const char *path, GError **error)
{
  JsonObject *properties = json_object_get_object_member (schema, "properties");
  g_autoptr (GList) members = json_object_get_members (object);

  for (GList *l = members; l != NULL; l = l->next)
    {
      g_autofree char *below = join (path, l->data);
      if (!json_object_has_member (properties, l->data))
        {
          g_autofree char *names = names_of (schema);
          g_autofree char *shown = prism_visible_text (below, MOST_SHOWN, NULL);
          return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "unknown parameter “%s”; send only: %s", shown,
                                  names);
        }
      if (!check_value (json_object_get_object_member (properties, l->data), json_object_get_member (object, l->data),
                        below, error))
        return FALSE;
    }
  if (json_object_has_member (schema, "required"))
    {
      JsonArray *required = json_object_get_array_member (schema, "required");
      for (guint i = 0; i < json_array_get_length (required); i++)
        if (!json_object_has_member (object, json_array_get_string_element (required, i)))
          {
            g_autofree char *names = names_of (schema);
            g_autofree char *below = join (path, json_array_get_string_element (required, i));
            return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "“%s” is missing; send: %s", below, names);
          }
    }
  return TRUE;
}

static gboolean
check_array (JsonObject *schema, JsonArray *array, const char *path, GError **error)
{
  guint length = json_array_get_length (array);

  if (json_object_has_member (schema, "minItems") && length < (guint)json_object_get_int_member (schema, "minItems"))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "%s: send at least %" G_GINT64_FORMAT " items", path,
                            json_object_get_int_member (schema, "minItems"));
  if (json_object_has_member (schema, "maxItems") && length > (guint)json_object_get_int_member (schema, "maxItems"))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "%s: send at most %" G_GINT64_FORMAT " items", path,
                            json_object_get_int_member (schema, "maxItems"));
  for (guint i = 0; i < length; i++)
    {
      g_autofree char *below = g_strdup_printf ("%s[%u]", path, i);
      if (!check_value (json_object_get_object_member (schema, "items"), json_array_get_element (array, i), below,
                        error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
check_string (JsonObject *schema, const char *value, const char *path, GError **error)
{
  if (json_object_has_member (schema, "minLength") && *value == '\0')
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "%s: is empty; send a text", path);
  if (json_object_has_member (schema, "enum"))
    {
      JsonArray *values = json_object_get_array_member (schema, "enum");
      g_autoptr (GString) all = g_string_new (NULL);

      for (guint i = 0; i < json_array_get_length (values); i++)
        {
          if (g_str_equal (json_array_get_string_element (values, i), value))
            return TRUE;
          g_string_append_printf (all, "%s%s", i > 0 ? ", " : "", json_array_get_string_element (values, i));
        }
      return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "%s: send one of: %s", path, all->str);
    }
  return TRUE;
}

static gboolean
check_integer (JsonObject *schema, gint64 value, const char *path, GError **error)
{
  gint64 least = json_object_get_int_member_with_default (schema, "minimum", G_MININT64);
  gint64 most = json_object_get_int_member_with_default (schema, "maximum", G_MAXINT64);

  if (value >= least && value <= most)
    return TRUE;
  if (most == G_MAXINT64)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID,
                            "%s: %" G_GINT64_FORMAT " is too small; send at least %" G_GINT64_FORMAT, path, value,
                            least);
  return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID,
                          "%s: %" G_GINT64_FORMAT " is out of range; send %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                          path, value, least, most);
}

static gboolean
check_value (JsonObject *schema, JsonNode *value, const char *path, GError **error)
{
  const char *type = json_object_get_string_member (schema, "type"), *is = type_of (value);

  if (!g_str_equal (type, is))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "%s: is of type %s; send %s %s", path, is,
                            strchr ("aio", type[0]) != NULL ? "an" : "a", type);
  if (JSON_NODE_HOLDS_OBJECT (value))
    return check_object (schema, json_node_get_object (value), path, error);
  if (JSON_NODE_HOLDS_ARRAY (value))
    return check_array (schema, json_node_get_array (value), path, error);
  if (g_str_equal (type, "string"))
    return check_string (schema, json_node_get_string (value), path, error);
  if (g_str_equal (type, "integer"))
    return check_integer (schema, json_node_get_int (value), path, error);
  return TRUE;
}

gboolean
prism_tool_schema_check (JsonObject *schema, JsonObject *arguments, GError **error)
{
  return check_object (schema, arguments, "", error);
}
