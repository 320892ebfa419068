/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-error.h"

G_BEGIN_DECLS

/* Integers that survive JSON. */
#define PRISM_SAFE_INTEGER_MAX G_GINT64_CONSTANT (9007199254740991)

/* Default, least and most of one number in one profile. */
typedef struct
{
  gint64 initial, least, most;
} PrismRange;

/* One row of a table of limits. */
typedef struct
{
  const char *name;
  PrismRange standard, strict;
  const char *blurb;
} PrismLimitRow;

/* The one range check: appends "name = value (allowed: least to most)" to
 * @offenders when it is out of range. */
gboolean prism_range_check (const PrismRange *range, const char *name, gint64 value, GString *offenders);

/* One error of all that was appended; FALSE if there was any. */
gboolean prism_range_report (const GString *offenders, GError **error);

G_END_DECLS
