/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asynchronous calls, cancelling, errors and many calls, from C. calls.vala, calls.py and
 * calls.js do the same. */
#include <libprism/prism.h>

#include <stdlib.h>
#include <string.h>

static PrismSandbox *sandbox;

typedef struct
{
  PrismResult *result;
  GError *error;
  gboolean done;
} Answer;

static void
on_exec (GObject *source, GAsyncResult *result, gpointer data)
{
  Answer *answer = data;

  answer->result = prism_sandbox_exec_finish (PRISM_SANDBOX (source), result, &answer->error);
  answer->done = TRUE;
}

static void
wait_for (Answer *answer)
{
  while (!answer->done)
    g_main_context_iteration (NULL, TRUE);
}

static PrismCommand *
shell (const char *line)
{
  return prism_command_new_shell (line);
}

static void
test_async (void)
{
  Answer answers[10] = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autofree char *line = g_strdup_printf ("exit %u", i);
      g_autoptr (PrismCommand) command = shell (line);
      prism_sandbox_exec_async (sandbox, command, NULL, on_exec, &answers[i]);
    }
  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      wait_for (&answers[i]);
      g_assert_no_error (answers[i].error);
      g_assert_cmpint (prism_result_get_exit_code (answers[i].result), ==, (int)i);
      g_object_unref (answers[i].result);
    }
}

/* When it has said that it runs. */
static void
on_output (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer cancellable)
{
  g_cancellable_cancel (cancellable);
}

static void
test_cancel (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (PrismCommand) command = shell ("echo on; sleep 1000");
  Answer answer = { 0 };

  g_signal_connect (command, "output", G_CALLBACK (on_output), cancellable);
  prism_sandbox_exec_async (sandbox, command, cancellable, on_exec, &answer);
  wait_for (&answer);
  g_assert_no_error (answer.error);
  g_assert_true (prism_result_get_cancelled (answer.result));
  g_assert_cmpint (prism_result_get_outcome (answer.result), ==, PRISM_OUTCOME_CANCELLED);
  g_object_unref (answer.result);
}

static void
test_errors (void)
{
  g_autoptr (PrismCommand) command = shell ("true");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (PrismLimits) limits = prism_limits_new (PRISM_LIMITS_PROFILE_STRICT);
  g_autoptr (GError) error = NULL;

  g_assert_null (prism_sandbox_stat_file (sandbox, "missing", NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_null (prism_registry_create_backend (prism_registry_get_default (), "none", &error));
  g_assert_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_false (prism_limits_set (limits, "max-pids", 100000, &error));
  g_assert_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE);
  g_clear_error (&error);
  g_cancellable_cancel (cancellable);
  g_assert_null (prism_sandbox_exec (sandbox, command, cancellable, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED);
}

/* In KiB. */
static int
memory (void)
{
  g_autofree char *text = NULL;

  g_assert_true (g_file_get_contents ("/proc/self/status", &text, NULL, NULL));
  return atoi (strstr (text, "VmRSS:") + strlen ("VmRSS:"));
}

static void
call (int times)
{
  static const char *const words[] = { "true", NULL };

  for (int i = 0; i < times; i++)
    {
      g_autoptr (PrismCommand) command = prism_command_new (words);
      g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, NULL);
      g_autoptr (PrismFileEntry) entry = prism_sandbox_stat_file (sandbox, ".", NULL, NULL);
      g_autoptr (PrismCapabilities) real = prism_sandbox_dup_capabilities (sandbox);
      g_assert_true (prism_result_get_exit_code (result) == 0 && entry != NULL && real != NULL);
    }
}

static void
test_memory (void)
{
  const char *asked = g_getenv ("PRISM_TEST_CALLS");
  int times = asked != NULL ? atoi (asked) : 1000, before;

  call (times / 4 + 100);
  before = memory ();
  call (times);
  g_test_message ("%d calls: %d KiB more", times, memory () - before);
  g_assert_cmpint (memory () - before, <, 512 + times / 8);
}

int
main (int argc, char **argv)
{
  g_autoptr (PrismBackend) backend = NULL;
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (NULL);
  g_autoptr (GError) error = NULL;
  int failed;

  g_test_init (&argc, &argv, NULL);
  backend = prism_registry_create_backend (prism_registry_get_default (), "native", &error);
  g_assert_no_error (error);
  sandbox = prism_backend_create_sandbox (backend, spec, NULL, &error);
  g_assert_no_error (error);
  g_test_add_func ("/calls/async", test_async);
  g_test_add_func ("/calls/cancel", test_cancel);
  g_test_add_func ("/calls/errors", test_errors);
  g_test_add_func ("/calls/memory", test_memory);
  failed = g_test_run ();
  g_assert_true (prism_sandbox_close (sandbox, NULL, &error));
  g_object_unref (sandbox);
  return failed;
}
