/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* The launcher's failure in words: what, why, and what to do about it. */
GError *prism_native_failure_new (guint stage, int error, const char *what);
/* One line that helps where a machine cannot do what a stage needs, or NULL. */
const char *prism_native_failure_get_remedy (guint stage, int error);

G_END_DECLS
