/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-egress-rule.h"

G_BEGIN_DECLS

/**
 * PrismAuditDecision:
 * @PRISM_AUDIT_DECISION_DENY: it was refused
 * @PRISM_AUDIT_DECISION_ALLOW: a rule allowed it
 *
 * What became of a request.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_AUDIT_DECISION_DENY,
  PRISM_AUDIT_DECISION_ALLOW,
} PrismAuditDecision;

#define PRISM_TYPE_AUDIT_RECORD (prism_audit_record_get_type ())
PRISM_AVAILABLE_IN_1_0
GType prism_audit_record_get_type (void) G_GNUC_CONST;

PRISM_AVAILABLE_IN_1_0
PrismAuditRecord *
prism_audit_record_new (PrismAuditDecision decision, const char *host, guint port, PrismEgressScheme protocol);
PRISM_AVAILABLE_IN_1_0
PrismAuditRecord *prism_audit_record_new_from_json (const char *line, gssize length, GError **error);
PRISM_AVAILABLE_IN_1_0
PrismAuditRecord *prism_audit_record_copy (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
void prism_audit_record_free (PrismAuditRecord *self);

/* For the proxy that makes the record, before it hands it on. */
PRISM_AVAILABLE_IN_1_0
void prism_audit_record_set_rule (PrismAuditRecord *self, const char *line, gint64 policy_version);
PRISM_AVAILABLE_IN_1_0
void prism_audit_record_set_reason (PrismAuditRecord *self, const char *reason_id, const char *reason);
PRISM_AVAILABLE_IN_1_0
void
prism_audit_record_set_transfer (PrismAuditRecord *self, gint64 bytes_sent, gint64 bytes_received, gint64 duration_ms);
PRISM_AVAILABLE_IN_1_0
void prism_audit_record_set_client (PrismAuditRecord *self, const char *client, const char *sandbox_id);

PRISM_AVAILABLE_IN_1_0
const char *prism_audit_record_get_id (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
GDateTime *prism_audit_record_get_time (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
PrismAuditDecision prism_audit_record_get_decision (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_audit_record_get_host (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
guint prism_audit_record_get_port (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
PrismEgressScheme prism_audit_record_get_protocol (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_audit_record_get_rule (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_audit_record_get_policy_version (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_audit_record_get_reason_id (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_audit_record_get_reason (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_audit_record_get_bytes_sent (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_audit_record_get_bytes_received (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_audit_record_get_duration_ms (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_audit_record_get_client (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_audit_record_get_sandbox_id (const PrismAuditRecord *self);
PRISM_AVAILABLE_IN_1_0
char *prism_audit_record_to_json (const PrismAuditRecord *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismAuditRecord, prism_audit_record_free)

G_END_DECLS
