/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs every row of the tables beside it as a test of its own. A table's columns
 * are separated by tabs; `#` starts a comment line; C's escapes stand for bytes. */
#include "verdicts.h"

#include <string.h>

typedef struct
{
  const VerdictTable *table;
  char **columns;
} Row;

static GPtrArray *rows;

static void
row_free (gpointer data)
{
  Row *row = data;

  g_strfreev (row->columns);
  g_free (row);
}

static void
run_row (gconstpointer data)
{
  const Row *row = data;

  row->table->check (row->columns);
}

/* A test's name has no slash of its own, and TAP gives `#` a meaning. */
static char *
row_name (const VerdictTable *table, guint line, const char *text)
{
  g_autofree char *escaped = g_strescape (text, NULL);

  g_strdelimit (escaped, "/# ", '_');
  return g_strdup_printf ("/%s/%u %.60s", table->file, line, *escaped != '\0' ? escaped : "nothing");
}

static void
add_row (const VerdictTable *table, guint line, const char *text)
{
  Row *row = g_new (Row, 1);
  g_autofree char *name = row_name (table, line, text);

  *row = (Row){ table, g_strsplit (text, "\t", -1) };
  if (g_strv_length (row->columns) != table->columns)
    g_error ("%s:%u: %u columns, not %u", table->file, line, g_strv_length (row->columns), table->columns);
  for (char **column = row->columns; *column != NULL; column++)
    {
      char *text_of = g_strcompress (*column);

      g_free (*column);
      *column = text_of;
    }
  g_ptr_array_add (rows, row);
  g_test_add_data_func (name, row, run_row);
}

static void
add_table (const VerdictTable *table)
{
  g_autofree char *path = g_build_filename (g_getenv ("PRISM_SOURCE_ROOT"), "tests", "verdicts", table->file, NULL);
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  g_autoptr (GError) error = NULL;

  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    if (lines[i][0] != '#' && lines[i + 1] != NULL)
      add_row (table, i + 1, lines[i]);
}

int
main (int argc, char **argv)
{
  static const VerdictTable *const all[] = { verdicts_egress, verdicts_policy };
  int result;

  g_test_init (&argc, &argv, NULL);
  g_test_set_nonfatal_assertions ();
  rows = g_ptr_array_new_with_free_func (row_free);
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    for (const VerdictTable *table = all[i]; table->file != NULL; table++)
      add_table (table);
  result = g_test_run ();
  verdicts_policy_clear ();
  g_ptr_array_unref (rows);
  return result;
}
