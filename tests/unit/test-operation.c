/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* house: allow long file: one test implementation in all its moods, and the cases that need it. */
/* What stands between a caller and a sandbox: contexts, deadlines, cancelling,
 * answers that come twice, late or never. The sandbox here does what its
 * command's first word says. */
#include <libprism/prism.h>

#include "prism-home-private.h"
#include "prism-operations-private.h"
#include "prism-sandbox-error-private.h"

#define TEST_TYPE_BOX (test_box_get_type ())
G_DECLARE_FINAL_TYPE (TestBox, test_box, TEST, BOX, GObject)

struct _TestBox
{
  GObject parent_instance;
  GMutex lock;
  GCond changed;
  GQueue held;           /* operations that are not answered yet */
  GMainContext *context; /* that the last exec saw as its thread's default */
  GThread *thread;
  gboolean may_block;
  guint closed;
  guint done;
  GThread *answering;
};

enum
{
  PROP_0,
  PROP_ID,
  PROP_BACKEND_NAME,
  PROP_STATUS,
  PROP_WORKSPACE,
  PROP_CAPABILITIES,
  PROP_REFERENCE,
};

static void test_box_sandbox_init (PrismSandboxInterface *iface);
G_DEFINE_FINAL_TYPE_WITH_CODE (TestBox,
                               test_box,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_SANDBOX, test_box_sandbox_init))

static void
test_box_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  switch (id)
    {
    case PROP_BACKEND_NAME:
      g_value_set_static_string (value, "box");
      break;
    case PROP_WORKSPACE:
      g_value_set_static_string (value, "/workspace");
      break;
    case PROP_STATUS:
      g_value_set_enum (value, PRISM_SANDBOX_STATUS_RUNNING);
      break;
    default:
      break;
    }
}

static PrismResult *
make_result (int code)
{
  return g_object_new (PRISM_TYPE_RESULT, "outcome", PRISM_OUTCOME_EXITED, "exit-code", code, NULL);
}

static void
answer (PrismExecOperation *operation, int code)
{
  g_autoptr (PrismResult) result = make_result (code);

  prism_exec_operation_complete (operation, result);
}

static gboolean
answer_later (gpointer data)
{
  answer (data, 2);
  return G_SOURCE_REMOVE;
}

static gpointer
answer_in_thread (gpointer data)
{
  g_autoptr (PrismExecOperation) operation = data;

  answer (operation, 3);
  return NULL;
}

static void
say (PrismExecOperation *operation, PrismStream stream, const char *text)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static (text, strlen (text));

  prism_exec_operation_output (operation, stream, bytes);
}

static void
handled (gpointer data)
{
  TestBox *self = data;

  g_mutex_lock (&self->lock);
  self->done++;
  g_cond_signal (&self->changed);
  g_mutex_unlock (&self->lock);
}

/* One chunk at a time, each only after the one before was handled. */
static gpointer
talk_in_thread (gpointer data)
{
  g_autoptr (PrismExecOperation) operation = data;
  TestBox *self = g_object_get_data (data, "box");

  for (guint i = 0; i < 100; i++)
    {
      g_autofree char *text = g_strdup_printf ("%u ", i);
      g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));

      prism_exec_operation_output_full (operation, PRISM_STREAM_STDOUT, bytes, handled, self);
      g_mutex_lock (&self->lock);
      while (self->done <= i)
        g_cond_wait (&self->changed, &self->lock);
      g_mutex_unlock (&self->lock);
    }
  answer (operation, 5);
  return NULL;
}

static void
in_thread (GThreadFunc func, PrismExecOperation *operation)
{
  g_thread_unref (g_thread_new ("answer", func, g_object_ref (operation)));
}

static void
hold (TestBox *self, gpointer operation)
{
  g_mutex_lock (&self->lock);
  g_queue_push_tail (&self->held, g_object_ref (operation));
  g_cond_signal (&self->changed);
  g_mutex_unlock (&self->lock);
}

static void
cancelled (GCancellable *cancellable, gpointer data)
{
  answer (data, 6);
}

static void
test_box_exec (PrismSandbox *sandbox, PrismExecOperation *operation)
{
  TestBox *self = TEST_BOX (sandbox);
  const char *word = prism_command_get_argv (prism_exec_operation_get_command (operation))[0];

  self->context = g_main_context_get_thread_default ();
  self->thread = g_thread_self ();
  self->may_block = prism_operation_get_may_block (PRISM_OPERATION (operation));
  if (g_str_equal (word, "now"))
    answer (operation, 1);
  else if (g_str_equal (word, "later"))
    {
      g_autoptr (GSource) source = g_idle_source_new ();
      g_source_set_callback (source, answer_later, g_object_ref (operation), g_object_unref);
      g_source_attach (source, g_main_context_get_thread_default ());
    }
  else if (g_str_equal (word, "thread"))
    in_thread (answer_in_thread, operation);
  else if (g_str_equal (word, "twice"))
    {
      answer (operation, 1);
      answer (operation, 2);
    }
  else if (g_str_equal (word, "talk"))
    {
      say (operation, PRISM_STREAM_STDOUT, "a");
      say (operation, PRISM_STREAM_STDERR, "b");
      say (operation, PRISM_STREAM_STDOUT, "c");
      answer (operation, 4);
    }
  else if (g_str_equal (word, "talk-in-thread"))
    {
      g_object_set_data_full (G_OBJECT (operation), "box", g_object_ref (self), g_object_unref);
      in_thread (talk_in_thread, operation);
    }
  else if (g_str_equal (word, "until-cancelled"))
    {
      GCancellable *cancellable = prism_operation_get_cancellable (PRISM_OPERATION (operation));
      hold (self, operation);
      g_cancellable_connect (cancellable, G_CALLBACK (cancelled), g_object_ref (operation), g_object_unref);
    }
  else if (g_str_equal (word, "fail"))
    prism_operation_fail_literal (PRISM_OPERATION (operation), PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE, "no");
  else if (g_str_equal (word, "hold"))
    hold (self, operation);
  /* else: dropped */
}

static void
test_box_stat_file (PrismSandbox *sandbox, PrismFileOperation *operation)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static ("x", 1);

  prism_file_operation_complete_bytes (operation, bytes); /* not what was asked for */
}

static void
test_box_read_file (PrismSandbox *sandbox, PrismFileOperation *operation)
{
  const char *path = prism_file_operation_get_path (operation);
  g_autoptr (GBytes) bytes = g_bytes_new (path, strlen (path));

  prism_file_operation_complete_bytes (operation, bytes);
}

static void
test_box_close (PrismSandbox *sandbox, PrismControlOperation *operation)
{
  TestBox *self = TEST_BOX (sandbox);

  g_mutex_lock (&self->lock);
  self->closed++;
  g_mutex_unlock (&self->lock);
  prism_control_operation_complete (operation);
}

static void
test_box_sandbox_init (PrismSandboxInterface *iface)
{
  iface->exec = test_box_exec;
  iface->stat_file = test_box_stat_file;
  iface->read_file = test_box_read_file;
  iface->close = test_box_close;
}

static void
test_box_finalize (GObject *object)
{
  TestBox *self = TEST_BOX (object);

  g_queue_clear_full (&self->held, g_object_unref);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
  G_OBJECT_CLASS (test_box_parent_class)->finalize (object);
}

static void
test_box_class_init (TestBoxClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = test_box_get_property;
  object_class->finalize = test_box_finalize;
  g_object_class_override_property (object_class, PROP_ID, "id");
  g_object_class_override_property (object_class, PROP_BACKEND_NAME, "backend-name");
  g_object_class_override_property (object_class, PROP_STATUS, "status");
  g_object_class_override_property (object_class, PROP_WORKSPACE, "workspace");
  g_object_class_override_property (object_class, PROP_CAPABILITIES, "capabilities");
  g_object_class_override_property (object_class, PROP_REFERENCE, "reference");
}

static void
test_box_init (TestBox *self)
{
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
}

/* --- helpers ------------------------------------------------------------------- */

static PrismCommand *
command_of (const char *word)
{
  return prism_command_new ((const char *const[]){ word, NULL });
}

static int
run (TestBox *box, const char *word, GCancellable *cancellable, GError **error)
{
  g_autoptr (PrismCommand) command = command_of (word);
  g_autoptr (PrismResult) result = prism_sandbox_exec (PRISM_SANDBOX (box), command, cancellable, error);

  return result != NULL ? prism_result_get_exit_code (result) : -1;
}

typedef struct
{
  GThread *thread;
  int code;
  GError *error;
  gboolean done;
} Answer;

static void
answer_clear (Answer *self)
{
  g_clear_error (&self->error);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Answer, answer_clear)

static void
on_exec (GObject *source, GAsyncResult *async, gpointer data)
{
  Answer *self = data;
  g_autoptr (PrismResult) result = prism_sandbox_exec_finish (PRISM_SANDBOX (source), async, &self->error);

  self->code = result != NULL ? prism_result_get_exit_code (result) : -1;
  self->thread = g_thread_self ();
  self->done = TRUE;
}

static void
start (TestBox *box, const char *word, GCancellable *cancellable, Answer *self)
{
  g_autoptr (PrismCommand) command = command_of (word);

  prism_sandbox_exec_async (PRISM_SANDBOX (box), command, cancellable, on_exec, self);
}

static void
wait_for (Answer *self)
{
  while (!self->done)
    g_main_context_iteration (NULL, TRUE);
}

/* --- tests --------------------------------------------------------------------- */

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

  g_assert_cmpint (run (box, "now", NULL, &error), ==, 1);
  g_assert_no_error (error);
  g_assert_true (box->may_block);
  g_assert_nonnull (box->context);
  g_assert_true (box->thread == g_thread_self ());
  g_assert_null (g_main_context_get_thread_default ());
  g_assert_cmpint (run (box, "later", NULL, &error), ==, 2);
  g_assert_no_error (error);
  g_assert_cmpint (run (box, "thread", NULL, &error), ==, 3);
  g_assert_no_error (error);
  g_source_remove (id);
}

static gpointer
run_now (gpointer box)
{
  g_assert_cmpint (run (box, "now", NULL, NULL), ==, 1);
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
      start (box, words[i], NULL, &answered);
      g_assert_false (answered.done); /* never before it returns */
      g_assert_false (box->may_block);
      wait_for (&answered);
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

  g_assert_cmpint (run (box, "fail", NULL, &error), ==, -1);
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
  g_assert_cmpstr (error->message, ==, "box: no");
  g_assert_cmpstr (prism_error_get_code_name (error), ==, "ERR_PRISM_SANDBOX_STATE");
  g_clear_error (&error);

  g_assert_cmpint (run (box, "drop", NULL, &error), ==, -1);
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "dropped the operation"));

  start (box, "drop", NULL, &answered);
  wait_for (&answered);
  g_assert_error (answered.error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED);
}

static void
test_twice (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (GError) error = NULL;

  g_test_expect_message ("prism", G_LOG_LEVEL_CRITICAL, "*answered a second time*");
  g_assert_cmpint (run (box, "twice", NULL, &error), ==, 1);
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

static void
test_cancelled_before (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;

  g_cancellable_cancel (cancellable);
  g_assert_cmpint (run (box, "now", cancellable, &error), ==, -1);
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
  g_assert_cmpint (run (box, "until-cancelled", cancellable, &error), ==, 6);
  g_assert_no_error (error);
  g_thread_join (thread);
  g_object_set_data (G_OBJECT (cancellable), "box", NULL);

  for (int again = 0; again < 2; again++)
    {
      g_autoptr (GCancellable) other = g_cancellable_new ();
      g_auto (Answer) answered = { 0 };
      start (box, "until-cancelled", other, &answered);
      g_cancellable_cancel (other); /* in this very thread: no deadlock */
      wait_for (&answered);
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
  g_autoptr (PrismCommand) command = command_of (word);

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
  answer (held, 1);
  g_queue_clear_full (&box->held, g_object_unref); /* an operation holds its sandbox */
}

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
  g_autoptr (PrismCommand) command = command_of ("talk");
  g_autoptr (GString) text = g_string_new (NULL);
  Heard heard = { text, g_thread_self () };
  g_autoptr (PrismResult) result = NULL;
  g_auto (Answer) answered = { 0 };

  g_signal_connect (command, "output", G_CALLBACK (on_output), &heard);
  result = prism_sandbox_exec (PRISM_SANDBOX (box), command, NULL, NULL);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, 4);
  g_assert_cmpstr (text->str, ==, "1a2b1c");

  g_string_truncate (text, 0);
  prism_sandbox_exec_async (PRISM_SANDBOX (box), command, NULL, on_exec, &answered);
  g_assert_cmpstr (text->str, ==, ""); /* not while the call is made */
  wait_for (&answered);
  g_assert_cmpstr (text->str, ==, "1a2b1c"); /* all before the answer */
}

/* From a thread: in the caller's, in order, one chunk handled before the next is read. */
static void
test_output_pressure (void)
{
  for (int async = 0; async < 2; async++)
    {
      g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
      g_autoptr (PrismCommand) command = command_of ("talk-in-thread");
      g_autoptr (GString) text = g_string_new (NULL), expected = g_string_new (NULL);
      Heard heard = { text, g_thread_self () };

      for (int i = 0; i < 100; i++)
        g_string_append_printf (expected, "1%d ", i);
      g_signal_connect (command, "output", G_CALLBACK (on_output), &heard);
      if (async)
        {
          g_auto (Answer) answered = { 0 };
          prism_sandbox_exec_async (PRISM_SANDBOX (box), command, NULL, on_exec, &answered);
          wait_for (&answered);
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

  g_assert_cmpint (run (data, "later", NULL, NULL), ==, 2);
  g_assert_true (TEST_BOX (data)->context != before);
  g_assert_true (g_main_context_get_thread_default () == before);
}

static void
test_nested (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (PrismCommand) command = command_of ("talk");
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
    g_assert_cmpint (run (data, words[i % 3], NULL, NULL), ==, i % 3 + 1);
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
    start (box, "hold", NULL, &answers[i]);
  {
    g_autoptr (GDir) dir = g_dir_open ("/proc/self/task", 0, NULL);
    for (after = 0; g_dir_read_name (dir) != NULL; after++)
      ;
  }
  g_assert_cmpuint (after, <=, before);
  while ((operation = g_queue_pop_head (&box->held)) != NULL)
    {
      answer (operation, 9);
      g_object_unref (operation);
    }
  for (int i = 0; i < 500; i++)
    {
      wait_for (&answers[i]);
      g_assert_cmpint (answers[i].code, ==, 9);
    }
}

/* What the wrapper adds to a method that answers at once: printed, and held to a
 * multiple of what making the answer costs, which only a mistake exceeds: no
 * thread, no loop, no wake-up. */
static void
test_cost (void)
{
  g_autoptr (TestBox) box = g_object_new (TEST_TYPE_BOX, NULL);
  g_autoptr (PrismCommand) command = command_of ("now");
  const int n = g_test_perf () ? 200000 : 5000;
  gint64 begin, calls, results;

  begin = g_get_monotonic_time ();
  for (int i = 0; i < n; i++)
    g_object_unref (make_result (1));
  results = g_get_monotonic_time () - begin;
  begin = g_get_monotonic_time ();
  for (int i = 0; i < n; i++)
    g_object_unref (prism_sandbox_exec (PRISM_SANDBOX (box), command, NULL, NULL));
  calls = g_get_monotonic_time () - begin;
  g_test_message ("a synchronous call adds %.2f us to the %.2f us of its result", (double)(calls - results) / n,
                  (double)results / n);
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
  g_test_add_func ("/operation/cancelled-before", test_cancelled_before);
  g_test_add_func ("/operation/cancel", test_cancel);
  g_test_add_func ("/operation/deadline", test_deadline);
  g_test_add_func ("/operation/output", test_output);
  g_test_add_func ("/operation/output-pressure", test_output_pressure);
  g_test_add_func ("/operation/nested", test_nested);
  g_test_add_func ("/operation/threads", test_threads);
  g_test_add_func ("/operation/many", test_many);
  g_test_add_func ("/operation/cost", test_cost);
  return g_test_run ();
}
