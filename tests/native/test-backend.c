/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The backend as an application has it: from the registry, by its name. */
#include <errno.h>
#include <gio/gio.h>
#include <libprism/prism.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "by-library.h"

typedef struct
{
  char *path;
  PrismBackend *backend;
  PrismSandboxSpec *spec;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GFile) folder = NULL;

  f->path = g_dir_make_tmp ("prism-backend-XXXXXX", &error);
  g_assert_no_error (error);
  f->backend = prism_registry_create_backend (prism_registry_get_default (), "native", &error);
  g_assert_no_error (error);
  folder = g_file_new_for_path (f->path);
  f->spec = prism_sandbox_spec_new (folder);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  g_autofree char *command = g_strdup_printf ("rm -rf '%s'", f->path);

  g_assert_cmpint (system (command), ==, 0);
  g_object_unref (f->backend);
  g_object_unref (f->spec);
  g_free (f->path);
}

static void
assert_refused (Fixture *f, PrismSandboxError code, const char *word)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = prism_backend_create_sandbox (f->backend, f->spec, NULL, &error);

  g_assert_null (sandbox);
  g_assert_error (error, PRISM_SANDBOX_ERROR, (int)code);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, word));
}

static void
test_run (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  g_autoptr (PrismCapabilities) capabilities = prism_sandbox_dup_capabilities (sandbox);
  g_autofree char *output = library_run (sandbox, "id -u; pwd; echo out >file"), *file = NULL;

  g_assert_cmpstr (output, ==, "10001\n/workspace");
  file = g_build_filename (f->path, "file", NULL);
  g_assert_true (g_file_test (file, G_FILE_TEST_IS_REGULAR));
  g_assert_cmpuint (prism_capabilities_get_controls (capabilities), ==, 63);
  library_close (sandbox);
  library_close (sandbox);
}

static void
test_network_only (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismCapabilities) capabilities = NULL;
  g_autofree char *output = NULL;

  g_object_set (f->backend, "isolation", 1, NULL);
  sandbox = library_create (f->backend, f->spec);
  capabilities = prism_sandbox_dup_capabilities (sandbox);
  output =
      library_run (sandbox, "pwd; ls -d /proc/1/root /etc/shadow; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; "
                            "python3 -c 'import socket; socket.socket(socket.AF_UNIX)' 2>/dev/null || echo no unix; "
                            "python3 -c 'import socket; socket.socketpair()' && echo pair");
  g_test_message ("%s", output);
  g_assert_true (g_str_has_prefix (output, f->path));
  g_assert_nonnull (strstr (output, "/etc/shadow"));
  g_assert_nonnull (strstr (output, "\nlo\nno unix\npair"));
  g_assert_cmpuint (prism_capabilities_get_controls (capabilities), ==,
                    PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_EGRESS | PRISM_CONTROLS_WORKSPACE);
  library_close (sandbox);

  g_object_set (f->backend, "unix-sockets", 1, NULL);
  g_clear_object (&sandbox);
  g_clear_pointer (&capabilities, prism_capabilities_unref);
  sandbox = library_create (f->backend, f->spec);
  capabilities = prism_sandbox_dup_capabilities (sandbox);
  g_assert_cmpuint (prism_capabilities_get_controls (capabilities), ==, PRISM_CONTROLS_WORKSPACE);
  library_close (sandbox);
}

static void
test_require (Fixture *f, gconstpointer data)
{
  g_object_set (f->backend, "isolation", 1, NULL);
  g_object_set (f->spec, "require", PRISM_CONTROLS_FILESYSTEM | PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_PRIVILEGE,
                NULL);
  assert_refused (f, PRISM_SANDBOX_ERROR_REFUSED, "filesystem");
  assert_refused (f, PRISM_SANDBOX_ERROR_REFUSED, "privilege");
}

static void
test_netns_command (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismCapabilities) capabilities = NULL;
  g_autofree char *first = NULL, *second = NULL, *up = NULL, *caps = NULL;

  g_object_set (f->backend, "netns", 1, NULL);
  sandbox = library_create (f->backend, f->spec);
  capabilities = prism_sandbox_dup_capabilities (sandbox);
  first = library_run (sandbox, "readlink /proc/self/ns/net");
  second = library_run (sandbox, "readlink /proc/self/ns/net");
  up = library_run (sandbox,
                    "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; cat /sys/class/net/lo/operstate 2>/dev/null; "
                    "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0))' 2>&1 | tail -1");
  caps = library_run (sandbox, "grep -E 'Cap(Eff|Prm|Bnd)|Seccomp:|NoNew' /proc/self/status | tr -d ' \\t\\n'");
  g_test_message ("%s %s %s", first, second, up);
  g_assert_cmpstr (first, !=, second);
  g_assert_true (g_str_has_prefix (up, "lo"));
  g_assert_cmpstr (caps, ==,
                   "CapPrm:0000000000000000CapEff:0000000000000000CapBnd:0000000000000000NoNewPrivs:1Seccomp:2");
  g_assert_cmpuint (prism_capabilities_get_controls (capabilities), ==, 63);
  library_close (sandbox);
}

static void
test_framed (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autofree char *output = NULL;

  g_object_set (f->backend, "channel", 1, NULL);
  sandbox = library_create (f->backend, f->spec);
  output = library_run (sandbox, "echo framed");
  g_assert_cmpstr (output, ==, "framed");
  library_close (sandbox);
}

static void
test_limits (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismCapabilities) capabilities = NULL;
  PrismLimits *limits = prism_sandbox_spec_get_limits (f->spec);
  g_autoptr (GError) error = NULL;
  g_autofree char *output = NULL;
  const char *evidence;

  g_assert_true (prism_limits_set (limits, "max-pids", 16, &error));
  g_assert_true (prism_limits_set (limits, "memory-bytes", 128 << 20, &error));
  g_assert_true (prism_limits_set (limits, "tmp-bytes", 1 << 20, &error));
  sandbox = library_create (f->backend, f->spec);
  capabilities = prism_sandbox_dup_capabilities (sandbox);
  evidence = prism_capabilities_get_evidence (capabilities, "max-pids");
  g_test_message ("max-pids: %s", evidence);
  g_assert_nonnull (strstr (evidence, geteuid () == 0 ? "pids.max" : "RLIMIT_NPROC"));
  output = library_run (sandbox, "python3 - <<'EOF'\n"
                                 "import os\n"
                                 "n = 0\n"
                                 "r, w = os.pipe()\n"
                                 "try:\n"
                                 "  while n < 100:\n"
                                 "    if os.fork() == 0:\n"
                                 "      os.close(w); os.read(r, 1); os._exit(0)\n"
                                 "    n += 1\n"
                                 "except BlockingIOError:\n"
                                 "  pass\n"
                                 "print(n)\n"
                                 "os.close(w)\n"
                                 "EOF\n");
  g_test_message ("forks: %s", output);
  g_assert_cmpint (atoi (output), >=, 10);
  g_assert_cmpint (atoi (output), <=, 16);
  g_free (output);
  output = library_run (sandbox, "python3 -c 'b = bytearray(400 << 20)' >/dev/null 2>&1; echo $?");
  g_assert_cmpstr (output, !=, "0");
  g_free (output);
  output = library_run (sandbox, "head -c 2M /dev/zero >/tmp/x 2>/dev/null; echo $?");
  g_assert_cmpstr (output, ==, "1");
  library_close (sandbox);
}

static gboolean
cancel_soon (gpointer cancellable)
{
  g_cancellable_cancel (cancellable);
  return G_SOURCE_REMOVE;
}

static void
on_accepted (GObject *source, GAsyncResult *result, gpointer data)
{
  GAsyncResult **came = data;

  *came = g_object_ref (result);
}

/* One that is full takes nothing of another's, though both have the same ids outside. */
static void
test_limits_apart (Fixture *f, gconstpointer data)
{
  static const char fill[] = "i=0; while [ $i -lt 40 ]; do (exec sleep 100 >/dev/null 2>&1 </dev/null) & i=$((i + 1)); "
                             "done 2>/dev/null; echo full";
  g_autoptr (GError) error = NULL;
  g_assert_true (prism_limits_set (prism_sandbox_spec_get_limits (f->spec), "max-pids", 24, &error));
  g_autoptr (PrismSandbox) full = library_create (f->backend, f->spec), other = library_create (f->backend, f->spec);
  const char *const argv[] = { "sh", "-c", fill, NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (PrismResult) result = prism_sandbox_exec (full, command, NULL, &error);
  g_assert_no_error (error);
  g_autofree char *output = library_run (
      other, "n=0; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 100 >/dev/null 2>&1 & n=$((n + 1)); done; echo $n");
  g_assert_cmpstr (output, ==, "10");
  library_close (other);
  library_close (full);
}

/* A command that dials in its first moment finds no network of the host's, ever. */
static void
test_network_first (Fixture *f, gconstpointer data)
{
  g_autoptr (GSocketListener) listener = g_socket_listener_new ();
  g_autoptr (GError) error = NULL;
  guint16 port = g_socket_listener_add_any_inet_port (listener, NULL, &error);
  g_autofree char *script = g_strdup_printf ("exec 3<>/dev/tcp/127.0.0.1/%u", port);
  const char *const argv[] = { "bash", "-c", script, NULL };
  g_autoptr (GCancellable) at_once = g_cancellable_new ();

  g_assert_no_error (error);
  for (guint i = 0; i < 40; i++)
    {
      g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
      g_autoptr (PrismCommand) command = prism_command_new (argv);
      g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpint (prism_result_get_exit_code (result), !=, 0);
      library_close (sandbox);
    }
  /* Would be in the queue, if anybody had come through. */
  g_timeout_add (1, cancel_soon, at_once);
  GAsyncResult *came = NULL;
  g_socket_listener_accept_async (listener, at_once, on_accepted, &came);
  while (came == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_autoptr (GSocketConnection) connection = g_socket_listener_accept_finish (listener, came, NULL, NULL);
  g_assert_null (connection);
  g_object_unref (came);
  g_socket_listener_close (listener);
}

static void
test_memory_is_named (Fixture *f, gconstpointer data)
{
  g_test_summary ("A command that the kernel killed for its memory says which limit that was");
  g_autoptr (GError) error = NULL;
  g_assert_true (prism_limits_set (prism_sandbox_spec_get_limits (f->spec), "memory-bytes", 128 << 20, &error));
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  const char *const argv[] = { "python3", "-c", "b = b'x' * (400 << 20)", NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);
  g_assert_no_error (error);
  /* Without control groups each process has its own bound, and sees its allocation fail. */
  if (geteuid () == 0)
    {
      g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_SIGNALLED);
      g_assert_cmpstr (prism_result_get_limit (result), ==, "memory-bytes");
    }
  else
    g_assert_cmpint (prism_result_get_exit_code (result), ==, 1);
  g_autoptr (PrismCommand) killed = prism_command_new_shell ("kill -9 $$");
  g_autoptr (PrismResult) plain = prism_sandbox_exec (sandbox, killed, NULL, &error);
  g_assert_cmpint (prism_result_get_outcome (plain), ==, PRISM_OUTCOME_SIGNALLED);
  g_assert_null (prism_result_get_limit (plain));
  library_close (sandbox);
}

static void
test_unenforceable (Fixture *f, gconstpointer data)
{
  PrismLimits *limits = prism_sandbox_spec_get_limits (f->spec);
  g_autoptr (GError) error = NULL;

  g_assert_true (prism_limits_set (limits, "cpu-millis", 500, &error));
  if (geteuid () != 0)
    {
      assert_refused (f, PRISM_SANDBOX_ERROR_REFUSED, "cpu-millis");
      return;
    }
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  g_autoptr (PrismCapabilities) capabilities = prism_sandbox_dup_capabilities (sandbox);
  g_assert_nonnull (strstr (prism_capabilities_get_evidence (capabilities, "cpu-millis"), "cfs_quota"));
  library_close (sandbox);
}

static void
test_copy (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autofree char *output = NULL, *path = g_build_filename (f->path, "file", NULL), *text = NULL;

  g_assert_true (g_file_set_contents (path, "host", -1, NULL));
  g_object_set (f->spec, "workspace-mode", PRISM_WORKSPACE_MODE_COPY, NULL);
  sandbox = library_create (f->backend, f->spec);
  output = library_run (sandbox, "cat file; echo inside >file; mkdir -p a/b; mv a c; touch c/b/x; ls c/b; cat file");
  g_assert_cmpstr (output, ==, "hostx\ninside");
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "host");
  library_close (sandbox);
}

#define LANES       4
#define LANE_ROUNDS 6

static gpointer
run_lane (gpointer data)
{
  Fixture *f = data;
  for (guint i = 0; i < LANE_ROUNDS; i++)
    {
      g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
      g_autoptr (PrismCapabilities) capabilities = prism_sandbox_dup_capabilities (sandbox);
      g_autofree char *output = library_run (sandbox, "echo lane");
      g_assert_cmpstr (output, ==, "lane");
      g_assert_cmpuint (prism_capabilities_get_controls (capabilities), ==, 63);
      if (i % 2 == 0)
        library_close (sandbox);
    }
  return NULL;
}

static void
on_created (GObject *source, GAsyncResult *result, gpointer data)
{
  PrismSandbox **sandbox = data;
  g_autoptr (GError) error = NULL;

  *sandbox = prism_backend_create_sandbox_finish (PRISM_BACKEND (source), result, &error);
  g_assert_no_error (error);
}

/* One backend for many threads, and for a main loop beside them. */
static void
test_threads (Fixture *f, gconstpointer data)
{
  GThread *threads[LANES];

  for (guint i = 0; i < LANES; i++)
    threads[i] = g_thread_new ("lane", run_lane, f);
  for (guint i = 0; i < LANE_ROUNDS; i++)
    {
      g_autoptr (PrismSandbox) sandbox = NULL;
      prism_backend_create_sandbox_async (f->backend, f->spec, NULL, on_created, &sandbox);
      while (sandbox == NULL)
        g_main_context_iteration (NULL, TRUE);
      g_autofree char *output = library_run (sandbox, "echo loop");
      g_assert_cmpstr (output, ==, "loop");
      library_close (sandbox);
    }
  for (guint i = 0; i < LANES; i++)
    g_thread_join (threads[i]);
}

static void
test_missing (Fixture *f, gconstpointer data)
{
  g_autoptr (GFile) folder = g_file_new_for_path ("/nonexistent/folder");

  g_object_set (f->spec, "workspace", folder, NULL);
  assert_refused (f, PRISM_SANDBOX_ERROR_NOT_FOUND, "/nonexistent/folder");
}

static void
test_probe (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismHealthReport) report = prism_backend_probe (f->backend, NULL, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (report)); i++)
    {
      g_autoptr (PrismHealthCheck) check = g_list_model_get_item (G_LIST_MODEL (report), i);
      g_test_message ("%s %d: %s [%s]", prism_health_check_get_id (check), prism_health_check_get_status (check),
                      prism_health_check_get_summary (check), prism_health_check_get_remedy (check));
      g_assert_cmpint (prism_health_check_get_status (check), !=, PRISM_HEALTH_STATUS_FAIL);
    }
  g_assert_cmpuint (prism_health_report_get_enforced (report), ==, 63);
}

static void
add_test (const char *path, void (*test) (Fixture *, gconstpointer))
{
  g_test_add (path, Fixture, NULL, set_up, test, tear_down);
}

/* --- prepared for ------------------------------------------------------------- */

static void
assert_childless (void)
{
  g_assert_cmpint (waitpid (-1, NULL, WNOHANG), ==, -1);
  g_assert_cmpint (errno, ==, ECHILD);
}

/* Each in a process of its own: only its first sandbox is prepared for. */
static void
test_prepared (Fixture *f, gconstpointer data)
{
  const char *how = data;
  g_autofree char *path = g_strconcat ("/native/backend/prepared-", how, NULL), *output = NULL;
  g_autoptr (PrismSandbox) sandbox = NULL;

  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (path, 0, G_TEST_SUBPROCESS_DEFAULT);
      g_test_trap_assert_passed ();
      return;
    }
  prism_backend_prepare (f->backend);
  prism_backend_prepare (f->backend);
  if (g_str_equal (how, "unused"))
    {
      /* One that was not asked for ends with the backend. */
      g_assert_cmpint (waitpid (-1, NULL, WNOHANG), ==, 0);
      g_clear_object (&f->backend);
      assert_childless ();
      f->backend = prism_registry_create_backend (prism_registry_get_default (), "native", NULL);
      return;
    }
  if (g_str_equal (how, "changed"))
    g_object_set (f->backend, "netns", 1, NULL);
  if (g_str_equal (how, "hidden"))
    prism_sandbox_spec_add_hide (f->spec, "/usr/share");
  sandbox = library_create (f->backend, f->spec);
  output = library_run (sandbox, "id -u; pwd; ls /usr/share >/dev/null 2>&1 && echo seen");
  g_assert_cmpstr (output, ==, g_str_equal (how, "hidden") ? "10001\n/workspace" : "10001\n/workspace\nseen");
  library_close (sandbox);
  g_clear_object (&sandbox);
  assert_childless ();
}

int
main (int argc, char **argv)
{
  static const char *const prepared[] = { "used", "unused", "changed", "hidden" };

  g_test_init (&argc, &argv, NULL);
  add_test ("/native/backend/run", test_run);
  add_test ("/native/backend/network-only", test_network_only);
  add_test ("/native/backend/require", test_require);
  add_test ("/native/backend/netns-command", test_netns_command);
  add_test ("/native/backend/framed", test_framed);
  add_test ("/native/backend/limits", test_limits);
  add_test ("/native/backend/limits-apart", test_limits_apart);
  add_test ("/native/backend/network-first", test_network_first);
  add_test ("/native/backend/memory-is-named", test_memory_is_named);
  add_test ("/native/backend/unenforceable", test_unenforceable);
  add_test ("/native/backend/copy", test_copy);
  add_test ("/native/backend/threads", test_threads);
  add_test ("/native/backend/missing", test_missing);
  add_test ("/native/backend/probe", test_probe);
  for (guint i = 0; i < G_N_ELEMENTS (prepared); i++)
    {
      g_autofree char *path = g_strconcat ("/native/backend/prepared-", prepared[i], NULL);
      g_test_add (path, Fixture, prepared[i], set_up, test_prepared, tear_down);
    }
  return g_test_run ();
}
