/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the contract share: a sandbox of their own, waiting, answers. */
#include "conformance.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/file.h>
#include <unistd.h>

#define MAX_WAIT_S 30

typedef struct
{
  const char *path;
  void (*prepare) (Box *box);
  BoxTest test;
} BoxCase;

static GArray *cases; /* of BoxCase */

static void
make_folder (Box *box)
{
  g_autoptr (GError) error = NULL;

  box->folder = g_dir_make_tmp ("conformance-XXXXXX", &error);
  g_assert_no_error (error);
  if (!box->remote)
    g_assert_true (g_file_set_contents (host_path (box, "gate"), "", 0, &error));
}

/* One that is remote has an empty folder of its own, whose name nobody else has. */
PrismSandboxSpec *
box_new_spec (Box *box)
{
  g_autoptr (GFile) folder = box->remote ? NULL : g_file_new_for_path (box->folder);
  PrismSandboxSpec *spec = prism_sandbox_spec_new (folder);

  if (box->remote)
    {
      g_autofree char *name = g_path_get_basename (box->folder), *path = g_strconcat ("/tmp/inside-", name, NULL);
      g_object_set (spec, "sandbox-path", path, NULL);
    }
  return spec;
}

static void
run_case (const BoxCase *self, PrismBackend *backend)
{
  Box box = { .backend = backend, .remote = prism_backend_is_remote (backend), .gate = -1 };
  g_autoptr (GError) error = NULL;

  make_folder (&box);
  box.spec = box_new_spec (&box);
  box.limits = prism_sandbox_spec_get_limits (box.spec);
  if (self->prepare != NULL)
    self->prepare (&box);
  box.sandbox = prism_backend_create_sandbox (backend, box.spec, NULL, &error);
  g_assert_no_error (error);
  self->test (&box);
  gate_open (&box);
  g_assert_true (prism_sandbox_close (box.sandbox, NULL, &error));
  g_assert_no_error (error);
  g_object_unref (box.sandbox);
  g_object_unref (box.spec);
  g_free (box.folder);
}

gboolean
box_run_case (const char *path, PrismBackend *backend)
{
  for (guint i = 0; cases != NULL && i < cases->len; i++)
    if (g_str_equal (g_array_index (cases, BoxCase, i).path, path))
      {
        run_case (&g_array_index (cases, BoxCase, i), backend);
        return TRUE;
      }
  return FALSE;
}

GPtrArray *
box_list_cases (void)
{
  GPtrArray *paths = g_ptr_array_new ();

  for (guint i = 0; cases != NULL && i < cases->len; i++)
    g_ptr_array_add (paths, (gpointer)g_array_index (cases, BoxCase, i).path);
  return paths;
}

void
box_add_full (const char *path, void (*prepare) (Box *box), BoxTest test)
{
  const BoxCase self = { path, prepare, test };

  if (cases == NULL)
    cases = g_array_new (FALSE, FALSE, sizeof (BoxCase));
  g_array_append_val (cases, self);
}

void
box_add (const char *path, BoxTest test)
{
  box_add_full (path, NULL, test);
}

const char *
host_path (Box *box, const char *name)
{
  g_autofree char *path = g_build_filename (box->folder, name, NULL);

  return g_intern_string (path);
}

gboolean
box_has (Box *box, const char *name)
{
  g_autoptr (PrismFileEntry) entry = NULL;

  if (!box->remote)
    return g_file_test (host_path (box, name), G_FILE_TEST_EXISTS);
  entry = prism_sandbox_stat_file (box->sandbox, name, NULL, NULL);
  return entry != NULL;
}

char *
box_get (Box *box, const char *name, gsize *size)
{
  g_autoptr (GBytes) bytes = NULL;
  char *text = NULL;

  if (!box->remote)
    {
      g_file_get_contents (host_path (box, name), &text, size, NULL);
      return text;
    }
  bytes = prism_sandbox_read_file (box->sandbox, name, 0, -1, NULL, NULL);
  if (bytes == NULL)
    return NULL;
  *size = g_bytes_get_size (bytes);
  text = g_malloc0 (*size + 1);
  if (*size > 0)
    memcpy (text, g_bytes_get_data (bytes, NULL), *size);
  return text;
}

void
box_put (Box *box, const char *name, const char *text, guint mode)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));
  g_autoptr (GError) error = NULL;

  if (box->remote)
    prism_sandbox_write_file (box->sandbox, name, bytes, mode, 0, NULL, &error);
  else if (g_file_set_contents (host_path (box, name), text, -1, &error))
    g_chmod (host_path (box, name), (int)mode);
  g_assert_no_error (error);
}

void
box_link (Box *box, const char *target, const char *name)
{
  const char *argv[] = { "ln", "-s", "--", target, name, NULL };
  g_autoptr (PrismCommand) command = box->remote ? prism_command_new (argv) : NULL;
  g_autoptr (PrismResult) result = command != NULL ? box_run (box, command) : NULL;

  if (result != NULL)
    assert_exited (result, 0);
  else
    g_assert_cmpint (symlink (target, host_path (box, name)), ==, 0);
}

gboolean
box_lacks (Box *box, const char *name)
{
  g_autoptr (PrismCapabilities) capabilities = prism_sandbox_dup_capabilities (box->sandbox);
  const char *evidence = prism_capabilities_get_evidence (capabilities, name);

  return evidence != NULL && g_str_has_prefix (evidence, "not enforced");
}

PrismCommand *
command_shell (const char *line)
{
  return prism_command_new_shell (line);
}

PrismResult *
box_run (Box *box, PrismCommand *command)
{
  g_autoptr (GError) error = NULL;
  PrismResult *result = prism_sandbox_exec (box->sandbox, command, NULL, &error);

  g_assert_no_error (error);
  g_assert_true (PRISM_IS_RESULT (result));
  return result;
}

PrismResult *
box_sh (Box *box, const char *line)
{
  g_autoptr (PrismCommand) command = command_shell (line);

  return box_run (box, command);
}

void
assert_exited (PrismResult *result, int code)
{
  if (prism_result_get_outcome (result) != PRISM_OUTCOME_EXITED || prism_result_get_exit_code (result) != code)
    {
      g_autofree char *text = prism_result_dup_stderr_text (result);
      g_test_message ("stderr: %s", text);
    }
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_EXITED);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, code);
  g_assert_cmpint (prism_result_get_term_signal (result), ==, 0);
  g_assert_false (prism_result_get_timed_out (result));
  g_assert_false (prism_result_get_cancelled (result));
}

void
assert_stdout (PrismResult *result, const char *text)
{
  g_autofree char *got = prism_result_dup_stdout_text (result);

  g_assert_cmpstr (got, ==, text);
}

void
assert_refused (Box *box, PrismCommand *command, int code)
{
  g_autoptr (PrismCommand) owned = command;
  g_autoptr (GError) error = NULL;
  g_autofree char *name = prism_sandbox_dup_backend_name (box->sandbox);

  g_assert_null (prism_sandbox_exec (box->sandbox, owned, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, code);
  g_assert_nonnull (prism_error_get_code_name (error));
  if (code != PRISM_SANDBOX_ERROR_INVALID)
    g_assert_true (g_str_has_prefix (error->message, name));
}

static void
keep_gate (Box *box)
{
  g_autoptr (PrismCommand) command = command_shell ("exec 9>>gate; flock -x 9; echo shut; cat >/dev/null");
  g_autoptr (GError) error = NULL;
  char word[5];

  box->keeper = prism_sandbox_start_process (box->sandbox, command, NULL, &error);
  g_assert_no_error (error);
  g_input_stream_read_all (prism_process_get_stdout_stream (box->keeper), word, sizeof word, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (word, sizeof word, "shut\n", 5);
}

static void
free_keeper (Box *box)
{
  g_autoptr (PrismProcess) keeper = g_steal_pointer (&box->keeper);
  g_autoptr (PrismResult) result = NULL;

  if (keeper == NULL)
    return;
  g_output_stream_close (prism_process_get_stdin_stream (keeper), NULL, NULL);
  result = prism_process_wait (keeper, NULL, NULL);
}

void
gate_close (Box *box)
{
  if (box->remote)
    {
      keep_gate (box);
      return;
    }
  box->gate = g_open (host_path (box, "gate"), O_RDWR | O_CLOEXEC, 0);
  g_assert_cmpint (box->gate, >=, 0);
  g_assert_cmpint (flock (box->gate, LOCK_EX | LOCK_NB), ==, 0);
}

void
gate_open (Box *box)
{
  if (box->gate >= 0)
    close (box->gate);
  box->gate = -1;
  free_keeper (box);
}

static gint64 wait_deadline;
static guint wait_tick;

static gboolean
tick (gpointer data)
{
  return G_SOURCE_CONTINUE;
}

void
wait_begin (void)
{
  wait_deadline = g_get_monotonic_time () + MAX_WAIT_S * G_USEC_PER_SEC;
  wait_tick = g_timeout_add (20, tick, NULL);
}

void
wait_step (void)
{
  g_assert_cmpint (g_get_monotonic_time (), <, wait_deadline);
  g_main_context_iteration (NULL, TRUE);
}

void
wait_end (void)
{
  g_source_remove (wait_tick);
}

void
answer_clear (Answer *answer)
{
  g_clear_object (&answer->value);
  g_clear_error (&answer->error);
}

void
on_exec (GObject *source, GAsyncResult *result, gpointer answer)
{
  Answer *self = answer;

  self->value = (GObject *)prism_sandbox_exec_finish (PRISM_SANDBOX (source), result, &self->error);
  self->done = TRUE;
}

gboolean
box_is_free (Box *box, const char *name)
{
  g_autofree char *line = g_strdup_printf ("flock -n %s true", name);
  g_autoptr (PrismResult) result = box_sh (box, line);

  return prism_result_get_exit_code (result) == 0;
}
