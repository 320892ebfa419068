/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The coding tools inside a native sandbox: a search through 20,000 files, and a small file. */
#include "bench.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <unistd.h>

#define FILES 20000

typedef struct
{
  PrismSandbox *sandbox;
  PrismComposition *composition;
  PrismTool *search, *read;
  char *tree;
  int nowhere;
} Tools;

/* Source-like files in folders of 50, the same each time: about 5 kB, some up to 64 KiB; each
 * 500th has the needle. */
static void
make_tree (const char *folder)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < 4000; i++)
    {
      char word[12] = "";
      guint n = (guint)g_rand_int_range (random, 2, 11);
      for (guint k = 0; k < n; k++)
        word[k] = (char)('a' + g_rand_int_range (random, 0, 26));
      g_ptr_array_add (words, g_strdup (word));
    }
  for (guint i = 0; i < FILES; i++)
    {
      double u = g_rand_double_range (random, 1e-9, 1), v = g_rand_double (random);
      gsize size = (gsize)MIN (exp (8.0 + sqrt (-2 * log (u)) * cos (2 * G_PI * v)), 65536.0);
      g_autofree char *where = g_strdup_printf ("%s/pkg%02u/mod%02u", folder, i / 500, i / 50 % 10);
      g_autofree char *path = g_strdup_printf ("%s/file%05u.c", where, i);

      g_string_truncate (text, 0);
      while (text->len < size)
        g_string_append_printf (text, "%s%c", (char *)words->pdata[g_rand_int_range (random, 0, 4000)],
                                g_rand_int_range (random, 0, 8) == 0 ? '\n' : ' ');
      if (i % 500 == 0)
        g_string_append_printf (text, "\nint NEEDLE_token_%u = 1;\n", i);
      g_mkdir_with_parents (where, 0755);
      g_assert_true (
          g_file_set_contents_full (path, text->str, (gssize)text->len, G_FILE_SET_CONTENTS_NONE, 0644, NULL));
    }
}

static double
call (PrismTool *tool, const char *arguments)
{
  double start = bench_now_us ();
  g_autoptr (PrismToolResult) result = prism_tool_call (tool, arguments, NULL, NULL, NULL);

  return result != NULL && !prism_tool_result_get_failed (result) ? bench_now_us () - start : -1;
}

static double
search_tool (gpointer data)
{
  return call (((Tools *)data)->search, "{\"query\":\"needle_token\"}");
}

static double
search_rg (gpointer data)
{
  Tools *tools = data;
  const char *const argv[] = { "rg", "-i", "-F", "--no-ignore", "needle_token", ".", NULL };
  double start = bench_now_us ();

  return peer_spawn (argv, tools->tree, tools->nowhere) ? bench_now_us () - start : -1;
}

static double
read_tool (gpointer data)
{
  return call (((Tools *)data)->read, "{\"path\":\"small.txt\"}");
}

static double
exec_static (gpointer data)
{
  const char *const argv[] = { "/workspace/true-min", NULL };
  double start = bench_now_us ();

  return bench_exec (((Tools *)data)->sandbox, argv) ? bench_now_us () - start : -1;
}

static gboolean
begin (Bench *bench, Tools *tools, GError **error)
{
  g_autoptr (GFile) folder = g_file_new_for_path (tools->tree);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (folder);

  tools->sandbox = prism_backend_create_sandbox (bench->backend, spec, NULL, error);
  if (tools->sandbox == NULL)
    return FALSE;
  tools->composition = prism_composition_new (PRISM_COMPOSITION_MODE_SANDBOX);
  prism_composition_set_sandbox (tools->composition, tools->sandbox);
  if (!prism_composition_set_limit (tools->composition, "search-scan-bytes", 1 << 30, error)
      || !prism_composition_bind (tools->composition, NULL, error))
    return FALSE;
  tools->search = prism_composition_find_tool (tools->composition, "repo_search");
  tools->read = prism_composition_find_tool (tools->composition, "read");
  return TRUE;
}

void
bench_tools_rows (Bench *bench)
{
  const char *search = "tools: repo_search over 20,000 files, literal, warm";
  const char *read = "tools: read of a small file";
  g_autoptr (GError) error = NULL;
  g_autofree char *tree = g_build_filename (bench->folder, "sources", NULL);
  g_autofree char *small = g_build_filename (tree, "small.txt", NULL);
  g_autofree char *true_min = g_build_filename (tree, "true-min", NULL);
  g_autofree char *rg = g_find_program_in_path ("rg");
  const char *const copy[] = { "cp", bench->true_min, true_min, NULL };
  Tools tools = { .tree = tree, .nowhere = open ("/dev/null", O_WRONLY | O_CLOEXEC) };

  if (!bench_wants (search) && !bench_wants (read))
    return;
  g_mkdir (tree, 0755);
  if (bench_wants (search))
    make_tree (tree);
  g_assert_true (g_file_set_contents (small, "a line\nanother\n", -1, NULL) && peer_spawn (copy, NULL, -1));
  if (!begin (bench, &tools, &error))
    bench_missing (search, error->message);
  else
    {
      if (rg == NULL)
        bench_missing (search, "rg is not there");
      else
        bench_row (bench, &(BenchRow){ search, "repo_search in a sandbox", "rg -i -F --no-ignore", "us", search_tool,
                                       search_rg, &tools, &tools, 40, 3, BENCH_AT_MOST, 1.0 });
      bench_row (bench, &(BenchRow){ read, "read in a sandbox", "exec of a static program there", "us", read_tool,
                                     exec_static, &tools, &tools, 1000, 50, BENCH_AT_MOST, 0.5 });
    }
  g_clear_object (&tools.search);
  g_clear_object (&tools.read);
  g_clear_object (&tools.composition);
  if (tools.sandbox != NULL)
    prism_sandbox_close (tools.sandbox, NULL, NULL);
  g_clear_object (&tools.sandbox);
  close (tools.nowhere);
}
