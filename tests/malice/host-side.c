/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's file methods at work in a folder that somebody plays tricks with. */
#include "inside.h"

static gboolean
bytes_hold_bait (GBytes *bytes)
{
  gsize size = 0;
  const void *data = bytes != NULL ? g_bytes_get_data (bytes, &size) : NULL;
  return data != NULL && memmem (data, size, stage.token, strlen (stage.token)) != NULL;
}

/* Everything that takes a path, through the one that is being swapped. */
static const char *
use_swapped_path (PrismSandbox *sandbox)
{
  g_autoptr (GBytes) text = g_bytes_new_static ("overwritten", 11);
  gint64 end = g_get_monotonic_time () + 2 * G_USEC_PER_SEC;
  for (int i = 0; g_get_monotonic_time () < end; i++)
    {
      g_autoptr (GBytes) read = prism_sandbox_read_file (sandbox, "/workspace/race/secret", 0, -1, NULL, NULL);
      if (bytes_hold_bait (read))
        return "read_file followed the swapped link";
      prism_sandbox_write_file (sandbox, "/workspace/race/secret", text, 0600, PRISM_FILE_FLAGS_NONE, NULL, NULL);
      prism_sandbox_remove_file (sandbox, "/workspace/race/secret", PRISM_FILE_FLAGS_NONE, NULL, NULL);
      prism_sandbox_rename_file (sandbox, "/workspace/race/secret", "/workspace/race/moved", PRISM_FILE_FLAGS_OVERWRITE,
                                 NULL, NULL);
      g_autoptr (GListModel) list =
          prism_sandbox_list_files (sandbox, "/workspace/race", PRISM_FILE_FLAGS_RECURSIVE, NULL, NULL);
      g_autoptr (GBytes) found =
          prism_sandbox_search (sandbox, "/workspace/race", BAIT, PRISM_FILE_FLAGS_NONE, 10, NULL, NULL);
      if (bytes_hold_bait (found))
        return "search followed the swapped link";
      if (i % 8 == 0)
        {
          g_autoptr (GOutputStream) tar = g_memory_output_stream_new_resizable ();
          g_autoptr (PrismTreeIdentity) identity =
              prism_sandbox_export_tree (sandbox, "/workspace/race", tar, NULL, NULL);
          g_output_stream_close (tar, NULL, NULL);
          g_autoptr (GBytes) archive = g_memory_output_stream_steal_as_bytes (G_MEMORY_OUTPUT_STREAM (tar));
          if (bytes_hold_bait (archive))
            return "export_tree followed the swapped link";
        }
    }
  return NULL;
}

/* Each answers, within its time, with an error or not. */
static char *
use_odd_files (PrismSandbox *sandbox)
{
  static const char *const leaves[] = { "pipe",  "socket",           "hole",        "chain-0",    "loop",
                                        "magic", "magic/etc/passwd", "zero",        "unreadable", "closed",
                                        "deep",  "growing",          "not\xffutf8", "new\nline",  "-rf",
                                        "" };
  gint64 start = g_get_monotonic_time ();
  const char *slow = NULL;
  for (gsize i = 0; i < G_N_ELEMENTS (leaves) && slow == NULL; i++)
    {
      g_autofree char *path = g_build_filename ("/workspace/odd", leaves[i], NULL);
      g_autoptr (GBytes) read = prism_sandbox_read_file (sandbox, path, 0, -1, NULL, NULL);
      if (read != NULL
          && (g_str_equal (leaves[i], "zero") || g_str_equal (leaves[i], "pipe") || g_str_equal (leaves[i], "hole")))
        return g_strdup_printf ("read_file of %s answered with %zu bytes", leaves[i], g_bytes_get_size (read));
      g_autoptr (PrismFileEntry) entry = prism_sandbox_stat_file (sandbox, path, NULL, NULL);
      g_autoptr (GListModel) list =
          prism_sandbox_list_files (sandbox, path, PRISM_FILE_FLAGS_RECURSIVE | PRISM_FILE_FLAGS_HIDDEN, NULL, NULL);
      if (g_get_monotonic_time () - start > 40 * G_USEC_PER_SEC)
        slow = leaves[i];
    }
  if (slow != NULL)
    return g_strdup_printf ("the file methods hang at %s", slow);
  g_autoptr (GBytes) found =
      prism_sandbox_search (sandbox, "/workspace/odd", "needle", PRISM_FILE_FLAGS_HIDDEN, 10, NULL, NULL);
  g_autoptr (GOutputStream) tar = g_memory_output_stream_new_resizable ();
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismTreeIdentity) identity = prism_sandbox_export_tree (sandbox, "/workspace/odd", tar, NULL, &error);
  if (identity != NULL)
    return g_strdup ("export_tree took a pipe, a socket or a terabyte without a word");
  if (g_get_monotonic_time () - start > 60 * G_USEC_PER_SEC)
    return g_strdup ("search and export took more than 20 seconds");
  prism_sandbox_remove_file (sandbox, "/workspace/odd", PRISM_FILE_FLAGS_RECURSIVE, NULL, NULL);
  return NULL;
}

static void
exec_done (GObject *source, GAsyncResult *result, gpointer user_data)
{
  GAsyncResult **to = user_data;
  *to = g_object_ref (result);
}

/* The attack runs while this thread uses the path it swaps. */
static PrismResult *
race (PrismSandbox *sandbox, PrismCommand *command, char **wrong, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;
  prism_command_set_timeout_ms (command, 3000);
  prism_sandbox_exec_async (sandbox, command, NULL, exec_done, &result);
  *wrong = g_strdup (use_swapped_path (sandbox));
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  return prism_sandbox_exec_finish (sandbox, result, error);
}

PrismResult *
run_with_host_side (const Attack *attack, PrismSandbox *sandbox, PrismCommand *command, char **wrong, GError **error)
{
  *wrong = NULL;
  if (strcmp (attack->name, "swap_path") == 0)
    return race (sandbox, command, wrong, error);
  PrismResult *result = prism_sandbox_exec (sandbox, command, NULL, error);
  if (result != NULL && strcmp (attack->name, "odd_files") == 0)
    *wrong = use_odd_files (sandbox);
  return result;
}
