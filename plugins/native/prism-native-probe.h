/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

/* What this machine can enforce, found by starting a sandbox and looking at it from
 * inside. Blocking, bounded by @deadline. */
PrismHealthReport *prism_native_probe (gint64 deadline, GCancellable *cancellable, GError **error);

G_END_DECLS
