/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What one command gets of its own: a terminal that leads to no other one, and with
 * netns=command a network that nobody else sees. */
#include "library-fixture.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Says of each of these what came of it: done, or the errno's name. */
#define TRY                                                                                                            \
  "import ctypes, errno, os\n"                                                                                         \
  "libc = ctypes.CDLL(None, use_errno=True)\n"                                                                         \
  "def say(name, result):\n"                                                                                           \
  "    print(name, 'done' if result != -1 else errno.errorcode[ctypes.get_errno()])\n"                                 \
  "letter = ctypes.create_string_buffer(b'x')\n"

#define TIOCSTI_NUMBERS                                                                                                \
  TRY "for request in (0x5412, 0x1_0000_5412, 0xffff_ffff_0000_5412):\n"                                               \
      "    say(hex(request), libc.syscall(" G_STRINGIFY (                                                              \
          SYS_ioctl) ", 0, ctypes.c_ulong(request), letter))\n"                                                        \
                     "say('console', libc.syscall(" G_STRINGIFY (                                                      \
                         SYS_ioctl) ", 0, ctypes.c_ulong(0x541c), letter))\n"                                          \
                                    "say('discipline', libc.syscall(" G_STRINGIFY (                                    \
                                        SYS_ioctl) ", 0, ctypes.c_ulong(0x5423), letter))\n"

static PrismCommand *
python (const char *program)
{
  const char *const argv[] = { "python3", "-c", program, NULL };
  return prism_command_new (argv);
}

static char *
run_command (PrismSandbox *sandbox, PrismCommand *command)
{
  g_autoptr (PrismCommand) owned = command;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, owned, NULL, &error);
  char *text;

  g_assert_no_error (error);
  text = g_strchomp (prism_result_dup_stdout_text (result));
  g_test_message ("%s", text);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, 0);
  return text;
}

/* Its own terminal is one on which nothing is typed for others, whatever the number's
 * upper half says. */
static void
test_own_terminal (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  PrismCommand *command = python (TIOCSTI_NUMBERS);
  g_autofree char *text = NULL;

  prism_command_set_pty_size (command, 80, 24);
  text = run_command (sandbox, command);
  g_assert_cmpstr (
      text, ==, "0x5412 EPERM\r\n0x100005412 EPERM\r\n0xffffffff00005412 EPERM\r\nconsole EPERM\r\ndiscipline EPERM");
  library_close (sandbox);
}

/* Without one there is none: not the caller's either. */
static void
test_no_terminal (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  g_autofree char *text = run_command (sandbox, python (TRY "try:\n"
                                                            "    os.open('/dev/tty', os.O_RDWR)\n"
                                                            "    print('opened')\n"
                                                            "except OSError as e:\n"
                                                            "    print(errno.errorcode[e.errno])\n"
                                                            "print(os.getsid(0) != os.getsid(os.getppid()))\n"));

  g_assert_cmpstr (text, ==, "ENXIO\nTrue");
  library_close (sandbox);
}

/* --- a network for each ------------------------------------------------------------------ */

static void
test_network_each (LibraryFixture *f, gconstpointer data)
{
  const char *look = "readlink /proc/self/ns/net; grep -c : /proc/net/dev; cat /sys/class/net/lo/operstate 2>/dev/null "
                     "|| echo down; grep CapEff /proc/self/status | tr -d '[:space:]'; echo; "
                     "grep Seccomp: /proc/self/status | tr -d '[:space:]'";
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismCapabilities) capabilities = NULL;
  g_auto (GStrv) first = NULL, second = NULL;

  g_object_set (f->backend, "netns", 1, NULL);
  sandbox = library_create (f->backend, f->spec);
  capabilities = prism_sandbox_dup_capabilities (sandbox);
  g_assert_true (prism_capabilities_get_network_isolated (capabilities));
  for (int i = 0; i < 2; i++)
    {
      g_autofree char *text = library_run (sandbox, look);
      g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
      g_assert_cmpuint (g_strv_length (lines), ==, 5);
      g_assert_cmpstr (lines[1], ==, "1"); /* loopback and no other */
      g_assert_cmpstr (lines[2], ==, "down");
      g_assert_cmpstr (lines[3], ==, "CapEff:0000000000000000");
      g_assert_cmpstr (lines[4], ==, "Seccomp:2");
      *(i == 0 ? &first : &second) = g_steal_pointer (&lines);
    }
  g_assert_cmpstr (first[0], !=, second[0]);
  library_close (sandbox);
}

/* What one command listens on is not there for another, though it runs. */
static void
test_network_apart (LibraryFixture *f, gconstpointer data)
{
  const char *serve = "import socket\n"
                      "s = socket.socket()\n"
                      "s.bind(('0.0.0.0', 7070))\n"
                      "s.listen()\n"
                      "print('listens', flush=True)\n"
                      "s.accept()\n";
  const char *call = TRY "import socket\n"
                         "s = socket.socket()\n"
                         "print(errno.errorcode[s.connect_ex(('127.0.0.1', 7070))])\n";
  g_autoptr (PrismCommand) server = python (serve);
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismProcess) process = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  g_object_set (f->backend, "netns", 1, NULL);
  sandbox = library_create (f->backend, f->spec);
  process = prism_sandbox_start_process (sandbox, server, NULL, &error);
  g_assert_no_error (error);
  library_expect (process, "listens\n");
  text = run_command (sandbox, python (call));
  g_assert_cmpstr (text, ==, "ENETUNREACH");
  library_close (sandbox);
}

/* With the default they share one, whose loopback is up. */
static void
test_network_shared (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  g_autofree char *first = library_run (sandbox, "readlink /proc/self/ns/net");
  g_autofree char *second = library_run (sandbox, "readlink /proc/self/ns/net");
  g_autofree char *refused =
      run_command (sandbox, python (TRY "import socket\n"
                                        "s = socket.socket()\n"
                                        "print(errno.errorcode[s.connect_ex(('127.0.0.1', 7070))])\n"));

  g_assert_cmpstr (first, ==, second);
  g_assert_cmpstr (refused, ==, "ECONNREFUSED");
  library_close (sandbox);
}

/* --- where the user's quota of epoll's watches is used up -------------------------------- */

static gint is_used_up; /* atomic */

/* The library's calls come here, as the program's names go before the C library's. */
int
epoll_ctl (int set, int op, int fd, struct epoll_event *event)
{
  if (op == EPOLL_CTL_ADD && g_atomic_int_get (&is_used_up))
    {
      errno = ENOSPC;
      return -1;
    }
  return (int)syscall (SYS_epoll_ctl, set, op, fd, event);
}

static void
keep_result (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GError) error = NULL;

  *(PrismResult **)data = prism_sandbox_exec_finish (PRISM_SANDBOX (source), result, &error);
  g_assert_no_error (error);
}

static gboolean
give_up (gpointer data)
{
  g_error ("a command has not come to its end");
  return G_SOURCE_REMOVE;
}

/* Two commands at once: one that takes in and gives out more than a pipe holds, and one that
 * is to be ended in time. */
static void
run_beside (PrismSandbox *sandbox)
{
  g_autofree char *much = g_strnfill (1 << 20, 'x');
  g_autoptr (GBytes) bytes = g_bytes_new (much, 1 << 20);
  g_autoptr (PrismCommand) copies = prism_command_new_shell ("cat"), stays = prism_command_new_shell ("sleep 600");
  PrismResult *copied = NULL, *ended = NULL;

  prism_command_set_stdin_bytes (copies, bytes);
  prism_command_set_timeout_ms (stays, 100);
  prism_sandbox_exec_async (sandbox, copies, NULL, keep_result, &copied);
  prism_sandbox_exec_async (sandbox, stays, NULL, keep_result, &ended);
  guint patience = g_timeout_add_seconds (30, give_up, NULL);
  while (copied == NULL || ended == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (patience);
  g_assert_cmpint (prism_result_get_outcome (copied), ==, PRISM_OUTCOME_EXITED);
  g_assert_true (g_bytes_equal (prism_result_get_stdout (copied), bytes));
  g_assert_cmpint (prism_result_get_outcome (ended), ==, PRISM_OUTCOME_TIMED_OUT);
  g_object_unref (copied);
  g_object_unref (ended);
}

/* A sandbox can use it up, of all programs of the same user: others end in time all the same.
 * Once with the library's thread there already, once where that has to start. */
static void
test_no_watches_left (LibraryFixture *f, gconstpointer data)
{
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
      if (i == 0)
        run_beside (sandbox);
      g_atomic_int_set (&is_used_up, TRUE);
      run_beside (sandbox);
      run_beside (sandbox);
      g_atomic_int_set (&is_used_up, FALSE);
      run_beside (sandbox);
      library_close (sandbox);
    }
}

static void
on_status (PrismSandbox *sandbox, GParamSpec *pspec, gpointer data)
{
  g_assert_cmpint (prism_sandbox_get_status (sandbox), !=, PRISM_SANDBOX_STATUS_FAILED);
}

/* With it the sandbox begins to end, which is no failure: nothing more can be asked, and all
 * that ran beside it ends before it is closed. */
static void
test_last (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  g_autoptr (PrismCommand) command = prism_command_new_shell ("echo done"),
                           next = prism_command_new_shell ("echo more");
  g_autoptr (PrismProcess) beside = library_start (sandbox, "echo up; exec sleep 1000", 0);
  g_autoptr (PrismResult) result = NULL, ended = NULL, none = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  g_signal_connect (sandbox, "notify::status", G_CALLBACK (on_status), NULL);
  library_expect (beside, "up");
  prism_command_set_last (command, TRUE);
  result = prism_sandbox_exec (sandbox, command, NULL, &error);
  g_assert_no_error (error);
  text = prism_result_dup_stdout_text (result);
  g_assert_cmpstr (text, ==, "done\n");
  g_assert_cmpint (prism_result_get_exit_code (result), ==, 0);

  ended = library_wait (beside);
  g_assert_cmpint (prism_result_get_outcome (ended), ==, PRISM_OUTCOME_LOST);
  none = prism_sandbox_exec (sandbox, next, NULL, &error);
  g_assert_null (none);
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
  g_assert_nonnull (strstr (error->message, "last command"));
  g_clear_error (&error);
  g_assert_null (prism_sandbox_read_file (sandbox, "x", 0, -1, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
  library_close (sandbox);
}

static void
assert_exits (PrismSandbox *sandbox, int code, gboolean last)
{
  g_autofree char *line = g_strdup_printf ("exit %d", code);
  g_autoptr (PrismCommand) command = prism_command_new_shell (line);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismResult) result = NULL;

  prism_command_set_last (command, last);
  result = prism_sandbox_exec (sandbox, command, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, code);
}

static gpointer
run_some_and_last (gpointer data)
{
  LibraryFixture *f = data;
  g_autoptr (GFile) folder = g_file_new_for_path (f->folder);

  for (int i = 0; i < 60; i++)
    {
      g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (folder);
      g_autoptr (PrismSandbox) sandbox = library_create (f->backend, spec);
      assert_exits (sandbox, 3, FALSE);
      assert_exits (sandbox, 4, FALSE);
      assert_exits (sandbox, 5, TRUE);
      library_close (sandbox);
    }
  return NULL;
}

/* Its supervisor may have just had another, and not have come to rest yet. */
static void
test_last_after_others (LibraryFixture *f, gconstpointer data)
{
  GThread *threads[6];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("last", run_some_and_last, f);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  library_add_test ("/native/commands/own-terminal", test_own_terminal);
  library_add_test ("/native/commands/no-terminal", test_no_terminal);
  library_add_test ("/native/commands/network-each", test_network_each);
  library_add_test ("/native/commands/network-apart", test_network_apart);
  library_add_test ("/native/commands/network-shared", test_network_shared);
  library_add_test ("/native/commands/no-watches-left", test_no_watches_left);
  library_add_test ("/native/commands/last", test_last);
  library_add_test ("/native/commands/last-after-others", test_last_after_others);
  return g_test_run ();
}
