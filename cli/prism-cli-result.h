/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-cli-options.h"
#include "prism-cli-output.h"

G_BEGIN_DECLS

/* What became of one run. */
typedef struct
{
  PrismSandbox *sandbox;
  char *backend;
  PrismResult *result;
  PrismTreeIdentity *identity; /* of what was exported */
  PrismAuditLog *audit;        /* of what was reached; NULL: there was no way out */
  GError *error;               /* why there is no result, or what went wrong after it */
  gboolean started;            /* the sandbox was there: an error is the command's */
  gint64 most_output;          /* a limit that was set; 0: none was */
  PrismOutcome ended;          /* on a terminal, where the result cannot say it; EXITED: it can */
  PrismCliOutput output;
  gint64 create_us;
  gint64 close_us;
} PrismCliRun;

int prism_cli_exit_status (const PrismResult *result, const GError *error, gboolean started, int signal_number);
int prism_cli_run_status (const PrismCliRun *run);
gboolean prism_cli_run_print_json (const PrismCliRun *run, const PrismCliOptions *options);
void prism_cli_run_explain (const PrismCliRun *run, const PrismCliOptions *options);
void prism_cli_json_capabilities (gpointer json, const char *key, const PrismCapabilities *capabilities);

G_END_DECLS
