/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands on the host's side of a sandbox, with the real agent on the other, in
 * both channel modes and nothing around it. */
#include "agent-sandbox-fixture.h"

#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <prism-command.h>
#include <prism-result.h>
#include <prism-sandbox-error.h>

typedef struct
{
  gboolean framed;
} Mode;

static PrismResult *
run_command (PrismSandbox *sandbox, PrismCommand *command)
{
  g_autoptr (GError) error = NULL;
  PrismResult *result = prism_sandbox_exec (sandbox, command, NULL, &error);
  g_assert_no_error (error);
  return result;
}

static PrismResult *
run (PrismSandbox *sandbox, const char *line)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell (line);
  return run_command (sandbox, command);
}

static void
assert_text (GBytes *bytes, const char *text)
{
  g_assert_cmpmem (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), text, strlen (text));
}

static void
assert_exit (PrismResult *result, int code)
{
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_EXITED);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, code);
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

static PrismSandbox *
open_it (gconstpointer mode, PrismSandboxSpec *spec)
{
  g_autoptr (PrismSandboxSpec) owned = spec;
  return bare_sandbox_new (owned, ((const Mode *)mode)->framed);
}

/* --- how it ends --- */

static void
test_exits (gconstpointer mode)
{
  g_test_summary ("A command's output, exit code and signal are its own");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, NULL);
  g_autoptr (PrismResult) plain = run (sandbox, "echo out; echo err >&2; exit 3");
  assert_exit (plain, 3);
  assert_text (prism_result_get_stdout (plain), "out\n");
  assert_text (prism_result_get_stderr (plain), "err\n");
  g_assert_cmpuint (prism_result_get_stdout_total (plain), ==, 4);
  g_assert_cmpint (prism_result_get_duration_us (plain), >, 0);
  g_autoptr (PrismResult) killed = run (sandbox, "kill -9 $$");
  g_assert_cmpint (prism_result_get_outcome (killed), ==, PRISM_OUTCOME_SIGNALLED);
  g_assert_cmpint (prism_result_get_term_signal (killed), ==, SIGKILL);
  g_assert_cmpint (prism_result_get_exit_code (killed), ==, -1);
  for (int code = 120; code < 131; code++)
    {
      g_autofree char *line = g_strdup_printf ("exit %d", code);
      g_autoptr (PrismResult) result = run (sandbox, line);
      assert_exit (result, code);
    }
  close_it (sandbox);
}

static void
assert_not_started (PrismSandbox *sandbox, PrismCommand *command, gint code)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);
  g_assert_error (error, PRISM_SANDBOX_ERROR, code);
  g_assert_null (result);
  g_test_message ("%s", error->message);
}

static void
test_not_started (gconstpointer mode)
{
  g_test_summary ("A command that did not start is an error, told apart from any exit");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, NULL);
  g_autoptr (PrismCommand) missing = prism_command_new ((const char *const[]){ "no-such-command-here", NULL });
  assert_not_started (sandbox, missing, PRISM_SANDBOX_ERROR_NOT_FOUND);
  g_autoptr (PrismCommand) folder = prism_command_new ((const char *const[]){ "/tmp", NULL });
  assert_not_started (sandbox, folder, PRISM_SANDBOX_ERROR_NOT_EXECUTABLE);
  g_autoptr (PrismCommand) nowhere = prism_command_new ((const char *const[]){ "true", NULL });
  prism_command_set_cwd (nowhere, "/no/such/folder");
  assert_not_started (sandbox, nowhere, PRISM_SANDBOX_ERROR_NOT_FOUND);
  g_autofree char *large = g_strnfill (100000, 'x');
  g_autoptr (PrismCommand) long_one = prism_command_new ((const char *const[]){ "true", large, large, large, NULL });
  assert_not_started (sandbox, long_one, PRISM_SANDBOX_ERROR_LIMIT);
  g_autoptr (PrismResult) after = run (sandbox, "true");
  assert_exit (after, 0);
  close_it (sandbox);
}

static void
test_environment (gconstpointer mode)
{
  g_test_summary ("The environment is the documented one, the spec's and the command's, none of the host's");
  PrismSandboxSpec *spec = bare_spec (NULL);
  prism_sandbox_spec_set_variable (spec, "FROM_SPEC", "1");
  prism_sandbox_spec_add_secret (spec, "TOKEN", "s3cr3t-value");
  g_setenv ("FROM_HOST", "leak", TRUE);
  g_autoptr (PrismSandbox) sandbox = open_it (mode, spec);
  g_autoptr (PrismCommand) command = prism_command_new ((const char *const[]){ "env", NULL });
  prism_command_set_variable (command, "FROM_COMMAND", "2");
  g_autoptr (PrismResult) result = run_command (sandbox, command);
  g_autofree char *text = prism_result_dup_stdout_text (result);
  g_assert_nonnull (strstr (text, "FROM_SPEC=1\n"));
  g_assert_nonnull (strstr (text, "FROM_COMMAND=2\n"));
  g_assert_nonnull (strstr (text, "TOKEN=s3cr3t-value\n"));
  g_assert_nonnull (strstr (text, "HOME=/home/prism\n"));
  g_assert_null (strstr (text, "FROM_HOST"));

  g_autoptr (GError) error = NULL;
  g_autoptr (PrismCommand) leaky = prism_command_new ((const char *const[]){ "/no/s3cr3t-value/x", NULL });
  g_assert_null (prism_sandbox_exec (sandbox, leaky, NULL, &error));
  g_assert_null (strstr (error->message, "s3cr3t-value"));
  g_assert_nonnull (strstr (error->message, "[REDACTED]"));
  close_it (sandbox);
}

/* --- output --- */

static void
test_much_output (gconstpointer mode)
{
  g_test_summary ("All of it is kept up to the cap; over it head, tail and the number of bytes");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, NULL);
  g_autoptr (PrismResult) all = run (sandbox, "i=0; while [ $i -lt 200000 ]; do echo line $i; i=$((i+1)); done");
  assert_exit (all, 0);
  g_assert_false (prism_result_get_stdout_truncated (all));
  gsize size;
  const char *text = g_bytes_get_data (prism_result_get_stdout (all), &size);
  g_assert_cmpuint (size, ==, prism_result_get_stdout_total (all));
  g_assert_cmpmem (text + size - 12, 12, "line 199999\n", 12);

  g_autoptr (PrismCommand) command =
      prism_command_new_shell ("printf BEGIN; head -c 3000000 /dev/zero; printf END; head -c 700000 /dev/zero >&2");
  prism_command_set_max_output_bytes (command, 1000);
  g_autoptr (PrismResult) cut = run_command (sandbox, command);
  assert_exit (cut, 0);
  g_assert_true (prism_result_get_stdout_truncated (cut));
  g_assert_true (prism_result_get_stderr_truncated (cut));
  g_assert_cmpuint (prism_result_get_stdout_total (cut), ==, 3000008);
  g_assert_cmpuint (prism_result_get_stderr_total (cut), ==, 700000);
  text = g_bytes_get_data (prism_result_get_stdout (cut), &size);
  g_assert_cmpuint (size, ==, 1000);
  g_assert_cmpmem (text, 5, "BEGIN", 5);
  g_assert_cmpmem (text + 997, 3, "END", 3);
  close_it (sandbox);
}

static void
test_output_limit (gconstpointer mode)
{
  g_test_summary ("Over the sandbox's total cap the command is ended, and that is said");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, bare_spec ("max-output-bytes", 1000000, NULL));
  g_autoptr (PrismResult) result = run (sandbox, "trap '' TERM; exec cat /dev/zero");
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_OUTPUT_LIMIT);
  g_assert_cmpstr (prism_result_get_limit (result), ==, "max-output-bytes");
  g_assert_cmpint (prism_result_get_exit_code (result), ==, -1);
  g_assert_cmpuint (g_bytes_get_size (prism_result_get_stdout (result)), <=, 1000000);
  g_autoptr (PrismResult) after = run (sandbox, "true");
  assert_exit (after, 0);
  close_it (sandbox);
}

static void
test_last_bytes (gconstpointer mode)
{
  g_test_summary ("What was written before the exit is never lost");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, NULL);
  for (guint i = 0; i < 200; i++)
    {
      g_autoptr (PrismResult) burst = run (sandbox, "head -c 65536 /dev/zero; printf X");
      g_assert_cmpuint (g_bytes_get_size (prism_result_get_stdout (burst)), ==, 65537);
    }
  close_it (sandbox);
}

static void
test_held_pipes (gconstpointer mode)
{
  g_test_summary ("A child that holds the pipes delays the result by the drain time at most, and lives on");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, NULL);
  gint64 start = g_get_monotonic_time ();
  g_autoptr (PrismResult) quiet = run (sandbox, "sleep 30 & echo started $!");
  g_assert_cmpint (g_get_monotonic_time () - start, <, 15 * G_USEC_PER_SEC);
  assert_exit (quiet, 0);
  g_autofree char *text = prism_result_dup_stdout_text (quiet);
  g_assert_true (g_str_has_prefix (text, "started "));
  g_autofree char *check = g_strdup_printf ("kill -0 %s", text + strlen ("started "));
  g_autoptr (PrismResult) lives = run (sandbox, check);
  assert_exit (lives, 0);
  start = g_get_monotonic_time ();
  g_autoptr (PrismResult) loud = run (sandbox, "(while :; do echo noise; done) & echo first");
  g_assert_cmpint (g_get_monotonic_time () - start, <, 15 * G_USEC_PER_SEC);
  assert_exit (loud, 0);
  close_it (sandbox);
}

typedef struct
{
  GString *text[2];
  guint chunks;
  GThread *thread;
} Heard;

static void
hear (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer user_data)
{
  Heard *heard = user_data;
  g_assert_true (heard->thread == g_thread_self ());
  heard->chunks++;
  g_string_append_len (heard->text[stream - 1], g_bytes_get_data (bytes, NULL), (gssize)g_bytes_get_size (bytes));
}

static void
heard_init (Heard *heard)
{
  *heard = (Heard){ { g_string_new (NULL), g_string_new (NULL) }, 0, g_thread_self () };
}

static void
heard_clear (Heard *heard)
{
  g_string_free (heard->text[0], TRUE);
  g_string_free (heard->text[1], TRUE);
}

static void
test_signal (gconstpointer mode)
{
  g_test_summary ("Output arrives in the calling thread, in order and complete, kept or not");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, NULL);
  Heard heard;
  heard_init (&heard);
  g_autoptr (PrismCommand) command =
      prism_command_new_shell ("seq 1 100000; echo err >&2; head -c 2000000 /dev/zero | tr '\\0' x");
  prism_command_set_capture (command, FALSE);
  g_signal_connect (command, "output", G_CALLBACK (hear), &heard);
  g_autoptr (PrismResult) result = run_command (sandbox, command);
  assert_exit (result, 0);
  g_assert_cmpuint (g_bytes_get_size (prism_result_get_stdout (result)), ==, 0);
  g_assert_false (prism_result_get_stdout_truncated (result));
  g_assert_cmpuint (heard.text[0]->len, ==, 588895 + 2000000);
  g_assert_cmpuint (prism_result_get_stdout_total (result), ==, heard.text[0]->len);
  g_assert_true (g_str_has_prefix (heard.text[0]->str, "1\n2\n3\n"));
  g_assert_cmpstr (heard.text[1]->str, ==, "err\n");
  heard_clear (&heard);
  close_it (sandbox);
}

/* --- standard input --- */

static void
feed (PrismSandbox *sandbox, GBytes *bytes, GInputStream *stream, const char *line, const char *answer)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell (line);
  if (bytes != NULL)
    prism_command_set_stdin_bytes (command, bytes);
  if (stream != NULL)
    prism_command_set_stdin_stream (command, stream);
  g_autoptr (PrismResult) result = run_command (sandbox, command);
  assert_exit (result, 0);
  assert_text (prism_result_get_stdout (result), answer);
}

static void
test_stdin (gconstpointer mode)
{
  g_test_summary ("Bytes, files and streams go in whole; a command that does not read them is fine");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, NULL);
  g_autoptr (GBytes) large = g_bytes_new_take (g_malloc0 (5000000), 5000000);
  g_autoptr (GBytes) empty = g_bytes_new_static ("", 0);
  feed (sandbox, NULL, NULL, "wc -c", "0\n");
  feed (sandbox, empty, NULL, "wc -c", "0\n");
  feed (sandbox, large, NULL, "wc -c", "5000000\n");
  feed (sandbox, large, NULL, "exec <&-; echo closed", "closed\n");
  feed (sandbox, large, NULL, "cat >&2; echo done", "done\n");
  g_autoptr (GInputStream) memory = g_memory_input_stream_new_from_bytes (large);
  feed (sandbox, NULL, memory, "wc -c", "5000000\n");
  g_autoptr (GFile) file = g_file_new_for_path ("/etc/passwd");
  g_autoptr (GInputStream) opened = G_INPUT_STREAM (g_file_read (file, NULL, NULL));
  feed (sandbox, NULL, opened, "cmp - /etc/passwd && echo same", "same\n");
  close_it (sandbox);
}

/* --- terminals --- */

static void
test_pty (gconstpointer mode)
{
  g_test_summary ("A pseudo-terminal of the size that was asked for; its input ends");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, NULL);
  g_autoptr (PrismCommand) command =
      prism_command_new_shell ("test -t 0 -a -t 1 -a -t 2 && stty size; cat; echo $TERM");
  prism_command_set_pty_size (command, 81, 33);
  g_autoptr (GBytes) input = g_bytes_new_static ("hello\n", 6);
  prism_command_set_stdin_bytes (command, input);
  g_autoptr (PrismResult) result = run_command (sandbox, command);
  assert_exit (result, 0);
  g_autofree char *text = prism_result_dup_stdout_text (result);
  g_assert_nonnull (strstr (text, "33 81\r\n"));
  g_assert_nonnull (strstr (text, "hello\r\n"));
  g_assert_nonnull (strstr (text, "xterm"));
  g_autoptr (PrismCommand) silent = prism_command_new_shell ("cat; echo over");
  prism_command_set_pty_size (silent, 80, 24);
  g_autoptr (PrismResult) ended = run_command (sandbox, silent);
  assert_exit (ended, 0);
  close_it (sandbox);
}

/* --- being ended --- */

static void
test_timeout (gconstpointer mode)
{
  g_test_summary ("A timeout ends the whole tree: politely, then not");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, bare_spec ("stop-grace-ms", 300, NULL));
  static const char *const lines[] = {
    "sleep 60",
    "sleep 60 & wait",
    "trap '' TERM; echo deaf; while :; do sleep 60; done",
    "(trap '' TERM; (trap '' TERM; sleep 60) & sleep 60) & wait",
  };
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      g_autoptr (PrismCommand) command = prism_command_new_shell (lines[i]);
      prism_command_set_timeout_ms (command, 200);
      gint64 start = g_get_monotonic_time ();
      g_autoptr (PrismResult) result = run_command (sandbox, command);
      gint64 took = g_get_monotonic_time () - start;
      g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_TIMED_OUT);
      g_assert_true (prism_result_get_timed_out (result));
      g_assert_false (prism_result_get_cancelled (result));
      g_assert_cmpint (prism_result_get_effective_timeout_ms (result), ==, 200);
      g_assert_cmpint (took, >=, 200 * 1000);
      g_assert_cmpint (took, <, 15 * G_USEC_PER_SEC);
    }
  g_autoptr (PrismResult) left = run (sandbox, "pgrep -x sleep -P 1 >/dev/null; true");
  assert_exit (left, 0);
  close_it (sandbox);
}

static void
cancel_on_output (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer cancellable)
{
  g_cancellable_cancel (cancellable);
}

static void
test_cancel (gconstpointer mode)
{
  g_test_summary ("Cancelling ends the command, not only the wait; before the start it is an error");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, bare_spec ("stop-grace-ms", 300, NULL));
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (PrismCommand) command = prism_command_new_shell ("echo before; exec sleep 60");
  g_autoptr (GError) error = NULL;
  g_signal_connect (command, "output", G_CALLBACK (cancel_on_output), cancellable);
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, cancellable, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_CANCELLED);
  g_assert_true (prism_result_get_cancelled (result));
  assert_text (prism_result_get_stdout (result), "before\n");
  g_autoptr (PrismCommand) second = prism_command_new_shell ("true");
  g_assert_null (prism_sandbox_exec (sandbox, second, cancellable, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED);
  close_it (sandbox);
}

static void
test_lost (gconstpointer mode)
{
  g_test_summary ("A dead agent ends commands as lost, the sandbox as failed, and says so ever after");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, NULL);
  g_autofree char *line = g_strdup_printf ("echo before; kill -9 %d; sleep 5", BARE_SANDBOX (sandbox)->agent);
  g_autoptr (PrismResult) result = run (sandbox, line);
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_LOST);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, -1);
  g_assert_cmpint (prism_sandbox_get_status (sandbox), ==, PRISM_SANDBOX_STATUS_FAILED);
  g_autoptr (PrismCommand) command = prism_command_new_shell ("true");
  assert_not_started (sandbox, command, PRISM_SANDBOX_ERROR_LOST);
  close_it (sandbox);
}

static void
test_lost_while_idle (gconstpointer mode)
{
  g_test_summary ("An agent that dies while nothing runs is seen by who asks for the status");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, NULL);
  g_assert_cmpint (prism_sandbox_get_status (sandbox), ==, PRISM_SANDBOX_STATUS_RUNNING);
  kill (BARE_SANDBOX (sandbox)->agent, SIGKILL);
  gint64 until = g_get_monotonic_time () + 30 * G_USEC_PER_SEC;
  while (prism_sandbox_get_status (sandbox) == PRISM_SANDBOX_STATUS_RUNNING && g_get_monotonic_time () < until)
    g_thread_yield ();
  g_assert_cmpint (prism_sandbox_get_status (sandbox), ==, PRISM_SANDBOX_STATUS_FAILED);
  close_it (sandbox);
}

static void
test_wall (gconstpointer mode)
{
  g_test_summary ("Wall time ends a running command; idle time an idle sandbox");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, bare_spec ("wall-time-ms", 2000, NULL));
  g_autoptr (PrismResult) result = run (sandbox, "sleep 60");
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_WALL_EXCEEDED);
  g_assert_cmpstr (prism_result_get_limit (result), ==, "wall-time-ms");
  g_assert_cmpint (prism_sandbox_get_status (sandbox), ==, PRISM_SANDBOX_STATUS_FAILED);
  close_it (sandbox);

  g_autoptr (PrismSandbox) idle = open_it (mode, bare_spec ("idle-timeout-ms", 1500, NULL));
  g_autoptr (PrismResult) busy = run (idle, "sleep 2");
  assert_exit (busy, 0);
  gint64 until = g_get_monotonic_time () + 30 * G_USEC_PER_SEC;
  while (prism_sandbox_get_status (idle) == PRISM_SANDBOX_STATUS_RUNNING && g_get_monotonic_time () < until)
    g_main_context_iteration (NULL, FALSE);
  g_assert_cmpint (prism_sandbox_get_status (idle), ==, PRISM_SANDBOX_STATUS_FAILED);
  close_it (idle);
}

static void
test_stop (gconstpointer mode)
{
  g_test_summary ("Stop, kill and close can be asked in any order and twice; operations afterwards name the state");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, NULL);
  g_autoptr (GError) error = NULL;
  g_assert_true (prism_sandbox_stop (sandbox, 100, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (prism_sandbox_get_status (sandbox), ==, PRISM_SANDBOX_STATUS_STOPPED);
  g_autoptr (PrismCommand) command = prism_command_new_shell ("true");
  assert_not_started (sandbox, command, PRISM_SANDBOX_ERROR_STATE);
  g_assert_true (prism_sandbox_kill (sandbox, NULL, &error));
  g_assert_true (prism_sandbox_stop (sandbox, -1, NULL, &error));
  close_it (sandbox);
  close_it (sandbox);
  assert_not_started (sandbox, command, PRISM_SANDBOX_ERROR_STATE);
}

/* --- limits --- */

static void
test_max_commands (gconstpointer mode)
{
  g_test_summary ("The sandbox's commands are counted, and the one over is refused");
  g_autoptr (PrismSandbox) sandbox = open_it (mode, bare_spec ("max-commands", 2, NULL));
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (PrismResult) result = run (sandbox, "true");
      assert_exit (result, 0);
    }
  g_autoptr (PrismCommand) command = prism_command_new_shell ("true");
  assert_not_started (sandbox, command, PRISM_SANDBOX_ERROR_LIMIT);
  close_it (sandbox);
}

static void
test_any_stream (void)
{
  g_test_summary ("A stream that is no socket carries the frames as well, and ends with the sandbox");
  int ends[2];
  g_autoptr (GError) error = NULL;
  g_assert_no_errno (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
  g_autoptr (GInputStream) input = g_unix_input_stream_new (dup (ends[0]), TRUE);
  g_autoptr (GOutputStream) output = g_unix_output_stream_new (ends[0], TRUE);
  g_autoptr (GIOStream) stream = g_simple_io_stream_new (input, output);
  g_autoptr (PrismSandbox) sandbox = g_object_new (BARE_TYPE_SANDBOX, "connection", stream, "harden", FALSE,
                                                   "backend-name", "bare", "workspace", "/tmp", NULL);
  g_autofree char *fd = g_strdup_printf ("%d", ends[1]);
  const char *argv[] = { prism_agent_get_path (), "--serve", fd, "--framed", NULL };
  g_spawn_async (NULL, (char **)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_LEAVE_DESCRIPTORS_OPEN, bare_leave_open,
                 GINT_TO_POINTER (ends[1]), &BARE_SANDBOX (sandbox)->agent, &error);
  g_assert_no_error (error);
  close (ends[1]);
  prism_agent_sandbox_start (PRISM_AGENT_SANDBOX (sandbox), NULL, &error);
  g_assert_no_error (error);
  g_autoptr (PrismResult) result = run (sandbox, "head -c 1000000 /dev/zero; exit 5");
  assert_exit (result, 5);
  g_assert_cmpuint (prism_result_get_stdout_total (result), ==, 1000000);
  close_it (sandbox);
}

typedef void (*Test) (gconstpointer mode);

static const struct
{
  const char *name;
  Test test;
} tests[] = {
  { "exits", test_exits },
  { "not-started", test_not_started },
  { "environment", test_environment },
  { "much-output", test_much_output },
  { "output-limit", test_output_limit },
  { "last-bytes", test_last_bytes },
  { "held-pipes", test_held_pipes },
  { "signal", test_signal },
  { "stdin", test_stdin },
  { "pty", test_pty },
  { "timeout", test_timeout },
  { "cancel", test_cancel },
  { "lost", test_lost },
  { "lost-while-idle", test_lost_while_idle },
  { "wall", test_wall },
  { "stop", test_stop },
  { "max-commands", test_max_commands },
};

int
main (int argc, char **argv)
{
  static const Mode modes[] = { { FALSE }, { TRUE } };
  g_test_init (&argc, &argv, NULL);
  for (guint m = 0; m < G_N_ELEMENTS (modes); m++)
    for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
      {
        g_autofree char *path =
            g_strdup_printf ("/agent/sandbox/%s/%s", modes[m].framed ? "framed" : "passed", tests[i].name);
        g_test_add_data_func (path, &modes[m], tests[i].test);
      }
  g_test_add_func ("/agent/sandbox/any-stream", test_any_stream);
  return g_test_run ();
}
