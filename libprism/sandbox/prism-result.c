/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-result.h"

#include "prism-enum-types.h"

struct _PrismResult
{
  GObject parent_instance;
  PrismOutcome outcome;
  int exit_code, term_signal;
  GBytes *stdout_bytes, *stderr_bytes;
  gboolean stdout_truncated, stderr_truncated;
  guint64 stdout_total, stderr_total;
  gint64 duration_us, effective_timeout_ms;
  char *limit, *reason;
};

enum
{
  PROP_0,
  PROP_OUTCOME,
  PROP_EXIT_CODE,
  PROP_TERM_SIGNAL,
  PROP_TIMED_OUT,
  PROP_CANCELLED,
  PROP_STDOUT_BYTES,
  PROP_STDERR_BYTES,
  PROP_STDOUT_TRUNCATED,
  PROP_STDERR_TRUNCATED,
  PROP_STDOUT_TOTAL,
  PROP_STDERR_TOTAL,
  PROP_DURATION_US,
  PROP_EFFECTIVE_TIMEOUT_MS,
  PROP_LIMIT,
  PROP_REASON,
  N_PROPS
};

static GParamSpec *props[N_PROPS];

/**
 * PrismResult:
 *
 * How a command that started ended, and what it said. Timed out, cancelled,
 * lost and killed are outcomes, told apart; none of them invents an exit code.
 *
 * Those who implement a sandbox make one with `g_object_new()` from its
 * construct-only properties; what does not fit the outcome (an exit code of
 * something that did not exit) is left out.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismResult, prism_result, G_TYPE_OBJECT)

static void
prism_result_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismResult *self = PRISM_RESULT (object);

  switch (id)
    {
    case PROP_OUTCOME:
      self->outcome = g_value_get_enum (value);
      break;
    case PROP_EXIT_CODE:
      self->exit_code = g_value_get_int (value);
      break;
    case PROP_TERM_SIGNAL:
      self->term_signal = g_value_get_int (value);
      break;
    case PROP_STDOUT_BYTES:
      self->stdout_bytes = g_value_dup_boxed (value);
      break;
    case PROP_STDERR_BYTES:
      self->stderr_bytes = g_value_dup_boxed (value);
      break;
    case PROP_STDOUT_TRUNCATED:
      self->stdout_truncated = g_value_get_boolean (value);
      break;
    case PROP_STDERR_TRUNCATED:
      self->stderr_truncated = g_value_get_boolean (value);
      break;
    case PROP_STDOUT_TOTAL:
      self->stdout_total = g_value_get_uint64 (value);
      break;
    case PROP_STDERR_TOTAL:
      self->stderr_total = g_value_get_uint64 (value);
      break;
    case PROP_DURATION_US:
      self->duration_us = g_value_get_int64 (value);
      break;
    case PROP_EFFECTIVE_TIMEOUT_MS:
      self->effective_timeout_ms = g_value_get_int64 (value);
      break;
    case PROP_LIMIT:
      self->limit = g_value_dup_string (value);
      break;
    case PROP_REASON:
      self->reason = g_value_dup_string (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_result_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismResult *self = PRISM_RESULT (object);

  switch (id)
    {
    case PROP_OUTCOME:
      g_value_set_enum (value, self->outcome);
      break;
    case PROP_EXIT_CODE:
      g_value_set_int (value, self->exit_code);
      break;
    case PROP_TERM_SIGNAL:
      g_value_set_int (value, self->term_signal);
      break;
    case PROP_TIMED_OUT:
      g_value_set_boolean (value, prism_result_get_timed_out (self));
      break;
    case PROP_CANCELLED:
      g_value_set_boolean (value, prism_result_get_cancelled (self));
      break;
    case PROP_STDOUT_BYTES:
      g_value_set_boxed (value, self->stdout_bytes);
      break;
    case PROP_STDERR_BYTES:
      g_value_set_boxed (value, self->stderr_bytes);
      break;
    case PROP_STDOUT_TRUNCATED:
      g_value_set_boolean (value, self->stdout_truncated);
      break;
    case PROP_STDERR_TRUNCATED:
      g_value_set_boolean (value, self->stderr_truncated);
      break;
    case PROP_STDOUT_TOTAL:
      g_value_set_uint64 (value, self->stdout_total);
      break;
    case PROP_STDERR_TOTAL:
      g_value_set_uint64 (value, self->stderr_total);
      break;
    case PROP_DURATION_US:
      g_value_set_int64 (value, self->duration_us);
      break;
    case PROP_EFFECTIVE_TIMEOUT_MS:
      g_value_set_int64 (value, self->effective_timeout_ms);
      break;
    case PROP_LIMIT:
      g_value_set_string (value, self->limit);
      break;
    case PROP_REASON:
      g_value_set_string (value, self->reason);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

/* Facts that would contradict each other are brought in line with the outcome. */
static void
prism_result_constructed (GObject *object)
{
  PrismResult *self = PRISM_RESULT (object);

  if (self->outcome != PRISM_OUTCOME_EXITED)
    self->exit_code = -1;
  if (self->outcome == PRISM_OUTCOME_EXITED || self->outcome == PRISM_OUTCOME_LOST)
    self->term_signal = 0;
  if (self->outcome == PRISM_OUTCOME_LOST && self->reason == NULL)
    self->reason = g_strdup ("its end was not seen");
  if (self->stdout_bytes == NULL)
    self->stdout_bytes = g_bytes_new (NULL, 0);
  if (self->stderr_bytes == NULL)
    self->stderr_bytes = g_bytes_new (NULL, 0);
  self->stdout_total = MAX (self->stdout_total, g_bytes_get_size (self->stdout_bytes));
  self->stderr_total = MAX (self->stderr_total, g_bytes_get_size (self->stderr_bytes));
  G_OBJECT_CLASS (prism_result_parent_class)->constructed (object);
}

static void
prism_result_finalize (GObject *object)
{
  PrismResult *self = PRISM_RESULT (object);

  g_bytes_unref (self->stdout_bytes);
  g_bytes_unref (self->stderr_bytes);
  g_free (self->limit);
  g_free (self->reason);
  G_OBJECT_CLASS (prism_result_parent_class)->finalize (object);
}

/**
 * PrismResult:stdout-bytes:
 *
 * What was kept of its standard output.
 *
 * Since: 1.0
 */
/**
 * PrismResult:stderr-bytes:
 *
 * What was kept of its standard error.
 *
 * Since: 1.0
 */

static void
prism_result_class_init (PrismResultClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags fixed = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;
  const GParamFlags derived = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  object_class->set_property = prism_result_set_property;
  object_class->get_property = prism_result_get_property;
  object_class->constructed = prism_result_constructed;
  object_class->finalize = prism_result_finalize;

  /**
   * PrismResult:outcome:
   *
   * How the command ended.
   *
   * Since: 1.0
   */
  props[PROP_OUTCOME] = g_param_spec_enum ("outcome", NULL, NULL, PRISM_TYPE_OUTCOME, PRISM_OUTCOME_LOST, fixed);
  /**
   * PrismResult:exit-code:
   *
   * 0 to 255; -1 unless it exited.
   *
   * Since: 1.0
   */
  props[PROP_EXIT_CODE] = g_param_spec_int ("exit-code", NULL, NULL, -1, 255, -1, fixed);
  /**
   * PrismResult:term-signal:
   *
   * The signal that ended it; 0 if it exited, or if that is not known.
   *
   * Since: 1.0
   */
  props[PROP_TERM_SIGNAL] = g_param_spec_int ("term-signal", NULL, NULL, 0, 255, 0, fixed);
  /**
   * PrismResult:timed-out:
   *
   * Whether its timeout ended it.
   *
   * Since: 1.0
   */
  props[PROP_TIMED_OUT] = g_param_spec_boolean ("timed-out", NULL, NULL, FALSE, derived);
  /**
   * PrismResult:cancelled:
   *
   * Whether its caller's cancellable ended it.
   *
   * Since: 1.0
   */
  props[PROP_CANCELLED] = g_param_spec_boolean ("cancelled", NULL, NULL, FALSE, derived);
  props[PROP_STDOUT_BYTES] = g_param_spec_boxed ("stdout-bytes", NULL, NULL, G_TYPE_BYTES, fixed);
  props[PROP_STDERR_BYTES] = g_param_spec_boxed ("stderr-bytes", NULL, NULL, G_TYPE_BYTES, fixed);
  /**
   * PrismResult:stdout-truncated:
   *
   * Whether it wrote more to standard output than was kept.
   *
   * Since: 1.0
   */
  props[PROP_STDOUT_TRUNCATED] = g_param_spec_boolean ("stdout-truncated", NULL, NULL, FALSE, fixed);
  /**
   * PrismResult:stderr-truncated:
   *
   * Whether it wrote more to standard error than was kept.
   *
   * Since: 1.0
   */
  props[PROP_STDERR_TRUNCATED] = g_param_spec_boolean ("stderr-truncated", NULL, NULL, FALSE, fixed);
  /**
   * PrismResult:stdout-total:
   *
   * Bytes that were read from its standard output, kept or not.
   *
   * Since: 1.0
   */
  props[PROP_STDOUT_TOTAL] = g_param_spec_uint64 ("stdout-total", NULL, NULL, 0, G_MAXUINT64, 0, fixed);
  /**
   * PrismResult:stderr-total:
   *
   * Bytes that were read from its standard error, kept or not.
   *
   * Since: 1.0
   */
  props[PROP_STDERR_TOTAL] = g_param_spec_uint64 ("stderr-total", NULL, NULL, 0, G_MAXUINT64, 0, fixed);
  /**
   * PrismResult:duration-us:
   *
   * From its start to its end, microseconds.
   *
   * Since: 1.0
   */
  props[PROP_DURATION_US] = g_param_spec_int64 ("duration-us", NULL, NULL, 0, G_MAXINT64, 0, fixed);
  /**
   * PrismResult:effective-timeout-ms:
   *
   * The time it had: its timeout or what was left of the sandbox's wall time, whichever was less; 0 =
   * no bound.
   *
   * Since: 1.0
   */
  props[PROP_EFFECTIVE_TIMEOUT_MS] = g_param_spec_int64 ("effective-timeout-ms", NULL, NULL, 0, G_MAXINT64, 0, fixed);
  /**
   * PrismResult:limit:
   *
   * The name of the limit that ended it.
   *
   * Since: 1.0
   */
  props[PROP_LIMIT] = g_param_spec_string ("limit", NULL, NULL, NULL, fixed);
  /**
   * PrismResult:reason:
   *
   * A sentence without its full stop; %NULL where the outcome says it all, and never %NULL for one
   * that is lost.
   *
   * Since: 1.0
   */
  props[PROP_REASON] = g_param_spec_string ("reason", NULL, NULL, NULL, fixed);
  g_object_class_install_properties (object_class, N_PROPS, props);
}

static void
prism_result_init (PrismResult *self)
{
  self->exit_code = -1;
  self->outcome = PRISM_OUTCOME_LOST;
}

/**
 * prism_result_get_outcome:
 * @self: a result
 *
 * Tells how the command ended.
 *
 * Returns: how the command ended
 *
 * Since: 1.0
 */
PrismOutcome
prism_result_get_outcome (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), PRISM_OUTCOME_LOST);
  return self->outcome;
}

/**
 * prism_result_get_exit_code:
 * @self: a result
 *
 * Gets 0 to 255; -1 unless it exited.
 *
 * Returns: 0 to 255; -1 unless it exited
 *
 * Since: 1.0
 */
int
prism_result_get_exit_code (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), -1);
  return self->exit_code;
}

/**
 * prism_result_get_term_signal:
 * @self: a result
 *
 * Gets the signal that ended it; 0 if it exited, or if that is not known.
 *
 * Returns: the signal that ended it; 0 if it exited, or if that is not known
 *
 * Since: 1.0
 */
int
prism_result_get_term_signal (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), 0);
  return self->term_signal;
}

/**
 * prism_result_get_timed_out:
 * @self: a result
 *
 * Tells whether its timeout ended it.
 *
 * Returns: whether its timeout ended it
 *
 * Since: 1.0
 */
gboolean
prism_result_get_timed_out (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), FALSE);
  return self->outcome == PRISM_OUTCOME_TIMED_OUT;
}

/**
 * prism_result_get_cancelled:
 * @self: a result
 *
 * Tells whether its caller's cancellable ended it.
 *
 * Returns: whether its caller's cancellable ended it
 *
 * Since: 1.0
 */
gboolean
prism_result_get_cancelled (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), FALSE);
  return self->outcome == PRISM_OUTCOME_CANCELLED;
}

/**
 * prism_result_get_stdout:
 * @self: a result
 *
 * Tells what was kept of its standard output; a pty's output too.
 *
 * Returns: (transfer none): what was kept of its standard output; a pty's output too
 *
 * Since: 1.0
 */
GBytes *
prism_result_get_stdout (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), NULL);
  return self->stdout_bytes;
}

/**
 * prism_result_get_stderr:
 * @self: a result
 *
 * Tells what was kept of its standard error.
 *
 * Returns: (transfer none): what was kept of its standard error
 *
 * Since: 1.0
 */
GBytes *
prism_result_get_stderr (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), NULL);
  return self->stderr_bytes;
}

static char *
make_text (GBytes *bytes)
{
  gsize size;
  const char *data = g_bytes_get_data (bytes, &size);

  return g_utf8_make_valid (data != NULL ? data : "", (gssize)size);
}

/**
 * prism_result_dup_stdout_text:
 * @self: a result
 *
 * Gets its standard output as valid UTF-8; what was not is replaced by U+FFFD.
 *
 * Returns: (transfer full): its standard output as valid UTF-8; what was not is
 *   replaced by U+FFFD
 *
 * Since: 1.0
 */
char *
prism_result_dup_stdout_text (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), NULL);
  return make_text (self->stdout_bytes);
}

/**
 * prism_result_dup_stderr_text:
 * @self: a result
 *
 * Gets its standard error as valid UTF-8; what was not is replaced by U+FFFD.
 *
 * Returns: (transfer full): its standard error as valid UTF-8; what was not is
 *   replaced by U+FFFD
 *
 * Since: 1.0
 */
char *
prism_result_dup_stderr_text (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), NULL);
  return make_text (self->stderr_bytes);
}

/**
 * prism_result_get_stdout_truncated:
 * @self: a result
 *
 * Tells whether it wrote more to standard output than was kept.
 *
 * Returns: whether it wrote more to standard output than was kept
 *
 * Since: 1.0
 */
gboolean
prism_result_get_stdout_truncated (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), FALSE);
  return self->stdout_truncated;
}

/**
 * prism_result_get_stderr_truncated:
 * @self: a result
 *
 * Tells whether it wrote more to standard error than was kept.
 *
 * Returns: whether it wrote more to standard error than was kept
 *
 * Since: 1.0
 */
gboolean
prism_result_get_stderr_truncated (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), FALSE);
  return self->stderr_truncated;
}

/**
 * prism_result_get_stdout_total:
 * @self: a result
 *
 * Gets bytes that were read from its standard output, kept or not.
 *
 * Returns: bytes that were read from its standard output, kept or not
 *
 * Since: 1.0
 */
guint64
prism_result_get_stdout_total (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), 0);
  return self->stdout_total;
}

/**
 * prism_result_get_stderr_total:
 * @self: a result
 *
 * Gets bytes that were read from its standard error, kept or not.
 *
 * Returns: bytes that were read from its standard error, kept or not
 *
 * Since: 1.0
 */
guint64
prism_result_get_stderr_total (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), 0);
  return self->stderr_total;
}

/**
 * prism_result_get_duration_us:
 * @self: a result
 *
 * Gets from its start to its end, microseconds.
 *
 * Returns: from its start to its end, microseconds
 *
 * Since: 1.0
 */
gint64
prism_result_get_duration_us (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), 0);
  return self->duration_us;
}

/**
 * prism_result_get_effective_timeout_ms:
 * @self: a result
 *
 * Gets the time it had: its timeout or what was left of the sandbox's wall time, whichever was
 * less; 0 = no bound.
 *
 * Returns: the time it had: its timeout or what was left of the sandbox's wall
 *   time, whichever was less; 0 = no bound
 *
 * Since: 1.0
 */
gint64
prism_result_get_effective_timeout_ms (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), 0);
  return self->effective_timeout_ms;
}

/**
 * prism_result_get_limit:
 * @self: a result
 *
 * Gets the name of the limit that ended it.
 *
 * Returns: (transfer none) (nullable): the name of the limit that ended it
 *
 * Since: 1.0
 */
const char *
prism_result_get_limit (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), NULL);
  return self->limit;
}

/**
 * prism_result_get_reason:
 * @self: a result
 *
 * Why nothing more is known of a command whose outcome is lost: the connection, the
 * agent or what kept the sandbox ended, and how. For people to read.
 *
 * Returns: (transfer none) (nullable): a sentence without its full stop; %NULL where the
 *   outcome says it all, and never %NULL for one that is lost
 *
 * Since: 1.0
 */
const char *
prism_result_get_reason (PrismResult *self)
{
  g_return_val_if_fail (PRISM_IS_RESULT (self), NULL);
  return self->reason;
}
