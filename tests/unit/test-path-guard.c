/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The path guard while somebody changes what names mean. What is looked up once cannot be
 * another thing when it is used; PRISM_PATH_RACES says how often that is tried. */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prism-fd-private.h"
#include "prism-path-guard-private.h"

#define SECRET "what lies outside"

static guint n_races = 1500;

typedef struct
{
  char *base, *root;
  PrismPathGuard *guard;
} Tree;

static void
put (const Tree *tree, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (tree->base, name, NULL);
  g_autofree char *folder = g_path_get_dirname (path);

  g_assert_cmpint (g_mkdir_with_parents (folder, 0755), ==, 0);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static char *
in_tree (const Tree *tree, const char *name)
{
  return g_build_filename (tree->base, name, NULL);
}

static void
set_up (Tree *tree, gconstpointer data)
{
  const char *roots[] = { NULL, NULL };
  g_autofree char *link = NULL;

  tree->base = g_dir_make_tmp ("prism-guard-XXXXXX", NULL);
  tree->root = in_tree (tree, "root");
  roots[0] = tree->root;
  put (tree, "root/dir/file", "inside");
  put (tree, "root/plain", "inside");
  put (tree, "outside/file", SECRET);
  link = in_tree (tree, "root/link");
  g_assert_cmpint (symlink ("../outside", link), ==, 0);
  tree->guard = prism_path_guard_new (roots, NULL);
  g_assert_nonnull (tree->guard);
  if (data != NULL)
    prism_path_guard_set_walk (tree->guard, TRUE);
}

static void
tear_down (Tree *tree, gconstpointer data)
{
  const char *const argv[] = { "rm", "-rf", tree->base, NULL };

  g_object_unref (tree->guard);
  g_assert_true (g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
  g_free (tree->base);
  g_free (tree->root);
}

/* --- the one who swaps ----------------------------------------------------------------------------- */

/* The folder and the link change places, as fast as that goes, until this process ends. */
static pid_t
start_swapping (const Tree *tree, const char *one, const char *other)
{
  g_autofree char *first = in_tree (tree, one);
  g_autofree char *second = in_tree (tree, other);
  pid_t pid = fork ();

  g_assert_cmpint (pid, >=, 0);
  if (pid > 0)
    return pid;
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  for (;;)
    renameat2 (AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE);
}

static void
stop_swapping (pid_t pid)
{
  kill (pid, SIGKILL);
  while (waitpid (pid, NULL, 0) < 0 && errno == EINTR)
    ;
}

static void
outside_is_untouched (const Tree *tree)
{
  g_autofree char *folder = in_tree (tree, "outside");
  g_autofree char *file = in_tree (tree, "outside/file");
  g_autofree char *text = NULL;
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  guint entries = 0;

  while (g_dir_read_name (dir) != NULL)
    entries++;
  g_assert_cmpuint (entries, ==, 1);
  g_assert_true (g_file_get_contents (file, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, SECRET);
}

/* What a read brought, and that it was none of outside's. TRUE: it brought anything. */
static gboolean
reads_inside (int fd)
{
  char text[64];
  gssize length = fd >= 0 ? read (fd, text, sizeof text) : -1;

  if (fd >= 0)
    close (fd);
  if (length <= 0)
    return FALSE;
  g_assert_true (length == 6 && memcmp (text, "inside", 6) == 0);
  return TRUE;
}

/* --- races -------------------------------------------------------------------------------------------- */

static void
race_reads (Tree *tree, gconstpointer data)
{
  g_autofree char *path = in_tree (tree, "root/dir/file");
  pid_t pid = start_swapping (tree, "root/dir", "root/link");
  guint got = 0;

  for (guint i = 0; i < n_races; i++)
    {
      g_autoptr (GError) error = NULL;

      got += reads_inside (prism_path_guard_open (tree->guard, path, PRISM_PATH_INTENT_READ, O_RDONLY, 0, &error));
    }
  stop_swapping (pid);
  g_test_message ("%u of %u reads came through", got, n_races);
  outside_is_untouched (tree);
}

static void
race_writes (Tree *tree, gconstpointer data)
{
  g_autofree char *path = in_tree (tree, "root/dir/new/deep/file");
  pid_t pid = start_swapping (tree, "root/dir", "root/link");
  guint done = 0;

  for (guint i = 0; i < n_races; i++)
    {
      PrismPathHold hold;
      gboolean held = prism_path_guard_hold (tree->guard, path, PRISM_PATH_INTENT_WRITE, &hold, NULL);
      int folder = held ? prism_path_hold_make_folder (&hold, 0755) : -1;
      const char *leaf = held ? prism_path_hold_get_leaf (&hold) : NULL;
      int fd = folder >= 0 ? openat (folder, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644) : -1;

      if (fd >= 0)
        {
          g_assert_cmpint (write (fd, "x", 1), ==, 1);
          close (fd);
          unlinkat (folder, leaf, 0);
          done++;
        }
      if (folder >= 0)
        close (folder);
      prism_path_hold_clear (&hold);
    }
  stop_swapping (pid);
  g_test_message ("%u of %u writes came through", done, n_races);
  outside_is_untouched (tree);
}

static void
race_removes (Tree *tree, gconstpointer data)
{
  g_autofree char *path = in_tree (tree, "root/dir/file");
  pid_t pid = start_swapping (tree, "root/dir", "root/link");
  guint done = 0;

  for (guint i = 0; i < n_races; i++)
    {
      PrismPathHold hold;
      const char *leaf;

      if (!prism_path_guard_hold (tree->guard, path, PRISM_PATH_INTENT_REMOVE, &hold, NULL))
        continue;
      leaf = prism_path_hold_get_leaf (&hold);
      done += unlinkat (hold.folder, leaf, 0) == 0;
      close (openat (hold.folder, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
      prism_path_hold_clear (&hold);
    }
  stop_swapping (pid);
  g_test_message ("%u of %u removals came through", done, n_races);
  outside_is_untouched (tree);
}

/* The last component is the one that changes. */
static void
race_leaf (Tree *tree, gconstpointer data)
{
  g_autofree char *path = in_tree (tree, "root/plain");
  g_autofree char *link = in_tree (tree, "root/leaf");
  pid_t pid;

  g_assert_cmpint (symlink ("../outside/file", link), ==, 0);
  pid = start_swapping (tree, "root/plain", "root/leaf");
  for (guint i = 0; i < n_races; i++)
    {
      int fd;

      reads_inside (prism_path_guard_open (tree->guard, path, PRISM_PATH_INTENT_READ, O_RDONLY, 0, NULL));
      fd = prism_path_guard_open (tree->guard, path, PRISM_PATH_INTENT_WRITE, O_WRONLY | O_APPEND, 0, NULL);
      if (fd >= 0)
        {
          struct stat status;

          g_assert_cmpint (fstat (fd, &status), ==, 0);
          g_assert_cmpint (status.st_size, ==, 6);
          close (fd);
        }
    }
  stop_swapping (pid);
  outside_is_untouched (tree);
}

/* `..` behind a folder that is moved away. */
static void
race_up (Tree *tree, gconstpointer data)
{
  g_autofree char *path = in_tree (tree, "root/dir/../dir/file");
  pid_t pid;

  put (tree, "outside2/other/x", "x");
  pid = start_swapping (tree, "root/dir", "outside2/other");
  for (guint i = 0; i < n_races; i++)
    reads_inside (prism_path_guard_open (tree->guard, path, PRISM_PATH_INTENT_READ, O_RDONLY, 0, NULL));
  stop_swapping (pid);
  outside_is_untouched (tree);
}

/* --- which object ------------------------------------------------------------------------------------- */

static void
test_identity (Tree *tree, gconstpointer data)
{
  g_autofree char *path = in_tree (tree, "root/plain");
  g_autofree char *other = in_tree (tree, "root/dir/file");
  PrismPathIdentity identity;

  g_assert_true (prism_path_guard_identify (tree->guard, path, PRISM_PATH_INTENT_READ, &identity, NULL));
  g_assert_cmpuint (identity.missing, ==, 0);
  g_assert_true (prism_path_guard_is_object (tree->guard, path, PRISM_PATH_INTENT_READ, &identity));
  g_assert_cmpint (g_rename (other, path), ==, 0);
  g_assert_false (prism_path_guard_is_object (tree->guard, path, PRISM_PATH_INTENT_READ, &identity));
}

/* What is not there is held by the folder above it, and something that comes is found out. */
static void
check_missing (Tree *tree, const char *name, guint missing, PrismPathIntent intent)
{
  g_autofree char *path = in_tree (tree, name);
  PrismPathHold hold;
  prism_autofd int folder = -1;
  int fd;

  g_assert_true (prism_path_guard_hold (tree->guard, path, intent, &hold, NULL));
  g_assert_cmpuint (hold.object.missing, ==, missing);
  g_assert_cmpint (hold.fd, ==, -1);
  g_assert_true (prism_path_guard_is_object (tree->guard, path, intent, &hold.object));
  if (intent != PRISM_PATH_INTENT_READ)
    {
      folder = prism_path_hold_make_folder (&hold, 0755);
      g_assert_cmpint (folder, >=, 0);
      g_assert_true (prism_path_guard_is_object (tree->guard, path, intent, &hold.object));
      fd = openat (folder, prism_path_hold_get_leaf (&hold), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
      g_assert_cmpint (fd, >=, 0);
      close (fd);
      g_assert_false (prism_path_guard_is_object (tree->guard, path, intent, &hold.object));
    }
  prism_path_hold_clear (&hold);
}

static void
test_hold_missing (Tree *tree, gconstpointer data)
{
  check_missing (tree, "root/none", 1, PRISM_PATH_INTENT_READ);
  check_missing (tree, "root/none", 1, PRISM_PATH_INTENT_WRITE);
  check_missing (tree, "root/dir/none", 1, PRISM_PATH_INTENT_REMOVE);
  check_missing (tree, "root/a/b/none", 3, PRISM_PATH_INTENT_READ);
  check_missing (tree, "root/a/b/none", 3, PRISM_PATH_INTENT_WRITE);
  check_missing (tree, "root/dir/a/none", 2, PRISM_PATH_INTENT_WRITE);
}

/* A FIFO in the tree holds nobody up, and no set-id bit is made. */
static void
test_odd_files (Tree *tree, gconstpointer data)
{
  g_autofree char *fifo = in_tree (tree, "root/fifo");
  g_autofree char *made = in_tree (tree, "root/made");
  struct stat status;
  int fd;

  g_assert_cmpint (mkfifo (fifo, 0600), ==, 0);
  fd = prism_path_guard_open (tree->guard, fifo, PRISM_PATH_INTENT_READ, O_RDONLY, 0, NULL);
  g_assert_cmpint (fd, >=, 0);
  close (fd);
  fd = prism_path_guard_open (tree->guard, made, PRISM_PATH_INTENT_WRITE, O_WRONLY | O_CREAT | O_EXCL, 06755, NULL);
  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (fstat (fd, &status), ==, 0);
  g_assert_cmpint (status.st_mode & 07000, ==, 0);
  close (fd);
}

static void
test_is_inside (void)
{
  g_assert_true (prism_path_is_inside ("/a/b", "/a"));
  g_assert_true (prism_path_is_inside ("/a", "/a"));
  g_assert_true (prism_path_is_inside ("/a/..x", "/a"));
  g_assert_true (prism_path_is_inside ("/a/b/../c", "/a/"));
  g_assert_true (prism_path_is_inside ("/x", "/"));
  g_assert_false (prism_path_is_inside ("/ab", "/a"));
  g_assert_false (prism_path_is_inside ("/a/../b", "/a"));
  g_assert_false (prism_path_is_inside ("a", "/a"));
  g_assert_false (prism_path_is_inside ("", "/"));
}

static void
test_roots (void)
{
  const char *const relative[] = { "a", NULL }, *const absent[] = { "/nowhere-at-all", NULL },
                    *const file[] = { "/etc/passwd", NULL };
  const char *const *const wrong[] = { relative, absent, file };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (prism_path_guard_new (wrong[i], &error));
      g_assert_nonnull (error);
    }
}

static void
add (const char *name, void (*test) (Tree *tree, gconstpointer data))
{
  g_autofree char *first = g_strdup_printf ("/path-guard/openat2/%s", name);
  g_autofree char *second = g_strdup_printf ("/path-guard/walk/%s", name);

  g_test_add (first, Tree, NULL, set_up, test, tear_down);
  g_test_add (second, Tree, "walk", set_up, test, tear_down);
}

int
main (int argc, char **argv)
{
  const char *number = g_getenv ("PRISM_PATH_RACES");

  g_test_init (&argc, &argv, NULL);
  if (number != NULL)
    n_races = (guint)g_ascii_strtoull (number, NULL, 10);
  add ("reads", race_reads);
  add ("writes", race_writes);
  add ("removes", race_removes);
  add ("leaf", race_leaf);
  add ("up", race_up);
  add ("identity", test_identity);
  add ("hold-missing", test_hold_missing);
  add ("odd-files", test_odd_files);
  g_test_add_func ("/path-guard/is-inside", test_is_inside);
  g_test_add_func ("/path-guard/roots", test_roots);
  return g_test_run ();
}
