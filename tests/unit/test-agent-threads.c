/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many callers at once: threads that wait for themselves, calls that nobody waits
 * for, cancellations, and callbacks that call back. */
#include "agent-sandbox-fixture.h"

#include <prism-command.h>
#include <prism-result.h>
#include <prism-sandbox-error.h>

#define DEADLINE (40 * G_USEC_PER_SEC)

static guint
scale (guint n)
{
  const char *divisor = g_getenv ("PRISM_TEST_DIVISOR"); /* sanitizers are slow */
  return MAX (n / (divisor != NULL ? (guint)g_ascii_strtoull (divisor, NULL, 10) : 1), 4);
}

static gboolean
is_framed (gconstpointer data)
{
  return GPOINTER_TO_INT (data);
}

static PrismCommand *
echo_command (guint n)
{
  g_autofree char *number = g_strdup_printf ("%u", n);
  return prism_command_new ((const char *const[]){ "/bin/echo", number, NULL });
}

static void
assert_echo (PrismResult *result, guint n)
{
  g_autofree char *expected = g_strdup_printf ("%u\n", n), *text = prism_result_dup_stdout_text (result);
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_EXITED);
  g_assert_cmpstr (text, ==, expected);
}

static void
close_it (PrismSandbox *sandbox)
{
  g_autoptr (GError) error = NULL;
  prism_sandbox_close (sandbox, NULL, &error);
  g_assert_no_error (error);
}

/* --- threads --- */

typedef struct
{
  PrismSandbox *sandbox;
  guint first, n;
} Caller;

static gpointer
call_sync (gpointer data)
{
  const Caller *caller = data;
  for (guint i = 0; i < caller->n; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismCommand) command = echo_command (caller->first + i);
      g_autoptr (PrismResult) result = prism_sandbox_exec (caller->sandbox, command, NULL, &error);
      g_assert_no_error (error);
      assert_echo (result, caller->first + i);
    }
  return NULL;
}

typedef struct
{
  GMainContext *context;
  guint left;
} Batch;

typedef struct
{
  Batch *batch;
  guint n;
} Expected;

static void
called (GObject *source, GAsyncResult *async, gpointer user_data)
{
  g_autofree Expected *expected = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismResult) result = prism_sandbox_exec_finish (PRISM_SANDBOX (source), async, &error);
  g_assert_no_error (error);
  g_assert_true (g_main_context_is_owner (expected->batch->context));
  assert_echo (result, expected->n);
  expected->batch->left--;
}

static gpointer
call_async (gpointer data)
{
  const Caller *caller = data;
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_main_context_push_thread_default (context);
  Batch batch = { context, caller->n };
  for (guint i = 0; i < caller->n; i++)
    {
      Expected *expected = g_new (Expected, 1);
      *expected = (Expected){ &batch, caller->first + i };
      g_autoptr (PrismCommand) command = echo_command (expected->n);
      prism_sandbox_exec_async (caller->sandbox, command, NULL, called, expected);
    }
  while (batch.left > 0)
    g_main_context_iteration (context, TRUE);
  g_main_context_pop_thread_default (context);
  return NULL;
}

static gpointer
call_and_cancel (gpointer data)
{
  const Caller *caller = data;
  for (guint i = 0; i < caller->n; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (PrismCommand) command = prism_command_new_shell ("echo x; exec sleep 60");
      g_signal_connect_swapped (command, "output", G_CALLBACK (g_cancellable_cancel), cancellable);
      g_autoptr (PrismResult) result = prism_sandbox_exec (caller->sandbox, command, cancellable, &error);
      g_assert_no_error (error);
      g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_CANCELLED);
    }
  return NULL;
}

static void
test_threads (gconstpointer framed)
{
  g_test_summary ("Sixteen threads, synchronous and not, with cancellations among them");
  g_autoptr (PrismSandbox) sandbox = bare_sandbox_new (NULL, is_framed (framed));
  GThread *threads[18];
  Caller callers[18];
  for (guint i = 0; i < 18; i++)
    {
      callers[i] = (Caller){ sandbox, 100000 * i, i < 16 ? scale (200) : scale (20) };
      threads[i] = g_thread_new ("caller", i < 12 ? call_sync : i < 16 ? call_async : call_and_cancel, &callers[i]);
    }
  for (guint i = 0; i < 18; i++)
    g_thread_join (threads[i]);
  close_it (sandbox);
}

/* --- many that wait --- */

static guint
count_threads (void)
{
  guint n = 0;
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/task", 0, NULL);
  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
waited (GObject *source, GAsyncResult *async, gpointer user_data)
{
  guint *left = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismResult) result = prism_sandbox_exec_finish (PRISM_SANDBOX (source), async, &error);
  g_assert_true (result != NULL || g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED));
  if (result != NULL)
    g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_CANCELLED);
  (*left)--;
}

static gboolean
late (gpointer user_data)
{
  g_assert_not_reached ();
  return FALSE;
}

static void
iterate_until (guint *left)
{
  g_autoptr (GSource) source = g_timeout_source_new (DEADLINE / 1000);
  g_source_set_callback (source, late, NULL, NULL);
  g_source_attach (source, NULL);
  while (*left > 0)
    g_main_context_iteration (NULL, TRUE);
  g_source_destroy (source);
}

static void
test_many_wait (gconstpointer framed)
{
  g_test_summary ("Five hundred that wait cost one thread; cancelling ends them all");
  g_autoptr (PrismSandbox) sandbox = bare_sandbox_new (NULL, is_framed (framed));
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  guint left = 500, before = count_threads ();
  for (guint i = 0; i < 500; i++)
    {
      g_autoptr (PrismCommand) command = prism_command_new ((const char *const[]){ "sleep", "60", NULL });
      prism_sandbox_exec_async (sandbox, command, cancellable, waited, &left);
    }
  g_autoptr (GError) error = NULL;
  /* The queue is first come, first served; what is no command does not stand in it. */
  g_assert_cmpuint (count_threads (), <=, before + 1);
  g_cancellable_cancel (cancellable);
  iterate_until (&left);
  g_assert_cmpuint (count_threads (), <=, before + 1);
  close_it (sandbox);
}

/* --- the queue --- */

static void
in_turn (GObject *source, GAsyncResult *async, gpointer user_data)
{
  GString *order = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismResult) result = prism_sandbox_exec_finish (PRISM_SANDBOX (source), async, &error);
  g_assert_no_error (error);
  g_autofree char *text = prism_result_dup_stdout_text (result);
  g_string_append_c (order, text[0]);
}

static void
test_queue (gconstpointer framed)
{
  g_test_summary ("One at a time means first come, first served; who waits can be cancelled and timed out");
  g_autoptr (PrismSandboxSpec) spec = bare_spec ("max-concurrent-execs", 1, NULL);
  g_autoptr (PrismSandbox) sandbox = bare_sandbox_new (spec, is_framed (framed));
  g_autoptr (GString) order = g_string_new (NULL);
  for (guint i = 0; i < 8; i++)
    {
      g_autoptr (PrismCommand) command = echo_command (i);
      prism_sandbox_exec_async (sandbox, command, NULL, in_turn, order);
    }
  while (order->len < 8)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpstr (order->str, ==, "01234567");

  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (PrismCommand) holder = prism_command_new_shell ("sleep 60");
  guint left = 1;
  prism_sandbox_exec_async (sandbox, holder, cancellable, waited, &left);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismCommand) second = echo_command (1);
  prism_command_set_timeout_ms (second, 100);
  /* In the queue behind the first, whose place is taken by the time it asks. */
  g_assert_null (prism_sandbox_exec (sandbox, second, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT);
  g_cancellable_cancel (cancellable);
  iterate_until (&left);
  close_it (sandbox);
}

/* --- output of what nobody waits for --- */

typedef struct
{
  GString *text;
  guint handling;
  guint left;
  gboolean slow;
} Listener;

static gboolean
pass_on (gpointer data)
{
  *(gboolean *)data = TRUE;
  return G_SOURCE_REMOVE;
}

static void
listen_to (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer user_data)
{
  Listener *listener = user_data;
  g_assert_cmpuint (listener->handling++, ==, 0);
  g_string_append_len (listener->text, g_bytes_get_data (bytes, NULL), (gssize)g_bytes_get_size (bytes));
  gboolean passed = FALSE;
  g_idle_add (pass_on, &passed);
  /* A handler that runs the loop gets no chunk inside of another. */
  while (listener->slow && !passed)
    g_main_context_iteration (NULL, TRUE);
  if (!listener->slow)
    g_source_remove_by_user_data (&passed);
  listener->handling--;
}

static void
listened (GObject *source, GAsyncResult *async, gpointer user_data)
{
  Listener *listener = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismResult) result = prism_sandbox_exec_finish (PRISM_SANDBOX (source), async, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_EXITED);
  g_assert_cmpuint (prism_result_get_stdout_total (result), ==, listener->text->len);
  listener->left = 0;
}

static void
test_async_output (gconstpointer framed)
{
  g_test_summary ("Output arrives in order and before the answer; a handler is not run inside of another");
  g_autoptr (PrismSandbox) sandbox = bare_sandbox_new (NULL, is_framed (framed));
  for (guint slow = 0; slow < 2; slow++)
    {
      Listener listener = { g_string_new (NULL), 0, 1, slow };
      g_autoptr (PrismCommand) command = prism_command_new_shell ("seq 1 100000");
      g_signal_connect (command, "output", G_CALLBACK (listen_to), &listener);
      prism_sandbox_exec_async (sandbox, command, NULL, listened, &listener);
      iterate_until (&listener.left);
      g_assert_cmpuint (listener.text->len, ==, 588895);
      g_assert_true (g_str_has_prefix (listener.text->str, "1\n2\n3\n"));
      g_assert_true (g_str_has_suffix (listener.text->str, "99999\n100000\n"));
      g_string_free (listener.text, TRUE);
    }
  close_it (sandbox);
}

/* --- calling back --- */

static void
call_back (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer user_data)
{
  PrismSandbox *sandbox = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismCommand) inner = prism_command_new_shell ("echo inner");
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, inner, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, 0);
}

static void
close_back (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer user_data)
{
  close_it (user_data);
}

static void
ended (GObject *source, GAsyncResult *async, gpointer user_data)
{
  PrismResult **result = user_data;
  g_autoptr (GError) error = NULL;
  *result = prism_sandbox_exec_finish (PRISM_SANDBOX (source), async, &error);
  g_assert_no_error (error);
}

static PrismResult *
run_async (PrismSandbox *sandbox, PrismCommand *command)
{
  PrismResult *result = NULL;
  prism_sandbox_exec_async (sandbox, command, NULL, ended, &result);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  return result;
}

static void
test_call_back (gconstpointer framed)
{
  g_test_summary ("A handler may run commands, close the sandbox, drop the last reference");
  g_autoptr (PrismSandbox) sandbox = bare_sandbox_new (NULL, is_framed (framed));
  for (guint async = 0; async < 2; async++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismCommand) command = prism_command_new_shell ("echo one; sleep 0.01; echo two");
      g_signal_connect (command, "output", G_CALLBACK (call_back), sandbox);
      g_autoptr (PrismResult) result =
          async ? run_async (sandbox, command) : prism_sandbox_exec (sandbox, command, NULL, &error);
      g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_EXITED);
    }
  for (guint async = 0; async < 2; async++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismSandbox) closed = bare_sandbox_new (NULL, is_framed (framed));
      g_autoptr (PrismCommand) command = prism_command_new_shell ("echo one; sleep 60");
      g_signal_connect (command, "output", G_CALLBACK (close_back), closed);
      g_autoptr (PrismResult) result =
          async ? run_async (closed, command) : prism_sandbox_exec (closed, command, NULL, &error);
      g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_LOST);
    }
  PrismSandbox *dropped = bare_sandbox_new (NULL, is_framed (framed));
  PrismResult *result = NULL;
  g_autoptr (PrismCommand) last = prism_command_new_shell ("true");
  prism_sandbox_exec_async (dropped, last, NULL, ended, &result);
  g_object_unref (dropped);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_object_unref (result);
  close_it (sandbox);
  gint64 until = g_get_monotonic_time () + DEADLINE;
  while (g_atomic_int_get (&bare_sandboxes) > 1 && g_get_monotonic_time () < until)
    g_main_context_iteration (NULL, FALSE);
  g_assert_cmpint (g_atomic_int_get (&bare_sandboxes), ==, 1);
}

/* --- a slow reader of a flood --- */

static void
dawdle (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer user_data)
{
  guint *chunks = user_data;
  gint64 until = g_get_monotonic_time () + 10 * 1000;
  while (g_get_monotonic_time () < until)
    ;
  (*chunks)++;
}

static void
test_flood (gconstpointer framed)
{
  g_test_summary ("One byte a write, a slow listener: the timeout still fires in time, others are served");
  g_autoptr (PrismSandbox) sandbox = bare_sandbox_new (NULL, is_framed (framed));
  g_autoptr (PrismSandbox) other = bare_sandbox_new (NULL, is_framed (framed));
  guint chunks = 0;
  PrismResult *result = NULL;
  g_autoptr (PrismCommand) command = prism_command_new_shell ("exec dd if=/dev/zero bs=1 2>/dev/null");
  g_signal_connect (command, "output", G_CALLBACK (dawdle), &chunks);
  prism_command_set_timeout_ms (command, 500);
  gint64 start = g_get_monotonic_time ();
  prism_sandbox_exec_async (sandbox, command, NULL, ended, &result);
  while (result == NULL)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismCommand) quick = echo_command (1);
      g_autoptr (PrismResult) echoed = prism_sandbox_exec (other, quick, NULL, &error);
      g_assert_no_error (error);
      assert_echo (echoed, 1);
      g_main_context_iteration (NULL, FALSE);
    }
  g_assert_cmpint (g_get_monotonic_time () - start, <, 20 * G_USEC_PER_SEC); /* in time, on a busy machine */
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_TIMED_OUT);
  g_assert_cmpuint (chunks, <, 200);
  g_object_unref (result);
  close_it (sandbox);
  close_it (other);
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    void (*test) (gconstpointer framed);
  } tests[] = {
    { "threads", test_threads }, { "many-wait", test_many_wait }, { "async-output", test_async_output },
    { "queue", test_queue },     { "call-back", test_call_back }, { "flood", test_flood },
  };
  g_test_init (&argc, &argv, NULL);
  for (int framed = 0; framed < 2; framed++)
    for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
      {
        g_autofree char *path = g_strdup_printf ("/agent/threads/%s/%s", framed ? "framed" : "passed", tests[i].name);
        g_test_add_data_func (path, GINT_TO_POINTER (framed), tests[i].test);
      }
  return g_test_run ();
}
