/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many commands and processes over one backend while each twentieth request meets a fault. Each
 * command writes into a file of its own that it ran, so that what is told of it can be compared
 * with what happened: nothing is lost, nothing is made up, nothing is done twice, and nothing is
 * left: no sandbox, process, connection, descriptor or thread.
 *
 * PRISM_E2B_MANY: how many commands (200); a tenth as many processes. */
#include <glib/gstdio.h>
#include <string.h>

#include "e2b-local.h"

#define AT_ONCE     48
#define DEADLINE_US (120 * G_USEC_PER_SEC)
#define FAULTS      "{\"every\":20}"

typedef struct
{
  E2bLocal *local;
  PrismBackend *backend;
  PrismSandbox *sandbox;
  guint n, next, pending;
  guint fine, unknown, refused;
} Many;

typedef struct
{
  Many *many;
  guint number;
} One;

/* How often it ran. */
static guint
count_runs (Many *self, const char *kind, guint number)
{
  g_autofree char *path = g_strdup_printf ("%s/%s-%u", e2b_local_get_folder (self->local), kind, number);
  g_autofree char *text = NULL;
  gsize length = 0;

  return g_file_get_contents (path, &text, &length, NULL) ? (guint)(length / 2) : 0;
}

static void
check_error (Many *self, const char *kind, guint number, const GError *error)
{
  guint runs = count_runs (self, kind, number);

  g_assert_true (error->domain == PRISM_SANDBOX_ERROR || error->domain == PRISM_PROCESS_ERROR);
  g_assert_nonnull (strstr (error->message, "cannot "));
  g_assert_null (strstr (error->message, E2B_LOCAL_KEY));
  /* It may run on until the sandbox ends, and may only begin now; what was refused never does. */
  if (strstr (error->message, "not known") == NULL && error->code != PRISM_SANDBOX_ERROR_LOST)
    {
      g_test_message ("%s %u, %u runs: %s", kind, number, runs, error->message);
      g_assert_cmpuint (runs, ==, 0);
    }
  g_assert_cmpuint (runs, <=, 1);
}

static void
check_result (Many *self, const char *kind, guint number, PrismResult *result, int exit_code, const char *out)
{
  g_autofree char *text = prism_result_dup_stdout_text (result);

  if (prism_result_get_outcome (result) == PRISM_OUTCOME_LOST)
    {
      g_assert_nonnull (prism_result_get_reason (result));
      g_assert_cmpuint (count_runs (self, kind, number), <=, 1);
      self->unknown++;
      return;
    }
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_EXITED);
  g_assert_cmpint (prism_result_get_exit_code (result), ==, exit_code);
  g_assert_cmpuint (count_runs (self, kind, number), ==, 1);
  if (out != NULL)
    g_assert_cmpstr (text, ==, out);
  self->fine++;
}

/* --- commands ------------------------------------------------------------------------------- */

static void start_next (Many *self);

static void
one_ended (GObject *source, GAsyncResult *answer, gpointer data)
{
  g_autofree One *one = data;
  g_autofree char *out = g_strdup_printf ("number %u\n", one->number);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismResult) result = prism_sandbox_exec_finish (PRISM_SANDBOX (source), answer, &error);
  Many *self = one->many;

  self->pending--;
  if (result != NULL)
    check_result (self, "command", one->number, result, (int)one->number % 50, out);
  else
    {
      check_error (self, "command", one->number, error);
      self->refused++;
    }
  start_next (self);
}

static void
start_next (Many *self)
{
  while (self->next < self->n && self->pending < AT_ONCE)
    {
      g_autofree char *line =
          g_strdup_printf ("echo 1 >>'%s/command-%u'; echo number %u; exit %u", e2b_local_get_folder (self->local),
                           self->next, self->next, self->next % 50);
      g_autoptr (PrismCommand) command = prism_command_new_shell (line);
      One *one = g_new (One, 1);

      *one = (One){ self, self->next++ };
      self->pending++;
      prism_sandbox_exec_async (self->sandbox, command, NULL, one_ended, one);
    }
}

/* --- processes ---------------------------------------------------------------------------------- */

/* Its result; ends it where its input could not be said. */
static void
converse (Many *self, guint number, PrismProcess *process)
{
  g_autofree char *line = g_strdup_printf ("%05u\n", number);
  GOutputStream *in = prism_process_get_stdin_stream (process);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismResult) result = NULL;
  char buffer[6];
  gsize got = 0;

  if (!g_output_stream_write_all (in, line, 6, NULL, NULL, &error) || !g_output_stream_close (in, NULL, &error)
      || !g_input_stream_read_all (prism_process_get_stdout_stream (process), buffer, sizeof buffer, &got, NULL,
                                   &error))
    {
      g_test_message ("process %u: %s", number, error->message);
      /* That meets faults as well. */
      for (guint i = 0; i < 5 && !prism_process_kill (process, NULL, NULL); i++)
        ;
      result = prism_process_wait (process, NULL, NULL);
      g_assert_true (result == NULL || prism_result_get_outcome (result) != PRISM_OUTCOME_TIMED_OUT);
      g_assert_cmpuint (count_runs (self, "process", number), <=, 1);
      self->refused++;
      return;
    }
  result = prism_process_wait (process, NULL, &error);
  g_assert_no_error (error);
  check_result (self, "process", number, result, 0, NULL);
  if (prism_result_get_outcome (result) == PRISM_OUTCOME_EXITED)
    g_assert_cmpmem (buffer, got, line, 6);
}

/* All of them at once: none waits for another's end. */
static void
run_processes (Many *self, guint n)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func ((GDestroyNotify)g_object_unref);
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *line =
          g_strdup_printf ("echo 1 >>'%s/process-%u'; exec cat", e2b_local_get_folder (self->local), i);
      g_autoptr (PrismCommand) command = prism_command_new_shell (line);
      g_autoptr (GError) error = NULL;
      PrismProcess *process = prism_sandbox_start_process (self->sandbox, command, NULL, &error);

      if (process != NULL)
        {
          g_ptr_array_add (all, process);
          g_array_append_val (numbers, i);
          continue;
        }
      check_error (self, "process", i, error);
      self->refused++;
    }
  for (guint i = 0; i < all->len; i++)
    converse (self, g_array_index (numbers, guint, i), all->pdata[i]);
}

/* --- nothing is left -------------------------------------------------------------------------------- */

static void
wait_for_folder (const char *path, guint most)
{
  for (gint64 end = g_get_monotonic_time () + DEADLINE_US; e2b_local_count_entries (path) > most; g_thread_yield ())
    if (g_get_monotonic_time () > end)
      g_error ("%s has %u entries, and had %u", path, e2b_local_count_entries (path), most);
}

static void
wait_for_server (Many *self, const char *name, gint64 most)
{
  for (gint64 end = g_get_monotonic_time () + DEADLINE_US; e2b_local_count (self->local, name) > most;)
    if (g_get_monotonic_time () > end)
      g_error ("%s: %" G_GINT64_FORMAT " on the server", name, e2b_local_count (self->local, name));
}

static void
test_many (void)
{
  const char *asked = g_getenv ("PRISM_E2B_MANY");
  Many self = { .n = asked != NULL ? (guint)g_ascii_strtoull (asked, NULL, 10) : 200 };
  g_autoptr (PrismSandboxSpec) spec = NULL;
  g_autoptr (GError) error = NULL;
  guint descriptors, threads, faults;

  self.local = e2b_local_new (NULL);
  e2b_local_count (self.local, "living");
  /* What a first use leaves for good is there before one counts. */
  self.backend = e2b_local_new_backend (self.local);
  g_free (prism_backend_list_sandboxes (self.backend, NULL, &error));
  g_assert_no_error (error);
  g_clear_object (&self.backend);
  wait_for_server (&self, "connections", 1);
  descriptors = e2b_local_count_entries ("/proc/self/fd");
  threads = e2b_local_count_entries ("/proc/self/task");

  self.backend = e2b_local_new_backend (self.local);
  spec = e2b_local_new_spec (self.local);
  g_assert_true (
      prism_limits_set (prism_sandbox_spec_get_limits (spec), "max-processes", MAX (self.n / 10, 64), &error));
  self.sandbox = prism_backend_create_sandbox (self.backend, spec, NULL, &error);
  g_assert_no_error (error);
  e2b_local_set_faults (self.local, FAULTS);
  start_next (&self);
  while (self.pending > 0)
    g_main_context_iteration (NULL, TRUE);
  g_test_message ("commands: %u fine, %u not known, %u refused", self.fine, self.unknown, self.refused);
  g_assert_cmpuint (self.fine + self.unknown + self.refused, ==, self.n);
  g_assert_cmpuint (self.fine, >=, self.n * 8 / 10);
  run_processes (&self, self.n / 10);
  g_test_message ("and processes: %u fine, %u not known, %u refused", self.fine, self.unknown, self.refused);
  g_assert_cmpuint (self.fine + self.unknown + self.refused, ==, self.n + self.n / 10);
  faults = (guint)e2b_local_count (self.local, "met");
  g_test_message ("%u faults", faults);
  g_assert_cmpuint (faults, >=, self.n / 20);

  e2b_local_set_faults (self.local, "{}");
  g_assert_true (prism_sandbox_close (self.sandbox, NULL, &error));
  g_assert_no_error (error);
  g_clear_object (&self.sandbox);
  g_clear_object (&spec);
  g_clear_object (&self.backend);
  g_assert_cmpint (e2b_local_count (self.local, "living"), ==, 0);
  wait_for_server (&self, "processes", 0);
  wait_for_server (&self, "following", 0);
  wait_for_server (&self, "connections", 1);
  wait_for_folder ("/proc/self/fd", descriptors);
  wait_for_folder ("/proc/self/task", threads);
  e2b_local_free (self.local);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/e2b/many", test_many);
  return g_test_run ();
}
