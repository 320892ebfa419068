/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What stands between a caller and a sandbox: whose context and thread it runs in, what
 * it answers, and what of an answer reaches the caller. */
#include "prism-home-private.h"
#include "test-box.h"

#include <time.h>

static gboolean
must_not_run (gpointer data)
{
  g_assert_not_reached ();
  return G_SOURCE_REMOVE;
}

/* However the answer comes, the caller's own context is never iterated. */
static void
test_sync (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (GError) error = NULL;
  guint id = g_idle_add (must_not_run, NULL);

  g_assert_cmpint (test_box_run (box, "now", NULL, &error), ==, 1);
  g_assert_no_error (error);
  g_assert_true (box->may_block);
  g_assert_nonnull (box->context);
  g_assert_true (box->thread == g_thread_self ());
  g_assert_null (g_main_context_get_thread_default ());
  g_assert_cmpint (test_box_run (box, "later", NULL, &error), ==, 2);
  g_assert_no_error (error);
  g_assert_cmpint (test_box_run (box, "thread", NULL, &error), ==, 3);
  g_assert_no_error (error);
  g_source_remove (id);
}

static gpointer
run_now (gpointer box)
{
  g_assert_cmpint (test_box_run (box, "now", NULL, NULL), ==, 1);
  g_assert_true (TEST_BOX (box)->thread == g_thread_self ());
  g_assert_true (TEST_BOX (box)->may_block);
  return NULL;
}

/* What is compiled is called in any thread: the other than it was made in, here. */
static void
test_any_thread (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);

  g_assert_null (prism_home_of (box));
  g_thread_join (g_thread_new ("now", run_now, box));
}

static void
test_async (void)
{
  static const char *const words[] = { "now", "later", "thread" };
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);

  for (int i = 0; i < 3; i++)
    {
      g_auto (Answer) answered = { 0 };
      test_box_start (box, words[i], NULL, &answered);
      g_assert_false (answered.done); /* never before it returns */
      g_assert_false (box->may_block);
      answer_wait (&answered);
      g_assert_no_error (answered.error);
      g_assert_cmpint (answered.code, ==, i + 1);
      g_assert_true (answered.thread == g_thread_self ());
    }
}

static void
test_fails (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (GError) error = NULL;
  g_auto (Answer) answered = { 0 };

  g_assert_cmpint (test_box_run (box, "fail", NULL, &error), ==, -1);
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
  g_assert_cmpstr (error->message, ==, "box: no");
  g_assert_cmpstr (prism_error_get_code_name (error), ==, "ERR_PRISM_SANDBOX_STATE");
  g_clear_error (&error);

  g_assert_cmpint (test_box_run (box, "drop", NULL, &error), ==, -1);
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "dropped the operation"));

  test_box_start (box, "drop", NULL, &answered);
  answer_wait (&answered);
  g_assert_error (answered.error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED);
}

static void
test_twice (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (GError) error = NULL;

  g_test_expect_message ("prism", G_LOG_LEVEL_CRITICAL, "*answered a second time*");
  g_assert_cmpint (test_box_run (box, "twice", NULL, &error), ==, 1);
  g_test_assert_expected_messages ();
  g_assert_no_error (error);
}

static void
test_missing (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_false (prism_sandbox_pause (PRISM_SANDBOX (box), NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_SUPPORTED);
  g_assert_cmpstr (error->message, ==, "box: this backend does not have pause");
}

/* An answer of another type than was asked for never reaches the caller. */
static void
test_wrong_kind (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_null (prism_sandbox_stat_file (PRISM_SANDBOX (box), "f", NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED);
}

static void
test_paths (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) relative = prism_sandbox_read_file (PRISM_SANDBOX (box), "a/b", 0, -1, NULL, &error);
  g_autoptr (GBytes) absolute = prism_sandbox_read_file (PRISM_SANDBOX (box), "/a/b", 0, -1, NULL, &error);
  g_autoptr (GBytes) cleaned = prism_sandbox_read_file (PRISM_SANDBOX (box), "./a//./b/../c/.", 0, -1, NULL, &error);
  g_autofree char *longest = g_strnfill (5000, 'x');

  g_assert_no_error (error);
  g_assert_cmpmem (g_bytes_get_data (relative, NULL), g_bytes_get_size (relative), "/workspace/a/b", 14);
  g_assert_cmpmem (g_bytes_get_data (absolute, NULL), g_bytes_get_size (absolute), "/a/b", 4);
  g_assert_cmpmem (g_bytes_get_data (cleaned, NULL), g_bytes_get_size (cleaned), "/workspace/a/b/../c", 19);
  g_assert_null (prism_sandbox_read_file (PRISM_SANDBOX (box), "", 0, -1, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
  g_clear_error (&error);
  g_assert_null (prism_sandbox_read_file (PRISM_SANDBOX (box), longest, 0, -1, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
  g_clear_error (&error);
  g_assert_null (prism_sandbox_read_file (PRISM_SANDBOX (box), "x", -1, -1, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
}

static gint64
cpu_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * G_GINT64_CONSTANT (1000000000) + now.tv_nsec;
}

/* What the wrapper adds to a method that answers at once: printed, and held to a
 * multiple of what making the answer costs in CPU time, which only a mistake exceeds: no thread,
 * no loop, no wake-up. */
static void
test_cost (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (PrismCommand) command = test_box_command ("now");
  const int n = g_test_perf () ? 200000 : 5000;
  gint64 begin, calls, results;

  begin = cpu_ns ();
  for (int i = 0; i < n; i++)
    g_object_unref (test_box_make_result (1));
  results = cpu_ns () - begin;
  begin = cpu_ns ();
  for (int i = 0; i < n; i++)
    g_object_unref (prism_sandbox_exec (PRISM_SANDBOX (box), command, NULL, NULL));
  calls = cpu_ns () - begin;
  g_test_message ("a synchronous call adds %.2f us to the %.2f us of its result", (double)(calls - results) / 1e3 / n,
                  (double)results / 1e3 / n);
  g_assert_cmpint (calls, <, 20 * (results + 1));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/operation/sync", test_sync);
  g_test_add_func ("/operation/any-thread", test_any_thread);
  g_test_add_func ("/operation/async", test_async);
  g_test_add_func ("/operation/fails", test_fails);
  g_test_add_func ("/operation/twice", test_twice);
  g_test_add_func ("/operation/missing", test_missing);
  g_test_add_func ("/operation/wrong-kind", test_wrong_kind);
  g_test_add_func ("/operation/paths", test_paths);
  g_test_add_func ("/operation/cost", test_cost);
  return g_test_run ();
}
