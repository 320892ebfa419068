/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-egress-policy.h"
#include "prism-rule-index-private.h"

#include <json-glib/json-glib.h>
#include <string.h>

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static GPtrArray *
rules_new (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify)prism_egress_rule_unref);
}

static void
add (GPtrArray *rules, const char *host, guint port, PrismEgressScheme scheme, PrismEgressRuleFlags flags)
{
  g_autoptr (GError) error = NULL;
  PrismEgressRule *rule = prism_egress_rule_new (host, port, scheme, flags, &error);

  g_assert_no_error (error);
  g_ptr_array_add (rules, rule);
}

static void
test_kinds (void)
{
  g_autoptr (PrismEgressPolicy) nothing = prism_egress_policy_new_deny_all ();
  g_autoptr (PrismEgressPolicy) everything = prism_egress_policy_new_allow_all ();
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismEgressPolicy) none = prism_egress_policy_new_static ((const char *const[]){ NULL }, &error);
  PrismEgressPolicyKind kind;
  PrismEgressRule *rule;
  g_autofree char *any = g_compute_checksum_for_string (G_CHECKSUM_SHA256, "*|*|*|0", -1);

  g_assert_no_error (error);
  g_assert_null (prism_egress_policy_match (nothing, "good.test", 443, PRISM_EGRESS_SCHEME_HTTPS));
  g_assert_null (prism_egress_policy_match (none, "good.test", 443, PRISM_EGRESS_SCHEME_HTTPS));
  g_assert_cmpstr (prism_egress_policy_get_fingerprint (nothing), ==, EMPTY);
  g_assert_cmpstr (prism_egress_policy_get_fingerprint (none), ==, EMPTY);
  g_assert_cmpuint (prism_egress_policy_get_rules (nothing)->len, ==, 0);
  g_object_get (none, "kind", &kind, NULL);
  g_assert_cmpint (kind, ==, PRISM_EGRESS_POLICY_KIND_STATIC);

  rule = prism_egress_policy_match (everything, "[2606:4700::1111]", 8443, PRISM_EGRESS_SCHEME_HTTPS);
  g_assert_cmpstr (prism_egress_rule_get_line (rule), ==, "*|*|*|0");
  g_assert_cmpstr (prism_egress_rule_get_host (rule), ==, "*");
  g_assert_false (prism_egress_rule_get_allow_private (rule));
  g_assert_null (prism_egress_policy_match (everything, "good.test..", 443, PRISM_EGRESS_SCHEME_HTTPS));
  g_assert_cmpint (prism_egress_policy_get_kind (everything), ==, PRISM_EGRESS_POLICY_KIND_ALLOW_ALL);
  g_assert_cmpstr (prism_egress_policy_get_fingerprint (everything), ==, any);
}

static void
test_flags (void)
{
  g_autoptr (GPtrArray) rules = rules_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismEgressPolicy) policy = NULL;
  PrismEgressRule *rule;

  add (rules, "127.0.0.1", 8080, PRISM_EGRESS_SCHEME_HTTP, PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE);
  policy = prism_egress_policy_new_for_rules ((PrismEgressRule *const *)rules->pdata, rules->len, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (prism_egress_policy_get_fingerprint (policy), ==,
                   "24b941874185b4221527489b64de6c577f5d213fd6b5af87414cc33993e9c238");
  g_assert_cmpuint (prism_egress_policy_get_presets (policy)[0] != NULL, ==, 0);

  /* Of two for the same place the one with more flags, whatever their order. */
  add (rules, ".good.test", 0, PRISM_EGRESS_SCHEME_ANY, PRISM_EGRESS_RULE_FLAGS_NONE);
  add (rules, ".good.test", 0, PRISM_EGRESS_SCHEME_ANY,
       PRISM_EGRESS_RULE_FLAGS_UPGRADE | PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE);
  add (rules, ".GOOD.test.", 0, PRISM_EGRESS_SCHEME_ANY, PRISM_EGRESS_RULE_FLAGS_NONE);
  g_clear_object (&policy);
  policy = prism_egress_policy_new_for_rules ((PrismEgressRule *const *)rules->pdata, rules->len, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (prism_egress_policy_get_rules (policy)->len, ==, 3);
  rule = prism_egress_policy_match (policy, "good.test", 1, PRISM_EGRESS_SCHEME_HTTPS);
  g_assert_cmpstr (prism_egress_rule_get_line (rule), ==, "*|.good.test|*|1|upgrade");
  g_assert_true (prism_egress_rule_get_upgrade (rule));
  g_assert_cmpuint (prism_egress_rule_get_port (rule), ==, 0);
  g_assert_cmpint (prism_egress_rule_get_scheme (rule), ==, PRISM_EGRESS_SCHEME_ANY);
}

static void
test_upgrade (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) rules = NULL;

  g_assert_null (
      prism_egress_rule_new ("good.test", 80, PRISM_EGRESS_SCHEME_HTTP, PRISM_EGRESS_RULE_FLAGS_UPGRADE, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY);
  g_clear_error (&error);
  g_assert_null (prism_egress_rule_parse ("http://good.test", PRISM_EGRESS_RULE_FLAGS_UPGRADE, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY);
  g_clear_error (&error);
  rules = prism_egress_rule_parse ("good.test", PRISM_EGRESS_RULE_FLAGS_UPGRADE, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (rules->len, ==, 1);
  g_assert_cmpstr (prism_egress_rule_get_line (g_ptr_array_index (rules, 0)), ==, "https|good.test|443|0|upgrade");
}

static void
test_refused (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) rules = rules_new ();

  g_assert_null (prism_egress_policy_new_static ((const char *const[]){ "good.test", "*.evil.test", NULL }, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY);
  g_assert_nonnull (strstr (error->message, "*.evil.test"));
  g_clear_error (&error);
  for (guint i = 0; i < 4; i++)
    {
      static const char *const names[] = { "", "nobody", "../github", "github.json" };

      g_assert_null (prism_egress_policy_load_preset (names[i], &error));
      g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY);
      g_assert_nonnull (strstr (error->message, "npm-registry"));
      g_clear_error (&error);
    }
  g_assert_null (prism_egress_rule_new ("good.test", 65536, PRISM_EGRESS_SCHEME_HTTPS, 0, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY);
  g_clear_error (&error);
  for (guint i = 0; i < 65537; i++)
    {
      char host[32];

      g_snprintf (host, sizeof host, "h%u.test", i);
      add (rules, host, 443, PRISM_EGRESS_SCHEME_HTTPS, 0);
    }
  g_assert_null (prism_egress_policy_new_for_rules ((PrismEgressRule *const *)rules->pdata, rules->len, NULL, &error));
  g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_LIMIT);
}

/* Every preset is a sorted list of hosts written from the top down, explicit and
 * with a reason each, and nothing else. */
static void
test_preset_files (void)
{
  g_auto (GStrv) names = prism_egress_policy_list_presets ();

  g_assert_cmpuint (g_strv_length (names), ==, 7);
  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autofree char *file = g_strconcat (names[i], ".json", NULL);
      g_autofree char *path = g_build_filename (g_getenv ("PRISM_SOURCE_ROOT"), "data", "presets", file, NULL);
      g_autoptr (JsonParser) parser = json_parser_new ();
      g_autoptr (GError) error = NULL;
      g_autoptr (GPtrArray) rules = prism_egress_policy_load_preset (names[i], &error);
      g_autofree char *before = g_strdup ("");
      JsonArray *array;

      g_assert_no_error (error);
      g_assert_true (i == 0 || strcmp (names[i - 1], names[i]) < 0);
      json_parser_load_from_file (parser, path, &error);
      g_assert_no_error (error);
      array = json_object_get_array_member (json_node_get_object (json_parser_get_root (parser)), "rules");
      g_assert_cmpuint (rules->len, ==, json_array_get_length (array));
      for (guint j = 0; j < rules->len; j++)
        {
          JsonObject *row = json_array_get_object_element (array, j);
          PrismEgressRule *rule = g_ptr_array_index (rules, j);
          g_auto (GStrv) labels = g_strsplit (json_object_get_string_member (row, "host"), ".", -1);
          /* Label by label: what is between them sorts before everything else. */
          g_autofree char *key = g_strjoinv ("\002", labels);
          g_autofree char *whole = g_strconcat (key, "\001", json_object_get_string_member (row, "scheme"), NULL);

          g_assert_cmpuint (json_object_get_size (row), ==, 4);
          g_assert_cmpstr (before, <, whole);
          g_free (g_steal_pointer (&before));
          before = g_steal_pointer (&whole);
          g_assert_true (g_str_has_prefix (prism_egress_rule_get_origin (rule), "preset "));
          g_assert_cmpuint (strlen (prism_egress_rule_get_origin (rule)), >,
                            strlen ("preset : ") + strlen (names[i]) + 10);
          g_assert_cmpint (prism_egress_rule_get_flags (rule), ==, 0);
          g_assert_cmpuint (prism_egress_rule_get_host (rule)[0], !=, '.');
        }
    }
}

/* What the index finds is what a walk over all rules finds best. */
static int
rank (const PrismEgressRule *rule)
{
  return (rule->pattern.domain ? (int)rule->pattern.host.length : 1000) * 100 + (rule->port != 0 ? 50 : 0)
         + (rule->scheme != PRISM_EGRESS_SCHEME_ANY ? 10 : 0) + (int)rule->flags;
}

static char *
random_host (gboolean domain)
{
  static const char *const labels[] = { "a", "b", "ab", "a-b", "test", "x" };
  GString *host = g_string_new (domain ? "." : NULL);

  for (int n = g_test_rand_int_range (1, 5); n > 0; n--)
    g_string_append_printf (host, "%s%s", labels[g_test_rand_int_range (0, 6)], n > 1 ? "." : "");
  return g_string_free (host, FALSE);
}

static void
test_index (void)
{
  static const guint16 ports[] = { 0, 80, 443, 8080 };

  for (guint round = 0; round < 200; round++)
    {
      g_autoptr (GPtrArray) rules = rules_new ();
      g_autoptr (PrismRuleIndex) index = NULL;

      for (int i = g_test_rand_int_range (0, 60); i > 0; i--)
        {
          g_autofree char *host = random_host (g_test_rand_bit ());

          add (rules, host, ports[g_test_rand_int_range (0, 4)], g_test_rand_bit () ? 0 : PRISM_EGRESS_SCHEME_HTTPS,
               g_test_rand_bit () ? PRISM_EGRESS_RULE_FLAGS_UPGRADE : 0);
        }
      index = prism_rule_index_new ((PrismEgressRule *const *)rules->pdata, rules->len);
      for (guint ask = 0; ask < 100; ask++)
        {
          g_autofree char *name = random_host (FALSE);
          guint16 port = ports[g_test_rand_int_range (1, 4)];
          PrismEgressRule *best = NULL, *found;
          PrismHost host;

          g_assert_null (prism_host_parse (name, strlen (name), &host));
          for (guint i = 0; i < rules->len; i++)
            {
              PrismEgressRule *rule = g_ptr_array_index (rules, i);

              if (prism_egress_rule_matches (rule, name, port, PRISM_EGRESS_SCHEME_HTTPS)
                  && (best == NULL || rank (rule) > rank (best)))
                best = rule;
            }
          found = prism_rule_index_find (index, &host, port, PRISM_EGRESS_SCHEME_HTTPS);
          g_assert_true ((best == NULL) == (found == NULL));
          if (best != NULL)
            g_assert_cmpstr (prism_egress_rule_get_line (found), ==, prism_egress_rule_get_line (best));
        }
    }
}

static double
time_matches (guint n_rules)
{
  g_autoptr (GPtrArray) rules = rules_new ();
  g_autoptr (PrismEgressPolicy) policy = NULL;
  double best = G_MAXDOUBLE;

  for (guint i = 0; i < n_rules; i++)
    {
      char host[64];

      g_snprintf (host, sizeof host, "%shost-%u.example.test", i % 2 != 0 ? "." : "", i);
      add (rules, host, 443, PRISM_EGRESS_SCHEME_HTTPS, 0);
    }
  policy = prism_egress_policy_new_for_rules ((PrismEgressRule *const *)rules->pdata, rules->len, NULL, NULL);
  for (guint round = 0; round < 20; round++)
    {
      g_autoptr (GTimer) timer = g_timer_new ();

      for (guint i = 0; i < 2000; i++)
        g_assert_null (prism_egress_policy_match (policy, "api.other.example.test", 443, PRISM_EGRESS_SCHEME_HTTPS));
      best = MIN (best, g_timer_elapsed (timer, NULL) / 2000);
    }
  return best;
}

/* A list of ten thousand is no slower to ask than one of ten; a walk would be a
 * thousand times. */
static void
test_flat (void)
{
  double few = time_matches (10), many = time_matches (10000);

  g_test_message ("a match among 10 rules %.0f ns, among 10,000 %.0f ns", few * 1e9, many * 1e9);
  g_assert_cmpfloat (many, <, few * 10);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/egress-policy/kinds", test_kinds);
  g_test_add_func ("/egress-policy/flags", test_flags);
  g_test_add_func ("/egress-policy/upgrade", test_upgrade);
  g_test_add_func ("/egress-policy/refused", test_refused);
  g_test_add_func ("/egress-policy/preset-files", test_preset_files);
  g_test_add_func ("/egress-policy/index", test_index);
  g_test_add_func ("/egress-policy/flat", test_flat);
  return g_test_run ();
}
