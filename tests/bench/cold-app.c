/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An application that has just been started, as small as one can be.
 *
 *   cold-app registry        says in how many microseconds it knew all plug-ins
 *   cold-app sandbox FOLDER  runs `true` in one sandbox and ends */
#include <libprism/prism.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static int
count_object (struct dl_phdr_info *object, size_t size, void *count)
{
  ++*(int *)count;
  return 0;
}

static int
count_objects (void)
{
  int count = 0;

  dl_iterate_phdr (count_object, &count);
  return count;
}

static int
set_up_registry (void)
{
  int objects = count_objects ();
  gint64 start = g_get_monotonic_time (), us;
  PrismRegistry *registry = prism_registry_get_default ();
  guint n = g_list_model_get_n_items (G_LIST_MODEL (registry));
  g_auto (GStrv) backends = prism_registry_list_backends (registry);

  us = g_get_monotonic_time () - start;
  if (n == 0 || backends[0] == NULL || count_objects () != objects)
    return 1;
  printf ("%d\n", (int)us);
  return 0;
}

static int
run_true (const char *folder)
{
  const char *const argv[] = { "true", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (GFile) workspace = g_file_new_for_path (folder);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (workspace);
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (PrismBackend) backend = prism_registry_create_backend (prism_registry_get_default (), "native", &error);
  g_autoptr (PrismSandbox) sandbox =
      backend != NULL ? prism_backend_create_sandbox (backend, spec, NULL, &error) : NULL;
  g_autoptr (PrismResult) result = sandbox != NULL ? prism_sandbox_exec (sandbox, command, NULL, &error) : NULL;

  if (result == NULL || !prism_sandbox_close (sandbox, NULL, &error))
    {
      fprintf (stderr, "cold-app: %s\n", error->message);
      return 1;
    }
  return prism_result_get_exit_code (result);
}

int
main (int argc, char **argv)
{
  if (argc == 2 && strcmp (argv[1], "registry") == 0)
    return set_up_registry ();
  if (argc == 3 && strcmp (argv[1], "sandbox") == 0)
    return run_true (argv[2]);
  return 2;
}
