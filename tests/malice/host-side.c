/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's file methods at work in a folder that somebody plays tricks with. */
#include "inside.h"

#include <fcntl.h>
#include <unistd.h>

static gboolean
bytes_hold_bait (GBytes *bytes)
{
  gsize size = 0;
  const void *data = bytes != NULL ? g_bytes_get_data (bytes, &size) : NULL;
  return data != NULL && memmem (data, size, stage.token, strlen (stage.token)) != NULL;
}

/* Everything that takes a path, through the one that is being swapped. */
static char *
use_swapped_path (PrismSandbox *sandbox)
{
  g_autoptr (GBytes) text = g_bytes_new_static ("overwritten", 11);
  gint64 end = g_get_monotonic_time () + 2 * G_USEC_PER_SEC;
  for (int i = 0; g_get_monotonic_time () < end; i++)
    {
      g_autoptr (GBytes) read = prism_sandbox_read_file (sandbox, "/workspace/race/secret", 0, -1, NULL, NULL);
      if (bytes_hold_bait (read))
        return g_strdup ("read_file followed the swapped link");
      prism_sandbox_write_file (sandbox, "/workspace/race/secret", text, 0600, PRISM_FILE_FLAGS_NONE, NULL, NULL);
      prism_sandbox_remove_file (sandbox, "/workspace/race/secret", PRISM_FILE_FLAGS_NONE, NULL, NULL);
      prism_sandbox_rename_file (sandbox, "/workspace/race/secret", "/workspace/race/moved", PRISM_FILE_FLAGS_OVERWRITE,
                                 NULL, NULL);
      g_autoptr (GListModel) list =
          prism_sandbox_list_files (sandbox, "/workspace/race", PRISM_FILE_FLAGS_RECURSIVE, NULL, NULL);
      g_autoptr (GBytes) found =
          prism_sandbox_search (sandbox, "/workspace/race", BAIT, PRISM_FILE_FLAGS_NONE, 10, NULL, NULL);
      if (bytes_hold_bait (found))
        return g_strdup ("search followed the swapped link");
      if (i % 8 == 0)
        {
          g_autoptr (GOutputStream) tar = g_memory_output_stream_new_resizable ();
          g_autoptr (PrismTreeIdentity) identity =
              prism_sandbox_export_tree (sandbox, "/workspace/race", tar, NULL, NULL);
          g_output_stream_close (tar, NULL, NULL);
          g_autoptr (GBytes) archive = g_memory_output_stream_steal_as_bytes (G_MEMORY_OUTPUT_STREAM (tar));
          if (bytes_hold_bait (archive))
            return g_strdup ("export_tree followed the swapped link");
        }
    }
  return NULL;
}

/* Each answers, within its time, with an error or not. */
static char *
use_odd_files (PrismSandbox *sandbox)
{
  static const char *const leaves[] = {
    "pipe",   "socket", "hole",    "chain-0",     "loop",      "magic", "magic/etc/passwd", "zero", "unreadable",
    "closed", "deep",   "growing", "not\xffutf8", "new\nline", "-rf",   "leased",           ""
  };
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

static guint64
octal (const char *field, gsize size)
{
  g_autofree char *text = g_strndup (field, size);
  return g_ascii_strtoull (text, NULL, 8);
}

/* From head to head by the sizes they say, up to the two empty blocks at the end. */
static gboolean
is_whole_tar (const char *bytes, gsize size)
{
  static const char empty[1024] = "";
  gsize at = 0;
  if (size % 512 != 0)
    return FALSE;
  while (at + sizeof empty < size && memcmp (bytes + at + 257, "ustar", 5) == 0)
    at += 512 + ((octal (bytes + at + 124, 12) + 511) & ~(guint64)511);
  return at + sizeof empty == size && memcmp (bytes + at, empty, sizeof empty) == 0;
}

/* What comes out is whole and is what its identity says, or it is an error. */
static char *
export_shifting_tree (PrismSandbox *sandbox)
{
  guint whole = 0, refused = 0;
  for (gint64 end = g_get_monotonic_time () + 2 * G_USEC_PER_SEC; g_get_monotonic_time () < end;)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GOutputStream) tar = g_memory_output_stream_new_resizable ();
      g_autoptr (PrismTreeIdentity) identity =
          prism_sandbox_export_tree (sandbox, "/workspace/shifting", tar, NULL, &error);
      if (identity == NULL)
        {
          refused++;
          continue;
        }
      g_output_stream_close (tar, NULL, NULL);
      g_autoptr (GBytes) archive = g_memory_output_stream_steal_as_bytes (G_MEMORY_OUTPUT_STREAM (tar));
      g_autofree char *digest = g_compute_checksum_for_bytes (G_CHECKSUM_SHA256, archive);
      if (strcmp (digest, prism_tree_identity_get_sha256 (identity)) != 0)
        return g_strdup ("the identity of an export is not its digest");
      if (!is_whole_tar (g_bytes_get_data (archive, NULL), g_bytes_get_size (archive)))
        return g_strdup ("an export is no whole archive");
      whole++;
    }
  if (whole + refused == 0)
    return g_strdup ("no export came back");
  printf ("# shifting_tree: %u whole, %u refused\n", whole, refused);
  return NULL;
}

static char *
use_crowded_folder (PrismSandbox *sandbox)
{
  gint64 start = g_get_monotonic_time ();
  long before_kib = peak_kib ();
  g_autoptr (GListModel) list =
      prism_sandbox_list_files (sandbox, "/workspace/crowd", PRISM_FILE_FLAGS_HIDDEN, NULL, NULL);
  g_autoptr (GBytes) found =
      prism_sandbox_search (sandbox, "/workspace/crowd", "needle", PRISM_FILE_FLAGS_NONE, 10, NULL, NULL);
  g_autoptr (GOutputStream) tar = g_memory_output_stream_new_resizable ();
  g_autoptr (PrismTreeIdentity) identity = prism_sandbox_export_tree (sandbox, "/workspace/crowd", tar, NULL, NULL);
  prism_sandbox_remove_file (sandbox, "/workspace/crowd", PRISM_FILE_FLAGS_RECURSIVE, NULL, NULL);
  gint64 took = g_get_monotonic_time () - start;
  printf ("# crowded_folder: %u listed, %zu bytes found, %s, %.1f s, %ld KiB more\n",
          list != NULL ? g_list_model_get_n_items (list) : 0, found != NULL ? g_bytes_get_size (found) : 0,
          identity != NULL ? "exported" : "not exported", (double)took / G_USEC_PER_SEC, peak_kib () - before_kib);
  if (peak_kib () - before_kib > 400 * 1024)
    return g_strdup_printf ("the host program grew by %ld KiB", peak_kib () - before_kib);
  return took > 120 * G_USEC_PER_SEC ? g_strdup ("list, search, export and remove took two minutes") : NULL;
}

typedef struct
{
  GMutex lock;
  GCond changed;
  gboolean over;
} Events;

/* Events of a device, ten a second, for whoever listens; the device is not touched. */
static gpointer
make_device_events (gpointer data)
{
  Events *events = data;
  g_mutex_lock (&events->lock);
  while (!events->over)
    {
      int fd = open ("/sys/devices/virtual/mem/null/uevent", O_WRONLY | O_CLOEXEC);
      events->over = fd < 0 || write (fd, "change", 6) < 0;
      close (fd);
      g_cond_wait_until (&events->changed, &events->lock, g_get_monotonic_time () + G_USEC_PER_SEC / 10);
    }
  g_mutex_unlock (&events->lock);
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
race (PrismSandbox *sandbox,
      PrismSandbox *used,
      char *(*use) (PrismSandbox *sandbox),
      PrismCommand *command,
      char **wrong,
      GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;
  prism_command_set_timeout_ms (command, 3000);
  prism_sandbox_exec_async (sandbox, command, NULL, exec_done, &result);
  *wrong = use (used);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  return prism_sandbox_exec_finish (sandbox, result, error);
}

/* The one that is attacked has the same workspace, and knows nothing of the attack. */
static PrismResult *
race_beside (PrismSandbox *sandbox, PrismCommand *command, char **wrong, GError **error)
{
  g_autoptr (PrismBackend) backend = make_backend ();
  g_autoptr (GFile) workspace = g_file_new_for_path (stage.workspace);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (workspace);
  g_autoptr (PrismSandbox) used = prism_backend_create_sandbox (backend, spec, NULL, error);
  if (used == NULL)
    return NULL;
  PrismResult *result = race (sandbox, used, use_swapped_path, command, wrong, error);
  prism_sandbox_close (used, NULL, NULL);
  return result;
}

static PrismResult *
run_amid_events (PrismSandbox *sandbox, PrismCommand *command, GError **error)
{
  static Events events;
  events.over = FALSE;
  GThread *thread = g_thread_new ("events", make_device_events, &events);
  PrismResult *result = prism_sandbox_exec (sandbox, command, NULL, error);
  g_mutex_lock (&events.lock);
  events.over = TRUE;
  g_cond_signal (&events.changed);
  g_mutex_unlock (&events.lock);
  g_thread_join (thread);
  return result;
}

PrismResult *
run_with_host_side (const Attack *attack, PrismSandbox *sandbox, PrismCommand *command, char **wrong, GError **error)
{
  *wrong = NULL;
  if (strcmp (attack->name, "swap_path") == 0)
    return race (sandbox, sandbox, use_swapped_path, command, wrong, error);
  if (strcmp (attack->name, "swap_path_beside") == 0)
    return race_beside (sandbox, command, wrong, error);
  if (strcmp (attack->name, "shifting_tree") == 0)
    return race (sandbox, sandbox, export_shifting_tree, command, wrong, error);
  if (strcmp (attack->name, "device_events") == 0)
    return run_amid_events (sandbox, command, error);
  PrismResult *result = prism_sandbox_exec (sandbox, command, NULL, error);
  if (result != NULL && strcmp (attack->name, "odd_files") == 0)
    *wrong = use_odd_files (sandbox);
  if (result != NULL && strcmp (attack->name, "crowded_folder") == 0)
    *wrong = use_crowded_folder (sandbox);
  return result;
}
