/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a policy file's text to what it says. Pure, and strict: an unknown or duplicate
 * member, a wrong type, a value out of range is an error that names the member by its
 * path (`/commandRules/3/action`) and says what is allowed. What it says of commands and
 * approval is judged for its form and handed to nobody yet. */
#include "prism-policy-file-private.h"

#include <string.h>

#include "prism-json-private.h"

#define MAX_LIST 65536

typedef struct
{
  PrismPolicyContents *contents;
  const char *name, *folder;
  GString *path; /* of what is being read */
  PrismJsonFaults faults;
  GError *error;
} Reader;

typedef struct
{
  const char *name;
  gboolean (*read) (Reader *self, JsonNode *node, gpointer into);
  gboolean required;
} Member;

/* --- what any member can be ------------------------------------------------------- */

static gboolean
refuse (Reader *self, const char *wrong)
{
  if (self->error == NULL)
    prism_json_set_fault (&self->faults, &self->error, self->path->len > 0 ? self->path->str : "/", wrong);
  return FALSE;
}

/* The message of a value's own type, which says it all but where. */
static gboolean
refuse_for (Reader *self, GError *reason)
{
  g_autoptr (GError) owned = reason;

  return refuse (self, owned->message);
}

static gboolean
read_at (
    Reader *self, const char *name, JsonNode *node, gpointer into, gboolean (*read) (Reader *, JsonNode *, gpointer))
{
  gsize before = self->path->len;
  gboolean good;

  g_string_append_printf (self->path, "/%s", name);
  good = read (self, node, into);
  if (good)
    g_string_truncate (self->path, before);
  return good;
}

static const Member *
find_member (const Member *members, const char *name)
{
  for (; members->name != NULL; members++)
    if (g_str_equal (members->name, name))
      return members;
  return NULL;
}

static gboolean
refuse_unknown (Reader *self, const Member *members, const char *name)
{
  g_autoptr (GString) list = g_string_new ("unknown; there are: ");

  for (guint i = 0; members[i].name != NULL; i++)
    g_string_append_printf (list, "%s%s", i > 0 ? ", " : "", members[i].name);
  g_string_append_printf (self->path, "/%s", name);
  return refuse (self, list->str);
}

static gboolean
read_object (Reader *self, JsonNode *node, const Member *members, gpointer into)
{
  JsonObjectIter iter;
  const char *name;
  JsonNode *value;

  if (!JSON_NODE_HOLDS_OBJECT (node))
    return refuse (self, "an object is expected");
  json_object_iter_init_ordered (&iter, json_node_get_object (node));
  while (json_object_iter_next_ordered (&iter, &name, &value))
    {
      const Member *member = find_member (members, name);

      if (member == NULL)
        return refuse_unknown (self, members, name);
      if (!read_at (self, name, value, into, member->read))
        return FALSE;
    }
  for (; members->name != NULL; members++)
    if (members->required && !json_object_has_member (json_node_get_object (node), members->name))
      {
        g_string_append_printf (self->path, "/%s", members->name);
        return refuse (self, "missing");
      }
  return TRUE;
}

static gboolean
read_list (Reader *self, JsonNode *node, gpointer into, gboolean (*read) (Reader *, JsonNode *, gpointer))
{
  JsonArray *array;

  if (!JSON_NODE_HOLDS_ARRAY (node))
    return refuse (self, "a list is expected");
  array = json_node_get_array (node);
  if (json_array_get_length (array) > MAX_LIST)
    return refuse (self, "more than 65536");
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      char number[16];

      g_snprintf (number, sizeof number, "%u", i);
      if (!read_at (self, number, json_array_get_element (array, i), into, read))
        return FALSE;
    }
  return TRUE;
}

static const char *
get_string (JsonNode *node)
{
  return JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING ? json_node_get_string (node)
                                                                                          : NULL;
}

/* A pointer to a string that the document keeps. */
static gboolean
read_string (Reader *self, JsonNode *node, gpointer into)
{
  const char *text = get_string (node);

  *(const char **)into = text;
  return text != NULL || refuse (self, "a string is expected");
}

static gboolean
read_boolean (Reader *self, JsonNode *node, gpointer into)
{
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_BOOLEAN)
    return refuse (self, "true or false is expected");
  *(gboolean *)into = json_node_get_boolean (node);
  return TRUE;
}

/* One of the words, which end with NULL; its index. */
static gboolean
read_word (Reader *self, JsonNode *node, const char *const *words, guint *index)
{
  const char *text = get_string (node);
  g_autofree char *list = g_strjoinv (", ", (char **)words);
  g_autofree char *wrong = g_strdup_printf ("one of these is expected: %s", list);

  for (guint i = 0; text != NULL && words[i] != NULL; i++)
    if (g_str_equal (words[i], text))
      {
        *index = i;
        return TRUE;
      }
  return refuse (self, wrong);
}

/* Absolute from here on. */
static gboolean
read_path (Reader *self, JsonNode *node, gpointer into)
{
  const char *text = get_string (node);

  if (text == NULL || text[0] == '\0' || strlen (text) > 4095)
    return refuse (self, "a path is expected");
  g_ptr_array_add (into, g_canonicalize_filename (text, self->folder));
  return TRUE;
}

/* --- version ------------------------------------------------------------------------- */

static gboolean
read_version (Reader *self, JsonNode *node, gpointer into)
{
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_INT64 || json_node_get_int (node) != 1)
    return refuse (self, "1 is expected; this is another version's file");
  return TRUE;
}

/* --- egress ---------------------------------------------------------------------------- */

typedef struct
{
  const char *host;
  guint port; /* 0 = any */
  gboolean has_port;
  guint scheme; /* of the words */
  gboolean has_scheme;
  gboolean allow_private, upgrade;
} WrittenRule;

static gboolean
read_rule_host (Reader *self, JsonNode *node, gpointer into)
{
  return read_string (self, node, &((WrittenRule *)into)->host);
}

static gboolean
read_rule_port (Reader *self, JsonNode *node, gpointer into)
{
  WrittenRule *rule = into;
  const char *text = get_string (node);
  gint64 port =
      JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_INT64 ? json_node_get_int (node) : -1;

  if (g_strcmp0 (text, "*") != 0 && (port < 1 || port > G_MAXUINT16))
    return refuse (self, "a number from 1 to 65535, or \"*\" for any, is expected");
  rule->port = text != NULL ? 0 : (guint)port;
  rule->has_port = TRUE;
  return TRUE;
}

static gboolean
read_rule_scheme (Reader *self, JsonNode *node, gpointer into)
{
  static const char *const words[] = { "*", "http", "https", NULL };

  ((WrittenRule *)into)->has_scheme = TRUE;
  return read_word (self, node, words, &((WrittenRule *)into)->scheme);
}

static gboolean
read_rule_private (Reader *self, JsonNode *node, gpointer into)
{
  return read_boolean (self, node, &((WrittenRule *)into)->allow_private);
}

static gboolean
read_rule_upgrade (Reader *self, JsonNode *node, gpointer into)
{
  return read_boolean (self, node, &((WrittenRule *)into)->upgrade);
}

static gboolean
add_rule (Reader *self, GPtrArray *rules, const WrittenRule *written, guint port, PrismEgressScheme scheme)
{
  PrismEgressRuleFlags flags = (written->allow_private ? PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE : 0)
                               | (written->upgrade ? PRISM_EGRESS_RULE_FLAGS_UPGRADE : 0);
  g_autofree char *origin = g_strdup_printf ("%s: %s", self->name, self->path->str);
  GError *error = NULL;
  g_autoptr (PrismEgressRule) rule = prism_egress_rule_new (written->host, port, scheme, flags, &error);

  if (rule == NULL)
    {
      g_string_append (self->path, "/host");
      return refuse_for (self, error);
    }
  g_ptr_array_add (rules, prism_egress_rule_with_origin (rule, origin));
  return TRUE;
}

/* As the command line reads a rule without a port: a scheme has its own; both, or none
 * said, are two rules, or one where http is upgraded. */
static gboolean
read_rule (Reader *self, JsonNode *node, gpointer rules)
{
  static const Member members[] = {
    { "host", read_rule_host, TRUE },      { "port", read_rule_port },       { "scheme", read_rule_scheme },
    { "allowPrivate", read_rule_private }, { "upgrade", read_rule_upgrade }, { NULL },
  };
  static const PrismEgressScheme schemes[] = { PRISM_EGRESS_SCHEME_ANY, PRISM_EGRESS_SCHEME_HTTP,
                                               PRISM_EGRESS_SCHEME_HTTPS };
  WrittenRule written = { 0 };
  PrismEgressScheme scheme;

  if (!read_object (self, node, members, &written))
    return FALSE;
  scheme = schemes[written.scheme];
  if (written.upgrade && scheme == PRISM_EGRESS_SCHEME_HTTP)
    {
      g_string_append (self->path, "/upgrade");
      return refuse (self, "what is upgraded goes out as https, and the rule says http");
    }
  if (written.has_port)
    return add_rule (self, rules, &written, written.port, scheme);
  if (scheme != PRISM_EGRESS_SCHEME_HTTPS && !written.upgrade
      && !add_rule (self, rules, &written, 80, PRISM_EGRESS_SCHEME_HTTP))
    return FALSE;
  return scheme == PRISM_EGRESS_SCHEME_HTTP || add_rule (self, rules, &written, 443, PRISM_EGRESS_SCHEME_HTTPS);
}

typedef struct
{
  guint kind;
  GPtrArray *presets, *rules;
} WrittenEgress;

static gboolean
read_kind (Reader *self, JsonNode *node, gpointer into)
{
  static const char *const words[] = { "deny-all", "allow-all", "static", NULL };

  return read_word (self, node, words, &((WrittenEgress *)into)->kind);
}

static gboolean
read_preset (Reader *self, JsonNode *node, gpointer presets)
{
  const char *name;
  GError *error = NULL;
  g_autoptr (GPtrArray) rules = NULL;

  if (!read_string (self, node, &name))
    return FALSE;
  rules = prism_egress_policy_load_preset (name, &error);
  if (rules == NULL)
    return refuse_for (self, error);
  g_ptr_array_add (presets, g_strdup (name));
  return TRUE;
}

static gboolean
read_presets (Reader *self, JsonNode *node, gpointer into)
{
  return read_list (self, node, ((WrittenEgress *)into)->presets, read_preset);
}

static gboolean
read_rules (Reader *self, JsonNode *node, gpointer into)
{
  return read_list (self, node, ((WrittenEgress *)into)->rules, read_rule);
}

static gboolean
make_egress (Reader *self, const WrittenEgress *written)
{
  GError *error = NULL;

  if (written->kind < 2 && (written->presets->len > 0 || written->rules->len > 0))
    {
      g_string_append (self->path, written->presets->len > 0 ? "/presets" : "/rules");
      return refuse (self, written->kind == 0 ? "a deny-all policy has none; \"kind\": \"static\" has"
                                              : "an allow-all policy has none; \"kind\": \"static\" has");
    }
  g_ptr_array_add (written->presets, NULL);
  if (written->kind == 0)
    self->contents->egress = prism_egress_policy_new_deny_all ();
  else if (written->kind == 1)
    self->contents->egress = prism_egress_policy_new_allow_all ();
  else
    self->contents->egress =
        prism_egress_policy_new_for_rules ((PrismEgressRule *const *)written->rules->pdata, written->rules->len,
                                           (const char *const *)written->presets->pdata, &error);
  return self->contents->egress != NULL || refuse_for (self, error);
}

static gboolean
read_egress (Reader *self, JsonNode *node, gpointer into)
{
  static const Member members[] = {
    { "kind", read_kind, TRUE }, { "presets", read_presets }, { "rules", read_rules }, { NULL }
  };
  g_autoptr (GPtrArray) presets = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) rules = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_egress_rule_unref);
  WrittenEgress written = { .presets = presets, .rules = rules };

  return read_object (self, node, members, &written) && make_egress (self, &written);
}

/* --- credentials ------------------------------------------------------------------------- */

static gboolean
read_source_host (Reader *self, JsonNode *node, gpointer into)
{
  return read_string (self, node, &((PrismPolicySource *)into)->host);
}

static gboolean
read_source_header (Reader *self, JsonNode *node, gpointer into)
{
  return read_string (self, node, &((PrismPolicySource *)into)->header);
}

static gboolean
read_source_variable (Reader *self, JsonNode *node, gpointer into)
{
  const char *text = get_string (node);

  if (text == NULL || text[0] == '\0' || strchr (text, '=') != NULL || strlen (text) > 1024)
    return refuse (self, "the name of a variable is expected");
  ((PrismPolicySource *)into)->variable = (char *)text;
  return TRUE;
}

static gboolean
read_source_file (Reader *self, JsonNode *node, gpointer into)
{
  const char *text = get_string (node);

  if (text == NULL || text[0] == '\0' || strlen (text) > 4095)
    return refuse (self, "a path is expected");
  ((PrismPolicySource *)into)->file = (char *)text;
  return TRUE;
}

static PrismPolicySource *
dup_source (const Reader *self, const PrismPolicySource *written)
{
  PrismPolicySource *source = g_new (PrismPolicySource, 1);

  source->host = g_strdup (written->host);
  source->header = g_strdup (written->header);
  source->variable = g_strdup (written->variable);
  source->file = written->file != NULL ? g_canonicalize_filename (written->file, self->folder) : NULL;
  return source;
}

/* Host and header as a credential would have them; its value is for later. */
static gboolean
read_credential (Reader *self, JsonNode *node, gpointer into)
{
  static const Member members[] = {
    { "host", read_source_host, TRUE },
    { "header", read_source_header, TRUE },
    { "fromEnv", read_source_variable },
    { "fromFile", read_source_file },
    { NULL },
  };
  PrismPolicySource written = { NULL };
  g_autoptr (PrismCredential) probe = NULL;
  GError *error = NULL;

  if (!read_object (self, node, members, &written))
    return FALSE;
  if ((written.variable != NULL) == (written.file != NULL))
    return refuse (self, "either fromEnv or fromFile is expected");
  probe = prism_credential_new (written.host, written.header, "probe", &error);
  if (probe == NULL)
    return refuse_for (self, error);
  g_ptr_array_add (self->contents->credentials, dup_source (self, &written));
  return TRUE;
}

static gboolean
read_credentials (Reader *self, JsonNode *node, gpointer into)
{
  return read_list (self, node, NULL, read_credential);
}

/* --- limits ------------------------------------------------------------------------------ */

static gboolean
read_limit (Reader *self, JsonNode *node, gpointer name)
{
  PrismLimits *limits = self->contents->limits;
  const char *text = get_string (node);
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
    return refuse (self, "a whole number, or a string such as \"512M\", \"60s\" or \"1.5\" is expected");
  return good || refuse_for (self, error);
}

static gboolean
read_profile (Reader *self, JsonNode *node, gpointer into)
{
  static const char *const words[] = { "standard", "strict", NULL };
  guint profile = 0;

  if (!read_word (self, node, words, &profile))
    return FALSE;
  *(PrismLimitsProfile *)into = profile == 0 ? PRISM_LIMITS_PROFILE_STANDARD : PRISM_LIMITS_PROFILE_STRICT;
  return TRUE;
}

/* The profile decides about the rest, wherever it stands. */
static gboolean
read_limits (Reader *self, JsonNode *node, gpointer into)
{
  PrismLimitsProfile profile = PRISM_LIMITS_PROFILE_STANDARD;
  JsonObjectIter iter;
  const char *name;
  JsonNode *value;

  if (!JSON_NODE_HOLDS_OBJECT (node))
    return refuse (self, "an object is expected");
  if (json_object_has_member (json_node_get_object (node), "profile")
      && !read_at (self, "profile", json_object_get_member (json_node_get_object (node), "profile"), &profile,
                   read_profile))
    return FALSE;
  self->contents->limits = prism_limits_new (profile);
  json_object_iter_init_ordered (&iter, json_node_get_object (node));
  while (json_object_iter_next_ordered (&iter, &name, &value))
    if (!g_str_equal (name, "profile") && !read_at (self, name, value, (gpointer)name, read_limit))
      return FALSE;
  return TRUE;
}

/* --- filesystem ----------------------------------------------------------------------------- */

static gboolean
read_read_only (Reader *self, JsonNode *node, gpointer into)
{
  return read_list (self, node, self->contents->read_only, read_path);
}

static gboolean
read_read_write (Reader *self, JsonNode *node, gpointer into)
{
  return read_list (self, node, self->contents->read_write, read_path);
}

static gboolean
read_hide (Reader *self, JsonNode *node, gpointer into)
{
  return read_list (self, node, self->contents->hide, read_path);
}

static gboolean
read_protect (Reader *self, JsonNode *node, gpointer into)
{
  return read_list (self, node, self->contents->protect, read_path);
}

static gboolean
read_filesystem (Reader *self, JsonNode *node, gpointer into)
{
  static const Member members[] = {
    { "readOnly", read_read_only },
    { "readWrite", read_read_write },
    { "hide", read_hide },
    { "protect", read_protect },
    { NULL },
  };

  return read_object (self, node, members, NULL);
}

/* --- what may be done: judged for its form ----------------------------------------------------- */

static gboolean
note_action_member (Reader *self, const char *name)
{
  g_ptr_array_add (self->contents->action_members, g_strdup (name));
  return TRUE;
}

static gboolean
read_roots (Reader *self, JsonNode *node, gpointer into)
{
  g_autoptr (GPtrArray) roots = g_ptr_array_new_with_free_func (g_free);

  return read_list (self, node, roots, read_path) && note_action_member (self, "roots");
}

static gboolean
read_only_flag (Reader *self, JsonNode *node, gpointer into)
{
  gboolean flag;

  return read_boolean (self, node, &flag) && note_action_member (self, "readOnly");
}

static gboolean
read_match (Reader *self, JsonNode *node, gpointer into)
{
  static const char *const words[] = { "prefix", "word", "glob", "regex", NULL };

  return read_word (self, node, words, into);
}

static gboolean
read_action (Reader *self, JsonNode *node, gpointer into)
{
  static const char *const words[] = { "allow", "deny", "requireApproval", NULL };
  guint action;

  return read_word (self, node, words, &action);
}

static gboolean
read_pattern_word (Reader *self, JsonNode *node, gpointer into)
{
  const char *text;

  return read_string (self, node, &text);
}

/* Its form depends on `match`, which may come after it. */
static gboolean
read_pattern (Reader *self, JsonNode *node, gpointer into)
{
  if (JSON_NODE_HOLDS_ARRAY (node))
    return read_list (self, node, NULL, read_pattern_word);
  return get_string (node) != NULL || refuse (self, "a string, or for match=prefix a list of them, is expected");
}

static gboolean
read_reason (Reader *self, JsonNode *node, gpointer into)
{
  const char *text;

  return read_string (self, node, &text);
}

static gboolean
read_command_rule (Reader *self, JsonNode *node, gpointer into)
{
  static const Member members[] = {
    { "match", read_match, TRUE },
    { "pattern", read_pattern, TRUE },
    { "action", read_action, TRUE },
    { "reason", read_reason, FALSE },
    { NULL },
  };
  guint match = 0;
  gboolean list;

  if (!read_object (self, node, members, &match))
    return FALSE;
  list = JSON_NODE_HOLDS_ARRAY (json_object_get_member (json_node_get_object (node), "pattern"));
  if (list == (match == 0))
    return TRUE;
  g_string_append (self->path, "/pattern");
  return refuse (self, match == 0 ? "match=prefix takes a list of words" : "only match=prefix takes a list");
}

static gboolean
read_command_rules (Reader *self, JsonNode *node, gpointer into)
{
  return read_list (self, node, NULL, read_command_rule) && note_action_member (self, "commandRules");
}

static gboolean
read_cache (Reader *self, JsonNode *node, gpointer into)
{
  static const char *const words[] = { "none", "run", "session", NULL };
  guint cache;

  return read_word (self, node, words, &cache);
}

static gboolean
read_timeout (Reader *self, JsonNode *node, gpointer into)
{
  gint64 ms =
      JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_INT64 ? json_node_get_int (node) : -1;

  return (ms >= 0 && ms <= G_MAXINT32)
         || refuse (self, "a number of milliseconds from 0 (no deadline) to 2147483647 is expected");
}

static gboolean
read_approval (Reader *self, JsonNode *node, gpointer into)
{
  static const Member members[] = { { "cache", read_cache }, { "timeoutMs", read_timeout }, { NULL } };

  return read_object (self, node, members, NULL) && note_action_member (self, "approval");
}

/* --- the whole --------------------------------------------------------------------------------- */

gboolean
prism_policy_contents_read (
    PrismPolicyContents *self, const char *text, gsize length, const char *name, const char *folder, GError **error)
{
  static const Member members[] = {
    { "version", read_version },         { "roots", read_roots },
    { "readOnly", read_only_flag },      { "commandRules", read_command_rules },
    { "approval", read_approval },       { "egress", read_egress },
    { "credentials", read_credentials }, { "limits", read_limits },
    { "filesystem", read_filesystem },   { NULL },
  };
  g_autoptr (GString) path = g_string_new (NULL);
  Reader reader = { .contents = self,
                    .name = name,
                    .folder = folder,
                    .path = path,
                    .faults = { PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_MALFORMED, name } };
  g_autoptr (JsonNode) node = prism_json_parse (text, length, &reader.faults, error);

  if (node == NULL)
    return FALSE;
  if (read_object (&reader, node, members, NULL))
    return TRUE;
  g_propagate_error (error, reader.error);
  return FALSE;
}
