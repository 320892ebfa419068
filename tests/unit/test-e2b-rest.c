/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the hosted service answers and is asked by REST, its errors and its network lists. */
#include <signal.h>
#include <string.h>

#include "prism-e2b-envelope.h"
#include "prism-e2b-error.h"
#include "prism-e2b-event.h"
#include "prism-e2b-reference.h"
#include "prism-e2b-rest.h"

static void
assert_json (GBytes *body, const char *expected)
{
  g_autoptr (JsonNode) a = prism_http_json_parse (body, NULL), b = json_from_string (expected, NULL);

  g_assert_nonnull (a);
  if (!json_node_equal (a, b))
    g_error ("%.*s\nis not\n%s", (int)g_bytes_get_size (body), (const char *)g_bytes_get_data (body, NULL), expected);
}

/* --- errors --------------------------------------------------------------------------------- */

typedef struct
{
  PrismE2bPlane plane;
  guint status;
  gboolean idempotent;
  const char *body;
  int code;
  const char *says;
} FailureCase;

#define CONTROL    PRISM_E2B_PLANE_CONTROL
#define DATA       PRISM_E2B_PLANE_DATA
#define CODE(name) PRISM_SANDBOX_ERROR_##name

static const FailureCase failure_cases[] = {
  { CONTROL, 400, FALSE, "{\"code\":400,\"message\":\"bad timeout\"}", CODE (INVALID), "“bad timeout”" },
  { CONTROL, 401, FALSE, "{\"code\":401,\"message\":\"no\"}", CODE (UNAVAILABLE), "E2B_API_KEY" },
  { DATA, 401, FALSE, "{\"code\":401,\"message\":\"no\"}", CODE (UNAVAILABLE), "not authenticated" },
  { DATA, 401, TRUE, "{\"code\":\"unauthenticated\",\"message\":\"invalid username: 'x'\"}", CODE (UNAVAILABLE),
    "invalid username" },
  { CONTROL, 403, FALSE, "{\"code\":403,\"message\":\"blocked\"}", CODE (DENIED), "blocked" },
  { CONTROL, 404, FALSE, "{\"code\":404,\"message\":\"Sandbox doesn't exist\"}", CODE (NOT_FOUND), "HTTP 404" },
  { CONTROL, 404, FALSE, "", CODE (NOT_FOUND), "HTTP 404" },
  { DATA, 404, TRUE, "{\"code\":\"not_found\",\"message\":\"file not found\"}", CODE (NOT_FOUND), "file not found" },
  { DATA, 404, TRUE, "404 page not found", CODE (NOT_FOUND), "404 page not found" },
  { CONTROL, 409, FALSE, "{\"code\":409,\"message\":\"already paused\"}", CODE (STATE), "already paused" },
  { DATA, 409, FALSE, "{\"code\":\"already_exists\",\"message\":\"directory already exists\"}", CODE (STATE),
    "exists" },
  { CONTROL, 429, FALSE, "{\"code\":429,\"message\":\"slow\"}", CODE (LIMIT), "paused ones count" },
  { DATA, 429, FALSE, "{\"code\":\"resource_exhausted\",\"message\":\"slow\"}", CODE (LIMIT), "too many" },
  { DATA, 429, FALSE, "<html>slow</html>", CODE (LIMIT), "not the service's own" },
  { CONTROL, 500, TRUE, "boom", CODE (FAILED), "“boom”" },
  { CONTROL, 500, FALSE, "boom", CODE (LOST), "whether it was done is not known" },
  { CONTROL, 502, FALSE, "<html>Bad Gateway</html>", CODE (LOST), "not the service's own" },
  { CONTROL, 503, TRUE, "", CODE (UNAVAILABLE), "no room" },
  { CONTROL, 503, FALSE, "", CODE (LOST), "whether it was done is not known" },
  { CONTROL, 503, FALSE, "{\"code\":503,\"message\":\"full\",\"error_code\":\"sandbox_capacity_unavailable\"}",
    CODE (UNAVAILABLE), "nothing was done" },
  { CONTROL, 504, FALSE, "", CODE (LOST), "whether it was done is not known" },
  { CONTROL, 504, TRUE, "", CODE (TIMEOUT), "too long" },
  { DATA, 502, FALSE, "{\"sandboxId\":\"i1\",\"message\":\"The sandbox was not found\",\"code\":502}", CODE (LOST),
    "it was killed" },
  { DATA, 502, TRUE, "<html>", CODE (LOST), "it was killed" },
  { DATA, 507, TRUE, "{\"code\":507,\"message\":\"no space\"}", CODE (LIMIT), "larger disk" },
  { DATA, 501, TRUE, "{\"code\":\"unimplemented\",\"message\":\"x\"}", CODE (NOT_SUPPORTED), "envd" },
  { DATA, 418, TRUE, "", CODE (INVALID), "HTTP 418" },
  { CONTROL, 302, TRUE, "", CODE (LOST), "none of this service's" },
  { CONTROL, 200, TRUE, "<html>", CODE (LOST), "none of this service's" },
  /* Colours, line feeds and keys of whoever wrote it. */
  { CONTROL, 400, TRUE, "{\"message\":\"\\u001b[31ma\\nb e2b_5ec2e7 c\"}", CODE (INVALID), "[31ma b [REDACTED] c" },
};

static void
test_failures (void)
{
  g_autoptr (PrismRedactor) redactor = prism_redactor_new ();

  prism_redactor_add (redactor, "e2b_5ec2e7");
  for (guint i = 0; i < G_N_ELEMENTS (failure_cases); i++)
    {
      const FailureCase *c = &failure_cases[i];
      g_autoptr (GBytes) body = g_bytes_new_static (c->body, strlen (c->body));
      PrismE2bFailure failure = { c->plane, "create the sandbox", c->status, body, "r-1", c->idempotent };
      g_autoptr (GError) error = prism_e2b_failure_to_error (&failure, redactor, NULL);

      g_test_message ("%u %s: %s", c->status, c->body, error->message);
      g_assert_error (error, PRISM_SANDBOX_ERROR, c->code);
      g_assert_nonnull (strstr (error->message, c->says));
      g_assert_nonnull (strstr (error->message, "request r-1"));
      g_assert_null (strstr (error->message, "5ec2e7"));
      g_assert_null (strchr (error->message, 033));
      g_assert_cmpuint (strlen (error->message), <, 1024);
    }
}

static void
test_large_failure (void)
{
  g_autofree char *text = g_strnfill (4 * 1024 * 1024, 'x');
  g_autoptr (GBytes) body = g_bytes_new_static (text, strlen (text));
  PrismE2bFailure failure = { CONTROL, "look", 500, body, NULL, TRUE };
  g_autoptr (GError) error = prism_e2b_failure_to_error (&failure, NULL, NULL);

  g_assert_cmpuint (strlen (error->message), <, 512);
}

/* The same cause is the same error, whichever way it is told. */
static void
test_same_cause (void)
{
  static const struct
  {
    guint status;
    const char *code;
  } pairs[] = {
    { 400, "invalid_argument" }, { 401, "unauthenticated" },    { 403, "permission_denied" },
    { 404, "not_found" },        { 429, "resource_exhausted" }, { 501, "unimplemented" },
    { 503, "unavailable" },      { 504, "deadline_exceeded" },  { 500, "internal" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      PrismE2bCause cause = prism_e2b_cause_of_code (pairs[i].code);
      g_assert_cmpint (cause, ==, prism_e2b_cause_of_status (CONTROL, pairs[i].status));
      g_assert_cmpint (cause, ==, prism_e2b_cause_of_status (DATA, pairs[i].status));
    }
  g_assert_cmpint (prism_e2b_cause_of_code ("new_word"), ==, PRISM_E2B_CAUSE_SERVER);
}

static void
test_end_of_stream (void)
{
  static const struct
  {
    const char *json;
    int code; /* -1 = no error */
  } cases[] = {
    { "{}", -1 },
    { "{\"metadata\":{\"k\":[\"v\"]}}", -1 },
    { "{\"error\":null}", -1 },
    { "{\"error\":{\"code\":\"not_found\",\"message\":\"process with pid 1 not found\"}}", CODE (NOT_FOUND) },
    { "{\"error\":{\"code\":\"deadline_exceeded\"}}", CODE (TIMEOUT) },
    { "{\"error\":{\"code\":\"unavailable\",\"message\":\"x\"}}", CODE (UNAVAILABLE) },
    { "{\"error\":{}}", CODE (FAILED) },
    { "{\"error\":\"x\"}", CODE (FAILED) },
    { "", CODE (LOST) },
    { "[]", CODE (LOST) },
    { "nonsense", CODE (LOST) },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      PrismE2bCause cause;
      gboolean fine =
          prism_e2b_end_parse ((const guint8 *)cases[i].json, strlen (cases[i].json), "run it", NULL, &cause, &error);

      g_test_message ("%s", cases[i].json);
      g_assert_true (fine == (cases[i].code == -1));
      if (!fine)
        g_assert_error (error, PRISM_SANDBOX_ERROR, cases[i].code);
    }
}

static void
test_transport (void)
{
  static const struct
  {
    GQuark (*domain) (void);
    int code;
    gboolean idempotent;
    int expected;
  } cases[] = {
    { g_io_error_quark, G_IO_ERROR_CONNECTION_REFUSED, FALSE, CODE (UNAVAILABLE) },
    { g_io_error_quark, G_IO_ERROR_CONNECTION_CLOSED, FALSE, CODE (LOST) },
    { g_io_error_quark, G_IO_ERROR_CONNECTION_CLOSED, TRUE, CODE (UNAVAILABLE) },
    { g_io_error_quark, G_IO_ERROR_TIMED_OUT, FALSE, CODE (TIMEOUT) },
    { g_io_error_quark, G_IO_ERROR_CANCELLED, FALSE, CODE (CANCELLED) },
    { g_resolver_error_quark, G_RESOLVER_ERROR_NOT_FOUND, FALSE, CODE (UNAVAILABLE) },
    { g_tls_error_quark, G_TLS_ERROR_BAD_CERTIFICATE, FALSE, CODE (UNAVAILABLE) },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) failure = g_error_new_literal (cases[i].domain (), cases[i].code, "x");
      g_autoptr (GError) error = prism_e2b_transport_to_error (failure, "create the sandbox", cases[i].idempotent);
      g_assert_error (error, PRISM_SANDBOX_ERROR, cases[i].expected);
    }
}

static void
test_retry_after (void)
{
  g_assert_cmpint (prism_e2b_retry_after_parse ("0"), ==, 0);
  g_assert_cmpint (prism_e2b_retry_after_parse ("2"), ==, 2);
  g_assert_cmpint (prism_e2b_retry_after_parse ("99999"), ==, -1);
  g_assert_cmpint (prism_e2b_retry_after_parse ("-1"), ==, -1);
  g_assert_cmpint (prism_e2b_retry_after_parse ("1.5"), ==, -1);
  g_assert_cmpint (prism_e2b_retry_after_parse ("Wed, 21 Oct 2026 07:28:00 GMT"), ==, -1);
  g_assert_cmpint (prism_e2b_retry_after_parse (NULL), ==, -1);
}

/* --- the way out ------------------------------------------------------------------------------ */

typedef struct
{
  const char *rules[4];
  PrismEgressRuleFlags flags;
  const char *update; /* NULL = refused */
  const char *refused;
} NetworkCase;

#define CLOSED "\"denyOut\":[\"0.0.0.0/0\"],\"allow_internet_access\":false}"

static const NetworkCase network_cases[] = {
  { { "example.com" }, 0, "{\"allowOut\":[\"example.com\"]," CLOSED, NULL },
  { { ".example.com" }, 0, "{\"allowOut\":[\"example.com\",\"*.example.com\"]," CLOSED, NULL },
  { { "example.com:80", "example.com:443" }, 0, "{\"allowOut\":[\"example.com\"]," CLOSED, NULL },
  { { "*8.8.4.4", "example.com" }, 0, "{\"allowOut\":[\"8.8.4.4\",\"example.com\"]," CLOSED, NULL },
  { { "example.com:443" }, 0, NULL, "port 80 would be open as well" },
  { { "example.com:80" }, 0, NULL, "port 443 would be open as well" },
  { { "example.com:8080" }, 0, NULL, "on no others" },
  { { "*example.com" }, 0, NULL, "on no others" },
  { { "example.com", "other.org:22" }, 0, NULL, "other.org" },
  { { "8.8.4.4:53" }, 0, NULL, "all of its ports" },
  { { "8.8.4.4" }, 0, NULL, "all of its ports" },
  { { "*10.1.2.3" }, 0, NULL, "public addresses" },
  { { "*127.0.0.1" }, 0, NULL, "public addresses" },
  { { "*2001:4860:4860::8888" }, 0, NULL, "IPv4" },
  { { "example.com" }, PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE, NULL, "private" },
};

static PrismEgressPolicy *
make_policy (const NetworkCase *c)
{
  g_autoptr (GPtrArray) rules = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_egress_rule_unref);
  g_autoptr (GError) error = NULL;
  PrismEgressPolicy *policy;

  for (guint i = 0; i < G_N_ELEMENTS (c->rules) && c->rules[i] != NULL; i++)
    {
      gboolean any = c->rules[i][0] == '*'; /* any port */
      g_autoptr (GPtrArray) some = NULL;

      if (any)
        g_ptr_array_add (rules, prism_egress_rule_new (c->rules[i] + 1, 0, PRISM_EGRESS_SCHEME_ANY, c->flags, &error));
      else
        some = prism_egress_rule_parse (c->rules[i], c->flags, &error);
      g_assert_no_error (error);
      for (guint k = 0; some != NULL && k < some->len; k++)
        g_ptr_array_add (rules, prism_egress_rule_ref (some->pdata[k]));
    }
  policy = prism_egress_policy_new_for_rules ((PrismEgressRule **)rules->pdata, rules->len, NULL, &error);
  g_assert_no_error (error);
  return policy;
}

static void
test_network (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (network_cases); i++)
    {
      const NetworkCase *c = &network_cases[i];
      g_autoptr (PrismEgressPolicy) policy = make_policy (c);
      g_auto (PrismE2bNetwork) network = { 0 };
      g_autoptr (GError) error = NULL;
      g_autoptr (GBytes) update = NULL;
      gboolean fine = prism_e2b_network_init (&network, policy, &error);

      g_test_message ("%s", c->rules[0]);
      if (c->update == NULL)
        {
          g_assert_false (fine);
          g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED);
          g_assert_nonnull (strstr (error->message, c->refused));
          continue;
        }
      g_assert_no_error (error);
      update = prism_e2b_network_to_update (&network);
      assert_json (update, c->update);
      g_assert_cmpint (prism_e2b_network_get_controls (&network), ==, PRISM_CONTROLS_EGRESS);
    }
}

static void
test_network_kinds (void)
{
  g_autoptr (PrismEgressPolicy) all = prism_egress_policy_new_allow_all ();
  g_auto (PrismE2bNetwork) none = { 0 }, open = { 0 };
  g_autoptr (GBytes) closed = NULL, opened = NULL;
  static const struct
  {
    const char *detail;
    gboolean same;
  } details[] = {
    { "{\"allowInternetAccess\":false}", TRUE },
    { "{\"allowInternetAccess\":null,\"network\":{\"denyOut\":[\"0.0.0.0/0\"]}}", TRUE },
    { "{}", FALSE },
    { "{\"allowInternetAccess\":true,\"network\":{}}", FALSE },
    { "{\"allowInternetAccess\":false,\"network\":{\"allowOut\":[\"1.1.1.1\"]}}", FALSE },
  };

  g_assert_true (prism_e2b_network_init (&none, NULL, NULL));
  g_assert_true (prism_e2b_network_init (&open, all, NULL));
  closed = prism_e2b_network_to_update (&none);
  opened = prism_e2b_network_to_update (&open);
  assert_json (closed, "{\"allowOut\":[]," CLOSED);
  assert_json (opened, "{\"allowOut\":[],\"denyOut\":[],\"allow_internet_access\":true}");
  g_assert_cmpint (prism_e2b_network_get_controls (&none), ==, PRISM_CONTROLS_EGRESS | PRISM_CONTROLS_NETWORK);
  g_assert_cmpint (prism_e2b_network_get_controls (&open), ==, PRISM_CONTROLS_NONE);
  for (guint i = 0; i < G_N_ELEMENTS (details); i++)
    {
      g_autoptr (JsonNode) node = json_from_string (details[i].detail, NULL);
      const char *why;
      g_assert_true (prism_e2b_network_matches (&none, node, &why) == details[i].same);
      g_assert_true ((why == NULL) == details[i].same);
    }
}

/* --- REST --------------------------------------------------------------------------------------- */

static void
test_create (void)
{
  const char *labels[] = { "job=42", NULL }, *env[] = { "A=1", NULL };
  g_auto (PrismE2bNetwork) network = { 0 };
  g_autoptr (GBytes) body = NULL;
  g_autoptr (GError) error = NULL;
  PrismE2bCreate create = { "base", 300, FALSE, TRUE, "abc", labels, env, &network };

  g_assert_true (prism_e2b_network_init (&network, NULL, NULL));
  body = prism_e2b_create_new (&create, &error);
  g_assert_no_error (error);
  assert_json (body, "{\"templateID\":\"base\",\"timeout\":300,\"secure\":true,\"autoPause\":false,"
                     "\"autoResume\":{\"enabled\":false},\"envVars\":{\"A\":\"1\"},"
                     "\"metadata\":{\"job\":\"42\",\"prism.sandbox\":\"1\",\"prism.sandbox.id\":\"abc\"},"
                     "\"network\":{\"allowOut\":[],\"denyOut\":[\"0.0.0.0/0\"],\"allowPublicTraffic\":false},"
                     "\"allow_internet_access\":false}");
  g_clear_pointer (&body, g_bytes_unref);
  create.labels = create.env = NULL;
  create.host = "m.b.1.2";
  create.workspace = "/w";
  create.lifetime = "host";
  body = prism_e2b_create_new (&create, &error);
  g_assert_no_error (error);
  assert_json (body, "{\"templateID\":\"base\",\"timeout\":300,\"secure\":true,\"autoPause\":false,"
                     "\"autoResume\":{\"enabled\":false},\"envVars\":{},"
                     "\"metadata\":{\"prism.sandbox\":\"1\",\"prism.sandbox.id\":\"abc\",\"prism.host\":\"m.b.1.2\","
                     "\"prism.workspace\":\"/w\",\"prism.lifetime\":\"host\"},"
                     "\"network\":{\"allowOut\":[],\"denyOut\":[\"0.0.0.0/0\"],\"allowPublicTraffic\":false},"
                     "\"allow_internet_access\":false}");
  create.template_name = "a b";
  g_assert_null (prism_e2b_create_new (&create, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
}

static void
test_identity (void)
{
  static const struct
  {
    const char *json;
    gboolean fine;
  } cases[] = {
    { "{\"sandboxID\":\"i55\",\"envdAccessToken\":\"ea_1\",\"domain\":null,\"envdVersion\":\"0.6.13\"}", TRUE },
    { "{\"sandboxID\":\"i55-6532622b\"}", TRUE },
    { "{\"sandboxID\":\"i55\",\"domain\":\"e2b-staging.dev\"}", TRUE },
    { "{\"sandboxID\":\"i55\",\"domain\":\"evil.example/x\"}", FALSE },
    { "{\"sandboxID\":\"i55\",\"domain\":\"a@evil\"}", FALSE },
    { "{\"sandboxID\":\"i55\",\"envdAccessToken\":\"a\\r\\nX: y\"}", FALSE },
    { "{\"sandboxID\":\"../x\"}", FALSE },
    { "{\"sandboxID\":\"I55\"}", FALSE },
    { "{\"sandboxID\":\"\"}", FALSE },
    { "{}", FALSE },
    { "[]", FALSE },
    { "<html>", FALSE },
    { "", FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GBytes) body = g_bytes_new_static (cases[i].json, strlen (cases[i].json));
      g_auto (PrismE2bIdentity) identity = { 0 };
      g_autoptr (GError) error = NULL;

      g_test_message ("%s", cases[i].json);
      g_assert_true (prism_e2b_identity_parse (body, &identity, &error) == cases[i].fine);
      if (!cases[i].fine)
        g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST);
    }
}

static void
test_paths (void)
{
  g_autofree char *list = prism_e2b_list_path ("a k", "b&c", NULL);
  g_autofree char *more = prism_e2b_list_path (PRISM_E2B_LABEL_ID, "x", "t=1");
  g_autofree char *file = prism_e2b_files_path ("/tmp/a+b é?.txt", NULL);
  g_autofree char *user = prism_e2b_files_path ("/x", "root");

  /* Blanks may be a plus sign or %20 in a form; all else as the service's own client has it. */
  g_assert_cmpstr (list, ==, "/v2/sandboxes?metadata=a%252520k%3Db%252526c&state=running,paused&limit=100");
  g_assert_true (g_str_has_suffix (more, "&nextToken=t%3D1"));
  g_assert_cmpstr (file, ==, "/files?path=%2Ftmp%2Fa%2Bb%20%C3%A9%3F.txt");
  g_assert_cmpstr (user, ==, "/files?path=%2Fx&username=root");
}

static void
test_entries (void)
{
  static const struct
  {
    const char *json;
    int type; /* -1 = broken */
    guint64 size;
  } cases[] = {
    { "{\"path\":\"/a\",\"type\":\"FILE_TYPE_FILE\",\"mode\":420,\"size\":\"8\"}", G_FILE_TYPE_REGULAR, 8 },
    { "{\"path\":\"/a\",\"type\":\"FILE_TYPE_FILE\",\"size\":8}", G_FILE_TYPE_REGULAR, 8 },
    { "{\"path\":\"/a\",\"type\":\"FILE_TYPE_FILE\"}", G_FILE_TYPE_REGULAR, 0 },
    { "{\"path\":\"/a\",\"type\":\"FILE_TYPE_DIRECTORY\",\"size\":\"4096\"}", G_FILE_TYPE_DIRECTORY, 4096 },
    { "{\"path\":\"/a\",\"type\":\"FILE_TYPE_FILE\",\"symlinkTarget\":\"/b\"}", G_FILE_TYPE_SYMBOLIC_LINK, 0 },
    { "{\"path\":\"/a\",\"permissions\":\"Lrwxrwxrwx\"}", G_FILE_TYPE_SYMBOLIC_LINK, 0 },
    { "{\"path\":\"/a\"}", G_FILE_TYPE_SPECIAL, 0 },
    { "{\"path\":\"a\"}", -1, 0 },
    { "{\"path\":\"/a\",\"size\":\"-1\"}", -1, 0 },
    { "{\"path\":\"/a\",\"size\":\"x\"}", -1, 0 },
    { "{\"path\":\"/a\",\"mode\":-1}", -1, 0 },
    { "{}", -1, 0 },
    { "3", -1, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (JsonNode) node = json_from_string (cases[i].json, NULL);
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismFileEntry) entry = prism_e2b_entry_parse (node, &error);

      g_test_message ("%s", cases[i].json);
      if (cases[i].type == -1)
        {
          g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST);
          continue;
        }
      g_assert_no_error (error);
      g_assert_cmpint (prism_file_entry_get_file_type (entry), ==, cases[i].type);
      g_assert_cmpuint (prism_file_entry_get_size (entry), ==, cases[i].size);
    }
}

static void
test_reference (void)
{
  static const char *const wrong[] = {
    "",
    "prism-e2b-proc:",
    "prism-e2b-proc:e30",
    "prism-e2b-proc:!!",
    "prism-docker-proc:e30",
    "prism-e2b-proc:eyJ2IjoxLCJzaWQiOiIuLi94IiwicGlkIjo0MiwiZnAiOiJhIiwid3MiOiIvIn0", /* sid ../x */
    "prism-e2b-proc:eyJ2IjoyLCJzaWQiOiJhIiwicGlkIjo0MiwiZnAiOiJhIiwid3MiOiIvIn0",     /* v 2 */
    "prism-e2b-proc:eyJ2IjoxLCJzaWQiOiJhIiwicGlkIjowLCJmcCI6ImEiLCJ3cyI6Ii8ifQ",      /* pid 0 */
  };
  const char *text = "prism-e2b-proc:"
                     "eyJ2IjoxLCJzaWQiOiJzYngxIiwicGlkIjo0MiwiZnAiOiI1MjdjNDg0YmNjM2JiMjE5ZTkyZWQ2MWY5OWZmOTY4ZjMxMTQzZ"
                     "jg5ZTUzZmRhOTNkMDliNzRjMGNlMzE3N2Q0Iiwid3MiOiIvd29ya3NwYWNlIn0";
  PrismE2bReference reference = { (char *)"sbx1", 42,
                                  (char *)"527c484bcc3bb219e92ed61f99ff968f31143f89e53fda93d09b74c0ce3177d4",
                                  (char *)"/workspace" };
  g_autofree char *made = prism_e2b_reference_format (&reference);
  g_auto (PrismE2bReference) read = { 0 };

  g_assert_cmpstr (made, ==, text);
  g_assert_true (prism_e2b_reference_parse (text, &read));
  g_assert_cmpstr (read.sandbox, ==, "sbx1");
  g_assert_cmpint (read.pid, ==, 42);
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_auto (PrismE2bReference) none = { 0 };
      g_assert_false (prism_e2b_reference_parse (wrong[i], &none));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/e2b-rest/failures", test_failures);
  g_test_add_func ("/e2b-rest/large-failure", test_large_failure);
  g_test_add_func ("/e2b-rest/same-cause", test_same_cause);
  g_test_add_func ("/e2b-rest/end-of-stream", test_end_of_stream);
  g_test_add_func ("/e2b-rest/transport", test_transport);
  g_test_add_func ("/e2b-rest/retry-after", test_retry_after);
  g_test_add_func ("/e2b-rest/network", test_network);
  g_test_add_func ("/e2b-rest/network-kinds", test_network_kinds);
  g_test_add_func ("/e2b-rest/create", test_create);
  g_test_add_func ("/e2b-rest/identity", test_identity);
  g_test_add_func ("/e2b-rest/paths", test_paths);
  g_test_add_func ("/e2b-rest/entries", test_entries);
  g_test_add_func ("/e2b-rest/reference", test_reference);
  return g_test_run ();
}
