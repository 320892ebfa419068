/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-command.h"
#include "prism-operation.h"

G_BEGIN_DECLS

/* A sandbox runs it now: the setters refuse from here on. */
void prism_command_freeze (PrismCommand *self);

/* Whether anyone listens to `output`: if not, nothing needs to be emitted. */
gboolean prism_command_has_output_handler (PrismCommand *self);

/* Emits `output` where @operation's caller waits; @done as in prism_operation_emit(). */
void prism_command_pass_output (PrismCommand *self,
                                PrismOperation *operation,
                                PrismStream stream,
                                GBytes *bytes,
                                GDestroyNotify done,
                                gpointer done_data);

struct _PrismCommand
{
  GObject parent_instance;
  char **argv;
  char *shell;
  char *cwd;
  char **env;
  GBytes *stdin_bytes;
  GInputStream *stdin_stream;
  gint64 timeout_ms, max_output_bytes;
  gboolean capture, last;
  guint pty_columns, pty_rows;
  gint frozen; /* atomic */
};

G_END_DECLS
