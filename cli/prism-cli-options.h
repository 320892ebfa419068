/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-cli.h"

G_BEGIN_DECLS

/* What `prism run` and `prism shell` were asked for, as text and as parsed. */
typedef struct
{
  char *backend;
  char *workspace;
  char *workspace_mode;
  char *export_path;
  char **read_only;
  char **read_write;
  char **hide;
  char **protect;
  char **env;
  char *network;
  char **allow;
  char **preset;
  char **allow_private;
  char **credential;
  char *policy;
  char *approve;
  char *suspend;
  char *audit;
  char **limits;
  char **settings;
  char **proxy_settings;
  char **require;
  char *timeout;
  gboolean tty;
  gboolean no_tty;
  gboolean no_input;
  gboolean json;
  gboolean verbose;
  gboolean quiet;

  gint64 timeout_ms;
  PrismWorkspaceMode mode; /* as it was said, else direct: the backend has the last word */
  char **argv; /* the command */
  gboolean shell; /* it is an interactive shell */
} PrismCliOptions;

GOptionEntry *prism_cli_options_entries (void);
gboolean
prism_cli_options_parse (PrismCliOptions *self, const PrismCliCommand *command, int argc, char **argv, GError **error);
void prism_cli_options_clear (PrismCliOptions *self);

PrismBackend *prism_cli_options_backend (const PrismCliOptions *self, GError **error);
PrismSandboxSpec *prism_cli_options_spec (const PrismCliOptions *self, PrismBackend *backend, GError **error);
PrismCommand *prism_cli_options_command (const PrismCliOptions *self, GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismCliOptions, prism_cli_options_clear)

G_END_DECLS
