/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An explanation goes by domain and code, plug-ins' own go first, and what is
 * not known is not explained. */
#include "prism-egress-error.h"
#include "prism-error.h"
#include "prism-explain.h"
#include "prism-policy-error.h"
#include "prism-registry.h"
#include "prism-sandbox-error.h"

static void
test_built_in (void)
{
  const struct
  {
    GQuark domain;
    int code;
    const char *id;
  } rows[] = {
    { PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED, "sandbox.refused" },
    { PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE, "sandbox.unavailable" },
    { PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST, "sandbox.worker_lost" },
    { PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE, "limit.range" },
    { PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_DENIED, "egress.denied" },
    { PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_DNS, "egress.address" },
    { PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_NOT_SUPPORTED, "egress.no_proxy" },
    { PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_MALFORMED, "policy.malformed" },
    { PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_NOT_FOUND, "plugin.not_found" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = g_error_new_literal (rows[i].domain, rows[i].code, "any words: not found, 401");
      g_autoptr (PrismExplanation) explanation = prism_error_explain (error);

      g_assert_cmpstr (prism_explanation_get_id (explanation), ==, rows[i].id);
      g_assert_nonnull (prism_explanation_get_text (explanation));
    }
}

static void
test_unknown (void)
{
  g_autoptr (GError) error = g_error_new_literal (G_IO_ERROR, G_IO_ERROR_FAILED, "sandbox.refused");

  g_assert_null (prism_error_explain (error));
}

static void
test_added (void)
{
  g_autoptr (GError) error = g_error_new_literal (g_quark_from_static_string ("test-domain"), 7, "words");
  g_autoptr (PrismExplanation) explanation = NULL;

  g_assert_null (prism_error_explain (error));
  prism_explain_add (error->domain, 7, NULL, "test.seven", "It is seven.", "make it eight");
  explanation = prism_error_explain (error);
  g_assert_cmpstr (prism_explanation_get_id (explanation), ==, "test.seven");
  g_assert_cmpstr (prism_explanation_get_text (explanation), ==, "It is seven.");
  g_assert_cmpstr (prism_explanation_get_hint (explanation), ==, "make it eight");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/explain/built-in", test_built_in);
  g_test_add_func ("/explain/unknown", test_unknown);
  g_test_add_func ("/explain/added", test_added);

  return g_test_run ();
}
