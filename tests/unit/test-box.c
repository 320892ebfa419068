/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test-box.h"

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

PrismResult *
test_box_make_result (int code)
{
  return g_object_new (PRISM_TYPE_RESULT, "outcome", PRISM_OUTCOME_EXITED, "exit-code", code, NULL);
}

void
test_box_answer (PrismExecOperation *operation, int code)
{
  g_autoptr (PrismResult) result = test_box_make_result (code);

  prism_exec_operation_complete (operation, result);
}

static gboolean
answer_later (gpointer data)
{
  test_box_answer (data, 2);
  return G_SOURCE_REMOVE;
}

static gpointer
answer_in_thread (gpointer data)
{
  g_autoptr (PrismExecOperation) operation = data;

  test_box_answer (operation, 3);
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
  test_box_answer (operation, 5);
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
  test_box_answer (data, 6);
}

static void
test_box_exec (PrismSandbox *sandbox, PrismExecOperation *operation)
{
  TestBox *self = TEST_BOX (sandbox);
  const char *word = prism_command_get_argv (prism_exec_operation_get_command (operation))[0];

  g_mutex_lock (&self->lock);
  self->context = g_main_context_get_thread_default ();
  self->thread = g_thread_self ();
  self->may_block = prism_operation_get_may_block (PRISM_OPERATION (operation));
  g_mutex_unlock (&self->lock);
  if (g_str_equal (word, "now"))
    test_box_answer (operation, 1);
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
      test_box_answer (operation, 1);
      test_box_answer (operation, 2);
    }
  else if (g_str_equal (word, "talk"))
    {
      say (operation, PRISM_STREAM_STDOUT, "a");
      say (operation, PRISM_STREAM_STDERR, "b");
      say (operation, PRISM_STREAM_STDOUT, "c");
      test_box_answer (operation, 4);
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

PrismCommand *
test_box_command (const char *word)
{
  return prism_command_new ((const char *const[]){ word, NULL });
}

int
test_box_run (TestBox *box, const char *word, GCancellable *cancellable, GError **error)
{
  g_autoptr (PrismCommand) command = test_box_command (word);
  g_autoptr (PrismResult) result = prism_sandbox_exec (PRISM_SANDBOX (box), command, cancellable, error);

  return result != NULL ? prism_result_get_exit_code (result) : -1;
}

void
answer_clear (Answer *self)
{
  g_clear_error (&self->error);
}

void
answer_take (GObject *source, GAsyncResult *async, gpointer data)
{
  Answer *self = data;
  g_autoptr (PrismResult) result = prism_sandbox_exec_finish (PRISM_SANDBOX (source), async, &self->error);

  self->code = result != NULL ? prism_result_get_exit_code (result) : -1;
  self->thread = g_thread_self ();
  self->done = TRUE;
}

void
test_box_start (TestBox *box, const char *word, GCancellable *cancellable, Answer *self)
{
  g_autoptr (PrismCommand) command = test_box_command (word);

  prism_sandbox_exec_async (PRISM_SANDBOX (box), command, cancellable, answer_take, self);
}

void
answer_wait (Answer *self)
{
  while (!self->done)
    g_main_context_iteration (NULL, TRUE);
}
