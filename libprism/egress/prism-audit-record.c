/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One decision of the proxy. It never holds a header, a
 * body, a path or a credential: there is no field for them.
 *
 * Names and reasons may come from inside the sandbox: they are cut to a bound. */
#include "prism-audit-record-private.h"

#include <string.h>

#define MAX_TEXT 1024
#define MAX_SAFE G_GINT64_CONSTANT (9007199254740991)

/**
 * PrismAuditRecord:
 *
 * One decision of an egress proxy, written when it is over: who asked for what,
 * which rule decided, and how much went through. The proxy that makes it fills
 * it; whoever receives it only reads.
 *
 * Since: 1.0
 */
G_DEFINE_BOXED_TYPE (PrismAuditRecord, prism_audit_record, prism_audit_record_copy, prism_audit_record_free)

/* Valid UTF-8, and not more of it than the bound. */
static void
replace_text (char **place, const char *text)
{
  gsize length = text != NULL ? strlen (text) : 0;
  g_autofree char *kept = text != NULL ? g_utf8_make_valid (text, (gssize)MIN (length, MAX_TEXT)) : NULL;

  g_free (*place);
  *place = length > MAX_TEXT ? g_strconcat (kept, "...", NULL) : g_steal_pointer (&kept);
}

PrismAuditRecord *
prism_audit_record_alloc (void)
{
  PrismAuditRecord *self = g_new0 (PrismAuditRecord, 1);

  self->policy_version = self->bytes_sent = self->bytes_received = self->duration_ms = -1;
  return self;
}

/**
 * prism_audit_record_new:
 * @decision: what was decided
 * @host: the host that was asked for: canonical, or as it came if it was malformed
 * @port: its port; 0 if none was given
 * @protocol: the scheme that was asked for
 *
 * Makes a record with an id of its own and the time of now.
 *
 * Returns: (transfer full): a record with an id of its own and the time of now
 *
 * Since: 1.0
 */
PrismAuditRecord *
prism_audit_record_new (PrismAuditDecision decision, const char *host, guint port, PrismEgressScheme protocol)
{
  PrismAuditRecord *self;

  g_return_val_if_fail (host != NULL && port <= G_MAXUINT16, NULL);
  g_return_val_if_fail ((guint)decision <= PRISM_AUDIT_DECISION_ALLOW, NULL);
  g_return_val_if_fail ((guint)protocol <= PRISM_EGRESS_SCHEME_HTTPS, NULL);

  self = prism_audit_record_alloc ();
  self->id = g_uuid_string_random ();
  self->ms = g_get_real_time () / 1000;
  self->decision = decision;
  self->port = port;
  self->protocol = protocol;
  replace_text (&self->host, host);
  return self;
}

/**
 * prism_audit_record_copy:
 * @self: a record
 *
 * Gets a copy.
 *
 * Returns: (transfer full): a copy
 *
 * Since: 1.0
 */
PrismAuditRecord *
prism_audit_record_copy (const PrismAuditRecord *self)
{
  PrismAuditRecord *copy;

  g_return_val_if_fail (self != NULL, NULL);

  copy = g_new (PrismAuditRecord, 1);
  *copy = *self;
  copy->id = g_strdup (self->id);
  copy->host = g_strdup (self->host);
  copy->rule = g_strdup (self->rule);
  copy->reason_id = g_strdup (self->reason_id);
  copy->reason = g_strdup (self->reason);
  copy->client = g_strdup (self->client);
  copy->sandbox_id = g_strdup (self->sandbox_id);
  return copy;
}

/**
 * prism_audit_record_free:
 * @self: (transfer full): a record
 *
 * Frees it.
 *
 * Since: 1.0
 */
void
prism_audit_record_free (PrismAuditRecord *self)
{
  g_return_if_fail (self != NULL);

  g_free (self->id);
  g_free (self->host);
  g_free (self->rule);
  g_free (self->reason_id);
  g_free (self->reason);
  g_free (self->client);
  g_free (self->sandbox_id);
  g_free (self);
}

/**
 * prism_audit_record_set_rule:
 * @self: a record
 * @line: (nullable): the canonical line of the rule that decided
 * @policy_version: the version of the policy that was in force
 *
 * Says what it was decided by.
 *
 * Since: 1.0
 */
void
prism_audit_record_set_rule (PrismAuditRecord *self, const char *line, gint64 policy_version)
{
  g_return_if_fail (self != NULL && policy_version >= 0 && policy_version <= MAX_SAFE);

  replace_text (&self->rule, line);
  self->policy_version = policy_version;
}

/**
 * prism_audit_record_set_reason:
 * @self: a record
 * @reason_id: a stable word
 * @reason: the same for a person
 *
 * Says why it was denied, or why it ended before its end.
 *
 * Since: 1.0
 */
void
prism_audit_record_set_reason (PrismAuditRecord *self, const char *reason_id, const char *reason)
{
  g_return_if_fail (self != NULL && reason_id != NULL && reason != NULL);

  replace_text (&self->reason_id, reason_id);
  replace_text (&self->reason, reason);
}

/**
 * prism_audit_record_set_transfer:
 * @self: a record
 * @bytes_sent: bytes that went out
 * @bytes_received: bytes that came back
 * @duration_ms: from the first byte of the request to the end, in milliseconds
 *
 * Says how much went through.
 *
 * Since: 1.0
 */
void
prism_audit_record_set_transfer (PrismAuditRecord *self, gint64 bytes_sent, gint64 bytes_received, gint64 duration_ms)
{
  g_return_if_fail (self != NULL);
  g_return_if_fail (bytes_sent >= 0 && bytes_sent <= MAX_SAFE);
  g_return_if_fail (bytes_received >= 0 && bytes_received <= MAX_SAFE);
  g_return_if_fail (duration_ms >= 0 && duration_ms <= MAX_SAFE);

  self->bytes_sent = bytes_sent;
  self->bytes_received = bytes_received;
  self->duration_ms = duration_ms;
}

/**
 * prism_audit_record_set_client:
 * @self: a record
 * @client: (nullable): the address that the request came from
 * @sandbox_id: (nullable): the label of the listener that it came in by
 *
 * Says who asked.
 *
 * Since: 1.0
 */
void
prism_audit_record_set_client (PrismAuditRecord *self, const char *client, const char *sandbox_id)
{
  g_return_if_fail (self != NULL);

  replace_text (&self->client, client);
  replace_text (&self->sandbox_id, sandbox_id);
}

/* --- fields ------------------------------------------------------------------ */

/**
 * prism_audit_record_get_id:
 * @self: a record
 *
 * Gets its UUID.
 *
 * Returns: its UUID
 *
 * Since: 1.0
 */
const char *
prism_audit_record_get_id (const PrismAuditRecord *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->id;
}

/**
 * prism_audit_record_get_time:
 * @self: a record
 *
 * Tells when it was decided.
 *
 * Returns: (transfer full): when it was decided
 *
 * Since: 1.0
 */
GDateTime *
prism_audit_record_get_time (const PrismAuditRecord *self)
{
  g_autoptr (GDateTime) start = NULL;

  g_return_val_if_fail (self != NULL, NULL);

  start = g_date_time_new_from_unix_utc (0);
  return g_date_time_add (start, self->ms * 1000);
}

/**
 * prism_audit_record_get_decision:
 * @self: a record
 *
 * Tells what was decided.
 *
 * Returns: what was decided
 *
 * Since: 1.0
 */
PrismAuditDecision
prism_audit_record_get_decision (const PrismAuditRecord *self)
{
  g_return_val_if_fail (self != NULL, PRISM_AUDIT_DECISION_DENY);

  return self->decision;
}

/**
 * prism_audit_record_get_host:
 * @self: a record
 *
 * Gets the host that was asked for.
 *
 * Returns: the host that was asked for
 *
 * Since: 1.0
 */
const char *
prism_audit_record_get_host (const PrismAuditRecord *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->host;
}

/**
 * prism_audit_record_get_port:
 * @self: a record
 *
 * Gets its port; 0 if none was given.
 *
 * Returns: its port; 0 if none was given
 *
 * Since: 1.0
 */
guint
prism_audit_record_get_port (const PrismAuditRecord *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->port;
}

/**
 * prism_audit_record_get_protocol:
 * @self: a record
 *
 * Gets the scheme that was asked for.
 *
 * Returns: the scheme that was asked for
 *
 * Since: 1.0
 */
PrismEgressScheme
prism_audit_record_get_protocol (const PrismAuditRecord *self)
{
  g_return_val_if_fail (self != NULL, PRISM_EGRESS_SCHEME_ANY);

  return self->protocol;
}

/**
 * prism_audit_record_get_rule:
 * @self: a record
 *
 * Gets the canonical line of the rule that decided.
 *
 * Returns: (nullable): the canonical line of the rule that decided
 *
 * Since: 1.0
 */
const char *
prism_audit_record_get_rule (const PrismAuditRecord *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->rule;
}

/**
 * prism_audit_record_get_policy_version:
 * @self: a record
 *
 * Gets the version of the policy that was in force; -1 if it is not known.
 *
 * Returns: the version of the policy that was in force; -1 if it is not known
 *
 * Since: 1.0
 */
gint64
prism_audit_record_get_policy_version (const PrismAuditRecord *self)
{
  g_return_val_if_fail (self != NULL, -1);

  return self->policy_version;
}

/**
 * prism_audit_record_get_reason_id:
 * @self: a record
 *
 * Gets a stable word for the reason.
 *
 * Returns: (nullable): a stable word for the reason
 *
 * Since: 1.0
 */
const char *
prism_audit_record_get_reason_id (const PrismAuditRecord *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->reason_id;
}

/**
 * prism_audit_record_get_reason:
 * @self: a record
 *
 * Gets the reason, for a person.
 *
 * Returns: (nullable): the reason, for a person
 *
 * Since: 1.0
 */
const char *
prism_audit_record_get_reason (const PrismAuditRecord *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->reason;
}

/**
 * prism_audit_record_get_bytes_sent:
 * @self: a record
 *
 * Gets bytes that went out; -1 if it is not known.
 *
 * Returns: bytes that went out; -1 if it is not known
 *
 * Since: 1.0
 */
gint64
prism_audit_record_get_bytes_sent (const PrismAuditRecord *self)
{
  g_return_val_if_fail (self != NULL, -1);

  return self->bytes_sent;
}

/**
 * prism_audit_record_get_bytes_received:
 * @self: a record
 *
 * Gets bytes that came back; -1 if it is not known.
 *
 * Returns: bytes that came back; -1 if it is not known
 *
 * Since: 1.0
 */
gint64
prism_audit_record_get_bytes_received (const PrismAuditRecord *self)
{
  g_return_val_if_fail (self != NULL, -1);

  return self->bytes_received;
}

/**
 * prism_audit_record_get_duration_ms:
 * @self: a record
 *
 * Tells how long it took, in milliseconds; -1 if it is not known.
 *
 * Returns: how long it took, in milliseconds; -1 if it is not known
 *
 * Since: 1.0
 */
gint64
prism_audit_record_get_duration_ms (const PrismAuditRecord *self)
{
  g_return_val_if_fail (self != NULL, -1);

  return self->duration_ms;
}

/**
 * prism_audit_record_get_client:
 * @self: a record
 *
 * Gets the address that the request came from.
 *
 * Returns: (nullable): the address that the request came from
 *
 * Since: 1.0
 */
const char *
prism_audit_record_get_client (const PrismAuditRecord *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->client;
}

/**
 * prism_audit_record_get_sandbox_id:
 * @self: a record
 *
 * Gets the label of the listener that the request came in by.
 *
 * Returns: (nullable): the label of the listener that the request came in by
 *
 * Since: 1.0
 */
const char *
prism_audit_record_get_sandbox_id (const PrismAuditRecord *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->sandbox_id;
}
