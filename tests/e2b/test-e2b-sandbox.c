/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The backend against a local server that speaks the service's wire, with faults.
 * house: allow long file: one scenario a function, all with one fixture. */
#include <json-glib/json-glib.h>
#include <libprism/prism.h>
#include <libsoup/soup.h>
#include <signal.h>
#include <string.h>

#define KEY "e2b_0123456789abcdef"

typedef struct
{
  GSubprocess *server;
  char *url;
  char *folder; /* the sandboxes' workspace, which is of this machine */
  PrismBackend *backend;
  PrismSandbox *sandbox;
} Box;

/* --- the server ------------------------------------------------------------------------------ */

static char *
http (Box *box, const char *method, const char *path, const char *body)
{
  g_autoptr (SoupSession) session = soup_session_new ();
  g_autofree char *uri = g_strconcat (box->url, path, NULL);
  g_autoptr (SoupMessage) message = soup_message_new (method, uri);
  g_autoptr (GBytes) bytes = body != NULL ? g_bytes_new_static (body, strlen (body)) : NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) answer = NULL;

  if (bytes != NULL)
    soup_message_set_request_body_from_bytes (message, "application/json", bytes);
  answer = soup_session_send_and_read (session, message, NULL, &error);
  g_assert_no_error (error);
  return g_strndup (g_bytes_get_data (answer, NULL), g_bytes_get_size (answer));
}

static void
set_faults (Box *box, const char *json)
{
  g_free (http (box, "PUT", "/faults", json));
}

static gint64
count (Box *box, const char *name)
{
  g_autofree char *text = http (box, "GET", "/counts", NULL);
  g_autoptr (JsonNode) node = json_from_string (text, NULL);
  return json_object_get_int_member (json_node_get_object (node), name);
}

/* What looks for a command's end is over a moment after the command. */
static void
assert_none_left (Box *box)
{
  gint64 deadline = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;

  while (count (box, "processes") > 0 && g_get_monotonic_time () < deadline)
    g_thread_yield ();
  g_assert_cmpint (count (box, "processes"), ==, 0);
}

static void
set_up (Box *box, gconstpointer data)
{
  g_autofree char *script = g_build_filename (g_getenv ("PRISM_SOURCE_ROOT"), "tests", "lib", "e2b-server.mjs", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GDataInputStream) lines = NULL;
  g_autofree char *line = NULL;

  box->server =
      g_subprocess_new (G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error, "node", script, NULL);
  g_assert_no_error (error);
  lines = g_data_input_stream_new (g_subprocess_get_stdout_pipe (box->server));
  g_filter_input_stream_set_close_base_stream (G_FILTER_INPUT_STREAM (lines), FALSE);
  line = g_data_input_stream_read_line (lines, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_str_has_prefix (line, "listening "));
  box->url = g_strconcat ("http://127.0.0.1:", line + strlen ("listening "), NULL);
  box->folder = g_dir_make_tmp ("e2b-XXXXXX", &error);
  g_assert_no_error (error);
  box->backend = prism_registry_create_backend (prism_registry_get_default (), "e2b", &error);
  g_assert_no_error (error);
  g_object_set (box->backend, "api-key", KEY, "api-url", box->url, "sandbox-url", box->url, NULL);
}

static void
tear_down (Box *box, gconstpointer data)
{
  const char *argv[] = { "rm", "-rf", "--", box->folder, NULL };

  if (box->sandbox != NULL)
    {
      g_autoptr (GError) error = NULL;
      prism_sandbox_close (box->sandbox, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpint (prism_sandbox_get_status (box->sandbox), ==, PRISM_SANDBOX_STATUS_REMOVED);
      g_clear_object (&box->sandbox);
    }
  g_assert_cmpint (count (box, "living"), ==, 0);
  g_clear_object (&box->backend);
  g_output_stream_close (g_subprocess_get_stdin_pipe (box->server), NULL, NULL);
  g_subprocess_wait (box->server, NULL, NULL);
  g_clear_object (&box->server);
  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
  g_free (box->folder);
  g_free (box->url);
}

/* --- help --------------------------------------------------------------------------------------- */

static PrismSandboxSpec *
make_spec (Box *box)
{
  PrismSandboxSpec *spec = prism_sandbox_spec_new (NULL);

  g_object_set (spec, "sandbox-path", box->folder, NULL);
  prism_sandbox_spec_set_variable (spec, "COLOUR", "blue");
  return spec;
}

static void
make (Box *box)
{
  g_autoptr (PrismSandboxSpec) spec = make_spec (box);
  g_autoptr (GError) error = NULL;

  box->sandbox = prism_backend_create_sandbox (box->backend, spec, NULL, &error);
  g_assert_no_error (error);
}

static PrismResult *
run (Box *box, PrismCommand *command)
{
  g_autoptr (GError) error = NULL;
  PrismResult *result = prism_sandbox_exec (box->sandbox, command, NULL, &error);

  g_assert_no_error (error);
  return result;
}

static PrismResult *
sh (Box *box, const char *line)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell (line);
  return run (box, command);
}

static void
assert_out (PrismResult *result, const char *text)
{
  g_autofree char *out = prism_result_dup_stdout_text (result);

  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_EXITED);
  g_assert_cmpstr (out, ==, text);
}

static PrismSandbox *
create_fails (Box *box, int code, const char *says)
{
  g_autoptr (PrismSandboxSpec) spec = make_spec (box);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = prism_backend_create_sandbox (box->backend, spec, NULL, &error);

  g_test_message ("%s", error != NULL ? error->message : "it was made");
  g_assert_error (error, PRISM_SANDBOX_ERROR, code);
  g_assert_nonnull (strstr (error->message, says));
  g_assert_null (strstr (error->message, KEY));
  return NULL;
}

/* --- commands ------------------------------------------------------------------------------------- */

static void
test_exec (Box *box, gconstpointer data)
{
  const char *argv[] = { "printf", "%s.", "a b", "$HOME", "", NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv),
                           input = prism_command_new_shell ("cat; echo $COLOUR $OWN");
  g_autoptr (GBytes) bytes = g_bytes_new_static ("in\n", 3);
  g_autoptr (PrismResult) plain = NULL, exit3 = NULL, signalled = NULL, fed = NULL, where = NULL;
  g_autofree char *err = NULL, *folder = NULL;

  make (box);
  plain = run (box, command);
  assert_out (plain, "a b.$HOME..");
  exit3 = sh (box, "echo no >&2; exit 3");
  g_assert_cmpint (prism_result_get_exit_code (exit3), ==, 3);
  err = prism_result_dup_stderr_text (exit3);
  g_assert_cmpstr (err, ==, "no\n");
  signalled = sh (box, "kill -9 $$");
  g_assert_cmpint (prism_result_get_outcome (signalled), ==, PRISM_OUTCOME_SIGNALLED);
  g_assert_cmpint (prism_result_get_term_signal (signalled), ==, SIGKILL);
  prism_command_set_stdin_bytes (input, bytes);
  prism_command_set_variable (input, "OWN", "red");
  fed = run (box, input);
  assert_out (fed, "in\nblue red\n");
  where = sh (box, "pwd");
  folder = g_strconcat (box->folder, "\n", NULL);
  assert_out (where, folder);
}

static void
assert_refused (Box *box, const char *name, int code)
{
  const char *argv[] = { name, "x", NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (GError) error = NULL;

  g_assert_null (prism_sandbox_exec (box->sandbox, command, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, code);
}

static void
test_missing (Box *box, gconstpointer data)
{
  const char *argv[] = { "env", "sh", "-c", "exit 127", NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (PrismResult) own = NULL, line = NULL, made = NULL;

  make (box);
  assert_refused (box, "no-such-command", PRISM_SANDBOX_ERROR_NOT_FOUND);
  assert_refused (box, "/no/such/command", PRISM_SANDBOX_ERROR_NOT_FOUND);
  assert_refused (box, "./here", PRISM_SANDBOX_ERROR_NOT_FOUND);
  made = sh (box, "echo true >here");
  assert_refused (box, "./here", PRISM_SANDBOX_ERROR_NOT_EXECUTABLE);
  assert_refused (box, "/", PRISM_SANDBOX_ERROR_NOT_EXECUTABLE);
  own = run (box, command);
  g_assert_cmpint (prism_result_get_exit_code (own), ==, 127);
  line = sh (box, "no-such-command");
  g_assert_cmpint (prism_result_get_exit_code (line), ==, 127);
}

static void
test_large (Box *box, gconstpointer data)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("wc -c");
  g_autofree char *text = g_strnfill (1000 * 1000, 'x');
  g_autoptr (GBytes) bytes = g_bytes_new_static (text, strlen (text));
  g_autoptr (PrismResult) in = NULL, out = NULL;

  make (box);
  prism_command_set_stdin_bytes (command, bytes);
  in = run (box, command);
  assert_out (in, "1000000\n");
  out = sh (box, "head -c 3000000 /dev/zero");
  g_assert_cmpuint (prism_result_get_stdout_total (out), ==, 3000000);
}

static void
test_timeout (Box *box, gconstpointer data)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("echo begun; exec sleep 1000");
  g_autoptr (PrismResult) result = NULL;

  make (box);
  prism_command_set_timeout_ms (command, 300);
  result = run (box, command);
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_TIMED_OUT);
  assert_none_left (box);
}

static void
stop_it (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer data)
{
  g_cancellable_cancel (data);
}

static void
test_cancel (Box *box, gconstpointer data)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("echo begun; exec sleep 1000");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (PrismResult) result = NULL;
  g_autoptr (GError) error = NULL;

  make (box);
  g_signal_connect (command, "output", G_CALLBACK (stop_it), cancellable);
  result = prism_sandbox_exec (box->sandbox, command, cancellable, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_CANCELLED);
  assert_none_left (box);
}

/* --- processes ---------------------------------------------------------------------------------------- */

static void
test_process (Box *box, gconstpointer data)
{
  const char *argv[] = { "cat", NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismProcess) process = NULL, again = NULL;
  g_autoptr (PrismResult) result = NULL;
  g_autofree char *reference = NULL;
  char buffer[6];
  gsize n;

  make (box);
  process = prism_sandbox_start_process (box->sandbox, command, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (
      g_output_stream_write_all (prism_process_get_stdin_stream (process), "hello\n", 6, NULL, NULL, &error));
  g_assert_true (
      g_input_stream_read_all (prism_process_get_stdout_stream (process), buffer, sizeof buffer, &n, NULL, &error));
  g_assert_cmpmem (buffer, n, "hello\n", 6);
  reference = prism_process_dup_reference (process);
  g_assert_true (g_str_has_prefix (reference, "prism-e2b-proc:"));
  again = prism_sandbox_attach_process (box->sandbox, reference, NULL, &error);
  g_assert_no_error (error);
  g_assert_null (prism_sandbox_attach_process (box->sandbox, "prism-e2b-proc:e30", NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_true (prism_process_send_signal (process, SIGCONT, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (prism_process_kill (again, NULL, &error));
  result = prism_process_wait (process, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_SIGNALLED);
  g_assert_cmpint (prism_result_get_term_signal (result), ==, SIGKILL);
}

static void
read_until (GInputStream *stream, const char *wanted)
{
  g_autoptr (GString) all = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  while (strstr (all->str, wanted) == NULL)
    {
      char buffer[256];
      gssize n = g_input_stream_read (stream, buffer, sizeof buffer, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpint (n, >, 0);
      g_string_append_len (all, buffer, n);
    }
}

static void
test_terminal (Box *box, gconstpointer data)
{
  g_autoptr (PrismCommand) command =
      prism_command_new_shell ("tty -s && stty size; read x; stty size; echo got $x; read y");
  g_autoptr (PrismProcess) process = NULL;
  g_autoptr (PrismResult) result = NULL;
  g_autoptr (GError) error = NULL;

  make (box);
  prism_command_set_pty_size (command, 90, 30);
  process = prism_sandbox_start_process (box->sandbox, command, NULL, &error);
  g_assert_no_error (error);
  g_assert_null (prism_process_get_stderr_stream (process));
  read_until (prism_process_get_stdout_stream (process), "30 90");
  g_assert_true (prism_process_resize (process, 100, 40, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (g_output_stream_write_all (prism_process_get_stdin_stream (process), "hi\n", 3, NULL, NULL, &error));
  read_until (prism_process_get_stdout_stream (process), "got hi");
  /* The end of its input is the terminal's own sign of it. */
  g_assert_true (g_output_stream_close (prism_process_get_stdin_stream (process), NULL, &error));
  result = prism_process_wait (process, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_EXITED);
}

/* Also in the middle of a line. */
static void
test_terminal_input (Box *box, gconstpointer data)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("cat; exit 3");
  g_autoptr (GBytes) words = g_bytes_new_static ("words", 5);
  g_autoptr (PrismResult) result = NULL;
  g_autoptr (GError) error = NULL;

  make (box);
  prism_command_set_pty_size (command, 90, 30);
  prism_command_set_stdin_bytes (command, words);
  prism_command_set_timeout_ms (command, 60000);
  result = prism_sandbox_exec (box->sandbox, command, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, 3);
}

/* What is not read holds the process up, and its end is heard all the same. */
static void
test_process_unread (Box *box, gconstpointer data)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("head -c 2000000 /dev/zero; sleep 1000");
  g_autoptr (PrismProcess) process = NULL;
  g_autoptr (PrismResult) result = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *bytes = g_malloc (2000000);
  gsize n;

  make (box);
  process = prism_sandbox_start_process (box->sandbox, command, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_input_stream_read_all (prism_process_get_stdout_stream (process), bytes, 2000000, &n, NULL, &error));
  g_assert_cmpuint (n, ==, 2000000);
  g_assert_true (prism_process_kill (process, NULL, &error));
  result = prism_process_wait (process, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_SIGNALLED);
}

/* --- files ------------------------------------------------------------------------------------------------ */

static void
test_files (Box *box, gconstpointer data)
{
  g_autofree char *path = g_build_filename (box->folder, "a b?é.txt", NULL);
  g_autofree char *other = g_build_filename (box->folder, "sub", "c", NULL);
  g_autofree char *missing = g_build_filename (box->folder, "none", "d", NULL);
  g_autoptr (GBytes) bytes = g_bytes_new_static ("0123456789", 10);
  g_autoptr (GBytes) all = NULL, part = NULL, late = NULL;
  g_autoptr (GListModel) entries = NULL;
  g_autoptr (PrismFileEntry) entry = NULL;
  g_autoptr (GError) error = NULL;

  make (box);
  g_assert_true (prism_sandbox_write_file (box->sandbox, path, bytes, 0, 0, NULL, &error));
  g_assert_no_error (error);
  all = prism_sandbox_read_file (box->sandbox, path, 0, -1, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_bytes_equal (all, bytes));
  part = prism_sandbox_read_file (box->sandbox, path, 3, 4, NULL, &error);
  g_assert_cmpmem (g_bytes_get_data (part, NULL), g_bytes_get_size (part), "3456", 4);
  late = prism_sandbox_read_file (box->sandbox, path, 100, 4, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_bytes_get_size (late), ==, 0);
  g_assert_false (prism_sandbox_write_file (box->sandbox, other, bytes, 0, 0, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_true (prism_sandbox_write_file (box->sandbox, other, bytes, 0, PRISM_FILE_FLAGS_PARENTS, NULL, &error));
  entry = prism_sandbox_stat_file (box->sandbox, other, NULL, &error);
  g_assert_cmpuint (prism_file_entry_get_size (entry), ==, 10);
  entries = prism_sandbox_list_files (box->sandbox, box->folder, PRISM_FILE_FLAGS_RECURSIVE, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_list_model_get_n_items (entries), ==, 3);
  g_assert_false (prism_sandbox_rename_file (box->sandbox, path, other, 0, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
  g_clear_error (&error);
  g_assert_true (prism_sandbox_rename_file (box->sandbox, path, other, PRISM_FILE_FLAGS_OVERWRITE, NULL, &error));
  g_assert_null (prism_sandbox_read_file (box->sandbox, path, 0, -1, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_true (prism_sandbox_remove_file (box->sandbox, other, 0, NULL, &error));
  g_assert_false (prism_sandbox_remove_file (box->sandbox, other, 0, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_false (prism_sandbox_make_directory (box->sandbox, missing, 0, 0, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_true (prism_sandbox_make_directory (box->sandbox, missing, 0, PRISM_FILE_FLAGS_PARENTS, NULL, &error));
  g_assert_no_error (error);
}

/* --- life ------------------------------------------------------------------------------------------------------ */

static void
test_pause (Box *box, gconstpointer data)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("true");
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) other = NULL;
  g_autoptr (PrismResult) result = NULL;
  g_autofree char *reference = NULL;
  g_auto (GStrv) all = NULL;

  make (box);
  reference = prism_sandbox_dup_reference (box->sandbox);
  g_assert_true (prism_sandbox_pause (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  g_assert_null (prism_sandbox_exec (box->sandbox, command, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
  g_clear_error (&error);
  /* To connect resumes nothing. */
  other = prism_backend_connect_sandbox (box->backend, reference, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (prism_sandbox_get_status (other), ==, PRISM_SANDBOX_STATUS_STOPPED);
  all = prism_backend_list_sandboxes (box->backend, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_strv_length (all), ==, 1);
  g_assert_cmpstr (all[0], ==, reference);
  g_assert_true (prism_sandbox_resume (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  result = sh (box, "echo on");
  assert_out (result, "on\n");
  /* Paused by somebody else: told apart from gone. */
  g_assert_true (prism_sandbox_resume (other, NULL, &error));
  g_assert_true (prism_sandbox_pause (other, NULL, &error));
  g_assert_null (prism_sandbox_exec (box->sandbox, command, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
  g_clear_error (&error);
  g_assert_null (prism_backend_connect_sandbox (box->backend, "prism-e2b:i0123", NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
}

static void
test_kill (Box *box, gconstpointer data)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("true");
  g_autoptr (GError) error = NULL;

  make (box);
  set_faults (box, "{\"refuse\":[{\"path\":\"DELETE /sandboxes\",\"status\":500,\"times\":1}]}");
  g_assert_false (prism_sandbox_kill (box->sandbox, NULL, &error));
  g_assert_nonnull (strstr (error->message, "may live on"));
  g_clear_error (&error);
  g_assert_true (prism_sandbox_kill (box->sandbox, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (count (box, "living"), ==, 0);
  g_assert_null (prism_sandbox_exec (box->sandbox, command, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
}

static void
test_network (Box *box, gconstpointer data)
{
  const char *rules[] = { "example.com", NULL }, *odd[] = { "example.com:8080", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismEgressPolicy) policy = prism_egress_policy_new_static (rules, &error);
  g_autoptr (PrismEgressPolicy) bad = prism_egress_policy_new_static (odd, &error);
  g_autoptr (PrismCapabilities) before = NULL, after = NULL;

  g_assert_no_error (error);
  make (box);
  before = prism_sandbox_dup_capabilities (box->sandbox);
  g_assert_true (prism_capabilities_get_network_isolated (before));
  g_assert_true (prism_sandbox_set_network_policy (box->sandbox, policy, NULL, &error));
  g_assert_no_error (error);
  after = prism_sandbox_dup_capabilities (box->sandbox);
  g_assert_false (prism_capabilities_get_network_isolated (after));
  g_assert_true (prism_capabilities_get_egress_restricted (after));
  g_assert_false (prism_sandbox_set_network_policy (box->sandbox, bad, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED);
}

/* --- faults ---------------------------------------------------------------------------------------------------- */

static void
test_create_faults (Box *box, gconstpointer data)
{
  set_faults (
      box,
      "{\"refuse\":[{\"path\":\"POST /sandboxes$\",\"status\":429,\"headers\":{\"Retry-After\":\"0\"},\"times\":1}]}");
  make (box);
  g_assert_cmpint (count (box, "created"), ==, 1);
  set_faults (box, "{\"refuse\":[{\"path\":\"POST /sandboxes$\",\"status\":429,\"times\":1}]}");
  create_fails (box, PRISM_SANDBOX_ERROR_LIMIT, "too many");
  set_faults (box, "{\"refuse\":[{\"path\":\"POST "
                   "/sandboxes$\",\"status\":429,\"headers\":{\"Retry-After\":\"99999\"},\"times\":1}]}");
  create_fails (box, PRISM_SANDBOX_ERROR_LIMIT, "too many");
  set_faults (box, "{\"refuse\":[{\"path\":\"POST /sandboxes$\",\"status\":502,\"body\":\"<html>\",\"times\":1}]}");
  create_fails (box, PRISM_SANDBOX_ERROR_LOST, "no sandbox was made");
  g_assert_cmpint (count (box, "created"), ==, 1);
  /* It was made, and the answer was lost: found by its label and destroyed. */
  set_faults (box, "{\"cut\":[{\"path\":\"POST /sandboxes$\",\"times\":1,\"after\":true}]}");
  create_fails (box, PRISM_SANDBOX_ERROR_LOST, "was made, and was destroyed again");
  g_assert_cmpint (count (box, "created"), ==, 2);
  g_assert_cmpint (count (box, "living"), ==, 1);
  /* What fails after it was made leaves nothing behind. */
  set_faults (box, "{\"refuse\":[{\"path\":\"MakeDir\",\"status\":507,\"times\":1}]}");
  create_fails (box, PRISM_SANDBOX_ERROR_LIMIT, "no space");
  g_assert_cmpint (count (box, "living"), ==, 1);
  set_faults (box, "{}");
  g_object_set (box->backend, "api-key", "e2b_zz", NULL);
  create_fails (box, PRISM_SANDBOX_ERROR_UNAVAILABLE, "not authenticated");
  g_object_set (box->backend, "api-url", "http://example.com", NULL);
  create_fails (box, PRISM_SANDBOX_ERROR_REFUSED, "plain HTTP");
  g_object_set (box->backend, "api-url", "http://127.0.0.1:1", NULL);
  create_fails (box, PRISM_SANDBOX_ERROR_UNAVAILABLE, "check the network");
}

static void
test_stream_faults (Box *box, gconstpointer data)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("true");
  g_autoptr (PrismResult) bytes = NULL, cut = NULL, no_end = NULL;
  g_autoptr (GError) error = NULL;

  make (box);
  set_faults (box, "{\"pieces\":1}");
  bytes = sh (box, "echo one byte at a time");
  assert_out (bytes, "one byte at a time\n");
  set_faults (box, "{\"cutStream\":60}");
  cut = sh (box, "echo some; sleep 1000");
  g_assert_cmpint (prism_result_get_outcome (cut), ==, PRISM_OUTCOME_LOST);
  g_assert_nonnull (strstr (prism_result_get_reason (cut), "cut"));
  set_faults (box, "{\"noEnd\":1}");
  no_end = sh (box, "exit 4");
  g_assert_cmpint (prism_result_get_exit_code (no_end), ==, 4);
  set_faults (box, "{\"refuse\":[{\"path\":\"Process/Start\",\"status\":429,\"times\":1}]}");
  g_assert_null (prism_sandbox_exec (box->sandbox, command, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT);
  g_clear_error (&error);
  set_faults (box, "{\"cut\":[{\"path\":\"Process/Start\",\"times\":1}]}");
  g_assert_null (prism_sandbox_exec (box->sandbox, command, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST);
}

/* --- many: test-e2b-many.c has them meet faults ------------------------------------------------------------------ */

/* All of them at once, over one backend: none waits for another's end. */
static void
test_many_processes (Box *box, gconstpointer data)
{
  const char *asked = g_getenv ("PRISM_E2B_MANY"), *argv[] = { "cat", NULL };
  guint n = asked != NULL ? (guint)g_ascii_strtoull (asked, NULL, 10) / 10 : 20;
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (PrismSandboxSpec) spec = make_spec (box);
  g_autoptr (GError) error = NULL;

  g_assert_true (prism_limits_set (prism_sandbox_spec_get_limits (spec), "max-processes", n, &error));
  box->sandbox = prism_backend_create_sandbox (box->backend, spec, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (PrismCommand) command = prism_command_new (argv);
      PrismProcess *process = prism_sandbox_start_process (box->sandbox, command, NULL, &error);
      g_assert_no_error (error);
      g_ptr_array_add (all, process);
    }
  g_assert_cmpint (count (box, "processes"), ==, n);
  for (guint i = 0; i < n; i++)
    {
      PrismProcess *process = all->pdata[i];
      g_autofree char *line = g_strdup_printf ("%05u\n", i);
      g_autoptr (PrismResult) result = NULL;
      char buffer[6];
      gsize got;

      g_assert_true (g_output_stream_write_all (prism_process_get_stdin_stream (process), line, 6, NULL, NULL, &error));
      g_assert_true (g_output_stream_close (prism_process_get_stdin_stream (process), NULL, &error));
      g_assert_true (g_input_stream_read_all (prism_process_get_stdout_stream (process), buffer, sizeof buffer, &got,
                                              NULL, &error));
      g_assert_cmpmem (buffer, got, line, 6);
      result = prism_process_wait (process, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpint (prism_result_get_exit_code (result), ==, 0);
    }
  assert_none_left (box);
}

#define ADD(path, test) g_test_add (path, Box, NULL, set_up, test, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("/e2b/exec", test_exec);
  ADD ("/e2b/missing", test_missing);
  ADD ("/e2b/large", test_large);
  ADD ("/e2b/timeout", test_timeout);
  ADD ("/e2b/cancel", test_cancel);
  ADD ("/e2b/process", test_process);
  ADD ("/e2b/terminal", test_terminal);
  ADD ("/e2b/terminal-input", test_terminal_input);
  ADD ("/e2b/process-unread", test_process_unread);
  ADD ("/e2b/files", test_files);
  ADD ("/e2b/pause", test_pause);
  ADD ("/e2b/kill", test_kill);
  ADD ("/e2b/network", test_network);
  ADD ("/e2b/create-faults", test_create_faults);
  ADD ("/e2b/stream-faults", test_stream_faults);
  ADD ("/e2b/many-processes", test_many_processes);
  return g_test_run ();
}
