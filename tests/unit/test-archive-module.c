/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The archive module as the library finds it: loaded on first use, missing with a
 * clear error, and no signal when the other end of a pipe is gone. */
#include "prism-archive-private.h"
#include "prism-sandbox-error.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static const PrismArchiveLimits limits = { 100, 1 << 20, 10000 };

/* A folder with one file in it; its descriptor. */
static int
make_folder (char **path)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *file = NULL;
  int fd;
  *path = g_dir_make_tmp ("prism-archive-XXXXXX", &error);
  g_assert_no_error (error);
  file = g_build_filename (*path, "file", NULL);
  g_assert_true (g_file_set_contents (file, "content", -1, &error));
  fd = open (*path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  g_assert_cmpint (fd, >=, 0);
  return fd;
}

static void
remove_folder (int fd, char *path)
{
  unlinkat (fd, "file", 0);
  close (fd);
  g_assert_cmpint (g_rmdir (path), ==, 0);
  g_free (path);
}

/* First: nothing has loaded it yet. */
static void
test_missing (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *before = g_strdup (g_getenv ("PRISM_MODULES"));
  PrismTreeIdentity *identity;
  g_setenv ("PRISM_MODULES", "/nonexistent", TRUE);
  identity = prism_archive_export (-1, NULL, &limits, NULL, NULL, NULL, &error);
  g_setenv ("PRISM_MODULES", before, TRUE);
  g_assert_null (identity);
  g_assert_error (error, PRISM_TREE_ERROR, PRISM_TREE_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "/nonexistent/prism-archive.so"));
}

static void
test_in_and_out (void)
{
  g_autoptr (PrismTreeIdentity) in = NULL;
  g_autoptr (PrismTreeIdentity) out = NULL;
  g_autoptr (GError) error = NULL;
  char *path;
  int folder = make_folder (&path), tree = memfd_create ("tree", MFD_CLOEXEC);
  in = prism_archive_import (folder, tree, &limits, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (lseek (tree, 0, SEEK_SET), ==, 0);
  out = prism_archive_export (tree, NULL, &limits, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (prism_tree_identity_get_sha256 (in), ==, prism_tree_identity_get_sha256 (out));
  g_assert_cmpuint (prism_tree_identity_get_entries (in), ==, 1);
  g_assert_cmpuint (prism_tree_identity_get_bytes (in), ==, 7);
  close (tree);
  remove_folder (folder, path);
}

/* The module names the library's domain and codes without linking it. */
static void
test_domain (void)
{
  g_autoptr (GError) error = NULL;
  int empty = memfd_create ("empty", MFD_CLOEXEC);
  g_assert_null (prism_archive_export (empty, NULL, &limits, NULL, NULL, NULL, &error));
  g_assert_error (error, PRISM_TREE_ERROR, PRISM_TREE_ERROR_FAILED);
  close (empty);
}

static void
test_pipe (void)
{
  g_autoptr (GError) error = NULL;
  sigset_t pending;
  char *path;
  int ends[2], folder = make_folder (&path);
  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  close (ends[0]);
  g_assert_null (prism_archive_import (folder, ends[1], &limits, NULL, NULL, NULL, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_BROKEN_PIPE);
  sigpending (&pending);
  g_assert_cmpint (sigismember (&pending, SIGPIPE), ==, 0);
  close (ends[1]);
  remove_folder (folder, path);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  signal (SIGPIPE, SIG_DFL);
  g_test_add_func ("/archive-module/missing", test_missing);
  g_test_add_func ("/archive-module/in-and-out", test_in_and_out);
  g_test_add_func ("/archive-module/domain", test_domain);
  g_test_add_func ("/archive-module/pipe", test_pipe);
  return g_test_run ();
}
