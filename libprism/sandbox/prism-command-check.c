/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PrismCommand: what may be asked of a sandbox, and its fingerprint. */
#include "prism-command-private.h"

#include <string.h>

#include "prism-environment-private.h"
#include "prism-fingerprint-private.h"
#include "prism-limit-private.h"
#include "prism-sandbox-error.h"

/* execve() refuses a longer string (MAX_ARG_STRLEN with its NUL), and Linux's
 * default stack allows this much for all. */
#define MAX_ARGUMENT        (128 * 1024 - 1)
#define MAX_ARGUMENTS_BYTES (2 * 1024 * 1024)
#define MAX_PTY_COLUMNS     500
#define MAX_PTY_ROWS        200

static void
check_argv (PrismCommand *self, GString *offenders)
{
  gsize total = 0;

  if (self->argv == NULL || self->argv[0] == NULL || self->argv[0][0] == '\0')
    {
      prism_offend (offenders, "argv: there is no program");
      return;
    }
  for (gsize i = 0; self->argv[i] != NULL; i++)
    {
      gsize length = strlen (self->argv[i]);
      total += length + 1;
      if (length > MAX_ARGUMENT)
        prism_offend (offenders, "argv: argument %" G_GSIZE_FORMAT " is longer than %d bytes", i, MAX_ARGUMENT);
    }
  if (total > MAX_ARGUMENTS_BYTES)
    prism_offend (offenders, "argv: longer than %d bytes in all", MAX_ARGUMENTS_BYTES);
}

static void
check_pty (PrismCommand *self, GString *offenders)
{
  if (self->pty_columns == 0 && self->pty_rows == 0)
    return;
  if (self->pty_columns < 1 || self->pty_columns > MAX_PTY_COLUMNS)
    prism_offend (offenders, "pty-columns = %u (allowed: 1 to %d)", self->pty_columns, MAX_PTY_COLUMNS);
  if (self->pty_rows < 1 || self->pty_rows > MAX_PTY_ROWS)
    prism_offend (offenders, "pty-rows = %u (allowed: 1 to %d)", self->pty_rows, MAX_PTY_ROWS);
}

/**
 * prism_command_check:
 * @self: a command
 * @error: return location for a [error@SandboxError]
 *
 * Everything that is wrong with it in itself, in one error. What depends on the
 * sandbox is checked by [method@SandboxSpec.check_command].
 *
 * Returns: whether nothing is
 *
 * Since: 1.0
 */
gboolean
prism_command_check (PrismCommand *self, GError **error)
{
  g_autoptr (GString) offenders = NULL;

  g_return_val_if_fail (PRISM_IS_COMMAND (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  offenders = g_string_new (NULL);
  check_argv (self, offenders);
  check_pty (self, offenders);
  prism_environment_check_names ((const char *const *)self->env, "env", offenders);
  if (self->cwd != NULL && self->cwd[0] != '/')
    prism_offend (offenders, "cwd: “%s” is not absolute", prism_printable (self->cwd));
  if (self->cwd != NULL && strlen (self->cwd) > 4095)
    prism_offend (offenders, "cwd: longer than 4095 bytes");
  if (self->stdin_bytes != NULL && self->stdin_stream != NULL)
    prism_offend (offenders, "stdin: both bytes and a stream");
  if (self->timeout_ms < 0 || self->timeout_ms > PRISM_SAFE_INTEGER_MAX)
    prism_offend (offenders, "timeout-ms = %" G_GINT64_FORMAT " (allowed: 1 to %" G_GINT64_FORMAT ", or 0 for none)",
                  self->timeout_ms, PRISM_SAFE_INTEGER_MAX);
  if (self->max_output_bytes < 0 || self->max_output_bytes > PRISM_SAFE_INTEGER_MAX)
    prism_offend (offenders, "max-output-bytes = %" G_GINT64_FORMAT " (allowed: 0 to %" G_GINT64_FORMAT ")",
                  self->max_output_bytes, PRISM_SAFE_INTEGER_MAX);
  return prism_offend_report (offenders, error);
}

/**
 * prism_command_dup_fingerprint:
 * @self: a command
 *
 * Gets SHA-256 of the canonical JSON of its argv, in lower-case hex.
 *
 * Returns: (transfer full): SHA-256 of the canonical JSON of its argv, in
 *   lower-case hex
 *
 * Since: 1.0
 */
char *
prism_command_dup_fingerprint (PrismCommand *self)
{
  g_autoptr (GString) json = NULL;

  g_return_val_if_fail (PRISM_IS_COMMAND (self), NULL);

  json = g_string_new (NULL);
  prism_canonical_append_strv (json, (const char *const *)self->argv);
  return prism_fingerprint (json->str, json->len);
}
