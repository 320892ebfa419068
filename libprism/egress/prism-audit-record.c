/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One decision of the proxy, as one line of JSON. It never holds a header, a
 * body, a path or a credential: there is no field for them.
 *
 * Names and reasons may come from inside the sandbox, and lines end up in
 * terminals: so they are cut to a bound, and everything in a line but printable
 * ASCII is written as an escape. */
#include "prism-audit-record.h"

#include "prism-egress-rule-private.h"
#include "prism-json-private.h"
#include "prism-timestamp-private.h"

#include <string.h>

#define MAX_TEXT 1024
#define MAX_SAFE G_GINT64_CONSTANT (9007199254740991)

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

static PrismAuditRecord *
record_alloc (void)
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

  self = record_alloc ();
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

/* --- JSON -------------------------------------------------------------------- */

static void
append_escaped (GString *line, gunichar c)
{
  if (c > 0xffff)
    g_string_append_printf (line, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + (c & 0x3ff));
  else
    g_string_append_printf (line, "\\u%04x", c);
}

static void
append_text (GString *line, const char *name, const char *text)
{
  if (text == NULL)
    return;
  g_string_append_printf (line, ",\"%s\":\"", name);
  for (const char *p = text; *p != '\0'; p = g_utf8_next_char (p))
    if (*p == '"' || *p == '\\')
      {
        g_string_append_c (line, '\\');
        g_string_append_c (line, *p);
      }
    else if (g_ascii_isprint (*p))
      g_string_append_c (line, *p);
    else
      append_escaped (line, g_utf8_get_char (p));
  g_string_append_c (line, '"');
}

static void
append_number (GString *line, const char *name, gint64 number)
{
  if (number >= 0)
    g_string_append_printf (line, ",\"%s\":%" G_GINT64_FORMAT, name, number);
}

/**
 * prism_audit_record_to_json:
 * @self: a record
 *
 * Gets one line of JSON without the newline, in printable ASCII; what is not known is left out.
 *
 * Returns: (transfer full): one line of JSON without the newline, in printable
 *   ASCII; what is not known is left out
 *
 * Since: 1.0
 */
char *
prism_audit_record_to_json (const PrismAuditRecord *self)
{
  GString *line;
  char time[PRISM_TIMESTAMP_SIZE];

  g_return_val_if_fail (self != NULL, NULL);

  line = g_string_sized_new (384);
  prism_timestamp_format (self->ms, time);
  g_string_append_printf (line, "{\"id\":\"%s\"", self->id);
  append_text (line, "ts", time);
  append_text (line, "decision", self->decision == PRISM_AUDIT_DECISION_ALLOW ? "allow" : "deny");
  append_text (line, "host", self->host);
  append_number (line, "port", self->port);
  append_text (line, "protocol", prism_egress_scheme_to_text (self->protocol));
  append_text (line, "rule", self->rule);
  append_number (line, "policyVersion", self->policy_version);
  append_text (line, "reason", self->reason);
  append_text (line, "reasonId", self->reason_id);
  append_number (line, "bytesSent", self->bytes_sent);
  append_number (line, "bytesReceived", self->bytes_received);
  append_number (line, "durationMs", self->duration_ms);
  append_text (line, "client", self->client);
  append_text (line, "sandboxId", self->sandbox_id);
  g_string_append_c (line, '}');
  return g_string_free (line, FALSE);
}

/* As it stands in the line: strings are borrowed, nothing is judged yet. */
typedef struct
{
  const char *id, *ts, *decision, *host, *protocol, *rule, *reason, *reason_id, *client, *sandbox_id;
  gint64 port, policy_version, bytes_sent, bytes_received, duration_ms;
} Written;

#define TEXT(name, required, field)                                                                                    \
  {                                                                                                                    \
    name, PRISM_JSON_STRING, required, G_STRUCT_OFFSET (Written, field)                                                \
  }
#define NUMBER(name, required, field)                                                                                  \
  {                                                                                                                    \
    name, PRISM_JSON_INTEGER, required, G_STRUCT_OFFSET (Written, field)                                               \
  }

static const PrismJsonMember members[] = {
  TEXT ("id", TRUE, id),
  TEXT ("ts", TRUE, ts),
  TEXT ("decision", TRUE, decision),
  TEXT ("host", TRUE, host),
  NUMBER ("port", TRUE, port),
  TEXT ("protocol", TRUE, protocol),
  TEXT ("rule", FALSE, rule),
  NUMBER ("policyVersion", FALSE, policy_version),
  TEXT ("reason", FALSE, reason),
  TEXT ("reasonId", FALSE, reason_id),
  NUMBER ("bytesSent", FALSE, bytes_sent),
  NUMBER ("bytesReceived", FALSE, bytes_received),
  NUMBER ("durationMs", FALSE, duration_ms),
  TEXT ("client", FALSE, client),
  TEXT ("sandboxId", FALSE, sandbox_id),
  { NULL, PRISM_JSON_STRING, FALSE, 0 },
};

static gboolean
read_protocol (const char *text, PrismEgressScheme *protocol)
{
  for (guint i = PRISM_EGRESS_SCHEME_ANY; i <= PRISM_EGRESS_SCHEME_HTTPS; i++)
    if (g_str_equal (text, prism_egress_scheme_to_text (i)))
      {
        *protocol = i;
        return TRUE;
      }
  return FALSE;
}

/* Returns the member that is wrong, and how; NULL if none is. */
static const char *
judge (const Written *written, PrismAuditRecord *self, const char **wrong)
{
  *wrong = "a number from 0 to 65535 is expected";
  if (written->port > G_MAXUINT16)
    return "/port";
  *wrong = "a UUID is expected";
  if (!g_uuid_string_is_valid (written->id))
    return "/id";
  *wrong = "a time such as 2026-11-29T15:04:05.000Z is expected";
  if (!prism_timestamp_parse (written->ts, &self->ms))
    return "/ts";
  *wrong = "allow or deny is expected";
  self->decision = g_str_equal (written->decision, "allow") ? PRISM_AUDIT_DECISION_ALLOW : PRISM_AUDIT_DECISION_DENY;
  if (self->decision == PRISM_AUDIT_DECISION_DENY && !g_str_equal (written->decision, "deny"))
    return "/decision";
  *wrong = "http, https or * is expected";
  return read_protocol (written->protocol, &self->protocol) ? NULL : "/protocol";
}

static void
take_over (PrismAuditRecord *self, const Written *written)
{
  self->id = g_strdup (written->id);
  self->host = g_strdup (written->host);
  self->port = (guint)written->port;
  self->rule = g_strdup (written->rule);
  self->policy_version = written->policy_version;
  self->reason = g_strdup (written->reason);
  self->reason_id = g_strdup (written->reason_id);
  self->bytes_sent = written->bytes_sent;
  self->bytes_received = written->bytes_received;
  self->duration_ms = written->duration_ms;
  self->client = g_strdup (written->client);
  self->sandbox_id = g_strdup (written->sandbox_id);
}

/**
 * prism_audit_record_new_from_json:
 * @line: one line of JSON
 * @length: its length; -1 if it ends with a NUL
 * @error: return location for an error
 *
 * Makes the record; %NULL with %PRISM_EGRESS_ERROR_POLICY, which names the member, if it is not
 * one.
 *
 * Returns: (transfer full): the record; %NULL with %PRISM_EGRESS_ERROR_POLICY,
 *   which names the member, if it is not one
 *
 * Since: 1.0
 */
PrismAuditRecord *
prism_audit_record_new_from_json (const char *line, gssize length, GError **error)
{
  const PrismJsonFaults faults = { PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY, "audit record" };
  Written written = { .policy_version = -1, .bytes_sent = -1, .bytes_received = -1, .duration_ms = -1 };
  g_autoptr (PrismAuditRecord) self = record_alloc ();
  g_autoptr (JsonNode) node = NULL;
  const char *path, *wrong;

  g_return_val_if_fail (line != NULL, NULL);

  node = prism_json_parse (line, length < 0 ? strlen (line) : (gsize)length, &faults, error);
  if (node == NULL || !prism_json_read_members (node, members, &written, &faults, error))
    return NULL;
  path = judge (&written, self, &wrong);
  if (path != NULL)
    {
      prism_json_set_fault (&faults, error, path, wrong);
      return NULL;
    }
  take_over (self, &written);
  return g_steal_pointer (&self);
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
