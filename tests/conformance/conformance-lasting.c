/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sandboxes that are held still, and such as outlive who made them. */
#include "conformance.h"

#include <glib/gstdio.h>

static PrismProcess *
start (PrismSandbox *sandbox, const char *line, gint64 timeout_ms)
{
  g_autoptr (PrismCommand) command = command_shell (line);
  g_autoptr (GError) error = NULL;
  PrismProcess *process;

  prism_command_set_timeout_ms (command, timeout_ms);
  process = prism_sandbox_start_process (sandbox, command, NULL, &error);
  g_assert_no_error (error);
  return process;
}

static char *
read_line (PrismProcess *process)
{
  GString *line = g_string_new (NULL);

  while (line->len == 0 || line->str[line->len - 1] != '\n')
    {
      g_autoptr (GError) error = NULL;
      char byte;
      gssize n = g_input_stream_read (prism_process_get_stdout_stream (process), &byte, 1, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpint (n, ==, 1);
      g_string_append_c (line, byte);
    }
  return g_string_free (line, FALSE);
}

static gint64
read_number (Box *box)
{
  gsize size;
  g_autofree char *text = box_get (box, "n", &size);

  return text != NULL && text[0] != '\0' ? g_ascii_strtoll (text, NULL, 10) : -1;
}

/* --- pause --------------------------------------------------------------------------- */

/* FALSE where this machine has nothing to do it with: then the sandbox said so before. */
static gboolean
can_pause (Box *box)
{
  g_autoptr (GError) error = NULL;

  if (!box_lacks (box, "pause"))
    return TRUE;
  g_assert_false (prism_sandbox_pause (box->sandbox, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_SUPPORTED);
  g_assert_cmpint (prism_sandbox_get_status (box->sandbox), ==, PRISM_SANDBOX_STATUS_RUNNING);
  return FALSE;
}

static void
pause_box (Box *box)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (prism_sandbox_pause (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (prism_sandbox_get_status (box->sandbox), ==, PRISM_SANDBOX_STATUS_STOPPED);
}

static void
resume_box (Box *box)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (prism_sandbox_resume (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (prism_sandbox_get_status (box->sandbox), ==, PRISM_SANDBOX_STATUS_RUNNING);
}

static void
pass_ms (gint64 ms)
{
  gint64 until = g_get_monotonic_time () + ms * 1000;
  WAIT_UNTIL (g_get_monotonic_time () >= until);
}

static void
test_pause (Box *box)
{
  g_autoptr (PrismProcess) process =
      start (box->sandbox, "n=0; while :; do n=$((n+1)); echo $n > n.new; mv n.new n; done", 0);
  g_autoptr (PrismCommand) command = command_shell ("true");
  g_autoptr (GError) error = NULL;
  gint64 before;

  WAIT_UNTIL (read_number (box) > 0);
  before = read_number (box);
  if (!can_pause (box))
    return;
  pause_box (box);
  /* Where that cannot be seen from outside, only that it goes on after it. */
  before = box->remote ? before : read_number (box);
  pass_ms (200);
  if (!box->remote)
    g_assert_cmpint (read_number (box), ==, before);
  g_assert_null (prism_sandbox_exec (box->sandbox, command, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
  g_clear_error (&error);
  g_assert_null (prism_sandbox_stat_file (box->sandbox, ".", NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
  g_clear_error (&error);
  g_assert_false (prism_sandbox_pause (box->sandbox, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
  g_clear_error (&error);
  resume_box (box);
  WAIT_UNTIL (read_number (box) > before);
  g_assert_false (prism_sandbox_resume (box->sandbox, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
}

/* A timeout is time that a command had. */
static void
test_pause_time (Box *box)
{
  g_autoptr (PrismCommand) command = command_shell ("touch began; sleep 1; exit 3");
  g_auto (Answer) answer = { 0 };

  if (!can_pause (box))
    return;
  prism_command_set_timeout_ms (command, 2500);
  prism_sandbox_exec_async (box->sandbox, command, NULL, on_exec, &answer);
  WAIT_UNTIL (box_has (box, "began"));
  pause_box (box);
  pass_ms (3000);
  g_assert_false (answer.done);
  resume_box (box);
  WAIT_UNTIL (answer.done);
  g_assert_no_error (answer.error);
  assert_exited (PRISM_RESULT (answer.value), 3);
}

/* It is closed as it is; the case's end sees that nothing is left. */
static void
test_pause_close (Box *box)
{
  g_autoptr (PrismProcess) process = start (box->sandbox, "echo up; exec sleep 1000", 0);
  g_autofree char *line = read_line (process);
  g_autoptr (PrismResult) result = NULL;
  g_autoptr (GError) error = NULL;

  if (!can_pause (box))
    return;
  pause_box (box);
  g_assert_true (prism_sandbox_close (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  result = prism_process_wait (process, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_result_get_outcome (result), !=, PRISM_OUTCOME_EXITED);
}

/* --- detached ------------------------------------------------------------------------- */

static void
prepare_detached (Box *box)
{
  g_object_set (box->spec, "lifetime", PRISM_LIFETIME_DETACHED, NULL);
  g_object_set (box->limits, "wall-time-ms", G_GINT64_CONSTANT (120000), NULL);
}

/* The host lets go of all of it, and takes it up again by what it remembers. */
static void
test_detached (Box *box)
{
  g_autofree char *reference = prism_sandbox_dup_reference (box->sandbox), *word = NULL;
  g_autofree char *first_reference = NULL, *second_reference = NULL, *up = NULL, *up_again = NULL;
  g_autoptr (PrismProcess) again = NULL, ended = NULL;
  g_autoptr (PrismResult) result = NULL, late = NULL;
  g_autoptr (GError) error = NULL;

  {
    g_autoptr (PrismProcess) first = start (box->sandbox, "echo up; read word; echo $word; exit 4", 0);
    g_autoptr (PrismProcess) second = start (box->sandbox, "sleep 1000", 1500);
    up = read_line (first);
    first_reference = prism_process_dup_reference (first);
    second_reference = prism_process_dup_reference (second);
  }
  g_clear_object (&box->sandbox);
  WAIT_UNTIL (
      (g_clear_error (&error), box->sandbox = prism_backend_connect_sandbox (box->backend, reference, NULL, &error))
          != NULL
      || !g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE));
  g_assert_no_error (error);
  again = prism_sandbox_attach_process (box->sandbox, first_reference, NULL, &error);
  g_assert_no_error (error);
  if (!box_lacks (box, "replay"))
    {
      up_again = read_line (again); /* the log of before */
      g_assert_cmpstr (up, ==, up_again);
    }
  g_assert_true (g_output_stream_write_all (prism_process_get_stdin_stream (again), "word\n", 5, NULL, NULL, &error));
  word = read_line (again);
  g_assert_cmpstr (word, ==, "word\n");
  result = prism_process_wait (again, NULL, &error);
  g_assert_no_error (error);
  assert_exited (result, 4);
  /* Its time runs with a host and without. */
  ended = prism_sandbox_attach_process (box->sandbox, second_reference, NULL, &error);
  if (box_lacks (box, "replay") && g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND))
    return; /* it was over, and nothing keeps how it ended */
  g_assert_no_error (error);
  late = prism_process_wait (ended, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_result_get_outcome (late), ==, PRISM_OUTCOME_TIMED_OUT);
}

/* One host at a time, and none of one that is closed. */
static void
test_detached_alone (Box *box)
{
  g_autofree char *reference = prism_sandbox_dup_reference (box->sandbox);
  g_auto (GStrv) all = NULL;
  g_autoptr (GError) error = NULL;

  if (!box_lacks (box, "alone"))
    {
      g_assert_null (prism_backend_connect_sandbox (box->backend, reference, NULL, &error));
      g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
      g_clear_error (&error);
    }
  all = prism_backend_list_sandboxes (box->backend, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_strv_contains ((const char *const *)all, reference));
  g_assert_true (prism_sandbox_close (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  g_assert_null (prism_backend_connect_sandbox (box->backend, reference, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
}

static void
test_not_detached (Box *box)
{
  g_autofree char *reference = prism_sandbox_dup_reference (box->sandbox);
  g_autoptr (PrismSandbox) other = NULL;
  g_autoptr (GError) error = NULL;

  other = prism_backend_connect_sandbox (box->backend, reference, NULL, &error);
  if (!box_lacks (box, "alone"))
    {
      g_assert_null (other);
      g_assert_nonnull (error);
    }
}

void
add_lasting_tests (Lacks lacks)
{
  if ((lacks & LACKS_PAUSE) == 0)
    {
      box_add ("/pause/still", test_pause);
      box_add ("/pause/time", test_pause_time);
      box_add ("/pause/close", test_pause_close);
    }
  if ((lacks & LACKS_DETACHED) != 0)
    return;
  box_add_full ("/detached/next-host", prepare_detached, test_detached);
  box_add_full ("/detached/alone", prepare_detached, test_detached_alone);
  box_add ("/detached/not-asked", test_not_detached);
}
