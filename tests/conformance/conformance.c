/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*   conformance BACKEND [--set NAME=VALUE]... [--lacks LIST] [g_test options] */
#include "conformance.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "prism-fake.h"

#define MAX_WAIT_S 30

static PrismBackend *backend;

typedef struct
{
  void (*prepare) (Box *box);
  BoxTest test;
} BoxCase;

static void
make_folder (Box *box)
{
  g_autoptr (GError) error = NULL;

  box->folder = g_dir_make_tmp ("conformance-XXXXXX", &error);
  g_assert_no_error (error);
  g_assert_true (g_file_set_contents (host_path (box, "gate"), "", 0, &error));
}

static void
box_case_run (gconstpointer data)
{
  const BoxCase *self = data;
  Box box = { .backend = backend, .gate = -1 };
  g_autoptr (GFile) folder = NULL;
  g_autoptr (GError) error = NULL;
  const char *argv[] = { "rm", "-rf", "--", NULL, NULL };

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
  argv[3] = box.folder;
  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
  g_free (box.folder);
}

void
box_add_full (const char *path, void (*prepare) (Box *box), BoxTest test)
{
  BoxCase *self = g_new (BoxCase, 1);

  *self = (BoxCase){ prepare, test };
  g_test_add_data_func_full (path, self, box_case_run, g_free);
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

/* --- the program -------------------------------------------------------------------- */

static void
set_option (const char *option)
{
  g_auto (GStrv) pair = g_strsplit (option, "=", 2);
  GParamSpec *pspec = g_object_class_find_property (G_OBJECT_GET_CLASS (backend), pair[0]);

  if (pspec == NULL || pair[1] == NULL)
    g_error ("%s: no such option", option);
  if (pspec->value_type == G_TYPE_BOOLEAN)
    g_object_set (backend, pair[0], g_str_equal (pair[1], "true"), NULL);
  else if (pspec->value_type == G_TYPE_INT64)
    g_object_set (backend, pair[0], g_ascii_strtoll (pair[1], NULL, 10), NULL);
  else if (G_TYPE_IS_ENUM (pspec->value_type))
    {
      GEnumClass *klass = g_type_class_ref (pspec->value_type);
      GEnumValue *value = g_enum_get_value_by_nick (klass, pair[1]);
      if (value == NULL)
        g_error ("%s: no such value", option);
      g_object_set (backend, pair[0], value->value, NULL);
      g_type_class_unref (klass);
    }
  else
    g_object_set (backend, pair[0], pair[1], NULL);
}

static Lacks
parse_lacks (const char *list)
{
  return (strstr (list, "trees") != NULL ? LACKS_TREES : 0) | (strstr (list, "pty") != NULL ? LACKS_PTY : 0);
}

static void
make_backend (const char *name)
{
  PrismRegistry *registry = prism_registry_get_default ();
  g_autoptr (GError) error = NULL;

  prism_registry_add_type (registry, "fake", PRISM_TYPE_FAKE_BACKEND, 0, &error);
  g_assert_no_error (error);
  backend = prism_registry_create_backend (registry, name, &error);
  if (backend == NULL)
    g_error ("%s: %s", name, error->message);
}

int
main (int argc, char **argv)
{
  g_auto (GStrv) options = NULL;
  g_autofree char *lacking = NULL, *identity = NULL;
  const GOptionEntry entries[] = {
    { "set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options, "a property of the backend", "NAME=VALUE" },
    { "lacks", 0, 0, G_OPTION_ARG_STRING, &lacking, "what the backend does not have", "trees,pty" },
    { NULL },
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("BACKEND");
  g_autoptr (GError) error = NULL;
  Lacks lacks;

  signal (SIGPIPE, SIG_IGN);
  g_test_init (&argc, &argv, NULL);
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || argc != 2)
    g_error ("%s", error != NULL ? error->message : "conformance BACKEND");
  make_backend (argv[1]);
  for (gsize i = 0; options != NULL && options[i] != NULL; i++)
    set_option (options[i]);
  lacks = lacking != NULL ? parse_lacks (lacking) : LACKS_NOTHING;
  add_life_tests ();
  add_exec_tests ();
  add_ending_tests ();
  add_turn_tests ();
  add_process_tests (lacks);
  add_file_tests ();
  if ((lacks & LACKS_TREES) == 0)
    add_tree_tests ();
  return g_test_run ();
}
