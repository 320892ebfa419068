/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

/* What `prism policy check` was asked. */
typedef struct
{
  char *policy, *kind, *operation, *directory;
  char **paths;
  char **command; /* NULL-terminated; may be empty */
  gboolean json, print;
} PrismCliCheck;

int prism_cli_policy_check (const PrismCliCheck *check);

G_END_DECLS
