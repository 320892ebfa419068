/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-fake-run.h"

#include <sys/ioctl.h>
#include <termios.h>

enum
{
  PROP_0,
  PROP_REFERENCE,
  PROP_STDIN_STREAM,
  PROP_STDOUT_STREAM,
  PROP_STDERR_STREAM,
};

static void process_init (PrismProcessInterface *iface);
G_DEFINE_FINAL_TYPE_WITH_CODE (PrismFakeProcess,
                               prism_fake_process,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_PROCESS, process_init))

/* NULL once released, and then the operation is answered. */
static FakeRun *
run_of (gpointer process, gpointer operation)
{
  PrismFakeProcess *self = process;
  FakeRun *run;

  g_mutex_lock (&self->lock);
  run = self->run != NULL ? fake_run_ref (self->run) : NULL;
  g_mutex_unlock (&self->lock);
  if (run == NULL)
    prism_operation_fail_literal (operation, PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_STATE,
                                  "fake: the process was released");
  return run;
}

typedef struct
{
  FakeRun *run;
  PrismOperation *operation;
  void (*work) (FakeRun *run, gpointer operation);
} Errand;

static void
errand_free (gpointer data)
{
  Errand *errand = data;

  fake_run_unref (errand->run);
  g_object_unref (errand->operation);
  g_free (errand);
}

static gboolean
errand_do (gpointer data)
{
  Errand *errand = data;

  errand->work (errand->run, errand->operation);
  return G_SOURCE_REMOVE;
}

static void
send_errand (gpointer process, gpointer operation, void (*work) (FakeRun *run, gpointer operation))
{
  FakeRun *run = run_of (process, operation);
  Errand *errand;

  if (run == NULL)
    return;
  errand = g_new (Errand, 1);
  *errand = (Errand){ run, g_object_ref (operation), work };
  g_main_context_invoke_full (run->sandbox->context, G_PRIORITY_DEFAULT, errand_do, errand, errand_free);
}

static void
do_signal (FakeRun *run, gpointer operation)
{
  const char order[2] = { 's', (char)prism_control_operation_get_signal (operation) };

  if (run->exited)
    {
      prism_operation_fail_literal (operation, PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_STATE,
                                    "fake: the process has ended");
      return;
    }
  fake_run_order (run, order, 2);
  prism_control_operation_complete (operation);
}

static void
do_kill (FakeRun *run, gpointer operation)
{
  fake_run_end (run, PRISM_OUTCOME_SIGNALLED, NULL, FALSE);
  prism_control_operation_complete (operation);
}

static void
do_wait (FakeRun *run, gpointer operation)
{
  g_queue_push_tail (&run->waits, g_object_ref (operation));
  if (run->exited)
    {
      g_autoptr (PrismResult) result = fake_run_result (run);
      g_queue_remove (&run->waits, operation);
      prism_wait_operation_complete (operation, result);
      g_object_unref (operation);
    }
}

static void
do_resize (FakeRun *run, gpointer operation)
{
  struct winsize size = { .ws_col = (unsigned short)prism_control_operation_get_columns (operation),
                          .ws_row = (unsigned short)prism_control_operation_get_rows (operation) };

  if (run->terminal < 0 || run->exited)
    {
      prism_operation_fail_literal (operation, PRISM_PROCESS_ERROR,
                                    run->exited ? PRISM_PROCESS_ERROR_STATE : PRISM_PROCESS_ERROR_UNSUPPORTED,
                                    run->exited ? "fake: the process has ended" : "fake: it has no terminal");
      return;
    }
  ioctl (run->terminal, TIOCSWINSZ, &size);
  prism_control_operation_complete (operation);
}

static void
process_resize (PrismProcess *process, PrismControlOperation *operation)
{
  send_errand (process, operation, do_resize);
}

static void
process_send_signal (PrismProcess *process, PrismControlOperation *operation)
{
  send_errand (process, operation, do_signal);
}

static void
process_kill (PrismProcess *process, PrismControlOperation *operation)
{
  send_errand (process, operation, do_kill);
}

static void
process_wait (PrismProcess *process, PrismWaitOperation *operation)
{
  send_errand (process, operation, do_wait);
}

static void
process_release (PrismProcess *process, PrismControlOperation *operation)
{
  PrismFakeProcess *self = PRISM_FAKE_PROCESS (process);
  g_autoptr (FakeRun) run = run_of (process, operation);

  if (run == NULL)
    return;
  g_mutex_lock (&self->lock);
  g_clear_pointer (&self->run, fake_run_unref);
  g_mutex_unlock (&self->lock);
  prism_control_operation_complete (operation);
}

static void
process_init (PrismProcessInterface *iface)
{
  iface->send_signal = process_send_signal;
  iface->kill = process_kill;
  iface->resize = process_resize;
  iface->wait = process_wait;
  iface->release = process_release;
}

static void
prism_fake_process_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismFakeProcess *self = PRISM_FAKE_PROCESS (object);

  switch (id)
    {
    case PROP_REFERENCE:
      g_value_take_string (value, g_strdup (self->reference));
      break;
    case PROP_STDIN_STREAM:
      g_value_set_object (value, self->in);
      break;
    case PROP_STDOUT_STREAM:
      g_value_set_object (value, self->out);
      break;
    case PROP_STDERR_STREAM:
      g_value_set_object (value, self->err);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_fake_process_finalize (GObject *object)
{
  PrismFakeProcess *self = PRISM_FAKE_PROCESS (object);

  g_clear_pointer (&self->run, fake_run_unref);
  g_clear_object (&self->in);
  g_clear_object (&self->out);
  g_clear_object (&self->err);
  g_free (self->reference);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (prism_fake_process_parent_class)->finalize (object);
}

static void
prism_fake_process_class_init (PrismFakeProcessClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = prism_fake_process_get_property;
  object_class->finalize = prism_fake_process_finalize;
  g_object_class_override_property (object_class, PROP_REFERENCE, "reference");
  g_object_class_override_property (object_class, PROP_STDIN_STREAM, "stdin-stream");
  g_object_class_override_property (object_class, PROP_STDOUT_STREAM, "stdout-stream");
  g_object_class_override_property (object_class, PROP_STDERR_STREAM, "stderr-stream");
}

static void
prism_fake_process_init (PrismFakeProcess *self)
{
  g_mutex_init (&self->lock);
}

PrismFakeProcess *
fake_process_new (FakeRun *run)
{
  PrismFakeProcess *self = g_object_new (PRISM_TYPE_FAKE_PROCESS, NULL);

  self->run = fake_run_ref (run);
  self->reference = fake_run_dup_reference (run);
  if (run->terminal >= 0)
    {
      self->in = fake_run_open_keys (run);
      self->out = fake_run_open_screen (run);
      return self;
    }
  self->in = g_object_ref (g_subprocess_get_stdin_pipe (run->reaper));
  self->out = g_object_ref (g_subprocess_get_stdout_pipe (run->reaper));
  self->err = g_object_ref (g_subprocess_get_stderr_pipe (run->reaper));
  return self;
}
