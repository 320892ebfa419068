/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a person may answer. TRUST: it comes by way of some program or another; it is a yes, or a
 * choice, only if it fits to the letter. */
#include "prism-suspension-private.h"

#include "prism-json-private.h"

#include <string.h>

#define MAX_CUSTOM 8192

static gpointer
refuse (GError **error, const char *message)
{
  g_set_error_literal (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_INVALID, message);
  return NULL;
}

static gboolean
get_flag (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_BOOLEAN
         && json_node_get_boolean (node);
}

static JsonNode *
one_member (const char *name, JsonNode *value)
{
  g_autoptr (JsonBuilder) builder = json_builder_new_immutable ();

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, name);
  json_builder_add_value (builder, value);
  json_builder_end_object (builder);
  return json_builder_get_root (builder);
}

/* --- approvals -------------------------------------------------------------------------------- */

static JsonNode *
read_decision (JsonObject *answer, GError **error)
{
  const char *decision = prism_json_get_string (json_object_get_member (answer, "decision"));

  if (json_object_get_size (answer) != 1 || (g_strcmp0 (decision, "allow") != 0 && g_strcmp0 (decision, "deny") != 0))
    return refuse (error, "answer with {\"decision\": \"allow\"} or {\"decision\": \"deny\"}");
  return one_member ("decision", json_node_init_string (json_node_alloc (), decision));
}

/* --- questions ---------------------------------------------------------------------------------- */

static gboolean
is_option (JsonObject *question, const char *id)
{
  JsonNode *node = json_object_get_member (question, "options");
  JsonArray *options = node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;

  for (guint i = 0; options != NULL && i < json_array_get_length (options); i++)
    {
      JsonNode *option = json_array_get_element (options, i);

      if (JSON_NODE_HOLDS_OBJECT (option)
          && g_strcmp0 (prism_json_get_string (json_object_get_member (json_node_get_object (option), "id")), id) == 0)
        return TRUE;
    }
  return FALSE;
}

static JsonNode *
read_custom (JsonObject *question, JsonNode *custom, GError **error)
{
  const char *text = prism_json_get_string (custom);
  JsonNode *most = json_object_get_member (question, "customBytes");
  gint64 bytes = most != NULL && JSON_NODE_HOLDS_VALUE (most) && json_node_get_value_type (most) == G_TYPE_INT64
                     ? MIN (json_node_get_int (most), MAX_CUSTOM)
                     : MAX_CUSTOM;

  if (!get_flag (question, "allowCustom"))
    return refuse (error, "only an option is an answer to this question");
  if (text == NULL || *text == '\0' || (gint64)strlen (text) > bytes)
    {
      g_set_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_INVALID,
                   "customText is a text of 1 to %" G_GINT64_FORMAT " bytes", bytes);
      return NULL;
    }
  for (const char *p = text; *p != '\0'; p++)
    if (((guchar)*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7f)
      return refuse (error, "customText has control characters");
  return one_member ("customText", json_node_ref (custom));
}

/* Of selectedIds and selectedId, where both are there, each says the same. */
static JsonNode *
read_selected (JsonObject *question, JsonNode *ids, JsonNode *id, GError **error)
{
  gboolean multiple =
      g_strcmp0 (prism_json_get_string (json_object_get_member (question, "selectionMode")), "multiple") == 0;
  g_autoptr (JsonArray) chosen = json_array_new ();
  JsonArray *all;

  if (ids != NULL && !JSON_NODE_HOLDS_ARRAY (ids))
    return refuse (error, "selectedIds is a list of options' ids");
  if (ids == NULL)
    {
      if (prism_json_get_string (id) == NULL)
        return refuse (error, "selectedId is an option's id");
      json_array_add_string_element (chosen, prism_json_get_string (id));
    }
  all = ids != NULL ? json_node_get_array (ids) : chosen;
  if (json_array_get_length (all) == 0 || (!multiple && json_array_get_length (all) != 1))
    return refuse (error, multiple ? "one option or more is to be chosen" : "one option is to be chosen");
  if (ids != NULL && id != NULL
      && (json_array_get_length (all) != 1
          || g_strcmp0 (prism_json_get_string (id), prism_json_get_string (json_array_get_element (all, 0))) != 0))
    return refuse (error, "selectedId and selectedIds do not say the same");
  for (guint i = 0; i < json_array_get_length (all); i++)
    {
      const char *option = prism_json_get_string (json_array_get_element (all, i));

      if (option == NULL || !is_option (question, option))
        return refuse (error, "an option is chosen that there is not");
      for (guint k = 0; k < i; k++)
        if (g_strcmp0 (option, prism_json_get_string (json_array_get_element (all, k))) == 0)
          return refuse (error, "an option is chosen twice");
    }
  return one_member ("selectedIds", json_node_init_array (json_node_alloc (), all));
}

static JsonNode *
read_choice (JsonObject *question, JsonObject *answer, GError **error)
{
  JsonNode *custom = json_object_get_member (answer, "customText");
  JsonNode *ids = json_object_get_member (answer, "selectedIds"), *id = json_object_get_member (answer, "selectedId");
  guint known = (custom != NULL) + (ids != NULL) + (id != NULL);

  if (known != json_object_get_size (answer) || (custom != NULL) == (ids != NULL || id != NULL))
    return refuse (error, "an answer is {\"selectedIds\": [ID...]} or {\"customText\": \"...\"}: one of the two");
  return custom != NULL ? read_custom (question, custom, error) : read_selected (question, ids, id, error);
}

JsonNode *
prism_suspension_read_answer (PrismSuspension *self, const char *answer, GError **error)
{
  const PrismJsonFaults faults = { PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_INVALID, "answer" };
  g_autoptr (JsonNode) node = prism_json_parse (answer, strlen (answer), &faults, error);
  JsonNode *question;

  if (node == NULL)
    return NULL;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return refuse (error, "an answer is a JSON object");
  if (g_str_equal (prism_suspension_get_reason (self), PRISM_SUSPENSION_REASON_APPROVAL))
    return read_decision (json_node_get_object (node), error);
  question = json_object_get_member (json_node_get_object (prism_suspension_get_schema (self)),
                                     PRISM_SUSPENSION_QUESTION_MEMBER);
  if (question == NULL || !JSON_NODE_HOLDS_OBJECT (question))
    return refuse (error, "what is asked is not known here");
  return read_choice (json_node_get_object (question), json_node_get_object (node), error);
}
