/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of limits to the number, and that nothing is clamped. */
#include <libprism/prism.h>

#define K G_GINT64_CONSTANT (1024)

/* The contract's table: strict default and hard cap; standard default. */
static const struct
{
  const char *name;
  gint64 initial, most, standard;
} table[] = {
  { "startup-timeout-ms", 30000, 120000, 30000 },
  { "wall-time-ms", 1200000, 1800000, 0 },
  { "idle-timeout-ms", 300000, 900000, 0 },
  { "max-timeout-ms", 1800000, 1800000, 0 },
  { "cpu-millis", 2000, 8000, 2000 },
  { "memory-bytes", 2 * K *K *K, 16 * K *K *K, 2 * K *K *K },
  { "max-pids", 256, 1024, 256 },
  { "max-fds", 1024, 8192, 1024 },
  { "workspace-bytes", K *K *K, 8 * K *K *K, K *K *K },
  { "tmp-bytes", 256 * K *K, 2 * K *K *K, 256 * K *K },
  { "download-bytes", 64 * K *K, 512 * K *K, 64 * K *K },
  { "max-commands", 100, 256, 0 },
  { "max-concurrent-execs", 1, 8, 16 },
  { "max-processes", 8, 32, 32 },
  { "max-env-names", 64, 256, 64 },
  { "max-env-bytes", 64 * K, 256 * K, 64 * K },
  { "max-file-bytes", 64 * K *K, K *K *K, 64 * K *K },
  { "max-export-entries", 50000, 250000, 50000 },
  { "max-export-bytes", 256 * K *K, 2 * K *K *K, 256 * K *K },
  { "max-retained-artifacts", 16, 64, 16 },
  { "stop-grace-ms", 5000, 30000, 5000 },
  { "cleanup-deadline-ms", 30000, 120000, 30000 },
  { "max-output-bytes", 64 * K *K, K *K *K, 64 * K *K },
  { "concurrent-connections", 32, 256, 256 },
  { "request-bytes", 64 * K *K, K *K *K, 0 },
  { "response-bytes", 64 * K *K, K *K *K, 0 },
  { "transfer-time-ms", 600000, 3600000, 0 },
  { "rules-per-policy", 128, 1024, 65536 },
  { "redirect-hops", 5, 10, 5 },
  { "request-head-ms", 10000, 60000, 10000 },
  { "connection-idle-ms", 60000, 600000, 300000 },
};

static void
test_table (void)
{
  g_autoptr (PrismLimits) strict = prism_limits_new (PRISM_LIMITS_PROFILE_STRICT);
  g_autoptr (PrismLimits) standard = prism_limits_new (PRISM_LIMITS_PROFILE_STANDARD);
  g_auto (GStrv) names = prism_limits_list_names (strict);

  g_assert_cmpuint (g_strv_length (names), ==, G_N_ELEMENTS (table));
  for (gsize i = 0; i < G_N_ELEMENTS (table); i++)
    {
      gint64 initial, least, most, value;
      g_autoptr (GError) error = NULL;

      g_assert_cmpstr (names[i], ==, table[i].name);
      g_assert_cmpint (prism_limits_get (strict, names[i]), ==, table[i].initial);
      g_assert_cmpint (prism_limits_get (standard, names[i]), ==, table[i].standard);
      g_object_get (strict, names[i], &value, NULL);
      g_assert_cmpint (value, ==, table[i].initial);
      g_assert_true (
          prism_object_get_bounds (G_OBJECT (strict), names[i], PRISM_LIMITS_PROFILE_STRICT, &initial, &least, &most));
      g_assert_cmpint (initial, ==, table[i].initial);
      g_assert_cmpint (least, ==, 1);
      g_assert_cmpint (most, ==, table[i].most);

      g_assert_true (prism_limits_set (strict, names[i], 1, &error));
      g_assert_true (prism_limits_set (strict, names[i], most, &error));
      g_assert_no_error (error);
      g_assert_false (prism_limits_set (strict, names[i], most + 1, &error));
      g_assert_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE);
      g_assert_nonnull (strstr (error->message, names[i]));
      g_clear_error (&error);
      g_assert_false (prism_limits_set (strict, names[i], 0, &error));
      g_clear_error (&error);
      g_assert_false (prism_limits_set (strict, names[i], -1, &error));
      g_assert_cmpint (prism_limits_get (strict, names[i]), ==, most); /* unchanged */
    }
}

/* Session limits may be off where they are off; resource limits never. */
static void
test_off (void)
{
  static const char *const may[] = { "wall-time-ms",  "idle-timeout-ms", "max-timeout-ms",  "max-commands",
                                     "request-bytes", "response-bytes",  "transfer-time-ms" };
  static const char *const never[] = { "memory-bytes",           "max-pids",
                                       "max-output-bytes",       "max-concurrent-execs",
                                       "concurrent-connections", "request-head-ms",
                                       "connection-idle-ms" };
  g_autoptr (PrismLimits) limits = prism_limits_new (PRISM_LIMITS_PROFILE_STANDARD);

  for (gsize i = 0; i < G_N_ELEMENTS (may); i++)
    {
      g_assert_true (prism_limits_set (limits, may[i], 0, NULL));
      g_assert_true (prism_limits_set (limits, may[i], G_GINT64_CONSTANT (9007199254740991), NULL));
      g_assert_false (prism_limits_set (limits, may[i], G_GINT64_CONSTANT (9007199254740992), NULL));
      g_assert_false (prism_limits_set (limits, never[i], 0, NULL));
    }
}

static void
test_kept_and_refused (void)
{
  g_autoptr (PrismLimits) limits =
      g_object_new (PRISM_TYPE_LIMITS, "profile", PRISM_LIMITS_PROFILE_STRICT, "max-pids", G_MININT64, "max-fds",
                    G_MAXINT64, "memory-bytes", G_GINT64_CONSTANT (0), NULL);
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (prism_limits_get (limits, "max-pids"), ==, G_MININT64);
  g_assert_cmpint (prism_limits_get (limits, "max-fds"), ==, G_MAXINT64);
  g_assert_false (prism_limits_check (limits, &error));
  g_assert_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE);
  g_assert_nonnull (strstr (error->message, "max-pids"));
  g_assert_nonnull (strstr (error->message, "max-fds"));
  g_assert_nonnull (strstr (error->message, "memory-bytes = 0 (allowed: 1 to 17179869184)"));
  g_clear_error (&error);
  g_assert_false (prism_object_check_bounds (G_OBJECT (limits), PRISM_LIMITS_PROFILE_STRICT, &error));
  g_assert_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE);
}

static void
test_is_set (void)
{
  g_autoptr (PrismLimits) limits = prism_limits_new (PRISM_LIMITS_PROFILE_STANDARD);

  g_assert_false (prism_limits_is_set (limits, "max-pids"));
  prism_limits_set (limits, "max-pids", 256, NULL); /* to its default: set all the same */
  g_assert_true (prism_limits_is_set (limits, "max-pids"));
  g_object_set (limits, "max-fds", G_GINT64_CONSTANT (10), NULL);
  g_assert_true (prism_limits_is_set (limits, "max-fds"));
  g_assert_false (prism_limits_is_set (limits, "memory-bytes"));
  g_assert_false (prism_limits_is_set (limits, "no-such-limit"));
}

static void
test_strings (void)
{
  static const struct
  {
    const char *name, *text;
    gint64 value; /* -1 = refused */
  } cases[] = {
    { "memory-bytes", "1048576", 1048576 },
    { "memory-bytes", "512M", 512 * K * K },
    { "memory-bytes", "512MiB", 512 * K * K },
    { "memory-bytes", "2G", 2 * K * K * K },
    { "memory-bytes", "1K", K },
    { "memory-bytes", "1.5G", -1 },
    { "memory-bytes", "512m", -1 },
    { "memory-bytes", "512MB", -1 },
    { "memory-bytes", "5s", -1 },
    { "memory-bytes", "-1", -1 },
    { "memory-bytes", "+1", -1 },
    { "memory-bytes", " 1", -1 },
    { "memory-bytes", "1 ", -1 },
    { "memory-bytes", "", -1 },
    { "memory-bytes", "M", -1 },
    { "memory-bytes", "0x10", -1 },
    { "memory-bytes", "1e6", -1 },
    { "memory-bytes", "NaN", -1 },
    { "memory-bytes", "99999999999999999999", -1 },
    { "memory-bytes", "9007199254740991G", -1 },
    { "wall-time-ms", "1500", 1500 },
    { "wall-time-ms", "250ms", 250 },
    { "wall-time-ms", "60s", 60000 },
    { "wall-time-ms", "5m", 300000 },
    { "wall-time-ms", "2h", 7200000 },
    { "wall-time-ms", "2d", -1 },
    { "wall-time-ms", "5M", -1 },
    { "max-pids", "64", 64 },
    { "max-pids", "1K", -1 },
    { "max-pids", "0", -1 },
    { "cpu-millis", "1500", 1500 },
    { "cpus", "2", 2000 },
    { "cpus", "1.5", 1500 },
    { "cpus", "0.25", 250 },
    { "cpus", "0.0001", -1 },
    { "cpus", "1.", -1 },
    { "cpus", ".5", -1 },
    { "cpus", "0", -1 },
    { "no-such-limit", "1", -1 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (PrismLimits) limits = prism_limits_new (PRISM_LIMITS_PROFILE_STANDARD);
      g_autoptr (GError) error = NULL;
      gboolean set = prism_limits_set_string (limits, cases[i].name, cases[i].text, &error);

      g_test_message ("%s=%s", cases[i].name, cases[i].text);
      g_assert_cmpint (set, ==, cases[i].value >= 0);
      if (!set)
        g_assert_true (error != NULL && error->domain == PRISM_LIMIT_ERROR);
      else
        g_assert_cmpint (prism_limits_get (limits, g_str_equal (cases[i].name, "cpus") ? "cpu-millis" : cases[i].name),
                         ==, cases[i].value);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/limits/table", test_table);
  g_test_add_func ("/limits/off", test_off);
  g_test_add_func ("/limits/kept-and-refused", test_kept_and_refused);
  g_test_add_func ("/limits/is-set", test_is_set);
  g_test_add_func ("/limits/strings", test_strings);
  return g_test_run ();
}
