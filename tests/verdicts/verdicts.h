/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* Checks one row. @columns holds as many as the table has; text is as written,
 * with C's escapes undone. Fails with g_assert. */
typedef void (*VerdictCheck) (char **columns);

typedef struct
{
  const char *file; /* in this folder */
  guint columns;
  VerdictCheck check;
} VerdictTable;

/* Each ends with a NULL file. */
extern const VerdictTable verdicts_egress[];
extern const VerdictTable verdicts_policy[];

void verdicts_policy_clear (void);
