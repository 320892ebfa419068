/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-command-rule.h"
#include "prism-linear-regex-private.h"

G_BEGIN_DECLS

struct _PrismCommandRule
{
  gatomicrefcount refs;

  PrismCommandMatch match;
  char **words;
  guint n_words;
  PrismVerdict verdict;
  char *reason, *line, *warning;
  PrismLinearRegex *regex;
};

/* Whether this program is there to run what its arguments name. */
gboolean prism_command_runs_others (const char *program);

G_END_DECLS
