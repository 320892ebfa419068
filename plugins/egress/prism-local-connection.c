/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A connection from accept to end: its states, its deadlines, and who reads what in
 * which of them. What a request means is in prism-local-decide.c, what happens to
 * it in -forward.c and -tunnel.c.
 *
 * Nothing here may be freed while its own code is on the stack: the end of a
 * connection only takes it out of everything, and the engine frees it at the end of
 * the round. */
#include "prism-local-connection.h"

#include "prism-local-ask.h"
#include "prism-local-decide.h"
#include "prism-local-dial.h"
#include "prism-local-forward.h"
#include "prism-local-io.h"
#include "prism-local-record.h"
#include "prism-local-tunnel.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define INPUT_FIRST  2048
#define INPUT_MAX    (PRISM_HTTP_HEAD_MAX + 4096)
#define LINGER_US    (2 * G_USEC_PER_SEC)
#define LINGER_BYTES (1 << 20)
#define DIAL_US      (30 * G_USEC_PER_SEC)
#define HALF_OPEN_US (60 * G_USEC_PER_SEC)
#define UNHEARD_US   (5 * G_USEC_PER_SEC) /* until records can be written again */

static void client_ready (PrismLocalWatch *watch, guint32 events);
static void upstream_ready (PrismLocalWatch *watch, guint32 events);

/* --- birth and death ------------------------------------------------------------- */

void
prism_local_connection_new (PrismLocalPort *port, int fd, const guint8 *peer, guint peer_length, guint16 peer_port)
{
  PrismLocalConnection *self = g_new0 (PrismLocalConnection, 1);

  self->client.watch = (PrismLocalWatch){ fd, 0, client_ready };
  self->upstream.watch = (PrismLocalWatch){ -1, 0, upstream_ready };
  self->port = port;
  self->next = port->connections;
  if (self->next != NULL)
    self->next->previous = self;
  port->connections = self;
  port->n_connections++;
  self->since = self->touched = port->engine->now;
  if (peer_length > 0)
    memcpy (self->peer, peer, peer_length);
  self->peer_length = (guint8)peer_length;
  self->peer_port = peer_port;
  prism_local_connection_enter (self, PRISM_LOCAL_HEAD);
}

void
prism_local_place_clear (PrismLocalPlace *place)
{
  g_free (place->host);
  g_clear_pointer (&place->rule, prism_egress_rule_unref);
  g_clear_object (&place->credential);
  g_clear_object (&place->address);
  *place = (PrismLocalPlace){ NULL };
}

static void
free_request (PrismLocalConnection *self)
{
  if (self->request == NULL)
    return;
  prism_local_buffer_clear (&self->request->reply);
  g_free (self->request->url);
  g_clear_pointer (&self->request, g_free);
}

void
prism_local_connection_free (PrismLocalConnection *self)
{
  free_request (self);
  prism_local_place_clear (&self->place);
  prism_local_place_clear (&self->up_place);
  prism_local_buffer_clear (&self->in);
  g_free (self->memo);
  g_clear_object (&self->memo_policy);
  g_free (self);
}

/* A request that is over makes room for the next. */
static void
stop_counting (PrismLocalConnection *self)
{
  if (!self->counted)
    return;
  self->counted = FALSE;
  prism_local_port_end_request (self->port);
}

static void
leave_port (PrismLocalConnection *self)
{
  PrismLocalPort *port = self->port;

  if (self->previous != NULL)
    self->previous->next = self->next;
  else
    port->connections = self->next;
  if (self->next != NULL)
    self->next->previous = self->previous;
  port->n_connections--;
  if (self->state == PRISM_LOCAL_WAITING)
    g_queue_remove (&port->waiting, self);
}

void
prism_local_connection_end (PrismLocalConnection *self, const char *reason_id, const char *reason)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);

  if (self->state == PRISM_LOCAL_DEAD)
    return;
  if (self->counted && !self->refused && self->place.rule != NULL)
    prism_local_record (self, PRISM_AUDIT_DECISION_ALLOW, reason_id, reason);
  leave_port (self);
  self->state = PRISM_LOCAL_DEAD;
  if (engine->parsed_for == self)
    engine->parsed_for = NULL;
  prism_local_dial_drop (self);
  if (self->asked != NULL)
    prism_local_question_drop (g_steal_pointer (&self->asked));
  prism_local_end_close (engine, &self->client);
  prism_local_end_close (engine, &self->upstream);
  self->grave_next = engine->grave;
  engine->grave = self;
  stop_counting (self);
}

/* --- states ---------------------------------------------------------------------- */

static gboolean
is_half_open (PrismLocalConnection *self)
{
  return self->client.eof || self->upstream.eof;
}

static gint64
earlier (gint64 deadline, gint64 from, gint64 after)
{
  return after > 0 ? MIN (deadline, from + after) : deadline;
}

gint64
prism_local_connection_deadline (PrismLocalConnection *self)
{
  const PrismLocalLimits *limits = &self->port->limits;
  gint64 silent = self->touched + limits->idle_us;
  gint64 whole = earlier (silent, self->since, limits->transfer_us);

  switch (self->state)
    {
    case PRISM_LOCAL_HEAD:
      return self->served > 0 && prism_local_buffer_length (&self->in) == 0 ? silent : self->since + limits->head_us;
    case PRISM_LOCAL_HELLO:
      return prism_local_tunnel_must_speak (self) ? earlier (whole, self->touched, limits->head_us) : whole;
    case PRISM_LOCAL_DIALING:
    case PRISM_LOCAL_ASKING:
      return earlier (whole, self->touched, DIAL_US);
    case PRISM_LOCAL_TUNNEL:
      return is_half_open (self) ? earlier (whole, self->touched, HALF_OPEN_US) : whole;
    case PRISM_LOCAL_LINGER:
      return self->since + LINGER_US;
    case PRISM_LOCAL_WAITING:
      return prism_local_records_wait (self->port) ? earlier (whole, self->since, UNHEARD_US) : whole;
    case PRISM_LOCAL_FORWARD:
      return whole;
    case PRISM_LOCAL_DEAD:
    default:
      return PRISM_LOCAL_NEVER;
    }
}

static void
expire_head (PrismLocalConnection *self)
{
  if (prism_local_buffer_length (&self->in) == 0)
    prism_local_connection_end (self, NULL, NULL);
  else
    prism_local_refuse (self, PRISM_LOCAL_DENIES, 408, "LIMIT", "head-timeout",
                        "the request's head was not there after %" G_GINT64_FORMAT " ms (request-head-ms)",
                        self->port->limits.head_us / 1000);
}

void
prism_local_connection_expire (PrismLocalConnection *self)
{
  const PrismLocalLimits *limits = &self->port->limits;
  gboolean whole =
      limits->transfer_us > 0 && self->since + limits->transfer_us <= prism_local_connection_engine (self)->now;

  switch (self->state)
    {
    case PRISM_LOCAL_HEAD:
      expire_head (self);
      break;
    case PRISM_LOCAL_LINGER:
      prism_local_connection_end (self, NULL, NULL);
      break;
    case PRISM_LOCAL_HELLO:
    case PRISM_LOCAL_TUNNEL:
    case PRISM_LOCAL_WAITING:
    case PRISM_LOCAL_ASKING:
    case PRISM_LOCAL_DIALING:
    case PRISM_LOCAL_FORWARD:
      if (self->state == PRISM_LOCAL_WAITING && prism_local_records_wait (self->port))
        prism_local_refuse (self, PRISM_LOCAL_UNHEARD, 503, "LIMIT", NULL,
                            "what this proxy does cannot be written down now, and nothing is let through that is not");
      else if (whole)
        prism_local_refuse (self, PRISM_LOCAL_DENIES, 504, "LIMIT", "transfer-time",
                            "it took longer than %" G_GINT64_FORMAT " ms (transfer-time-ms)",
                            limits->transfer_us / 1000);
      else
        prism_local_refuse (self, PRISM_LOCAL_FAILS, 504, "LIMIT", "idle", "nothing came for too long while %s",
                            self->state == PRISM_LOCAL_DIALING   ? "connecting"
                            : self->state == PRISM_LOCAL_ASKING  ? "the policy's resolver was asked"
                            : self->state == PRISM_LOCAL_WAITING ? "other requests were under way"
                                                                 : "it was open");
      break;
    case PRISM_LOCAL_DEAD:
    default:
      break;
    }
}

static guint32
client_events (PrismLocalConnection *self)
{
  guint32 out = prism_local_buffer_length (&self->client.out) > 0 ? EPOLLOUT : 0;

  if (self->client.eof)
    return out;
  switch (self->state)
    {
    case PRISM_LOCAL_FORWARD:
      return out | (prism_local_forward_wants_client (self) ? EPOLLIN : 0);
    case PRISM_LOCAL_HEAD:
    case PRISM_LOCAL_HELLO:
    case PRISM_LOCAL_LINGER:
      return out | EPOLLIN;
    case PRISM_LOCAL_WAITING:
    case PRISM_LOCAL_ASKING:
    case PRISM_LOCAL_DIALING:
      return prism_local_buffer_length (&self->in) < INPUT_MAX ? EPOLLIN : 0;
    case PRISM_LOCAL_TUNNEL:
    case PRISM_LOCAL_DEAD:
    default:
      return out;
    }
}

static guint32
upstream_events (PrismLocalConnection *self)
{
  guint32 out = prism_local_buffer_length (&self->upstream.out) > 0 || self->upstream.wants_out ? EPOLLOUT : 0;

  if (self->upstream.eof)
    return out;
  if (self->state == PRISM_LOCAL_FORWARD || self->state == PRISM_LOCAL_HELLO)
    return out | (prism_local_buffer_length (&self->client.out) == 0 ? EPOLLIN : 0);
  return out | EPOLLIN;
}

void
prism_local_connection_arm (PrismLocalConnection *self)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);

  if (self->state == PRISM_LOCAL_DEAD)
    return;
  if (self->state == PRISM_LOCAL_TUNNEL)
    {
      prism_local_tunnel_arm (self);
      return;
    }
  prism_local_engine_watch (engine, &self->client.watch, client_events (self));
  if (self->state != PRISM_LOCAL_DIALING)
    prism_local_engine_watch (engine, &self->upstream.watch, upstream_events (self));
}

void
prism_local_connection_enter (PrismLocalConnection *self, PrismLocalState state)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);

  if (self->state == PRISM_LOCAL_DEAD)
    return;
  if (self->state == PRISM_LOCAL_WAITING && state != PRISM_LOCAL_WAITING)
    g_queue_remove (&self->port->waiting, self);
  self->state = state;
  if (state == PRISM_LOCAL_LINGER)
    {
      self->since = engine->now;
      self->received = 0;
      prism_local_dial_drop (self);
      if (self->asked != NULL)
        prism_local_question_drop (g_steal_pointer (&self->asked));
      prism_local_buffer_clear (&self->in);
      if (prism_local_buffer_length (&self->client.out) == 0)
        prism_local_end_shut (&self->client);
      if (self->client.shut && self->client.eof)
        {
          prism_local_connection_end (self, NULL, NULL);
          return;
        }
    }
  prism_local_engine_want (engine, prism_local_connection_deadline (self));
  prism_local_connection_arm (self);
  if (state == PRISM_LOCAL_LINGER)
    stop_counting (self);
}

/* --- requests -------------------------------------------------------------------- */

/* The head is all there, and it is its turn. */
static void
begin_request (PrismLocalConnection *self)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  const char *wrong = NULL;
  guint status;

  self->counted = TRUE;
  self->refused = FALSE;
  status = prism_http_head_parse_request (prism_local_buffer_data (&self->in), self->request->head_length,
                                          &engine->parsed, &wrong);
  engine->parsed_for = self;
  if (status != 0)
    {
      prism_local_refuse (self, PRISM_LOCAL_DENIES, status, status == 431 ? "LIMIT" : "POLICY", "malformed",
                          "the request is malformed: %s", wrong);
      return;
    }
  self->connect = prism_http_slice_is (&engine->parsed.method, "CONNECT");
  prism_local_decide (self);
}

void
prism_local_connection_resume (PrismLocalConnection *self)
{
  prism_local_connection_enter (self, PRISM_LOCAL_HEAD);
  begin_request (self);
  prism_local_connection_arm (self);
}

static void
take_turn (PrismLocalConnection *self)
{
  gboolean too_many;

  if (prism_local_port_begin_request (self->port, self, &too_many))
    begin_request (self);
  else if (!too_many)
    prism_local_connection_enter (self, PRISM_LOCAL_WAITING);
  else
    prism_local_refuse (self, PRISM_LOCAL_DENIES, 503, "LIMIT", "concurrent-connections",
                        "too many requests wait already; %" G_GINT64_FORMAT
                        " may be under way (concurrent-connections)",
                        self->port->limits.most_requests);
}

static void
new_request (PrismLocalConnection *self, gsize head_length)
{
  if (self->request == NULL)
    self->request = g_new0 (PrismLocalRequest, 1);
  else
    {
      prism_local_buffer_clear (&self->request->reply);
      g_free (self->request->url);
      *self->request = (PrismLocalRequest){ .head_length = 0 };
    }
  self->request->head_length = head_length;
  self->request->head_kept = TRUE;
  self->scanned = 0;
  self->sent = self->received = 0;
}

/* As many requests as came at once, one after the other. */
static void
look_for_head (PrismLocalConnection *self)
{
  gsize length, end;
  const char *wrong;

  while (self->state == PRISM_LOCAL_HEAD && (length = prism_local_buffer_length (&self->in)) > 0)
    {
      guint served = self->served;

      end = prism_http_head_find_end (prism_local_buffer_data (&self->in), MIN (length, PRISM_HTTP_HEAD_MAX),
                                      &self->scanned, &wrong);
      if (wrong != NULL)
        prism_local_refuse (self, PRISM_LOCAL_DENIES, 400, "POLICY", "malformed", "the request is malformed: %s",
                            wrong);
      else if (end == 0 && length >= PRISM_HTTP_HEAD_MAX)
        prism_local_refuse (self, PRISM_LOCAL_DENIES, 431, "LIMIT", "head-bytes",
                            "the request's head is longer than %d bytes", PRISM_HTTP_HEAD_MAX);
      else if (end > 0)
        {
          new_request (self, end);
          take_turn (self);
        }
      /* Nothing more can be done with what is there. */
      if (end == 0 || self->served == served)
        return;
    }
}

void
prism_local_connection_done (PrismLocalConnection *self, const char *reason_id, const char *reason)
{
  PrismLocalRequest *request = self->request;
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  gboolean keep = request->keep && request->up.done && !self->client.eof;

  prism_local_record (self, PRISM_AUDIT_DECISION_ALLOW, reason_id, reason);
  if (!request->keep_up || !request->up.done || self->upstream.eof)
    prism_local_end_close (engine, &self->upstream);
  if (request->head_kept)
    prism_local_buffer_eat (&self->in, request->head_length);
  request->head_kept = FALSE;
  engine->parsed_for = NULL;
  self->served++;
  self->scanned = 0;
  self->since = self->touched = engine->now;
  self->refused = TRUE; /* was written down */
  if (keep)
    {
      self->state = PRISM_LOCAL_HEAD;
      stop_counting (self);
      prism_local_engine_want (engine, prism_local_connection_deadline (self));
    }
  else
    {
      prism_local_end_close (engine, &self->upstream);
      prism_local_connection_enter (self, PRISM_LOCAL_LINGER);
    }
}

/* With a length or chunks the early end shows; without, only a reset does. */
void
prism_local_connection_cut (PrismLocalConnection *self)
{
  struct linger reset = { 1, 0 };

  if (self->request->down.kind == PRISM_LOCAL_BODY_CLOSE)
    {
      (void)setsockopt (self->client.watch.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
      prism_local_connection_end (self, NULL, NULL);
      return;
    }
  prism_local_end_close (prism_local_connection_engine (self), &self->upstream);
  prism_local_connection_enter (self, PRISM_LOCAL_LINGER);
}

void
prism_local_connection_dialed (PrismLocalConnection *self)
{
  self->upstream.watch.ready = upstream_ready;
  self->touched = prism_local_connection_engine (self)->now;
  if (self->connect)
    prism_local_tunnel_begin (self);
  else
    prism_local_forward_send (self);
  prism_local_connection_arm (self);
}

/* An upstream that is kept for the next request may be kept for what is not allowed
 * any more. */
static void
check_idle (PrismLocalConnection *self, PrismEgressPolicy *policy)
{
  if (self->upstream.watch.fd >= 0 && (self->place.rule == NULL || !prism_local_place_holds (&self->place, policy)))
    prism_local_end_close (prism_local_connection_engine (self), &self->upstream);
}

void
prism_local_connection_check (PrismLocalConnection *self, PrismEgressPolicy *policy)
{
  switch (self->state)
    {
    case PRISM_LOCAL_HEAD:
    case PRISM_LOCAL_WAITING:
      check_idle (self, policy);
      break;
    case PRISM_LOCAL_ASKING:
      /* Asked by the policy that was. */
      prism_local_question_drop (g_steal_pointer (&self->asked));
      prism_local_refuse (self, PRISM_LOCAL_DENIES, 503, "DENIED", "policy-changed",
                          "the policy changed while its resolver was asked; try again");
      break;
    case PRISM_LOCAL_DIALING:
    case PRISM_LOCAL_FORWARD:
    case PRISM_LOCAL_HELLO:
    case PRISM_LOCAL_TUNNEL:
      if (!prism_local_place_holds (&self->place, policy))
        prism_local_refuse (self, PRISM_LOCAL_DENIES, 403, "DENIED", "policy-changed",
                            "the policy changed, and no rule allows %s any more", self->place.host);
      break;
    case PRISM_LOCAL_LINGER:
    case PRISM_LOCAL_DEAD:
    default:
      break;
    }
}

/* --- bytes ----------------------------------------------------------------------- */

gboolean
prism_local_connection_read (PrismLocalConnection *self)
{
  gsize length = prism_local_buffer_length (&self->in);
  gssize n;

  if (length >= INPUT_MAX)
    return FALSE;
  /* The bytes may move, and what was parsed points into them. */
  if (prism_local_connection_engine (self)->parsed_for == self)
    prism_local_connection_engine (self)->parsed_for = NULL;
  prism_local_buffer_reserve (&self->in, length == 0 ? INPUT_FIRST : MIN (MAX (length, 1024), INPUT_MAX - length + 1));
  n = prism_local_end_read (&self->client, self->in.bytes + self->in.end, self->in.size - self->in.end);
  if (n == PRISM_LOCAL_AGAIN)
    return FALSE;
  if (n == PRISM_LOCAL_BROKEN)
    {
      prism_local_connection_end (self, "client-reset", "the client went away");
      return FALSE;
    }
  if (n == 0)
    self->client.eof = TRUE;
  if (length == 0 && self->state == PRISM_LOCAL_HEAD)
    self->since = prism_local_connection_engine (self)->now;
  self->in.end += (guint32)n;
  self->touched = prism_local_connection_engine (self)->now;
  return TRUE;
}

static void
read_head (PrismLocalConnection *self)
{
  gint64 since = self->since;

  if (!prism_local_connection_read (self))
    return;
  /* The first request's time runs from accept on. */
  if (self->served == 0)
    self->since = since;
  if (self->client.eof)
    {
      prism_local_connection_end (self, NULL, NULL);
      return;
    }
  look_for_head (self);
  if (self->state == PRISM_LOCAL_HEAD)
    prism_local_engine_want (prism_local_connection_engine (self), prism_local_connection_deadline (self));
}

/* What still comes is thrown away: closing with bytes unread would be a reset, and
 * could take back the answer. */
static void
linger (PrismLocalConnection *self)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  gssize n;

  if (!prism_local_end_flush (&self->client))
    {
      prism_local_connection_end (self, NULL, NULL);
      return;
    }
  if (prism_local_buffer_length (&self->client.out) == 0)
    prism_local_end_shut (&self->client);
  n = prism_local_end_read (&self->client, engine->scratch, sizeof engine->scratch);
  if (n == PRISM_LOCAL_AGAIN)
    return;
  self->received += MAX (n, 0);
  if (n == 0 && !self->client.shut)
    self->client.eof = TRUE;
  else if (n <= 0 || self->received > LINGER_BYTES)
    prism_local_connection_end (self, NULL, NULL);
}

static void
client_ready (PrismLocalWatch *watch, guint32 events)
{
  PrismLocalConnection *self =
      (PrismLocalConnection *)((char *)watch - G_STRUCT_OFFSET (PrismLocalConnection, client.watch));

  switch (self->state)
    {
    case PRISM_LOCAL_HEAD:
      if ((events & EPOLLOUT) != 0 && !prism_local_end_flush (&self->client))
        prism_local_connection_end (self, NULL, NULL);
      else if ((events & ~EPOLLOUT) != 0)
        read_head (self);
      break;
    case PRISM_LOCAL_WAITING:
    case PRISM_LOCAL_ASKING:
    case PRISM_LOCAL_DIALING:
      prism_local_connection_read (self);
      break;
    case PRISM_LOCAL_FORWARD:
      prism_local_forward_client_ready (self, events);
      break;
    case PRISM_LOCAL_HELLO:
      if ((events & EPOLLOUT) != 0 && !prism_local_end_flush (&self->client))
        prism_local_connection_end (self, "client-reset", "the client went away");
      else if ((events & ~EPOLLOUT) != 0 && prism_local_connection_read (self))
        prism_local_tunnel_hear (self);
      break;
    case PRISM_LOCAL_TUNNEL:
      prism_local_tunnel_client_ready (self, events);
      break;
    case PRISM_LOCAL_LINGER:
      linger (self);
      break;
    case PRISM_LOCAL_DEAD:
    default:
      return;
    }
  if (self->state == PRISM_LOCAL_HEAD)
    look_for_head (self);
  prism_local_connection_arm (self);
}

/* Between requests an upstream has nothing to say: it ends, or it is broken. */
static void
upstream_ready (PrismLocalWatch *watch, guint32 events)
{
  PrismLocalConnection *self =
      (PrismLocalConnection *)((char *)watch - G_STRUCT_OFFSET (PrismLocalConnection, upstream.watch));

  switch (self->state)
    {
    case PRISM_LOCAL_FORWARD:
      prism_local_forward_upstream_ready (self, events);
      break;
    case PRISM_LOCAL_HELLO:
      prism_local_tunnel_greet (self, events);
      break;
    case PRISM_LOCAL_TUNNEL:
      prism_local_tunnel_upstream_ready (self, events);
      break;
    case PRISM_LOCAL_HEAD:
    case PRISM_LOCAL_WAITING:
    case PRISM_LOCAL_ASKING:
    case PRISM_LOCAL_DIALING:
    case PRISM_LOCAL_LINGER:
    case PRISM_LOCAL_DEAD:
    default:
      prism_local_end_close (prism_local_connection_engine (self), &self->upstream);
      break;
    }
  if (self->state == PRISM_LOCAL_HEAD)
    look_for_head (self);
  prism_local_connection_arm (self);
}
