/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is said of a run: its exit status, its JSON, its messages. */
#include "prism-cli-result.h"

#include "prism-cli-audit.h"
#include "prism-cli-export.h"
#include "prism-cli-json.h"
#include "prism-cli-names.h"
#include "prism-cli-signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Pure. @started: the sandbox was made, so that @error speaks of the command.
 * @signal_number: what prism itself got, or 0. */
int
prism_cli_exit_status (const PrismResult *result, const GError *error, gboolean started, int signal_number)
{
  PrismResult *ended = (PrismResult *)result;

  if (signal_number != 0)
    return PRISM_EXIT_SIGNAL + signal_number;
  if (started && ended == NULL && g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND))
    return PRISM_EXIT_NOT_FOUND;
  if (started && ended == NULL && g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_EXECUTABLE))
    return PRISM_EXIT_NOT_STARTABLE;
  if (ended == NULL
      && (g_error_matches (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_DENIED)
          || g_error_matches (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_SUSPENDED)))
    return PRISM_EXIT_NOT_STARTABLE;
  if (g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_DENIED) && started && ended == NULL)
    return PRISM_EXIT_NOT_STARTABLE;
  if (error != NULL || ended == NULL)
    return PRISM_EXIT_FAILED;

  switch (prism_result_get_outcome (ended))
    {
    case PRISM_OUTCOME_EXITED:
      return prism_result_get_exit_code (ended);
    case PRISM_OUTCOME_SIGNALLED:
      return PRISM_EXIT_SIGNAL + prism_result_get_term_signal (ended);
    case PRISM_OUTCOME_TIMED_OUT:
    case PRISM_OUTCOME_WALL_EXCEEDED:
      return PRISM_EXIT_TIMED_OUT;
    case PRISM_OUTCOME_OUTPUT_LIMIT:
      return PRISM_EXIT_SIGNAL + SIGKILL;
    case PRISM_OUTCOME_CANCELLED:
    case PRISM_OUTCOME_LOST:
    default:
      return PRISM_EXIT_FAILED;
    }
}

int
prism_cli_run_status (const PrismCliRun *run)
{
  /* As the kernel's own SIGPIPE would have it. */
  if (run->output.failed_fd >= 0 && prism_cli_signals_received () == 0)
    return run->output.failed_errno == EPIPE ? PRISM_EXIT_SIGNAL + SIGPIPE : PRISM_EXIT_FAILED;

  if (run->ended != PRISM_OUTCOME_EXITED && run->error == NULL && prism_cli_signals_received () == 0)
    return run->ended == PRISM_OUTCOME_TIMED_OUT ? PRISM_EXIT_TIMED_OUT : PRISM_EXIT_SIGNAL + SIGKILL;

  return prism_cli_exit_status (run->result, run->error, run->started, prism_cli_signals_received ());
}

void
prism_cli_json_capabilities (gpointer writer, const char *key, const PrismCapabilities *capabilities)
{
  static const struct
  {
    const char *name;
    gboolean (*get) (const PrismCapabilities *capabilities);
  } fields[] = {
    { "workspace_coherent", prism_capabilities_get_workspace_coherent },
    { "filesystem_isolated", prism_capabilities_get_filesystem_isolated },
    { "network_isolated", prism_capabilities_get_network_isolated },
    { "process_isolated", prism_capabilities_get_process_isolated },
    { "privilege_isolated", prism_capabilities_get_privilege_isolated },
    { "egress_restricted", prism_capabilities_get_egress_restricted },
  };
  PrismJson *json = writer;
  g_autoptr (GVariant) evidence = NULL;
  GVariantIter iter;
  const char *name, *text;

  if (capabilities == NULL)
    {
      prism_json_null (json, key);
      return;
    }

  prism_json_begin_object (json, key);
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    prism_json_boolean (json, fields[i].name, fields[i].get (capabilities));
  prism_json_begin_object (json, "evidence");
  evidence = prism_capabilities_dup_evidence (capabilities);
  g_variant_iter_init (&iter, evidence);
  while (g_variant_iter_next (&iter, "{&s&s}", &name, &text))
    {
      g_autofree char *snake = prism_cli_nick_to_snake (name);

      prism_json_string (json, snake, text);
    }
  prism_json_end_object (json);
  prism_json_end_object (json);
}

/* As text, and, where that would lose something, the exact bytes as well. */
static void
add_stream (PrismJson *json, const char *key, GBytes *bytes)
{
  gsize length = 0;
  const char *data = bytes != NULL ? g_bytes_get_data (bytes, &length) : NULL;

  prism_json_bytes (json, key, data, length);
  if (!prism_json_is_text (data, length))
    {
      g_autofree char *name = g_strconcat (key, "_base64", NULL);
      g_autofree char *base64 = g_base64_encode ((const guchar *)data, length);

      prism_json_string (json, name, base64);
    }
}

static void
add_result (PrismJson *json, PrismResult *result)
{
  g_autofree char *nick =
      result != NULL ? prism_cli_enum_nick (PRISM_TYPE_OUTCOME, prism_result_get_outcome (result)) : NULL;
  g_autofree char *outcome = nick != NULL ? prism_cli_nick_to_snake (nick) : NULL;

  if (result != NULL && prism_result_get_exit_code (result) >= 0)
    prism_json_integer (json, "exit_code", prism_result_get_exit_code (result));
  else
    prism_json_null (json, "exit_code");
  if (result != NULL && prism_result_get_term_signal (result) > 0)
    prism_json_integer (json, "signal", prism_result_get_term_signal (result));
  else
    prism_json_null (json, "signal");
  prism_json_string (json, "outcome", outcome);
  prism_json_boolean (json, "timed_out", result != NULL && prism_result_get_timed_out (result));
  prism_json_boolean (json, "cancelled", result != NULL && prism_result_get_cancelled (result));
  prism_json_string (json, "limit", result != NULL ? prism_result_get_limit (result) : NULL);
  prism_json_string (json, "reason", result != NULL ? prism_result_get_reason (result) : NULL);
  if (result != NULL)
    prism_json_double (json, "duration_ms", prism_result_get_duration_us (result) / 1000.0);
  else
    prism_json_null (json, "duration_ms");
  add_stream (json, "stdout", result != NULL ? prism_result_get_stdout (result) : NULL);
  add_stream (json, "stderr", result != NULL ? prism_result_get_stderr (result) : NULL);
  prism_json_boolean (json, "stdout_truncated", result != NULL && prism_result_get_stdout_truncated (result));
  prism_json_boolean (json, "stderr_truncated", result != NULL && prism_result_get_stderr_truncated (result));
}

/* Each place once, as a rule would say it. */
static void
add_places (PrismJson *json, const char *key, PrismAuditLog *audit, PrismAuditDecision decision)
{
  g_autoptr (GPtrArray) records = audit != NULL ? prism_audit_log_list_distinct (audit, decision) : NULL;
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  prism_json_begin_array (json, key);
  for (guint i = 0; records != NULL && i < records->len; i++)
    {
      char *place = prism_cli_audit_place (records->pdata[i]);

      if (g_hash_table_contains (seen, place))
        {
          g_free (place);
          continue;
        }
      prism_json_string (json, NULL, place);
      g_hash_table_add (seen, place);
    }
  prism_json_end_array (json);
}

gboolean
prism_cli_run_print_json (const PrismCliRun *run, const PrismCliOptions *options)
{
  g_autoptr (PrismJson) json = prism_json_new ();
  g_autoptr (PrismCapabilities) capabilities =
      run->sandbox != NULL ? prism_sandbox_dup_capabilities (run->sandbox) : NULL;

  prism_json_begin_object (json, NULL);
  add_result (json, run->result);
  prism_json_string (json, "backend", run->backend);
  prism_cli_json_capabilities (json, "capabilities", capabilities);
  prism_json_begin_object (json, "egress");
  add_places (json, "allowed", run->audit, PRISM_AUDIT_DECISION_ALLOW);
  add_places (json, "denied", run->audit, PRISM_AUDIT_DECISION_DENY);
  prism_json_end_object (json);
  if (run->identity != NULL)
    {
      prism_json_begin_object (json, "export");
      prism_json_string (json, "path", options->export_path);
      prism_json_string (json, "sha256", prism_tree_identity_get_sha256 (run->identity));
      prism_json_unsigned (json, "entries", prism_tree_identity_get_entries (run->identity));
      prism_json_unsigned (json, "bytes", prism_tree_identity_get_bytes (run->identity));
      prism_json_end_object (json);
    }
  else
    prism_json_null (json, "export");
  prism_json_error (json, "error", run->error);
  prism_json_end_object (json);

  return prism_json_print (json, STDOUT_FILENO);
}

/* A command that the caller has and the sandbox does not show. Where the sandbox's programs are
 * an image's, the caller's own would be of no use there. */
static void
hint_not_found (const PrismCliRun *run, const PrismCliOptions *options)
{
  const char *name = options->argv != NULL ? options->argv[0] : NULL;
  g_autoptr (PrismCapabilities) capabilities =
      run->sandbox != NULL ? prism_sandbox_dup_capabilities (run->sandbox) : NULL;
  g_autofree char *found = NULL;
  g_autofree char *folder = NULL;

  if (name != NULL && capabilities != NULL && prism_capabilities_get_evidence (capabilities, "image") != NULL)
    {
      prism_cli_hint (_ ("hint: the image has no %s, and this machine's own are not shown; name an image that has it"),
                      name);
      return;
    }
  if (name == NULL || (found = g_find_program_in_path (name)) == NULL || !g_path_is_absolute (found))
    return;

  /* A folder that is shown is not one that is looked in: it has to be named as well. */
  folder = g_path_get_dirname (found);
  prism_cli_hint (_ ("hint: this machine has it at %s, which is not in the sandbox or not in its PATH; --ro %s -- %s "
                     "shows and runs it"),
                  found, folder, found);
}

static void
explain_result (const PrismCliRun *run, const PrismCliOptions *options)
{
  PrismResult *result = run->result;
  const char *limit = prism_result_get_limit (result);

  switch (run->ended != PRISM_OUTCOME_EXITED ? run->ended : prism_result_get_outcome (result))
    {
    case PRISM_OUTCOME_TIMED_OUT:
      prism_cli_message (_ ("the command was ended: its timeout of %s passed"),
                         options->timeout != NULL ? options->timeout : "");
      break;
    case PRISM_OUTCOME_WALL_EXCEEDED:
      prism_cli_message (_ ("the command was ended: the sandbox's time is over (%s); --limit sets another"),
                         limit != NULL ? limit : "wall-time-ms");
      break;
    case PRISM_OUTCOME_OUTPUT_LIMIT:
      prism_cli_message (_ ("the command was ended: it wrote more than %s allows; --limit sets another"),
                         limit != NULL ? limit : "max-output-bytes");
      break;
    case PRISM_OUTCOME_LOST:
      prism_cli_message (_ ("the sandbox was lost while the command ran; how the command ended is not known (%s)"),
                         prism_result_get_reason (result));
      break;
    case PRISM_OUTCOME_SIGNALLED:
      if (limit != NULL)
        prism_cli_message (_ ("signal %d ended the command: it went over %s; --limit sets another"),
                           prism_result_get_term_signal (result), limit);
      break;
    case PRISM_OUTCOME_EXITED:
    case PRISM_OUTCOME_CANCELLED:
    default:
      break;
    }
}

static void
print_verbose (const PrismCliRun *run)
{
  static const char *const controls[] = { "filesystem", "network", "process", "privilege", "egress", "workspace" };
  g_autoptr (PrismCapabilities) capabilities = NULL;
  g_autoptr (GVariant) evidence = NULL;
  GVariantIter iter;
  const char *name, *text;

  if (run->sandbox == NULL)
    return;

  capabilities = prism_sandbox_dup_capabilities (run->sandbox);
  for (guint i = 0; i < G_N_ELEMENTS (controls); i++)
    prism_cli_message ("%s: %s (%s)", controls[i],
                       prism_capabilities_contains_controls (capabilities, 1 << i) ? _ ("yes") : _ ("no"),
                       prism_capabilities_get_evidence (capabilities, controls[i]) ?: _ ("no evidence"));
  evidence = prism_capabilities_dup_evidence (capabilities);
  g_variant_iter_init (&iter, evidence);
  while (g_variant_iter_next (&iter, "{&s&s}", &name, &text))
    {
      gboolean is_control = FALSE;

      for (guint i = 0; i < G_N_ELEMENTS (controls); i++)
        is_control |= g_str_equal (controls[i], name);
      if (!is_control)
        prism_cli_message ("%s: %s", name, text);
    }
  prism_cli_message (_ ("time: made in %.2f ms, ran %.2f ms, removed in %.2f ms"), run->create_us / 1000.0,
                     run->result != NULL ? prism_result_get_duration_us (run->result) / 1000.0 : 0.0,
                     run->close_us / 1000.0);
}

#define MOST_DENIED 5

/* What a program inside may have said in words of its own, or not at all. */
static void
explain_denied (PrismAuditLog *audit)
{
  g_autoptr (GPtrArray) denied = prism_audit_log_list_distinct (audit, PRISM_AUDIT_DECISION_DENY);

  for (guint i = 0; i < denied->len && i < MOST_DENIED; i++)
    {
      const PrismAuditRecord *record = denied->pdata[i];
      g_autofree char *place = prism_cli_audit_place (record);
      g_autofree char *remedy = prism_cli_audit_remedy (record);
      const char *reason_id = prism_audit_record_get_reason_id (record);

      if (remedy != NULL)
        prism_cli_hint (_ ("denied: %s (%s); %s would allow it"), place, reason_id != NULL ? reason_id : "", remedy);
      else
        prism_cli_hint (_ ("denied: %s: %s"), place, prism_audit_record_get_reason (record) ?: "");
    }
  if (denied->len > MOST_DENIED)
    prism_cli_hint (_ ("denied: %u more; --audit FILE writes all of them down"), denied->len - MOST_DENIED);
}

/* To stderr. A command that ended by itself is not commented on: what it says
 * is its own, and why it failed is not guessed at. */
void
prism_cli_run_explain (const PrismCliRun *run, const PrismCliOptions *options)
{
  if (options->verbose)
    print_verbose (run);
  if (prism_cli_signals_received () != 0)
    return;

  if (run->output.failed_fd >= 0)
    {
      if (run->output.failed_errno != EPIPE)
        prism_cli_message (run->output.failed_fd == STDOUT_FILENO ? _ ("writing the standard output: %s")
                                                                  : _ ("writing the standard error: %s"),
                           g_strerror (run->output.failed_errno));
      return;
    }
  if (run->error != NULL && !options->json)
    {
      prism_cli_error (run->error);
      if (run->started && g_error_matches (run->error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND))
        hint_not_found (run, options);
    }
  if (run->result != NULL && !options->quiet)
    explain_result (run, options);
  if (run->audit != NULL && !options->quiet && !options->json)
    explain_denied (run->audit);
  if (run->identity != NULL && !options->quiet && !options->json)
    prism_cli_export_explain (run->identity, options->export_path);
}
