/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values of each kind in a policy file, read strictly. Pure. */
#include "prism-policy-reader-private.h"

#include <string.h>

#define MAX_LIST 65536

gboolean
prism_policy_refuse (PrismPolicyReader *self, const char *wrong)
{
  if (self->error == NULL)
    prism_json_set_fault (&self->faults, &self->error, self->path->len > 0 ? self->path->str : "/", wrong);
  return FALSE;
}

/* The message of a value's own type, which says it all but where. */
gboolean
prism_policy_refuse_for (PrismPolicyReader *self, GError *reason)
{
  g_autoptr (GError) owned = reason;

  return prism_policy_refuse (self, owned->message);
}

gboolean
prism_policy_read_at (PrismPolicyReader *self, const char *name, JsonNode *node, gpointer into, PrismPolicyRead read)
{
  gsize before = self->path->len;
  gboolean good;

  g_string_append_printf (self->path, "/%s", name);
  good = read (self, node, into);
  if (good)
    g_string_truncate (self->path, before);
  return good;
}

static const PrismPolicyMember *
find_member (const PrismPolicyMember *members, const char *name)
{
  for (; members->name != NULL; members++)
    if (g_str_equal (members->name, name))
      return members;
  return NULL;
}

static gboolean
refuse_unknown (PrismPolicyReader *self, const PrismPolicyMember *members, const char *name)
{
  g_autoptr (GString) list = g_string_new ("unknown; there are: ");

  for (guint i = 0; members[i].name != NULL; i++)
    g_string_append_printf (list, "%s%s", i > 0 ? ", " : "", members[i].name);
  g_string_append_printf (self->path, "/%s", name);
  return prism_policy_refuse (self, list->str);
}

gboolean
prism_policy_read_object (PrismPolicyReader *self, JsonNode *node, const PrismPolicyMember *members, gpointer into)
{
  JsonObjectIter iter;
  const char *name;
  JsonNode *value;
  g_autofree char *wrong = NULL;

  if (!JSON_NODE_HOLDS_OBJECT (node))
    return prism_policy_refuse (self, "an object is expected");
  json_object_iter_init_ordered (&iter, json_node_get_object (node));
  while (json_object_iter_next_ordered (&iter, &name, &value))
    {
      const PrismPolicyMember *member = find_member (members, name);

      if (member == NULL)
        return refuse_unknown (self, members, name);
      if (!prism_policy_read_at (self, name, value, into, member->read))
        return FALSE;
    }
  for (; members->name != NULL; members++)
    if (members->required && !json_object_has_member (json_node_get_object (node), members->name))
      {
        g_string_append_printf (self->path, "/%s", members->name);
        if (members->expected == NULL)
          return prism_policy_refuse (self, "missing");
        wrong = g_strdup_printf ("missing; it is %s", members->expected);
        return prism_policy_refuse (self, wrong);
      }
  return TRUE;
}

gboolean
prism_policy_read_list (PrismPolicyReader *self, JsonNode *node, gpointer into, PrismPolicyRead read)
{
  JsonArray *array;

  if (!JSON_NODE_HOLDS_ARRAY (node))
    return prism_policy_refuse (self, "a list is expected");
  array = json_node_get_array (node);
  if (json_array_get_length (array) > MAX_LIST)
    return prism_policy_refuse (self, "more than 65536");
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      char number[16];

      g_snprintf (number, sizeof number, "%u", i);
      if (!prism_policy_read_at (self, number, json_array_get_element (array, i), into, read))
        return FALSE;
    }
  return TRUE;
}

/* A pointer to a string that the document keeps. */
gboolean
prism_policy_read_string (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  const char *text = prism_json_get_string (node);

  *(const char **)into = text;
  return text != NULL || prism_policy_refuse (self, "a string is expected");
}

gboolean
prism_policy_read_boolean (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_BOOLEAN)
    return prism_policy_refuse (self, "true or false is expected");
  *(gboolean *)into = json_node_get_boolean (node);
  return TRUE;
}

/* One of the words, which end with NULL; its index. */
gboolean
prism_policy_read_word (PrismPolicyReader *self, JsonNode *node, const char *const *words, guint *index)
{
  const char *text = prism_json_get_string (node);
  g_autofree char *list = g_strjoinv (", ", (char **)words);
  g_autofree char *wrong = g_strdup_printf ("one of these is expected: %s", list);

  for (guint i = 0; text != NULL && words[i] != NULL; i++)
    if (g_str_equal (words[i], text))
      {
        *index = i;
        return TRUE;
      }
  return prism_policy_refuse (self, wrong);
}

/* Absolute from here on. */
gboolean
prism_policy_read_path (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  const char *text = prism_json_get_string (node);

  if (text == NULL || text[0] == '\0' || strlen (text) > 4095)
    return prism_policy_refuse (self, "a path is expected");
  g_ptr_array_add (into, g_canonicalize_filename (text, self->folder));
  return TRUE;
}
