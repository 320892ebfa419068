/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A record as one line of JSON, and back. Lines end up in terminals: everything in
 * one but printable ASCII is written as an escape. */
#include "prism-audit-record-private.h"

#include "prism-egress-rule-private.h"
#include "prism-json-private.h"
#include "prism-timestamp-private.h"

#include <string.h>

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
  g_autoptr (PrismAuditRecord) self = prism_audit_record_alloc ();
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
