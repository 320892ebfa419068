/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One command in one sandbox: made, run, exported, removed. All calls are the
 * synchronous ones, so that a short command costs no main loop and no thread
 * but that for signals. */
#include "prism-cli-execute.h"

#include "prism-cli-approve.h"
#include "prism-cli-audit.h"
#include "prism-cli-export.h"
#include "prism-cli-progress.h"
#include "prism-cli-result.h"
#include "prism-cli-signals.h"
#include "prism-cli-terminal.h"

#include <errno.h>
#include <unistd.h>

static gboolean
wants_terminal (const PrismCliOptions *options)
{
  if (options->tty)
    return TRUE;

  return !options->no_tty && !options->no_input && !options->json && isatty (STDIN_FILENO) && isatty (STDOUT_FILENO)
         && isatty (STDERR_FILENO) && !prism_cli_in_background ();
}

static void
execute (PrismCliRun *run, const PrismCliOptions *options, PrismCommand *command, GCancellable *cancellable)
{
  gboolean terminal = wants_terminal (options);
  g_autoptr (GInputStream) input = NULL;

  if (terminal)
    {
      guint columns, rows;

      prism_cli_terminal_size (&columns, &rows);
      prism_command_set_pty_size (command, columns, rows);
      prism_command_set_variable (command, "TERM", g_getenv ("TERM") ?: "dumb");
    }
  if (terminal && !options->json)
    {
      run->result = prism_cli_terminal_exec (run->sandbox, command, &run->output, run->most_output, &run->ended,
                                             cancellable, &run->error);
      return;
    }

  input = options->no_input ? NULL : prism_cli_input (&run->error);
  if (run->error != NULL)
    return;
  if (input != NULL)
    prism_command_set_stdin_stream (command, input);
  if (!options->json)
    prism_cli_output_watch (&run->output, command);
  prism_command_set_last (command, options->export_path == NULL);
  run->result = prism_sandbox_exec (run->sandbox, command, cancellable, &run->error);
}

static void
on_workspace_progress (PrismBackend *backend, guint64 entries, guint64 bytes, guint64 total, gpointer shown)
{
  guint64 *before = shown;

  prism_cli_progress_bytes (bytes - MIN (*before, bytes));
  *before = bytes;
}

static void
create (PrismCliRun *run,
        PrismBackend *backend,
        PrismSandboxSpec *spec,
        const PrismCliOptions *options,
        GCancellable *cancellable)
{
  gint64 started = g_get_monotonic_time ();
  guint64 shown = 0;
  gulong handler = g_signal_connect (backend, "workspace-progress", G_CALLBACK (on_workspace_progress), &shown);

  if (prism_sandbox_spec_get_workspace_mode (spec) == PRISM_WORKSPACE_MODE_COPY)
    prism_cli_progress_start (_ ("copying the workspace"), options->quiet);
  run->sandbox = prism_backend_create_sandbox (backend, spec, cancellable, &run->error);
  g_signal_handler_disconnect (backend, handler);
  prism_cli_progress_done ();
  run->create_us = g_get_monotonic_time () - started;
  run->started = run->sandbox != NULL;
}

/* Not with the caller's cancellable: a sandbox is removed whatever happened before. */
static void
close_sandbox (PrismCliRun *run)
{
  gint64 started = g_get_monotonic_time ();
  g_autoptr (GError) error = NULL;

  if (!prism_sandbox_close (run->sandbox, NULL, &error) && run->error == NULL)
    {
      g_prefix_error (&error, _ ("removing the sandbox: "));
      run->error = g_steal_pointer (&error);
    }
  run->close_us = g_get_monotonic_time () - started;
}

static void
flush_audit (PrismCliRun *run)
{
  g_autoptr (GError) error = NULL;

  if (!prism_cli_audit_flush (run->audit, &error) && run->error == NULL)
    run->error = g_steal_pointer (&error);
}

/* A process of the library's may write for ever, and a shell on a terminal should; but who
 * says how much it may is to be obeyed. */
static gint64
most_output (PrismSandboxSpec *spec)
{
  PrismLimits *limits = prism_sandbox_spec_get_limits (spec);

  return prism_limits_is_set (limits, "max-output-bytes") ? prism_limits_get (limits, "max-output-bytes") : 0;
}

static void
run_all (PrismCliRun *run, const PrismCliOptions *options, GCancellable *cancellable)
{
  g_autoptr (PrismBackend) backend = NULL;
  g_autoptr (PrismSandboxSpec) spec = NULL;
  g_autoptr (PrismCommand) command = NULL;

  /* Until here there is nothing that a signal would have to end. What a sandbox needs
   * in any case is made while the rest is looked at. */
  if ((backend = prism_cli_options_backend (options, &run->error)) == NULL)
    return;
  prism_cli_signals_block (cancellable);
  prism_backend_prepare (backend);
  prism_cli_signals_start ();
  if ((command = prism_cli_options_command (options, &run->error)) == NULL
      || (spec = prism_cli_options_spec (options, backend, &run->error)) == NULL)
    return;

  if (!prism_cli_approve_command (options, spec, options->shell, cancellable, &run->error))
    return;

  run->backend = g_strdup (prism_backend_get_name (backend));
  g_object_get (spec, "audit", &run->audit, NULL);
  run->most_output = most_output (spec);
  create (run, backend, spec, options, cancellable);
  if (run->sandbox != NULL)
    execute (run, options, command, cancellable);
  prism_cli_approve_ended (options, spec, run->error);
  if (run->sandbox == NULL)
    return;
  if (run->result != NULL && options->export_path != NULL && !g_cancellable_is_cancelled (cancellable))
    run->identity = prism_cli_export (run->sandbox, options->export_path, options->quiet, cancellable, &run->error);
  prism_cli_signals_end ();
  close_sandbox (run);
  flush_audit (run);
}

static void
free_run (PrismCliRun *run)
{
  g_clear_object (&run->sandbox);
  g_clear_object (&run->audit);
  g_clear_object (&run->result);
  g_clear_pointer (&run->identity, prism_tree_identity_free);
  g_clear_pointer (&run->backend, g_free);
  g_clear_error (&run->error);
}

/* Returns prism's exit status. */
int
prism_cli_execute (PrismCliOptions *options)
{
  PrismCliRun run = { 0 };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  int status, unwritten = 0;

  prism_cli_output_init (&run.output, cancellable);
  run_all (&run, options, cancellable);

  if (options->json && !prism_cli_run_print_json (&run, options))
    unwritten = errno;
  prism_cli_run_explain (&run, options);
  status = prism_cli_run_status (&run);

  /* A sandbox that could not be removed is tried once more as its object goes. */
  if (PRISM_CLI_FREES_ALL || run.error != NULL)
    free_run (&run);
  return unwritten == 0 ? status : prism_cli_unwritten (unwritten);
}

/* What went wrong before there was anything to run. */
int
prism_cli_fail (const PrismCliOptions *options, const GError *error)
{
  PrismCliRun run = { .error = (GError *)error, .output = { .failed_fd = -1 } };

  if (!options->json)
    prism_cli_error (error);
  else if (!prism_cli_run_print_json (&run, options))
    return prism_cli_unwritten (errno);

  return PRISM_EXIT_FAILED;
}
