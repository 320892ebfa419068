/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench [--quick] [--json FILE] [ROW…]: the figures that libprism promises, as
 * ratios to what does the same, measured side by side in one run. */
#include "bench.h"

#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>

static char **wanted;
static JsonBuilder *json;
static int missed;

double
bench_now_us (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

gboolean
bench_wants (const char *name)
{
  for (int i = 0; wanted != NULL && wanted[i] != NULL; i++)
    if (strstr (name, wanted[i]) != NULL)
      return TRUE;
  return wanted == NULL || wanted[0] == NULL;
}

guint
bench_rounds (Bench *bench, guint full)
{
  return bench->quick ? MAX (full / 10, 3) : full;
}

static int
compare (gconstpointer a, gconstpointer b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

typedef struct
{
  double min, median, p95;
} Spread;

static Spread
spread_of (GArray *values)
{
  g_array_sort (values, compare);
  double *v = (double *)(void *)values->data;
  guint n = values->len;
  return (Spread){ v[0], v[n / 2], v[MIN (n - 1, n * 95 / 100)] };
}

static void
add_spread (const char *who, const char *name, const Spread *spread, guint n)
{
  json_builder_set_member_name (json, who);
  json_builder_begin_object (json);
  json_builder_set_member_name (json, "name");
  json_builder_add_string_value (json, name);
  json_builder_set_member_name (json, "min");
  json_builder_add_double_value (json, spread->min);
  json_builder_set_member_name (json, "median");
  json_builder_add_double_value (json, spread->median);
  json_builder_set_member_name (json, "p95");
  json_builder_add_double_value (json, spread->p95);
  json_builder_set_member_name (json, "rounds");
  json_builder_add_int_value (json, n);
  json_builder_end_object (json);
}

static const char *
verdict (double value, BenchSense sense, double bound)
{
  if (bound <= 0)
    return "";
  gboolean good = sense == BENCH_AT_MOST ? value <= bound : value >= bound;
  missed += !good;
  return good ? "  ok" : "  MISSED";
}

static void
add_ratio (double ratio, BenchSense sense, double bound)
{
  json_builder_set_member_name (json, "ratio");
  json_builder_add_double_value (json, ratio);
  json_builder_set_member_name (json, sense == BENCH_AT_MOST ? "at_most" : "at_least");
  if (bound > 0)
    json_builder_add_double_value (json, bound);
  else
    json_builder_add_null_value (json);
}

static void
print_spread (const char *name, const char *unit, const Spread *s, guint n)
{
  printf ("    %-34s min %10.1f  median %10.1f  p95 %10.1f %s  (n=%u)\n", name, s->min, s->median, s->p95, unit, n);
}

void
bench_row (Bench *bench, const BenchRow *row)
{
  if (!bench_wants (row->name))
    return;
  g_autoptr (GArray) ours = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) peer = g_array_new (FALSE, FALSE, sizeof (double));
  guint rounds = bench_rounds (bench, row->rounds), warm_up = row->warm_up;
  for (guint i = 0; i < rounds + warm_up; i++)
    {
      /* Who goes first changes: neither always follows the other's leftovers. */
      double a, b;
      if (i % 2 == 0)
        a = row->ours (row->ours_data), b = row->peer (row->peer_data);
      else
        b = row->peer (row->peer_data), a = row->ours (row->ours_data);
      if (a < 0 || b < 0)
        {
          bench_missing (row->name, a < 0 ? row->ours_name : row->peer_name);
          return;
        }
      if (i < warm_up)
        continue;
      g_array_append_val (ours, a);
      g_array_append_val (peer, b);
    }
  Spread o = spread_of (ours), p = spread_of (peer);
  double ratio = o.median / p.median;
  printf ("%s\n", row->name);
  print_spread (row->ours_name, row->unit, &o, ours->len);
  print_spread (row->peer_name, row->unit, &p, peer->len);
  printf ("    ratio %.4f", ratio);
  if (row->bound > 0)
    printf ("  (%s %.4f)", row->sense == BENCH_AT_MOST ? "at most" : "at least", row->bound);
  printf ("%s\n", verdict (ratio, row->sense, row->bound));
  fflush (stdout);
  json_builder_begin_object (json);
  json_builder_set_member_name (json, "row");
  json_builder_add_string_value (json, row->name);
  json_builder_set_member_name (json, "unit");
  json_builder_add_string_value (json, row->unit);
  add_spread ("ours", row->ours_name, &o, ours->len);
  add_spread ("peer", row->peer_name, &p, peer->len);
  add_ratio (ratio, row->sense, row->bound);
  json_builder_end_object (json);
}

void
bench_figure (const char *name, double value, const char *unit, BenchSense sense, double bound)
{
  printf ("%s\n    %.3f %s", name, value, unit);
  if (bound > 0)
    printf ("  (%s %.3f)", sense == BENCH_AT_MOST ? "at most" : "at least", bound);
  printf ("%s\n", verdict (value, sense, bound));
  fflush (stdout);
  json_builder_begin_object (json);
  json_builder_set_member_name (json, "row");
  json_builder_add_string_value (json, name);
  json_builder_set_member_name (json, "unit");
  json_builder_add_string_value (json, unit);
  add_ratio (value, sense, bound);
  json_builder_end_object (json);
}

void
bench_missing (const char *name, const char *why)
{
  printf ("%s\n    NOT MEASURED: %s\n", name, why);
  json_builder_begin_object (json);
  json_builder_set_member_name (json, "row");
  json_builder_add_string_value (json, name);
  json_builder_set_member_name (json, "not_measured");
  json_builder_add_string_value (json, why);
  json_builder_end_object (json);
}

PrismSandbox *
bench_create (Bench *bench, GError **error)
{
  g_autoptr (GFile) workspace = g_file_new_for_path (bench->workspace);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (workspace);
  return prism_backend_create_sandbox (bench->backend, spec, NULL, error);
}

gboolean
bench_exec (PrismSandbox *sandbox, const char *const *argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);
  if (result == NULL)
    g_printerr ("bench: %s\n", error->message);
  return result != NULL && prism_result_get_exit_code (result) == 0;
}

static char *
first_line_after (const char *path, const char *key)
{
  g_autofree char *text = NULL;
  char *hit;
  if (!g_file_get_contents (path, &text, NULL, NULL) || (hit = strstr (text, key)) == NULL)
    return g_strdup ("unknown");
  hit += strlen (key);
  hit[strcspn (hit, "\n")] = '\0';
  return g_strdup (g_strstrip (hit + strspn (hit, ": \t")));
}

static void
name_machine (void)
{
  struct utsname about;
  g_autofree char *cpu = first_line_after ("/proc/cpuinfo", "model name");
  g_autofree char *load = first_line_after ("/proc/loadavg", "");
  uname (&about);
  g_autofree char *text =
      g_strdup_printf ("%s, %u CPUs, %s %s, load %s", cpu, g_get_num_processors (), about.sysname, about.release, load);
  printf ("machine: %s\n", text);
  json_builder_set_member_name (json, "machine");
  json_builder_add_string_value (json, text);
}

static void
copy_into (const char *from, const char *to)
{
  g_autoptr (GFile) a = g_file_new_for_path (from), b = g_file_new_for_path (to);
  g_autoptr (GError) error = NULL;
  g_file_copy (a, b, G_FILE_COPY_OVERWRITE, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  g_chmod (to, 0755);
}

static void
copy_plug_ins (Bench *bench)
{
  const char *path = g_getenv ("PRISM_PLUGIN_PATH");
  g_auto (GStrv) folders = g_strsplit (path != NULL ? path : "", ":", -1);
  const char *name;

  bench->plug_ins = g_build_filename (bench->folder, "plugins", NULL);
  g_mkdir (bench->plug_ins, 0755);
  for (guint i = 0; folders[i] != NULL; i++)
    {
      g_autoptr (GDir) dir = g_dir_open (folders[i], 0, NULL);
      while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
        if (g_str_has_suffix (name, ".plugin") || g_str_has_suffix (name, ".so"))
          {
            g_autofree char *from = g_build_filename (folders[i], name, NULL);
            g_autofree char *to = g_build_filename (bench->plug_ins, name, NULL);
            copy_into (from, to);
          }
    }
}

static void
set_up (Bench *bench, const char *own_folder)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *true_min = g_build_filename (own_folder, "true-min", NULL);
  g_autofree char *flood = g_build_filename (own_folder, "flood", NULL);
  const char *srt = g_getenv ("PRISM_BENCH_SRT");
  /* tmpfs: disks are another matter. */
  bench->folder = g_strdup ("/dev/shm/prism-bench-XXXXXX");
  g_assert_nonnull (g_mkdtemp_full (bench->folder, 0755));
  bench->workspace = g_build_filename (bench->folder, "workspace", NULL);
  bench->true_min = g_build_filename (bench->workspace, "true-min", NULL);
  bench->flood = g_build_filename (bench->workspace, "flood", NULL);
  g_mkdir (bench->workspace, 0755);
  bench->plain = g_dir_make_tmp ("prism-bench-XXXXXX", &error);
  g_assert_no_error (error);
  g_autofree char *plain_true = g_build_filename (bench->plain, "true-min", NULL);
  copy_into (true_min, plain_true);
  copy_into (true_min, bench->true_min);
  copy_into (flood, bench->flood);
  copy_plug_ins (bench);
  bench->prism = g_strdup (g_getenv ("PRISM_COMMAND"));
  bench->srt = srt != NULL && g_file_test (srt, G_FILE_TEST_IS_DIR) ? g_strdup (srt) : NULL;
  bench->backend = prism_registry_create_backend (prism_registry_get_default (), "native", &error);
  if (bench->backend == NULL)
    g_printerr ("bench: %s\n", error->message);
}

static void
tear_down (Bench *bench)
{
  const char *const remove[] = { "rm", "-rf", bench->folder, bench->plain, NULL };
  g_clear_object (&bench->backend);
  peer_spawn (remove, NULL, -1);
}

static void
write_json (const char *path)
{
  g_autoptr (GError) error = NULL;
  json_builder_end_array (json);
  json_builder_end_object (json);
  if (path == NULL)
    return;
  g_autoptr (JsonNode) root = json_builder_get_root (json);
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  json_generator_set_pretty (generator, TRUE);
  json_generator_set_root (generator, root);
  if (!json_generator_to_file (generator, path, &error))
    g_printerr ("bench: %s\n", error->message);
}

int
main (int argc, char **argv)
{
  Bench bench = { 0 };
  g_autofree char *json_path = NULL, *own_folder = NULL;
  gint64 worker_mib = -1;
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_FILENAME, &json_path, "the figures, for a later comparison", "FILE" },
    { "quick", 0, 0, G_OPTION_ARG_NONE, &bench.quick, "a tenth of the rounds", NULL },
    { "worker", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_INT64, &worker_mib, NULL, NULL },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &wanted, NULL, "[ROW...]" },
    { 0 },
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      g_printerr ("bench: %s\n", error->message);
      return 2;
    }
  own_folder = g_path_get_dirname (self);
  json = json_builder_new ();
  json_builder_begin_object (json);
  set_up (&bench, own_folder);
  if (worker_mib >= 0)
    {
      int status = bench_heap_worker (&bench, worker_mib);
      tear_down (&bench);
      return status;
    }
  name_machine ();
  json_builder_set_member_name (json, "rows");
  json_builder_begin_array (json);
  if (bench.backend != NULL)
    {
      bench_start_rows (&bench);
      bench_exec_rows (&bench);
      bench_cold_rows (&bench);
      bench_stream_rows (&bench);
      bench_tools_rows (&bench);
      bench_mcp_rows (&bench);
      bench_tree_rows (&bench);
      bench_memory_rows (&bench);
      bench_policy_rows (&bench);
      bench_egress_rows (&bench);
      bench_egress_inside_rows (&bench);
      bench_docker_rows (&bench);
#ifdef BENCH_E2B
      bench_e2b_rows (&bench);
#endif
    }
  write_json (json_path);
  tear_down (&bench);
  if (missed > 0)
    printf ("%d of the figures missed their bound\n", missed);
  return bench.backend == NULL || missed > 0;
}
