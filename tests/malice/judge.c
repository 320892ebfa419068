/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether an attack was contained, by all that can be seen from the host. */
#include "inside.h"

#include <sys/resource.h>

long
peak_kib (void)
{
  struct rusage usage;
  getrusage (RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/* Where the memory is the kernel's for them, and nobody's by their size, it may take the
 * agent for the culprit: the sandbox ends, by its own limit. */
static gboolean
may_end_sandbox (const Attack *attack)
{
  return strcmp (attack->name, "memory_buffers") == 0;
}

char *
judge_result (const Attack *attack, PrismResult *result, gint64 took_ms)
{
  g_autofree char *text = prism_result_dup_stdout_text (result);
  int code = prism_result_get_exit_code (result);
  text[MIN (strlen (text), 200)] = '\0';
  switch (prism_result_get_outcome (result))
    {
    case PRISM_OUTCOME_EXITED:
      if (code == MALICE_CONTAINED && (attack->needs & MALICE_TIMEOUT))
        return g_strdup_printf ("is said to have exited with %d, but goes on", code);
      if (code == MALICE_CONTAINED)
        return NULL;
      return g_strdup_printf ("exit %d: %s", code, text);
    case PRISM_OUTCOME_SIGNALLED:
      if ((attack->needs & MALICE_DEADLY) || prism_result_get_term_signal (result) == SIGSYS)
        return NULL;
      return g_strdup_printf ("ended by signal %d: %s", prism_result_get_term_signal (result), text);
    case PRISM_OUTCOME_TIMED_OUT:
      if (!(attack->needs & MALICE_TIMEOUT) && !(attack->needs & MALICE_DEADLY))
        return g_strdup_printf ("hung: %s", text);
      if ((attack->needs & MALICE_TIMEOUT) && took_ms > 3000 + TIMEOUT_SLACK_MS)
        return g_strdup_printf ("its timeout took %" G_GINT64_FORMAT " ms", took_ms);
      return NULL;
    case PRISM_OUTCOME_OUTPUT_LIMIT:
      /* A child that floods the pipes may be over it before the command's end is known. */
      if (strcmp (attack->name, "output_flood") == 0 || strcmp (attack->name, "hold_pipes") == 0)
        return NULL;
      return g_strdup ("over its output limit");
    case PRISM_OUTCOME_LOST:
      if (may_end_sandbox (attack))
        return NULL;
      return g_strdup ("the sandbox was lost: its agent died");
    case PRISM_OUTCOME_CANCELLED:
    case PRISM_OUTCOME_WALL_EXCEEDED:
    default:
      return g_strdup_printf ("outcome %d", prism_result_get_outcome (result));
    }
}

char *
judge_sandbox (const Attack *attack, PrismSandbox *sandbox, const char *program)
{
  g_autoptr (GError) error = NULL;
  const char *const argv[] = { program, "--list", NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  prism_command_set_timeout_ms (command, PATIENCE_MS);
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);
  if (may_end_sandbox (attack) && (result == NULL || prism_result_get_outcome (result) == PRISM_OUTCOME_LOST))
    return NULL;
  if (result == NULL)
    return g_strdup_printf ("the sandbox serves no more: %s", error->message);
  if (prism_result_get_exit_code (result) != 0)
    return g_strdup_printf ("the next command's outcome is %d, exit %d", prism_result_get_outcome (result),
                            prism_result_get_exit_code (result));
  return NULL;
}

char *
judge_ended (const Attack *attack)
{
  if ((attack->needs & MALICE_TIMEOUT) && !stage_wait_unmarked (&stage, 3000))
    return g_strdup_printf ("%d processes outlive the timeout", stage_count_marked (&stage));
  if (strcmp (attack->name, "moving_target") == 0 && !stage_wait_heartbeat (&stage, 2000))
    return g_strdup ("the moving target moves on after the timeout");
  return NULL;
}

static char *
judge_copy (const Attack *attack)
{
  g_autofree char *kept = g_build_filename (stage.workspace, "kept", NULL);
  g_autofree char *through = g_build_filename (stage.workspace, "through-copy", NULL);
  g_autofree char *tree = g_build_filename (stage.workspace, "tree", NULL);
  g_autofree char *text = NULL;
  if (!(attack->needs & MALICE_COPY))
    return NULL;
  if (!g_file_get_contents (kept, &text, NULL, NULL) || strcmp (text, "kept\n") != 0)
    return g_strdup ("the host's file was changed through the copy");
  if (g_file_test (through, G_FILE_TEST_EXISTS) || !g_file_test (tree, G_FILE_TEST_IS_DIR))
    return g_strdup ("the host's folder was changed through the copy");
  return NULL;
}

static char *
judge_memory (const Attack *attack, long grown_kib)
{
  if ((g_str_has_suffix (attack->name, "_flood") || strcmp (attack->name, "hold_pipes") == 0) && grown_kib > 200 * 1024)
    return g_strdup_printf ("the host program grew by %ld KiB", grown_kib);
  return NULL;
}

char *
judge_closed (const Attack *attack, long grown_kib)
{
  char text[512];
  const char *damage;
  if (!stage_wait_unmarked (&stage, 3000))
    return g_strdup_printf ("%d processes outlive the sandbox", stage_count_marked (&stage));
  if ((damage = stage_damage (&stage, text)) != NULL)
    return g_strdup (damage);
  char *wrong = judge_copy (attack);
  return wrong != NULL ? wrong : judge_memory (attack, grown_kib);
}

/* Where no control group can be made the limit holds for each process alone, and
 * the evidence must say so: then, and only then, processes together and files in
 * memory may pass it. */
char *
excuse (const Attack *attack, PrismSandbox *sandbox)
{
  g_autoptr (PrismCapabilities) capabilities = prism_sandbox_dup_capabilities (sandbox);
  const char *text = prism_capabilities_get_evidence (capabilities, "memory-bytes");
  g_autofree char *backend = prism_sandbox_dup_backend_name (sandbox);
  if (strcmp (backend, "docker") == 0 && strcmp (attack->name, "root_map") == 0
      && !prism_capabilities_contains_controls (capabilities, PRISM_CONTROLS_PRIVILEGE))
    return g_strdup ("is open, as the report says: privilege is not claimed, users are the host's");
  /* docs/threat-model.md says so: an engine makes the terminals, and counts users with the host's. */
  if (strcmp (backend, "docker") == 0
      && (strcmp (attack->name, "terminal_hog") == 0 || strcmp (attack->name, "watcher_hog") == 0
          || strcmp (attack->name, "inode_hog") == 0 || strcmp (attack->name, "signal_hog") == 0
          || strcmp (attack->name, "queue_hog") == 0 || strcmp (attack->name, "lock_hog") == 0))
    return g_strdup ("is open, as docs/threat-model.md says of containers");
  if (!(attack->needs & MALICE_MEMORY) || text == NULL)
    return NULL;
  if (strstr (text, "not enforced") != NULL
      || (strstr (text, "each process") != NULL && strcmp (attack->name, "memory_hog") != 0))
    return g_strdup_printf ("is open, as the evidence says: %s", text);
  return NULL;
}
