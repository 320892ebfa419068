/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-suspension.h"

#include <gio/gio.h>

G_BEGIN_DECLS

/* A folder of what waits for an answer, for as long as that takes: whoever asked may be gone
 * meanwhile. Properties: folder (an absolute path), bind-calls (default TRUE), timeout-ms (default a
 * day). Signals: suspended (PrismSuspension), answered (PrismSuspension). Any thread. */
#define PRISM_TYPE_SUSPENSIONS (prism_suspensions_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismSuspensions, prism_suspensions, PRISM, SUSPENSIONS, GObject)

PRISM_AVAILABLE_IN_1_0
PrismSuspensions *prism_suspensions_new (const char *folder);
PRISM_AVAILABLE_IN_1_0
const char *prism_suspensions_get_folder (PrismSuspensions *self);
PRISM_AVAILABLE_IN_1_0
gboolean prism_suspensions_get_bind_calls (PrismSuspensions *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_suspensions_get_timeout_ms (PrismSuspensions *self);
/* In the order in which they were asked. */
PRISM_AVAILABLE_IN_1_0
GPtrArray *prism_suspensions_list (PrismSuspensions *self, GError **error);
PRISM_AVAILABLE_IN_1_0
PrismSuspension *prism_suspensions_look_up (PrismSuspensions *self, const char *id, GError **error);
/* Once. @answer fits its resume schema; @by is who says so. */
PRISM_AVAILABLE_IN_1_0
gboolean
prism_suspensions_answer (PrismSuspensions *self, const char *id, const char *answer, const char *by, GError **error);
PRISM_AVAILABLE_IN_1_0
gboolean prism_suspensions_cancel (PrismSuspensions *self, const char *id, const char *by, GError **error);
/* How it ended that began: for those who do what was allowed themselves. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_suspensions_end (PrismSuspensions *self, const char *id, const char *outcome, GError **error);
/* Only what is over. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_suspensions_forget (PrismSuspensions *self, const char *id, GError **error);

G_END_DECLS
