/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's side of a sandbox with the real agent on the other, in both channel
 * modes and nothing around it. */
#include "agent-sandbox-fixture.h"

#include <prism-command.h>
#include <prism-result.h>

typedef struct
{
  gboolean framed;
} Mode;

static PrismResult *
run (PrismSandbox *sandbox, const char *line)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell (line);
  g_autoptr (GError) error = NULL;
  PrismResult *result = prism_sandbox_exec (sandbox, command, NULL, &error);
  g_assert_no_error (error);
  return result;
}

static void
assert_text (GBytes *bytes, const char *text)
{
  g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), text, strlen (text));
}

static void
close_it (PrismSandbox *sandbox)
{
  g_autoptr (GError) error = NULL;
  prism_sandbox_close (sandbox, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_sandbox_get_status (sandbox), ==, PRISM_SANDBOX_STATUS_REMOVED);
  g_assert_cmpint (BARE_SANDBOX (sandbox)->terminated, ==, 1);
}

static void
test_exec (gconstpointer data)
{
  g_test_summary ("A command's output, exit code and signal are its own");
  g_autoptr (PrismSandbox) sandbox = bare_sandbox_new (NULL, ((const Mode *)data)->framed);
  g_autoptr (PrismResult) plain = run (sandbox, "echo out; echo err >&2; exit 3");
  g_assert_cmpint (prism_result_get_outcome (plain), ==, PRISM_OUTCOME_EXITED);
  g_assert_cmpint (prism_result_get_exit_code (plain), ==, 3);
  assert_text (prism_result_get_stdout (plain), "out\n");
  assert_text (prism_result_get_stderr (plain), "err\n");
  g_assert_cmpuint (prism_result_get_stdout_total (plain), ==, 4);
  g_autoptr (PrismResult) killed = run (sandbox, "kill -9 $$");
  g_assert_cmpint (prism_result_get_outcome (killed), ==, PRISM_OUTCOME_SIGNALLED);
  g_assert_cmpint (prism_result_get_term_signal (killed), ==, SIGKILL);
  g_assert_cmpint (prism_result_get_exit_code (killed), ==, -1);
  close_it (sandbox);
}

int
main (int argc, char **argv)
{
  static const Mode modes[] = { { FALSE }, { TRUE } };
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      const char *mode = modes[i].framed ? "framed" : "passed";
      g_autofree char *exec = g_strdup_printf ("/agent/sandbox/%s/exec", mode);
      g_test_add_data_func (exec, &modes[i], test_exec);
    }
  return g_test_run ();
}
