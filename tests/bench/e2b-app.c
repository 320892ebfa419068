/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* e2b-app exec|up|down|memory: a sandbox of the hosted service's (a local one: E2B_API_URL). Each
 * line on stdin is one round; its microseconds go to stdout, or, of memory, the KiB that this
 * process holds after one more command. e2b-worker.mjs does the same with the service's client. */
#include <libprism/prism.h>
#include <stdio.h>
#include <string.h>

#define SIZE (64 * 1024 * 1024)

static gboolean
run_true (PrismSandbox *sandbox, GError **error)
{
  static const char *const argv[] = { "true", NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, error);

  return result != NULL && prism_result_get_exit_code (result) == 0;
}

static double
resident_kib (void)
{
  g_autofree char *text = NULL;
  const char *at = g_file_get_contents ("/proc/self/status", &text, NULL, NULL) ? strstr (text, "VmRSS:") : NULL;
  return at != NULL ? g_ascii_strtod (at + strlen ("VmRSS:"), NULL) : -1;
}

static double
do_round (PrismSandbox *sandbox, const char *mode, const char *path, GBytes *bytes, GError **error)
{
  gint64 start = g_get_monotonic_time ();
  gboolean fine;

  if (strcmp (mode, "up") == 0)
    fine = prism_sandbox_write_file (sandbox, path, bytes, 0, 0, NULL, error);
  else if (strcmp (mode, "down") == 0)
    {
      g_autoptr (GBytes) read = prism_sandbox_read_file (sandbox, path, 0, -1, NULL, error);
      fine = read != NULL && g_bytes_get_size (read) == SIZE;
    }
  else
    fine = run_true (sandbox, error);
  if (!fine)
    return -1;
  return strcmp (mode, "memory") == 0 ? resident_kib () : (double)(g_get_monotonic_time () - start);
}

int
main (int argc, char **argv)
{
  const char *mode = argc == 3 ? argv[1] : "", *folder = argc == 3 ? argv[2] : "";
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (folder, "prism-bytes", NULL);
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (NULL);
  g_autoptr (PrismBackend) backend = prism_registry_create_backend (prism_registry_get_default (), "e2b", &error);
  g_autoptr (PrismSandbox) sandbox = NULL;
  char line[16];

  g_object_set (spec, "sandbox-path", folder, NULL);
  if (backend == NULL || !prism_limits_set (prism_sandbox_spec_get_limits (spec), "max-file-bytes", 2 * SIZE, &error)
      || (sandbox = prism_backend_create_sandbox (backend, spec, NULL, &error)) == NULL)
    {
      fprintf (stderr, "e2b-app: %s\n", error->message);
      return 1;
    }
  if (strcmp (mode, "up") == 0 || strcmp (mode, "down") == 0)
    bytes = g_bytes_new_take (g_malloc0 (SIZE), SIZE);
  if (strcmp (mode, "down") == 0 && !prism_sandbox_write_file (sandbox, path, bytes, 0, 0, NULL, &error))
    fprintf (stderr, "e2b-app: %s\n", error->message);
  puts ("ready");
  fflush (stdout);
  while (fgets (line, sizeof line, stdin) != NULL)
    {
      double value = do_round (sandbox, mode, path, bytes, &error);

      if (error != NULL)
        fprintf (stderr, "e2b-app: %s\n", error->message);
      g_clear_error (&error);
      printf ("%.1f\n", value);
      fflush (stdout);
    }
  return prism_sandbox_close (sandbox, NULL, NULL) ? 0 : 1;
}
