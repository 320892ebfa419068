/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whole trees in and out. */
#include "conformance.h"

#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void
host_file (Box *box, const char *name, const char *text, int mode)
{
  const char *path = host_path (box, name);
  g_autofree char *folder = g_path_get_dirname (path);

  g_assert_cmpint (g_mkdir_with_parents (folder, 0755), ==, 0);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  g_assert_cmpint (chmod (path, (mode_t)mode), ==, 0);
}

/* Beside the workspace's own files, in a folder that the sandbox sees too; where it is remote,
 * only once take_in() was called. */
static GFile *
make_tree (Box *box)
{
  host_file (box, "from/a", "alpha", 0644);
  host_file (box, "from/run", "#!/bin/sh\n", 0755);
  host_file (box, "from/d/e/f", "deep", 0600);
  host_file (box, "from/odd \xff\n", "odd", 0644);
  g_assert_cmpint (g_mkdir (host_path (box, "from/empty"), 0755), ==, 0);
  g_assert_cmpint (symlink ("d/e/f", host_path (box, "from/link")), ==, 0);
  return g_file_new_for_path (host_path (box, "from"));
}

static void
take_in (Box *box, GFile *folder)
{
  g_autoptr (PrismTreeIdentity) identity = NULL;
  g_autoptr (GError) error = NULL;

  if (!box->remote)
    return;
  g_assert_true (prism_sandbox_make_directory (box->sandbox, "from", 0, 0, NULL, &error));
  identity = prism_sandbox_import_tree (box->sandbox, folder, "from", NULL, &error);
  g_assert_no_error (error);
}

static PrismTreeIdentity *export(Box *box, const char *path, GBytes **tar)
{
  g_autoptr (GOutputStream) stream = g_memory_output_stream_new_resizable ();
  g_autoptr (GError) error = NULL;
  PrismTreeIdentity *identity = prism_sandbox_export_tree (box->sandbox, path, stream, NULL, &error);

  g_assert_no_error (error);
  g_output_stream_close (stream, NULL, NULL);
  *tar = g_memory_output_stream_steal_as_bytes (G_MEMORY_OUTPUT_STREAM (stream));
  return identity;
}

static void
on_progress (PrismSandbox *sandbox, guint64 entries, guint64 bytes, guint64 total, gpointer data)
{
  g_assert_true (g_thread_self () == data);
}

/* In and out is the same tree, and the identity is the tar's own digest. */
static void
test_round_trip (Box *box)
{
  g_autoptr (GFile) folder = make_tree (box);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismTreeIdentity) in = NULL, out = NULL, source = NULL;
  g_autoptr (GBytes) tar = NULL, other = NULL;
  g_autofree char *digest = NULL;
  gulong id = g_signal_connect (box->sandbox, "tree-progress", G_CALLBACK (on_progress), g_thread_self ());

  take_in (box, folder);
  g_assert_true (prism_sandbox_make_directory (box->sandbox, "to", 0, 0, NULL, NULL));
  in = prism_sandbox_import_tree (box->sandbox, folder, "to", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (prism_tree_identity_get_entries (in), ==, 8);
  g_assert_cmpuint (prism_tree_identity_get_bytes (in), ==, 5 + 10 + 4 + 3);
  out = export(box, "to", &tar);
  source = export(box, "from", &other);
  g_assert_cmpstr (prism_tree_identity_get_sha256 (in), ==, prism_tree_identity_get_sha256 (out));
  g_assert_cmpstr (prism_tree_identity_get_sha256 (in), ==, prism_tree_identity_get_sha256 (source));
  g_assert_cmpuint (prism_tree_identity_get_entries (in), ==, prism_tree_identity_get_entries (out));
  g_assert_true (g_bytes_equal (tar, other));
  digest = g_compute_checksum_for_bytes (G_CHECKSUM_SHA256, tar);
  g_assert_cmpstr (digest, ==, prism_tree_identity_get_sha256 (out));
  g_autoptr (PrismResult) same =
      box_sh (box, "diff -r from to && test -x to/run && test \"$(readlink to/link)\" = d/e/f");
  assert_exited (same, 0);
  g_signal_handler_disconnect (box->sandbox, id);
}

static void
on_export (GObject *source, GAsyncResult *result, gpointer data)
{
  Answer *answer = data;
  g_autoptr (PrismTreeIdentity) identity =
      prism_sandbox_export_tree_finish (PRISM_SANDBOX (source), result, &answer->error);

  answer->done = TRUE;
}

static void
test_async (Box *box)
{
  g_autoptr (GFile) folder = make_tree (box);
  g_autoptr (GOutputStream) stream = g_memory_output_stream_new_resizable ();
  g_auto (Answer) answer = { 0 };

  take_in (box, folder);
  prism_sandbox_export_tree_async (box->sandbox, "from", stream, NULL, on_export, &answer);
  g_assert_false (answer.done);
  WAIT_UNTIL (answer.done);
  g_assert_no_error (answer.error);
}

static void
refuse_import (Box *box, GFile *folder, int code)
{
  g_autoptr (GError) error = NULL;

  prism_sandbox_make_directory (box->sandbox, "to", 0, PRISM_FILE_FLAGS_PARENTS, NULL, NULL);
  g_assert_null (prism_sandbox_import_tree (box->sandbox, folder, "to", NULL, &error));
  g_assert_error (error, PRISM_TREE_ERROR, code);
}

static void
test_what_trees_do_not_hold (Box *box)
{
  g_autoptr (GFile) folder = make_tree (box);

  g_assert_cmpint (mkfifo (host_path (box, "from/fifo"), 0600), ==, 0);
  refuse_import (box, folder, PRISM_TREE_ERROR_TYPE);
  g_unlink (host_path (box, "from/fifo"));
  g_assert_cmpint (symlink ("../../../etc/passwd", host_path (box, "from/bad")), ==, 0);
  refuse_import (box, folder, PRISM_TREE_ERROR_UNSAFE_PATH);
}

static void
prepare_small (Box *box)
{
  g_assert_true (prism_limits_set (box->limits, "max-export-entries", 7, NULL));
}

static void
test_too_many (Box *box)
{
  g_autoptr (GFile) folder = make_tree (box);
  g_autoptr (GOutputStream) stream = g_memory_output_stream_new_resizable ();
  g_autoptr (GError) error = NULL;

  refuse_import (box, folder, PRISM_TREE_ERROR_LIMIT);
  if (box->remote)
    {
      g_autoptr (PrismResult) made =
          box_sh (box, "mkdir from; touch from/a from/b from/c from/d from/e from/f from/g from/h");
      assert_exited (made, 0);
    }
  g_assert_null (prism_sandbox_export_tree (box->sandbox, "from", stream, NULL, &error));
  g_assert_error (error, PRISM_TREE_ERROR, PRISM_TREE_ERROR_LIMIT);
}

static void
test_missing (Box *box)
{
  g_autoptr (GOutputStream) stream = g_memory_output_stream_new_resizable ();
  g_autoptr (GError) error = NULL;

  g_assert_null (prism_sandbox_export_tree (box->sandbox, "missing", stream, NULL, &error));
  g_assert_nonnull (error);
}

void
add_tree_tests (void)
{
  box_add ("/trees/round-trip", test_round_trip);
  box_add ("/trees/async", test_async);
  box_add ("/trees/what-trees-do-not-hold", test_what_trees_do_not_hold);
  box_add_full ("/trees/too-many", prepare_small, test_too_many);
  box_add ("/trees/missing", test_missing);
}
