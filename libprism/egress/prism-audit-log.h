/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-audit-record.h"

G_BEGIN_DECLS

/* Where the decisions of one or more listeners go: counted, and written to a file if
 * there is one. Any thread. */
#define PRISM_TYPE_AUDIT_LOG (prism_audit_log_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismAuditLog, prism_audit_log, PRISM, AUDIT_LOG, GObject)

PRISM_AVAILABLE_IN_1_0
PrismAuditLog *prism_audit_log_new (void);
PRISM_AVAILABLE_IN_1_0
PrismAuditLog *prism_audit_log_new_for_path (const char *path, GError **error);
/* For the proxy: FALSE if it cannot be taken now; then nothing more is let through. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_audit_log_add (PrismAuditLog *self, const PrismAuditRecord *record);
PRISM_AVAILABLE_IN_1_0
gboolean prism_audit_log_flush (PrismAuditLog *self, gint64 timeout_ms, GError **error);
/* The file may have been moved away: opens its path anew. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_audit_log_reopen (PrismAuditLog *self, GError **error);
PRISM_AVAILABLE_IN_1_0
const char *prism_audit_log_get_path (PrismAuditLog *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_audit_log_get_allowed (PrismAuditLog *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_audit_log_get_denied (PrismAuditLog *self);
/* One record of each kind, the oldest first: what was reached, or refused and why. */
PRISM_AVAILABLE_IN_1_0
GPtrArray *prism_audit_log_list_distinct (PrismAuditLog *self, PrismAuditDecision decision);

G_END_DECLS
