/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Regular expressions whose matching takes time in proportion to text and pattern, and to
 * nothing else: literals, `.`, classes with ranges and \d \w \s, groups, `|`, `*`, `+`,
 * `?`, `{m,n}`, `^`, `$`, \b. No backward references and no look-around: with those there
 * is no such bound, and they are refused. Text is bytes; a class or `.` is one byte of
 * them. Pure. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _PrismLinearRegex PrismLinearRegex;

PrismLinearRegex *prism_linear_regex_new (const char *pattern, GError **error);
void prism_linear_regex_free (PrismLinearRegex *self);
/* Anywhere in the text. */
gboolean prism_linear_regex_matches (const PrismLinearRegex *self, const char *text, gsize length);

G_END_DECLS
