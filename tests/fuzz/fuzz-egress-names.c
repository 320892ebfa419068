/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hosts, ports, authorities and rule strings as somebody inside, or a file from
 * somewhere, may write them. What is accepted has one canonical form, which is
 * accepted again and stays as it is. */
#include "prism-address-class.h"
#include "prism-egress-policy.h"
#include "prism-host-pattern-private.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size);

static void
check_host (const char *text, gsize size)
{
  PrismHost host, again;

  if (prism_host_parse (text, size, &host) != NULL)
    return;
  g_assert_cmpuint (host.length, ==, strlen (host.text));
  g_assert_cmpuint (host.length, <=, PRISM_HOST_MAX);
  for (guint i = 0; i < host.length; i++)
    g_assert_true (g_ascii_isalnum (host.text[i]) ? !g_ascii_isupper (host.text[i])
                                                  : strchr ("-_.:", host.text[i]) != NULL);
  g_assert_null (prism_host_parse (host.text, host.length, &again));
  g_assert_cmpstr (again.text, ==, host.text);
  g_assert_cmpint (again.kind, ==, host.kind);
  if (host.kind != PRISM_HOST_NAME)
    g_assert_cmpint (prism_address_class_from_string (host.text), !=, PRISM_ADDRESS_CLASS_MALFORMED);
}

static void
check_authority (const char *text, gsize size)
{
  PrismHost host, alone;
  guint16 port;

  if (prism_authority_parse (text, size, &host, &port) != NULL)
    return;
  g_assert_null (prism_host_parse (host.text, host.length, &alone));
  g_assert_cmpint (alone.kind, ==, host.kind);
}

static void
check_rules (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) rules = prism_egress_rule_parse (text, PRISM_EGRESS_RULE_FLAGS_NONE, &error);
  g_autoptr (PrismEgressPolicy) policy = NULL;

  if (rules == NULL)
    {
      g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY);
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      return;
    }
  g_assert_cmpuint (rules->len, >=, 1);
  g_assert_cmpuint (rules->len, <=, 2);
  policy = prism_egress_policy_new_for_rules ((PrismEgressRule *const *)rules->pdata, rules->len, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < rules->len; i++)
    {
      PrismEgressRule *rule = g_ptr_array_index (rules, i);
      const char *host = prism_egress_rule_get_host (rule);
      guint port = prism_egress_rule_get_port (rule);
      PrismEgressScheme scheme = prism_egress_rule_get_scheme (rule);

      scheme = scheme == PRISM_EGRESS_SCHEME_ANY ? PRISM_EGRESS_SCHEME_HTTPS : scheme;
      g_assert_true (prism_egress_policy_match (policy, host + (host[0] == '.'), port != 0 ? port : 1, scheme) == rule);
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size)
{
  g_autofree char *text = g_strndup ((const char *)bytes, size);

  check_host ((const char *)bytes, size);
  check_authority ((const char *)bytes, size);
  check_rules (text);
  return 0;
}
