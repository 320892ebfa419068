/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* File requests where the files are awkward: not readable, half written, never answered. */
#include "library-fixture.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static PrismFileEntry *
find_entry (GListModel *list, const char *end)
{
  for (guint i = 0; i < g_list_model_get_n_items (list); i++)
    {
      g_autoptr (PrismFileEntry) entry = g_list_model_get_item (list, i);
      if (g_str_has_suffix (prism_file_entry_get_path (entry), end))
        return g_steal_pointer (&entry);
    }
  return NULL;
}

/* What cannot be read is told where it is missing. */
static void
test_unreadable (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  g_autofree char *none =
      library_run (sandbox, "mkdir -p locked/in open; echo needle | tee locked/in/f open/f > secret; chmod 0 locked; "
                            "chmod 0 secret");
  g_autoptr (GListModel) list = NULL;
  g_autoptr (PrismFileEntry) locked = NULL, open_folder = NULL, inside = NULL;
  g_autoptr (GBytes) found = NULL;
  g_autoptr (GError) error = NULL;
  const char *text;
  gsize size;

  list = prism_sandbox_list_files (sandbox, ".", PRISM_FILE_FLAGS_RECURSIVE, NULL, &error);
  g_assert_no_error (error);
  locked = find_entry (list, "/locked");
  open_folder = find_entry (list, "/open");
  inside = find_entry (list, "/locked/in");
  g_assert_true (prism_file_entry_get_unreadable (locked));
  g_assert_false (prism_file_entry_get_unreadable (open_folder));
  g_assert_null (inside);

  found = prism_sandbox_search (sandbox, ".", "needle", PRISM_FILE_FLAGS_NONE, 10, NULL, &error);
  g_assert_no_error (error);
  text = g_bytes_get_data (found, &size);
  g_assert_nonnull (memmem (text, size, "open/f\0001\0001\0needle\n", 18));
  g_assert_nonnull (memmem (text, size, "locked\0000\0000\0Permission denied\n", 29));
  g_assert_nonnull (memmem (text, size, "secret\0000\0000\0Permission denied\n", 29));
  /* They take no match's place. */
  g_clear_pointer (&found, g_bytes_unref);
  found = prism_sandbox_search (sandbox, ".", "needle", PRISM_FILE_FLAGS_NONE, 1, NULL, &error);
  g_assert_no_error (error);
  text = g_bytes_get_data (found, &size);
  g_assert_nonnull (memmem (text, size, "needle\n", 7));
  g_free (library_run (sandbox, "chmod 755 locked"));
  library_close (sandbox);
}

static void
on_written (GObject *source, GAsyncResult *result, gpointer data)
{
  prism_sandbox_write_file_finish (PRISM_SANDBOX (source), result, NULL);
  *(gboolean *)data = TRUE;
}

/* A sandbox that ends in the middle of a write leaves no part of it in the caller's folder. */
static void
test_cut_write (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (GBytes) bytes = g_bytes_new_take (g_malloc0 (32 * 1024 * 1024), 32 * 1024 * 1024);

  for (int round = 0; round < 3; round++)
    {
      g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
      g_autoptr (GDir) dir = NULL;
      g_autoptr (GError) error = NULL;
      const char *name;
      gboolean done = FALSE;

      prism_sandbox_write_file_async (sandbox, "large", bytes, 0, PRISM_FILE_FLAGS_NONE, NULL, on_written, &done);
      for (int i = 0; i < round; i++)
        library_look_again (G_MAXINT64);
      prism_sandbox_kill (sandbox, NULL, &error);
      g_assert_no_error (error);
      while (!done)
        g_main_context_iteration (NULL, TRUE);
      library_close (sandbox);
      dir = g_dir_open (f->folder, 0, &error);
      g_assert_no_error (error);
      while ((name = g_dir_read_name (dir)) != NULL)
        g_assert_false (g_str_has_prefix (name, ".prism-"));
    }
}

/* --- a file system that does not answer ------------------------------------------------ */

typedef struct
{
  GBytes *bytes;
  GError *error;
  gboolean done;
} Reading;

static void
on_read (GObject *source, GAsyncResult *result, gpointer data)
{
  Reading *reading = data;

  reading->bytes = prism_sandbox_read_file_finish (PRISM_SANDBOX (source), result, &reading->error);
  reading->done = TRUE;
}

/* FOLDER, in mount and process of its own: nobody serves what is mounted there. */
static int
be_hung (const char *folder)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismBackend) backend = prism_registry_create_backend (prism_registry_get_default (), "native", &error);
  g_autoptr (GFile) workspace = g_file_new_for_path (folder);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (workspace);
  g_autofree char *hung = g_strconcat (folder, "-hung", NULL), *options = NULL, *text = NULL, *never = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (GBytes) other = NULL, bytes = g_bytes_new_static ("written", 7);
  g_autoptr (PrismFileEntry) entry = NULL;
  Reading reading = { 0 };
  int fuse = open ("/dev/fuse", O_RDWR | O_CLOEXEC);

  g_assert_no_errno (unshare (CLONE_NEWNS));
  g_assert_no_errno (mount ("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
  g_assert_no_errno (g_mkdir (hung, 0755));
  options = g_strdup_printf ("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fuse);
  g_assert_no_errno (mount ("hung", hung, "fuse", 0, options));
  g_object_set (backend, "isolation", 1, NULL); /* network-only: the tree is seen as it is */
  sandbox = prism_backend_create_sandbox (backend, spec, NULL, &error);
  g_assert_no_error (error);

  never = g_build_filename (hung, "never", NULL);
  prism_sandbox_read_file_async (sandbox, never, 0, -1, cancellable, on_read, &reading);
  /* The agent serves everything else meanwhile. */
  text = library_run (sandbox, "echo runs");
  g_assert_cmpstr (text, ==, "runs");
  g_assert_true (prism_sandbox_write_file (sandbox, "own", bytes, 0, PRISM_FILE_FLAGS_NONE, NULL, &error));
  g_assert_no_error (error);
  other = prism_sandbox_read_file (sandbox, "own", 2, 3, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_bytes_get_size (other) == 3 && memcmp (g_bytes_get_data (other, NULL), "itt", 3) == 0);
  entry = prism_sandbox_stat_file (sandbox, "own", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (prism_file_entry_get_size (entry), ==, 7);
  g_assert_true (prism_sandbox_rename_file (sandbox, "own", "other", PRISM_FILE_FLAGS_NONE, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (prism_sandbox_make_directory (sandbox, "a/b", 0, PRISM_FILE_FLAGS_PARENTS, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (prism_sandbox_remove_file (sandbox, "a", PRISM_FILE_FLAGS_RECURSIVE, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (prism_sandbox_remove_file (sandbox, "other", PRISM_FILE_FLAGS_NONE, NULL, &error));
  g_assert_no_error (error);
  g_assert_null (prism_sandbox_read_file (sandbox, "other", 0, -1, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);

  g_assert_false (reading.done);
  g_cancellable_cancel (cancellable);
  while (!reading.done)
    g_main_context_iteration (NULL, TRUE);
  g_assert_error (reading.error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED);
  g_clear_error (&reading.error);
  library_close (sandbox);
  close (fuse);
  umount2 (hung, MNT_DETACH);
  g_rmdir (hung);
  return 0;
}

static void
test_hung (LibraryFixture *f, gconstpointer data)
{
  const char *const argv[] = { "/proc/self/exe", "--hung", f->folder, NULL };
  g_autoptr (GError) error = NULL;
  int status;

  /* An ordinary user mounts nothing here. */
  if (geteuid () != 0 || access ("/dev/fuse", R_OK | W_OK) != 0)
    return;
  g_assert_true (g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_CHILD_INHERITS_STDERR | G_SPAWN_CHILD_INHERITS_STDOUT,
                               NULL, NULL, NULL, NULL, &status, &error));
  g_assert_no_error (error);
  g_assert_true (g_spawn_check_wait_status (status, &error));
}

/* A cancellation has one code, whether it came before the tree was under way or after. */
static void
test_cancelled_tree (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  g_autofree char *none = library_run (sandbox, "for i in 1 2 3 4; do head -c 8000000 /dev/zero > $i; done");

  for (guint early = 0; early < 2; early++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (GOutputStream) to = g_memory_output_stream_new_resizable ();
      g_autoptr (GError) error = NULL;
      gulong id = 0;
      if (early)
        g_cancellable_cancel (cancellable);
      else
        id = g_signal_connect_swapped (sandbox, "tree-progress", G_CALLBACK (g_cancellable_cancel), cancellable);
      g_assert_null (prism_sandbox_export_tree (sandbox, ".", to, cancellable, &error));
      g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED);
      if (id != 0)
        g_signal_handler_disconnect (sandbox, id);
    }
  library_close (sandbox);
}

int
main (int argc, char **argv)
{
  if (argc == 3 && g_str_equal (argv[1], "--hung"))
    return be_hung (argv[2]);
  g_test_init (&argc, &argv, NULL);
  library_add_test ("/native/files/unreadable", test_unreadable);
  library_add_test ("/native/files/cut-write", test_cut_write);
  library_add_test ("/native/files/hung", test_hung);
  library_add_test ("/native/files/cancelled-tree", test_cancelled_tree);
  return g_test_run ();
}
