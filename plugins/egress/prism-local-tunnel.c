/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Small messages are read and written; once a read fills the buffer, bytes go from
 * socket to socket through a pipe and never come here (splice), until they are few
 * again. An end of one direction is passed on when everything before it was: half
 * a tunnel may be closed, and not a byte of the other half is lost.
 *
 * Trust: where the bytes go was decided before. With check-server-name, nothing
 * goes up until the client's first words are there and name the tunnel's host: a
 * tunnel to an allowed host must not lead to another one that shares its servers. */
#include "prism-local-tunnel.h"

#include "prism-local-io.h"
#include "prism-local-pace.h"
#include "prism-local-record.h"
#include "prism-tls-hello.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#define SPLICE_SIZE (1 << 18)
#define FEW         16384
#define ROUNDS      16

static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";

static const char reset_by_upstream[] = "the upstream reset the tunnel";

static void
client_went (PrismLocalConnection *self)
{
  prism_local_connection_end (self, "client-reset", "the client reset the tunnel");
}

/* --- before it is one ------------------------------------------------------------ */

/* A rule for https is for TLS; one for any scheme is for whatever is spoken. */
gboolean
prism_local_tunnel_must_speak (PrismLocalConnection *self)
{
  return self->place.rule != NULL && prism_egress_rule_get_scheme (self->place.rule) != PRISM_EGRESS_SCHEME_ANY;
}

static void
open_tunnel (PrismLocalConnection *self)
{
  struct iovec part = { prism_local_buffer_data (&self->in), prism_local_buffer_length (&self->in) };

  self->state = PRISM_LOCAL_TUNNEL;
  if (part.iov_len > 0)
    {
      self->sent += (gint64)part.iov_len;
      prism_local_count (&self->port->counters.sent, (gint64)part.iov_len);
      if (!prism_local_end_send (&self->upstream, &part, 1))
        {
          prism_local_connection_end (self, "upstream-reset", reset_by_upstream);
          return;
        }
    }
  prism_local_buffer_clear (&self->in);
  if (self->client.eof && prism_local_buffer_length (&self->upstream.out) == 0)
    prism_local_end_shut (&self->upstream);
  prism_local_engine_want (prism_local_connection_engine (self), prism_local_connection_deadline (self));
}

static void
refuse_hello (PrismLocalConnection *self, const char *why)
{
  prism_local_refuse (self, PRISM_LOCAL_DENIES, 403, "DENIED", "server-name", "the tunnel to %s was cut: %s",
                      self->place.host, why);
}

static void
check_name (PrismLocalConnection *self, const char *name)
{
  g_autofree char *host = prism_egress_normalize_host (name, NULL);

  if (host != NULL && g_str_equal (host, self->place.host))
    open_tunnel (self);
  else
    refuse_hello (self, "its TLS names another host (check-server-name)");
}

void
prism_local_tunnel_hear (PrismLocalConnection *self)
{
  char name[256];
  gsize length = prism_local_buffer_length (&self->in);

  if (length == 0 && !self->client.eof)
    return;
  switch (prism_tls_hello_parse ((const guint8 *)prism_local_buffer_data (&self->in), length, name))
    {
    case PRISM_TLS_HELLO_MORE:
      if (self->client.eof && (length > 0 || prism_local_tunnel_must_speak (self)))
        refuse_hello (self, "its TLS ended before it named a host (check-server-name)");
      else if (self->client.eof)
        open_tunnel (self);
      break;
    case PRISM_TLS_HELLO_NAMED:
      check_name (self, name);
      break;
    case PRISM_TLS_HELLO_UNNAMED:
      /* An address is not named in TLS. */
      if (self->place.address != NULL)
        open_tunnel (self);
      else
        refuse_hello (self, "its TLS names no host (check-server-name)");
      break;
    case PRISM_TLS_HELLO_ENCRYPTED:
      refuse_hello (self, "its TLS hides which host it names (check-server-name)");
      break;
    case PRISM_TLS_HELLO_OTHER:
      if (!prism_local_tunnel_must_speak (self))
        open_tunnel (self);
      else
        refuse_hello (self, "the rule is for https, and this is not TLS (check-server-name)");
      break;
    case PRISM_TLS_HELLO_WRONG:
    default:
      refuse_hello (self, "its TLS is malformed (check-server-name)");
      break;
    }
}

void
prism_local_tunnel_begin (PrismLocalConnection *self)
{
  prism_local_buffer_eat (&self->in, self->request->head_length);
  g_clear_pointer (&self->request, g_free);
  g_clear_pointer (&self->memo, g_free);
  if (!prism_local_end_send_text (&self->client, established))
    {
      client_went (self);
      return;
    }
  self->state = PRISM_LOCAL_HELLO;
  if (!self->port->check_server_name)
    open_tunnel (self);
  else if (prism_local_buffer_length (&self->in) > 0 || self->client.eof)
    prism_local_tunnel_hear (self);
  else
    prism_local_buffer_clear (&self->in);
  prism_local_engine_want (prism_local_connection_engine (self), prism_local_connection_deadline (self));
}

/* A server that speaks first is heard, where the rule allows what is not TLS. */
void
prism_local_tunnel_greet (PrismLocalConnection *self, guint32 events)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  gssize n = prism_local_end_read (&self->upstream, engine->scratch, sizeof engine->scratch);
  struct iovec part = { engine->scratch, (gsize)MAX (n, 0) };

  if (n == PRISM_LOCAL_AGAIN)
    return;
  self->touched = engine->now;
  if (n <= 0)
    {
      /* What it said before goes to the client still. */
      prism_local_record (self, PRISM_AUDIT_DECISION_ALLOW, n == 0 ? NULL : "upstream-reset", reset_by_upstream);
      self->refused = TRUE;
      prism_local_end_close (engine, &self->upstream);
      prism_local_connection_enter (self, PRISM_LOCAL_LINGER);
      return;
    }
  self->received += n;
  prism_local_count (&self->port->counters.received, n);
  if (!prism_local_end_send (&self->client, &part, 1))
    client_went (self);
}

/* --- one direction --------------------------------------------------------------- */

typedef struct
{
  PrismLocalConnection *connection;
  PrismLocalEnd *from, *to;
  gint64 *bytes;   /* of the tunnel */
  gint64 *counter; /* of the port */
  gint64 most;     /* 0: any */
} Way;

typedef enum
{
  WAY_WAITS,   /* for a socket */
  WAY_GOES_ON, /* there may be more */
  WAY_IS_OVER, /* all of it was passed on */
  WAY_BROKE_FROM,
  WAY_BROKE_TO,
  WAY_IS_FULL, /* it carried as much as it may */
} WayState;

static Way
way_up (PrismLocalConnection *self)
{
  return (Way){
    self, &self->client, &self->upstream, &self->sent, &self->port->counters.sent, self->port->limits.request_bytes
  };
}

static Way
way_down (PrismLocalConnection *self)
{
  return (Way){ self,
                &self->upstream,
                &self->client,
                &self->received,
                &self->port->counters.received,
                self->port->limits.response_bytes };
}

static gboolean
has_waiting (const Way *way)
{
  return prism_local_buffer_length (&way->to->out) > 0 || (way->from->pipe != NULL && way->from->pipe->held > 0);
}

static void
count (const Way *way, gsize n)
{
  *way->bytes += (gint64)n;
  prism_local_count (way->counter, (gint64)n);
  way->connection->touched = prism_local_connection_engine (way->connection)->now;
}

/* How many more bytes it may carry. */
static gsize
room_of (const Way *way, gsize size)
{
  return way->most == 0 ? size : (gsize)MIN ((gint64)size, way->most - *way->bytes);
}

static WayState
pass_on_waiting (const Way *way)
{
  PrismLocalPipe *pipe = way->from->pipe;

  if (prism_local_buffer_length (&way->to->out) > 0)
    {
      if (!prism_local_end_flush (way->to))
        return WAY_BROKE_TO;
      if (prism_local_buffer_length (&way->to->out) > 0)
        return WAY_WAITS;
    }
  while (pipe != NULL && pipe->held > 0)
    {
      gssize n = splice (pipe->fds[0], NULL, way->to->watch.fd, NULL, pipe->held, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return n < 0 && errno == EAGAIN ? WAY_WAITS : WAY_BROKE_TO;
      pipe->held -= (gsize)n;
    }
  return WAY_GOES_ON;
}

static void
return_pipe (const Way *way)
{
  if (way->from->pipe != NULL)
    prism_local_engine_give_pipe (prism_local_connection_engine (way->connection), g_steal_pointer (&way->from->pipe));
}

static WayState
splice_in (const Way *way)
{
  gsize size = room_of (way, SPLICE_SIZE);
  gssize n;

  do
    n = splice (way->from->watch.fd, NULL, way->from->pipe->fds[1], NULL, size, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
  while (n < 0 && errno == EINTR);
  if (n < 0)
    {
      WayState state = errno == EAGAIN ? WAY_WAITS : WAY_BROKE_FROM;

      return_pipe (way);
      return state;
    }
  if (n == 0)
    {
      way->from->eof = TRUE;
      return_pipe (way);
      return WAY_GOES_ON;
    }
  way->from->pipe->held += (gsize)n;
  way->from->bulk = n >= FEW;
  prism_local_pace_read (prism_local_connection_engine (way->connection), way->from, (gsize)n);
  count (way, (gsize)n);
  return WAY_GOES_ON;
}

static WayState
copy (const Way *way)
{
  PrismLocalEngine *engine = prism_local_connection_engine (way->connection);
  gsize room = room_of (way, sizeof engine->scratch);
  /* With no room left, one byte shows whether there is more. */
  gssize n = prism_local_end_read (way->from, engine->scratch, MAX (room, 1));
  struct iovec part = { engine->scratch, (gsize)MAX (n, 0) };

  if (n == PRISM_LOCAL_AGAIN)
    return WAY_WAITS;
  if (n == PRISM_LOCAL_BROKEN)
    return WAY_BROKE_FROM;
  if (n == 0)
    {
      way->from->eof = TRUE;
      return WAY_GOES_ON;
    }
  if (room == 0)
    return WAY_IS_FULL;
  count (way, (gsize)n);
  if (!prism_local_end_send (way->to, &part, 1))
    return WAY_BROKE_TO;
  if ((gsize)n < sizeof engine->scratch)
    return WAY_WAITS;
  way->from->bulk = TRUE;
  return WAY_GOES_ON;
}

/* Without descriptors for a pipe it is copied. */
static WayState
read_more (const Way *way)
{
  if (way->from->bulk && way->from->pipe == NULL)
    way->from->pipe = prism_local_engine_take_pipe (prism_local_connection_engine (way->connection));
  if (way->from->bulk && way->from->pipe != NULL && room_of (way, 1) > 0)
    return splice_in (way);
  return_pipe (way);
  return copy (way);
}

/* A few rounds at most: others want their turn. But an end that was seen is passed on
 * at once, or waits for the socket: nothing would bring it up again. */
static WayState
pump (const Way *way)
{
  for (guint i = 0; i < ROUNDS || way->from->eof; i++)
    {
      WayState state = pass_on_waiting (way);

      if (state == WAY_GOES_ON && way->from->eof)
        {
          prism_local_end_shut (way->to);
          return WAY_IS_OVER;
        }
      if (state == WAY_GOES_ON)
        state = read_more (way);
      if (state != WAY_GOES_ON)
        return state;
    }
  return WAY_GOES_ON;
}

/* --- both directions ------------------------------------------------------------- */

static gboolean
is_over (PrismLocalConnection *self)
{
  Way up = way_up (self), down = way_down (self);

  return self->client.eof && self->upstream.eof && !has_waiting (&up) && !has_waiting (&down);
}

/* Nothing more can go this way. */
static void
give_up (const Way *way)
{
  way->from->eof = TRUE;
  prism_local_buffer_clear (&way->to->out);
  return_pipe (way);
}

/* One end is gone. What it had said before may still be here, and goes on. */
static void
break_way (PrismLocalConnection *self, const Way *way, gboolean reading)
{
  Way back = way->from == &self->client ? way_down (self) : way_up (self);
  gboolean client = (way->from == &self->client) == reading;

  self->ended_by = client ? "client-reset" : "upstream-reset";
  if (reading)
    {
      way->from->eof = TRUE;
      give_up (&back);
    }
  else
    {
      give_up (way);
      while (pump (&back) == WAY_GOES_ON)
        ;
      back.from->eof = TRUE;
    }
  if (is_over (self))
    prism_local_connection_end (self, self->ended_by, client ? "the client reset the tunnel" : reset_by_upstream);
}

static void
run_way (PrismLocalConnection *self, const Way *way)
{
  WayState state = pump (way);
  const char *limit = way->to == &self->client ? "response-bytes" : "request-bytes";

  if (state == WAY_IS_FULL)
    prism_local_refuse (self, PRISM_LOCAL_DENIES, 502, "LIMIT", limit,
                        "the tunnel carried %" G_GINT64_FORMAT " bytes, which is all that it may (%s)", way->most,
                        limit);
  else if (state == WAY_BROKE_FROM || state == WAY_BROKE_TO)
    break_way (self, way, state == WAY_BROKE_FROM);
  else if (state == WAY_IS_OVER && is_over (self))
    prism_local_connection_end (self, self->ended_by, reset_by_upstream);
}

void
prism_local_tunnel_client_ready (PrismLocalConnection *self, guint32 events)
{
  Way up = way_up (self), down = way_down (self);

  if ((events & ~EPOLLOUT) != 0)
    run_way (self, &up);
  if (self->state == PRISM_LOCAL_TUNNEL && (events & EPOLLOUT) != 0)
    run_way (self, &down);
}

void
prism_local_tunnel_upstream_ready (PrismLocalConnection *self, guint32 events)
{
  Way up = way_up (self), down = way_down (self);

  if ((events & ~EPOLLOUT) != 0)
    run_way (self, &down);
  if (self->state == PRISM_LOCAL_TUNNEL && (events & EPOLLOUT) != 0)
    run_way (self, &up);
}

void
prism_local_tunnel_arm (PrismLocalConnection *self)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  Way up = way_up (self), down = way_down (self);
  gboolean up_waits = has_waiting (&up), down_waits = has_waiting (&down);

  prism_local_engine_watch (engine, &self->client.watch,
                            (up_waits || self->client.eof ? 0 : EPOLLIN) | (down_waits ? EPOLLOUT : 0));
  prism_local_engine_watch (engine, &self->upstream.watch,
                            (down_waits || self->upstream.eof ? 0 : EPOLLIN) | (up_waits ? EPOLLOUT : 0));
}
