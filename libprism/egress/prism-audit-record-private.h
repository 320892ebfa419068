/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-audit-record.h"

G_BEGIN_DECLS

struct _PrismAuditRecord
{
  char *id;
  gint64 ms; /* since 1970 */
  PrismAuditDecision decision;
  char *host;
  guint port;
  PrismEgressScheme protocol;
  char *rule;
  gint64 policy_version; /* -1: not known */
  char *reason_id, *reason;
  gint64 bytes_sent, bytes_received, duration_ms; /* -1: not known */
  char *client, *sandbox_id;
};

/* Nothing is known of it yet. */
PrismAuditRecord *prism_audit_record_alloc (void);

G_END_DECLS
