/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attestations, audit records and credentials. The keys were made for this test,
 * and the signature by another program: Ed25519 has one for each content. */
#include "prism-attestation.h"
#include "prism-audit-record.h"
#include "prism-credential.h"
#include "prism-error.h"
#include "prism-timestamp-private.h"

#include <string.h>

#define GITHUB_FINGERPRINT "0ef6b24a8e8e20fda9d2f55cb395e6937755beb7689e4d2795c360dad23ba203"
#define KEY_ID             "1f908a79c88f69d8eab2efd3f8379d064ebf21e6df701392667cd6e94ef8b7d1"
#define SIGNATURE          "j4uZkzpmm6IXqDoVDWmcPXcxdvODUCakYTskBdIGLl5FXNTB9YFmhhdjdQlgGdUYwSGSCDl+tDra4Hgn5dOKDA=="
#define SIGNED                                                                                                         \
  "{\"denyDirectEgress\":true,\"keyId\":\"" KEY_ID "\",\"policyFingerprint\":\"" GITHUB_FINGERPRINT                    \
  "\",\"policyVersion\":3,\"proxyEndpoint\":\"http://127.0.0.1:3128\",\"signature\":\"" SIGNATURE                      \
  "\",\"startedAt\":\"2026-11-29T15:04:05.678Z\"}"

static const char private_key[] = "-----BEGIN PRIVATE KEY-----\n"
                                  "MC4CAQAwBQYDK2VwBCIEIF6mC0vYXPdYoZvikZ/Z06Cqlpkw1XStxfItF7/k1vzu\n"
                                  "-----END PRIVATE KEY-----\n";

static const char public_key[] = "-----BEGIN PUBLIC KEY-----\n"
                                 "MCowBQYDK2VwAyEA649sOf8/erRHqG5wEWeLj22x86wGowCoMQQI+Q0sHhY=\n"
                                 "-----END PUBLIC KEY-----\n";

static const char other_public_key[] = "-----BEGIN PUBLIC KEY-----\n"
                                       "MCowBQYDK2VwAyEAszctNxX1uHGkHjARJHIKHAKcUbFnLJBD5niHlYM7z/8=\n"
                                       "-----END PUBLIC KEY-----\n";

static const char locked_key[] = "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                                 "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgx4XdTeJCgIAICCAAw\n"
                                 "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEELJcYyXH+m/e/0S7w7DwUoUEQKqT\n"
                                 "UiX8Rtni9yimau3zi3TismDMvABiYg2/anajj3lz3UaQ+9WTaOUjEr+AjZ8Wd44c\n"
                                 "P0Nu9pdzmo2b63HcBWU=\n"
                                 "-----END ENCRYPTED PRIVATE KEY-----\n";

static const char elliptic_key[] = "-----BEGIN PUBLIC KEY-----\n"
                                   "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAES/9y7ePIxEsmopCVxuyp0uCX7S6g\n"
                                   "Ebj+Jxe0JT//UX8afyfcuiqgKCRArwm2I5Mmk3LMaS+maoGiTvwlGapHRQ==\n"
                                   "-----END PUBLIC KEY-----\n";

/* --- attestation ------------------------------------------------------------- */

static PrismAttestation *
unsigned_attestation (void)
{
  g_autoptr (GDateTime) start = g_date_time_new_from_iso8601 ("2026-11-29T15:04:05.678901Z", NULL);
  g_autoptr (GError) error = NULL;
  PrismAttestation *attestation =
      prism_attestation_new ("http://127.0.0.1:3128", TRUE, GITHUB_FINGERPRINT, 3, start, &error);

  g_assert_no_error (error);
  return attestation;
}

static void
test_sign (void)
{
  g_autoptr (PrismAttestation) plain = unsigned_attestation ();
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismAttestation) attestation = prism_attestation_sign (plain, private_key, &error);
  g_autoptr (PrismAttestation) again = NULL;
  g_autofree char *json = NULL;
  g_autofree char *json_again = NULL;

  g_assert_no_error (error);
  json = prism_attestation_to_json (attestation);
  g_assert_cmpstr (json, ==, SIGNED);
  g_assert_cmpstr (prism_attestation_get_key_id (attestation), ==, KEY_ID);
  again = prism_attestation_new_from_json (json, -1, &error);
  g_assert_no_error (error);
  json_again = prism_attestation_to_json (again);
  g_assert_cmpstr (json_again, ==, json);
  g_assert_true (prism_attestation_verify (again, public_key, &error));
  g_assert_no_error (error);
  g_assert_null (prism_attestation_get_signature (plain));
}

static void
assert_unverified (const char *json, const char *key, const char *words)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismAttestation) attestation = prism_attestation_new_from_json (json, -1, &error);

  g_assert_no_error (error);
  g_assert_false (prism_attestation_verify (attestation, key, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_ATTESTATION);
  g_assert_nonnull (strstr (error->message, words));
}

/* Without the module nothing is signed, and it is said why; put back, it is found. */
static void
test_no_module (void)
{
  g_autofree char *folder = g_strdup (g_getenv ("PRISM_MODULES"));
  g_autoptr (PrismAttestation) plain = unsigned_attestation ();
  g_autoptr (PrismAttestation) attestation = NULL;
  g_autoptr (GError) error = NULL;

  g_setenv ("PRISM_MODULES", "/nonexistent", TRUE);
  g_assert_null (prism_attestation_sign (plain, private_key, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "/nonexistent/prism-signature.so"));
  g_clear_error (&error);
  g_setenv ("PRISM_MODULES", folder, TRUE);
  attestation = prism_attestation_sign (plain, private_key, &error);
  g_assert_no_error (error);
}

/* Every field is part of what is signed. */
static void
test_forged (void)
{
  static const char *const changes[][2] = {
    { "\"denyDirectEgress\":true", "\"denyDirectEgress\":false" },
    { "\"policyVersion\":3", "\"policyVersion\":4" },
    { "127.0.0.1:3128", "127.0.0.1:3129" },
    { "0ef6b24a", "1ef6b24a" },
    { "05.678Z", "05.679Z" },
    { "\"signature\":\"j4uZ", "\"signature\":\"k4uZ" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    {
      g_autoptr (GString) json = g_string_new (SIGNED);

      g_assert_cmpuint (g_string_replace (json, changes[i][0], changes[i][1], 0), ==, 1);
      assert_unverified (json->str, public_key, "not that of this key");
    }
  assert_unverified (SIGNED, other_public_key, "another key");
  assert_unverified (SIGNED, private_key, "not a public Ed25519 key");
  assert_unverified (SIGNED, elliptic_key, "not a public Ed25519 key");
  assert_unverified (SIGNED, "", "not a public Ed25519 key");
}

static void
test_keys (void)
{
  g_autoptr (PrismAttestation) plain = unsigned_attestation ();
  static const char *const keys[] = { "", public_key, locked_key, "-----BEGIN PRIVATE KEY-----\nAAAA\n" };
  g_autoptr (GError) error = NULL;

  g_assert_false (prism_attestation_verify (plain, public_key, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_ATTESTATION);
  g_assert_nonnull (strstr (error->message, "not signed"));
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    {
      g_clear_error (&error);
      g_assert_null (prism_attestation_sign (plain, keys[i], &error));
      g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_ATTESTATION);
      g_assert_nonnull (strstr (error->message, "without a passphrase"));
    }
  g_assert_cmpstr (prism_error_get_code_name (error), ==, "ERR_PRISM_EGRESS_ATTESTATION");
}

static void
test_malformed_attestation (void)
{
  static const char *const changes[][3] = {
    { "\"policyVersion\":3", "\"policyVersion\":3,\"policyVersion\":4", "/policyVersion: appears twice" },
    { "\"policyVersion\":3", "\"policyVersion\":\"3\"", "/policyVersion: a whole number" },
    { "\"policyVersion\":3", "\"policyVersion\":-3", "/policyVersion: a whole number" },
    { "\"policyVersion\":3", "\"policyVersion\":3.5", "/policyVersion: a whole number" },
    { "\"policyVersion\":3", "\"policyVersion\":9007199254740993", "out of range" },
    { "\"policyVersion\":3", "\"policyVersion\":03", "a comma or a closing brace" },
    { "\"policyVersion\":3,", "\"policyVersion\":3,,", "a string in double quotes" },
    { "\"policyVersion\":3,", "", "/policyVersion: missing" },
    { "true", "1", "/denyDirectEgress: true or false" },
    { "true", "null", "/denyDirectEgress: true or false" },
    { "true", "tru", "a value is expected" },
    { "{\"deny", "{\"extra\":0,\"deny", "/extra: unknown; there are: denyDirectEgress, keyId" },
    { "http://", "https://", "/proxyEndpoint" },
    { "127.0.0.1:3128", "127.0.0.1", "/proxyEndpoint" },
    { "127.0.0.1:3128", "127.0.0.1:03128", "/proxyEndpoint" },
    { "127.0.0.1:3128", "PROXY.test:3128", "/proxyEndpoint" },
    { "127.0.0.1:3128", "user@127.0.0.1:3128", "/proxyEndpoint" },
    { "127.0.0.1:3128", "127.0.0.1:3128/", "/proxyEndpoint" },
    { "127.0.0.1:3128", "127.0.0.1:3128\\u0000", "escape sequence" },
    { "0ef6b24a", "0EF6b24a", "/policyFingerprint" },
    { "0ef6b24a", "ef6b24a", "/policyFingerprint" },
    { "05.678Z", "05Z", "/startedAt" },
    { "05.678Z", "61.678Z", "/startedAt" },
    { "2026-11-29T", "2026-02-29T", "/startedAt" },
    { "05.678Z", "05.678+00:00", "/startedAt" },
    { "OKDA==", "OKDA=", "/signature" },
    { "OKDA==", "OKDA==\\n", "/signature" },
    { "OKDA==", "OKDB==", "/signature" },
    { "\"keyId\":\"" KEY_ID "\",", "", "keyId" },
    { "\"}", "\"} x", "something follows" },
    { "\"}", "\",}", "a string in double quotes" },
    { "{\"deny", "/* c */{\"deny", "line 1, column 1" },
    { "{\"deny", "\357\273\277{\"deny", "line 1, column 1" },
    { "\"}", "", "a string does not end" },
    { "3128\"", "3128\n\"", "line 1, column" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    {
      g_autoptr (GString) json = g_string_new (SIGNED);
      g_autoptr (GError) error = NULL;

      g_assert_cmpuint (g_string_replace (json, changes[i][0], changes[i][1], 0), >=, 1);
      g_assert_null (prism_attestation_new_from_json (json->str, (gssize)json->len, &error));
      g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_ATTESTATION);
      if (strstr (error->message, changes[i][2]) == NULL)
        g_error ("row %u: %s", i, error->message);
    }
}

static void
test_bounds (void)
{
  g_autoptr (GString) deep = g_string_new (NULL);
  g_autoptr (GString) many = g_string_new ("[0");
  g_autoptr (GString) long_text = g_string_new ("\"");
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 100000; i++)
    g_string_append (deep, "[");
  g_assert_null (prism_attestation_new_from_json (deep->str, -1, &error));
  g_assert_nonnull (strstr (error->message, "nested too deeply"));
  g_clear_error (&error);
  for (guint i = 0; i < 70000; i++)
    g_string_append (many, ",0");
  g_string_append (many, "]");
  g_assert_null (prism_attestation_new_from_json (many->str, -1, &error));
  g_assert_nonnull (strstr (error->message, "too many values"));
  g_clear_error (&error);
  g_string_set_size (long_text, 1024 * 1024 + 1);
  memset (long_text->str + 1, 'a', long_text->len - 1);
  g_assert_null (prism_attestation_new_from_json (long_text->str, -1, &error));
  g_assert_nonnull (strstr (error->message, "1 MiB"));
  g_clear_error (&error);
  g_assert_null (prism_attestation_new_from_json ("7", -1, &error));
  g_assert_nonnull (strstr (error->message, "an object is expected"));
}

/* --- audit record -------------------------------------------------------------- */

static void
test_audit_lines (void)
{
  g_autoptr (PrismAuditRecord) record =
      prism_audit_record_new (PRISM_AUDIT_DECISION_ALLOW, "api.example.com", 443, PRISM_EGRESS_SCHEME_HTTPS);
  g_autoptr (PrismAuditRecord) again = NULL;
  g_autoptr (PrismAuditRecord) copy = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GDateTime) time = NULL;
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *line = prism_audit_record_to_json (record);
  g_autofree char *line_again = NULL;

  g_assert_null (strstr (line, "policyVersion"));
  g_assert_null (strstr (line, "bytesSent"));
  g_free (g_steal_pointer (&line));
  prism_audit_record_set_rule (record, "https|api.example.com|443|0", 7);
  prism_audit_record_set_transfer (record, 0, G_GINT64_CONSTANT (9007199254740991), 12);
  prism_audit_record_set_client (record, "127.0.0.1:40000", "sandbox-1");
  prism_audit_record_set_reason (record, "idle", "nothing came for 60 s");
  copy = prism_audit_record_copy (record);
  line = prism_audit_record_to_json (copy);
  again = prism_audit_record_new_from_json (line, -1, &error);
  g_assert_no_error (error);
  line_again = prism_audit_record_to_json (again);
  g_assert_cmpstr (line_again, ==, line);
  g_assert_cmpstr (prism_audit_record_get_id (again), ==, prism_audit_record_get_id (record));
  g_assert_true (g_uuid_string_is_valid (prism_audit_record_get_id (again)));
  g_assert_cmpint (prism_audit_record_get_decision (again), ==, PRISM_AUDIT_DECISION_ALLOW);
  g_assert_cmpstr (prism_audit_record_get_host (again), ==, "api.example.com");
  g_assert_cmpuint (prism_audit_record_get_port (again), ==, 443);
  g_assert_cmpint (prism_audit_record_get_protocol (again), ==, PRISM_EGRESS_SCHEME_HTTPS);
  g_assert_cmpstr (prism_audit_record_get_rule (again), ==, "https|api.example.com|443|0");
  g_assert_cmpint (prism_audit_record_get_policy_version (again), ==, 7);
  g_assert_cmpint (prism_audit_record_get_bytes_sent (again), ==, 0);
  g_assert_cmpint (prism_audit_record_get_bytes_received (again), ==, G_GINT64_CONSTANT (9007199254740991));
  g_assert_cmpint (prism_audit_record_get_duration_ms (again), ==, 12);
  g_assert_cmpstr (prism_audit_record_get_client (again), ==, "127.0.0.1:40000");
  g_assert_cmpstr (prism_audit_record_get_sandbox_id (again), ==, "sandbox-1");
  g_assert_cmpstr (prism_audit_record_get_reason_id (again), ==, "idle");
  g_assert_cmpstr (prism_audit_record_get_reason (again), ==, "nothing came for 60 s");
  time = prism_audit_record_get_time (again);
  g_assert_cmpint (g_date_time_difference (now, time), <, 60 * G_TIME_SPAN_SECOND);
}

/* What somebody inside chose as a name moves no cursor and ends no line. */
static void
test_audit_hostile (void)
{
  g_autofree char *long_host = g_strnfill (5000, 'a');
  const char *const hosts[] = { "a\nb",           "a\"b\\c",          "\033[2Jx",        "\302\233m",
                                "a\342\200\256b", "\360\237\246\212", "\377\376 broken", "\177",
                                "\342\201\246",   "b\303\274cher",    long_host,         "" };

  for (guint i = 0; i < G_N_ELEMENTS (hosts); i++)
    {
      g_autoptr (PrismAuditRecord) record =
          prism_audit_record_new (PRISM_AUDIT_DECISION_DENY, hosts[i], 0, PRISM_EGRESS_SCHEME_ANY);
      g_autofree char *line = prism_audit_record_to_json (record);
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismAuditRecord) again = prism_audit_record_new_from_json (line, -1, &error);
      g_autofree char *valid = g_utf8_make_valid (hosts[i], -1);

      g_assert_no_error (error);
      g_assert_cmpuint (strlen (line), <, 2000);
      for (const char *p = line; *p != '\0'; p++)
        g_assert_true (g_ascii_isprint (*p));
      if (strlen (hosts[i]) < 1000)
        g_assert_cmpstr (prism_audit_record_get_host (again), ==, valid);
      else
        g_assert_true (g_str_has_suffix (prism_audit_record_get_host (again), "a..."));
    }
}

static void
test_audit_malformed (void)
{
#define LINE                                                                                                           \
  "{\"id\":\"123e4567-e89b-42d3-a456-426614174000\",\"ts\":\"2026-11-29T15:04:05.678Z\",\"decision\":\"deny\","        \
  "\"host\":\"h\",\"port\":80,\"protocol\":\"http\"}"
  static const char *const changes[][3] = {
    { "-426614174000", "", "/id" },
    { "2026-11-29T", "29.11.2026 ", "/ts" },
    { "deny", "Deny", "/decision" },
    { ":80", ":65536", "/port" },
    { ":80", ":-1", "/port" },
    { "\"http\"", "\"ftp\"", "/protocol" },
    { "\"host\":\"h\",", "", "/host: missing" },
    { "\"host\":\"h\"", "\"host\":[\"h\"]", "/host: a string" },
    { "\"port\"", "\"cookie\":\"x\",\"port\"", "/cookie: unknown" },
  };
  g_autoptr (GError) good = NULL;
  g_autoptr (PrismAuditRecord) record = prism_audit_record_new_from_json (LINE, -1, &good);

  g_assert_no_error (good);
  g_assert_cmpint (prism_audit_record_get_policy_version (record), ==, -1);
  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    {
      g_autoptr (GString) line = g_string_new (LINE);
      g_autoptr (GError) error = NULL;

      g_assert_cmpuint (g_string_replace (line, changes[i][0], changes[i][1], 0), ==, 1);
      g_assert_null (prism_audit_record_new_from_json (line->str, -1, &error));
      g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY);
      if (strstr (error->message, changes[i][2]) == NULL)
        g_error ("row %u: %s", i, error->message);
    }
}

static void
test_timestamps (void)
{
  static const gint64 times[] = { 0, -1, 999, 1000, -62135596800000, 253402300799999, 951782400000, 1795964645678 };
  char text[PRISM_TIMESTAMP_SIZE];

  for (guint i = 0; i < G_N_ELEMENTS (times); i++)
    {
      gint64 back = 1;

      g_assert_true (prism_timestamp_format (times[i], text));
      g_assert_cmpuint (strlen (text), ==, 24);
      g_assert_true (prism_timestamp_parse (text, &back));
      g_assert_cmpint (back, ==, times[i]);
    }
  g_assert_false (prism_timestamp_format (253402300800000, text));
}

/* --- credential ---------------------------------------------------------------- */

#define SECRET "Bearer s3cr3t-token"

static void
test_credential (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismCredential) credential = prism_credential_new (".API.example.com.", "Authorization", SECRET, &error);
  g_autofree GParamSpec **properties = NULL;
  guint n = 0;

  g_assert_no_error (error);
  g_assert_cmpstr (prism_credential_get_host (credential), ==, ".api.example.com");
  g_assert_cmpstr (prism_credential_get_header (credential), ==, "Authorization");
  g_assert_cmpstr (prism_credential_reveal (credential), ==, SECRET);
  g_assert_true (prism_credential_matches (credential, "api.example.com"));
  g_assert_true (prism_credential_matches (credential, "V1.api.example.com."));
  g_assert_false (prism_credential_matches (credential, "evilapi.example.com"));
  g_assert_false (prism_credential_matches (credential, "api.example.com.."));
  g_assert_false (prism_credential_matches (credential, ""));

  properties = g_object_class_list_properties (G_OBJECT_GET_CLASS (credential), &n);
  g_assert_cmpuint (n, ==, 2);
  for (guint i = 0; i < n; i++)
    {
      g_auto (GValue) value = G_VALUE_INIT;
      g_autofree char *shown = NULL;

      g_object_get_property (G_OBJECT (credential), properties[i]->name, &value);
      shown = g_strdup_value_contents (&value);
      g_assert_null (strstr (shown, "s3cr3t"));
    }
}

static void
test_credential_refused (void)
{
  g_autofree char *long_value = g_strnfill (16385, 's');
  const char *const rows[][4] = {
    { "*.example.com", "Authorization", SECRET, "wildcards" },
    { "", "Authorization", SECRET, "empty" },
    { "10.0.0.0/8", "Authorization", SECRET, "prefix length" },
    { "a.test", "", SECRET, "1 to 128" },
    { "a.test", "Author ization", SECRET, "letters" },
    { "a.test", "X:Y", SECRET, "letters" },
    { "a.test", "X\r\nY", SECRET, "letters" },
    { "a.test", "Host", SECRET, "proxy's own" },
    { "a.test", "transfer-Encoding", SECRET, "proxy's own" },
    { "a.test", "Content-Length", SECRET, "proxy's own" },
    { "a.test", "Proxy-Authorization", SECRET, "proxy's own" },
    { "a.test", "Authorization", "", "empty" },
    { "a.test", "Authorization", SECRET "\n", "ends in a newline" },
    { "a.test", "Authorization", SECRET "\r\n", "ends in a newline" },
    { "a.test", "Authorization", "s3cr3t\r\nX: s3cr3t", "control character" },
    { "a.test", "Authorization", "s3cr3t\tx", "control character" },
    { "a.test", "Authorization", " s3cr3t", "blank" },
    { "a.test", "Authorization", "s3cr3t ", "blank" },
    { "a.test", "Authorization", long_value, "16 KiB" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (prism_credential_new (rows[i][0], rows[i][1], rows[i][2], &error));
      g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY);
      if (strstr (error->message, rows[i][3]) == NULL)
        g_error ("row %u: %s", i, error->message);
      g_assert_null (strstr (error->message, "s3cr3t"));
      g_assert_null (strstr (error->message, "sss"));
    }
}

/* It lies where no core dump looks. */
static void
test_credential_pages (void)
{
  g_autoptr (PrismCredential) credential = prism_credential_new ("a.test", "Authorization", SECRET, NULL);
  g_autofree char *maps = NULL;
  g_autofree char *start = g_strdup_printf ("\n%zx-", (gsize)prism_credential_reveal (credential));
  const char *at, *flags, *end;

  g_assert_true (g_file_get_contents ("/proc/self/smaps", &maps, NULL, NULL));
  at = strstr (maps, start);
  g_assert_nonnull (at);
  flags = strstr (at, "VmFlags:");
  g_assert_nonnull (flags);
  end = strchr (flags, '\n');
  g_assert_nonnull (g_strstr_len (flags, end - flags, " dd"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/attestation/no-module", test_no_module); /* first: a module that was loaded stays */
  g_test_add_func ("/attestation/sign", test_sign);
  g_test_add_func ("/attestation/forged", test_forged);
  g_test_add_func ("/attestation/keys", test_keys);
  g_test_add_func ("/attestation/malformed", test_malformed_attestation);
  g_test_add_func ("/attestation/bounds", test_bounds);
  g_test_add_func ("/audit-record/lines", test_audit_lines);
  g_test_add_func ("/audit-record/hostile", test_audit_hostile);
  g_test_add_func ("/audit-record/malformed", test_audit_malformed);
  g_test_add_func ("/audit-record/timestamps", test_timestamps);
  g_test_add_func ("/credential/use", test_credential);
  g_test_add_func ("/credential/refused", test_credential_refused);
  g_test_add_func ("/credential/pages", test_credential_pages);
  return g_test_run ();
}
