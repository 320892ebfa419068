/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hosts, authorities, addresses, rules and presets of the way out. */
#include "prism-address-class.h"
#include "prism-egress-policy.h"
#include "prism-host-pattern-private.h"
#include "verdicts.h"

#include <string.h>

#define REFUSED "refused"

/* host, kind or `refused`, canonical form or what the message says */
static void
check_host (char **columns)
{
  static const char *const kinds[] = { "name", "ipv4", "ipv6" };
  const char *text = columns[0];
  PrismHost host, again;
  const char *wrong = prism_host_parse (text, strlen (text), &host);

  if (g_str_equal (columns[1], REFUSED))
    {
      g_assert_nonnull (wrong);
      g_assert_nonnull (strstr (wrong, columns[2]));
      return;
    }
  g_assert_null (wrong);
  g_assert_cmpstr (kinds[host.kind], ==, columns[1]);
  g_assert_cmpstr (host.text, ==, columns[2]);
  g_assert_cmpuint (host.length, ==, strlen (host.text));
  g_assert_null (prism_host_parse (host.text, host.length, &again));
  g_assert_cmpstr (again.text, ==, host.text);
  g_assert_cmpint (again.kind, ==, host.kind);
}

/* authority, host or `refused`, port or what the message says */
static void
check_authority (char **columns)
{
  g_autofree char *host = NULL;
  g_autoptr (GError) error = NULL;
  guint port;

  if (!prism_egress_split_authority (columns[0], &host, &port, &error))
    {
      g_assert_cmpstr (columns[1], ==, REFUSED);
      g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY);
      g_assert_nonnull (strstr (error->message, columns[2]));
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      return;
    }
  g_assert_cmpstr (host, ==, columns[1]);
  g_assert_cmpuint (port, ==, (guint)g_ascii_strtoull (columns[2], NULL, 10));
}

/* address, class */
static void
check_address (char **columns)
{
  PrismAddressClass address_class = prism_address_class_from_string (columns[0]);
  g_autoptr (GInetAddress) address = g_inet_address_new_from_string (columns[0]);

  g_assert_cmpstr (prism_address_class_get_word (address_class), ==, columns[1]);
  if (address != NULL && address_class != PRISM_ADDRESS_CLASS_MALFORMED)
    g_assert_cmpint (prism_address_class_from_inet_address (address), ==, address_class);
}

/* rule's host, its flags (- or private), address, yes or no */
static void
check_allowed_address (char **columns)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismEgressRule) rule = prism_egress_rule_new (
      columns[0], 443, PRISM_EGRESS_SCHEME_HTTPS,
      g_str_equal (columns[1], "private") ? PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE : PRISM_EGRESS_RULE_FLAGS_NONE,
      &error);
  g_autoptr (GInetAddress) address = g_inet_address_new_from_string (columns[2]);

  g_assert_no_error (error);
  g_assert_nonnull (address);
  g_assert_cmpstr (prism_egress_rule_allows_address (rule, address) ? "yes" : "no", ==, columns[3]);
}

/* rule string, canonical lines separated by blanks or `refused`, what the message says */
static void
check_rule (char **columns)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) rules = prism_egress_rule_parse (columns[0], PRISM_EGRESS_RULE_FLAGS_NONE, &error);
  g_autoptr (GString) lines = g_string_new (NULL);

  if (rules == NULL)
    {
      g_assert_cmpstr (columns[1], ==, REFUSED);
      g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY);
      g_assert_nonnull (strstr (error->message, columns[2]));
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      return;
    }
  for (guint i = 0; i < rules->len; i++)
    g_string_append_printf (lines, "%s%s", i > 0 ? " " : "", prism_egress_rule_get_line (g_ptr_array_index (rules, i)));
  g_assert_cmpstr (lines->str, ==, columns[1]);
}

/* rule strings separated by blanks, host, port, scheme, the rule's line or `denied` */
static void
check_match (char **columns)
{
  g_auto (GStrv) strings = g_strsplit (columns[0], " ", -1);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismEgressPolicy) policy = prism_egress_policy_new_static ((const char *const *)strings, &error);
  guint port = (guint)g_ascii_strtoull (columns[2], NULL, 10);
  PrismEgressScheme scheme = g_str_equal (columns[3], "http") ? PRISM_EGRESS_SCHEME_HTTP : PRISM_EGRESS_SCHEME_HTTPS;
  PrismEgressRule *rule;
  gboolean any = FALSE;

  g_assert_no_error (error);
  rule = prism_egress_policy_match (policy, columns[1], port, scheme);
  g_assert_cmpstr (rule != NULL ? prism_egress_rule_get_line (rule) : "denied", ==, columns[4]);
  /* The table and a walk over all rules agree on whether there is one. */
  for (guint i = 0; i < prism_egress_policy_get_rules (policy)->len; i++)
    any = any
          || prism_egress_rule_matches (g_ptr_array_index (prism_egress_policy_get_rules (policy), i), columns[1], port,
                                        scheme);
  g_assert_true (any == (rule != NULL));
}

/* presets separated by blanks, number of rules, fingerprint */
static void
check_preset (char **columns)
{
  g_auto (GStrv) names = g_strsplit (columns[0], " ", -1);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismEgressPolicy) policy =
      prism_egress_policy_new_for_rules (NULL, 0, (const char *const *)names, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (prism_egress_policy_get_rules (policy)->len, ==, (guint)g_ascii_strtoull (columns[1], NULL, 10));
  g_assert_cmpstr (prism_egress_policy_get_fingerprint (policy), ==, columns[2]);
}

const VerdictTable verdicts_egress[] = {
  { "hosts.tsv", 3, check_host },        { "authorities.tsv", 3, check_authority },
  { "addresses.tsv", 2, check_address }, { "allowed-addresses.tsv", 4, check_allowed_address },
  { "rules.tsv", 3, check_rule },        { "matches.tsv", 5, check_match },
  { "presets.tsv", 3, check_preset },    { NULL, 0, NULL },
};
