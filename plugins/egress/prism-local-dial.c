/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A name is resolved once for each connection. All of its answers are screened, and
 * one bad answer refuses them all: it says that somebody else decides where the
 * name leads. Then one of the very addresses that were screened is connected to. */
#include "prism-local-dial.h"

#include "prism-local-ask.h"
#include "prism-local-decide.h"
#include "prism-local-io.h"
#include "prism-local-pace.h"
#include "prism-local-parent.h"
#include "prism-local-record.h"
#include "prism-local-screen.h"
#include "prism-local-tls.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define MAX_ADDRESSES 32

struct _PrismLocalDial
{
  PrismLocalQuestion *question;
  GList *addresses; /* GInetAddress; the first is the one that is tried */
  const char *host; /* that is connected to: the place's, or the parent proxy's */
  int last_error;
};

static void dial_ready (PrismLocalWatch *watch, guint32 events);
static void parent_ready (PrismLocalWatch *watch, guint32 events);
static void hands_ready (PrismLocalWatch *watch, guint32 events);

void
prism_local_dial_drop (PrismLocalConnection *self)
{
  PrismLocalDial *dial = g_steal_pointer (&self->dial);

  if (dial == NULL)
    return;
  if (dial->question != NULL)
    prism_local_question_drop (dial->question);
  g_list_free_full (dial->addresses, g_object_unref);
  g_free (dial);
}

static void
refuse_upstream (PrismLocalConnection *self, const char *what, const char *why)
{
  g_autofree char *place = prism_local_describe_place (self->place.scheme, self->place.host, self->place.port);

  prism_local_refuse (self, PRISM_LOCAL_FAILS, 502, "DNS", "upstream", "%s: %s: %s", place, what, why);
}

/* --- TLS ------------------------------------------------------------------------- */

static void
arrive (PrismLocalConnection *self)
{
  prism_local_dial_drop (self);
  prism_local_connection_dialed (self);
}

static void
shake_hands (PrismLocalConnection *self)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  g_autofree char *why = NULL;
  int done = prism_local_tls_shake_hands (&self->upstream, &why);

  if (done > 0)
    arrive (self);
  else if (done < 0)
    refuse_upstream (self, "TLS failed, and nothing was sent", why);
  else
    prism_local_engine_watch (engine, &self->upstream.watch, self->upstream.wants_out ? EPOLLOUT : EPOLLIN);
}

static void
hands_ready (PrismLocalWatch *watch, guint32 events)
{
  PrismLocalConnection *self =
      (PrismLocalConnection *)((char *)watch - G_STRUCT_OFFSET (PrismLocalConnection, upstream.watch));

  shake_hands (self);
  prism_local_connection_arm (self);
}

/* The bytes go to the place from here on. */
static void
reached (PrismLocalConnection *self)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  g_autoptr (GError) error = NULL;

  if (!self->place.tls)
    arrive (self);
  else if (!prism_local_tls_open (engine, &self->upstream, &self->place, &error))
    refuse_upstream (self, "TLS is not to be had", error->message);
  else
    {
      self->upstream.watch.ready = hands_ready;
      shake_hands (self);
    }
}

static void
parent_ready (PrismLocalWatch *watch, guint32 events)
{
  PrismLocalConnection *self =
      (PrismLocalConnection *)((char *)watch - G_STRUCT_OFFSET (PrismLocalConnection, upstream.watch));
  g_autofree char *why = NULL;
  int answer = prism_local_parent_hear (self, &why);

  if (answer > 0)
    reached (self);
  else if (answer < 0)
    refuse_upstream (self, "the parent proxy gave no way there", why != NULL ? why : "it closed the connection");
  prism_local_connection_arm (self);
}

static void
connected (PrismLocalConnection *self)
{
  if (!prism_local_parent_needs_tunnel (self))
    reached (self);
  else if (!prism_local_parent_ask (self))
    refuse_upstream (self, "the parent proxy gave no way there", "it closed the connection");
  else
    {
      self->upstream.watch.ready = parent_ready;
      prism_local_engine_watch (prism_local_connection_engine (self), &self->upstream.watch, EPOLLIN);
    }
}

/* --- connecting ------------------------------------------------------------------ */

static socklen_t
to_native (GInetAddress *address, guint16 port, struct sockaddr_storage *native)
{
  struct sockaddr_in *in = (struct sockaddr_in *)native;
  struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)native;

  memset (native, 0, sizeof *native);
  if (g_inet_address_get_family (address) == G_SOCKET_FAMILY_IPV4)
    {
      in->sin_family = AF_INET;
      in->sin_port = htons (port);
      memcpy (&in->sin_addr, g_inet_address_to_bytes (address), 4);
      return sizeof *in;
    }
  in6->sin6_family = AF_INET6;
  in6->sin6_port = htons (port);
  memcpy (&in6->sin6_addr, g_inet_address_to_bytes (address), 16);
  return sizeof *in6;
}

/* 0: connected; EINPROGRESS: soon; or what is wrong. On this machine the other side
 * has answered by the time that one asks again. */
static int
start_connecting (PrismLocalConnection *self, GInetAddress *address)
{
  struct sockaddr_storage native;
  const PrismLocalSettings *settings = &prism_local_connection_engine (self)->settings;
  guint16 port = settings->parent_host != NULL ? settings->parent_port : self->place.port;
  socklen_t size = to_native (address, port, &native);
  int fd = socket (native.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;

  if (fd < 0)
    return errno;
  self->upstream.watch = (PrismLocalWatch){ fd, 0, dial_ready };
  (void)setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (g_inet_address_get_is_loopback (address))
    prism_local_pace_loopback (fd);
  if (connect (fd, (struct sockaddr *)&native, size) == 0)
    return 0;
  if (errno != EINPROGRESS)
    return errno;
  if (connect (fd, (struct sockaddr *)&native, size) == 0 || errno == EISCONN)
    return 0;
  return errno == EALREADY ? EINPROGRESS : errno;
}

static void
next_address (PrismLocalDial *dial)
{
  g_object_unref (dial->addresses->data);
  dial->addresses = g_list_delete_link (dial->addresses, dial->addresses);
}

static void
try_addresses (PrismLocalConnection *self)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  PrismLocalDial *dial = self->dial;

  while (dial->addresses != NULL)
    {
      int result = start_connecting (self, dial->addresses->data);

      if (result == 0)
        {
          connected (self);
          return;
        }
      if (result == EINPROGRESS)
        {
          prism_local_engine_watch (engine, &self->upstream.watch, EPOLLOUT);
          return;
        }
      dial->last_error = result;
      prism_local_end_close (engine, &self->upstream);
      next_address (dial);
    }
  refuse_upstream (self, "no connection", g_strerror (dial->last_error));
}

static void
dial_ready (PrismLocalWatch *watch, guint32 events)
{
  PrismLocalConnection *self =
      (PrismLocalConnection *)((char *)watch - G_STRUCT_OFFSET (PrismLocalConnection, upstream.watch));
  int error = 0;
  socklen_t length = sizeof error;

  if (getsockopt (watch->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
    error = errno;
  if (error == 0)
    connected (self);
  else
    {
      self->dial->last_error = error;
      prism_local_end_close (prism_local_connection_engine (self), &self->upstream);
      next_address (self->dial);
      try_addresses (self);
    }
  prism_local_connection_arm (self);
}

/* --- names ----------------------------------------------------------------------- */

static void
refuse_address (PrismLocalConnection *self, const char *why)
{
  g_autofree char *place = prism_local_describe_place (self->place.scheme, self->place.host, self->place.port);

  prism_local_refuse (self, PRISM_LOCAL_DENIES, 403, "DNS", "address",
                      "%s resolves to a place that it may not have: %s; whoever started this can allow it with "
                      "--allow-private %s",
                      self->place.host, why, place);
}

static void
name_answered (gpointer asker, PrismLocalQuestion *question)
{
  PrismLocalConnection *self = asker;
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  PrismLocalDial *dial = self->dial;
  guint n = 0;

  for (GList *it = question->addresses; it != NULL; it = it->next)
    {
      g_autofree char *why =
          engine->settings.parent_host == NULL ? prism_local_screen (engine, &self->place, it->data) : NULL;

      if (why != NULL)
        {
          refuse_address (self, why);
          prism_local_connection_arm (self);
          return;
        }
      if (++n <= MAX_ADDRESSES)
        dial->addresses = g_list_append (dial->addresses, g_object_ref (it->data));
    }
  if (question->addresses == NULL)
    {
      g_autofree char *why = g_strdup (question->error->message);

      prism_local_refuse (self, PRISM_LOCAL_FAILS, 502, "DNS", "dns", "%s cannot be resolved: %s", dial->host, why);
    }
  else
    try_addresses (self);
  prism_local_connection_arm (self);
}

void
prism_local_dial_begin (PrismLocalConnection *self)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  PrismLocalDial *dial = g_new0 (PrismLocalDial, 1);
  GInetAddress *address;

  prism_local_end_close (engine, &self->upstream);
  self->dial = dial;
  self->state = PRISM_LOCAL_DIALING;
  self->touched = engine->now;
  prism_local_engine_want (engine, prism_local_connection_deadline (self));
  dial->host = engine->settings.parent_host != NULL ? engine->settings.parent_host : self->place.host;
  address = engine->settings.parent_host == NULL && self->place.address != NULL
                ? g_object_ref (self->place.address)
                : g_inet_address_new_from_string (dial->host);
  if (address != NULL)
    {
      dial->addresses = g_list_prepend (NULL, address);
      try_addresses (self);
      return;
    }
  dial->question = prism_local_ask_name (engine, dial->host, self, name_answered);
  if (dial->question == NULL)
    prism_local_refuse (self, PRISM_LOCAL_FAILS, 503, "LIMIT", "dns", "no thread to ask for names");
}
