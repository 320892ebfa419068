/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files and trees on the host's side, with the real agent, in both channel modes. */
#include "agent-sandbox-fixture.h"

#include <prism-command.h>
#include <prism-file-entry.h>
#include <prism-result.h>
#include <prism-sandbox-error.h>
#include <prism-tree-identity.h>

typedef struct
{
  PrismSandbox *sandbox;
  char *folder; /* inside and outside are the same here */
} Place;

static void
place_open (Place *place, gboolean framed, PrismSandboxSpec *spec)
{
  g_autoptr (GError) error = NULL;
  place->folder = g_dir_make_tmp ("prism-files-XXXXXX", &error);
  g_assert_no_error (error);
  place->sandbox = bare_sandbox_new (spec, framed);
}

static void
place_close (Place *place)
{
  g_autoptr (GError) error = NULL;
  g_assert_true (prism_sandbox_remove_file (place->sandbox, place->folder, PRISM_FILE_FLAGS_RECURSIVE, NULL, &error));
  g_assert_no_error (error);
  g_assert_false (g_file_test (place->folder, G_FILE_TEST_EXISTS));
  prism_sandbox_close (place->sandbox, NULL, &error);
  g_assert_no_error (error);
  g_object_unref (place->sandbox);
  g_free (place->folder);
}

static char *
path_in (Place *place, const char *name)
{
  return g_build_filename (place->folder, name, NULL);
}

static void
write_to (Place *place, const char *name, gconstpointer text, gsize size, PrismFileFlags flags)
{
  g_autofree char *path = path_in (place, name);
  g_autoptr (GBytes) bytes = g_bytes_new (text, size);
  g_autoptr (GError) error = NULL;
  prism_sandbox_write_file (place->sandbox, path, bytes, 0, flags, NULL, &error);
  g_assert_no_error (error);
}

static void
assert_error (GError **error, gint code)
{
  g_assert_error (*error, PRISM_SANDBOX_ERROR, code);
  g_test_message ("%s", (*error)->message);
  g_clear_error (error);
}

static void
test_contents (gconstpointer framed)
{
  g_test_summary ("What is written is what is read, in whole and in part, small and large");
  Place place;
  place_open (&place, GPOINTER_TO_INT (framed), NULL);
  g_autoptr (GError) error = NULL;
  static const gsize sizes[] = { 0, 1, 65536, 262144, 262145, 3000000 };
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autofree guint8 *content = g_malloc (sizes[i] + 1);
      for (gsize k = 0; k < sizes[i]; k++)
        content[k] = (guint8)(k * 7 + (k >> 9));
      write_to (&place, "a/b/file", content, sizes[i], PRISM_FILE_FLAGS_PARENTS);
      g_autofree char *path = path_in (&place, "a/b/file");
      g_autoptr (GBytes) read = prism_sandbox_read_file (place.sandbox, path, 0, -1, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpmem (g_bytes_get_data (read, NULL), g_bytes_get_size (read), content, sizes[i]);
      if (sizes[i] < 100)
        continue;
      g_autoptr (GBytes) part = prism_sandbox_read_file (place.sandbox, path, 10, 20, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpmem (g_bytes_get_data (part, NULL), g_bytes_get_size (part), content + 10, 20);
    }
  place_close (&place);
}

static void
test_limits (gconstpointer framed)
{
  g_test_summary ("Over max-file-bytes a file is refused, never cut");
  Place place;
  g_autoptr (PrismSandboxSpec) spec = bare_spec ("max-file-bytes", 100000, NULL);
  place_open (&place, GPOINTER_TO_INT (framed), spec);
  g_autoptr (GError) error = NULL;
  g_autofree char *path = path_in (&place, "large"), *line = g_strdup_printf ("head -c 5000000 /dev/zero > %s", path);
  g_autoptr (PrismCommand) command = prism_command_new_shell (line);
  g_autoptr (PrismResult) result = prism_sandbox_exec (place.sandbox, command, NULL, &error);
  g_assert_no_error (error);
  g_assert_null (prism_sandbox_read_file (place.sandbox, path, 0, -1, NULL, &error));
  assert_error (&error, PRISM_SANDBOX_ERROR_LIMIT);
  g_assert_null (prism_sandbox_read_file (place.sandbox, path, 0, 200000, NULL, &error));
  assert_error (&error, PRISM_SANDBOX_ERROR_LIMIT);
  g_autoptr (GBytes) part = prism_sandbox_read_file (place.sandbox, path, 4000000, 100000, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_bytes_get_size (part), ==, 100000);
  g_autoptr (GBytes) large = g_bytes_new_take (g_malloc0 (100001), 100001);
  g_assert_false (prism_sandbox_write_file (place.sandbox, path, large, 0, 0, NULL, &error));
  assert_error (&error, PRISM_SANDBOX_ERROR_LIMIT);
  place_close (&place);
}

static void
test_names (gconstpointer framed)
{
  g_test_summary ("Folders are listed sorted, entries have their facts; what is missing says so");
  Place place;
  place_open (&place, GPOINTER_TO_INT (framed), NULL);
  g_autoptr (GError) error = NULL;
  static const char *const names[] = { "b", "a", "sub/deep/x", "sub/y", "new\nline", "bad-\xff" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    write_to (&place, names[i], "text", 4, PRISM_FILE_FLAGS_PARENTS);
  g_autoptr (GListModel) flat = prism_sandbox_list_files (place.sandbox, place.folder, 0, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_list_model_get_n_items (flat), ==, 5);
  g_autoptr (GListModel) all =
      prism_sandbox_list_files (place.sandbox, place.folder, PRISM_FILE_FLAGS_RECURSIVE, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_list_model_get_n_items (all), ==, 8);
  const char *before = "";
  for (guint i = 0; i < 8; i++)
    {
      g_autoptr (PrismFileEntry) entry = g_list_model_get_item (all, i);
      const char *path = prism_file_entry_get_path (entry);
      g_assert_true (g_str_has_prefix (path, place.folder));
      g_assert_cmpint (strcmp (before, path), <, 0);
      before = path;
      if (prism_file_entry_get_file_type (entry) != G_FILE_TYPE_REGULAR)
        continue;
      /* By the name that was listed it can be read again, whatever its bytes are. */
      g_autoptr (GBytes) bytes = prism_sandbox_read_file (place.sandbox, path, 0, -1, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (prism_file_entry_get_size (entry), ==, 4);
    }
  g_autofree char *a = path_in (&place, "a"), *c = path_in (&place, "c"), *b = path_in (&place, "b");
  g_autoptr (PrismFileEntry) stat = prism_sandbox_stat_file (place.sandbox, a, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (prism_file_entry_get_path (stat), ==, a);
  g_assert_cmpuint (prism_file_entry_get_mode (stat), ==, 0644);
  g_assert_true (prism_sandbox_rename_file (place.sandbox, a, c, 0, NULL, &error));
  g_assert_null (prism_sandbox_stat_file (place.sandbox, a, NULL, &error));
  assert_error (&error, PRISM_SANDBOX_ERROR_NOT_FOUND);
  g_assert_false (prism_sandbox_rename_file (place.sandbox, c, b, 0, NULL, &error));
  g_clear_error (&error);
  g_assert_true (prism_sandbox_rename_file (place.sandbox, c, b, PRISM_FILE_FLAGS_OVERWRITE, NULL, &error));
  g_assert_no_error (error);
  g_autofree char *made = path_in (&place, "made/deep");
  g_assert_true (prism_sandbox_make_directory (place.sandbox, made, 0700, PRISM_FILE_FLAGS_PARENTS, NULL, &error));
  g_assert_no_error (error);
  place_close (&place);
}

static void
test_search (gconstpointer framed)
{
  g_test_summary ("A literal is found where it is, and where it is not there is nothing");
  Place place;
  place_open (&place, GPOINTER_TO_INT (framed), NULL);
  g_autoptr (GError) error = NULL;
  write_to (&place, "one", "first\nthe needle here\n", 22, 0);
  g_autoptr (GBytes) found = prism_sandbox_search (place.sandbox, place.folder, "needle", 0, 10, NULL, &error);
  g_assert_no_error (error);
  gsize size;
  const char *text = g_bytes_get_data (found, &size);
  g_assert_cmpuint (size, >, 20);
  g_assert_nonnull (memmem (text, size, "the needle here\n", 16));
  g_autoptr (GBytes) none = prism_sandbox_search (place.sandbox, place.folder, "haystack", 0, 10, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_bytes_get_size (none), ==, 0);
  place_close (&place);
}

typedef struct
{
  guint left;
  PrismTreeIdentity *identity;
  GError *error;
} Answer;

static void
imported (GObject *source, GAsyncResult *async, gpointer user_data)
{
  Answer *answer = user_data;
  answer->identity = prism_sandbox_import_tree_finish (PRISM_SANDBOX (source), async, &answer->error);
  answer->left = 0;
}

static void
test_trees (gconstpointer framed)
{
  g_test_summary ("A tree goes in and comes out with one identity, synchronously and not");
  Place place;
  place_open (&place, GPOINTER_TO_INT (framed), NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char *large = g_strnfill (2000000, 'x');
  write_to (&place, "in/a", "text", 4, PRISM_FILE_FLAGS_PARENTS);
  write_to (&place, "in/sub/large", large, 2000000, PRISM_FILE_FLAGS_PARENTS);
  g_autofree char *in = path_in (&place, "in"), *out = path_in (&place, "out"), *again = path_in (&place, "again");
  g_autoptr (GFile) folder = g_file_new_for_path (in);
  g_assert_true (prism_sandbox_make_directory (place.sandbox, out, 0755, 0, NULL, &error));
  g_autoptr (PrismTreeIdentity) went = prism_sandbox_import_tree (place.sandbox, folder, out, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (prism_tree_identity_get_entries (went), ==, 3);
  g_autoptr (GOutputStream) tar = g_memory_output_stream_new_resizable ();
  g_autoptr (PrismTreeIdentity) came = prism_sandbox_export_tree (place.sandbox, out, tar, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (prism_tree_identity_get_sha256 (came), ==, prism_tree_identity_get_sha256 (went));
  g_assert_cmpuint (g_memory_output_stream_get_data_size (G_MEMORY_OUTPUT_STREAM (tar)), >, 2000000);

  Answer answer = { 1, NULL, NULL };
  g_assert_true (prism_sandbox_make_directory (place.sandbox, again, 0755, 0, NULL, &error));
  prism_sandbox_import_tree_async (place.sandbox, folder, again, NULL, imported, &answer);
  while (answer.left > 0)
    g_main_context_iteration (NULL, TRUE);
  g_assert_no_error (answer.error);
  g_assert_cmpstr (prism_tree_identity_get_sha256 (answer.identity), ==, prism_tree_identity_get_sha256 (went));
  prism_tree_identity_free (answer.identity);

  g_autofree char *missing = path_in (&place, "missing");
  g_autoptr (GOutputStream) unused = g_memory_output_stream_new_resizable ();
  g_assert_null (prism_sandbox_export_tree (place.sandbox, missing, unused, NULL, &error));
  assert_error (&error, PRISM_SANDBOX_ERROR_NOT_FOUND);
  place_close (&place);
}

static void
test_tree_limits (gconstpointer framed)
{
  g_test_summary ("A tree over its limits is refused in either direction");
  Place place;
  g_autoptr (PrismSandboxSpec) spec = bare_spec ("max-export-bytes", 100000, NULL);
  place_open (&place, GPOINTER_TO_INT (framed), spec);
  g_autoptr (GError) error = NULL;
  g_autofree char *large = g_strnfill (200000, 'x');
  write_to (&place, "in/large", large, 200000, PRISM_FILE_FLAGS_PARENTS);
  g_autofree char *in = path_in (&place, "in"), *out = path_in (&place, "out");
  g_autoptr (GFile) folder = g_file_new_for_path (in);
  g_assert_true (prism_sandbox_make_directory (place.sandbox, out, 0755, 0, NULL, &error));
  g_assert_null (prism_sandbox_import_tree (place.sandbox, folder, out, NULL, &error));
  g_assert_error (error, PRISM_TREE_ERROR, PRISM_TREE_ERROR_LIMIT);
  g_clear_error (&error);
  g_autoptr (GOutputStream) tar = g_memory_output_stream_new_resizable ();
  g_assert_null (prism_sandbox_export_tree (place.sandbox, in, tar, NULL, &error));
  g_assert_error (error, PRISM_TREE_ERROR, PRISM_TREE_ERROR_LIMIT);
  place_close (&place);
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    void (*test) (gconstpointer framed);
  } tests[] = {
    { "contents", test_contents }, { "limits", test_limits }, { "names", test_names },
    { "search", test_search },     { "trees", test_trees },   { "tree-limits", test_tree_limits },
  };
  g_test_init (&argc, &argv, NULL);
  for (int framed = 0; framed < 2; framed++)
    for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
      {
        g_autofree char *path = g_strdup_printf ("/agent/files/%s/%s", framed ? "framed" : "passed", tests[i].name);
        g_test_add_data_func (path, GINT_TO_POINTER (framed), tests[i].test);
      }
  return g_test_run ();
}
