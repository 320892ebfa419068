/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run FOLDER -- COMMAND [ARG...] */
#include <libprism/prism.h>
#include <stdio.h>

static void
on_output (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer user_data)
{
  fwrite (g_bytes_get_data (bytes, NULL), 1, g_bytes_get_size (bytes), stdout);
}

static gboolean
run (const char *path, const char *const *argv, GError **error)
{
  g_autoptr (GFile) folder = g_file_new_for_path (path);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (folder);
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (PrismBackend) backend = prism_registry_create_backend (prism_registry_get_default (), "native", error);
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismCapabilities) real = NULL;
  g_autoptr (PrismResult) result = NULL;

  g_object_set (spec, "workspace-mode", PRISM_WORKSPACE_MODE_READONLY, NULL);
  g_signal_connect (command, "output", G_CALLBACK (on_output), NULL);
  if (backend == NULL || (sandbox = prism_backend_create_sandbox (backend, spec, NULL, error)) == NULL)
    return FALSE;
  real = prism_sandbox_dup_capabilities (sandbox);
  result = prism_sandbox_exec (sandbox, command, NULL, error);
  if (result != NULL)
    printf ("exit code %d, network isolated: %s\n", prism_result_get_exit_code (result),
            prism_capabilities_get_network_isolated (real) ? "yes" : "no");
  return prism_sandbox_close (sandbox, NULL, result != NULL ? error : NULL) && result != NULL;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;

  if (argc < 4 || !g_str_equal (argv[2], "--"))
    {
      fprintf (stderr, "usage: %s FOLDER -- COMMAND [ARG...]\n", argv[0]);
      return 2;
    }
  if (run (argv[1], (const char *const *)argv + 3, &error))
    return 0;
  fprintf (stderr, "%s\n", error->message);
  return 1;
}
