/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-tool-settings-private.h"

#include <string.h>

#define KIB G_GINT64_CONSTANT (1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

const PrismToolLimitRow prism_tool_limit_rows[PRISM_TOOL_N_LIMITS] = {
  [PRISM_TOOL_LIMIT_SHELL_TIMEOUT_S] = { "shell-timeout-s", 600, 3600 },
  [PRISM_TOOL_LIMIT_OUTPUT_LINES] = { "output-lines", 2000, 100000 },
  [PRISM_TOOL_LIMIT_OUTPUT_BYTES] = { "output-bytes", 50 * KIB, MIB },
  [PRISM_TOOL_LIMIT_OUTPUT_TOTAL_BYTES] = { "output-total-bytes", 64 * MIB, GIB },
  [PRISM_TOOL_LIMIT_READ_SCAN_BYTES] = { "read-scan-bytes", 64 * MIB, GIB },
  [PRISM_TOOL_LIMIT_IMAGE_BYTES] = { "image-bytes", 10000000, 32 * MIB },
  [PRISM_TOOL_LIMIT_DOCUMENT_BYTES] = { "document-bytes", 10000000, 32 * MIB },
  [PRISM_TOOL_LIMIT_CONVERSION_TIMEOUT_S] = { "conversion-timeout-s", 30, 600 },
  [PRISM_TOOL_LIMIT_WRITE_BYTES] = { "write-bytes", 8 * MIB, 64 * MIB },
  [PRISM_TOOL_LIMIT_EDIT_FILE_BYTES] = { "edit-file-bytes", 8 * MIB, 64 * MIB },
  [PRISM_TOOL_LIMIT_EDIT_INPUT_BYTES] = { "edit-input-bytes", 2 * MIB, 16 * MIB },
  [PRISM_TOOL_LIMIT_EDITS] = { "edits", 100, 1000 },
  [PRISM_TOOL_LIMIT_LIST_DEPTH] = { "list-depth", 32, 128 },
  [PRISM_TOOL_LIMIT_LIST_ENTRIES] = { "list-entries", 10000, 100000 },
  [PRISM_TOOL_LIMIT_LIST_PAGE] = { "list-page", 1000, 10000 },
  [PRISM_TOOL_LIMIT_SEARCH_QUERY_BYTES] = { "search-query-bytes", 512, 4095 },
  [PRISM_TOOL_LIMIT_SEARCH_SCAN_BYTES] = { "search-scan-bytes", 64 * MIB, GIB },
  [PRISM_TOOL_LIMIT_SEARCH_FILE_BYTES] = { "search-file-bytes", 8 * MIB, 64 * MIB },
  [PRISM_TOOL_LIMIT_SEARCH_LINE_BYTES] = { "search-line-bytes", 50 * KIB, MIB },
  [PRISM_TOOL_LIMIT_SEARCH_MATCHES] = { "search-matches", 1000, 10000 },
  [PRISM_TOOL_LIMIT_SEARCH_CONTEXT] = { "search-context", 5, 20 },
  [PRISM_TOOL_LIMIT_SEARCH_TIMEOUT_S] = { "search-timeout-s", 30, 300 },
  [PRISM_TOOL_LIMIT_GLOB_PATTERN_BYTES] = { "glob-pattern-bytes", 512, 4096 },
  [PRISM_TOOL_LIMIT_DELETE_ENTRIES] = { "delete-entries", 10000, 100000 },
  [PRISM_TOOL_LIMIT_GIT_TIMEOUT_S] = { "git-timeout-s", 120, 600 },
  [PRISM_TOOL_LIMIT_GIT_STATUS_FILES] = { "git-status-files", 1000, 10000 },
  [PRISM_TOOL_LIMIT_GIT_DIFF_LINES] = { "git-diff-lines", 10000, 100000 },
  [PRISM_TOOL_LIMIT_GIT_OUTPUT_BYTES] = { "git-output-bytes", 4 * MIB, 64 * MIB },
  [PRISM_TOOL_LIMIT_GIT_LIST_BYTES] = { "git-list-bytes", 8 * MIB, 64 * MIB },
  [PRISM_TOOL_LIMIT_GIT_PATHS] = { "git-paths", 1000, 10000 },
  [PRISM_TOOL_LIMIT_GIT_REF_BYTES] = { "git-ref-bytes", 1 * KIB, 4 * KIB },
  [PRISM_TOOL_LIMIT_GIT_PATCH_BYTES] = { "git-patch-bytes", 16 * MIB, 64 * MIB },
  [PRISM_TOOL_LIMIT_GIT_MESSAGE_BYTES] = { "git-message-bytes", 64 * KIB, 256 * KIB },
  [PRISM_TOOL_LIMIT_GIT_WORKTREES] = { "git-worktrees", 4, 16 },
  [PRISM_TOOL_LIMIT_GIT_HANDOFF_COMMITS] = { "git-handoff-commits", 100, 1000 },
  [PRISM_TOOL_LIMIT_GIT_HANDOFF_BYTES] = { "git-handoff-bytes", 256 * KIB, MIB },
  [PRISM_TOOL_LIMIT_CHECKS] = { "checks", 8, 32 },
  [PRISM_TOOL_LIMIT_CHECKS_AT_ONCE] = { "checks-at-once", 1, 4 },
  [PRISM_TOOL_LIMIT_CHECK_TIMEOUT_S] = { "check-timeout-s", 600, 3600 },
  [PRISM_TOOL_LIMIT_CHECK_OUTPUT_BYTES] = { "check-output-bytes", 4 * MIB, 64 * MIB },
  [PRISM_TOOL_LIMIT_QUESTION_BYTES] = { "question-bytes", 2 * KIB, 8 * KIB },
  [PRISM_TOOL_LIMIT_QUESTION_TIMEOUT_S] = { "question-timeout-s", 1800, 86400 },
  [PRISM_TOOL_LIMIT_OPTIONS] = { "options", 6, 16 },
};

int
prism_tool_limit_find (const char *name)
{
  for (int i = 0; i < PRISM_TOOL_N_LIMITS; i++)
    if (g_str_equal (prism_tool_limit_rows[i].name, name))
      return i;
  return -1;
}

static void
check_free (gpointer data)
{
  PrismToolCheck *check = data;

  g_free (check->name);
  g_strfreev (check->argv);
  g_free (check);
}

PrismToolSettings *
prism_tool_settings_new (void)
{
  PrismToolSettings *self = g_new0 (PrismToolSettings, 1);

  g_atomic_ref_count_init (&self->refs);
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
  self->policies = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
  self->checks = g_ptr_array_new_with_free_func (check_free);
  self->seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->lines = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_weak_ref_init (&self->composition, NULL);
  for (guint i = 0; i < PRISM_TOOL_N_LIMITS; i++)
    self->limits[i] = prism_tool_limit_rows[i].usual;
  return self;
}

PrismToolSettings *
prism_tool_settings_ref (PrismToolSettings *self)
{
  g_atomic_ref_count_inc (&self->refs);
  return self;
}

void
prism_tool_settings_unref (PrismToolSettings *self)
{
  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  g_clear_object (&self->tree);
  g_clear_object (&self->place);
  g_clear_object (&self->policy);
  g_clear_object (&self->suspensions);
  g_hash_table_unref (self->policies);
  g_ptr_array_unref (self->checks);
  g_hash_table_unref (self->seen);
  g_hash_table_unref (self->lines);
  g_free (self->workspace);
  g_free (self->sandbox_id);
  g_weak_ref_clear (&self->composition);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
  g_free (self);
}

/* --- one at a time ----------------------------------------------------------------------- */

/* Who comes takes a number. What was given up is passed over. */
typedef struct
{
  guint64 next, serving;
  guint64 given_up[64]; /* that many are remembered; the rest wait their turn out */
  guint n_given_up;
} Line;

static void
pass_over (Line *line)
{
  for (guint i = 0; i < line->n_given_up;)
    if (line->given_up[i] == line->serving)
      {
        line->serving++;
        line->given_up[i] = line->given_up[--line->n_given_up];
        i = 0;
      }
    else
      i++;
}

static void
wake (GCancellable *cancellable, gpointer data)
{
  PrismToolSettings *self = data;

  g_mutex_lock (&self->lock);
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
}

gboolean
prism_tool_settings_enter (PrismToolSettings *self, const char *path, GCancellable *cancellable)
{
  gulong id = cancellable != NULL ? g_cancellable_connect (cancellable, G_CALLBACK (wake), self, NULL) : 0;
  gboolean mine = TRUE;
  guint64 number;
  Line *line;

  g_mutex_lock (&self->lock);
  line = g_hash_table_lookup (self->lines, path);
  if (line == NULL)
    {
      line = g_new0 (Line, 1);
      g_hash_table_insert (self->lines, g_strdup (path), line);
    }
  number = line->next++;
  while (line->serving != number && mine)
    {
      /* Looked at first: who was cancelled before it came here is woken no more. */
      if (g_cancellable_is_cancelled (cancellable) && line->n_given_up < G_N_ELEMENTS (line->given_up))
        {
          line->given_up[line->n_given_up++] = number;
          mine = FALSE;
        }
      else
        g_cond_wait (&self->changed, &self->lock);
    }
  g_mutex_unlock (&self->lock);
  if (id != 0)
    g_cancellable_disconnect (cancellable, id);
  return mine;
}

void
prism_tool_settings_leave (PrismToolSettings *self, const char *path)
{
  Line *line;

  g_mutex_lock (&self->lock);
  line = g_hash_table_lookup (self->lines, path);
  line->serving++;
  pass_over (line);
  if (line->serving == line->next)
    g_hash_table_remove (self->lines, path);
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
}

/* --- what was read ------------------------------------------------------------------------- */

#define MAX_SEEN 10000

void
prism_tool_settings_note (PrismToolSettings *self, const char *path, GBytes *bytes)
{
  if (!self->read_before_write)
    return;
  g_mutex_lock (&self->lock);
  if (bytes == NULL)
    g_hash_table_remove (self->seen, path);
  else
    {
      /* Forgetting is safe: then it has to be read once more. */
      if (g_hash_table_size (self->seen) >= MAX_SEEN)
        g_hash_table_remove_all (self->seen);
      g_hash_table_replace (self->seen, g_strdup (path), g_compute_checksum_for_bytes (G_CHECKSUM_SHA256, bytes));
    }
  g_mutex_unlock (&self->lock);
}

char *
prism_tool_settings_dup_note (PrismToolSettings *self, const char *path)
{
  char *note;

  g_mutex_lock (&self->lock);
  note = g_strdup (g_hash_table_lookup (self->seen, path));
  g_mutex_unlock (&self->lock);
  return note;
}
