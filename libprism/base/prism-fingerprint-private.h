/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Canonical JSON: compact, UTF-8 raw, only what JSON must escape is, in its
 * shortest form. So two systems hash the same bytes. */
void prism_canonical_append_string (GString *json, const char *text, gssize length);
void prism_canonical_append_strv (GString *json, const char *const *strings);

/* SHA-256 as 64 lower-case hex digits, of small things. */
char *prism_fingerprint (const char *bytes, gsize length);

G_END_DECLS
