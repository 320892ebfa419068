/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records hold names, numbers and our own words; never a header, a path or a body.
 * Answers to refused requests say the same to the program inside, in one line. */
#include "prism-local-record.h"

#include "prism-local-io.h"

#define AGAIN_US (50 * 1000)

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
  if (!prism_local_records_wait (engine) && hand_on (engine, pending))
    {
      pending_free (pending);
      return;
    }
  g_queue_push_tail (&engine->records, pending);
  prism_local_engine_want (engine, engine->now + AGAIN_US);
}

void
prism_local_records_retry (PrismLocalEngine *engine)
{
  GHashTableIter iter;
  gpointer port;

  if (!prism_local_records_wait (engine))
    return;
  while (prism_local_records_wait (engine) && hand_on (engine, g_queue_peek_head (&engine->records)))
    pending_free (g_queue_pop_head (&engine->records));
  if (prism_local_records_wait (engine))
    {
      prism_local_engine_want (engine, engine->now + AGAIN_US);
      return;
    }
  g_hash_table_iter_init (&iter, engine->ports);
  while (g_hash_table_iter_next (&iter, NULL, &port))
    prism_local_port_next_request (port);
}

/* There is no proxy to hand them to any more, or nobody who reads them. */
void
prism_local_records_end (PrismLocalEngine *engine)
{
  while (prism_local_records_wait (engine) && hand_on (engine, g_queue_peek_head (&engine->records)))
    pending_free (g_queue_pop_head (&engine->records));
  if (prism_local_records_wait (engine))
    g_warning ("egress: %u audit records could not be written or were never read, and are lost",
               engine->records.length);
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
  if (verdict == PRISM_LOCAL_DENIES)
    prism_local_count (&connection->port->counters.denied, 1);
  prism_local_record (connection,
                      verdict == PRISM_LOCAL_DENIES ? PRISM_AUDIT_DECISION_DENY : PRISM_AUDIT_DECISION_ALLOW, reason_id,
                      text);
  connection->refused = TRUE;
  prism_local_end_close (engine, &connection->upstream);
  if (silent || !send_answer (connection, status, code, text))
    prism_local_connection_end (connection, NULL, NULL);
  else
    prism_local_connection_enter (connection, PRISM_LOCAL_LINGER);
}
