/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands and results: what is refused, fingerprints of the contract's vectors. */
#include <libprism/prism.h>

#include "prism-command-private.h"
#include "prism-environment-private.h"

static void
test_fingerprint (void)
{
  static const struct
  {
    const char *argv[3];
    const char *sha256;
  } vectors[] = {
    { { "npm", "test" }, "527c484bcc3bb219e92ed61f99ff968f31143f89e53fda93d09b74c0ce3177d4" },
    { { "printf", "é\n\"\\" }, "410e660839bb5babf0dc00a56105d476c912dcc94e9fb05c1a4160848985b295" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      g_autoptr (PrismCommand) command = prism_command_new (vectors[i].argv);
      g_autofree char *fingerprint = prism_command_dup_fingerprint (command);
      g_assert_cmpstr (fingerprint, ==, vectors[i].sha256);
    }
}

static void
refuse (PrismCommand *command, const char *word)
{
  g_autoptr (PrismCommand) owned = command;
  g_autoptr (GError) error = NULL;

  g_assert_false (prism_command_check (owned, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
  if (strstr (error->message, word) == NULL)
    g_test_message ("“%s” is not in “%s”", word, error->message);
  g_assert_nonnull (strstr (error->message, word));
}

static PrismCommand *
good (void)
{
  return prism_command_new ((const char *const[]){ "true", NULL });
}

static void
test_refused (void)
{
  g_autofree char *long_argument = g_strnfill (128 * 1024, 'x');
  g_autoptr (PrismCommand) fine = good ();
  g_autoptr (GError) error = NULL;
  PrismCommand *command;

  g_assert_true (prism_command_check (fine, &error));
  g_assert_no_error (error);
  refuse (prism_command_new ((const char *const[]){ NULL }), "argv");
  refuse (prism_command_new ((const char *const[]){ "", "x", NULL }), "argv");
  refuse (g_object_new (PRISM_TYPE_COMMAND, NULL), "argv");
  refuse (prism_command_new ((const char *const[]){ "x", long_argument, NULL }), "argument 1");
  command = good ();
  prism_command_set_cwd (command, "relative");
  refuse (command, "cwd");
  command = good ();
  prism_command_set_timeout_ms (command, -1);
  refuse (command, "timeout-ms");
  command = good ();
  prism_command_set_pty_size (command, 501, 24);
  refuse (command, "pty-columns");
  command = good ();
  prism_command_set_pty_size (command, 80, 0);
  refuse (command, "pty-rows");
  command = good ();
  g_object_set (command, "env", (const char *const[]){ "no-equals-sign", NULL }, NULL);
  refuse (command, "NAME=VALUE");
  command = good ();
  prism_command_set_variable (command, "9", "x");
  refuse (command, "“9”");
}

/* Everything at once, and a value is never told: it may be a secret. */
static void
test_all_at_once (void)
{
  g_autoptr (PrismCommand) command = good ();
  g_autoptr (GError) error = NULL;

  prism_command_set_variable (command, "BAD NAME", "s3cret");
  prism_command_set_variable (command, "A-B", "s3cret");
  prism_command_set_cwd (command, "x");
  g_assert_false (prism_command_check (command, &error));
  g_assert_nonnull (strstr (error->message, "BAD NAME"));
  g_assert_nonnull (strstr (error->message, "A-B"));
  g_assert_nonnull (strstr (error->message, "cwd"));
  g_assert_null (strstr (error->message, "s3cret"));
}

static void
test_names (void)
{
  static const struct
  {
    const char *name;
    gboolean valid, dangerous;
  } cases[] = {
    { "A", TRUE, FALSE },         { "_", TRUE, FALSE },        { "a1_B", TRUE, FALSE },
    { "", FALSE, FALSE },         { "1A", FALSE, FALSE },      { "A-B", FALSE, FALSE },
    { "A B", FALSE, FALSE },      { "é", FALSE, FALSE },       { "A\n", FALSE, FALSE },
    { "LD_PRELOAD", TRUE, TRUE }, { "LD_", TRUE, TRUE },       { "LD_X", TRUE, TRUE },
    { "LDFLAGS", TRUE, FALSE },   { "OLD_LD_X", TRUE, FALSE }, { "GCONV_PATH", TRUE, TRUE },
    { "BASH_ENV", TRUE, TRUE },   { "ENV", TRUE, TRUE },       { "ENVIRONMENT", TRUE, FALSE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      gsize length = strlen (cases[i].name);
      g_test_message ("“%s”", cases[i].name);
      g_assert_cmpint (prism_environment_name_is_valid (cases[i].name, length), ==, cases[i].valid);
      g_assert_cmpint (prism_environment_name_is_dangerous (cases[i].name, length), ==, cases[i].dangerous);
    }
}

static void
test_variables (void)
{
  g_autoptr (PrismCommand) command = good ();

  prism_command_set_variable (command, "A", "1");
  prism_command_set_variable (command, "AB", "2");
  prism_command_set_variable (command, "A", "3=4");
  g_assert_cmpstrv (prism_command_get_env (command), ((const char *const[]){ "A=3=4", "AB=2", NULL }));
}

static void
test_frozen (void)
{
  g_autoptr (PrismCommand) command = good ();

  prism_command_freeze (command);
  g_test_expect_message ("prism", G_LOG_LEVEL_CRITICAL, "*cannot change*");
  prism_command_set_timeout_ms (command, 5);
  g_test_assert_expected_messages ();
  g_assert_cmpint (prism_command_get_timeout_ms (command), ==, 0);
}

static void
test_shell (void)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("a | b");

  g_assert_cmpstrv (prism_command_get_argv (command), ((const char *const[]){ "/bin/sh", "-c", "a | b", NULL }));
}

/* Facts that contradict each other do not leave a result. */
static void
test_result (void)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static ("a\xff"
                                                 "b",
                                                 3);
  g_autoptr (PrismResult) exited = g_object_new (PRISM_TYPE_RESULT, "outcome", PRISM_OUTCOME_EXITED, "exit-code", 3,
                                                 "term-signal", 9, "stdout-bytes", bytes, NULL);
  g_autoptr (PrismResult) timed_out =
      g_object_new (PRISM_TYPE_RESULT, "outcome", PRISM_OUTCOME_TIMED_OUT, "exit-code", 3, "term-signal", 9, NULL);
  g_autoptr (PrismResult) nothing = g_object_new (PRISM_TYPE_RESULT, NULL);
  g_autofree char *text = prism_result_dup_stdout_text (exited);

  g_assert_cmpint (prism_result_get_exit_code (exited), ==, 3);
  g_assert_cmpint (prism_result_get_term_signal (exited), ==, 0);
  g_assert_cmpuint (prism_result_get_stdout_total (exited), ==, 3);
  g_assert_cmpstr (text, ==,
                   "a\xef\xbf\xbd"
                   "b");
  g_assert_nonnull (prism_result_get_stderr (exited));
  g_assert_cmpint (prism_result_get_exit_code (timed_out), ==, -1);
  g_assert_true (prism_result_get_timed_out (timed_out));
  g_assert_false (prism_result_get_cancelled (timed_out));
  g_assert_cmpint (prism_result_get_outcome (nothing), ==, PRISM_OUTCOME_LOST);
  g_assert_cmpint (prism_result_get_exit_code (nothing), ==, -1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/command/fingerprint", test_fingerprint);
  g_test_add_func ("/command/refused", test_refused);
  g_test_add_func ("/command/all-at-once", test_all_at_once);
  g_test_add_func ("/command/names", test_names);
  g_test_add_func ("/command/variables", test_variables);
  g_test_add_func ("/command/frozen", test_frozen);
  g_test_add_func ("/command/shell", test_shell);
  g_test_add_func ("/command/result", test_result);
  return g_test_run ();
}
