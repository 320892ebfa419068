/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Path patterns: * within a name, ? one character, ** any number of folders. Pure, and linear
 * in pattern times path at the worst. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* @path is relative, bytes; a character that is no UTF-8 is one byte. */
gboolean prism_glob_match (const char *pattern, const char *path);

/* The alternatives of {a,b}, nested ones too; one pattern where there are none. NULL: more than
 * @most, or braces that do not close. */
char **prism_glob_expand (const char *pattern, guint most);

G_END_DECLS
