/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records hold names, numbers and our own words; never a header, a path or a body.
 * Answers to refused requests say the same to the program inside, in one line. */
#include "prism-local-record.h"

#include "prism-local-io.h"

#define AGAIN_US   (50 * 1000)
#define LEFT_US    (1000 * 1000)
#define MAX_BEHIND 4096 /* records of ports that are gone */

static const char *
status_text (guint status)
{
  switch (status)
    {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 502:
    default:
      return "Bad Gateway";
    }
}

/* --- records --------------------------------------------------------------------- */

/* Whether anybody wants them is asked once a round. */
static gboolean
is_wanted (PrismLocalEngine *engine)
{
  g_autoptr (GObject) proxy = NULL;

  if (engine->listens_asked == engine->now)
    return engine->listens;
  proxy = g_weak_ref_get (&engine->proxy);
  engine->listens_asked = engine->now;
  engine->listens = proxy != NULL && g_signal_has_handler_pending (proxy, engine->audit_signal, 0, TRUE);
  return engine->listens;
}

/* One record and who has not taken it yet. */
typedef struct
{
  PrismAuditRecord *record;
  PrismAuditLog *log; /* NULL: it is written down, or is not to be */
  gboolean heard;     /* whoever listens to the proxy has it */
} Pending;

static void
pending_free (gpointer data)
{
  Pending *pending = data;

  prism_audit_record_free (pending->record);
  g_clear_object (&pending->log);
  g_free (pending);
}

static gboolean
hand_on (PrismLocalEngine *engine, Pending *pending)
{
  g_autoptr (GObject) proxy = pending->heard ? NULL : g_weak_ref_get (&engine->proxy);

  if (pending->log != NULL && prism_audit_log_add (pending->log, pending->record))
    g_clear_object (&pending->log);
  if (proxy == NULL || prism_egress_proxy_audit (PRISM_EGRESS_PROXY (proxy), pending->record))
    pending->heard = TRUE;
  return pending->log == NULL && pending->heard;
}

static char *
describe_peer (PrismLocalConnection *connection)
{
  g_autoptr (GInetAddress) address = NULL;
  g_autofree char *text = NULL;

  if (connection->peer_length == 0)
    return NULL;
  address = g_inet_address_new_from_bytes (connection->peer,
                                           connection->peer_length == 4 ? G_SOCKET_FAMILY_IPV4 : G_SOCKET_FAMILY_IPV6);
  text = g_inet_address_to_string (address);
  return g_strdup_printf (connection->peer_length == 4 ? "%s:%u" : "[%s]:%u", text, connection->peer_port);
}

static PrismAuditRecord *
make_record (PrismLocalConnection *connection, PrismAuditDecision decision)
{
  const PrismLocalPlace *place = &connection->place;
  PrismLocalEngine *engine = prism_local_connection_engine (connection);
  PrismAuditRecord *record = prism_audit_record_new (decision, place->host != NULL ? place->host : "", place->port,
                                                     place->host != NULL   ? place->scheme
                                                     : connection->connect ? PRISM_EGRESS_SCHEME_HTTPS
                                                                           : PRISM_EGRESS_SCHEME_HTTP);
  g_autofree char *peer = describe_peer (connection);

  if (place->rule != NULL)
    prism_audit_record_set_rule (record, prism_egress_rule_get_line (place->rule), place->policy_version);
  else
    prism_audit_record_set_rule (record, NULL, connection->port->policy_version);
  prism_audit_record_set_transfer (record, connection->sent, connection->received,
                                   (engine->now - connection->since) / 1000);
  if (peer != NULL || connection->port->label != NULL)
    prism_audit_record_set_client (record, peer, connection->port->label);
  return record;
}

/* In their order: none overtakes one that waits. */
static void
give (PrismLocalPort *port, Pending *pending)
{
  if (!prism_local_records_wait (port) && hand_on (port->engine, pending))
    {
      pending_free (pending);
      return;
    }
  g_queue_push_tail (&port->records, pending);
  prism_local_engine_want (port->engine, port->engine->now + AGAIN_US);
}

void
prism_local_record (PrismLocalConnection *connection,
                    PrismAuditDecision decision,
                    const char *reason_id,
                    const char *reason)
{
  PrismLocalEngine *engine = prism_local_connection_engine (connection);
  PrismAuditLog *log = connection->port->audit;
  gboolean wanted = is_wanted (engine);
  Pending *pending;

  if (!wanted && log == NULL)
    return;
  pending = g_new (Pending, 1);
  *pending = (Pending){ make_record (connection, decision), log != NULL ? g_object_ref (log) : NULL, !wanted };
  if (reason_id == NULL && engine->settings.parent_host != NULL && connection->place.address == NULL)
    {
      reason_id = "unscreened";
      reason = "the parent proxy resolved the name, so that its address was not screened";
    }
  if (reason_id != NULL)
    prism_audit_record_set_reason (pending->record, reason_id, reason);
  give (connection->port, pending);
}

/* TRUE if all of them are handed on. */
static gboolean
hand_on_waiting (PrismLocalPort *port)
{
  while (prism_local_records_wait (port) && hand_on (port->engine, g_queue_peek_head (&port->records)))
    pending_free (g_queue_pop_head (&port->records));
  return !prism_local_records_wait (port);
}

static void
tell_unheard (PrismLocalPort *port)
{
  PrismAuditRecord *record;
  Pending *pending;
  g_autofree char *reason = NULL;

  if (port->unheard == 0)
    return;
  reason = g_strdup_printf ("%u requests were refused while nothing could be written down", port->unheard);
  port->unheard = 0;
  record = prism_audit_record_new (PRISM_AUDIT_DECISION_DENY, "", 0, PRISM_EGRESS_SCHEME_HTTP);
  prism_audit_record_set_rule (record, NULL, port->policy_version);
  prism_audit_record_set_reason (record, "audit-stuck", reason);
  if (port->label != NULL)
    prism_audit_record_set_client (record, NULL, port->label);
  pending = g_new (Pending, 1);
  *pending = (Pending){ record, port->audit != NULL ? g_object_ref (port->audit) : NULL, FALSE };
  give (port, pending);
}

static void
retry_port (PrismLocalPort *port)
{
  if (!prism_local_records_wait (port))
    return;
  if (hand_on_waiting (port))
    tell_unheard (port);
  if (prism_local_records_wait (port))
    prism_local_engine_want (port->engine, port->engine->now + AGAIN_US);
  else
    prism_local_port_next_request (port);
}

/* Each of these may have another file: one that is stuck holds none of the others up. */
static void
retry_left (PrismLocalEngine *engine)
{
  for (guint n = engine->records.length; n > 0; n--)
    {
      Pending *pending = g_queue_pop_head (&engine->records);

      if (hand_on (engine, pending))
        pending_free (pending);
      else
        g_queue_push_tail (&engine->records, pending);
    }
}

void
prism_local_records_retry (PrismLocalEngine *engine)
{
  GHashTableIter iter;
  gpointer port;

  retry_left (engine);
  if (engine->records.length > 0)
    prism_local_engine_want (engine, engine->now + LEFT_US);
  g_hash_table_iter_init (&iter, engine->ports);
  while (g_hash_table_iter_next (&iter, NULL, &port))
    retry_port (port);
}

void
prism_local_records_leave (PrismLocalPort *port)
{
  PrismLocalEngine *engine = port->engine;

  if (hand_on_waiting (port))
    tell_unheard (port);
  while (prism_local_records_wait (port))
    {
      Pending *pending = g_queue_pop_head (&port->records);

      if (engine->records.length < MAX_BEHIND)
        g_queue_push_tail (&engine->records, pending);
      else
        {
          pending_free (pending);
          engine->lost++;
        }
    }
  if (engine->records.length > 0)
    prism_local_engine_want (engine, engine->now + LEFT_US);
  if (port->unheard > 0)
    g_warning ("egress: %u requests were refused because nothing could be written down", port->unheard);
}

/* There is no proxy to hand them to any more, or nobody who reads them. */
void
prism_local_records_end (PrismLocalEngine *engine)
{
  retry_left (engine);
  engine->lost += engine->records.length;
  if (engine->lost > 0)
    g_warning ("egress: %u audit records could not be written or were never read, and are lost", engine->lost);
  g_queue_clear_full (&engine->records, pending_free);
}

/* --- refusals -------------------------------------------------------------------- */

static gboolean
send_answer (PrismLocalConnection *connection, guint status, const char *code, const char *text)
{
  g_autofree char *body = g_strdup_printf ("ERR_PRISM_EGRESS_%s: %s\n", code, text);
  g_autofree char *head = g_strdup_printf ("HTTP/1.1 %u %s\r\n"
                                           "Content-Type: text/plain; charset=utf-8\r\n"
                                           "Content-Length: %" G_GSIZE_FORMAT "\r\n"
                                           "Cache-Control: no-store\r\n"
                                           "Connection: close\r\n"
                                           "\r\n",
                                           status, status_text (status), strlen (body));
  struct iovec parts[] = { { head, strlen (head) }, { body, strlen (body) } };
  gboolean is_head = connection->request != NULL && connection->request->is_head;

  return prism_local_end_send (&connection->client, parts, is_head ? 1 : 2);
}

void
prism_local_refuse (PrismLocalConnection *connection,
                    PrismLocalVerdict verdict,
                    guint status,
                    const char *code,
                    const char *reason_id,
                    const char *format,
                    ...)
{
  PrismLocalEngine *engine = prism_local_connection_engine (connection);
  gboolean silent = connection->state == PRISM_LOCAL_HELLO || connection->state == PRISM_LOCAL_TUNNEL
                    || (connection->request != NULL && connection->request->answered);
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  /* Line ends would make other headers, or other records. */
  for (char *p = text; *p != '\0'; p++)
    if ((guchar)*p < 0x20 || *p == 0x7f)
      *p = ' ';
  if (verdict != PRISM_LOCAL_FAILS)
    prism_local_count (&connection->port->counters.denied, 1);
  if (verdict == PRISM_LOCAL_UNHEARD)
    connection->port->unheard++;
  else
    prism_local_record (connection,
                        verdict == PRISM_LOCAL_DENIES ? PRISM_AUDIT_DECISION_DENY : PRISM_AUDIT_DECISION_ALLOW,
                        reason_id, text);
  connection->refused = TRUE;
  prism_local_end_close (engine, &connection->upstream);
  if (silent || !send_answer (connection, status, code, text))
    prism_local_connection_end (connection, NULL, NULL);
  else
    prism_local_connection_enter (connection, PRISM_LOCAL_LINGER);
}
