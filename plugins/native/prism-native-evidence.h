/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* What is said of a sandbox, while it is collected: keys and texts one after the
 * other in one string, each with its NUL. What is said later under the same key
 * replaces what was said before. */
void prism_native_evidence_say (GString *evidence, const char *key, const char *text);
/* Floating, a{ss}. */
GVariant *prism_native_evidence_end (const GString *evidence);

G_END_DECLS
