/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Processes that run while their caller does other things. */
#include "conformance.h"

#include <signal.h>

static PrismProcess *
start (Box *box, PrismCommand *command)
{
  g_autoptr (PrismCommand) owned = command;
  g_autoptr (GError) error = NULL;
  PrismProcess *process = prism_sandbox_start_process (box->sandbox, owned, NULL, &error);

  g_assert_no_error (error);
  return process;
}

static void
put (PrismProcess *process, const char *text)
{
  g_autoptr (GError) error = NULL;

  g_output_stream_write_all (prism_process_get_stdin_stream (process), text, strlen (text), NULL, NULL, &error);
  g_assert_no_error (error);
  g_output_stream_flush (prism_process_get_stdin_stream (process), NULL, &error);
  g_assert_no_error (error);
}

/* Reads until @text was seen, and nothing of what comes after. */
static void
expect (GInputStream *stream, const char *text)
{
  g_autoptr (GString) seen = g_string_new (NULL);

  while (strstr (seen->str, text) == NULL)
    {
      g_autoptr (GError) error = NULL;
      char byte;
      gssize n = g_input_stream_read (stream, &byte, 1, NULL, &error);
      g_assert_no_error (error);
      if (n == 0)
        g_test_message ("the stream ended after “%s”", seen->str);
      g_assert_cmpint (n, ==, 1);
      g_string_append_c (seen, byte);
    }
}

static void
expect_end (GInputStream *stream)
{
  char byte;

  g_assert_cmpint (g_input_stream_read (stream, &byte, 1, NULL, NULL), <=, 0);
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
test_streams (Box *box)
{
  g_autoptr (PrismProcess) process =
      start (box, command_shell ("echo hello >&2; while read line; do echo \"got $line\"; done; echo bye >&2; exit 7"));
  g_autoptr (PrismResult) result = NULL, again = NULL;
  g_autofree char *reference = prism_process_dup_reference (process);

  g_assert_nonnull (reference);
  expect (prism_process_get_stderr_stream (process), "hello\n");
  for (int i = 0; i < 100; i++)
    {
      g_autofree char *line = g_strdup_printf ("line %d\n", i), *answer = g_strdup_printf ("got line %d\n", i);
      put (process, line);
      expect (prism_process_get_stdout_stream (process), answer);
    }
  g_assert_true (g_output_stream_close (prism_process_get_stdin_stream (process), NULL, NULL));
  expect (prism_process_get_stderr_stream (process), "bye\n");
  expect_end (prism_process_get_stdout_stream (process));
  result = wait_for (process);
  assert_exited (result, 7);
  again = wait_for (process); /* it is known for good */
  assert_exited (again, 7);
}

/* Every byte of one that ends quickly is still there. */
static void
test_quick (Box *box)
{
  for (int i = 0; i < 100; i++)
    {
      g_autoptr (PrismProcess) process = start (box, command_shell ("printf 0123456789; exit 3"));
      g_autoptr (PrismResult) result = wait_for (process);
      assert_exited (result, 3);
      expect (prism_process_get_stdout_stream (process), "0123456789");
      expect_end (prism_process_get_stdout_stream (process));
    }
}

static void
test_signal (Box *box)
{
  g_autoptr (PrismProcess) polite =
      start (box, command_shell ("trap 'echo caught; exit 4' INT; echo up; while :; do sleep 0.01; done"));
  g_autoptr (PrismProcess) plain = start (box, command_shell ("echo up; exec sleep 1000"));
  g_autoptr (PrismResult) first = NULL, second = NULL;
  g_autoptr (GError) error = NULL;

  expect (prism_process_get_stdout_stream (polite), "up\n");
  g_assert_true (prism_process_send_signal (polite, SIGINT, NULL, &error));
  g_assert_no_error (error);
  expect (prism_process_get_stdout_stream (polite), "caught\n");
  first = wait_for (polite);
  assert_exited (first, 4);

  expect (prism_process_get_stdout_stream (plain), "up\n");
  g_assert_true (prism_process_send_signal (plain, SIGTERM, NULL, &error));
  g_assert_no_error (error);
  second = wait_for (plain);
  g_assert_cmpint (prism_result_get_outcome (second), ==, PRISM_OUTCOME_SIGNALLED);
  g_assert_cmpint (prism_result_get_term_signal (second), ==, SIGTERM);

  g_assert_false (prism_process_send_signal (plain, 65, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
}

static void
test_kill (Box *box)
{
  g_autoptr (PrismProcess) process =
      start (box, command_shell (
                      "(setsid sh -c 'trap \"\" TERM; exec 9>k; flock 9; echo up; while :; do sleep 1000; done' &)\n"
                      "trap '' TERM; while :; do sleep 1000; done"));
  g_autoptr (PrismResult) result = NULL;
  g_autoptr (GError) error = NULL;

  expect (prism_process_get_stdout_stream (process), "up\n");
  g_assert_false (box_is_free (box, "k"));
  g_assert_true (prism_process_kill (process, NULL, &error));
  g_assert_no_error (error);
  result = wait_for (process);
  g_assert_cmpint (prism_result_get_outcome (result), !=, PRISM_OUTCOME_EXITED);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, -1);
  expect_end (prism_process_get_stdout_stream (process)); /* nobody is left who holds it */
  g_assert_true (box_is_free (box, "k"));
}

typedef struct
{
  PrismResult *result;
  GError *error;
  gboolean done;
} Waited;

static void
on_wait (GObject *source, GAsyncResult *async, gpointer data)
{
  Waited *self = data;

  self->result = prism_process_wait_finish (PRISM_PROCESS (source), async, &self->error);
  self->done = TRUE;
}

/* Several wait; one gives up, which ends its waiting and nothing else. */
static void
test_wait (Box *box)
{
  g_autoptr (PrismProcess) process = start (box, command_shell ("read line; exit 5"));
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Waited waits[3] = { 0 };

  prism_process_wait_async (process, NULL, on_wait, &waits[0]);
  prism_process_wait_async (process, cancellable, on_wait, &waits[1]);
  prism_process_wait_async (process, NULL, on_wait, &waits[2]);
  g_cancellable_cancel (cancellable);
  WAIT_UNTIL (waits[1].done);
  g_assert_error (waits[1].error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED);
  g_assert_false (waits[0].done || waits[2].done);
  put (process, "go\n");
  WAIT_UNTIL (waits[0].done && waits[2].done);
  assert_exited (waits[0].result, 5);
  assert_exited (waits[2].result, 5);
  g_clear_object (&waits[0].result);
  g_clear_object (&waits[2].result);
  g_clear_error (&waits[1].error);
}

static void
test_not_startable (Box *box)
{
  g_autoptr (PrismCommand) command = prism_command_new ((const char *const[]){ "no-such-program-anywhere", NULL });
  g_autoptr (GError) error = NULL;

  g_assert_null (prism_sandbox_start_process (box->sandbox, command, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
}

static void
prepare_one (Box *box)
{
  g_assert_true (prism_limits_set (box->limits, "max-concurrent-execs", 1, NULL));
  g_assert_true (prism_limits_set (box->limits, "max-processes", 2, NULL));
}

/* A server keeps no command waiting; there are as many processes as allowed. */
static void
test_places (Box *box)
{
  g_autoptr (PrismProcess) one = start (box, command_shell ("read line")),
                           two = start (box, command_shell ("read line"));
  g_autoptr (PrismResult) result = box_sh (box, "exit 2"), ended = NULL;
  g_autoptr (PrismCommand) command = command_shell ("true");
  g_autoptr (PrismProcess) three = NULL;
  g_autoptr (GError) error = NULL;

  assert_exited (result, 2);
  g_assert_null (prism_sandbox_start_process (box->sandbox, command, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT);
  put (one, "go\n");
  ended = wait_for (one);
  three = start (box, command_shell ("true"));
}

/* One that waits for ever does not take the others with it, neither while it hangs nor
 * when it is ended. */
static void
test_apart (Box *box)
{
  g_autoptr (PrismProcess) server =
      start (box, command_shell ("echo up; while read line; do echo \"got $line\"; done; exit 5"));
  g_autoptr (PrismProcess) stuck = start (box, command_shell ("trap '' TERM; echo up; while :; do sleep 1000; done"));
  g_autoptr (PrismCommand) waits = command_shell ("cat <gate-of-nobody");
  g_autoptr (PrismResult) made = box_sh (box, "mkfifo gate-of-nobody"), late = NULL, after = NULL, ended = NULL,
                          last = NULL;
  g_autoptr (GError) error = NULL;

  expect (prism_process_get_stdout_stream (server), "up\n");
  expect (prism_process_get_stdout_stream (stuck), "up\n");
  prism_command_set_timeout_ms (waits, 200);
  late = box_run (box, waits);
  g_assert_cmpint (prism_result_get_outcome (late), ==, PRISM_OUTCOME_TIMED_OUT);
  after = box_sh (box, "echo again");
  assert_stdout (after, "again\n");
  g_assert_true (prism_process_kill (stuck, NULL, &error));
  g_assert_no_error (error);
  ended = wait_for (stuck);
  g_assert_cmpint (prism_result_get_exit_code (ended), !=, 0);
  put (server, "a line\n");
  expect (prism_process_get_stdout_stream (server), "got a line\n");
  g_assert_true (g_output_stream_close (prism_process_get_stdin_stream (server), NULL, NULL));
  last = wait_for (server);
  assert_exited (last, 5);
}

/* The end of the sandbox is the end of its processes, and they are told. */
static void
test_close (Box *box)
{
  g_autoptr (PrismProcess) process = start (box, command_shell ("trap '' TERM; while :; do sleep 1000; done"));
  Waited waited = { 0 };
  g_autoptr (GError) error = NULL;

  prism_process_wait_async (process, NULL, on_wait, &waited);
  g_assert_true (prism_sandbox_close (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  WAIT_UNTIL (waited.done);
  if (waited.result != NULL)
    g_assert_cmpint (prism_result_get_exit_code (waited.result), ==, -1);
  else
    g_assert_nonnull (waited.error);
  g_clear_object (&waited.result);
  g_clear_error (&waited.error);
}

/* Let go of, it lives on; this handle of it is no use any more. */
static void
test_release (Box *box)
{
  g_autoptr (PrismProcess) process = start (box, command_shell ("exec 9>r; flock 9; echo up; exec sleep 1000"));
  g_autoptr (GError) error = NULL;

  expect (prism_process_get_stdout_stream (process), "up\n");
  g_assert_true (prism_process_release (process, NULL, &error));
  g_assert_no_error (error);
  g_assert_false (box_is_free (box, "r"));
  g_assert_false (prism_process_send_signal (process, SIGTERM, NULL, &error));
  g_assert_nonnull (error);
}

/* A reference that names nothing, or nothing any more, never names another. */
static void
test_attach (Box *box)
{
  g_autoptr (PrismProcess) process = start (box, command_shell ("exit 0"));
  g_autoptr (PrismResult) result = wait_for (process);
  g_autofree char *ended = prism_process_dup_reference (process);
  const char *const references[] = { "", "1", "nonsense", "\n", "../../etc/passwd", ended };

  assert_exited (result, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (references); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismProcess) attached = NULL;

      if (references[i] == NULL)
        continue;
      attached = prism_sandbox_attach_process (box->sandbox, references[i], NULL, &error);
      if (references[i] == ended && attached != NULL) /* what is kept of it is its end */
        {
          g_autoptr (PrismResult) again = wait_for (attached);
          assert_exited (again, 0);
          continue;
        }
      g_assert_null (attached);
      g_assert_nonnull (error);
    }
}

static PrismCommand *
terminal (const char *line)
{
  PrismCommand *command = command_shell (line);

  prism_command_set_pty_size (command, 91, 37);
  return command;
}

static void
test_pty (Box *box)
{
  g_autoptr (PrismProcess) process =
      start (box, terminal ("test -t 0 && test -t 1 && test -t 2 && stty size; trap 'stty size; exit 6' WINCH; "
                            "echo up; while :; do sleep 0.01; done"));
  g_autoptr (PrismResult) result = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_null (prism_process_get_stderr_stream (process));
  expect (prism_process_get_stdout_stream (process), "37 91");
  expect (prism_process_get_stdout_stream (process), "up");
  g_assert_true (prism_process_resize (process, 50, 20, NULL, &error));
  g_assert_no_error (error);
  expect (prism_process_get_stdout_stream (process), "20 50");
  result = wait_for (process);
  assert_exited (result, 6);
  g_assert_false (prism_process_resize (process, 501, 20, NULL, &error));
  g_assert_error (error, PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_PTY_LIMIT);
}

/* The terminal's keys reach it: an interrupt, and an end of input. */
static void
test_pty_keys (Box *box)
{
  g_autoptr (PrismProcess) process = start (box, terminal ("trap 'echo interrupted' INT; echo up; cat; echo ended"));
  g_autoptr (PrismResult) result = NULL;

  expect (prism_process_get_stdout_stream (process), "up");
  put (process, "hello\n");
  expect (prism_process_get_stdout_stream (process), "hello");
  put (process, "\004");
  expect (prism_process_get_stdout_stream (process), "ended");
  result = wait_for (process);
  assert_exited (result, 0);
}

/* A terminal loses nothing of what ends quickly either. */
static void
test_pty_quick (Box *box)
{
  for (int i = 0; i < 50; i++)
    {
      g_autoptr (PrismProcess) process = start (box, terminal ("printf 0123456789; exit 3"));
      g_autoptr (PrismCommand) command = terminal ("printf 0123456789; exit 4");
      g_autoptr (PrismResult) result = wait_for (process), executed = box_run (box, command);

      assert_exited (result, 3);
      expect (prism_process_get_stdout_stream (process), "0123456789");
      expect_end (prism_process_get_stdout_stream (process));
      assert_exited (executed, 4);
      assert_stdout (executed, "0123456789");
    }
}

/* A second handle on the same process. */
static void
test_attach_live (Box *box)
{
  g_autoptr (PrismProcess) process = start (box, command_shell ("echo up; read word; exit $word"));
  g_autofree char *reference = prism_process_dup_reference (process);
  g_autoptr (PrismProcess) attached = NULL;
  g_autoptr (PrismResult) first = NULL, second = NULL;
  g_autoptr (GError) error = NULL;

  expect (prism_process_get_stdout_stream (process), "up\n");
  attached = prism_sandbox_attach_process (box->sandbox, reference, NULL, &error);
  g_assert_no_error (error);
  put (attached, "5\n");
  first = wait_for (attached);
  assert_exited (first, 5);
  second = wait_for (process);
  assert_exited (second, 5);
}

/* Its timeout ends it and all that it started; one that is in time does not notice. */
static void
test_timeout (Box *box)
{
  g_autoptr (PrismCommand) late = command_shell ("(flock held sleep 1000) & sleep 1000"),
                           in_time = command_shell ("exit 6");
  g_autoptr (PrismProcess) first = NULL, second = NULL;
  g_autoptr (PrismResult) timed_out = NULL, exited = NULL;

  prism_command_set_timeout_ms (late, 300);
  prism_command_set_timeout_ms (in_time, 25000);
  first = start (box, g_object_ref (late));
  second = start (box, g_object_ref (in_time));
  exited = wait_for (second);
  assert_exited (exited, 6);
  g_assert_cmpint (prism_result_get_effective_timeout_ms (exited), ==, 25000);
  timed_out = wait_for (first);
  g_assert_cmpint (prism_result_get_outcome (timed_out), ==, PRISM_OUTCOME_TIMED_OUT);
  g_assert_true (prism_result_get_timed_out (timed_out));
  g_assert_cmpint (prism_result_get_exit_code (timed_out), ==, -1);
  while (!box_is_free (box, "held"))
    ;
}

static void
test_pty_exec (Box *box)
{
  g_autoptr (PrismCommand) command = terminal ("tty >/dev/null && echo yes; exit 3");
  g_autoptr (PrismResult) result = box_run (box, command);
  g_autofree char *text = prism_result_dup_stdout_text (result);

  assert_exited (result, 3);
  g_assert_cmpstr (text, ==, "yes\r\n");
  g_assert_cmpuint (g_bytes_get_size (prism_result_get_stderr (result)), ==, 0);
}

/* Many close their terminal before they exit: they are not hung up for that. */
static void
test_pty_closed (Box *box)
{
  g_autoptr (PrismCommand) command = terminal ("exec <&- >&- 2>&-; sleep 0.3; exit 4");
  g_autoptr (PrismResult) result = box_run (box, command);

  assert_exited (result, 4);
}

void
add_process_tests (Lacks lacks)
{
  box_add ("/process/streams", test_streams);
  box_add ("/process/quick", test_quick);
  box_add ("/process/signal", test_signal);
  box_add ("/process/kill", test_kill);
  box_add ("/process/wait", test_wait);
  box_add ("/process/not-startable", test_not_startable);
  box_add_full ("/process/places", prepare_one, test_places);
  box_add ("/process/apart", test_apart);
  box_add ("/process/close", test_close);
  box_add ("/process/release", test_release);
  box_add ("/process/attach", test_attach);
  box_add ("/process/attach-live", test_attach_live);
  box_add ("/process/timeout", test_timeout);
  if ((lacks & LACKS_PTY) != 0)
    return;
  box_add ("/process/pty", test_pty);
  box_add ("/process/pty-keys", test_pty_keys);
  box_add ("/process/pty-closed", test_pty_closed);
  box_add ("/process/pty-exec", test_pty_exec);
  box_add ("/process/pty-quick", test_pty_quick);
}
