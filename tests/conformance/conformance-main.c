/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prism-conformance NAME: whether a backend keeps the contract of PrismBackend,
 * PrismSandbox and PrismProcess, as TAP. Each case runs in a child of this process,
 * with a folder of its own and a deadline. */
#include "conformance.h"

#include <glib-unix.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef CONFORMANCE_FAKE
#include "prism-fake.h"
#endif

#define MAX_CASE_S   180
#define MAX_SHOWN    (64 * 1024)
#define EXIT_TROUBLE 2 /* the suite could not be run */

static PrismBackend *backend;

static void complain (const char *format, ...) G_GNUC_PRINTF (1, 2) G_GNUC_NORETURN;

static void
complain (const char *format, ...)
{
  va_list arguments;
  g_autofree char *text = NULL;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_printerr ("prism-conformance: %s\n", text);
  exit (EXIT_TROUBLE);
}

/* --- the backend ---------------------------------------------------------------- */

static gboolean
value_from_text (GValue *value, const char *text)
{
  char *end = NULL;

  if (G_VALUE_HOLDS_STRING (value))
    g_value_set_string (value, text);
  else if (G_VALUE_HOLDS_BOOLEAN (value) && (g_str_equal (text, "true") || g_str_equal (text, "false")))
    g_value_set_boolean (value, g_str_equal (text, "true"));
  else if (G_VALUE_HOLDS_INT64 (value))
    g_value_set_int64 (value, g_ascii_strtoll (text, &end, 10));
  else if (G_VALUE_HOLDS_INT (value))
    g_value_set_int (value, (int)g_ascii_strtoll (text, &end, 10));
  else if (G_VALUE_HOLDS_UINT (value))
    g_value_set_uint (value, (guint)g_ascii_strtoull (text, &end, 10));
  else if (G_VALUE_HOLDS_DOUBLE (value))
    g_value_set_double (value, g_ascii_strtod (text, &end));
  else if (G_VALUE_HOLDS_ENUM (value))
    {
      g_autoptr (GEnumClass) klass = g_type_class_ref (G_VALUE_TYPE (value));
      GEnumValue *found = g_enum_get_value_by_nick (klass, text);
      if (found != NULL)
        g_value_set_enum (value, found->value);
      return found != NULL;
    }
  else
    return FALSE;
  return end == NULL || (end != text && *end == '\0');
}

static void
set_option (const char *option)
{
  g_auto (GStrv) pair = g_strsplit (option, "=", 2);
  GParamSpec *pspec = pair[0] != NULL ? g_object_class_find_property (G_OBJECT_GET_CLASS (backend), pair[0]) : NULL;
  g_auto (GValue) value = G_VALUE_INIT;

  if (pspec == NULL || pair[1] == NULL)
    complain ("--set %s: no such property of this backend; prism inspect shows what there is", option);
  g_value_init (&value, pspec->value_type);
  if (!value_from_text (&value, pair[1]))
    complain ("--set %s: no value for %s, which is of the type %s", option, pair[0], g_type_name (pspec->value_type));
  g_object_set_property (G_OBJECT (backend), pair[0], &value);
}

static void
make_backend (const char *name)
{
  PrismRegistry *registry = prism_registry_get_default ();
  g_autoptr (GError) error = NULL;

#ifdef CONFORMANCE_FAKE
  prism_registry_add_type (registry, "fake", PRISM_TYPE_FAKE_BACKEND, 0, &error);
  g_assert_no_error (error);
#endif
  backend = prism_registry_create_backend (registry, name, &error);
  if (backend == NULL)
    complain ("%s", error->message);
}

static Lacks
parse_lacks (const char *list)
{
  const GDebugKey keys[] = {
    { "trees", LACKS_TREES }, { "pty", LACKS_PTY }, { "pause", LACKS_PAUSE }, { "detached", LACKS_DETACHED }
  };
  g_auto (GStrv) words = g_strsplit (list != NULL ? list : "", ",", -1);
  Lacks lacks = LACKS_NOTHING;

  for (guint i = 0; words[i] != NULL; i++)
    {
      guint found = g_parse_debug_string (words[i], keys, G_N_ELEMENTS (keys));
      if (found == 0)
        complain ("--lacks %s: there are trees, pty, pause and detached", list);
      lacks |= found;
    }
  return lacks;
}

/* --- the children --------------------------------------------------------------- */

typedef struct
{
  GMainLoop *loop;
  GSubprocess *child;
  GBytes *output;
  gboolean late;
} Run;

static gboolean
too_late (gpointer data)
{
  Run *run = data;

  run->late = TRUE;
  g_subprocess_force_exit (run->child);
  return G_SOURCE_REMOVE;
}

static void
ended (GObject *source, GAsyncResult *result, gpointer data)
{
  Run *run = data;

  g_subprocess_communicate_finish (run->child, result, &run->output, NULL, NULL);
  g_main_loop_quit (run->loop);
}

static void
show (GBytes *output)
{
  gsize size = 0;
  const char *bytes = output != NULL ? g_bytes_get_data (output, &size) : NULL;
  g_autofree char *text = g_utf8_make_valid (bytes != NULL ? bytes : "", (gssize)MIN (size, MAX_SHOWN));
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    if (lines[i][0] != '\0')
      g_print ("# %s\n", lines[i]);
}

static void
remove_folder (const char *folder)
{
  const char *argv[] = { "rm", "-rf", "--", folder, NULL };

  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
}

static gboolean
run_child (char **argv, const char *path, guint number)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  g_autoptr (GSubprocessLauncher) launcher =
      g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_MERGE);
  g_autofree char *folder = g_dir_make_tmp ("conformance-XXXXXX", &error);
  g_autofree char *option = g_strconcat ("--case=", path, NULL);
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv) full = NULL;
  Run run = { .loop = loop };
  guint timer;
  gboolean good;

  if (folder == NULL)
    complain ("no folder for the tests: %s", error->message);
  g_subprocess_launcher_setenv (launcher, "TMPDIR", folder, TRUE);
  /* Where there is none a detached sandbox could not be found again. */
  g_subprocess_launcher_setenv (launcher, "XDG_RUNTIME_DIR", folder, FALSE);
  g_strv_builder_add (builder, "/proc/self/exe");
  g_strv_builder_addv (builder, (const char **)argv + 1);
  g_strv_builder_add (builder, option);
  full = g_strv_builder_end (builder);
  run.child = g_subprocess_launcher_spawnv (launcher, (const char *const *)full, &error);
  if (run.child == NULL)
    complain ("the program itself: %s", error->message);
  timer = g_timeout_add_seconds (MAX_CASE_S, too_late, &run);
  g_subprocess_communicate_async (run.child, NULL, NULL, ended, &run);
  g_main_loop_run (loop);
  if (!run.late)
    g_source_remove (timer);
  good = g_subprocess_get_successful (run.child);
  if (!good)
    show (run.output);
  if (run.late)
    g_print ("# not over after %d s\n", MAX_CASE_S);
  else if (g_subprocess_get_if_signaled (run.child))
    g_print ("# ended by signal %d\n", g_subprocess_get_term_sig (run.child));
  g_print ("%s %u %s\n", good ? "ok" : "not ok", number, path);
  g_clear_object (&run.child);
  g_clear_pointer (&run.output, g_bytes_unref);
  remove_folder (folder);
  return good;
}

/* As much as a test runner shows: how many, each by name, and why. */
static int
run_all (char **argv, const char *only)
{
  g_autoptr (GPtrArray) paths = box_list_cases ();
  guint number = 0, failed = 0;

  for (guint i = paths->len; only != NULL && i > 0; i--)
    if (!g_str_has_prefix (paths->pdata[i - 1], only))
      g_ptr_array_remove_index (paths, i - 1);
  if (paths->len == 0)
    complain ("--only %s: there is no such case", only);
  g_print ("1..%u\n", paths->len);
  while (number < paths->len)
    {
      const char *path = paths->pdata[number];
      failed += !run_child (argv, path, ++number);
    }
  if (failed > 0)
    g_print ("# %u of %u failed\n", failed, number);
  return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void
add_cases (Lacks lacks)
{
  add_life_tests ();
  add_exec_tests ();
  add_ending_tests ();
  add_turn_tests ();
  add_process_tests (lacks);
  add_lasting_tests (lacks);
  add_file_tests ();
  if ((lacks & LACKS_TREES) == 0)
    add_tree_tests ();
}

/* Its own end, should whoever runs the suite be gone. */
static int
run_one (const char *path)
{
  alarm (MAX_CASE_S + 10);
  if (!box_run_case (path, backend))
    complain ("--case %s: there is no such case", path);
  return EXIT_SUCCESS;
}

int
main (int argc, char **argv)
{
  g_auto (GStrv) options = NULL, given = g_strdupv (argv);
  g_autofree char *lacking = NULL, *only = NULL, *one = NULL;
  const GOptionEntry entries[] = {
    { "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &options, "Set a property of the backend", "NAME=VALUE" },
    { "lacks", 0, 0, G_OPTION_ARG_STRING, &lacking, "What it does not have, of: trees, pty, pause, detached", "LIST" },
    { "only", 0, 0, G_OPTION_ARG_STRING, &only, "Run only the cases whose path begins so", "PATH" },
    { "case", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_STRING, &one, NULL, NULL },
    { NULL },
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("BACKEND");
  g_autoptr (GError) error = NULL;

  setlocale (LC_ALL, "");
  signal (SIGPIPE, SIG_IGN);
  g_option_context_set_summary (context, "Whether a backend keeps libprism's contract, as TAP.");
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    complain ("%s", error->message);
  if (argc != 2)
    complain ("which backend? prism-conformance BACKEND");
  make_backend (argv[1]);
  for (gsize i = 0; options != NULL && options[i] != NULL; i++)
    set_option (options[i]);
  add_cases (parse_lacks (lacking));
  return one != NULL ? run_one (one) : run_all (given, only);
}
