/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-enums.h"

G_BEGIN_DECLS

/* Properties: argv (GStrv) or shell (a line for /bin/sh -c), cwd (inside the
 * sandbox; NULL = the workspace), env (GStrv NAME=VALUE, on top of the
 * sandbox's), stdin-bytes or stdin-stream (GInputStream; neither = /dev/null),
 * timeout-ms (0 = none), max-output-bytes (kept per stream; the sandbox's total
 * cap is a limit), capture (default TRUE; FALSE = the `output` signal only),
 * last (nothing else is asked of its sandbox), pty-columns and pty-rows (0 = no
 * pty).
 * Signal: output (PrismStream stream, GBytes *bytes) while it runs. */
#define PRISM_TYPE_COMMAND (prism_command_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismCommand, prism_command, PRISM, COMMAND, GObject)

PRISM_AVAILABLE_IN_1_0
PrismCommand       *prism_command_new                  (const char * const *argv);
PRISM_AVAILABLE_IN_1_0
PrismCommand       *prism_command_new_shell            (const char         *line);
PRISM_AVAILABLE_IN_1_0
const char * const *prism_command_get_argv             (PrismCommand       *self);
PRISM_AVAILABLE_IN_1_0
const char         *prism_command_get_cwd              (PrismCommand       *self);
PRISM_AVAILABLE_IN_1_0
void                prism_command_set_cwd              (PrismCommand       *self,
                                                        const char         *cwd);
PRISM_AVAILABLE_IN_1_0
const char * const *prism_command_get_env              (PrismCommand       *self);
PRISM_AVAILABLE_IN_1_0
void                prism_command_set_variable         (PrismCommand       *self,
                                                        const char         *name,
                                                        const char         *value);
PRISM_AVAILABLE_IN_1_0
GBytes             *prism_command_get_stdin_bytes      (PrismCommand       *self);
PRISM_AVAILABLE_IN_1_0
void                prism_command_set_stdin_bytes      (PrismCommand       *self,
                                                        GBytes             *bytes);
PRISM_AVAILABLE_IN_1_0
GInputStream       *prism_command_get_stdin_stream     (PrismCommand       *self);
PRISM_AVAILABLE_IN_1_0
void                prism_command_set_stdin_stream     (PrismCommand       *self,
                                                        GInputStream       *stream);
PRISM_AVAILABLE_IN_1_0
gint64              prism_command_get_timeout_ms       (PrismCommand       *self);
PRISM_AVAILABLE_IN_1_0
void                prism_command_set_timeout_ms       (PrismCommand       *self,
                                                        gint64              timeout_ms);
PRISM_AVAILABLE_IN_1_0
gint64              prism_command_get_max_output_bytes (PrismCommand       *self);
PRISM_AVAILABLE_IN_1_0
void                prism_command_set_max_output_bytes (PrismCommand       *self,
                                                        gint64              bytes);
PRISM_AVAILABLE_IN_1_0
gboolean            prism_command_get_capture          (PrismCommand       *self);
PRISM_AVAILABLE_IN_1_0
void                prism_command_set_capture          (PrismCommand       *self,
                                                        gboolean            capture);
PRISM_AVAILABLE_IN_1_0
gboolean            prism_command_get_last             (PrismCommand       *self);
PRISM_AVAILABLE_IN_1_0
void                prism_command_set_last             (PrismCommand       *self,
                                                        gboolean            last);
PRISM_AVAILABLE_IN_1_0
guint               prism_command_get_pty_columns      (PrismCommand       *self);
PRISM_AVAILABLE_IN_1_0
guint               prism_command_get_pty_rows         (PrismCommand       *self);
PRISM_AVAILABLE_IN_1_0
void                prism_command_set_pty_size         (PrismCommand       *self,
                                                        guint               columns,
                                                        guint               rows);
/* SHA-256 of the canonical JSON of argv, lower-case hex. */
PRISM_AVAILABLE_IN_1_0
char               *prism_command_dup_fingerprint      (PrismCommand       *self);
/* For those who implement a sandbox: emits `output`; what a NULL command would be is ignored. */
PRISM_AVAILABLE_IN_1_0
void                prism_command_emit_output          (PrismCommand       *self,
                                                        PrismStream         stream,
                                                        GBytes             *bytes);
PRISM_AVAILABLE_IN_1_0
gboolean            prism_command_check                (PrismCommand       *self,
                                                        GError            **error);

G_END_DECLS
