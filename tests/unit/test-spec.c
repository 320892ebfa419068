/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a specification must not ask, all at once; what a command must not bring along. */
#include <libprism/prism.h>

#include "prism-sandbox-spec-private.h"

static void
refuse (PrismSandboxSpec *spec, const char *word)
{
  g_autoptr (PrismSandboxSpec) owned = spec;
  g_autoptr (GError) error = NULL;

  g_assert_false (prism_sandbox_spec_check (owned, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
  if (strstr (error->message, word) == NULL)
    g_test_message ("“%s” is not in “%s”", word, error->message);
  g_assert_nonnull (strstr (error->message, word));
}

static PrismSandboxSpec *
make (void)
{
  g_autoptr (GFile) folder = g_file_new_for_path ("/tmp");

  return prism_sandbox_spec_new (folder);
}

static void
test_good (void)
{
  g_autoptr (PrismSandboxSpec) spec = make (), empty = prism_sandbox_spec_new (NULL);
  g_autoptr (GFile) source = g_file_new_for_path ("/opt/x");
  g_autoptr (PrismMount) mount = prism_mount_new (source, NULL, FALSE);
  g_autoptr (GError) error = NULL;

  g_assert_cmpstr (prism_mount_get_destination (mount), ==, "/opt/x");
  prism_sandbox_spec_add_mount (spec, mount);
  prism_sandbox_spec_set_variable (spec, "A", "b");
  prism_sandbox_spec_add_secret (spec, "TOKEN", "x");
  prism_sandbox_spec_add_label (spec, "com.example/run", "any value");
  prism_sandbox_spec_add_hide (spec, "/tmp/x");
  prism_sandbox_spec_add_protect (spec, "/tmp/y");
  g_assert_true (prism_sandbox_spec_check (spec, &error));
  g_assert_no_error (error);
  g_assert_true (prism_sandbox_spec_check (empty, &error));
  g_assert_no_error (error);
}

static void
test_paths (void)
{
  g_autofree char *name = g_strnfill (256, 'x'), *too_long = g_strconcat ("/a/", name, "/b", NULL);
  const char *const bad[] = {
    "", "relative", "/", "/a/../b", "/a/./b", "/a//b", "/a/", "/..", "//", "/a/..", too_long
  };

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      PrismSandboxSpec *spec = make (), *hides = make ();
      g_object_set (spec, "sandbox-path", bad[i], NULL);
      refuse (spec, "sandbox-path");
      prism_sandbox_spec_add_hide (hides, bad[i]);
      refuse (hides, "hide");
    }
}

static void
test_mounts (void)
{
  static const char *const bad[] = { "relative", "/a/../b", "/", "/workspace" };
  g_autoptr (GFile) source = g_file_new_for_path ("/opt");
  PrismSandboxSpec *spec;

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (PrismMount) mount = prism_mount_new (source, bad[i], TRUE);
      spec = make ();
      prism_sandbox_spec_add_mount (spec, mount);
      refuse (spec, "destination");
    }
  g_autoptr (PrismMount) once = prism_mount_new (source, "/twice", TRUE);
  spec = make ();
  prism_sandbox_spec_add_mount (spec, once);
  prism_sandbox_spec_add_mount (spec, once);
  refuse (spec, "twice");
}

static void
test_labels (void)
{
  static const struct
  {
    const char *key, *value;
  } bad[] = { { "", "x" },       { "a b", "x" },  { "a\tb", "x" }, { "prism.sandbox", "x" },
              { "prism.", "x" }, { "a", "x\ny" }, { "a", "x\ry" } };

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      PrismSandboxSpec *spec = make ();
      prism_sandbox_spec_add_label (spec, bad[i].key, bad[i].value);
      refuse (spec, "labels");
    }
}

static void
test_environment (void)
{
  static const char *const dangerous[] = { "LD_PRELOAD", "LD_LIBRARY_PATH", "GCONV_PATH", "BASH_ENV", "ENV" };
  PrismSandboxSpec *spec;
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (dangerous); i++)
    {
      spec = make ();
      prism_sandbox_spec_set_variable (spec, dangerous[i], "x");
      refuse (spec, dangerous[i]);
      spec = make ();
      prism_sandbox_spec_add_secret (spec, dangerous[i], "x");
      refuse (spec, dangerous[i]);
      spec = make ();
      prism_sandbox_spec_set_variable (spec, dangerous[i], "x");
      g_object_set (spec, "allow-env", (const char *const[]){ "OTHER", dangerous[i], NULL }, NULL);
      g_assert_true (prism_sandbox_spec_check (spec, &error));
      g_assert_no_error (error);
      g_object_unref (spec);
    }
  spec = make ();
  for (int i = 0; i < 65; i++)
    {
      g_autofree char *name = g_strdup_printf ("N%d", i);
      prism_sandbox_spec_set_variable (spec, name, "");
    }
  refuse (spec, "max-env-names is 64");
  g_autofree char *value = g_strnfill (64 * 1024, 'x');
  spec = make ();
  prism_sandbox_spec_add_secret (spec, "A", value);
  refuse (spec, "max-env-bytes is 65536");
}

static void
test_rest (void)
{
  g_autoptr (GFile) remote = g_file_new_for_uri ("http://example.com/");
  PrismSandboxSpec *spec = make ();
  g_autoptr (GError) error = NULL;

  g_object_set (spec, "lifetime", PRISM_LIFETIME_DETACHED, NULL);
  refuse (spec, "wall-time-ms");
  refuse (prism_sandbox_spec_new (remote), "workspace");
  /* Limits alone are a limit's error; with others they are in the same one. */
  spec = make ();
  g_object_set (prism_sandbox_spec_get_limits (spec), "max-pids", G_GINT64_CONSTANT (0), NULL);
  g_assert_false (prism_sandbox_spec_check (spec, &error));
  g_assert_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE);
  g_object_set (spec, "sandbox-path", "x", NULL);
  refuse (spec, "max-pids = 0");
}

/* Many bad entries make a message that ends. */
static void
test_bounded (void)
{
  PrismSandboxSpec *spec = make ();
  g_autoptr (PrismSandboxSpec) owned = spec;
  g_autoptr (GError) error = NULL;

  for (int i = 0; i < 4000; i++)
    prism_sandbox_spec_add_hide (spec, "bad\nand a name that is longer than it should be");
  g_assert_false (prism_sandbox_spec_check (spec, &error));
  g_assert_cmpuint (strlen (error->message), <, 4096);
  g_assert_null (strchr (error->message, '\n'));
}

static void
test_command (void)
{
  g_autoptr (PrismSandboxSpec) spec = make (), strict = make ();
  g_autoptr (PrismLimits) limits = prism_limits_new (PRISM_LIMITS_PROFILE_STRICT);
  g_autoptr (PrismCommand) plain = prism_command_new_shell ("true"), loaded = prism_command_new_shell ("true"),
                           crowded = prism_command_new_shell ("true"), slow = prism_command_new_shell ("true");
  g_autoptr (GError) error = NULL;

  g_object_set (strict, "limits", limits, NULL);
  g_assert_true (prism_sandbox_spec_check_command (spec, plain, &error));
  prism_command_set_variable (loaded, "LD_PRELOAD", "x");
  g_assert_false (prism_sandbox_spec_check_command (spec, loaded, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
  g_clear_error (&error);
  /* Together they are too many. */
  for (int i = 0; i < 40; i++)
    {
      g_autofree char *name = g_strdup_printf ("N%d", i);
      prism_sandbox_spec_set_variable (spec, name, "");
      name[0] = 'M';
      prism_command_set_variable (crowded, name, "");
    }
  g_assert_false (prism_sandbox_spec_check_command (spec, crowded, &error));
  g_assert_nonnull (strstr (error->message, "80 variables"));
  g_clear_error (&error);
  /* The contract's vectors for a timeout, in the profile that has them. */
  prism_command_set_timeout_ms (slow, 1800000);
  g_assert_true (prism_sandbox_spec_check_command (strict, slow, &error));
  prism_command_set_timeout_ms (slow, 1800001);
  g_assert_false (prism_sandbox_spec_check_command (strict, slow, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
  g_assert_true (prism_sandbox_spec_check_command (spec, slow, NULL));
}

static void
test_frozen (void)
{
  g_autoptr (PrismSandboxSpec) spec = make ();
  g_autoptr (GError) error = NULL;

  prism_sandbox_spec_freeze (spec);
  g_test_expect_message ("prism", G_LOG_LEVEL_CRITICAL, "*cannot change*");
  prism_sandbox_spec_set_variable (spec, "A", "b");
  g_test_assert_expected_messages ();
  g_assert_null (prism_sandbox_spec_get_env (spec));
  g_assert_false (prism_limits_set (prism_sandbox_spec_get_limits (spec), "max-pids", 5, &error));
  g_assert_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_FROZEN);
}

/* --- egress -------------------------------------------------------------------- */

static PrismSandboxSpec *
make_egress (const char *rule)
{
  PrismSandboxSpec *spec = make ();
  const char *const rules[] = { rule, NULL };
  g_autoptr (PrismEgressPolicy) policy = prism_egress_policy_new_static (rules, NULL);

  g_assert_nonnull (policy);
  g_object_set (spec, "network", PRISM_NETWORK_MODE_EGRESS, "egress-policy", policy, NULL);
  return spec;
}

static PrismSandboxSpec *
give (PrismSandboxSpec *spec, const char *host)
{
  g_autoptr (PrismCredential) credential = prism_credential_new (host, "Authorization", "Bearer s3cret", NULL);

  g_assert_nonnull (credential);
  prism_sandbox_spec_add_credential (spec, credential);
  return spec;
}

static void
accept (PrismSandboxSpec *spec)
{
  g_autoptr (PrismSandboxSpec) owned = spec;
  g_autoptr (GError) error = NULL;

  g_assert_true (prism_sandbox_spec_check (owned, &error));
  g_assert_no_error (error);
}

static void
test_egress_needs_policy (void)
{
  g_autoptr (PrismEgressPolicy) deny = prism_egress_policy_new_deny_all ();
  g_autoptr (PrismEgressPolicy) all = prism_egress_policy_new_allow_all ();
  PrismSandboxSpec *spec = make ();

  g_object_set (spec, "network", PRISM_NETWORK_MODE_EGRESS, NULL);
  refuse (spec, "egress-policy: network=egress needs one");
  spec = make ();
  g_object_set (spec, "network", PRISM_NETWORK_MODE_EGRESS, "egress-policy", deny, NULL);
  accept (spec);
  spec = make ();
  g_object_set (spec, "network", PRISM_NETWORK_MODE_EGRESS, "egress-policy", all, NULL);
  accept (spec);
  spec = make ();
  g_object_set (spec, "network", PRISM_NETWORK_MODE_EGRESS, "egress-policy", all, "require", PRISM_CONTROLS_EGRESS,
                NULL);
  refuse (spec, "require: egress");
}

/* What a sandbox without a proxy would be given for nothing. */
static void
test_egress_without_network (void)
{
  g_autoptr (PrismEgressPolicy) policy = prism_egress_policy_new_deny_all ();
  g_autoptr (PrismAuditLog) audit = prism_audit_log_new ();
  PrismSandboxSpec *spec = make ();

  g_object_set (spec, "egress-policy", policy, NULL);
  refuse (spec, "egress-policy: it needs network=egress");
  spec = make ();
  g_object_set (spec, "audit", audit, NULL);
  refuse (spec, "audit: it needs network=egress");
  refuse (give (make (), "good.test"), "credentials: it needs network=egress");
  spec = make ();
  prism_limits_set (prism_sandbox_spec_get_limits (spec), "request-bytes", 1000, NULL);
  refuse (spec, "limits request-bytes: it needs network=egress");
  spec = make_egress ("good.test");
  prism_limits_set (prism_sandbox_spec_get_limits (spec), "request-bytes", 1000, NULL);
  accept (spec);
}

static void
test_egress_credentials (void)
{
  accept (give (make_egress ("https://good.test"), "good.test"));
  accept (give (make_egress ("good.test"), "good.test"));
  accept (give (make_egress ("https://good.test:8443"), "good.test"));
  accept (give (make_egress ("good.test:*"), "GOOD.test."));
  accept (give (make_egress ("https://.good.test"), "api.good.test"));
  accept (give (make_egress ("https://api.good.test"), ".good.test"));
  accept (give (make_egress ("https://.good.test"), ".api.good.test"));
  refuse (give (make_egress ("http://good.test"), "good.test"), "allow https://good.test");
  refuse (give (make_egress ("https://good.test"), "api.good.test"), "api.good.test: no rule");
  refuse (give (make_egress ("https://notgood.test"), ".good.test"), ".good.test: no rule");
  refuse (give (give (make_egress ("https://good.test"), "good.test"), "Good.test."), "good.test twice");
}

static void
test_egress_secret_is_not_said (void)
{
  g_autoptr (PrismSandboxSpec) spec = give (make_egress ("http://good.test"), "good.test");
  g_autoptr (GError) error = NULL;

  g_assert_false (prism_sandbox_spec_check (spec, &error));
  g_assert_null (strstr (error->message, "s3cret"));
}

static void
test_egress_too_many_rules (void)
{
  g_autoptr (PrismLimits) strict = prism_limits_new (PRISM_LIMITS_PROFILE_STRICT);
  g_autoptr (GPtrArray) rules = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (PrismEgressPolicy) policy = NULL;
  PrismSandboxSpec *spec = make ();

  for (guint i = 0; i < 129; i++)
    g_ptr_array_add (rules, g_strdup_printf ("https://h%u.test", i));
  g_ptr_array_add (rules, NULL);
  policy = prism_egress_policy_new_static ((const char *const *)rules->pdata, NULL);
  g_object_set (spec, "limits", strict, "network", PRISM_NETWORK_MODE_EGRESS, "egress-policy", policy, NULL);
  refuse (spec, "129 rules, and rules-per-policy is 128");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/spec/good", test_good);
  g_test_add_func ("/spec/paths", test_paths);
  g_test_add_func ("/spec/mounts", test_mounts);
  g_test_add_func ("/spec/labels", test_labels);
  g_test_add_func ("/spec/environment", test_environment);
  g_test_add_func ("/spec/rest", test_rest);
  g_test_add_func ("/spec/bounded", test_bounded);
  g_test_add_func ("/spec/command", test_command);
  g_test_add_func ("/spec/frozen", test_frozen);
  g_test_add_func ("/spec/egress/needs-policy", test_egress_needs_policy);
  g_test_add_func ("/spec/egress/without-network", test_egress_without_network);
  g_test_add_func ("/spec/egress/credentials", test_egress_credentials);
  g_test_add_func ("/spec/egress/secret", test_egress_secret_is_not_said);
  g_test_add_func ("/spec/egress/too-many-rules", test_egress_too_many_rules);
  return g_test_run ();
}
