/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ten thousand files in and out, with SHA-256, against GNU tar without one; all on tmpfs. */
#include "bench.h"

#include <fcntl.h>
#include <gio/gunixoutputstream.h>
#include <glib/gstdio.h>
#include <unistd.h>

#define FILES 10000

typedef struct
{
  Bench *bench;
  PrismSandbox *sandbox;
  char *tree;    /* on the host */
  char *archive; /* of it */
  char *out;
} Trees;

/* 10,000 files, 100 folders, 49 MB: sizes as in a repository. */
void
bench_make_tree (const char *tree)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (20261129);
  g_autofree char *block = g_malloc (65536);
  for (int i = 0; i < 65536; i++)
    block[i] = 'a' + g_rand_int_range (random, 0, 26);
  g_mkdir (tree, 0755);
  for (int d = 0; d < 100; d++)
    {
      g_autofree char *folder = g_strdup_printf ("%s/folder-%02d", tree, d);
      g_mkdir (folder, 0755);
      for (int f = 0; f < FILES / 100; f++)
        {
          g_autofree char *path = g_strdup_printf ("%s/file-%03d.txt", folder, f);
          gsize size = g_rand_int_range (random, 0, 100) < 95 ? g_rand_int_range (random, 100, 7000)
                                                              : g_rand_int_range (random, 20000, 60000);
          g_assert_true (g_file_set_contents_full (path, block, size, G_FILE_SET_CONTENTS_NONE, 0644, NULL));
        }
    }
}

static double
import (gpointer data)
{
  Trees *t = data;
  g_autoptr (GFile) folder = g_file_new_for_path (t->tree);
  g_autoptr (GError) error = NULL;
  if (!prism_sandbox_make_directory (t->sandbox, "/workspace/tree", 0755, PRISM_FILE_FLAGS_PARENTS, NULL, &error))
    {
      g_printerr ("bench: %s\n", error->message);
      return -1;
    }
  double start = bench_now_us ();
  g_autoptr (PrismTreeIdentity) identity =
      prism_sandbox_import_tree (t->sandbox, folder, "/workspace/tree", NULL, &error);
  double us = bench_now_us () - start;
  if (identity == NULL)
    {
      g_printerr ("bench: %s\n", error->message);
      return -1;
    }
  prism_sandbox_remove_file (t->sandbox, "/workspace/tree", PRISM_FILE_FLAGS_RECURSIVE, NULL, NULL);
  return us;
}

static void
remove_out (Trees *t)
{
  const char *const remove[] = { "rm", "-rf", t->out, NULL };
  peer_spawn (remove, NULL, -1);
  g_mkdir (t->out, 0755);
}

static double
tar_in (gpointer data)
{
  Trees *t = data;
  const char *const argv[] = { "tar", "-C", t->out, "-xf", t->archive, NULL };
  double start = bench_now_us ();
  double us = peer_spawn (argv, NULL, -1) ? bench_now_us () - start : -1;
  remove_out (t);
  return us;
}

static double
tar_through (gpointer data)
{
  Trees *t = data;
  g_autofree char *line = g_strdup_printf ("tar -C '%s' -cf - . | tar -C '%s' -xf -", t->tree, t->out);
  const char *const argv[] = { "sh", "-c", line, NULL };
  double start = bench_now_us ();
  double us = peer_spawn (argv, NULL, -1) ? bench_now_us () - start : -1;
  remove_out (t);
  return us;
}

static gpointer
drain (gpointer data)
{
  static char block[1 << 20];
  int fd = GPOINTER_TO_INT (data);
  while (read (fd, block, sizeof block) > 0)
    ;
  close (fd);
  return NULL;
}

static GThread *
drained_pipe (int *end)
{
  int p[2];
  g_assert_cmpint (pipe2 (p, O_CLOEXEC), ==, 0);
  (void)fcntl (p[1], F_SETPIPE_SZ, 1 << 20);
  *end = p[1];
  return g_thread_new ("drain", drain, GINT_TO_POINTER (p[0]));
}

static double export(gpointer data)
{
  Trees *t = data;
  int end;
  g_autoptr (GError) error = NULL;
  double start = bench_now_us ();
  GThread *thread = drained_pipe (&end);
  g_autoptr (GOutputStream) stream = g_unix_output_stream_new (end, TRUE);
  g_autoptr (PrismTreeIdentity) identity =
      prism_sandbox_export_tree (t->sandbox, "/workspace/exported", stream, NULL, &error);
  g_output_stream_close (stream, NULL, NULL);
  g_thread_join (thread);
  if (identity == NULL)
    g_printerr ("bench: %s\n", error->message);
  return identity != NULL ? bench_now_us () - start : -1;
}

static double
tar_out (gpointer data)
{
  Trees *t = data;
  int end;
  const char *const argv[] = { "tar", "-C", t->tree, "-cf", "-", ".", NULL };
  double start = bench_now_us ();
  GThread *thread = drained_pipe (&end);
  gboolean good = peer_spawn (argv, NULL, end);
  close (end);
  g_thread_join (thread);
  return good ? bench_now_us () - start : -1;
}

void
bench_tree_rows (Bench *bench)
{
  g_autoptr (GError) error = NULL;
  if (!bench_wants ("tree: import export"))
    return;
  Trees t = { .bench = bench };
  t.tree = g_build_filename (bench->folder, "tree", NULL);
  t.archive = g_build_filename (bench->folder, "tree.tar", NULL);
  t.out = g_build_filename (bench->folder, "out", NULL);
  bench_make_tree (t.tree);
  remove_out (&t);
  const char *const pack[] = { "tar", "-C", t.tree, "-cf", t.archive, ".", NULL };
  t.sandbox = bench_create (bench, &error);
  g_autoptr (GFile) folder = g_file_new_for_path (t.tree);
  g_autoptr (PrismTreeIdentity) there = NULL;
  if (t.sandbox != NULL && peer_spawn (pack, NULL, -1)
      && prism_sandbox_make_directory (t.sandbox, "/workspace/exported", 0755, PRISM_FILE_FLAGS_PARENTS, NULL, &error))
    there = prism_sandbox_import_tree (t.sandbox, folder, "/workspace/exported", NULL, &error);
  if (there == NULL)
    {
      bench_missing ("tree: import, export", error != NULL ? error->message : "tar");
      return;
    }
  bench_row (bench, &(BenchRow){ "tree: import of 10,000 files with SHA-256", "prism import_tree (folder to folder)",
                                 "tar -c | tar -x (folder to folder)", "us", import, tar_through, &t, &t, 30, 2,
                                 BENCH_AT_MOST, 1.8 });
  bench_row (bench,
             &(BenchRow){ "tree: import, against unpacking a tar that is there", "prism import_tree (folder to folder)",
                          "tar -x", "us", import, tar_in, &t, &t, 20, 1, BENCH_AT_MOST, 1.8 });
  bench_row (bench, &(BenchRow){ "tree: export of 10,000 files with SHA-256", "prism export_tree", "tar -c", "us",
                                 export, tar_out, &t, &t, 30, 2, BENCH_AT_MOST, 1.8 });
  prism_sandbox_close (t.sandbox, NULL, NULL);
  g_clear_object (&t.sandbox);
}
