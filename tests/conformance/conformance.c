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
  g_assert_true (g_file_set_contents (host_path (box, "gate"), "", 0, &error));
}

static void
run_case (const BoxCase *self, PrismBackend *backend)
{
  Box box = { .backend = backend, .gate = -1 };
  g_autoptr (GFile) folder = NULL;
  g_autoptr (GError) error = NULL;

  make_folder (&box);
  folder = g_file_new_for_path (box.folder);
  box.spec = prism_sandbox_spec_new (folder);
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

void
gate_close (Box *box)
{
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
