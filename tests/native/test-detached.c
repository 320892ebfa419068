/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sandboxes that outlive their host. The first host is this program once more, so that it
 * can be killed. */
#include "library-fixture.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONG_LINE "printf 'begun\\n'; read line; echo \"got $line\"; exit 5"

static char *runtime_folder; /* "/run/prism", or the test's own */

static void
ask_detached (PrismSandboxSpec *spec, gint64 wall_ms)
{
  g_autoptr (GError) error = NULL;

  g_object_set (spec, "lifetime", PRISM_LIFETIME_DETACHED, NULL);
  prism_limits_set (prism_sandbox_spec_get_limits (spec), "wall-time-ms", wall_ms, &error);
  g_assert_no_error (error);
}

static char *
folder_of (const char *reference)
{
  return g_build_filename (runtime_folder, reference + strlen ("native:"), NULL);
}

static gboolean
is_there (const char *reference)
{
  g_autofree char *folder = folder_of (reference);
  return g_file_test (folder, G_FILE_TEST_IS_DIR);
}

/* --- the first host -------------------------------------------------------------- */

/* WORKSPACE WALL-MS: says the references of a sandbox and two processes, and is killed. */
static int
be_host (char **arguments)
{
  g_autoptr (GFile) folder = g_file_new_for_path (arguments[0]);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (folder);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismBackend) backend = prism_registry_create_backend (prism_registry_get_default (), "native", &error);
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismProcess) waits = NULL, ended = NULL;
  g_autofree char *reference = NULL, *first = NULL, *second = NULL, *padded = NULL;

  ask_detached (spec, g_ascii_strtoll (arguments[1], NULL, 10));
  prism_sandbox_spec_add_secret (spec, "TOKEN", "hush-hush");
  prism_sandbox_spec_set_variable (spec, "GREETING", "hello");
  sandbox = prism_backend_create_sandbox (backend, spec, NULL, &error);
  g_assert_no_error (error);
  /* Longer than what the agent tells of a command line. */
  padded = g_strdup_printf (LONG_LINE " #%8000d", 1);
  waits = library_start (sandbox, padded, 0);
  library_expect (waits, "begun\n");
  ended = library_start (sandbox, "echo said; exit 7", 0);
  library_expect (ended, "said\n");
  reference = prism_sandbox_dup_reference (sandbox);
  first = prism_process_dup_reference (waits);
  second = prism_process_dup_reference (ended);
  g_print ("%s\n%s\n%s\n", reference, first, second);
  fflush (stdout);
  kill (getpid (), SIGKILL);
  return 1;
}

/* The three references. */
static char **
run_host (LibraryFixture *f, gint64 wall_ms)
{
  g_autofree char *wall = g_strdup_printf ("%" G_GINT64_FORMAT, wall_ms), *output = NULL;
  const char *const argv[] = { "/proc/self/exe", "--host", f->folder, wall, NULL };
  g_autoptr (GError) error = NULL;
  char **references;
  int status;

  g_assert_true (g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_CHILD_INHERITS_STDERR, NULL, NULL, &output, NULL,
                               &status, &error));
  g_assert_no_error (error);
  g_assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL);
  references = g_strsplit (g_strchomp (output), "\n", -1);
  g_assert_cmpuint (g_strv_length (references), ==, 3);
  return references;
}

static PrismSandbox *
connect_to (LibraryFixture *f, const char *reference)
{
  g_autoptr (GError) error = NULL;
  PrismSandbox *sandbox = prism_backend_connect_sandbox (f->backend, reference, NULL, &error);

  g_assert_no_error (error);
  return sandbox;
}

static void
assert_no_connection (LibraryFixture *f, const char *reference, int code)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = prism_backend_connect_sandbox (f->backend, reference, NULL, &error);

  g_assert_null (sandbox);
  g_assert_error (error, PRISM_SANDBOX_ERROR, code);
}

static gboolean
is_listed (LibraryFixture *f, const char *reference)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) all = prism_backend_list_sandboxes (f->backend, NULL, &error);

  g_assert_no_error (error);
  return g_strv_contains ((const char *const *)all, reference);
}

static PrismProcess *
attach_to (PrismSandbox *sandbox, const char *reference)
{
  g_autoptr (GError) error = NULL;
  PrismProcess *process = prism_sandbox_attach_process (sandbox, reference, NULL, &error);

  g_assert_no_error (error);
  return process;
}

/* --- the tests ------------------------------------------------------------------- */

static void
test_next_host (LibraryFixture *f, gconstpointer data)
{
  g_auto (GStrv) references = run_host (f, 120000);
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismProcess) waits = NULL, ended = NULL;
  g_autoptr (PrismResult) first = NULL, second = NULL;
  g_autoptr (PrismCapabilities) capabilities = NULL;
  g_autofree char *output = NULL, *reference = NULL, *folder = NULL;
  struct stat info;

  g_assert_true (is_listed (f, references[0]));
  folder = folder_of (references[0]);
  g_assert_no_errno (stat (folder, &info));
  g_assert_cmpuint (info.st_mode & 07777, ==, 0700);
  sandbox = connect_to (f, references[0]);
  reference = prism_sandbox_dup_reference (sandbox);
  g_assert_cmpstr (reference, ==, references[0]);
  capabilities = prism_sandbox_dup_capabilities (sandbox);
  g_assert_true (prism_capabilities_get_network_isolated (capabilities));
  g_assert_nonnull (prism_capabilities_get_evidence (capabilities, "network"));
  assert_no_connection (f, references[0], PRISM_SANDBOX_ERROR_STATE);

  output = library_run (sandbox, "echo $GREETING $TOKEN; echo by-the-second > left");
  g_assert_cmpstr (output, ==, "hello hush-hush");
  waits = attach_to (sandbox, references[1]);
  library_expect (waits, "begun\n");
  g_assert_true (g_output_stream_write_all (prism_process_get_stdin_stream (waits), "word\n", 5, NULL, NULL, NULL));
  library_expect (waits, "got word\n");
  first = library_wait (waits);
  g_assert_cmpint (prism_result_get_exit_code (first), ==, 5);
  ended = attach_to (sandbox, references[2]);
  library_expect (ended, "said\n");
  second = library_wait (ended);
  g_assert_cmpint (prism_result_get_exit_code (second), ==, 7);

  library_close (sandbox);
  g_assert_false (is_there (references[0]));
  g_assert_false (is_listed (f, references[0]));
  assert_no_connection (f, references[0], PRISM_SANDBOX_ERROR_NOT_FOUND);
}

/* A secret is kept out of messages by the second host as well. */
static void
test_redacted (LibraryFixture *f, gconstpointer data)
{
  g_auto (GStrv) references = run_host (f, 120000);
  g_autoptr (PrismSandbox) sandbox = connect_to (f, references[0]);
  g_autoptr (PrismFileEntry) entry = NULL;
  g_autoptr (GError) error = NULL;

  entry = prism_sandbox_stat_file (sandbox, "/hush-hush", NULL, &error);
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
  g_assert_null (strstr (error->message, "hush-hush"));
  library_close (sandbox);
}

/* Dropped without a word it goes on; the same process may take it up again. */
static void
test_dropped (LibraryFixture *f, gconstpointer data)
{
  g_autofree char *reference = NULL, *process_reference = NULL;
  PrismSandbox *first;

  ask_detached (f->spec, 120000);
  first = library_create (f->backend, f->spec);
  reference = prism_sandbox_dup_reference (first);
  {
    g_autoptr (PrismProcess) process = library_start (first, "echo up; read word; echo $word", 0);
    library_expect (process, "up\n");
    process_reference = prism_process_dup_reference (process);
  }
  g_object_unref (first);
  for (int i = 0; i < 3; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismSandbox) next = NULL;
      /* The connection of the one before ends when its last thread has let go of it. */
      LIBRARY_UNTIL ((next = prism_backend_connect_sandbox (f->backend, reference, NULL, NULL)) != NULL);
      g_autoptr (PrismProcess) process = attach_to (next, process_reference);
      library_expect (process, "up\n");
      if (i == 2)
        library_close (next);
    }
  g_assert_false (is_there (reference));
}

/* It lives on, also after what its host has for its last command. */
static void
test_last (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("exit 6");

  ask_detached (f->spec, 120000);
  prism_command_set_last (command, TRUE);
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  for (int i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpint (prism_result_get_exit_code (result), ==, 6);
    }
  library_close (sandbox);
}

/* Its wall time ends it with nobody there; so does the end of the way to it. */
static void
test_ends_alone (LibraryFixture *f, gconstpointer data)
{
  g_auto (GStrv) short_lived = run_host (f, 3000), unreachable = run_host (f, 120000);
  g_autofree char *folder = folder_of (unreachable[0]), *name = g_build_filename (folder, "socket", NULL);

  g_assert_no_errno (g_unlink (name));
  LIBRARY_UNTIL (!is_there (short_lived[0]));
  assert_no_connection (f, short_lived[0], PRISM_SANDBOX_ERROR_NOT_FOUND);
  LIBRARY_UNTIL (!is_listed (f, unreachable[0]) || !is_there (unreachable[0]));
}

/* The wall time counts from the making, whoever is connected. */
static void
test_wall_of_next_host (LibraryFixture *f, gconstpointer data)
{
  g_auto (GStrv) references = run_host (f, 4000);
  g_autoptr (PrismSandbox) sandbox = connect_to (f, references[0]);
  g_autoptr (PrismResult) result = library_result (sandbox, "sleep 100");

  g_assert_cmpint (prism_result_get_outcome (result), !=, PRISM_OUTCOME_EXITED);
  g_assert_cmpint (prism_result_get_duration_us (result), <, 20 * G_USEC_PER_SEC);
  LIBRARY_UNTIL (!is_there (references[0]));
  prism_sandbox_close (sandbox, NULL, NULL);
}

/* What a keeper that is killed leaves is listed, and reaped. */
static void
test_reaped (LibraryFixture *f, gconstpointer data)
{
  g_auto (GStrv) references = run_host (f, 120000);
  g_autofree char *folder = folder_of (references[0]);
  g_autoptr (PrismSandbox) sandbox = connect_to (f, references[0]);
  g_autofree char *inside = library_run (sandbox, "cat /proc/1/status | grep -c NSpid");
  g_autoptr (GError) error = NULL;
  g_autoptr (GDir) processes = g_dir_open ("/proc", 0, NULL);
  const char *name;
  pid_t keeper = 0;

  g_assert_cmpstr (inside, ==, "1");
  /* The one process that has that folder open is the keeper; this test has it not. */
  while (keeper == 0 && (name = g_dir_read_name (processes)) != NULL)
    {
      pid_t pid = (pid_t)g_ascii_strtoll (name, NULL, 10);
      for (int fd = 3; pid > 0 && pid != getpid () && fd < 16; fd++)
        {
          g_autofree char *link = g_strdup_printf ("/proc/%d/fd/%d", (int)pid, fd);
          g_autofree char *target = g_file_read_link (link, NULL);
          if (g_strcmp0 (target, folder) == 0)
            keeper = pid;
        }
    }
  /* An ordinary user may not look into it: it holds what hosts deposit. */
  if (geteuid () != 0)
    {
      g_assert_cmpint (keeper, ==, 0);
      library_close (sandbox);
      return;
    }
  g_assert_cmpint (keeper, >, 0);
  g_assert_no_errno (kill (keeper, SIGKILL));
  {
    g_autoptr (PrismCommand) command_line = prism_command_new_shell ("sleep 100");
    g_autoptr (PrismResult) lost = prism_sandbox_exec (sandbox, command_line, NULL, NULL);
    if (lost != NULL)
      g_assert_cmpint (prism_result_get_outcome (lost), ==, PRISM_OUTCOME_LOST);
  }
  prism_sandbox_close (sandbox, NULL, NULL);
  g_assert_cmpint (prism_backend_reap (f->backend, NULL, &error), >=, 0);
  g_assert_no_error (error);
  g_assert_false (is_there (references[0]));
  g_assert_false (is_listed (f, references[0]));
}

static void
test_unknown (LibraryFixture *f, gconstpointer data)
{
  assert_no_connection (f, "native:0123456789abcdef0123456789abcdef", PRISM_SANDBOX_ERROR_NOT_FOUND);
  assert_no_connection (f, "native:../../etc", PRISM_SANDBOX_ERROR_NOT_FOUND);
  assert_no_connection (f, "docker:0123456789abcdef0123456789abcdef", PRISM_SANDBOX_ERROR_NOT_FOUND);
}

/* One that ends with its host has no way in. */
static void
test_not_detached (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  g_autofree char *reference = prism_sandbox_dup_reference (sandbox);

  assert_no_connection (f, reference, PRISM_SANDBOX_ERROR_NOT_FOUND);
  library_close (sandbox);
}

/* A folder that others may enter is no place for it. Root's is not the caller's to choose. */
static void
test_open_folder (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = NULL;

  if (geteuid () == 0)
    return;
  g_assert_no_errno (chmod (runtime_folder, 0755));
  ask_detached (f->spec, 120000);
  sandbox = prism_backend_create_sandbox (f->backend, f->spec, NULL, &error);
  g_assert_no_errno (chmod (runtime_folder, 0700));
  g_assert_null (sandbox);
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED);
}

int
main (int argc, char **argv)
{
  g_autofree char *made = NULL;
  int status;

  if (argc == 4 && g_str_equal (argv[1], "--host"))
    return be_host (argv + 2);
  g_test_init (&argc, &argv, NULL);
  made = g_dir_make_tmp ("prism-runtime-XXXXXX", NULL);
  g_setenv ("XDG_RUNTIME_DIR", made, TRUE);
  runtime_folder = geteuid () == 0 ? g_strdup ("/run/prism") : g_build_filename (made, "prism", NULL);
  library_add_test ("/native/detached/next-host", test_next_host);
  library_add_test ("/native/detached/redacted", test_redacted);
  library_add_test ("/native/detached/dropped", test_dropped);
  library_add_test ("/native/detached/last", test_last);
  library_add_test ("/native/detached/ends-alone", test_ends_alone);
  library_add_test ("/native/detached/wall-of-next-host", test_wall_of_next_host);
  library_add_test ("/native/detached/reaped", test_reaped);
  library_add_test ("/native/detached/unknown", test_unknown);
  library_add_test ("/native/detached/not-detached", test_not_detached);
  library_add_test ("/native/detached/open-folder", test_open_folder);
  status = g_test_run ();
  if (geteuid () != 0)
    g_rmdir (runtime_folder);
  g_rmdir (made);
  g_free (runtime_folder);
  return status;
}
