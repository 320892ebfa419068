/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who runs when: output while a call is under way, calls from handlers, many threads,
 * many commands in one. */
#include "test-box.h"

typedef struct
{
  GString *text;
  GThread *thread;
} Heard;

static void
on_output (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer data)
{
  Heard *heard = data;
  gsize size;
  const char *text = g_bytes_get_data (bytes, &size);

  g_assert_true (heard->thread == g_thread_self ());
  g_string_append_printf (heard->text, "%d%.*s", stream, (int)size, text);
}

static void
test_output (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (PrismCommand) command = test_box_command ("talk");
  g_autoptr (GString) text = g_string_new (NULL);
  Heard heard = { text, g_thread_self () };
  g_autoptr (PrismResult) result = NULL;
  g_auto (Answer) answered = { 0 };

  g_signal_connect (command, "output", G_CALLBACK (on_output), &heard);
  result = prism_sandbox_exec (PRISM_SANDBOX (box), command, NULL, NULL);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, 4);
  g_assert_cmpstr (text->str, ==, "1a2b1c");

  g_string_truncate (text, 0);
  prism_sandbox_exec_async (PRISM_SANDBOX (box), command, NULL, answer_take, &answered);
  g_assert_cmpstr (text->str, ==, ""); /* not while the call is made */
  answer_wait (&answered);
  g_assert_cmpstr (text->str, ==, "1a2b1c"); /* all before the answer */
}

/* From a thread: in the caller's, in order, one chunk handled before the next is read. */
static void
test_output_pressure (void)
{
  for (int async = 0; async < 2; async++)
    {
      g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
      g_autoptr (PrismCommand) command = test_box_command ("talk-in-thread");
      g_autoptr (GString) text = g_string_new (NULL), expected = g_string_new (NULL);
      Heard heard = { text, g_thread_self () };

      for (int i = 0; i < 100; i++)
        g_string_append_printf (expected, "1%d ", i);
      g_signal_connect (command, "output", G_CALLBACK (on_output), &heard);
      if (async)
        {
          g_auto (Answer) answered = { 0 };
          prism_sandbox_exec_async (PRISM_SANDBOX (box), command, NULL, answer_take, &answered);
          answer_wait (&answered);
          g_assert_cmpint (answered.code, ==, 5);
        }
      else
        {
          g_autoptr (PrismResult) result = prism_sandbox_exec (PRISM_SANDBOX (box), command, NULL, NULL);
          g_assert_cmpint (prism_result_get_exit_code (result), ==, 5);
        }
      g_assert_cmpstr (text->str, ==, expected->str);
    }
}

/* A handler that calls synchronously finds a context of its own. */
static void
on_output_nested (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer data)
{
  GMainContext *before = g_main_context_get_thread_default ();

  g_assert_cmpint (test_box_run (data, "later", NULL, NULL), ==, 2);
  g_assert_true (TEST_BOX (data)->context != before);
  g_assert_true (g_main_context_get_thread_default () == before);
}

static void
test_nested (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (PrismCommand) command = test_box_command ("talk");
  g_autoptr (PrismResult) result = NULL;

  g_signal_connect (command, "output", G_CALLBACK (on_output_nested), box);
  result = prism_sandbox_exec (PRISM_SANDBOX (box), command, NULL, NULL);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, 4);
}

static gpointer
hammer (gpointer data)
{
  static const char *const words[] = { "now", "later", "thread" };

  for (int i = 0; i < 300; i++)
    g_assert_cmpint (test_box_run (data, words[i % 3], NULL, NULL), ==, i % 3 + 1);
  return NULL;
}

static void
test_threads (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  GThread *threads[4];

  for (int i = 0; i < 4; i++)
    threads[i] = g_thread_new ("hammer", hammer, box);
  for (int i = 0; i < 4; i++)
    g_thread_join (threads[i]);
}

/* A process that waits for many commands waits in one thread. */
static void
test_many (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autofree Answer *answers = g_new0 (Answer, 500);
  PrismExecOperation *operation;
  guint before, after;

  {
    g_autoptr (GDir) dir = g_dir_open ("/proc/self/task", 0, NULL);
    for (before = 0; g_dir_read_name (dir) != NULL; before++)
      ;
  }
  for (int i = 0; i < 500; i++)
    test_box_start (box, "hold", NULL, &answers[i]);
  {
    g_autoptr (GDir) dir = g_dir_open ("/proc/self/task", 0, NULL);
    for (after = 0; g_dir_read_name (dir) != NULL; after++)
      ;
  }
  g_assert_cmpuint (after, <=, before);
  while ((operation = g_queue_pop_head (&box->held)) != NULL)
    {
      test_box_answer (operation, 9);
      g_object_unref (operation);
    }
  for (int i = 0; i < 500; i++)
    {
      answer_wait (&answers[i]);
      g_assert_cmpint (answers[i].code, ==, 9);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/operation/output", test_output);
  g_test_add_func ("/operation/output-pressure", test_output_pressure);
  g_test_add_func ("/operation/nested", test_nested);
  g_test_add_func ("/operation/threads", test_threads);
  g_test_add_func ("/operation/many", test_many);
  return g_test_run ();
}
