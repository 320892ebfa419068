/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many at once: turns, counts, threads, and whose context does what. */
#include "conformance.h"

static void
prepare_two (Box *box)
{
  g_assert_true (prism_limits_set (box->limits, "max-concurrent-execs", 2, NULL));
}

static gboolean
log_is_longer (Box *box, gsize least)
{
  g_autofree char *log = NULL;
  gsize size = 0;

  return (log = box_get (box, "log", &size)) != NULL && size > least;
}

/* Never more than two at once, and in the order they were asked for. */
static void
test_first_come (Box *box)
{
  Answer answers[8] = { 0 };
  g_autofree char *log = NULL;
  g_auto (GStrv) lines = NULL;
  guint at_once = 0, most = 0, started = 0;
  gsize size;

  gate_close (box);
  for (int i = 0; i < 8; i++)
    {
      g_autofree char *line = g_strdup_printf ("echo s%d >>log; " PASS_GATE "; echo e >>log", i);
      g_autoptr (PrismCommand) command = command_shell (line);
      prism_sandbox_exec_async (box->sandbox, command, NULL, on_exec, &answers[i]);
    }
  WAIT_UNTIL (log_is_longer (box, 5));
  gate_open (box);
  for (int i = 0; i < 8; i++)
    {
      WAIT_UNTIL (answers[i].done);
      g_assert_no_error (answers[i].error);
      assert_exited (PRISM_RESULT (answers[i].value), 0);
      answer_clear (&answers[i]);
    }
  log = box_get (box, "log", &size);
  g_assert_nonnull (log);
  lines = g_strsplit (log, "\n", -1);
  for (int i = 0; lines[i] != NULL && lines[i][0] != '\0'; i++)
    if (lines[i][0] == 's')
      {
        int number = lines[i][1] - '0';
        /* Nobody gets ahead of more than the one that runs beside it; that one may be slow to say so. */
        g_assert_cmpint (number - (int)started, <=, 1);
        started++;
        at_once++;
        most = MAX (most, at_once);
      }
    else
      at_once--;
  g_assert_cmpuint (started, ==, 8);
  g_assert_cmpuint (most, <=, 2);
}

static void
prepare_one (Box *box)
{
  g_assert_true (prism_limits_set (box->limits, "max-concurrent-execs", 1, NULL));
}

/* Cancelled while it waits: it never ran, and its place goes to the next. */
static void
test_cancel_in_line (Box *box)
{
  g_autoptr (PrismCommand) first = command_shell (": >first; " PASS_GATE), second = command_shell (": >second"),
                           third = command_shell (": >third");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Answer answers[3] = { 0 };

  gate_close (box);
  prism_sandbox_exec_async (box->sandbox, first, NULL, on_exec, &answers[0]);
  prism_sandbox_exec_async (box->sandbox, second, cancellable, on_exec, &answers[1]);
  prism_sandbox_exec_async (box->sandbox, third, NULL, on_exec, &answers[2]);
  WAIT_UNTIL (box_has (box, "first"));
  g_cancellable_cancel (cancellable);
  WAIT_UNTIL (answers[1].done);
  g_assert_error (answers[1].error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED);
  g_assert_false (answers[0].done || answers[2].done);
  gate_open (box);
  WAIT_UNTIL (answers[0].done && answers[2].done);
  assert_exited (PRISM_RESULT (answers[0].value), 0);
  assert_exited (PRISM_RESULT (answers[2].value), 0);
  g_assert_false (box_has (box, "second"));
  for (int i = 0; i < 3; i++)
    answer_clear (&answers[i]);
}

static void
prepare_three (Box *box)
{
  g_assert_true (prism_limits_set (box->limits, "max-commands", 3, NULL));
}

/* Files are no commands. */
static void
test_max_commands (Box *box)
{
  for (int i = 0; i < 3; i++)
    {
      g_autoptr (PrismResult) result = box_sh (box, "true");
      g_autoptr (GListModel) files = prism_sandbox_list_files (box->sandbox, ".", 0, NULL, NULL);
      assert_exited (result, 0);
      g_assert_nonnull (files);
    }
  assert_refused (box, command_shell ("true"), PRISM_SANDBOX_ERROR_LIMIT);
}

static guint
count_threads (void)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/task", 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
prepare_many (Box *box)
{
  g_assert_true (prism_limits_set (box->limits, "max-concurrent-execs", 40, NULL));
}

/* Waiting costs no thread: at most one per channel. */
static void
test_many_waiting (Box *box)
{
  g_autofree Answer *answers = g_new0 (Answer, 500);
  g_autoptr (PrismCommand) command = command_shell (PASS_GATE "; echo done");
  g_auto (Answer) warm = { 0 };
  guint before;

  /* The first asynchronous call may start the channel's thread, and GLib its own. */
  prism_sandbox_exec_async (box->sandbox, command, NULL, on_exec, &warm);
  WAIT_UNTIL (warm.done);
  before = count_threads ();
  gate_close (box);
  for (int i = 0; i < 500; i++)
    prism_sandbox_exec_async (box->sandbox, command, NULL, on_exec, &answers[i]);
  for (int i = 0; i < 20; i++)
    g_main_context_iteration (NULL, FALSE);
  g_assert_cmpuint (count_threads (), <=, before + 1);
  gate_open (box);
  for (int i = 0; i < 500; i++)
    {
      WAIT_UNTIL (answers[i].done);
      g_assert_no_error (answers[i].error);
      assert_exited (PRISM_RESULT (answers[i].value), 0);
      assert_stdout (PRISM_RESULT (answers[i].value), "done\n");
      answer_clear (&answers[i]);
    }
}

typedef struct
{
  Box *box;
  int number;
} Worker;

static gpointer
work (gpointer data)
{
  const Worker *self = data;

  for (int i = 0; i < 50; i++)
    {
      g_autofree char *text = g_strdup_printf ("%d.%d", self->number, i);
      g_autofree char *line = g_strdup_printf ("printf %s; exit %d", text, i);
      g_autofree char *name = g_strdup_printf ("file-%d", self->number);
      g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));
      g_autoptr (PrismResult) result = box_sh (self->box, line);
      g_autoptr (GBytes) back = NULL;
      g_autoptr (GError) error = NULL;

      assert_exited (result, i);
      assert_stdout (result, text);
      prism_sandbox_write_file (self->box->sandbox, name, bytes, 0, 0, NULL, &error);
      g_assert_no_error (error);
      back = prism_sandbox_read_file (self->box->sandbox, name, 0, -1, NULL, &error);
      g_assert_no_error (error);
      g_assert_true (g_bytes_equal (bytes, back));
    }
  return NULL;
}

/* Synchronous callers of several threads, and asynchronous ones beside them. */
static void
test_threads (Box *box)
{
  Worker workers[6];
  GThread *threads[6];
  Answer answers[20] = { 0 };
  g_autoptr (PrismCommand) command = command_shell ("echo async");

  for (int i = 0; i < 6; i++)
    {
      workers[i] = (Worker){ box, i };
      threads[i] = g_thread_new ("work", work, &workers[i]);
    }
  for (int i = 0; i < 20; i++)
    prism_sandbox_exec_async (box->sandbox, command, NULL, on_exec, &answers[i]);
  for (int i = 0; i < 20; i++)
    {
      WAIT_UNTIL (answers[i].done);
      g_assert_no_error (answers[i].error);
      assert_stdout (PRISM_RESULT (answers[i].value), "async\n");
      answer_clear (&answers[i]);
    }
  for (int i = 0; i < 6; i++)
    g_thread_join (threads[i]);
}

static gboolean
count_up (gpointer data)
{
  (*(guint *)data)++;
  return G_SOURCE_CONTINUE;
}

/* An asynchronous call leaves the loop to others; a synchronous one never runs it. */
static void
test_contexts (Box *box)
{
  g_autoptr (PrismCommand) command = command_shell (PASS_GATE);
  g_auto (Answer) answer = { 0 };
  guint turns = 0, id = g_idle_add (count_up, &turns);
  g_autoptr (PrismResult) result = NULL;

  gate_close (box);
  prism_sandbox_exec_async (box->sandbox, command, NULL, on_exec, &answer);
  g_assert_false (answer.done);
  g_assert_cmpuint (turns, ==, 0);
  WAIT_UNTIL (turns > 1000);
  g_assert_false (answer.done);
  gate_open (box);
  WAIT_UNTIL (answer.done);
  assert_exited (PRISM_RESULT (answer.value), 0);

  turns = 0;
  result = box_sh (box, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
  assert_exited (result, 0);
  g_assert_cmpuint (turns, ==, 0);
  g_source_remove (id);
}

typedef struct
{
  Box *box;
  GThread *thread;
  gboolean good;
} Elsewhere;

static void
on_elsewhere (GObject *source, GAsyncResult *result, gpointer data)
{
  Elsewhere *self = data;
  g_autoptr (PrismResult) answer = prism_sandbox_exec_finish (PRISM_SANDBOX (source), result, NULL);

  self->good = answer != NULL && g_thread_self () == self->thread;
}

static gpointer
run_elsewhere (gpointer data)
{
  Elsewhere *self = data;
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (PrismCommand) command = command_shell ("true");

  self->thread = g_thread_self ();
  g_main_context_push_thread_default (context);
  prism_sandbox_exec_async (self->box->sandbox, command, NULL, on_elsewhere, self);
  while (!self->good)
    g_main_context_iteration (context, TRUE);
  g_main_context_pop_thread_default (context);
  return NULL;
}

/* The answer comes where the call was made. */
static void
test_elsewhere (Box *box)
{
  Elsewhere self = { box, NULL, FALSE };

  g_thread_join (g_thread_new ("elsewhere", run_elsewhere, &self));
  g_assert_true (self.good);
}

void
add_turn_tests (void)
{
  box_add_full ("/turns/first-come", prepare_two, test_first_come);
  box_add_full ("/turns/cancel-in-line", prepare_one, test_cancel_in_line);
  box_add_full ("/turns/max-commands", prepare_three, test_max_commands);
  box_add_full ("/turns/many-waiting", prepare_many, test_many_waiting);
  box_add ("/turns/threads", test_threads);
  box_add ("/turns/contexts", test_contexts);
  box_add ("/turns/elsewhere", test_elsewhere);
}
