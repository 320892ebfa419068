/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-command-private.h"

#include "prism-enum-types.h"
#include "prism-environment-private.h"
#include "prism-operation-private.h"

#define DEFAULT_MAX_OUTPUT (G_GINT64_CONSTANT (16) * 1024 * 1024)

enum
{
  PROP_0,
  PROP_ARGV,
  PROP_SHELL,
  PROP_CWD,
  PROP_ENV,
  PROP_STDIN_BYTES,
  PROP_STDIN_STREAM,
  PROP_TIMEOUT_MS,
  PROP_MAX_OUTPUT_BYTES,
  PROP_CAPTURE,
  PROP_LAST,
  PROP_PTY_COLUMNS,
  PROP_PTY_ROWS,
  N_PROPS
};

static GParamSpec *props[N_PROPS];
static guint output_signal;

/**
 * PrismCommand:
 *
 * What is to run in a sandbox, and how. Once a sandbox has it, it is frozen;
 * it may run any number of times, in any number of sandboxes.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismCommand, prism_command, G_TYPE_OBJECT)

static gboolean
may_change (PrismCommand *self)
{
  if (!g_atomic_int_get (&self->frozen))
    return TRUE;
  g_critical ("a command that a sandbox was given cannot change any more");
  return FALSE;
}

static void
set_shell (PrismCommand *self, const char *line)
{
  if (line == NULL)
    return;
  g_free (self->shell);
  self->shell = g_strdup (line);
  g_strfreev (self->argv);
  self->argv = g_new0 (char *, 4);
  self->argv[0] = g_strdup ("/bin/sh");
  self->argv[1] = g_strdup ("-c");
  self->argv[2] = g_strdup (line);
}

static void
prism_command_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismCommand *self = PRISM_COMMAND (object);

  if (!may_change (self))
    return;
  switch (id)
    {
    case PROP_ARGV:
      if (g_value_get_boxed (value) != NULL)
        self->argv = g_value_dup_boxed (value);
      break;
    case PROP_SHELL:
      set_shell (self, g_value_get_string (value));
      break;
    case PROP_CWD:
      prism_command_set_cwd (self, g_value_get_string (value));
      break;
    case PROP_ENV:
      g_strfreev (self->env);
      self->env = g_value_dup_boxed (value);
      break;
    case PROP_STDIN_BYTES:
      prism_command_set_stdin_bytes (self, g_value_get_boxed (value));
      break;
    case PROP_STDIN_STREAM:
      prism_command_set_stdin_stream (self, g_value_get_object (value));
      break;
    case PROP_TIMEOUT_MS:
      prism_command_set_timeout_ms (self, g_value_get_int64 (value));
      break;
    case PROP_MAX_OUTPUT_BYTES:
      prism_command_set_max_output_bytes (self, g_value_get_int64 (value));
      break;
    case PROP_CAPTURE:
      prism_command_set_capture (self, g_value_get_boolean (value));
      break;
    case PROP_LAST:
      prism_command_set_last (self, g_value_get_boolean (value));
      break;
    case PROP_PTY_COLUMNS:
      prism_command_set_pty_size (self, g_value_get_uint (value), self->pty_rows);
      break;
    case PROP_PTY_ROWS:
      prism_command_set_pty_size (self, self->pty_columns, g_value_get_uint (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_command_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismCommand *self = PRISM_COMMAND (object);

  switch (id)
    {
    case PROP_ARGV:
      g_value_set_boxed (value, self->argv);
      break;
    case PROP_SHELL:
      g_value_set_string (value, self->shell);
      break;
    case PROP_CWD:
      g_value_set_string (value, self->cwd);
      break;
    case PROP_ENV:
      g_value_set_boxed (value, self->env);
      break;
    case PROP_STDIN_BYTES:
      g_value_set_boxed (value, self->stdin_bytes);
      break;
    case PROP_STDIN_STREAM:
      g_value_set_object (value, self->stdin_stream);
      break;
    case PROP_TIMEOUT_MS:
      g_value_set_int64 (value, self->timeout_ms);
      break;
    case PROP_MAX_OUTPUT_BYTES:
      g_value_set_int64 (value, self->max_output_bytes);
      break;
    case PROP_CAPTURE:
      g_value_set_boolean (value, self->capture);
      break;
    case PROP_LAST:
      g_value_set_boolean (value, self->last);
      break;
    case PROP_PTY_COLUMNS:
      g_value_set_uint (value, self->pty_columns);
      break;
    case PROP_PTY_ROWS:
      g_value_set_uint (value, self->pty_rows);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_command_finalize (GObject *object)
{
  PrismCommand *self = PRISM_COMMAND (object);

  g_strfreev (self->argv);
  g_free (self->shell);
  g_free (self->cwd);
  g_strfreev (self->env);
  g_clear_pointer (&self->stdin_bytes, g_bytes_unref);
  g_clear_object (&self->stdin_stream);
  G_OBJECT_CLASS (prism_command_parent_class)->finalize (object);
}

static void
install_properties (GObjectClass *object_class)
{
  const GParamFlags plain = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;
  const GParamFlags fixed = plain | G_PARAM_CONSTRUCT_ONLY;

  /**
   * PrismCommand:argv:
   *
   * The program and its arguments.
   *
   * Since: 1.0
   */
  props[PROP_ARGV] = g_param_spec_boxed ("argv", NULL, NULL, G_TYPE_STRV, fixed);
  props[PROP_SHELL] = g_param_spec_string ("shell", NULL, NULL, NULL, fixed);
  /**
   * PrismCommand:cwd:
   *
   * The folder inside that it starts in; %NULL = the workspace.
   *
   * Since: 1.0
   */
  props[PROP_CWD] = g_param_spec_string ("cwd", NULL, NULL, NULL, plain);
  /**
   * PrismCommand:env:
   *
   * Its `NAME=VALUE`s, on top of the sandbox's.
   *
   * Since: 1.0
   */
  props[PROP_ENV] = g_param_spec_boxed ("env", NULL, NULL, G_TYPE_STRV, plain);
  /**
   * PrismCommand:stdin-bytes:
   *
   * What it reads from standard input.
   *
   * Since: 1.0
   */
  props[PROP_STDIN_BYTES] = g_param_spec_boxed ("stdin-bytes", NULL, NULL, G_TYPE_BYTES, plain);
  /**
   * PrismCommand:stdin-stream:
   *
   * Where its standard input is read from.
   *
   * Since: 1.0
   */
  props[PROP_STDIN_STREAM] = g_param_spec_object ("stdin-stream", NULL, NULL, G_TYPE_INPUT_STREAM, plain);
  /* Every gint64 is kept; prism_command_check() refuses what is out of range. */
  /**
   * PrismCommand:timeout-ms:
   *
   * How long it may run, ms; 0 = as long as its sandbox.
   *
   * Since: 1.0
   */
  props[PROP_TIMEOUT_MS] = g_param_spec_int64 ("timeout-ms", NULL, NULL, G_MININT64, G_MAXINT64, 0, plain);
  /**
   * PrismCommand:max-output-bytes:
   *
   * How much of each stream is kept.
   *
   * Since: 1.0
   */
  props[PROP_MAX_OUTPUT_BYTES] =
      g_param_spec_int64 ("max-output-bytes", NULL, NULL, G_MININT64, G_MAXINT64, DEFAULT_MAX_OUTPUT, plain);
  /**
   * PrismCommand:capture:
   *
   * Whether its result holds its output.
   *
   * Since: 1.0
   */
  props[PROP_CAPTURE] = g_param_spec_boolean ("capture", NULL, NULL, TRUE, plain);
  /**
   * PrismCommand:last:
   *
   * Whether nothing else is asked of its sandbox.
   *
   * Since: 1.0
   */
  props[PROP_LAST] = g_param_spec_boolean ("last", NULL, NULL, FALSE, plain);
  /**
   * PrismCommand:pty-columns:
   *
   * The width of its terminal; 0 = no terminal.
   *
   * Since: 1.0
   */
  props[PROP_PTY_COLUMNS] = g_param_spec_uint ("pty-columns", NULL, NULL, 0, G_MAXUINT, 0, plain);
  /**
   * PrismCommand:pty-rows:
   *
   * The height of its terminal; 0 = no terminal.
   *
   * Since: 1.0
   */
  props[PROP_PTY_ROWS] = g_param_spec_uint ("pty-rows", NULL, NULL, 0, G_MAXUINT, 0, plain);
  g_object_class_install_properties (object_class, N_PROPS, props);
}

/**
 * PrismCommand:shell:
 *
 * A line for `/bin/sh -c` inside the sandbox, instead of argv.
 *
 * Since: 1.0
 */

static void
prism_command_class_init (PrismCommandClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->set_property = prism_command_set_property;
  object_class->get_property = prism_command_get_property;
  object_class->finalize = prism_command_finalize;
  install_properties (object_class);

  /**
   * PrismCommand::output:
   * @self: the command
   * @stream: which of its streams
   * @bytes: what it wrote, next in order
   *
   * While it runs: in the context that was current when the call began, or in
   * the calling thread if that is synchronous. The pipe is read on only after
   * the handlers ran, so a slow handler slows the command.
   *
   * Since: 1.0
   */
  output_signal = g_signal_new ("output", PRISM_TYPE_COMMAND, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2,
                                PRISM_TYPE_STREAM, G_TYPE_BYTES);
}

static void
prism_command_init (PrismCommand *self)
{
  self->capture = TRUE;
  self->max_output_bytes = DEFAULT_MAX_OUTPUT;
}

/**
 * prism_command_new:
 * @argv: (array zero-terminated=1): the program and its arguments; one without
 *   a slash is looked for in the sandbox's PATH
 *
 * Makes a command.
 *
 * Returns: (transfer full): a command
 *
 * Since: 1.0
 */
PrismCommand *
prism_command_new (const char *const *argv)
{
  g_return_val_if_fail (argv != NULL, NULL);
  return g_object_new (PRISM_TYPE_COMMAND, "argv", argv, NULL);
}

/**
 * prism_command_new_shell:
 * @line: a line for `/bin/sh -c` inside the sandbox
 *
 * Makes a command.
 *
 * Returns: (transfer full): a command
 *
 * Since: 1.0
 */
PrismCommand *
prism_command_new_shell (const char *line)
{
  g_return_val_if_fail (line != NULL, NULL);
  return g_object_new (PRISM_TYPE_COMMAND, "shell", line, NULL);
}

/**
 * prism_command_get_argv:
 * @self: a command
 *
 * Gets the program and its arguments.
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): the program and its arguments
 *
 * Since: 1.0
 */
const char *const *
prism_command_get_argv (PrismCommand *self)
{
  g_return_val_if_fail (PRISM_IS_COMMAND (self), NULL);
  return (const char *const *)self->argv;
}

/**
 * prism_command_get_cwd:
 * @self: a command
 *
 * Gets the folder inside that it starts in; %NULL = the workspace.
 *
 * Returns: (transfer none) (nullable): the folder inside that it starts in; %NULL = the workspace
 *
 * Since: 1.0
 */
const char *
prism_command_get_cwd (PrismCommand *self)
{
  g_return_val_if_fail (PRISM_IS_COMMAND (self), NULL);
  return self->cwd;
}

/**
 * prism_command_set_cwd:
 * @self: a command that no sandbox has yet
 * @cwd: (nullable): an absolute folder inside; %NULL = the workspace
 *
 * Sets what [method@Command.get_cwd] tells.
 *
 * Since: 1.0
 */
void
prism_command_set_cwd (PrismCommand *self, const char *cwd)
{
  g_return_if_fail (PRISM_IS_COMMAND (self));

  if (!may_change (self))
    return;
  g_free (self->cwd);
  self->cwd = g_strdup (cwd);
}

/**
 * prism_command_get_env:
 * @self: a command
 *
 * Gets its `NAME=VALUE`s, on top of the sandbox's.
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): its `NAME=VALUE`s,
 *   on top of the sandbox's
 *
 * Since: 1.0
 */
const char *const *
prism_command_get_env (PrismCommand *self)
{
  g_return_val_if_fail (PRISM_IS_COMMAND (self), NULL);
  return (const char *const *)self->env;
}

/**
 * prism_command_set_variable:
 * @self: a command that no sandbox has yet
 * @name: a variable's name
 * @value: its value
 *
 * Sets one variable of its environment.
 *
 * Since: 1.0
 */
void
prism_command_set_variable (PrismCommand *self, const char *name, const char *value)
{
  g_return_if_fail (PRISM_IS_COMMAND (self));
  g_return_if_fail (name != NULL && value != NULL);

  if (may_change (self))
    self->env = prism_environment_set (self->env, name, value);
}

/**
 * prism_command_get_stdin_bytes:
 * @self: a command
 *
 * Tells what it reads from standard input.
 *
 * Returns: (transfer none) (nullable): what it reads from standard input
 *
 * Since: 1.0
 */
GBytes *
prism_command_get_stdin_bytes (PrismCommand *self)
{
  g_return_val_if_fail (PRISM_IS_COMMAND (self), NULL);
  return self->stdin_bytes;
}

/**
 * prism_command_set_stdin_bytes:
 * @self: a command that no sandbox has yet
 * @bytes: (nullable): what it reads from standard input
 *
 * Sets what [method@Command.get_stdin_bytes] tells.
 *
 * Since: 1.0
 */
void
prism_command_set_stdin_bytes (PrismCommand *self, GBytes *bytes)
{
  g_return_if_fail (PRISM_IS_COMMAND (self));

  if (!may_change (self))
    return;
  if (bytes != NULL)
    g_bytes_ref (bytes);
  g_clear_pointer (&self->stdin_bytes, g_bytes_unref);
  self->stdin_bytes = bytes;
}

/**
 * prism_command_get_stdin_stream:
 * @self: a command
 *
 * Tells where its standard input is read from.
 *
 * Returns: (transfer none) (nullable): where its standard input is read from
 *
 * Since: 1.0
 */
GInputStream *
prism_command_get_stdin_stream (PrismCommand *self)
{
  g_return_val_if_fail (PRISM_IS_COMMAND (self), NULL);
  return self->stdin_stream;
}

/**
 * prism_command_set_stdin_stream:
 * @self: a command that no sandbox has yet
 * @stream: (nullable): where its standard input is read from
 *
 * Sets what [method@Command.get_stdin_stream] tells.
 *
 * Since: 1.0
 */
void
prism_command_set_stdin_stream (PrismCommand *self, GInputStream *stream)
{
  g_return_if_fail (PRISM_IS_COMMAND (self));
  g_return_if_fail (stream == NULL || G_IS_INPUT_STREAM (stream));

  if (may_change (self))
    g_set_object (&self->stdin_stream, stream);
}

/**
 * prism_command_get_timeout_ms:
 * @self: a command
 *
 * Tells how long it may run, ms; 0 = as long as its sandbox.
 *
 * Returns: how long it may run, ms; 0 = as long as its sandbox
 *
 * Since: 1.0
 */
gint64
prism_command_get_timeout_ms (PrismCommand *self)
{
  g_return_val_if_fail (PRISM_IS_COMMAND (self), 0);
  return self->timeout_ms;
}

/**
 * prism_command_set_timeout_ms:
 * @self: a command that no sandbox has yet
 * @timeout_ms: how long it may run, ms; 0 = as long as its sandbox
 *
 * Sets what [method@Command.get_timeout_ms] tells.
 *
 * Since: 1.0
 */
void
prism_command_set_timeout_ms (PrismCommand *self, gint64 timeout_ms)
{
  g_return_if_fail (PRISM_IS_COMMAND (self));

  if (may_change (self))
    self->timeout_ms = timeout_ms;
}

/**
 * prism_command_get_max_output_bytes:
 * @self: a command
 *
 * Tells how much of each stream is kept.
 *
 * Returns: how much of each stream is kept
 *
 * Since: 1.0
 */
gint64
prism_command_get_max_output_bytes (PrismCommand *self)
{
  g_return_val_if_fail (PRISM_IS_COMMAND (self), 0);
  return self->max_output_bytes;
}

/**
 * prism_command_set_max_output_bytes:
 * @self: a command that no sandbox has yet
 * @bytes: how much of each stream is kept; more is read, not kept, and flagged.
 *   The sandbox's `max-output-bytes` limit ends a command that writes more than
 *   that in all.
 *
 * Sets what [method@Command.get_max_output_bytes] tells.
 *
 * Since: 1.0
 */
void
prism_command_set_max_output_bytes (PrismCommand *self, gint64 bytes)
{
  g_return_if_fail (PRISM_IS_COMMAND (self));

  if (may_change (self))
    self->max_output_bytes = bytes;
}

/**
 * prism_command_get_capture:
 * @self: a command
 *
 * Tells whether its result holds its output.
 *
 * Returns: whether its result holds its output
 *
 * Since: 1.0
 */
gboolean
prism_command_get_capture (PrismCommand *self)
{
  g_return_val_if_fail (PRISM_IS_COMMAND (self), FALSE);
  return self->capture;
}

/**
 * prism_command_set_capture:
 * @self: a command that no sandbox has yet
 * @capture: whether its result holds its output; if not, `output` is the only way to it
 *
 * Sets what [method@Command.get_capture] tells.
 *
 * Since: 1.0
 */
void
prism_command_set_capture (PrismCommand *self, gboolean capture)
{
  g_return_if_fail (PRISM_IS_COMMAND (self));

  if (may_change (self))
    self->capture = capture;
}

/**
 * prism_command_get_last:
 * @self: a command
 *
 * Tells whether nothing else is asked of its sandbox.
 *
 * Returns: whether nothing else is asked of its sandbox
 *
 * Since: 1.0
 */
gboolean
prism_command_get_last (PrismCommand *self)
{
  g_return_val_if_fail (PRISM_IS_COMMAND (self), FALSE);
  return self->last;
}

/**
 * prism_command_set_last:
 * @self: a command that no sandbox has yet
 * @last: whether nothing else is asked of its sandbox, until it is closed
 *
 * Sets what [method@Command.get_last] tells. Where it is so the sandbox may begin to end as
 * soon as the command has exited by itself, without waiting for [method@Sandbox.close], which
 * then takes less time and is still to be called. Whatever else is asked fails with
 * %PRISM_SANDBOX_ERROR_STATE then. After any other end the sandbox is as it was.
 *
 * It is for [method@Sandbox.exec]; [method@Sandbox.start_process] takes no notice of it, nor does a
 * sandbox that is detached.
 *
 * Since: 1.0
 */
void
prism_command_set_last (PrismCommand *self, gboolean last)
{
  g_return_if_fail (PRISM_IS_COMMAND (self));

  if (may_change (self))
    self->last = last;
}

/**
 * prism_command_get_pty_columns:
 * @self: a command
 *
 * Gets the width of its terminal; 0 = no terminal.
 *
 * Returns: the width of its terminal; 0 = no terminal
 *
 * Since: 1.0
 */
guint
prism_command_get_pty_columns (PrismCommand *self)
{
  g_return_val_if_fail (PRISM_IS_COMMAND (self), 0);
  return self->pty_columns;
}

/**
 * prism_command_get_pty_rows:
 * @self: a command
 *
 * Gets the height of its terminal; 0 = no terminal.
 *
 * Returns: the height of its terminal; 0 = no terminal
 *
 * Since: 1.0
 */
guint
prism_command_get_pty_rows (PrismCommand *self)
{
  g_return_val_if_fail (PRISM_IS_COMMAND (self), 0);
  return self->pty_rows;
}

/**
 * prism_command_set_pty_size:
 * @self: a command that no sandbox has yet
 * @columns: width of a terminal, 1 to 500; 0 = none
 * @rows: its height, 1 to 200; 0 = none
 *
 * Gives the command a pseudo-terminal instead of pipes.
 *
 * Since: 1.0
 */
void
prism_command_set_pty_size (PrismCommand *self, guint columns, guint rows)
{
  g_return_if_fail (PRISM_IS_COMMAND (self));

  if (!may_change (self))
    return;
  self->pty_columns = columns;
  self->pty_rows = rows;
}

/**
 * prism_command_emit_output:
 * @self: a command
 * @stream: which of its streams
 * @bytes: what it wrote
 *
 * Emits [signal@Command::output], in this thread. Those who implement a sandbox
 * call [method@ExecOperation.output], which knows where the caller listens.
 *
 * Since: 1.0
 */
void
prism_command_emit_output (PrismCommand *self, PrismStream stream, GBytes *bytes)
{
  g_return_if_fail (PRISM_IS_COMMAND (self));
  g_return_if_fail (bytes != NULL);

  g_signal_emit (self, output_signal, 0, stream, bytes);
}

gboolean
prism_command_has_output_handler (PrismCommand *self)
{
  return g_signal_has_handler_pending (self, output_signal, 0, FALSE);
}

void
prism_command_freeze (PrismCommand *self)
{
  g_atomic_int_set (&self->frozen, TRUE);
}

typedef struct
{
  PrismCommand *command;
  PrismStream stream;
  GBytes *bytes;
} Chunk;

static void
chunk_emit (gpointer data)
{
  Chunk *chunk = data;
  prism_command_emit_output (chunk->command, chunk->stream, chunk->bytes);
}

static void
chunk_free (gpointer data)
{
  Chunk *chunk = data;
  g_object_unref (chunk->command);
  g_bytes_unref (chunk->bytes);
  g_free (chunk);
}

void
prism_command_pass_output (PrismCommand *self,
                           PrismOperation *operation,
                           PrismStream stream,
                           GBytes *bytes,
                           GDestroyNotify done,
                           gpointer done_data)
{
  Chunk *chunk = g_new (Chunk, 1);
  *chunk = (Chunk){ g_object_ref (self), stream, g_bytes_ref (bytes) };
  prism_operation_emit (operation, chunk_emit, chunk, chunk_free, done, done_data);
}
