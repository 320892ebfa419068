/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-error.h"

G_BEGIN_DECLS

/* One line of an area's own table: code, exact name. Ends with a NULL name. */
typedef struct
{
  int code;
  const char *name;
} PrismErrorCodeName;

/* The names that an area of the library gives its own codes. */
void prism_error_add_domain (GQuark domain, const PrismErrorCodeName *names);

/* What was registered for @error, most specific first; strings live for ever. */
gboolean prism_explain_lookup (const GError *error, const char **id, const char **text, const char **hint);

/* Puts "ORIGIN: " in front of the message, unless it is there already. */
void prism_error_set_origin (GError *error, const char *origin);

G_END_DECLS
