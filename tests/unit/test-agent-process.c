/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Processes that live on beside the calls, in both channel modes. */
#include "agent-sandbox-fixture.h"

#include <gio/gunixsocketaddress.h>
#include <prism-command.h>
#include <prism-process.h>
#include <prism-result.h>
#include <prism-sandbox-error.h>

static PrismProcess *
start (PrismSandbox *sandbox, const char *line, gboolean pty)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell (line);
  g_autoptr (GError) error = NULL;
  if (pty)
    prism_command_set_pty_size (command, 80, 24);
  PrismProcess *process = prism_sandbox_start_process (sandbox, command, NULL, &error);
  g_assert_no_error (error);
  return process;
}

static char *
read_line (GInputStream *stream)
{
  GString *line = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  char c;
  while (g_input_stream_read (stream, &c, 1, NULL, &error) == 1 && c != '\n')
    if (c != '\r')
      g_string_append_c (line, c);
  g_assert_no_error (error);
  return g_string_free (line, FALSE);
}

static void
assert_line (GInputStream *stream, const char *expected)
{
  g_autofree char *line = read_line (stream);
  g_assert_cmpstr (line, ==, expected);
}

static void
say (PrismProcess *process, const char *text)
{
  g_autoptr (GError) error = NULL;
  g_output_stream_write_all (prism_process_get_stdin_stream (process), text, strlen (text), NULL, NULL, &error);
  g_assert_no_error (error);
}

static PrismResult *
wait_for (PrismProcess *process)
{
  g_autoptr (GError) error = NULL;
  PrismResult *result = prism_process_wait (process, NULL, &error);
  g_assert_no_error (error);
  return result;
}

static void
close_it (PrismSandbox *sandbox)
{
  g_autoptr (GError) error = NULL;
  prism_sandbox_close (sandbox, NULL, &error);
  g_assert_no_error (error);
}

static PrismSandbox *
open_it (gconstpointer framed)
{
  return bare_sandbox_new (NULL, GPOINTER_TO_INT (framed));
}

static void
test_talk (gconstpointer framed)
{
  g_test_summary ("A process is talked to while it runs, and waited for by many");
  g_autoptr (PrismSandbox) sandbox = open_it (framed);
  g_autoptr (PrismProcess) process =
      start (sandbox, "while read line; do echo got $line; echo err >&2; done; exit 4", FALSE);
  for (guint i = 0; i < 3; i++)
    {
      say (process, "hello\n");
      assert_line (prism_process_get_stdout_stream (process), "got hello");
      assert_line (prism_process_get_stderr_stream (process), "err");
    }
  g_output_stream_close (prism_process_get_stdin_stream (process), NULL, NULL);
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (PrismResult) result = wait_for (process);
      g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_EXITED);
      g_assert_cmpint (prism_result_get_exit_code (result), ==, 4);
    }
  assert_line (prism_process_get_stdout_stream (process), "");
  g_autoptr (GError) error = NULL;
  g_assert_false (prism_process_send_signal (process, SIGTERM, NULL, &error));
  g_assert_error (error, PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_STATE);
  close_it (sandbox);
}

static void
test_end (gconstpointer framed)
{
  g_test_summary ("Signals reach it; a kill is over when its tree is");
  g_autoptr (PrismSandbox) sandbox = open_it (framed);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismProcess) trapped =
      start (sandbox, "trap 'echo usr1; exit 9' USR1; echo ready; while :; do sleep 0.05; done", FALSE);
  assert_line (prism_process_get_stdout_stream (trapped), "ready");
  g_assert_true (prism_process_send_signal (trapped, SIGUSR1, NULL, &error));
  assert_line (prism_process_get_stdout_stream (trapped), "usr1");
  g_autoptr (PrismResult) nine = wait_for (trapped);
  g_assert_cmpint (prism_result_get_exit_code (nine), ==, 9);

  g_autoptr (PrismProcess) deaf = start (sandbox, "trap '' TERM INT; sleep 60 & echo $!; wait", FALSE);
  g_autofree char *child = read_line (prism_process_get_stdout_stream (deaf));
  g_assert_true (prism_process_kill (deaf, NULL, &error));
  g_assert_no_error (error);
  g_autoptr (PrismResult) killed = wait_for (deaf);
  g_assert_cmpint (prism_result_get_outcome (killed), ==, PRISM_OUTCOME_CANCELLED);
  g_autofree char *line = g_strdup_printf ("kill -0 %s 2>/dev/null", child);
  g_autoptr (PrismCommand) check = prism_command_new_shell (line);
  g_autoptr (PrismResult) gone = prism_sandbox_exec (sandbox, check, NULL, &error);
  g_assert_cmpint (prism_result_get_exit_code (gone), !=, 0);
  close_it (sandbox);
}

static void
test_pty (gconstpointer framed)
{
  g_test_summary ("A terminal: its size can change, its end is an end of file");
  g_autoptr (PrismSandbox) sandbox = open_it (framed);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismProcess) process = start (sandbox, "stty -echo; stty size; cat; stty size; echo end", TRUE);
  g_assert_null (prism_process_get_stderr_stream (process));
  assert_line (prism_process_get_stdout_stream (process), "24 80");
  g_assert_true (prism_process_resize (process, 100, 40, NULL, &error));
  say (process, "typed\n");
  assert_line (prism_process_get_stdout_stream (process), "typed");
  g_output_stream_close (prism_process_get_stdin_stream (process), NULL, NULL);
  assert_line (prism_process_get_stdout_stream (process), "40 100");
  assert_line (prism_process_get_stdout_stream (process), "end");
  assert_line (prism_process_get_stdout_stream (process), "");
  g_autoptr (PrismResult) result = wait_for (process);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, 0);
  close_it (sandbox);
}

static void
test_reference (gconstpointer framed)
{
  g_test_summary ("A reference finds its process, running or ended, and never another");
  g_autoptr (PrismSandbox) sandbox = open_it (framed);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismProcess) first = start (sandbox, "echo kept; read x", FALSE);
  g_autofree char *reference = prism_process_dup_reference (first);
  PrismProcess *same = first;
  g_clear_object (&first);
  g_autoptr (PrismProcess) found = prism_sandbox_attach_process (sandbox, reference, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (found == same);
  assert_line (prism_process_get_stdout_stream (found), "kept");
  g_output_stream_close (prism_process_get_stdin_stream (found), NULL, NULL);
  g_autoptr (PrismResult) result = wait_for (found);
  g_autoptr (PrismProcess) ended = prism_sandbox_attach_process (sandbox, reference, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (ended == found);
  g_assert_true (prism_process_release (found, NULL, &error));
  g_assert_null (prism_sandbox_attach_process (sandbox, reference, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  static const char *const wrong[] = { "", "x", "prism-agent-process:1:a:b:c" };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_assert_null (prism_sandbox_attach_process (sandbox, wrong[i], NULL, &error));
      g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
      g_clear_error (&error);
    }
  close_it (sandbox);
}

static void
test_refused (gconstpointer framed)
{
  g_test_summary ("One that cannot start is an error; there are no more at once than the limit");
  g_autoptr (PrismSandboxSpec) spec = bare_spec ("max-processes", 2, NULL);
  g_autoptr (PrismSandbox) sandbox = bare_sandbox_new (spec, GPOINTER_TO_INT (framed));
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismCommand) missing = prism_command_new ((const char *const[]){ "no-such-command-here", NULL });
  for (guint i = 0; i < 3; i++)
    {
      g_assert_null (prism_sandbox_start_process (sandbox, missing, NULL, &error));
      g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
      g_clear_error (&error);
    }
  g_autoptr (PrismProcess) one = start (sandbox, "sleep 60", FALSE);
  g_autoptr (PrismProcess) two = start (sandbox, "sleep 60", FALSE);
  g_autoptr (PrismCommand) third = prism_command_new_shell ("sleep 60");
  g_assert_null (prism_sandbox_start_process (sandbox, third, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT);
  g_clear_error (&error);
  g_assert_true (prism_process_kill (one, NULL, &error));
  g_autoptr (PrismProcess) again = start (sandbox, "sleep 60", FALSE);
  close_it (sandbox);
  g_autoptr (PrismResult) lost = wait_for (two);
  g_assert_cmpint (prism_result_get_outcome (lost), ==, PRISM_OUTCOME_LOST);
}

static void
test_much (gconstpointer framed)
{
  g_test_summary ("What is not read holds the process back; what is read is complete");
  g_autoptr (PrismSandbox) sandbox = open_it (framed);
  g_autoptr (PrismProcess) process = start (sandbox, "head -c 5000000 /dev/zero; echo over >&2", FALSE);
  g_autofree guint8 *buffer = g_malloc (100000);
  gsize total = 0;
  gssize n;
  while ((n = g_input_stream_read (prism_process_get_stdout_stream (process), buffer, 100000, NULL, NULL)) > 0)
    total += (gsize)n;
  g_assert_cmpuint (total, ==, 5000000);
  assert_line (prism_process_get_stderr_stream (process), "over");
  g_autoptr (PrismResult) result = wait_for (process);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, 0);
  g_autoptr (PrismProcess) unread = start (sandbox, "head -c 5000000 /dev/zero", FALSE);
  g_autoptr (PrismProcess) other = start (sandbox, "echo quick", FALSE);
  assert_line (prism_process_get_stdout_stream (other), "quick");
  close_it (sandbox);
}

/* --- processes that outlive their host --- */

typedef struct
{
  char *folder;
  GSocket *listener;
  GPid agent;
} Detached;

static void
detached_open (Detached *detached)
{
  g_autoptr (GError) error = NULL;
  detached->folder = g_dir_make_tmp ("prism-dial-XXXXXX", &error);
  g_assert_no_error (error);
  g_autofree char *path = g_build_filename (detached->folder, "socket", NULL);
  g_autoptr (GSocketAddress) address = g_unix_socket_address_new (path);
  detached->listener = g_socket_new (G_SOCKET_FAMILY_UNIX, G_SOCKET_TYPE_STREAM, 0, &error);
  g_assert_no_error (error);
  g_assert_true (g_socket_bind (detached->listener, address, FALSE, &error));
  g_assert_true (g_socket_listen (detached->listener, &error));
  const char *argv[] = { prism_agent_get_path (), "--dial", path, NULL };
  g_spawn_async (NULL, (char **)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &detached->agent, &error);
  g_assert_no_error (error);
}

static PrismSandbox *
detached_connect (Detached *detached, GSocket **socket)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandboxSpec) spec = bare_spec ("wall-time-ms", 60000, NULL);
  g_object_set (spec, "lifetime", PRISM_LIFETIME_DETACHED, NULL);
  *socket = g_socket_accept (detached->listener, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (GSocketConnection) connection = g_socket_connection_factory_create_connection (*socket);
  PrismSandbox *sandbox = g_object_new (BARE_TYPE_SANDBOX, "spec", spec, "connection", connection, "harden", FALSE,
                                        "backend-name", "bare", "workspace", "/tmp", NULL);
  prism_agent_sandbox_start (PRISM_AGENT_SANDBOX (sandbox), NULL, &error);
  g_assert_no_error (error);
  return sandbox;
}

static void
test_detached (void)
{
  g_test_summary ("A process outlives its host; another finds it by its reference, with what it said, and only it");
  Detached detached;
  GSocket *socket;
  g_autoptr (GError) error = NULL;
  detached_open (&detached);
  PrismSandbox *first = detached_connect (&detached, &socket);
  PrismProcess *process = start (first, "echo early; read x; echo got $x; exit 7", FALSE);
  g_autofree char *reference = prism_process_dup_reference (process);
  assert_line (prism_process_get_stdout_stream (process), "early");
  /* The host goes away: nothing is said, the socket just closes. */
  g_object_unref (process);
  g_socket_shutdown (socket, TRUE, TRUE, NULL);
  g_object_unref (first);
  g_object_unref (socket);

  PrismSandbox *second = detached_connect (&detached, &socket);
  BARE_SANDBOX (second)->agent = detached.agent;
  g_autofree char *other = g_strdup (reference);
  char *digit = strrchr (other, ':') - 1;
  *digit = *digit == '0' ? '1' : '0';
  char *uuid = other + strlen ("prism-agent-process:1:") + 33;
  *uuid = *uuid == '0' ? '1' : '0';
  g_assert_null (prism_sandbox_attach_process (second, other, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  PrismProcess *found = prism_sandbox_attach_process (second, reference, NULL, &error);
  g_assert_no_error (error);
  assert_line (prism_process_get_stdout_stream (found), "early");
  say (found, "word\n");
  assert_line (prism_process_get_stdout_stream (found), "got word");
  g_autoptr (PrismResult) result = wait_for (found);
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_EXITED);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, 7);
  g_object_unref (found);
  close_it (second);
  g_object_unref (second);
  g_object_unref (socket);
  g_object_unref (detached.listener);
  g_autofree char *path = g_build_filename (detached.folder, "socket", NULL);
  g_unlink (path);
  g_rmdir (detached.folder);
  g_free (detached.folder);
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    void (*test) (gconstpointer framed);
  } tests[] = {
    { "talk", test_talk },           { "end", test_end },         { "pty", test_pty },
    { "reference", test_reference }, { "refused", test_refused }, { "much", test_much },
  };
  g_test_init (&argc, &argv, NULL);
  for (int framed = 0; framed < 2; framed++)
    for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
      {
        g_autofree char *path = g_strdup_printf ("/agent/process/%s/%s", framed ? "framed" : "passed", tests[i].name);
        g_test_add_data_func (path, GINT_TO_POINTER (framed), tests[i].test);
      }
  g_test_add_func ("/agent/process/detached", test_detached);
  return g_test_run ();
}
