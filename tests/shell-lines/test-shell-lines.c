/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lexer against the shells. Generated lines run in a native sandbox, by dash and by
 * bash, where every program is a stub that writes down what it was given: all of it has to
 * be in the list that the lexer made of the line, or the lexer has to have said that the
 * line is uncertain. */
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>

#include "lines.h"
#include "prism-command-lexer-private.h"

static guint n_lines = 200;
static guint32 seed = 20261129;

/* --- what a stub was given, and what the lexer said ------------------------------------------ */

static gboolean
words_match (const PrismShellLine *line, const PrismShellCommand *command, guint word, char **argv)
{
  for (; word < command->n_words; word++)
    {
      const PrismShellWord *known = prism_shell_line_word (line, command, word);

      if (known->flags & (PRISM_WORD_SPLITS | PRISM_WORD_GLOB | PRISM_WORD_BRACE))
        {
          do
            if (words_match (line, command, word + 1, argv))
              return TRUE;
          while (*argv++ != NULL);
          return FALSE;
        }
      if (*argv == NULL)
        return FALSE;
      if (!(known->flags & PRISM_WORD_DYNAMIC) && strcmp (*argv, prism_shell_line_text (line, known)) != 0)
        return FALSE;
      argv++;
    }
  return *argv == NULL;
}

/* A stub knows its name without the folder. */
static gboolean
command_matches (const PrismShellLine *line, guint index, char **argv)
{
  const PrismShellCommand *command = prism_shell_line_command (line, index);
  const PrismShellWord *program;
  const char *text, *slash;

  if (command->n_words == 0 || (command->flags & PRISM_SHELL_COMMAND_FUNCTION) != 0)
    return FALSE;
  program = prism_shell_line_word (line, command, 0);
  text = prism_shell_line_text (line, program);
  slash = strrchr (text, '/');
  return !(program->flags & PRISM_WORD_DYNAMIC) && g_str_equal (argv[0], slash != NULL ? slash + 1 : text)
         && words_match (line, command, 1, argv + 1);
}

static gboolean
is_listed (const PrismShellLine *line, char **argv)
{
  for (guint i = 0; i < line->commands->len; i++)
    if (command_matches (line, i, argv))
      return TRUE;
  return FALSE;
}

static char **
read_record (const char **at, const char *end)
{
  guint32 length;
  GPtrArray *argv = g_ptr_array_new ();
  const char *text;

  /* The runner keeps no more than so much of what a line that never ends has written. */
  length = (guint32)(end - *at);
  if (length >= sizeof length)
    memcpy (&length, *at, sizeof length);
  if (length < sizeof length || length > end - *at)
    length = (guint32)(*at = end, 0);
  for (text = *at + sizeof length; length > 0 && text < *at + length; text += strlen (text) + 1)
    g_ptr_array_add (argv, (gpointer)text);
  *at += length;
  g_ptr_array_add (argv, NULL);
  return (char **)g_ptr_array_free (argv, FALSE);
}

typedef struct
{
  guint lines, certain, seen, missed;
} Score;

static void
judge (const char *shell, const char *text, const char *log, gsize length, Score *score)
{
  g_autoptr (PrismShellLine) line = prism_shell_line_new (text);
  const char *at = log, *end = log + length;

  score->lines++;
  score->certain += line->uncertain == NULL;
  while (at < end)
    {
      g_autofree char **argv = read_record (&at, end);

      if (argv[0] == NULL)
        break;
      score->seen++;
      if (line->uncertain != NULL || is_listed (line, argv))
        continue;
      score->missed++;
      if (score->missed <= 20)
        {
          g_autofree char *shown = g_strescape (text, NULL);
          g_autofree char *joined = g_strjoinv ("⟨⟩", argv);
          g_autofree char *escaped = g_strescape (joined, NULL);

          g_test_message ("%s ran %s of the line \"%s\"", shell, escaped, shown);
        }
    }
}

/* --- running them ---------------------------------------------------------------------------------- */

static char *
make_folder (GPtrArray *lines)
{
  static const char *const names[] = { "aa",    "bb",  "cc",  "no",   "git",  "rm",      "curl", "ls",   "env", "xargs",
                                       "touch", "x-y", "q.z", "sudo", "nice", "timeout", "find", "time", "cat", "sh" };
  GError *error = NULL;
  char *folder = g_dir_make_tmp ("prism-lines-XXXXXX", &error);
  g_autofree char *stub = g_build_filename (g_getenv ("PRISM_BUILD_ROOT"), "tests/shell-lines/stub", NULL);
  g_autofree char *runner = g_build_filename (g_getenv ("PRISM_BUILD_ROOT"), "tests/shell-lines/runner", NULL);
  g_autofree char *bin = NULL;
  g_autofree char *all = NULL;
  g_autofree char *into = NULL;
  GString *text = g_string_new (NULL);

  g_assert_no_error (error);
  bin = g_build_filename (folder, "bin", NULL);
  g_assert_cmpint (g_mkdir (bin, 0755), ==, 0);
  for (guint i = 0; i <= G_N_ELEMENTS (names); i++)
    {
      g_autoptr (GFile) from = g_file_new_for_path (i < G_N_ELEMENTS (names) ? stub : runner);
      g_autoptr (GFile) to = g_file_new_build_filename (i < G_N_ELEMENTS (names) ? bin : folder,
                                                        i < G_N_ELEMENTS (names) ? names[i] : "runner", NULL);

      g_file_copy (from, to, G_FILE_COPY_NONE, NULL, NULL, NULL, &error);
      g_assert_no_error (error);
    }
  for (guint i = 0; i < lines->len; i++)
    g_string_append_len (text, lines->pdata[i], (gssize)strlen (lines->pdata[i]) + 1);
  into = g_build_filename (folder, "lines", NULL);
  g_assert_true (g_file_set_contents (into, text->str, (gssize)text->len, &error));
  g_string_free (text, TRUE);
  return folder;
}

static void
remove_folder (const char *folder)
{
  const char *const argv[] = { "rm", "-rf", folder, NULL };

  g_assert_true (g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
}

static void
run_in_sandbox (const char *folder, const char *shell)
{
  const char *const argv[] = { g_getenv ("PRISM_COMMAND"),
                               "run",
                               "--quiet",
                               "-w",
                               folder,
                               "--timeout",
                               "30m",
                               "--",
                               "/workspace/runner",
                               shell,
                               "/workspace/bin",
                               "/workspace/lines",
                               "/workspace/out",
                               NULL };
  g_autofree char *said = NULL;
  GError *error = NULL;
  int status = 0;

  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, &said, &status, &error);
  g_assert_no_error (error);
  if (status != 0)
    g_test_message ("%s", said);
  g_assert_cmpint (status, ==, 0);
}

static void
test_lines (gconstpointer data)
{
  const char *shell = data;
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  g_autofree char *folder = NULL;
  g_autofree char *out = NULL;
  g_autofree char *log = NULL;
  gsize length = 0, at = 0;
  Score score = { 0 };

  g_test_summary ("What a shell runs of a line is what the lexer lists, or the line is uncertain");
  for (guint i = 0; i < n_lines; i++)
    g_ptr_array_add (lines, lines_generate (random));
  folder = make_folder (lines);
  run_in_sandbox (folder, shell);
  out = g_build_filename (folder, "out", NULL);
  g_assert_true (g_file_get_contents (out, &log, &length, NULL));
  for (guint i = 0; i < lines->len; i++)
    {
      guint32 size;

      g_assert_cmpuint (length - at, >=, sizeof size);
      memcpy (&size, log + at, sizeof size);
      judge (shell, lines->pdata[i], log + at + sizeof size, size, &score);
      at += sizeof size + size;
    }
  remove_folder (folder);
  g_test_message ("%u lines, %u of them certain; %u programs started, %u not listed", score.lines, score.certain,
                  score.seen, score.missed);
  g_assert_cmpuint (score.missed, ==, 0);
  /* And it does not call everything uncertain, nor do the lines run nothing. */
  g_assert_cmpuint (score.certain * 5, >=, score.lines);
  g_assert_cmpuint (score.seen, >=, score.lines / 2);
}

int
main (int argc, char **argv)
{
  const char *number = g_getenv ("PRISM_SHELL_LINES"), *start = g_getenv ("PRISM_SHELL_SEED");

  g_test_init (&argc, &argv, NULL);
  if (number != NULL)
    n_lines = (guint)g_ascii_strtoull (number, NULL, 10);
  if (start != NULL)
    seed = (guint32)g_ascii_strtoull (start, NULL, 10);
  g_test_add_data_func ("/shell-lines/dash", "/bin/dash", test_lines);
  g_test_add_data_func ("/shell-lines/bash", "/bin/bash", test_lines);
  return g_test_run ();
}
