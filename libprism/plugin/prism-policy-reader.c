/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a policy file's text to what it says. Pure, and strict: an unknown or duplicate
 * member, a wrong type, a value out of range is an error that names the member by its
 * path (`/commandRules/3/action`) and says what is allowed. */
#include "prism-policy-reader-private.h"

/* --- version ------------------------------------------------------------------------- */

static gboolean
read_version (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_INT64 || json_node_get_int (node) != 1)
    return prism_policy_refuse (self, "1 is expected; this is another version's file");
  return TRUE;
}

/* --- limits ------------------------------------------------------------------------------ */

static gboolean
read_limit (PrismPolicyReader *self, JsonNode *node, gpointer name)
{
  PrismLimits *limits = self->contents->limits;
  const char *text = prism_json_get_string (node);
  GError *error = NULL;
  gboolean good;

  if (text != NULL)
    good = prism_limits_set_string (limits, name, text, &error);
  else if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_INT64)
    {
      g_autofree char *number = g_strdup_printf ("%" G_GINT64_FORMAT, json_node_get_int (node));
      good = prism_limits_set_string (limits, name, number, &error);
    }
  else
    return prism_policy_refuse (self, "a whole number, or a string such as \"512M\", \"60s\" or \"1.5\" is expected");
  return good || prism_policy_refuse_for (self, error);
}

static gboolean
read_profile (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  static const char *const words[] = { "standard", "strict", NULL };
  guint profile = 0;

  if (!prism_policy_read_word (self, node, words, &profile))
    return FALSE;
  *(PrismLimitsProfile *)into = profile == 0 ? PRISM_LIMITS_PROFILE_STANDARD : PRISM_LIMITS_PROFILE_STRICT;
  return TRUE;
}

/* The profile decides about the rest, wherever it stands. */
static gboolean
read_limits (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  PrismLimitsProfile profile = PRISM_LIMITS_PROFILE_STANDARD;
  JsonObjectIter iter;
  const char *name;
  JsonNode *value;

  if (!JSON_NODE_HOLDS_OBJECT (node))
    return prism_policy_refuse (self, "an object is expected");
  if (json_object_has_member (json_node_get_object (node), "profile")
      && !prism_policy_read_at (self, "profile", json_object_get_member (json_node_get_object (node), "profile"),
                                &profile, read_profile))
    return FALSE;
  self->contents->limits = prism_limits_new (profile);
  json_object_iter_init_ordered (&iter, json_node_get_object (node));
  while (json_object_iter_next_ordered (&iter, &name, &value))
    if (!g_str_equal (name, "profile") && !prism_policy_read_at (self, name, value, (gpointer)name, read_limit))
      return FALSE;
  return TRUE;
}

/* --- filesystem ----------------------------------------------------------------------------- */

static gboolean
read_read_only (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_list (self, node, self->contents->read_only, prism_policy_read_path);
}

static gboolean
read_read_write (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_list (self, node, self->contents->read_write, prism_policy_read_path);
}

static gboolean
read_hide (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_list (self, node, self->contents->hide, prism_policy_read_path);
}

static gboolean
read_protect (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_list (self, node, self->contents->protect, prism_policy_read_path);
}

static gboolean
read_filesystem (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  static const PrismPolicyMember members[] = {
    { "readOnly", read_read_only },
    { "readWrite", read_read_write },
    { "hide", read_hide },
    { "protect", read_protect },
    { NULL },
  };

  return prism_policy_read_object (self, node, members, NULL);
}

/* --- the whole --------------------------------------------------------------------------------- */

gboolean
prism_policy_contents_read (
    PrismPolicyContents *self, const char *text, gsize length, const char *name, const char *folder, GError **error)
{
  static const PrismPolicyMember members[] = {
    { "version", read_version },
    { "roots", prism_policy_read_roots },
    { "readOnly", prism_policy_read_only_flag },
    { "denyMetacharacters", prism_policy_read_metacharacters },
    { "commandRules", prism_policy_read_command_rules },
    { "approval", prism_policy_read_approval },
    { "egress", prism_policy_read_egress },
    { "credentials", prism_policy_read_credentials },
    { "limits", read_limits },
    { "filesystem", read_filesystem },
    { NULL },
  };
  g_autoptr (GString) path = g_string_new (NULL);
  PrismPolicyReader reader = { .contents = self,
                               .name = name,
                               .folder = folder,
                               .path = path,
                               .faults = { PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_MALFORMED, name } };
  g_autoptr (JsonNode) node = prism_json_parse (text, length, &reader.faults, error);

  if (node == NULL)
    return FALSE;
  if (prism_policy_read_object (&reader, node, members, NULL))
    return TRUE;
  g_propagate_error (error, reader.error);
  return FALSE;
}
