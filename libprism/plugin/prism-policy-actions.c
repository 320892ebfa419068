/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a policy file says of commands and tools. Pure. */
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
  return prism_policy_read_list (self, node, self->contents->roots, prism_policy_read_path)
         && note_action_member (self, "roots");
}

gboolean
prism_policy_read_only_flag (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_boolean (self, node, &self->contents->only_reads) && note_action_member (self, "readOnly");
}

gboolean
prism_policy_read_metacharacters (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_boolean (self, node, &self->contents->deny_metacharacters)
         && note_action_member (self, "denyMetacharacters");
}

/* --- rules ------------------------------------------------------------------------------------ */

typedef struct
{
  guint match, action;
  JsonNode *pattern;
  const char *reason;
} WrittenRule;

static gboolean
read_match (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  static const char *const words[] = { "prefix", "word", "glob", "regex", NULL };

  return prism_policy_read_word (self, node, words, &((WrittenRule *)into)->match);
}

static gboolean
read_action (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  static const char *const words[] = { "allow", "deny", "requireApproval", NULL };

  return prism_policy_read_word (self, node, words, &((WrittenRule *)into)->action);
}

static gboolean
read_pattern_word (PrismPolicyReader *self, JsonNode *node, gpointer words)
{
  const char *text;

  if (!prism_policy_read_string (self, node, &text))
    return FALSE;
  if (words != NULL)
    g_ptr_array_add (words, (gpointer)text);
  return TRUE;
}

/* Its form depends on `match`, which may come after it. */
static gboolean
read_pattern (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  ((WrittenRule *)into)->pattern = node;
  if (JSON_NODE_HOLDS_ARRAY (node))
    return prism_policy_read_list (self, node, NULL, read_pattern_word);
  return prism_json_get_string (node) != NULL
         || prism_policy_refuse (self, "a string, or for match=prefix a list of them, is expected");
}

static gboolean
read_reason (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_string (self, node, &((WrittenRule *)into)->reason);
}

static PrismCommandRule *
make_rule (PrismPolicyReader *self, const WrittenRule *written, GError **error)
{
  static const PrismVerdict verdicts[] = { PRISM_VERDICT_ALLOW, PRISM_VERDICT_DENY, PRISM_VERDICT_ASK };
  g_autoptr (GPtrArray) words = g_ptr_array_new ();

  if (written->match != 0)
    return prism_command_rule_new ((PrismCommandMatch)written->match, prism_json_get_string (written->pattern),
                                   verdicts[written->action], written->reason, error);
  prism_policy_read_list (self, written->pattern, words, read_pattern_word);
  g_ptr_array_add (words, NULL);
  return prism_command_rule_new_prefix ((const char *const *)words->pdata, verdicts[written->action], written->reason,
                                        error);
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
  WrittenRule written = { 0 };
  PrismCommandRule *rule = NULL;
  GError *error = NULL;
  gboolean list;

  if (!prism_policy_read_object (self, node, members, &written))
    return FALSE;
  list = JSON_NODE_HOLDS_ARRAY (written.pattern);
  if (list == (written.match == 0))
    {
      rule = make_rule (self, &written, &error);
      if (rule != NULL)
        {
          g_ptr_array_add (self->contents->rules, rule);
          return TRUE;
        }
    }
  g_string_append (self->path, "/pattern");
  if (error != NULL)
    return prism_policy_refuse_for (self, error);
  return prism_policy_refuse (self, written.match == 0 ? "match=prefix takes a list of words"
                                                       : "only match=prefix takes a list");
}

gboolean
prism_policy_read_command_rules (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  return prism_policy_read_list (self, node, NULL, read_command_rule) && note_action_member (self, "commandRules");
}

/* --- approval ------------------------------------------------------------------------------------ */

static gboolean
read_cache (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  static const char *const words[] = { "none", "run", "session", NULL };

  return prism_policy_read_word (self, node, words, &self->contents->cache);
}

static gboolean
read_timeout (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  gint64 ms =
      JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_INT64 ? json_node_get_int (node) : -1;

  self->contents->timeout_ms = ms;
  return (ms >= 0 && ms <= G_MAXINT32)
         || prism_policy_refuse (self, "a number of milliseconds from 0 (no deadline) to 2147483647 is expected");
}

gboolean
prism_policy_read_approval (PrismPolicyReader *self, JsonNode *node, gpointer into)
{
  static const PrismPolicyMember members[] = { { "cache", read_cache }, { "timeoutMs", read_timeout }, { NULL } };

  return prism_policy_read_object (self, node, members, NULL) && note_action_member (self, "approval");
}
