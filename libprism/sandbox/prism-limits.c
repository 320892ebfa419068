/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The limits of a sandbox: the table, and an object that holds values for it.
 * Nothing is clamped: what was given is kept, and refused by name when used. */
#include "prism-limits-private.h"

#include <string.h>

#include "prism-bounds.h"
#include "prism-egress-limits-private.h"
#include "prism-enum-types.h"
#include "prism-limit-private.h"

#define KIB  G_GINT64_CONSTANT (1024)
#define MIB  (1024 * KIB)
#define GIB  (1024 * MIB)
#define SAFE PRISM_SAFE_INTEGER_MAX

/* Standard keeps the strict defaults of what a machine has only so much of, and
 * caps them where the machine does; what would end a working day is off (0). */
static const PrismLimitRow table[] = {
  { "startup-timeout-ms", { 30000, 1, 120000 }, { 30000, 1, 120000 }, "Time to become ready, ms" },
  { "wall-time-ms", { 0, 0, SAFE }, { 1200000, 1, 1800000 }, "Life of the sandbox, ms" },
  { "idle-timeout-ms", { 0, 0, SAFE }, { 300000, 1, 900000 }, "Time without any command or process, ms" },
  { "max-timeout-ms", { 0, 0, SAFE }, { 1800000, 1, 1800000 }, "Most that one command may ask as its timeout, ms" },
  { "cpu-millis", { 2000, 1, 1024000 }, { 2000, 1, 8000 }, "CPUs, in thousandths; as `cpus` with a decimal point" },
  { "memory-bytes", { 2 * GIB, 1, SAFE }, { 2 * GIB, 1, 16 * GIB }, "Memory, bytes" },
  { "max-pids", { 256, 1, 4194304 }, { 256, 1, 1024 }, "Processes and threads at once" },
  { "max-fds", { 1024, 1, 1048576 }, { 1024, 1, 8192 }, "Open files of one process" },
  { "workspace-bytes", { GIB, 1, SAFE }, { GIB, 1, 8 * GIB }, "Size of a disposable workspace, bytes" },
  { "tmp-bytes", { 256 * MIB, 1, SAFE }, { 256 * MIB, 1, 2 * GIB }, "Size of /tmp, bytes" },
  { "download-bytes", { 64 * MIB, 1, SAFE }, { 64 * MIB, 1, 512 * MIB }, "Size of the downloads folder, bytes" },
  { "max-commands", { 0, 0, SAFE }, { 100, 1, 256 }, "Commands in the sandbox's life" },
  { "max-concurrent-execs", { 16, 1, 256 }, { 1, 1, 8 }, "Commands at once" },
  { "max-processes", { 32, 1, 512 }, { 8, 1, 32 }, "Started processes at once" },
  { "max-env-names", { 64, 1, 4096 }, { 64, 1, 256 }, "Environment variables" },
  { "max-env-bytes", { 64 * KIB, 1, 256 * KIB }, { 64 * KIB, 1, 256 * KIB }, "Their names and values, bytes" },
  { "max-file-bytes", { 64 * MIB, 1, GIB }, { 64 * MIB, 1, GIB }, "Most that one file operation carries, bytes" },
  { "max-export-entries", { 50000, 1, 100000000 }, { 50000, 1, 250000 }, "Entries of a tree that goes in or out" },
  { "max-export-bytes", { 256 * MIB, 1, SAFE }, { 256 * MIB, 1, 2 * GIB }, "Bytes of a tree that goes in or out" },
  { "max-retained-artifacts", { 16, 1, 64 }, { 16, 1, 64 }, "Exports of one sandbox" },
  { "stop-grace-ms", { 5000, 1, 30000 }, { 5000, 1, 30000 }, "Time between SIGTERM and SIGKILL, ms" },
  { "cleanup-deadline-ms", { 30000, 1, 120000 }, { 30000, 1, 120000 }, "Time to clean up, ms" },
  { "max-output-bytes", { 64 * MIB, 1, SAFE }, { 64 * MIB, 1, GIB }, "Output of one command, both streams, bytes" },
};

/* The table, then what the egress proxy may use for the sandbox. */
#define N_OWN    ((guint)G_N_ELEMENTS (table))
#define N_LIMITS (G_N_ELEMENTS (table) + PRISM_N_EGRESS_LIMITS)

struct _PrismLimits
{
  GObject parent_instance;
  PrismLimitsProfile profile;
  gint64 values[N_LIMITS];
  guint64 set; /* a bit for each */
  gint frozen; /* atomic */
};

G_STATIC_ASSERT (N_LIMITS <= 64);

/* PROP_PROFILE, then one for each row. */
enum
{
  PROP_0,
  PROP_PROFILE,
  PROP_FIRST_LIMIT,
};

static GParamSpec *props[PROP_FIRST_LIMIT + N_LIMITS];

/**
 * PrismLimits:
 *
 * What a sandbox may use: one `gint64` property per limit, each with a default
 * and bounds per profile ([func@param_spec_get_bounds]). A property keeps what
 * it was given; [method@Limits.check] refuses what is out of range.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismLimits, prism_limits, G_TYPE_OBJECT)

static const PrismLimitRow *
row_at (guint row)
{
  return row < N_OWN ? &table[row] : &prism_egress_limits[row - N_OWN];
}

static const PrismRange *
range_of (PrismLimits *self, guint row)
{
  return self->profile == PRISM_LIMITS_PROFILE_STRICT ? &row_at (row)->strict : &row_at (row)->standard;
}

static int
find_row (const char *name)
{
  for (guint i = 0; i < N_LIMITS; i++)
    if (strcmp (row_at (i)->name, name) == 0)
      return (int)i;
  return -1;
}

static void
store (PrismLimits *self, guint row, gint64 value)
{
  self->values[row] = value;
  self->set |= G_GUINT64_CONSTANT (1) << row;
  g_object_notify_by_pspec (G_OBJECT (self), props[PROP_FIRST_LIMIT + row]);
}

static void
prism_limits_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismLimits *self = PRISM_LIMITS (object);

  if (id == PROP_PROFILE)
    self->profile = g_value_get_enum (value);
  else if (g_atomic_int_get (&self->frozen))
    g_critical ("limit %s: the limits are in use and cannot change any more", pspec->name);
  else
    store (self, id - PROP_FIRST_LIMIT, g_value_get_int64 (value));
}

static void
prism_limits_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismLimits *self = PRISM_LIMITS (object);

  if (id == PROP_PROFILE)
    g_value_set_enum (value, self->profile);
  else
    g_value_set_int64 (value, self->values[id - PROP_FIRST_LIMIT]);
}

/* The profile is known now; what was set at construction comes after this. */
static void
prism_limits_constructed (GObject *object)
{
  PrismLimits *self = PRISM_LIMITS (object);

  for (guint i = 0; i < N_LIMITS; i++)
    if ((self->set & G_GUINT64_CONSTANT (1) << i) == 0)
      self->values[i] = range_of (self, i)->initial;
  G_OBJECT_CLASS (prism_limits_parent_class)->constructed (object);
}

static GParamSpec *
limit_pspec (const PrismLimitRow *row)
{
  GParamSpec *pspec = g_param_spec_int64 (row->name, NULL, row->blurb, G_MININT64, G_MAXINT64, row->standard.initial,
                                          G_PARAM_READWRITE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);

  prism_param_spec_set_bounds (pspec, PRISM_LIMITS_PROFILE_STANDARD, row->standard.initial, row->standard.least,
                               row->standard.most);
  prism_param_spec_set_bounds (pspec, PRISM_LIMITS_PROFILE_STRICT, row->strict.initial, row->strict.least,
                               row->strict.most);
  return pspec;
}

/**
 * PrismLimits:cleanup-deadline-ms:
 *
 * Time to clean up, ms.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:concurrent-connections:
 *
 * Connections at once.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:connection-idle-ms:
 *
 * Time without a byte either way, ms.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:cpu-millis:
 *
 * CPUs, in thousandths; as `cpus` with a decimal point.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:download-bytes:
 *
 * Size of the downloads folder, bytes.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:idle-timeout-ms:
 *
 * Time without any command or process, ms.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:max-commands:
 *
 * Commands in the sandbox's life.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:max-concurrent-execs:
 *
 * Commands at once.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:max-env-bytes:
 *
 * Their names and values, bytes.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:max-env-names:
 *
 * Environment variables.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:max-export-bytes:
 *
 * Bytes of a tree that goes in or out.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:max-export-entries:
 *
 * Entries of a tree that goes in or out.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:max-fds:
 *
 * Open files of one process.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:max-file-bytes:
 *
 * Most that one file operation carries, bytes.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:max-output-bytes:
 *
 * Output of one command, both streams, bytes.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:max-pids:
 *
 * Processes and threads at once.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:max-processes:
 *
 * Started processes at once.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:max-retained-artifacts:
 *
 * Exports of one sandbox.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:max-timeout-ms:
 *
 * Most that one command may ask as its timeout, ms.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:memory-bytes:
 *
 * Memory, bytes.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:redirect-hops:
 *
 * Requests that one request may become.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:request-bytes:
 *
 * Bytes out, of one request or tunnel.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:request-head-ms:
 *
 * Time until a request's head is there, ms.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:response-bytes:
 *
 * Bytes back, of one request or tunnel.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:rules-per-policy:
 *
 * Rules of a policy.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:startup-timeout-ms:
 *
 * Time to become ready, ms.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:stop-grace-ms:
 *
 * Time between SIGTERM and SIGKILL, ms.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:tmp-bytes:
 *
 * Size of /tmp, bytes.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:transfer-time-ms:
 *
 * Time of one request or tunnel, ms.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:wall-time-ms:
 *
 * Life of the sandbox, ms.
 *
 * Since: 1.0
 */

/**
 * PrismLimits:workspace-bytes:
 *
 * Size of a disposable workspace, bytes.
 *
 * Since: 1.0
 */

static void
prism_limits_class_init (PrismLimitsClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->set_property = prism_limits_set_property;
  object_class->get_property = prism_limits_get_property;
  object_class->constructed = prism_limits_constructed;

  /**
   * PrismLimits:profile:
   *
   * Which defaults and bounds hold.
   *
   * Since: 1.0
   */
  props[PROP_PROFILE] =
      g_param_spec_enum ("profile", NULL, NULL, PRISM_TYPE_LIMITS_PROFILE, PRISM_LIMITS_PROFILE_STANDARD,
                         G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);
  for (guint i = 0; i < N_LIMITS; i++)
    props[PROP_FIRST_LIMIT + i] = limit_pspec (row_at (i));
  g_object_class_install_properties (object_class, G_N_ELEMENTS (props), props);
}

static void
prism_limits_init (PrismLimits *self)
{
}

/**
 * prism_limits_new:
 * @profile: which defaults and bounds hold
 *
 * Makes limits at their defaults.
 *
 * Returns: (transfer full): limits at their defaults
 *
 * Since: 1.0
 */
PrismLimits *
prism_limits_new (PrismLimitsProfile profile)
{
  return g_object_new (PRISM_TYPE_LIMITS, "profile", profile, NULL);
}

/**
 * prism_limits_copy:
 * @self: limits
 *
 * Gets limits of the same profile, values and marks of what was set; they can change, though @self
 * may be in use.
 *
 * Returns: (transfer full): limits of the same profile, values and marks of what was
 *   set; they can change, though @self may be in use
 *
 * Since: 1.0
 */
PrismLimits *
prism_limits_copy (PrismLimits *self)
{
  PrismLimits *copy;

  g_return_val_if_fail (PRISM_IS_LIMITS (self), NULL);

  copy = prism_limits_new (self->profile);
  memcpy (copy->values, self->values, sizeof copy->values);
  copy->set = self->set;
  return copy;
}

/**
 * prism_limits_get_profile:
 * @self: limits
 *
 * Tells which defaults and bounds hold.
 *
 * Returns: which defaults and bounds hold
 *
 * Since: 1.0
 */
PrismLimitsProfile
prism_limits_get_profile (PrismLimits *self)
{
  g_return_val_if_fail (PRISM_IS_LIMITS (self), PRISM_LIMITS_PROFILE_STANDARD);
  return self->profile;
}

static int
find_row_or_fail (const char *name, GError **error)
{
  int row = find_row (name);

  if (row < 0)
    {
      g_autoptr (GString) known = g_string_new (NULL);
      for (guint i = 0; i < N_LIMITS; i++)
        g_string_append_printf (known, "%s%s", i > 0 ? ", " : "", row_at (i)->name);
      g_set_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_UNKNOWN, "there is no limit “%s”; there are: %s", name,
                   known->str);
    }
  return row;
}

/**
 * prism_limits_set:
 * @self: limits
 * @name: a limit's name, such as `memory-bytes`
 * @value: its new value, in its own unit
 * @error: return location for a [error@LimitError]
 *
 * Unlike its property, refuses at once what is out of range, and then changes nothing.
 *
 * Returns: whether it was set
 *
 * Since: 1.0
 */
gboolean
prism_limits_set (PrismLimits *self, const char *name, gint64 value, GError **error)
{
  g_autoptr (GString) offenders = NULL;
  int row;

  g_return_val_if_fail (PRISM_IS_LIMITS (self), FALSE);
  g_return_val_if_fail (name != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  row = find_row_or_fail (name, error);
  if (row < 0)
    return FALSE;
  if (g_atomic_int_get (&self->frozen))
    {
      g_set_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_FROZEN,
                   "%s: the limits are in use by a sandbox and cannot change any more", name);
      return FALSE;
    }
  offenders = g_string_new (NULL);
  if (!prism_range_check (range_of (self, (guint)row), name, value, offenders))
    return prism_range_report (offenders, error);
  store (self, (guint)row, value);
  return TRUE;
}

/* --- numbers as people write them ---------------------------------------------- */

typedef struct
{
  const char *suffix;
  gint64 factor;
} Unit;

static const Unit byte_units[] = { { "", 1 },      { "K", KIB },   { "M", MIB },   { "G", GIB },
                                   { "KiB", KIB }, { "MiB", MIB }, { "GiB", GIB }, { NULL, 0 } };
static const Unit time_units[] = {
  { "", 1 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { NULL, 0 }
};
static const Unit plain_units[] = { { "", 1 }, { NULL, 0 } };

static const Unit *
units_of (const char *name)
{
  if (g_str_has_suffix (name, "-bytes"))
    return byte_units;
  return g_str_has_suffix (name, "-ms") ? time_units : plain_units;
}

/* DIGITS[.DIGITS]UNIT, exactly: no sign, no blank, at most what an integer of
 * the limit's own unit can say. */
static gboolean
parse_number (const char *text, const Unit *units, gboolean decimal, gint64 *value)
{
  gsize whole = strspn (text, "0123456789");
  const char *rest = text + whole;
  gint64 factor = -1, number = 0, fraction = 0, scale = 1;

  if (whole == 0 || whole > 16)
    return FALSE;
  for (gsize i = 0; i < whole; i++)
    number = number * 10 + (text[i] - '0');
  if (*rest == '.')
    {
      gsize digits = strspn (rest + 1, "0123456789");
      if (!decimal || digits == 0 || digits > 3)
        return FALSE;
      for (gsize i = 1; i <= digits; i++, scale *= 10)
        fraction = fraction * 10 + (rest[i] - '0');
      rest += 1 + digits;
    }
  for (; units->suffix != NULL; units++)
    if (strcmp (units->suffix, rest) == 0)
      factor = units->factor;
  if (factor < 0 || number > SAFE / factor)
    return FALSE;
  *value = number * factor + fraction * factor / scale;
  return fraction * factor % scale == 0;
}

/**
 * prism_limits_set_string:
 * @self: limits
 * @name: a limit's name; `cpus` is `cpu-millis` in whole CPUs
 * @value: `512M`, `60s`, `250ms`, `1.5` (cpus only): K, M and G are binary, a
 *   plain number is in the limit's own unit
 * @error: return location for a [error@LimitError]
 *
 * As [method@Limits.set], from text.
 *
 * Returns: whether it was set
 *
 * Since: 1.0
 */
gboolean
prism_limits_set_string (PrismLimits *self, const char *name, const char *value, GError **error)
{
  static const Unit cpu_units[] = { { "", 1000 }, { NULL, 0 } };
  const gboolean cpus = name != NULL && strcmp (name, "cpus") == 0;
  gint64 number;

  g_return_val_if_fail (PRISM_IS_LIMITS (self), FALSE);
  g_return_val_if_fail (name != NULL && value != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (cpus)
    name = "cpu-millis";
  if (find_row_or_fail (name, error) < 0)
    return FALSE;
  if (!parse_number (value, cpus ? cpu_units : units_of (name), cpus, &number))
    {
      g_set_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE, "%s: “%.64s” is not %s", cpus ? "cpus" : name,
                   value,
                   cpus                            ? "a number of CPUs such as 2 or 1.5"
                   : units_of (name) == byte_units ? "a size such as 1048576, 512M or 2G"
                   : units_of (name) == time_units ? "a time such as 1500, 250ms, 60s or 5m"
                                                   : "a plain number");
      return FALSE;
    }
  return prism_limits_set (self, name, number, error);
}

/**
 * prism_limits_get:
 * @self: limits
 * @name: a limit's name; one that does not exist is a programmer's mistake
 *
 * Gets its value; 0 means off, where 0 is in its bounds.
 *
 * Returns: its value; 0 means off, where 0 is in its bounds
 *
 * Since: 1.0
 */
gint64
prism_limits_get (PrismLimits *self, const char *name)
{
  int row;

  g_return_val_if_fail (PRISM_IS_LIMITS (self), 0);
  g_return_val_if_fail (name != NULL, 0);

  row = find_row (name);
  g_return_val_if_fail (row >= 0, 0);
  return self->values[row];
}

/**
 * prism_limits_is_set:
 * @self: limits
 * @name: a limit's name
 *
 * Whether the caller set it, be it to its default: what was set and cannot be
 * enforced is refused, what is a default and cannot is reported.
 *
 * Returns: whether it was set
 *
 * Since: 1.0
 */
gboolean
prism_limits_is_set (PrismLimits *self, const char *name)
{
  int row;

  g_return_val_if_fail (PRISM_IS_LIMITS (self), FALSE);
  g_return_val_if_fail (name != NULL, FALSE);

  row = find_row (name);
  return row >= 0 && (self->set & G_GUINT64_CONSTANT (1) << row) != 0;
}

/**
 * prism_limits_list_names:
 * @self: limits
 *
 * Gets the names of all limits.
 *
 * Returns: (transfer full) (array zero-terminated=1): the names of all limits
 *
 * Since: 1.0
 */
char **
prism_limits_list_names (PrismLimits *self)
{
  char **names;

  g_return_val_if_fail (PRISM_IS_LIMITS (self), NULL);

  names = g_new0 (char *, N_LIMITS + 1);
  for (guint i = 0; i < N_LIMITS; i++)
    names[i] = g_strdup (row_at (i)->name);
  return names;
}

/**
 * prism_limits_check:
 * @self: limits
 * @error: return location for a [error@LimitError]
 *
 * Gets %FALSE if any limit is out of range: one error names each and its bounds.
 *
 * Returns: %FALSE if any limit is out of range: one error names each and its bounds
 *
 * Since: 1.0
 */
gboolean
prism_limits_check (PrismLimits *self, GError **error)
{
  g_autoptr (GString) offenders = g_string_new (NULL);

  g_return_val_if_fail (PRISM_IS_LIMITS (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  for (guint i = 0; i < N_LIMITS; i++)
    prism_range_check (range_of (self, i), row_at (i)->name, self->values[i], offenders);
  return prism_range_report (offenders, error);
}

void
prism_limits_freeze (PrismLimits *self)
{
  g_atomic_int_set (&self->frozen, TRUE);
}
