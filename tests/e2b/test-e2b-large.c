/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A large file on its way up, which has a thread and a connection of its own: neither outlives it. */
#include <string.h>

#include "e2b-local.h"

#define SIZE        (32 * 1024 * 1024)
#define DEADLINE_US (60 * G_USEC_PER_SEC)

static guint
count_large_threads (void)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/task", 0, NULL);
  const char *name;
  guint n = 0;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename ("/proc/self/task", name, "comm", NULL), *comm = NULL;
      n += g_file_get_contents (path, &comm, NULL, NULL) && g_str_has_prefix (comm, "prism-e2b-large");
    }
  return n;
}

static void
keep_error (GObject *source, GAsyncResult *answer, gpointer data)
{
  GError **error = data;

  prism_sandbox_write_file_finish (PRISM_SANDBOX (source), answer, error);
  g_assert_nonnull (*error);
}

/* The server takes nothing: a file that does not go off is given up at once, and what sent it goes
 * without the server's help. */
static void
test_cancelled (void)
{
  g_autoptr (E2bLocal) local = e2b_local_new (NULL);
  g_autoptr (PrismBackend) backend = e2b_local_new_backend (local);
  g_autoptr (PrismSandboxSpec) spec = e2b_local_new_spec (local);
  g_autofree char *file = g_build_filename (e2b_local_get_folder (local), "file", NULL);
  g_autoptr (GBytes) bytes = g_bytes_new_take (g_malloc0 (SIZE), SIZE);
  g_autoptr (GError) failure = NULL;
  g_autoptr (PrismSandbox) sandbox = prism_backend_create_sandbox (backend, spec, NULL, &failure);
  guint descriptors = 0;

  g_assert_no_error (failure);
  for (guint i = 0; i < 3; i++)
    {
      gint64 before = e2b_local_asked (local, "POST /files"), end = g_get_monotonic_time () + DEADLINE_US;
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (GError) error = NULL;

      e2b_local_set_faults (local, "{\"hang\":[{\"path\":\"^POST /files[?]\",\"times\":9}]}");
      prism_sandbox_write_file_async (sandbox, file, bytes, 0, 0, cancellable, keep_error, &error);
      while (e2b_local_asked (local, "POST /files") == before)
        g_assert_cmpint (g_get_monotonic_time (), <, end);
      g_assert_cmpuint (count_large_threads (), ==, 1);
      g_cancellable_cancel (cancellable);
      while (error == NULL)
        g_main_context_iteration (NULL, TRUE);
      g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED);
      while (count_large_threads () > 0 || (i > 0 && e2b_local_count_entries ("/proc/self/fd") > descriptors))
        g_assert_cmpint (g_get_monotonic_time (), <, end);
      descriptors = e2b_local_count_entries ("/proc/self/fd"); /* of which the first time leaves some for good */
    }
  e2b_local_set_faults (local, "{}");
  g_assert_true (prism_sandbox_write_file (sandbox, file, bytes, 0, 0, NULL, &failure));
  g_assert_cmpuint (count_large_threads (), ==, 0);
  g_assert_true (prism_sandbox_close (sandbox, NULL, &failure));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/e2b/large/cancelled", test_cancelled);
  return g_test_run ();
}
