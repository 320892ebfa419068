/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What happens to a sandbox elsewhere: it is paused, killed, out of time or another one when it
 * comes back, and with clocks that differ. */
#include <libsoup/soup.h>
#include <string.h>

#include "e2b-local.h"

#define DEADLINE_US (60 * G_USEC_PER_SEC)

typedef struct
{
  E2bLocal *local;
  PrismBackend *backend;
  PrismSandbox *sandbox;
} Box;

static PrismSandbox *
make (Box *box, gint64 wall_ms)
{
  g_autoptr (PrismSandboxSpec) spec = e2b_local_new_spec (box->local);
  g_autoptr (GError) error = NULL;
  PrismSandbox *sandbox;

  g_assert_true (prism_limits_set (prism_sandbox_spec_get_limits (spec), "wall-time-ms", wall_ms, &error));
  sandbox = prism_backend_create_sandbox (box->backend, spec, NULL, &error);
  g_assert_no_error (error);
  return sandbox;
}

static void
set_up (Box *box, gconstpointer data)
{
  box->local = e2b_local_new (NULL);
  box->backend = e2b_local_new_backend (box->local);
}

static void
tear_down (Box *box, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  e2b_local_set_faults (box->local, "{}");
  if (box->sandbox != NULL)
    {
      prism_sandbox_close (box->sandbox, NULL, &error);
      g_assert_no_error (error);
    }
  g_clear_object (&box->sandbox);
  g_assert_cmpint (e2b_local_count (box->local, "living"), ==, 0);
  g_clear_object (&box->backend);
  e2b_local_free (box->local);
}

/* Until the server says so. */
static void
wait_for (Box *box, const char *name, gint64 value)
{
  for (gint64 end = g_get_monotonic_time () + DEADLINE_US; e2b_local_count (box->local, name) != value;)
    g_assert_cmpint (g_get_monotonic_time (), <, end);
}

static PrismResult *
sh (Box *box, const char *line)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell (line);
  g_autoptr (GError) error = NULL;
  PrismResult *result = prism_sandbox_exec (box->sandbox, command, NULL, &error);

  g_assert_no_error (error);
  return result;
}

static void
assert_works (Box *box)
{
  g_autoptr (PrismResult) result = sh (box, "exit 5");

  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_EXITED);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, 5);
}

static void
assert_refused (Box *box, int code, const char *says)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("true");
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismResult) result = prism_sandbox_exec (box->sandbox, command, NULL, &error);

  g_assert_error (error, PRISM_SANDBOX_ERROR, code);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, says));
}

/* --- a command under way ---------------------------------------------------------------------- */

typedef struct
{
  PrismResult *result;
  GError *error;
  gboolean begun, done;
} Running;

static void
said (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer data)
{
  ((Running *)data)->begun = TRUE;
}

static void
ended (GObject *source, GAsyncResult *answer, gpointer data)
{
  Running *running = data;

  running->result = prism_sandbox_exec_finish (PRISM_SANDBOX (source), answer, &running->error);
  running->done = TRUE;
}

static void
begin (Box *box, Running *running)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("echo begun; exec sleep 1000");

  g_signal_connect (command, "output", G_CALLBACK (said), running);
  prism_sandbox_exec_async (box->sandbox, command, NULL, ended, running);
  while (!running->begun && !running->done)
    g_main_context_iteration (NULL, TRUE);
  g_assert_false (running->done);
}

static void
finish (Running *running)
{
  while (!running->done)
    g_main_context_iteration (NULL, TRUE);
}

static void
assert_lost (Running *running)
{
  finish (running);
  g_assert_no_error (running->error);
  g_test_message ("%s", prism_result_get_reason (running->result));
  g_assert_cmpint (prism_result_get_outcome (running->result), ==, PRISM_OUTCOME_LOST);
  g_assert_nonnull (prism_result_get_reason (running->result));
  g_clear_object (&running->result);
}

/* Another handle of the same one, as another program has it. */
static PrismSandbox *
connect (Box *box)
{
  g_autofree char *reference = prism_sandbox_dup_reference (box->sandbox);
  g_autoptr (GError) error = NULL;
  PrismSandbox *other = prism_backend_connect_sandbox (box->backend, reference, NULL, &error);

  g_assert_no_error (error);
  return other;
}

static void
test_paused_elsewhere (Box *box, gconstpointer data)
{
  g_autofree char *path = g_build_filename (e2b_local_get_folder (box->local), "x", NULL);
  g_autoptr (PrismSandbox) other = NULL;
  g_autoptr (GError) error = NULL;
  Running running = { NULL };

  box->sandbox = make (box, 300000);
  begin (box, &running);
  other = connect (box);
  g_assert_true (prism_sandbox_pause (other, NULL, &error));
  assert_lost (&running);
  assert_refused (box, PRISM_SANDBOX_ERROR_STATE, "resume it first");
  g_assert_null (prism_sandbox_read_file (box->sandbox, path, 0, -1, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
  g_clear_error (&error);
  g_assert_cmpint (prism_sandbox_get_status (box->sandbox), ==, PRISM_SANDBOX_STATUS_STOPPED);
  g_assert_cmpint (e2b_local_count (box->local, "resumed"), ==, 0);
  g_assert_true (prism_sandbox_resume (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  assert_works (box);
}

static void
test_killed_elsewhere (Box *box, gconstpointer data)
{
  g_autoptr (PrismSandbox) other = NULL;
  g_autoptr (GError) error = NULL;
  Running running = { NULL };

  box->sandbox = make (box, 300000);
  begin (box, &running);
  other = connect (box);
  g_assert_true (prism_sandbox_kill (other, NULL, &error));
  assert_lost (&running);
  assert_refused (box, PRISM_SANDBOX_ERROR_LOST, "gone");
  assert_refused (box, PRISM_SANDBOX_ERROR_STATE, "gone");
  g_assert_cmpint (prism_sandbox_get_status (box->sandbox), ==, PRISM_SANDBOX_STATUS_FAILED);
}

/* Its time is over amid a command. */
static void
test_expired (Box *box, gconstpointer data)
{
  g_autoptr (PrismResult) result = NULL;

  box->sandbox = make (box, 2000);
  result = sh (box, "exec sleep 1000");
  g_test_message ("outcome %d, limit %s, %s", prism_result_get_outcome (result), prism_result_get_limit (result),
                  prism_result_get_reason (result));
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_WALL_EXCEEDED);
  g_assert_cmpstr (prism_result_get_limit (result), ==, "wall-time-ms");
  wait_for (box, "living", 0);
  assert_refused (box, PRISM_SANDBOX_ERROR_STATE, "time is over");
}

/* Two clocks that do not agree take no time from a command, and give it none. */
static void
test_skew (Box *box, gconstpointer data)
{
  static const char *const skews[] = { "{\"skew\":-7200}", "{\"skew\":7200}" };

  for (guint i = 0; i < G_N_ELEMENTS (skews); i++)
    {
      g_autoptr (PrismResult) result = NULL;
      g_autoptr (GError) error = NULL;

      e2b_local_set_faults (box->local, skews[i]);
      box->sandbox = make (box, 300000);
      result = sh (box, "sleep 0.2; exit 5");
      g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_EXITED);
      g_assert_cmpint (prism_result_get_exit_code (result), ==, 5);
      g_assert_true (prism_sandbox_close (box->sandbox, NULL, &error));
      g_clear_object (&box->sandbox);
    }
}

/* Another id: the handle is of that one, and leaves none of them behind. */
static void
test_other_id (Box *box, gconstpointer data)
{
  g_autofree char *before = NULL, *after = NULL;
  g_autoptr (GError) error = NULL;

  box->sandbox = make (box, 300000);
  before = prism_sandbox_dup_id (box->sandbox);
  g_assert_true (prism_sandbox_pause (box->sandbox, NULL, &error));
  e2b_local_set_faults (box->local, "{\"newId\":true}");
  g_assert_true (prism_sandbox_resume (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  after = prism_sandbox_dup_id (box->sandbox);
  g_assert_cmpstr (before, !=, after);
  assert_works (box);
}

/* Nothing is said for a while: a command that is quiet is not a dead one, and no deadline goes
 * with any of them. */
static void
test_quiet (Box *box, gconstpointer data)
{
  static const char *const faults[] = { "{\"keepalive\":100}", "{\"keepalive\":100000}" };
  g_autoptr (PrismCommand) last = prism_command_new_shell ("exit 6");
  g_autoptr (PrismProcess) process = NULL;
  g_autoptr (PrismResult) end = NULL;
  g_autoptr (GError) error = NULL;

  box->sandbox = make (box, 300000);
  for (guint i = 0; i < G_N_ELEMENTS (faults); i++)
    {
      g_autoptr (PrismResult) result = NULL;

      e2b_local_set_faults (box->local, faults[i]);
      result = sh (box, "sleep 1.5; exit 5");
      g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_EXITED);
      g_assert_cmpint (prism_result_get_exit_code (result), ==, 5);
    }
  process = prism_sandbox_start_process (box->sandbox, last, NULL, &error);
  g_assert_no_error (error);
  end = prism_process_wait (process, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_result_get_exit_code (end), ==, 6);
  g_assert_cmpint (e2b_local_count (box->local, "deadlines"), ==, 0);
}

/* On its way to another state it is refused, and the refusal says so. */
static void
test_transition (Box *box, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  box->sandbox = make (box, 300000);
  e2b_local_set_faults (box->local, "{\"transition\":100000}");
  g_assert_true (prism_sandbox_pause (box->sandbox, NULL, &error));
  g_assert_false (prism_sandbox_kill (box->sandbox, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
  g_assert_nonnull (strstr (error->message, "may live on"));
  g_clear_error (&error);
  g_assert_true (prism_sandbox_resume (box->sandbox, NULL, &error));
  g_assert_no_error (error);
}

/* A pause that keeps the files only: what ran is lost, which is said at once, and a resume
 * starts anew with the files. A stop keeps the memory all the same. */
static void
test_filesystem (Box *box, gconstpointer data)
{
  g_autoptr (PrismCommand) waits = prism_command_new_shell ("echo kept > file; exec sleep 1000");
  g_autoptr (PrismCommand) sleeps = prism_command_new_shell ("sleep 1; echo on");
  g_autoptr (PrismSandboxSpec) spec = e2b_local_new_spec (box->local);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismProcess) process = NULL, other = NULL;
  g_autoptr (PrismResult) end = NULL, kept = NULL, other_end = NULL;

  g_object_set (box->backend, "pause-kind", "disk", NULL);
  g_assert_null (prism_backend_create_sandbox (box->backend, spec, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
  g_assert_nonnull (strstr (error->message, "memory or filesystem"));
  g_clear_error (&error);
  g_object_set (box->backend, "pause-kind", "filesystem", NULL);
  box->sandbox = make (box, 300000);
  process = prism_sandbox_start_process (box->sandbox, waits, NULL, &error);
  g_assert_no_error (error);
  kept = sh (box, "until [ -s file ]; do sleep 0.02; done");
  g_assert_cmpint (prism_result_get_exit_code (kept), ==, 0);
  g_assert_true (prism_sandbox_pause (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  end = prism_process_wait (process, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_result_get_outcome (end), ==, PRISM_OUTCOME_LOST);
  g_assert_true (prism_sandbox_resume (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  g_clear_object (&kept);
  kept = sh (box, "cat file");
  g_assert_cmpint (prism_result_get_exit_code (kept), ==, 0);
  other = prism_sandbox_start_process (box->sandbox, sleeps, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (prism_sandbox_stop (box->sandbox, 0, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (prism_sandbox_resume (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  other_end = prism_process_wait (other, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_result_get_outcome (other_end), ==, PRISM_OUTCOME_EXITED);
}

/* The service opens a sandbox whose flag a change leaves out: no change may. */
static void
test_never_open (Box *box, gconstpointer data)
{
  static const char *const rules[][2] = { { "example.com", NULL }, { ".example.org", NULL }, { NULL } };
  g_autoptr (GError) error = NULL;

  box->sandbox = make (box, 300000);
  g_assert_cmpint (e2b_local_count (box->local, "open"), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    {
      g_autoptr (PrismEgressPolicy) policy = prism_egress_policy_new_static (rules[i], &error);

      g_assert_no_error (error);
      g_assert_true (prism_sandbox_set_network_policy (box->sandbox, policy, NULL, &error));
      g_assert_no_error (error);
      g_assert_cmpint (e2b_local_count (box->local, "open"), ==, 0);
    }
}

#define ADD(path, test) g_test_add ("/e2b/life/" path, Box, NULL, set_up, test, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("paused-elsewhere", test_paused_elsewhere);
  ADD ("paused-filesystem", test_filesystem);
  ADD ("killed-elsewhere", test_killed_elsewhere);
  ADD ("expired", test_expired);
  ADD ("skew", test_skew);
  ADD ("other-id", test_other_id);
  ADD ("quiet", test_quiet);
  ADD ("transition", test_transition);
  ADD ("never-open", test_never_open);
  return g_test_run ();
}
