/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a policy file says of commands and tools: judged for its form, and kept by name,
 * so that whoever would have to decide by it can refuse. Pure. */
#include "prism-policy-reader-private.h"

static gboolean
note_action_member (PrismPolicyReader *self, const char *name)
{
  g_ptr_array_add (self->contents->action_members, g_strdup (name));
  return TRUE;
}

gboolean
prism_policy_read_roots (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  g_autoptr (GPtrArray) roots = g_ptr_array_new_with_free_func (g_free);

  return prism_policy_read_list (self, node, roots, prism_policy_read_path) && note_action_member (self, "roots");
}

gboolean
prism_policy_read_only_flag (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  gboolean flag;

  return prism_policy_read_boolean (self, node, &flag) && note_action_member (self, "readOnly");
}

static gboolean
read_match (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  static const char *const words[] = { "prefix", "word", "glob", "regex", NULL };

  return prism_policy_read_word (self, node, words, into);
}

static gboolean
read_action (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  static const char *const words[] = { "allow", "deny", "requireApproval", NULL };
  guint action;

  return prism_policy_read_word (self, node, words, &action);
}

static gboolean
read_pattern_word (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  const char *text;

  return prism_policy_read_string (self, node, &text);
}

/* Its form depends on `match`, which may come after it. */
static gboolean
read_pattern (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  if (JSON_NODE_HOLDS_ARRAY (node))
    return prism_policy_read_list (self, node, NULL, read_pattern_word);
  return prism_policy_get_string (node) != NULL
         || prism_policy_refuse (self, "a string, or for match=prefix a list of them, is expected");
}

static gboolean
read_reason (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  const char *text;

  return prism_policy_read_string (self, node, &text);
}

static gboolean
read_command_rule (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  static const PrismPolicyMember members[] = {
    { "match", read_match, TRUE },
    { "pattern", read_pattern, TRUE },
    { "action", read_action, TRUE },
    { "reason", read_reason, FALSE },
    { NULL },
  };
  guint match = 0;
  gboolean list;

  if (!prism_policy_read_object (self, node, members, &match))
    return FALSE;
  list = JSON_NODE_HOLDS_ARRAY (json_object_get_member (json_node_get_object (node), "pattern"));
  if (list == (match == 0))
    return TRUE;
  g_string_append (self->path, "/pattern");
  return prism_policy_refuse (self,
                              match == 0 ? "match=prefix takes a list of words" : "only match=prefix takes a list");
}

gboolean
prism_policy_read_command_rules (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_list (self, node, NULL, read_command_rule) && note_action_member (self, "commandRules");
}

static gboolean
read_cache (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  static const char *const words[] = { "none", "run", "session", NULL };
  guint cache;

  return prism_policy_read_word (self, node, words, &cache);
}

static gboolean
read_timeout (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  gint64 ms =
      JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_INT64 ? json_node_get_int (node) : -1;

  return (ms >= 0 && ms <= G_MAXINT32)
         || prism_policy_refuse (self, "a number of milliseconds from 0 (no deadline) to 2147483647 is expected");
}

gboolean
prism_policy_read_approval (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  static const PrismPolicyMember members[] = { { "cache", read_cache }, { "timeoutMs", read_timeout }, { NULL } };

  return prism_policy_read_object (self, node, members, NULL) && note_action_member (self, "approval");
}
