/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Times as records and evidence write them: UTC to the millisecond, always
 * `2026-11-29T15:04:05.000Z`, 24 bytes. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define PRISM_TIMESTAMP_SIZE 25

/* @ms since 1970; FALSE if the year would not have four digits. */
gboolean prism_timestamp_format (gint64 ms, char text[PRISM_TIMESTAMP_SIZE]);
gboolean prism_timestamp_parse (const char *text, gint64 *ms);

G_END_DECLS
