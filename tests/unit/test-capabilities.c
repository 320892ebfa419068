/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Six booleans by their six names, or nothing at all. */
#include <libprism/prism.h>

#define ALL                                                                                                            \
  "{\"workspaceCoherent\":true,\"filesystemIsolated\":true,\"networkIsolated\":true,\"processIsolated\":true,"         \
  "\"privilegeIsolated\":true,\"egressRestricted\":true}"
#define HALF                                                                                                           \
  " { \"egressRestricted\" : false , \"privilegeIsolated\":false,\n\t\"processIsolated\":true,\"networkIsolated\":"    \
  "false,\"filesystemIsolated\":true,\r\n\"workspaceCoherent\":false } "

#define EVERYTHING ((PrismControls)63)

static const struct
{
  const char *json;
  PrismControls controls;
} cases[] = {
  { ALL, EVERYTHING },
  { HALF, PRISM_CONTROLS_PROCESS | PRISM_CONTROLS_FILESYSTEM },
  { "", 0 },
  { "null", 0 },
  { "true", 0 },
  { "[]", 0 },
  { "{}", 0 },
  { ALL ALL, 0 },
  { ALL " x", 0 },
  { "{\"workspaceCoherent\":true}", 0 },
  { "{\"workspaceCoherent\":true,\"filesystemIsolated\":true,\"networkIsolated\":true,\"processIsolated\":true,"
    "\"privilegeIsolated\":true}",
    0 },
  { "{\"workspaceCoherent\":true,\"filesystemIsolated\":true,\"networkIsolated\":true,\"processIsolated\":true,"
    "\"privilegeIsolated\":true,\"egressRestricted\":1}",
    0 },
  { "{\"workspaceCoherent\":true,\"filesystemIsolated\":true,\"networkIsolated\":true,\"processIsolated\":true,"
    "\"privilegeIsolated\":true,\"egressRestricted\":\"true\"}",
    0 },
  { "{\"workspaceCoherent\":true,\"filesystemIsolated\":true,\"networkIsolated\":true,\"processIsolated\":true,"
    "\"privilegeIsolated\":true,\"egressRestricted\":true,\"extra\":true}",
    0 },
  { "{\"workspaceCoherent\":true,\"filesystemIsolated\":true,\"networkIsolated\":true,\"processIsolated\":true,"
    "\"privilegeIsolated\":true,\"privilegeIsolated\":true}",
    0 },
  { "{\"workspaceCoherent\":true,\"filesystemIsolated\":true,\"networkIsolated\":true,\"processIsolated\":true,"
    "\"privilegeIsolated\":true,\"EgressRestricted\":true}",
    0 },
  { "{\"workspaceCoherent\":true,\"filesystemIsolated\":true,\"networkIsolated\":true,\"processIsolated\":true,"
    "\"privilegeIsolated\":true,\"egressRestricted\":true,}",
    0 },
  { "{'workspaceCoherent':true}", 0 },
};

static void
test_json (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (PrismCapabilities) capabilities = prism_capabilities_parse_json (cases[i].json, -1);
      g_test_message ("%s", cases[i].json);
      g_assert_cmphex (prism_capabilities_get_controls (capabilities), ==, cases[i].controls);
    }
}

/* Cut anywhere, it claims nothing. */
static void
test_cut (void)
{
  for (gsize n = 0; n < strlen (ALL); n++)
    {
      g_autoptr (PrismCapabilities) capabilities = prism_capabilities_parse_json (ALL, (gssize)n);
      g_assert_cmphex (prism_capabilities_get_controls (capabilities), ==, 0);
    }
}

static void
test_variant (void)
{
  g_autoptr (PrismCapabilities) all = prism_capabilities_parse_json (ALL, -1);
  g_autoptr (GVariant) plain = prism_capabilities_to_variant (all);
  g_autoptr (PrismCapabilities) back = prism_capabilities_parse (plain);
  static const char *const bad[] = {
    "{'a': true}",
    "@a{sb} {}",
    "'text'",
    "{'workspaceCoherent': <true>}",
    "{'workspaceCoherent': <true>, 'filesystemIsolated': <true>, 'networkIsolated': <true>, 'processIsolated': <true>, "
    "'privilegeIsolated': <true>, 'egressRestricted': <1>}",
    "{'workspaceCoherent': <true>, 'filesystemIsolated': <true>, 'networkIsolated': <true>, 'processIsolated': <true>, "
    "'privilegeIsolated': <true>, 'privilegeIsolated': <true>}",
  };
  g_autoptr (GVariant) boxed = g_variant_parse (
      NULL,
      "{'workspaceCoherent': <true>, 'filesystemIsolated': <false>, 'networkIsolated': <true>, 'processIsolated': "
      "<false>, 'privilegeIsolated': <false>, 'egressRestricted': <true>}",
      NULL, NULL, NULL);
  g_autoptr (PrismCapabilities) some = prism_capabilities_parse (boxed), none = prism_capabilities_parse (NULL);

  g_assert_cmphex (prism_capabilities_get_controls (back), ==, EVERYTHING);
  g_assert_cmphex (prism_capabilities_get_controls (some), ==,
                   PRISM_CONTROLS_WORKSPACE | PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_EGRESS);
  g_assert_cmphex (prism_capabilities_get_controls (none), ==, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GVariant) variant = g_variant_parse (NULL, bad[i], NULL, NULL, NULL);
      g_autoptr (PrismCapabilities) capabilities = prism_capabilities_parse (variant);
      g_assert_cmphex (prism_capabilities_get_controls (capabilities), ==, 0);
    }
}

static void
test_evidence (void)
{
  GVariant *evidence =
      g_variant_new_parsed ("{'network': 'network namespace, no interface but lo', 'max-pids': 'not enforced: why'}");
  g_autoptr (PrismCapabilities) capabilities = prism_capabilities_new (PRISM_CONTROLS_NETWORK, evidence);
  g_autoptr (GError) error = NULL;

  g_assert_cmpstr (prism_capabilities_get_evidence (capabilities, "network"), ==,
                   "network namespace, no interface but lo");
  g_assert_cmpstr (prism_capabilities_get_evidence (capabilities, "max-pids"), ==, "not enforced: why");
  g_assert_null (prism_capabilities_get_evidence (capabilities, "process"));
  g_assert_true (prism_capabilities_check_required (capabilities, PRISM_CONTROLS_NETWORK, &error));
  g_assert_no_error (error);
  /* All that is missing, in a fixed order, and nothing that is there. */
  g_assert_false (prism_capabilities_check_required (
      capabilities, PRISM_CONTROLS_PROCESS | PRISM_CONTROLS_FILESYSTEM | PRISM_CONTROLS_NETWORK, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED);
  g_assert_nonnull (strstr (error->message, "filesystem (nothing enforces it); process (nothing enforces it)"));
  g_assert_null (strstr (error->message, "network ("));
}

static void
test_containment_claim (void)
{
  const PrismControls four =
      PRISM_CONTROLS_WORKSPACE | PRISM_CONTROLS_FILESYSTEM | PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_PROCESS;

  for (PrismControls controls = 0; controls <= EVERYTHING; controls++)
    {
      g_autoptr (PrismCapabilities) capabilities = prism_capabilities_new (controls, NULL);
      g_assert_cmpint (prism_capabilities_get_containment_claim (capabilities), ==, (controls & four) == four);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/capabilities/json", test_json);
  g_test_add_func ("/capabilities/cut", test_cut);
  g_test_add_func ("/capabilities/variant", test_variant);
  g_test_add_func ("/capabilities/evidence", test_evidence);
  g_test_add_func ("/capabilities/containment-claim", test_containment_claim);
  return g_test_run ();
}
