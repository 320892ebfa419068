/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Holding a sandbox still. Where no control group can be made there is nothing to hold it
 * by, and that is said. */
#include "library-fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECOND G_USEC_PER_SEC

static gboolean
can_pause (LibraryFixture *f)
{
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (NULL);
  g_autoptr (PrismSandbox) sandbox = prism_backend_create_sandbox (f->backend, spec, NULL, NULL);
  g_autoptr (PrismCapabilities) capabilities = prism_sandbox_dup_capabilities (sandbox);
  const char *how = prism_capabilities_get_evidence (capabilities, "pause");
  gboolean can = !g_str_has_prefix (how, "not enforced");

  if (!can)
    {
      g_autoptr (GError) error = NULL;
      g_assert_false (geteuid () == 0 && access ("/sys/fs/cgroup/freezer/freezer.state", F_OK) != 0
                      && access ("/sys/fs/cgroup/freezer/tasks", W_OK) == 0);
      g_assert_false (prism_sandbox_pause (sandbox, NULL, &error));
      g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_SUPPORTED);
      g_assert_nonnull (strstr (error->message, "control group"));
      g_assert_cmpint (prism_sandbox_get_status (sandbox), ==, PRISM_SANDBOX_STATUS_RUNNING);
    }
  library_close (sandbox);
  return can;
}

static void
hold_still (PrismSandbox *sandbox)
{
  g_autoptr (GError) error = NULL;

  prism_sandbox_pause (sandbox, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_sandbox_get_status (sandbox), ==, PRISM_SANDBOX_STATUS_STOPPED);
}

static void
let_go (PrismSandbox *sandbox)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (prism_sandbox_resume (sandbox, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (prism_sandbox_get_status (sandbox), ==, PRISM_SANDBOX_STATUS_RUNNING);
}

static char *
content (LibraryFixture *f, const char *name)
{
  g_autofree char *path = library_path (f, name);
  char *text = NULL;

  g_file_get_contents (path, &text, NULL, NULL);
  return text != NULL ? text : g_strdup ("");
}

static gboolean
is_there (LibraryFixture *f, const char *name)
{
  g_autofree char *path = library_path (f, name);
  return g_file_test (path, G_FILE_TEST_EXISTS);
}

static void
pass (gint64 us)
{
  gint64 until = g_get_monotonic_time () + us;
  LIBRARY_UNTIL (g_get_monotonic_time () >= until);
}

/* Many processes that make others: not one of them gets a step further. */
static void
test_still (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismProcess) process = NULL;
  g_autoptr (GError) error = NULL;

  if (!can_pause (f))
    return;
  sandbox = library_create (f->backend, f->spec);
  process = library_start (
      sandbox, "for i in 1 2 3 4; do (n=0; while :; do n=$((n+1)); /bin/echo $n > n$i; done) & done; wait", 0);
  for (int round = 0; round < 3; round++)
    {
      LIBRARY_UNTIL (is_there (f, "n1") && is_there (f, "n4"));
      hold_still (sandbox);
      g_autofree char *before = content (f, "n1"), *other = content (f, "n4");
      pass (SECOND / 5);
      g_autofree char *after = content (f, "n1"), *other_after = content (f, "n4");
      g_assert_cmpstr (before, ==, after);
      g_assert_cmpstr (other, ==, other_after);
      g_autoptr (PrismCommand) command = prism_command_new_shell ("true");
      g_assert_null (prism_sandbox_exec (sandbox, command, NULL, &error));
      g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
      g_clear_error (&error);
      g_assert_false (prism_sandbox_pause (sandbox, NULL, &error));
      g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
      g_clear_error (&error);
      let_go (sandbox);
      g_autofree char *later = NULL;
      LIBRARY_UNTIL ((g_free (later), later = content (f, "n1"), later[0] != '\0' && strcmp (later, after) != 0));
    }
  g_assert_false (prism_sandbox_resume (sandbox, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
  library_close (sandbox);
}

typedef struct
{
  PrismResult *result;
  GError *error;
  gboolean done;
} Answer;

static void
on_exec (GObject *source, GAsyncResult *result, gpointer data)
{
  Answer *answer = data;

  answer->result = prism_sandbox_exec_finish (PRISM_SANDBOX (source), result, &answer->error);
  answer->done = TRUE;
}

/* Neither a command's time runs nor a process's, nor the sandbox's idle time. */
static void
test_time (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismProcess) process = NULL;
  g_autoptr (PrismResult) of_process = NULL;
  g_autoptr (PrismCommand) command = prism_command_new_shell ("touch one; sleep 1; exit 3");
  Answer answer = { 0 };

  if (!can_pause (f))
    return;
  g_assert_true (prism_limits_set (prism_sandbox_spec_get_limits (f->spec), "idle-timeout-ms", 2000, NULL));
  sandbox = library_create (f->backend, f->spec);
  prism_command_set_timeout_ms (command, 2500);
  prism_sandbox_exec_async (sandbox, command, NULL, on_exec, &answer);
  process = library_start (sandbox, "touch two; sleep 1; exit 4", 2500);
  LIBRARY_UNTIL (is_there (f, "one") && is_there (f, "two"));
  hold_still (sandbox);
  pass (3 * SECOND);
  g_assert_false (answer.done);
  let_go (sandbox);
  while (!answer.done)
    g_main_context_iteration (NULL, TRUE);
  g_assert_no_error (answer.error);
  g_assert_cmpint (prism_result_get_exit_code (answer.result), ==, 3);
  of_process = library_wait (process);
  g_assert_cmpint (prism_result_get_exit_code (of_process), ==, 4);
  g_object_unref (answer.result);
  library_close (sandbox);
}

static void
test_close (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismProcess) process = NULL;
  g_autoptr (PrismResult) result = NULL;

  if (!can_pause (f))
    return;
  sandbox = library_create (f->backend, f->spec);
  process = library_start (sandbox, "touch up; sleep 1000", 0);
  LIBRARY_UNTIL (is_there (f, "up"));
  hold_still (sandbox);
  library_close (sandbox);
  result = library_wait (process);
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_LOST);
  g_assert_cmpstr (prism_result_get_reason (result), !=, NULL);
}

/* Asked to stop gently, processes are let go first: else they would hear nothing. */
static void
test_stop (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismProcess) process = NULL;
  g_autoptr (GError) error = NULL;

  if (!can_pause (f))
    return;
  sandbox = library_create (f->backend, f->spec);
  process = library_start (sandbox, "trap 'touch heard; exit' TERM; touch up; while :; do sleep 0.01; done", 0);
  LIBRARY_UNTIL (is_there (f, "up"));
  hold_still (sandbox);
  g_assert_true (prism_sandbox_stop (sandbox, 20000, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (is_there (f, "heard"));
  library_close (sandbox);
}

/* WORKSPACE: says the id of a sandbox that it holds still, and is killed. */
static int
be_host (const char *workspace)
{
  g_autoptr (GFile) folder = g_file_new_for_path (workspace);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (folder);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismBackend) backend = prism_registry_create_backend (prism_registry_get_default (), "native", &error);
  g_autoptr (PrismSandbox) sandbox = prism_backend_create_sandbox (backend, spec, NULL, &error);
  g_autofree char *id = prism_sandbox_dup_id (sandbox);

  g_assert_no_error (error);
  hold_still (sandbox);
  g_print ("%s\n", id);
  fflush (stdout);
  kill (getpid (), SIGKILL);
  return 1;
}

/* It ends all the same, and no group of it stays. */
static void
test_host_dies (LibraryFixture *f, gconstpointer data)
{
  const char *const argv[] = { "/proc/self/exe", "--host", f->folder, NULL };
  g_autofree char *id = NULL, *find = NULL;
  g_autoptr (GError) error = NULL;
  gboolean gone = FALSE;

  if (!can_pause (f))
    return;
  g_assert_true (
      g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_CHILD_INHERITS_STDERR, NULL, NULL, &id, NULL, NULL, &error));
  g_assert_no_error (error);
  find = g_strdup_printf ("find /sys/fs/cgroup -name prism-%s", g_strchomp (id));
  while (!gone)
    {
      g_autofree char *found = NULL;
      g_assert_true (g_spawn_command_line_sync (find, &found, NULL, NULL, NULL));
      gone = found[0] == '\0';
      LIBRARY_UNTIL (TRUE);
    }
}

/* A pause is its host's: the next one finds a sandbox that runs. */
static void
test_next_host (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) next = NULL;
  g_autofree char *reference = NULL, *output = NULL;
  PrismSandbox *first;

  if (!can_pause (f))
    return;
  g_object_set (f->spec, "lifetime", PRISM_LIFETIME_DETACHED, NULL);
  g_assert_true (prism_limits_set (prism_sandbox_spec_get_limits (f->spec), "wall-time-ms", 120000, NULL));
  first = library_create (f->backend, f->spec);
  reference = prism_sandbox_dup_reference (first);
  hold_still (first);
  g_object_unref (first);
  LIBRARY_UNTIL ((next = prism_backend_connect_sandbox (f->backend, reference, NULL, NULL)) != NULL);
  output = library_run (next, "echo here");
  g_assert_cmpstr (output, ==, "here");
  hold_still (next);
  let_go (next);
  library_close (next);
}

int
main (int argc, char **argv)
{
  if (argc == 3 && g_str_equal (argv[1], "--host"))
    return be_host (argv[2]);
  g_test_init (&argc, &argv, NULL);
  library_add_test ("/native/pause/still", test_still);
  library_add_test ("/native/pause/time", test_time);
  library_add_test ("/native/pause/close", test_close);
  library_add_test ("/native/pause/stop", test_stop);
  library_add_test ("/native/pause/host-dies", test_host_dies);
  library_add_test ("/native/pause/next-host", test_next_host);
  return g_test_run ();
}
