/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy file that anybody may have written: read, or refused with a message that
 * names where; what is read is within its bounds. */
#include <libprism/prism.h>

#include <stdint.h>
#include <string.h>

#include "prism-policy-file-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size);

static void
check_rules (PrismEgressPolicy *policy)
{
  GPtrArray *rules = prism_egress_policy_get_rules (policy);

  g_assert_nonnull (prism_egress_policy_get_fingerprint (policy));
  for (guint i = 0; i < rules->len; i++)
    {
      const PrismEgressRule *rule = rules->pdata[i];
      const char *host = prism_egress_rule_get_host (rule);

      g_assert_true (*host != '\0' && strchr (host, '/') == NULL);
      if (prism_egress_policy_get_kind (policy) == PRISM_EGRESS_POLICY_KIND_STATIC)
        g_assert_null (strchr (host, '*'));
    }
}

static void
check_paths (GPtrArray *paths)
{
  for (guint i = 0; i < paths->len; i++)
    g_assert_true (g_path_is_absolute (paths->pdata[i]));
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size)
{
  PrismPolicyContents contents;
  g_autoptr (GError) error = NULL;

  prism_policy_contents_init (&contents);
  if (prism_policy_contents_read (&contents, (const char *)bytes, size, "policy", "/folder", &error))
    {
      if (contents.egress != NULL)
        check_rules (contents.egress);
      if (contents.limits != NULL)
        g_assert_true (prism_limits_check (contents.limits, NULL));
      check_paths (contents.read_only);
      check_paths (contents.read_write);
      check_paths (contents.hide);
      check_paths (contents.protect);
    }
  else
    {
      g_assert_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_MALFORMED);
      g_assert_true (g_str_has_prefix (error->message, "policy: "));
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
    }
  prism_policy_contents_clear (&contents);
  return 0;
}
