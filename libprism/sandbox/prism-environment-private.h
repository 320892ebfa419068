/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Environment lists, NAME=VALUE, and what may be in them. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* [A-Za-z_][A-Za-z0-9_]* */
gboolean prism_environment_name_is_valid (const char *name, gsize length);

/* A name that makes the loader, iconv or a shell run foreign code. */
gboolean prism_environment_name_is_dangerous (const char *name, gsize length);

/* The name's length in NAME=VALUE, or -1 where there is no "=". */
gssize prism_environment_name_length (const char *entry);

/* Sets or replaces NAME in @env; takes and returns the list. */
char **prism_environment_set (char **env, const char *name, const char *value);

/* Appends every malformed name to @offenders as "what: …". */
void prism_environment_check_names (const char *const *env, const char *what, GString *offenders);

/* Appends every dangerous name that is not in @allowed. */
void prism_environment_check_dangerous (const char *const *env,
                                        const char *const *allowed,
                                        const char *what,
                                        GString *offenders);

/* Adds @env's count and bytes of names and values. */
void prism_environment_count (const char *const *env, gint64 *names, gint64 *bytes);

/* Appends "; " between offenders. */
void prism_offend (GString *offenders, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* INVALID with everything in @offenders; FALSE if there was anything. */
gboolean prism_offend_report (const GString *offenders, GError **error);

/* A name from outside, fit for a message: bounded, no control bytes. The next
 * call in this thread reuses the buffer of four calls ago. */
const char *prism_printable (const char *text);

G_END_DECLS
