/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-cli-options.h"

G_BEGIN_DECLS

typedef enum
{
  PRISM_CLI_APPROVE_NEVER,
  PRISM_CLI_APPROVE_ASK,
  PRISM_CLI_APPROVE_ALWAYS,
} PrismCliApprove;

/* What --approve says, or without it whether a terminal is there. */
gboolean prism_cli_approve_parse (const char *text, PrismCliApprove *mode, GError **error);

/* The policy that --policy and --approve come to, with somebody to be asked where that is
 * so; NULL: none decides. @spec is what the sandbox is made by. */
PrismApprovalPolicy *
prism_cli_approve_policy (const PrismCliOptions *options, PrismSandboxSpec *spec, GError **error);

/* The same with nobody to be asked: never NULL. */
PrismApprovalPolicy *prism_cli_approve_bare_policy (PrismSandboxSpec *spec);

/* Keeps the policy of @file for the one above. */
void prism_cli_approve_keep (PrismSandboxSpec *spec, PrismPolicyFile *file);

/* Whether the options' command may run; with @shell, an interactive shell. */
gboolean prism_cli_approve_command (const PrismCliOptions *options,
                                    PrismSandboxSpec *spec,
                                    gboolean shell,
                                    GCancellable *cancellable,
                                    GError **error);

/* How what was allowed with --suspend ended; nothing, where nothing was. */
void prism_cli_approve_ended (const PrismCliOptions *options, PrismSandboxSpec *spec, const GError *error);

G_END_DECLS
