/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations that are cancelled, or never answered. */
#include "prism-operations-private.h"
#include "prism-sandbox-error-private.h"
#include "test-box.h"

static void
test_cancelled_before (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;

  g_cancellable_cancel (cancellable);
  g_assert_cmpint (test_box_run (box, "now", cancellable, &error), ==, -1);
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED);
  g_assert_null (box->thread); /* nothing ran */
  g_clear_error (&error);
  /* Cleaning up is not optional. */
  g_assert_true (prism_sandbox_close (PRISM_SANDBOX (box), cancellable, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (box->closed, ==, 1);
}

static gpointer
cancel_when_held (gpointer data)
{
  TestBox *box = g_object_get_data (data, "box");

  g_mutex_lock (&box->lock);
  while (g_queue_is_empty (&box->held))
    g_cond_wait (&box->changed, &box->lock);
  g_mutex_unlock (&box->lock);
  g_cancellable_cancel (data);
  return NULL;
}

/* The operation's cancellable ends the work, and its answer is what the caller hears. */
static void
test_cancel (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  GThread *thread;

  g_object_set_data_full (G_OBJECT (cancellable), "box", g_object_ref (box), g_object_unref);
  thread = g_thread_new ("cancel", cancel_when_held, cancellable);
  g_assert_cmpint (test_box_run (box, "until-cancelled", cancellable, &error), ==, 6);
  g_assert_no_error (error);
  g_thread_join (thread);
  g_object_set_data (G_OBJECT (cancellable), "box", NULL);

  for (int again = 0; again < 2; again++)
    {
      g_autoptr (GCancellable) other = g_cancellable_new ();
      g_auto (Answer) answered = { 0 };
      test_box_start (box, "until-cancelled", other, &answered);
      g_cancellable_cancel (other); /* in this very thread: no deadlock */
      answer_wait (&answered);
      g_assert_cmpint (answered.code, ==, 6);
    }
}

static const PrismMethod short_method = {
  .name = "exec",
  .iface = prism_sandbox_get_type,
  .vfunc = G_STRUCT_OFFSET (PrismSandboxInterface, exec),
  .errors = &prism_sandbox_operation_errors,
};

static PrismOperation *
make_exec (const char *word)
{
  g_autoptr (PrismCommand) command = test_box_command (word);

  return prism_exec_operation_new (command);
}

/* No answer: TIMEOUT, the operation's cancellable fires, a late answer is dropped in peace. */
static void
test_deadline (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (GError) error = NULL;
  PrismExecOperation *held;

  g_assert_null (prism_operation_run (make_exec ("hold"), box, &short_method, 20, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT);
  held = g_queue_peek_head (&box->held);
  g_assert_true (prism_operation_get_completed (PRISM_OPERATION (held)));
  g_assert_true (g_cancellable_is_cancelled (prism_operation_get_cancellable (PRISM_OPERATION (held))));
  test_box_answer (held, 1);
  g_queue_clear_full (&box->held, g_object_unref); /* an operation holds its sandbox */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/operation/cancelled-before", test_cancelled_before);
  g_test_add_func ("/operation/cancel", test_cancel);
  g_test_add_func ("/operation/deadline", test_deadline);
  return g_test_run ();
}
