/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What ends a command before it ends itself: all of it, and nothing else. */
#include "conformance.h"

/* Takes every way to get out of a process group: a background child, one that
 * ignores SIGTERM, a session of its own, a daemon that forked twice. Each holds a
 * lock as long as it lives; "ready" when all do. */
#define STUBBORN                                                                                                       \
  "hold () { exec 9>$1; flock 9; : >ready.$1; while :; do sleep 1000; done; }\n"                                       \
  "(hold a) &\n"                                                                                                       \
  "(trap '' TERM INT HUP; hold b) &\n"                                                                                 \
  "setsid sh -c 'trap \"\" TERM; exec 9>c; flock 9; : >ready.c; while :; do sleep 1000; done' &\n"                     \
  "(setsid sh -c '(exec 9>d; flock 9; : >ready.d; while :; do sleep 1000; done) & exit' &)\n"                          \
  "until [ -e ready.a -a -e ready.b -a -e ready.c -a -e ready.d ]; do sleep 0.01; done\n"                              \
  "echo ready\n"                                                                                                       \
  "trap '' TERM; while :; do sleep 1000; done"

static void
prepare (Box *box)
{
  g_assert_true (prism_limits_set (box->limits, "stop-grace-ms", 100, NULL));
}

static void
assert_all_gone (Box *box)
{
  static const char *const locks[] = { "a", "b", "c", "d" };

  for (gsize i = 0; i < G_N_ELEMENTS (locks); i++)
    {
      if (!box_is_free (box, locks[i]))
        g_test_message ("who holds %s lives on", locks[i]);
      g_assert_true (box_is_free (box, locks[i]));
    }
}

static void
test_timeout (Box *box)
{
  g_autoptr (PrismCommand) command = command_shell ("echo begun; exec sleep 1000");
  g_autoptr (PrismResult) result = NULL;

  prism_command_set_timeout_ms (command, 1500);
  result = box_run (box, command);
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_TIMED_OUT);
  g_assert_true (prism_result_get_timed_out (result));
  g_assert_false (prism_result_get_cancelled (result));
  g_assert_cmpint (prism_result_get_exit_code (result), ==, -1);
  g_assert_cmpint (prism_result_get_effective_timeout_ms (result), ==, 1500);
  g_assert_cmpint (prism_result_get_duration_us (result), >=, 1500 * 1000);
  assert_stdout (result, "begun\n");
}

/* A command that ends in time is not touched by its timeout. */
static void
test_in_time (Box *box)
{
  g_autoptr (PrismCommand) command = command_shell ("exit 9");
  g_autoptr (PrismResult) result = NULL;

  prism_command_set_timeout_ms (command, 20000);
  result = box_run (box, command);
  assert_exited (result, 9);
}

static void
test_timeout_tree (Box *box)
{
  g_autoptr (PrismCommand) command = command_shell (STUBBORN);
  g_autoptr (PrismResult) result = NULL;

  prism_command_set_timeout_ms (command, 4000);
  result = box_run (box, command);
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_TIMED_OUT);
  assert_stdout (result, "ready\n");
  assert_all_gone (box);
}

static void
cancel_on_output (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer cancellable)
{
  g_cancellable_cancel (cancellable);
}

static void
assert_cancelled (PrismResult *result)
{
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_CANCELLED);
  g_assert_true (prism_result_get_cancelled (result));
  g_assert_false (prism_result_get_timed_out (result));
  g_assert_cmpint (prism_result_get_exit_code (result), ==, -1);
}

/* Cancelled out of its own output handler, in both ways of calling. */
static void
test_cancel_tree (Box *box)
{
  for (int async = 0; async < 2; async++)
    {
      g_autoptr (PrismCommand) command = command_shell ("rm -f ready.*\n" STUBBORN);
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_auto (Answer) answer = { 0 };

      prism_command_set_timeout_ms (command, 60000);
      g_signal_connect (command, "output", G_CALLBACK (cancel_on_output), cancellable);
      if (async)
        {
          prism_sandbox_exec_async (box->sandbox, command, cancellable, on_exec, &answer);
          WAIT_UNTIL (answer.done);
        }
      else
        answer.value = (GObject *)prism_sandbox_exec (box->sandbox, command, cancellable, &answer.error);
      g_assert_no_error (answer.error);
      assert_cancelled (PRISM_RESULT (answer.value));
      assert_stdout (PRISM_RESULT (answer.value), "ready\n");
      assert_all_gone (box);
    }
}

static gpointer
cancel_when_there (gpointer data)
{
  GCancellable *cancellable = data;
  Box *box = g_object_get_data (data, "box");
  gint64 deadline = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;

  while (!box_has (box, "there") && g_get_monotonic_time () < deadline)
    g_thread_yield ();
  g_cancellable_cancel (cancellable);
  return NULL;
}

/* From another thread, while the synchronous caller blocks. */
static void
test_cancel_from_thread (Box *box)
{
  g_autoptr (PrismCommand) command = command_shell ("trap '' TERM; : >there; while :; do sleep 1000; done");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (PrismResult) result = NULL;
  g_autoptr (GError) error = NULL;
  GThread *thread;

  g_object_set_data (G_OBJECT (cancellable), "box", box);
  thread = g_thread_new ("cancel", cancel_when_there, cancellable);
  result = prism_sandbox_exec (box->sandbox, command, cancellable, &error);
  g_thread_join (thread);
  g_assert_no_error (error);
  assert_cancelled (result);
}

static void
test_cancelled_before (Box *box)
{
  g_autoptr (PrismCommand) command = command_shell (": >trace");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  g_auto (Answer) answer = { 0 };

  g_cancellable_cancel (cancellable);
  g_assert_null (prism_sandbox_exec (box->sandbox, command, cancellable, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED);
  prism_sandbox_exec_async (box->sandbox, command, cancellable, on_exec, &answer);
  WAIT_UNTIL (answer.done);
  g_assert_error (answer.error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED);
  g_assert_false (box_has (box, "trace"));
}

/* One command's end is not another's. */
static void
test_only_this (Box *box)
{
  g_autoptr (PrismCommand) bystander = command_shell (": >by; " PASS_GATE "; exit 8");
  g_autoptr (PrismCommand) victim = command_shell ("echo x; while :; do sleep 1000; done");
  g_autoptr (PrismCommand) late = command_shell ("while :; do sleep 1000; done");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_auto (Answer) first = { 0 };
  g_auto (Answer) second = { 0 };
  g_auto (Answer) third = { 0 };

  gate_close (box);
  prism_command_set_timeout_ms (late, 200);
  g_signal_connect (victim, "output", G_CALLBACK (cancel_on_output), cancellable);
  prism_sandbox_exec_async (box->sandbox, bystander, NULL, on_exec, &first);
  prism_sandbox_exec_async (box->sandbox, victim, cancellable, on_exec, &second);
  prism_sandbox_exec_async (box->sandbox, late, NULL, on_exec, &third);
  WAIT_UNTIL (second.done && third.done && box_has (box, "by"));
  assert_cancelled (PRISM_RESULT (second.value));
  g_assert_true (prism_result_get_timed_out (PRISM_RESULT (third.value)));
  g_assert_false (first.done);
  gate_open (box);
  WAIT_UNTIL (first.done);
  assert_exited (PRISM_RESULT (first.value), 8);
}

void
add_ending_tests (void)
{
  box_add_full ("/ending/timeout", prepare, test_timeout);
  box_add_full ("/ending/in-time", prepare, test_in_time);
  box_add_full ("/ending/timeout-tree", prepare, test_timeout_tree);
  box_add_full ("/ending/cancel-tree", prepare, test_cancel_tree);
  box_add_full ("/ending/cancel-from-thread", prepare, test_cancel_from_thread);
  box_add_full ("/ending/cancelled-before", prepare, test_cancelled_before);
  box_add_full ("/ending/only-this", prepare, test_only_this);
}
