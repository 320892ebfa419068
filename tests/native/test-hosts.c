/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Odd programs to have sandboxes in: those that fork, that have few descriptors, and that
 * become another user. */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "library-fixture.h"
#include "own-agent.h"

/* Ends the fork that it is called in: what is wrong is said once. */
#define EXPECT(condition)                                                                                              \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    if (!(condition))                                                                                                  \
      {                                                                                                                \
        g_printerr ("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                            \
        _exit (1);                                                                                                     \
      }                                                                                                                \
  }                                                                                                                    \
  G_STMT_END

static void
assert_ended_well (pid_t pid)
{
  int status;

  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);
}

static void
assert_runs (PrismSandbox *sandbox)
{
  g_autofree char *output = library_run (sandbox, "echo alive");

  g_assert_cmpstr (output, ==, "alive");
}

/* --- forks ---------------------------------------------------------------------------- */

/* Interpreters drop all they have at their end, in a fork too. */
static void
test_dropped_in_fork (LibraryFixture *f, gconstpointer data)
{
  PrismSandbox *first = library_create (f->backend, f->spec), *next = library_create (f->backend, f->spec);
  PrismProcess *process = library_start (next, "echo begun; exec cat", 0);
  pid_t pid;

  library_expect (process, "begun");
  assert_runs (first);
  pid = fork ();
  if (pid == 0)
    {
      g_object_unref (process);
      g_object_unref (first);
      g_object_unref (next);
      g_object_unref (f->backend);
      _exit (0);
    }
  assert_ended_well (pid);
  assert_runs (first);
  assert_runs (next);
  g_autoptr (PrismResult) result = NULL;
  g_output_stream_close (prism_process_get_stdin_stream (process), NULL, NULL);
  result = library_wait (process);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, 0);
  library_close (first);
  library_close (next);
  g_object_unref (process);
  g_object_unref (first);
  g_object_unref (next);
}

static gboolean
is_state (gboolean done, GError **error)
{
  gboolean is = !done
                && (g_error_matches (*error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE)
                    || g_error_matches (*error, PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_STATE));

  if (!is)
    g_printerr ("done %d: %s\n", done, *error != NULL ? (*error)->message : "no error");
  g_clear_error (error);
  return is;
}

static void
use_anothers (LibraryFixture *f, PrismSandbox *sandbox, PrismProcess *process)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("echo no");
  GError *error = NULL;

  EXPECT (prism_sandbox_get_status (sandbox) == PRISM_SANDBOX_STATUS_FAILED);
  EXPECT (is_state (prism_sandbox_exec (sandbox, command, NULL, &error) != NULL, &error));
  EXPECT (is_state (prism_sandbox_start_process (sandbox, command, NULL, &error) != NULL, &error));
  EXPECT (is_state (prism_sandbox_stat_file (sandbox, ".", NULL, &error) != NULL, &error));
  EXPECT (is_state (prism_sandbox_pause (sandbox, NULL, &error), &error));
  EXPECT (is_state (prism_sandbox_resume (sandbox, NULL, &error), &error));
  EXPECT (is_state (prism_sandbox_stop (sandbox, -1, NULL, &error), &error));
  EXPECT (is_state (prism_sandbox_kill (sandbox, NULL, &error), &error));
  EXPECT (is_state (prism_sandbox_close (sandbox, NULL, &error), &error));
  EXPECT (is_state (prism_process_wait (process, NULL, &error) != NULL, &error));
  EXPECT (is_state (prism_process_send_signal (process, SIGTERM, NULL, &error), &error));
  EXPECT (is_state (prism_process_kill (process, NULL, &error), &error));
  EXPECT (is_state (prism_process_release (process, NULL, &error), &error));
  /* One of its own is another matter. */
  g_autoptr (PrismSandbox) own = prism_backend_create_sandbox (f->backend, f->spec, NULL, &error);
  EXPECT (own != NULL);
  g_autoptr (PrismResult) result = prism_sandbox_exec (own, command, NULL, &error);
  EXPECT (result != NULL && prism_result_get_exit_code (result) == 0);
  EXPECT (prism_sandbox_close (own, NULL, &error));
}

static void
test_used_in_fork (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  g_autoptr (PrismProcess) process = library_start (sandbox, "echo begun; exec cat", 0);
  pid_t pid;

  library_expect (process, "begun");
  pid = fork ();
  if (pid == 0)
    {
      use_anothers (f, sandbox, process);
      _exit (0);
    }
  assert_ended_well (pid);
  assert_runs (sandbox);
  library_close (sandbox);
}

/* A sandbox ends with its host, also where a fork of that lives on and has all it had. */
static void
test_fork_outlives_host (LibraryFixture *f, gconstpointer data)
{
  int told[2], held[2];
  pid_t host;
  char byte;

  LIBRARY_UNTIL (own_agent_count () == 0);
  g_assert_cmpint (pipe2 (told, O_CLOEXEC), ==, 0);
  g_assert_cmpint (pipe2 (held, O_CLOEXEC), ==, 0);
  host = fork ();
  if (host == 0)
    {
      PrismSandbox *kept[3];
      close (held[1]);
      for (guint i = 0; i < G_N_ELEMENTS (kept); i++)
        EXPECT ((kept[i] = prism_backend_create_sandbox (f->backend, f->spec, NULL, NULL)) != NULL);
      if (fork () == 0)
        {
          (void)!read (held[0], &byte, 1); /* until the test is done */
          _exit (0);
        }
      EXPECT (write (told[1], "x", 1) == 1);
      pause ();
    }
  close (held[0]);
  g_assert_cmpint (read (told[0], &byte, 1), ==, 1);
  g_assert_cmpuint (own_agent_count (), >, 0);
  kill (host, SIGKILL);
  g_assert_cmpint (waitpid (host, NULL, 0), ==, host);
  LIBRARY_UNTIL (own_agent_count () == 0);
  close (held[1]);
  close (told[0]);
  close (told[1]);
}

/* --- few descriptors ------------------------------------------------------------------- */

static void
limit_files (rlim_t n)
{
  struct rlimit limit;

  EXPECT (getrlimit (RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = n;
  EXPECT (setrlimit (RLIMIT_NOFILE, &limit) == 0);
}

/* GLib ends the process where it finds no descriptor: none of our calls is to lead there. */
static gboolean
is_limit (gboolean done, GError **error)
{
  gboolean is = done || g_error_matches (*error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT)
                || (*error != NULL && strstr ((*error)->message, "ulimit -n") != NULL);

  if (!is)
    g_printerr ("%s\n", *error != NULL ? (*error)->message : "no error");
  g_clear_error (error);
  return is;
}

static PrismSandbox *sandbox_of_calls;
static LibraryFixture *fixture_of_calls;

static gboolean
run (gboolean terminal, GCancellable *cancellable)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("true");
  g_autoptr (GError) error = NULL;

  if (terminal)
    g_object_set (command, "pty-columns", 80, "pty-rows", 24, NULL);
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox_of_calls, command, cancellable, &error);
  return is_limit (result != NULL && prism_result_get_exit_code (result) == 0, &error);
}

static gboolean
call_exec (void)
{
  return run (FALSE, NULL);
}

static gboolean
call_exec_cancellable (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();

  return run (FALSE, cancellable);
}

static gboolean
call_exec_terminal (void)
{
  return run (TRUE, NULL);
}

static gpointer
exec_in_thread (gpointer data)
{
  return GINT_TO_POINTER (run (FALSE, NULL));
}

static gboolean
call_exec_in_thread (void)
{
  return GPOINTER_TO_INT (g_thread_join (g_thread_new ("caller", exec_in_thread, NULL)));
}

static gboolean
start_process (gboolean terminal)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("true");
  g_autoptr (GError) error = NULL;

  if (terminal)
    g_object_set (command, "pty-columns", 80, "pty-rows", 24, NULL);
  g_autoptr (PrismProcess) process = prism_sandbox_start_process (sandbox_of_calls, command, NULL, &error);
  g_autoptr (PrismResult) result = process != NULL ? prism_process_wait (process, NULL, &error) : NULL;
  return is_limit (result != NULL, &error);
}

static gboolean
call_start (void)
{
  return start_process (FALSE);
}

static gboolean
call_start_terminal (void)
{
  return start_process (TRUE);
}

static gboolean
call_export (void)
{
  g_autoptr (GOutputStream) to = g_memory_output_stream_new_resizable ();
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismTreeIdentity) identity = prism_sandbox_export_tree (sandbox_of_calls, ".", to, NULL, &error);

  return is_limit (identity != NULL, &error);
}

static gboolean
call_pause (void)
{
  g_autoptr (GError) error = NULL;
  gboolean paused = prism_sandbox_pause (sandbox_of_calls, NULL, &error);

  /* An ordinary user may have no freezer. */
  if (g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_SUPPORTED))
    return TRUE;
  return is_limit (paused, &error)
         && (prism_sandbox_get_status (sandbox_of_calls) != PRISM_SANDBOX_STATUS_STOPPED
             || is_limit (prism_sandbox_resume (sandbox_of_calls, NULL, &error), &error));
}

static gboolean
call_create (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox =
      prism_backend_create_sandbox (fixture_of_calls->backend, fixture_of_calls->spec, cancellable, &error);

  if (sandbox == NULL)
    return is_limit (FALSE, &error);
  return prism_sandbox_close (sandbox, NULL, NULL);
}

static gboolean
call_close (void)
{
  return prism_sandbox_close (sandbox_of_calls, NULL, NULL);
}

static void
call_with_few (gboolean (*call) (void))
{
  enum
  {
    FILES = 100,
    MOST_LEFT = 13
  };
  for (guint left = 0; left < MOST_LEFT; left++)
    {
      g_autoptr (PrismSandbox) sandbox =
          prism_backend_create_sandbox (fixture_of_calls->backend, fixture_of_calls->spec, NULL, NULL);
      int taken[FILES], n = 0, fd;
      EXPECT (sandbox != NULL);
      sandbox_of_calls = sandbox;
      EXPECT (run (FALSE, NULL));
      limit_files (FILES);
      while ((fd = open ("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        taken[n++] = fd;
      for (guint i = 0; i < left; i++)
        close (taken[--n]);
      EXPECT (call ());
      while (n > 0)
        close (taken[--n]);
      limit_files (1000);
      if (prism_sandbox_get_status (sandbox) == PRISM_SANDBOX_STATUS_STOPPED)
        EXPECT (prism_sandbox_resume (sandbox, NULL, NULL));
      if (call != call_close)
        {
          g_autoptr (PrismCommand) command = prism_command_new_shell ("true");
          g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, NULL);
          EXPECT (result != NULL);
          EXPECT (prism_sandbox_close (sandbox, NULL, NULL));
        }
    }
}

static void
test_no_descriptors (LibraryFixture *f, gconstpointer data)
{
  static const struct
  {
    const char *name;
    gboolean (*call) (void);
  } calls[] = {
    { "exec", call_exec },
    { "exec with a cancellable", call_exec_cancellable },
    { "exec on a terminal", call_exec_terminal },
    { "exec in a thread", call_exec_in_thread },
    { "start", call_start },
    { "start on a terminal", call_start_terminal },
    { "export", call_export },
    { "pause", call_pause },
    { "create", call_create },
    { "close", call_close },
  };

  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      pid_t pid;
      g_test_message ("%s", calls[i].name);
      pid = fork ();
      if (pid == 0)
        {
          fixture_of_calls = f;
          call_with_few (calls[i].call);
          _exit (0);
        }
      assert_ended_well (pid);
    }
}

/* As many as a program may have open are not what its sandboxes may have. */
static void
test_few_files (LibraryFixture *f, gconstpointer data)
{
  static const rlim_t limits[] = { 40, 64, 200 };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (limits); i++)
    {
      pid_t pid = fork ();
      if (pid == 0)
        {
          const rlim_t most = limits[i / 2];
          const struct rlimit hard = { most, most };
          if (i % 2 == 0)
            limit_files (most);
          else
            EXPECT (setrlimit (RLIMIT_NOFILE, &hard) == 0);
          for (guint k = 0; k < 3; k++)
            {
              g_autoptr (GError) error = NULL;
              g_autoptr (PrismSandbox) sandbox = prism_backend_create_sandbox (f->backend, f->spec, NULL, &error);
              if (error != NULL)
                g_printerr ("%u: %s\n", (guint)most, error->message);
              EXPECT (sandbox != NULL);
              sandbox_of_calls = sandbox;
              EXPECT (run (FALSE, NULL));
              EXPECT (prism_sandbox_close (sandbox, NULL, NULL));
            }
          _exit (0);
        }
      assert_ended_well (pid);
    }
}

/* What root has begun makes no sandbox for whom root has become since: it would be root's. */
static void
test_another_user (LibraryFixture *f, gconstpointer data)
{
  if (geteuid () != 0)
    return; /* nobody else can be become */
  for (guint before = 1; before < 4; before++)
    {
      pid_t pid = fork ();
      if (pid == 0)
        {
          g_autoptr (GError) error = NULL;
          for (guint i = 0; i < before; i++)
            {
              g_autoptr (PrismSandbox) root = prism_backend_create_sandbox (f->backend, f->spec, NULL, NULL);
              EXPECT (root != NULL && prism_sandbox_close (root, NULL, NULL));
            }
          EXPECT (seteuid (64001) == 0);
          EXPECT (prism_backend_create_sandbox (f->backend, f->spec, NULL, &error) == NULL);
          EXPECT (g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED));
          EXPECT (strstr (error->message, "another user") != NULL);
          EXPECT (seteuid (0) == 0);
          g_autoptr (PrismSandbox) again = prism_backend_create_sandbox (f->backend, f->spec, NULL, NULL);
          EXPECT (again != NULL && prism_sandbox_close (again, NULL, NULL));
          _exit (0);
        }
      assert_ended_well (pid);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  library_add_test ("/native/hosts/dropped-in-fork", test_dropped_in_fork);
  library_add_test ("/native/hosts/used-in-fork", test_used_in_fork);
  library_add_test ("/native/hosts/fork-outlives-host", test_fork_outlives_host);
  library_add_test ("/native/hosts/no-descriptors", test_no_descriptors);
  library_add_test ("/native/hosts/few-files", test_few_files);
  library_add_test ("/native/hosts/another-user", test_another_user);
  return own_agent_test_run ();
}
