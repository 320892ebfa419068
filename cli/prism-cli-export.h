/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

/* Whether an export to @path can be written. */
gboolean prism_cli_export_check (const char *path, GError **error);
PrismTreeIdentity *
prism_cli_export (PrismSandbox *sandbox, const char *path, gboolean quiet, GCancellable *cancellable, GError **error);
/* Says what was written. */
void prism_cli_export_explain (const PrismTreeIdentity *identity, const char *path);

G_END_DECLS
