/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

PrismTreeIdentity *
prism_cli_export (PrismSandbox *sandbox, const char *path, gboolean quiet, GCancellable *cancellable, GError **error);

G_END_DECLS
