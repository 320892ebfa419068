/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy files: what they say, and where exactly they are wrong. */
#include <libprism/prism.h>

#include <json-glib/json-glib.h>
#include <string.h>
#include <unistd.h>

static PrismPolicyFile *
read_text (const char *text)
{
  g_autoptr (GError) error = NULL;
  PrismPolicyFile *file = prism_policy_file_new_from_data (text, -1, "/project", &error);

  g_assert_no_error (error);
  return file;
}

static char *
list_lines (PrismPolicyFile *file)
{
  GPtrArray *rules = prism_egress_policy_get_rules (prism_policy_file_get_egress_policy (file));
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < rules->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? " " : "", prism_egress_rule_get_line (rules->pdata[i]));
  return g_string_free (text, FALSE);
}

/* --- what they say -------------------------------------------------------------- */

static void
test_empty (void)
{
  g_autoptr (PrismPolicyFile) file = read_text ("{}");
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (NULL);
  g_autoptr (GError) error = NULL;

  g_assert_null (prism_policy_file_get_egress_policy (file));
  g_assert_null (prism_policy_file_get_limits (file));
  g_assert_null (prism_policy_file_get_action_members (file)[0]);
  g_assert_true (prism_policy_file_apply (file, spec, &error));
  g_assert_no_error (error);
  g_assert_cmpint (prism_sandbox_spec_get_network (spec), ==, PRISM_NETWORK_MODE_NONE);
  g_assert_true (prism_sandbox_spec_check (spec, &error));
}

static void
test_rules (void)
{
  static const struct
  {
    const char *rule, *lines;
  } rows[] = {
    { "{\"host\": \"A.test.\"}", "http|a.test|80|0 https|a.test|443|0" },
    { "{\"host\": \".a.test\", \"scheme\": \"https\"}", "https|.a.test|443|0" },
    { "{\"host\": \"a.test\", \"scheme\": \"http\"}", "http|a.test|80|0" },
    { "{\"host\": \"a.test\", \"scheme\": \"*\"}", "http|a.test|80|0 https|a.test|443|0" },
    { "{\"host\": \"a.test\", \"port\": 8080}", "*|a.test|8080|0" },
    { "{\"host\": \"a.test\", \"port\": \"*\"}", "*|a.test|*|0" },
    { "{\"host\": \"a.test\", \"port\": \"*\", \"scheme\": \"https\"}", "https|a.test|*|0" },
    { "{\"host\": \"127.0.0.1\", \"port\": 8080, \"scheme\": \"http\", \"allowPrivate\": true}",
      "http|127.0.0.1|8080|1" },
    { "{\"host\": \"a.test\", \"upgrade\": true}", "https|a.test|443|0|upgrade" },
    { "{\"host\": \"::1\", \"port\": 1}", "*|::1|1|0" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *text = g_strdup_printf ("{\"egress\": {\"kind\": \"static\", \"rules\": [%s]}}", rows[i].rule);
      g_autoptr (PrismPolicyFile) file = read_text (text);
      g_autofree char *lines = list_lines (file);

      g_assert_cmpstr (lines, ==, rows[i].lines);
    }
}

/* The first system's published fingerprint, through a file. */
static void
test_fingerprint (void)
{
  g_autoptr (PrismPolicyFile) file = read_text (
      "{\"egress\": {\"kind\": \"static\", \"rules\": [{\"host\": \"127.0.0.1\", \"port\": 8080, \"scheme\": "
      "\"http\", \"allowPrivate\": true}]}}");
  g_autoptr (PrismPolicyFile) preset =
      read_text ("{\"egress\": {\"kind\": \"static\", \"presets\": [\"github\", \"npm-registry\", \"github\"]}}");

  g_assert_cmpstr (prism_egress_policy_get_fingerprint (prism_policy_file_get_egress_policy (file)), ==,
                   "24b941874185b4221527489b64de6c577f5d213fd6b5af87414cc33993e9c238");
  g_assert_cmpstr (prism_egress_policy_get_fingerprint (prism_policy_file_get_egress_policy (preset)), ==,
                   "b53e122824dd5b0542dd414f071f85e1955a3345166473f357e4bee3ddd94fe2");
}

static void
test_kinds (void)
{
  g_autoptr (PrismPolicyFile) deny = read_text ("{\"egress\": {\"kind\": \"deny-all\"}}");
  g_autoptr (PrismPolicyFile) all = read_text ("{\"egress\": {\"kind\": \"allow-all\", \"rules\": []}}");
  g_autoptr (PrismPolicyFile) none = read_text ("{\"egress\": {\"kind\": \"static\"}}");

  g_assert_cmpint (prism_egress_policy_get_kind (prism_policy_file_get_egress_policy (deny)), ==,
                   PRISM_EGRESS_POLICY_KIND_DENY_ALL);
  g_assert_cmpint (prism_egress_policy_get_kind (prism_policy_file_get_egress_policy (all)), ==,
                   PRISM_EGRESS_POLICY_KIND_ALLOW_ALL);
  g_assert_cmpuint (prism_egress_policy_get_rules (prism_policy_file_get_egress_policy (none))->len, ==, 0);
}

static void
test_limits (void)
{
  g_autoptr (PrismPolicyFile) file =
      read_text ("{\"limits\": {\"memory-bytes\": \"512M\", \"max-pids\": 64, \"cpus\": \"1.5\", \"wall-time-ms\": "
                 "\"10m\", \"profile\": \"strict\", \"request-bytes\": 1000}}");
  PrismLimits *limits = prism_policy_file_get_limits (file);

  g_assert_cmpint (prism_limits_get_profile (limits), ==, PRISM_LIMITS_PROFILE_STRICT);
  g_assert_cmpint (prism_limits_get (limits, "memory-bytes"), ==, 512 << 20);
  g_assert_cmpint (prism_limits_get (limits, "max-pids"), ==, 64);
  g_assert_cmpint (prism_limits_get (limits, "cpu-millis"), ==, 1500);
  g_assert_cmpint (prism_limits_get (limits, "wall-time-ms"), ==, 600000);
  g_assert_true (prism_limits_is_set (limits, "request-bytes"));
  g_assert_false (prism_limits_is_set (limits, "response-bytes"));
}

static void
test_filesystem (void)
{
  g_autoptr (PrismPolicyFile) file = read_text ("{\"filesystem\": {\"readOnly\": [\"/opt/x\", \"lib\"], \"readWrite\": "
                                                "[\"../out\"], \"hide\": [\".env\"], \"protect\": [\"./.git\"]}}");

  g_assert_cmpstr (prism_policy_file_get_read_only (file)[0], ==, "/opt/x");
  g_assert_cmpstr (prism_policy_file_get_read_only (file)[1], ==, "/project/lib");
  g_assert_null (prism_policy_file_get_read_only (file)[2]);
  g_assert_cmpstr (prism_policy_file_get_read_write (file)[0], ==, "/out");
  g_assert_cmpstr (prism_policy_file_get_hide (file)[0], ==, "/project/.env");
  g_assert_cmpstr (prism_policy_file_get_protect (file)[0], ==, "/project/.git");
}

/* --- where they are wrong ---------------------------------------------------------- */

static const struct
{
  const char *text, *message;
} wrong_rows[] = {
  { "", "line 1, column 1" },
  { "[]", "/: an object is expected" },
  { "{\"a\": 1}", "/a: unknown; there are: version, roots, readOnly" },
  { "{\"Egress\": {}}", "/Egress: unknown" },
  { "{\"version\": 2}", "/version: 1 is expected" },
  { "{\"version\": \"1\"}", "/version: 1 is expected" },
  { "{\"version\": 1, \"version\": 1}", "/version" },
  { "{\"egress\": {\"kind\": \"deny-all\"}, \"egress\": {}}", "/egress" },
  { "{\"egress\": {}}", "/egress/kind: missing" },
  { "{\"egress\": []}", "/egress: an object is expected" },
  { "{\"egress\": {\"kind\": \"resolver\"}}", "/egress/kind: one of these is expected: deny-all, allow-all, static" },
  { "{\"egress\": {\"kind\": \"static\", \"presets\": [\"nope\"]}}", "/egress/presets/0: no egress preset" },
  { "{\"egress\": {\"kind\": \"static\", \"presets\": \"github\"}}", "/egress/presets: a list is expected" },
  { "{\"egress\": {\"kind\": \"deny-all\", \"rules\": [{\"host\": \"a.test\"}]}}", "/egress/rules: a deny-all" },
  { "{\"egress\": {\"kind\": \"allow-all\", \"presets\": [\"github\"]}}", "/egress/presets: an allow-all" },
  { "{\"egress\": {\"kind\": \"static\", \"rules\": [{\"host\": \"a.test\"}, {\"host\": \"*.a.test\"}]}}",
    "/egress/rules/1/host: egress rule" },
  { "{\"egress\": {\"kind\": \"static\", \"rules\": [{\"host\": \"*\"}]}}", "/egress/rules/0/host" },
  { "{\"egress\": {\"kind\": \"static\", \"rules\": [{\"host\": \"10.0.0.0/8\"}]}}", "/egress/rules/0/host" },
  { "{\"egress\": {\"kind\": \"static\", \"rules\": [{\"host\": \"a.test/x\"}]}}", "/egress/rules/0/host" },
  { "{\"egress\": {\"kind\": \"static\", \"rules\": [{\"host\": \"\"}]}}", "/egress/rules/0/host" },
  { "{\"egress\": {\"kind\": \"static\", \"rules\": [{\"host\": 1}]}}", "/egress/rules/0/host: a string is" },
  { "{\"egress\": {\"kind\": \"static\", \"rules\": [{}]}}", "/egress/rules/0/host: missing" },
  { "{\"egress\": {\"kind\": \"static\", \"rules\": [\"a.test\"]}}", "/egress/rules/0: an object is expected" },
  { "{\"egress\": {\"kind\": \"static\", \"rules\": [{\"host\": \"a.test\", \"port\": 0}]}}",
    "/egress/rules/0/port: a number from 1 to 65535" },
  { "{\"egress\": {\"kind\": \"static\", \"rules\": [{\"host\": \"a.test\", \"port\": 65536}]}}",
    "/egress/rules/0/port" },
  { "{\"egress\": {\"kind\": \"static\", \"rules\": [{\"host\": \"a.test\", \"port\": \"443\"}]}}",
    "/egress/rules/0/port" },
  { "{\"egress\": {\"kind\": \"static\", \"rules\": [{\"host\": \"a.test\", \"scheme\": \"ftp\"}]}}",
    "/egress/rules/0/scheme: one of these is expected: *, http, https" },
  { "{\"egress\": {\"kind\": \"static\", \"rules\": [{\"host\": \"a.test\", \"scheme\": \"http\", \"upgrade\": "
    "true}]}}",
    "/egress/rules/0/upgrade" },
  { "{\"egress\": {\"kind\": \"static\", \"rules\": [{\"host\": \"a.test\", \"allowPrivate\": \"yes\"}]}}",
    "/egress/rules/0/allowPrivate: true or false" },
  { "{\"egress\": {\"kind\": \"static\", \"rules\": [{\"host\": \"a.test\", \"allow_private\": true}]}}",
    "/egress/rules/0/allow_private: unknown; there are: host, port, scheme, allowPrivate, upgrade" },
  { "{\"credentials\": [{\"host\": \"a.test\", \"header\": \"X\"}]}", "/credentials/0: either fromEnv or fromFile" },
  { "{\"credentials\": [{\"host\": \"a.test\", \"header\": \"X\", \"fromEnv\": \"A\", \"fromFile\": \"b\"}]}",
    "/credentials/0: either" },
  { "{\"credentials\": [{\"host\": \"a.test\", \"header\": \"Host\", \"fromEnv\": \"A\"}]}", "/credentials/0" },
  { "{\"credentials\": [{\"host\": \"*\", \"header\": \"X\", \"fromEnv\": \"A\"}]}", "/credentials/0" },
  { "{\"credentials\": [{\"host\": \"a.test\", \"header\": \"X\", \"value\": \"s3cret\"}]}",
    "/credentials/0/value: unknown" },
  { "{\"credentials\": [{\"host\": \"a.test\", \"header\": \"X\", \"fromEnv\": \"A=B\"}]}",
    "/credentials/0/fromEnv: the name of a variable" },
  { "{\"limits\": {\"nope\": 1}}", "/limits/nope: there is no limit" },
  { "{\"limits\": {\"max-pids\": 0}}", "/limits/max-pids: out of range: max-pids = 0" },
  { "{\"limits\": {\"max-pids\": -1}}", "/limits/max-pids" },
  { "{\"limits\": {\"max-pids\": 1.5}}", "/limits/max-pids: a whole number" },
  { "{\"limits\": {\"max-pids\": \"4x\"}}", "/limits/max-pids" },
  { "{\"limits\": {\"max-pids\": true}}", "/limits/max-pids" },
  { "{\"limits\": {\"profile\": \"lax\"}}", "/limits/profile: one of these is expected: standard, strict" },
  { "{\"limits\": {\"max-pids\": 2000, \"profile\": \"strict\"}}", "/limits/max-pids" },
  { "{\"filesystem\": {\"readOnly\": \"/opt\"}}", "/filesystem/readOnly: a list" },
  { "{\"filesystem\": {\"hide\": [\"\"]}}", "/filesystem/hide/0: a path" },
  { "{\"filesystem\": {\"show\": []}}", "/filesystem/show: unknown; there are: readOnly, readWrite, hide, protect" },
  { "{\"roots\": \"/\"}", "/roots: a list" },
  { "{\"readOnly\": 1}", "/readOnly: true or false" },
  { "{\"commandRules\": [{\"match\": \"word\", \"pattern\": \"a\", \"action\": \"maybe\"}]}",
    "/commandRules/0/action: one of these is expected: allow, deny, requireApproval" },
  { "{\"commandRules\": [{\"match\": \"prefix\", \"pattern\": \"a\", \"action\": \"allow\"}]}",
    "/commandRules/0/pattern: match=prefix takes a list" },
  { "{\"commandRules\": [{\"match\": \"glob\", \"pattern\": [\"a\"], \"action\": \"allow\"}]}",
    "/commandRules/0/pattern: only match=prefix" },
  { "{\"commandRules\": [{\"match\": \"prefix\", \"pattern\": [], \"action\": \"allow\"}]}",
    "/commandRules/0/pattern: match=prefix takes a list of words, of which the first is a program" },
  { "{\"commandRules\": [{\"match\": \"regex\", \"pattern\": \"(a\", \"action\": \"deny\"}]}",
    "/commandRules/0/pattern: the regular expression, at byte 2: a group has no end" },
  { "{\"commandRules\": [{\"match\": \"regex\", \"pattern\": \"(a)\\\\1\", \"action\": \"deny\"}]}",
    "a backward reference cannot be matched in linear time" },
  { "{\"commandRules\": [{\"match\": \"word\", \"pattern\": \"a b\", \"action\": \"deny\"}]}",
    "/commandRules/0/pattern: match=word takes one word" },
  { "{\"denyMetacharacters\": 1}", "/denyMetacharacters: true or false" },
  { "{\"approval\": {\"timeoutMs\": -1}}", "/approval/timeoutMs" },
  { "{\"approval\": {\"cache\": \"forever\"}}", "/approval/cache: one of these" },
};

static void
test_wrong (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (wrong_rows); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (prism_policy_file_new_from_data (wrong_rows[i].text, -1, "/project", &error));
      g_assert_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_MALFORMED);
      if (strstr (error->message, wrong_rows[i].message) == NULL)
        g_error ("“%s” is not in “%s”", wrong_rows[i].message, error->message);
      g_assert_null (strstr (error->message, "s3cret"));
    }
}

/* --- files ---------------------------------------------------------------------------- */

static void
test_files (void)
{
  g_autofree char *folder = g_dir_make_tmp ("prism-policy-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "policy.json", NULL);
  g_autofree char *key = g_build_filename (folder, "key", NULL);
  g_autofree char *large = g_strnfill (1024 * 1024 + 1, ' ');
  g_autoptr (PrismPolicyFile) file = NULL;
  g_autoptr (GListModel) credentials = NULL;
  g_autoptr (PrismCredential) credential = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_null (prism_policy_file_new_for_path (path, &error));
  g_assert_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_UNREADABLE);
  g_clear_error (&error);
  g_assert_null (prism_policy_file_new_for_path (folder, &error));
  g_assert_nonnull (strstr (error->message, "not a plain file"));
  g_clear_error (&error);
  g_assert_true (g_file_set_contents (path, large, -1, NULL));
  g_assert_null (prism_policy_file_new_for_path (path, &error));
  g_assert_nonnull (strstr (error->message, "too long"));
  g_clear_error (&error);

  g_assert_true (g_file_set_contents (
      path, "{\"credentials\": [{\"host\": \"a.test\", \"header\": \"X-Key\", \"fromFile\": \"key\"}]}", -1, NULL));
  file = prism_policy_file_new_for_path (path, &error);
  g_assert_no_error (error);
  g_assert_null (prism_policy_file_load_credentials (file, &error));
  g_assert_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_UNREADABLE);
  g_assert_nonnull (strstr (error->message, "a.test"));
  g_clear_error (&error);
  g_assert_true (g_file_set_contents (key, "s3cret\n", -1, NULL));
  credentials = prism_policy_file_load_credentials (file, &error);
  g_assert_no_error (error);
  credential = g_list_model_get_item (credentials, 0);
  g_assert_cmpstr (prism_credential_reveal (credential), ==, "s3cret");
  g_assert_true (g_file_set_contents (key, "s3c\nret", -1, NULL));
  g_assert_null (prism_policy_file_load_credentials (file, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY);
  g_assert_null (strstr (error->message, "s3c"));
  unlink (key);
  unlink (path);
  rmdir (folder);
}

static void
test_apply (void)
{
  g_autoptr (PrismPolicyFile) file = read_text (
      "{\"egress\": {\"kind\": \"static\", \"rules\": [{\"host\": \"a.test\"}]}, \"credentials\": [{\"host\": "
      "\"a.test\", \"header\": \"X\", \"fromEnv\": \"PRISM_TEST_TOKEN\"}], \"limits\": {\"max-pids\": 7}, "
      "\"filesystem\": {\"readOnly\": [\"/opt\"], \"hide\": [\"/opt/x\"]}}");
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (NULL), again = prism_sandbox_spec_new (NULL);
  g_autoptr (GError) error = NULL;

  g_unsetenv ("PRISM_TEST_TOKEN");
  g_assert_false (prism_policy_file_apply (file, spec, &error));
  g_assert_nonnull (strstr (error->message, "PRISM_TEST_TOKEN is not set"));
  g_clear_error (&error);
  g_setenv ("PRISM_TEST_TOKEN", "s3cret", TRUE);
  g_assert_true (prism_policy_file_apply (file, again, &error));
  g_assert_no_error (error);
  g_assert_true (prism_sandbox_spec_check (again, &error));
  g_assert_no_error (error);
  g_assert_cmpint (prism_sandbox_spec_get_network (again), ==, PRISM_NETWORK_MODE_EGRESS);
  g_assert_cmpuint (g_list_model_get_n_items (prism_sandbox_spec_get_credentials (again)), ==, 1);
  g_assert_cmpint (prism_limits_get (prism_sandbox_spec_get_limits (again), "max-pids"), ==, 7);
  g_assert_cmpuint (g_list_model_get_n_items (prism_sandbox_spec_get_mounts (again)), ==, 1);
}

/* What nobody would decide is not taken; once somebody has the policy, it is. */
static void
test_actions (void)
{
  g_autoptr (PrismPolicyFile) file = read_text (
      "{\"roots\": [\".\"], \"commandRules\": [{\"match\": \"prefix\", \"pattern\": [\"npm\", \"test\"], \"action\": "
      "\"allow\", \"reason\": \"fine\"}], \"approval\": {\"cache\": \"run\", \"timeoutMs\": 0}, \"readOnly\": true}");
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (NULL);
  g_autofree char *members = g_strjoinv (" ", (char **)prism_policy_file_get_action_members (file));
  g_autoptr (GError) error = NULL;
  PrismApprovalPolicy *policy;

  g_assert_cmpstr (members, ==, "roots commandRules approval readOnly");
  g_assert_false (prism_policy_file_apply (file, spec, &error));
  g_assert_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_NOT_SUPPORTED);
  g_assert_nonnull (strstr (error->message, "/roots, /commandRules"));

  policy = prism_policy_file_get_policy (file);
  g_assert_nonnull (policy);
  g_assert_true (prism_approval_policy_get_read_only (policy));
  g_assert_true (prism_approval_policy_get_deny_metacharacters (policy));
  g_assert_cmpint (prism_approval_policy_get_approval_cache (policy), ==, PRISM_APPROVAL_CACHE_RUN);
  g_assert_cmpint (prism_approval_policy_get_approval_timeout_ms (policy), ==, 0);
  g_assert_cmpuint (prism_approval_policy_get_rules (policy)->len, ==, 1);
  g_assert_true (prism_policy_file_apply (file, spec, NULL));
}

/* What is printed says the same when it is read, and is printed the same. */
static void
test_print (void)
{
  g_autoptr (PrismPolicyFile) file = read_text (
      "{\"roots\": [\".\"], \"commandRules\": [{\"match\": \"prefix\", \"pattern\": [\"npm\", \"t \\\"\"], \"action\": "
      "\"allow\", \"reason\": \"fine\"}, {\"match\": \"regex\", \"pattern\": \"a+\", \"action\": \"deny\"}], "
      "\"denyMetacharacters\": false, \"egress\": {\"kind\": \"static\", \"presets\": [\"github\"], \"rules\": "
      "[{\"host\": "
      "\".example.com\", \"port\": \"*\", \"allowPrivate\": true}]}, \"limits\": {\"profile\": \"strict\", "
      "\"max-pids\": 7}, "
      "\"credentials\": [{\"host\": \"api.github.com\", \"header\": \"Authorization\", \"fromEnv\": \"T\"}], "
      "\"filesystem\": {\"readOnly\": [\"x\"], \"hide\": [\".env\"]}}");
  g_autofree char *text = prism_policy_file_dup_text (file);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismPolicyFile) again = prism_policy_file_new_from_data (text, -1, "/elsewhere", &error);
  g_autofree char *second = NULL;

  g_assert_no_error (error);
  second = prism_policy_file_dup_text (again);
  g_assert_cmpstr (text, ==, second);
  g_assert_cmpstr (prism_egress_policy_get_fingerprint (prism_policy_file_get_egress_policy (file)), ==,
                   prism_egress_policy_get_fingerprint (prism_policy_file_get_egress_policy (again)));
  g_assert_nonnull (strstr (text, "\"timeoutMs\": 30000"));
}

/* --- the schema ------------------------------------------------------------------------ */

static JsonObject *
get_object (JsonObject *object, const char *name)
{
  g_assert_true (json_object_has_member (object, name));
  return json_object_get_object_member (object, name);
}

/* What is said of a member that no version will have: the list of those that there are. */
static void
check_members (JsonObject *schema, const char *before, const char *after)
{
  g_autofree char *text = g_strconcat (before, "\"no such member\": 1", after, NULL);
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) names = NULL;
  JsonObject *properties = get_object (schema, "properties");
  const char *list;

  g_assert_null (prism_policy_file_new_from_data (text, -1, "/", &error));
  list = strstr (error->message, "there are: ");
  g_assert_nonnull (list);
  names = g_strsplit (list + strlen ("there are: "), ", ", -1);
  g_assert_cmpuint (g_strv_length (names), ==, json_object_get_size (properties));
  for (guint i = 0; names[i] != NULL; i++)
    if (!json_object_has_member (properties, names[i]))
      g_error ("%s is not in the schema", names[i]);
  g_assert_false (json_object_get_boolean_member (schema, "additionalProperties"));
}

static void
check_words (JsonObject *schema, const char *member, const char *before, const char *after)
{
  g_autofree char *text = g_strconcat (before, "\"", member, "\": \"no such word\"", after, NULL);
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) words = NULL;
  JsonArray *enumerated =
      json_object_get_array_member (json_object_get_object_member (get_object (schema, "properties"), member), "enum");
  const char *list;

  g_assert_null (prism_policy_file_new_from_data (text, -1, "/", &error));
  list = strstr (error->message, "expected: ");
  g_assert_nonnull (list);
  words = g_strsplit (list + strlen ("expected: "), ", ", -1);
  g_assert_cmpuint (g_strv_length (words), ==, json_array_get_length (enumerated));
  for (guint i = 0; words[i] != NULL; i++)
    g_assert_cmpstr (words[i], ==, json_array_get_string_element (enumerated, i));
}

static void
test_schema (void)
{
  g_autofree char *path = g_build_filename (g_getenv ("PRISM_SOURCE_ROOT"), "data", "schemas", "policy-1.json", NULL);
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) error = NULL;
  JsonObject *schema, *defs;

  json_parser_load_from_file (parser, path, &error);
  g_assert_no_error (error);
  schema = json_node_get_object (json_parser_get_root (parser));
  defs = get_object (schema, "$defs");
  check_members (schema, "{", "}");
  check_members (get_object (defs, "commandRule"), "{\"commandRules\": [{", "}]}");
  check_members (get_object (defs, "approval"), "{\"approval\": {", "}}");
  check_members (get_object (defs, "egress"), "{\"egress\": {", "}}");
  check_members (get_object (defs, "egressRule"), "{\"egress\": {\"rules\": [{", "}]}}");
  check_members (get_object (defs, "credential"), "{\"credentials\": [{", "}]}");
  check_members (get_object (defs, "filesystem"), "{\"filesystem\": {", "}}");
  check_words (get_object (defs, "commandRule"), "match", "{\"commandRules\": [{", "}]}");
  check_words (get_object (defs, "commandRule"), "action", "{\"commandRules\": [{", "}]}");
  check_words (get_object (defs, "approval"), "cache", "{\"approval\": {", "}}");
  check_words (get_object (defs, "egress"), "kind", "{\"egress\": {", "}}");
  check_words (get_object (defs, "egressRule"), "scheme", "{\"egress\": {\"rules\": [{", "}]}}");
  check_words (get_object (defs, "limits"), "profile", "{\"limits\": {", "}}");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/policy-file/empty", test_empty);
  g_test_add_func ("/policy-file/rules", test_rules);
  g_test_add_func ("/policy-file/fingerprint", test_fingerprint);
  g_test_add_func ("/policy-file/kinds", test_kinds);
  g_test_add_func ("/policy-file/limits", test_limits);
  g_test_add_func ("/policy-file/filesystem", test_filesystem);
  g_test_add_func ("/policy-file/wrong", test_wrong);
  g_test_add_func ("/policy-file/files", test_files);
  g_test_add_func ("/policy-file/apply", test_apply);
  g_test_add_func ("/policy-file/actions", test_actions);
  g_test_add_func ("/policy-file/print", test_print);
  g_test_add_func ("/policy-file/schema", test_schema);
  return g_test_run ();
}
