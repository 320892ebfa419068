/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a sandbox begins, what it says of itself, and how it ends. */
#include "conformance.h"

static void
test_properties (Box *box)
{
  g_autoptr (PrismSandbox) other = prism_backend_create_sandbox (box->backend, box->spec, NULL, NULL);
  g_autofree char *id = prism_sandbox_dup_id (box->sandbox), *other_id = prism_sandbox_dup_id (other);
  g_autofree char *name = prism_sandbox_dup_backend_name (box->sandbox);
  g_autofree char *workspace = prism_sandbox_dup_workspace (box->sandbox);
  g_autoptr (PrismCapabilities) capabilities = prism_sandbox_dup_capabilities (box->sandbox);

  g_assert_cmpstr (name, ==, prism_backend_get_name (box->backend));
  g_assert_true (id != NULL && id[0] != '\0');
  g_assert_cmpstr (id, !=, other_id);
  g_assert_true (workspace[0] == '/');
  g_assert_nonnull (capabilities);
  g_assert_cmpint (prism_sandbox_get_status (box->sandbox), ==, PRISM_SANDBOX_STATUS_RUNNING);
  g_assert_true (prism_sandbox_close (other, NULL, NULL));
  g_assert_cmpint (prism_sandbox_get_status (other), ==, PRISM_SANDBOX_STATUS_REMOVED);
}

static void
test_probe (Box *box)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismHealthReport) report = prism_backend_probe (box->backend, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (report)), >, 0);
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (report)); i++)
    {
      g_autoptr (PrismHealthCheck) check = g_list_model_get_item (G_LIST_MODEL (report), i);
      g_assert_true (prism_health_check_get_id (check)[0] != '\0');
      if (prism_health_check_get_status (check) != PRISM_HEALTH_STATUS_PASS)
        g_assert_nonnull (prism_health_check_get_remedy (check));
    }
}

/* What is not there is refused by name; what is there is not. */
static void
test_require (Box *box)
{
  g_autoptr (PrismCapabilities) capabilities = prism_sandbox_dup_capabilities (box->sandbox);
  g_autoptr (GFlagsClass) flags = g_type_class_ref (PRISM_TYPE_CONTROLS);
  PrismControls has = prism_capabilities_get_controls (capabilities);

  for (guint i = 0; i < flags->n_values; i++)
    {
      PrismControls control = flags->values[i].value;
      g_autoptr (PrismSandboxSpec) spec = box_new_spec (box);
      g_autoptr (PrismSandbox) sandbox = NULL;
      g_autoptr (GError) error = NULL;

      g_object_set (spec, "require", control, NULL);
      sandbox = prism_backend_create_sandbox (box->backend, spec, NULL, &error);
      if ((control & ~has) == 0)
        {
          g_assert_no_error (error);
          g_assert_true (prism_sandbox_close (sandbox, NULL, NULL));
        }
      else
        {
          g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED);
          g_assert_nonnull (strstr (error->message, flags->values[i].value_nick));
        }
    }
}

static void
test_bad_spec (Box *box)
{
  g_autoptr (GFile) missing = g_file_new_for_path ("/no/such/folder");
  g_autoptr (PrismSandboxSpec) spec = box_new_spec (box), limits = box_new_spec (box),
                               lost = prism_sandbox_spec_new (missing);
  g_autoptr (GError) error = NULL;

  g_object_set (spec, "sandbox-path", "relative", NULL);
  prism_sandbox_spec_add_label (spec, "prism.mine", "x");
  prism_sandbox_spec_set_variable (spec, "1BAD", "x");
  g_assert_null (prism_backend_create_sandbox (box->backend, spec, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
  g_assert_nonnull (strstr (error->message, "sandbox-path"));
  g_assert_nonnull (strstr (error->message, "prism.mine"));
  g_assert_nonnull (strstr (error->message, "1BAD"));
  g_clear_error (&error);

  g_object_set (prism_sandbox_spec_get_limits (limits), "max-pids", G_GINT64_CONSTANT (-5), "max-fds",
                G_GINT64_CONSTANT (0), NULL);
  g_assert_null (prism_backend_create_sandbox (box->backend, limits, NULL, &error));
  g_assert_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE);
  g_assert_nonnull (strstr (error->message, "max-pids"));
  g_assert_nonnull (strstr (error->message, "max-fds"));
  g_clear_error (&error);

  if (box->remote)
    g_object_set (lost, "workspace-mode", PRISM_WORKSPACE_MODE_COPY, NULL);
  g_assert_null (prism_backend_create_sandbox (box->backend, lost, NULL, &error));
  g_assert_nonnull (error);
}

static void
assert_state (Box *box, PrismSandboxStatus status, const char *name)
{
  g_autoptr (PrismCommand) command = command_shell ("true");
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (prism_sandbox_get_status (box->sandbox), ==, status);
  g_assert_null (prism_sandbox_exec (box->sandbox, command, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
  g_assert_nonnull (strstr (error->message, name));
  g_clear_error (&error);
  g_assert_null (prism_sandbox_stat_file (box->sandbox, ".", NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
}

static void
on_close (GObject *source, GAsyncResult *result, gpointer data)
{
  Answer *answer = data;

  g_assert_true (prism_sandbox_close_finish (PRISM_SANDBOX (source), result, &answer->error));
  answer->done = TRUE;
}

static void
test_close (Box *box)
{
  Answer answers[4] = { 0 };
  g_autoptr (PrismResult) result = box_sh (box, "sleep 1000 & sleep 1000 & true");
  g_autoptr (GError) error = NULL;

  for (int i = 0; i < 4; i++)
    prism_sandbox_close_async (box->sandbox, NULL, on_close, &answers[i]);
  for (int i = 0; i < 4; i++)
    {
      WAIT_UNTIL (answers[i].done);
      g_assert_no_error (answers[i].error);
    }
  g_assert_true (prism_sandbox_close (box->sandbox, NULL, &error));
  g_assert_true (prism_sandbox_close (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  assert_state (box, PRISM_SANDBOX_STATUS_REMOVED, "removed");
}

static void
test_stop (Box *box)
{
  g_autoptr (PrismResult) result =
      box_sh (box, "(exec 9>s; flock 9; exec sleep 1000) & until ! flock -n s true; do :; done");
  g_autoptr (GError) error = NULL;

  g_assert_false (prism_sandbox_stop (box->sandbox, 30001, NULL, &error));
  g_assert_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE);
  g_clear_error (&error);
  g_assert_true (prism_sandbox_stop (box->sandbox, 100, NULL, &error));
  g_assert_no_error (error);
  assert_state (box, PRISM_SANDBOX_STATUS_STOPPED, "stopped");
  g_assert_true (prism_sandbox_stop (box->sandbox, -1, NULL, &error));
  g_assert_true (prism_sandbox_kill (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (prism_sandbox_close (box->sandbox, NULL, &error));
  g_assert_true (prism_sandbox_stop (box->sandbox, -1, NULL, &error));
  g_assert_no_error (error);
  assert_state (box, PRISM_SANDBOX_STATUS_REMOVED, "removed");
}

static void
test_kill (Box *box)
{
  g_autoptr (PrismCommand) command = command_shell ("trap '' TERM; : >up; while :; do sleep 1000; done");
  g_auto (Answer) answer = { 0 };
  g_autoptr (GError) error = NULL;

  prism_sandbox_exec_async (box->sandbox, command, NULL, on_exec, &answer);
  WAIT_UNTIL (box_has (box, "up"));
  g_assert_true (prism_sandbox_kill (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  WAIT_UNTIL (answer.done);
  /* It started: it has a result, and no invented exit code. */
  g_assert_no_error (answer.error);
  g_assert_cmpint (prism_result_get_outcome (PRISM_RESULT (answer.value)), !=, PRISM_OUTCOME_EXITED);
  g_assert_cmpint (prism_result_get_exit_code (PRISM_RESULT (answer.value)), ==, -1);
  assert_state (box, PRISM_SANDBOX_STATUS_STOPPED, "stopped");
}

static PrismResult *
exec_last (Box *box, const char *line, gint64 timeout_ms)
{
  g_autoptr (PrismCommand) command = command_shell (line);
  g_autoptr (GError) error = NULL;
  PrismResult *result;

  prism_command_set_last (command, TRUE);
  prism_command_set_timeout_ms (command, timeout_ms);
  result = prism_sandbox_exec (box->sandbox, command, NULL, &error);
  g_assert_no_error (error);
  return result;
}

/* A command that is to be the last has the result of any other, and the sandbox is closed as
 * any other; where it did not simply exit the sandbox is as it was. */
static void
test_last (Box *box)
{
  g_autoptr (PrismResult) killed = exec_last (box, "kill -9 $$", 0), timed_out = exec_last (box, "sleep 1000", 100);
  g_autoptr (PrismResult) leaves = exec_last (box, "sleep 1000 </dev/null >/dev/null 2>&1 & exit 3", 0);
  g_autoptr (PrismResult) usual = box_sh (box, "exit 4"), last = exec_last (box, "echo out; echo err >&2; exit 5", 0);
  g_autofree char *out = prism_result_dup_stdout_text (last), *err = prism_result_dup_stderr_text (last);
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (prism_result_get_outcome (killed), ==, PRISM_OUTCOME_SIGNALLED);
  g_assert_cmpint (prism_result_get_outcome (timed_out), ==, PRISM_OUTCOME_TIMED_OUT);
  assert_exited (leaves, 3);
  assert_exited (usual, 4);
  assert_exited (last, 5);
  g_assert_cmpstr (out, ==, "out\n");
  g_assert_cmpstr (err, ==, "err\n");
  g_assert_cmpint (prism_sandbox_get_status (box->sandbox), !=, PRISM_SANDBOX_STATUS_FAILED);
  g_assert_true (prism_sandbox_close (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  assert_state (box, PRISM_SANDBOX_STATUS_REMOVED, "removed");
}

/* Closed under its commands: each gets its answer, soon. */
static void
test_close_while_busy (Box *box)
{
  Answer answers[30] = { 0 };
  g_autoptr (PrismCommand) command = command_shell (": >up; exec sleep 1000");
  g_autoptr (GError) error = NULL;

  for (int i = 0; i < 30; i++)
    prism_sandbox_exec_async (box->sandbox, command, NULL, on_exec, &answers[i]);
  WAIT_UNTIL (box_has (box, "up"));
  g_assert_true (prism_sandbox_close (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  for (int i = 0; i < 30; i++)
    {
      WAIT_UNTIL (answers[i].done);
      g_assert_true (answers[i].error != NULL || prism_result_get_exit_code (PRISM_RESULT (answers[i].value)) == -1);
      answer_clear (&answers[i]);
    }
}

static void
prepare_wall (Box *box)
{
  g_assert_true (prism_limits_set (box->limits, "wall-time-ms", 2500, NULL));
}

static void
test_wall (Box *box)
{
  g_autoptr (PrismResult) result = box_sh (box, "trap '' TERM; while :; do sleep 1000; done");

  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_WALL_EXCEEDED);
  g_assert_false (prism_result_get_timed_out (result));
  g_assert_cmpint (prism_result_get_exit_code (result), ==, -1);
  WAIT_UNTIL (prism_sandbox_get_status (box->sandbox) == PRISM_SANDBOX_STATUS_FAILED);
  assert_state (box, PRISM_SANDBOX_STATUS_FAILED, "failed");
}

static void
prepare_idle (Box *box)
{
  g_assert_true (prism_limits_set (box->limits, "idle-timeout-ms", 1500, NULL));
}

/* A command is no idleness, however quiet; its absence ends the sandbox with
 * nobody calling. */
static void
test_idle (Box *box)
{
  g_autoptr (PrismResult) result = box_sh (box, "sleep 2; exit 3");

  assert_exited (result, 3);
  WAIT_UNTIL (prism_sandbox_get_status (box->sandbox) == PRISM_SANDBOX_STATUS_FAILED);
  assert_state (box, PRISM_SANDBOX_STATUS_FAILED, "failed");
}

/* Made and closed many times over: no descriptor and no thread stays. */
static guint
count_in (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
cycle (Box *box)
{
  g_autoptr (PrismSandboxSpec) spec = box_new_spec (box);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = prism_backend_create_sandbox (box->backend, spec, NULL, &error);
  g_autoptr (PrismCommand) command = command_shell ("sleep 1000 & exit 1");
  g_autoptr (PrismResult) result = NULL;

  g_assert_no_error (error);
  result = prism_sandbox_exec (sandbox, command, NULL, &error);
  g_assert_no_error (error);
  assert_exited (result, 1);
  g_assert_true (prism_sandbox_close (sandbox, NULL, &error));
  g_assert_no_error (error);
}

static void
test_cycles (Box *box)
{
  guint fds, threads;

  for (int i = 0; i < 5; i++)
    cycle (box);
  fds = count_in ("/proc/self/fd");
  threads = count_in ("/proc/self/task");
  for (int i = 0; i < 50; i++)
    cycle (box);
  /* Threads and what they hold end a moment after what they did. */
  WAIT_UNTIL (count_in ("/proc/self/fd") <= fds && count_in ("/proc/self/task") <= threads);
}

void
add_life_tests (void)
{
  box_add ("/life/properties", test_properties);
  box_add ("/life/probe", test_probe);
  box_add ("/life/require", test_require);
  box_add ("/life/bad-spec", test_bad_spec);
  box_add ("/life/close", test_close);
  box_add ("/life/stop", test_stop);
  box_add ("/life/kill", test_kill);
  box_add ("/life/last", test_last);
  box_add ("/life/close-while-busy", test_close_while_busy);
  box_add_full ("/life/wall", prepare_wall, test_wall);
  box_add_full ("/life/idle", prepare_idle, test_idle);
  box_add ("/life/cycles", test_cycles);
}
