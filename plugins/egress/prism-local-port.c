/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which connections there may be: sockets that have not asked for anything yet are
 * cheap, bounded, and the first to go; requests and tunnels have the listener's
 * limit, and four times as many may wait for their turn. So slow peers never stand
 * in the way of those that know what they want. */
#include "prism-local-port.h"

#include "prism-local-ask.h"
#include "prism-local-connection.h"
#include "prism-local-pace.h"
#include "prism-local-record.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixsocketaddress.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

#define BACKLOG       4096
#define ACCEPT_ROUND  64
#define WAITING_TIMES 4
#define SOCKETS_TIMES 6
#define PAUSE_US      (50 * 1000)

/* --- accepting ------------------------------------------------------------------- */

static void
pause_accepting (PrismLocalPort *self)
{
  self->paused = self->engine->now + PAUSE_US;
  prism_local_engine_watch (self->engine, &self->watch, 0);
  prism_local_engine_want (self->engine, self->paused);
}

/* The one that has waited longest for a client to say what it wants. */
static gboolean
evict_idle (PrismLocalPort *self)
{
  PrismLocalConnection *oldest = NULL;

  for (PrismLocalConnection *it = self->connections; it != NULL; it = it->next)
    if ((it->state == PRISM_LOCAL_HEAD || it->state == PRISM_LOCAL_LINGER)
        && (oldest == NULL || it->touched < oldest->touched))
      oldest = it;
  if (oldest != NULL)
    prism_local_connection_end (oldest, NULL, NULL);
  return oldest != NULL;
}

static void
take_client (PrismLocalPort *self, int fd, const struct sockaddr_storage *from)
{
  const struct sockaddr_in *in = (const struct sockaddr_in *)from;
  const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;
  int one = 1;

  if (self->n_connections >= (guint)MIN (self->limits.most_requests * SOCKETS_TIMES, G_MAXINT) && !evict_idle (self))
    {
      close (fd);
      return;
    }
  if (from->ss_family == AF_INET || from->ss_family == AF_INET6)
    (void)setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (from->ss_family == AF_INET)
    prism_local_connection_new (self, fd, (const guint8 *)&in->sin_addr, 4, ntohs (in->sin_port));
  else if (from->ss_family == AF_INET6)
    prism_local_connection_new (self, fd, (const guint8 *)&in6->sin6_addr, 16, ntohs (in6->sin6_port));
  else
    prism_local_connection_new (self, fd, NULL, 0, 0);
}

static void
accept_ready (PrismLocalWatch *watch, guint32 events)
{
  PrismLocalPort *self = (PrismLocalPort *)watch;

  for (guint i = 0; i < ACCEPT_ROUND; i++)
    {
      struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
      socklen_t length = sizeof from;
      int fd = accept4 (watch->fd, (struct sockaddr *)&from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);

      if (fd >= 0)
        take_client (self, fd, &from);
      else if (errno == EAGAIN)
        return;
      else if ((errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) && !evict_idle (self))
        {
          pause_accepting (self);
          return;
        }
      else if (errno == EINVAL || errno == EBADF || errno == ENOTSOCK)
        {
          /* Whoever made the socket has shut it down: nobody will come any more. */
          prism_local_engine_watch (self->engine, watch, 0);
          return;
        }
    }
}

/* --- opening --------------------------------------------------------------------- */

static gboolean
fail (GError **error, const char *what, int number)
{
  g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_FAILED, "%s: %s", what, g_strerror (number));
  return FALSE;
}

/* A socket that nobody answers on any more is what a killed proxy left. */
static void
remove_stale (const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  struct stat status;
  int fd;

  if (lstat (path, &status) != 0 || !S_ISSOCK (status.st_mode) || strlen (path) >= sizeof address.sun_path)
    return;
  fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return;
  memcpy (address.sun_path, path, strlen (path) + 1);
  if (connect (fd, (struct sockaddr *)&address, sizeof address) != 0 && errno == ECONNREFUSED)
    unlink (path);
  close (fd);
}

static gboolean
bind_to (PrismLocalPort *self, GSocketAddress *address, GError **error)
{
  struct sockaddr_storage native;
  gssize size = g_socket_address_get_native_size (address);
  int one = 1;

  if (size < 0 || size > (gssize)sizeof native || !g_socket_address_to_native (address, &native, sizeof native, error))
    return FALSE;
  if (G_IS_UNIX_SOCKET_ADDRESS (address))
    {
      const char *path = g_unix_socket_address_get_path (G_UNIX_SOCKET_ADDRESS (address));

      if (g_unix_socket_address_get_address_type (G_UNIX_SOCKET_ADDRESS (address)) == G_UNIX_SOCKET_ADDRESS_PATH)
        {
          remove_stale (path);
          self->path = g_strdup (path);
        }
    }
  self->watch.fd = socket (native.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (self->watch.fd < 0)
    return fail (error, "no socket to listen on", errno);
  if (native.ss_family != AF_UNIX)
    (void)setsockopt (self->watch.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind (self->watch.fd, (struct sockaddr *)&native, (socklen_t)size) != 0)
    {
      g_clear_pointer (&self->path, g_free);
      return fail (error, "the listener's address is not to be had", errno);
    }
  return TRUE;
}

/* Whether an address means the same there as here; if it cannot be told, it does. */
static gboolean
is_our_network (int fd)
{
  guint64 theirs = 0, ours = 0;
  socklen_t length = sizeof theirs;
  int mine;

  if (getsockopt (fd, SOL_SOCKET, SO_NETNS_COOKIE, &theirs, &length) != 0)
    return TRUE;
  mine = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (mine < 0)
    return TRUE;
  if (getsockopt (mine, SOL_SOCKET, SO_NETNS_COOKIE, &ours, &length) != 0)
    ours = theirs;
  close (mine);
  return ours == theirs;
}

/* Our own descriptor for it: whoever made the socket may close theirs. */
static gboolean
adopt (PrismLocalPort *self, GSocket *socket, GError **error)
{
  int type = 0;
  socklen_t length = sizeof type;

  self->watch.fd = fcntl (g_socket_get_fd (socket), F_DUPFD_CLOEXEC, 3);
  if (self->watch.fd < 0)
    return fail (error, "the socket that was given", errno);
  if (getsockopt (self->watch.fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM)
    return fail (error, "the socket that was given is none of streams", EINVAL);
  if (fcntl (self->watch.fd, F_SETFL, fcntl (self->watch.fd, F_GETFL) | O_NONBLOCK) != 0)
    return fail (error, "the socket that was given", errno);
  self->elsewhere = !is_our_network (self->watch.fd);
  return TRUE;
}

static gboolean
find_out_where (PrismLocalPort *self, GError **error)
{
  struct sockaddr_storage native;
  socklen_t size = sizeof native;
  g_autoptr (GSocketAddress) address = NULL;

  if (getsockname (self->watch.fd, (struct sockaddr *)&native, &size) != 0)
    return fail (error, "the listener's address", errno);
  if (native.ss_family == AF_UNIX)
    return TRUE;
  address = g_socket_address_new_from_native (&native, size);
  if (!G_IS_INET_SOCKET_ADDRESS (address))
    return fail (error, "the listener's socket", EAFNOSUPPORT);
  self->address = g_object_ref (g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (address)));
  self->number = g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (address));
  /* Every connection that is accepted takes it over. */
  if (g_inet_address_get_is_loopback (self->address))
    prism_local_pace_loopback (self->watch.fd);
  return TRUE;
}

static void
port_free (PrismLocalPort *self)
{
  if (self->watch.fd >= 0)
    close (self->watch.fd);
  if (self->path != NULL)
    unlink (self->path);
  g_free (self->path);
  g_free (self->label);
  g_clear_object (&self->audit);
  g_clear_object (&self->policy);
  g_clear_object (&self->address);
  g_clear_pointer (&self->credentials, g_ptr_array_unref);
  g_queue_clear (&self->waiting);
  g_weak_ref_clear (&self->alive);
  g_free (self);
}

static void
read_limits (PrismLocalPort *self, PrismEgressListener *listener)
{
  self->limits = (PrismLocalLimits){
    .most_requests = prism_egress_listener_get_limit (listener, "concurrent-connections"),
    .request_bytes = prism_egress_listener_get_limit (listener, "request-bytes"),
    .response_bytes = prism_egress_listener_get_limit (listener, "response-bytes"),
    .redirect_hops = prism_egress_listener_get_limit (listener, "redirect-hops"),
    .transfer_us = MIN (prism_egress_listener_get_limit (listener, "transfer-time-ms"), G_MAXINT) * 1000,
    .head_us = prism_egress_listener_get_limit (listener, "request-head-ms") * 1000,
    .idle_us = prism_egress_listener_get_limit (listener, "connection-idle-ms") * 1000,
  };
}

PrismLocalPort *
prism_local_port_open (PrismLocalEngine *engine, PrismEgressListener *listener, GError **error)
{
  PrismLocalPort *self = g_new0 (PrismLocalPort, 1);
  GListModel *credentials = prism_egress_listener_get_credentials (listener);
  GSocket *socket = prism_egress_listener_get_socket (listener);

  self->watch = (PrismLocalWatch){ -1, 0, accept_ready };
  self->engine = engine;
  self->listener = listener;
  g_weak_ref_init (&self->alive, listener);
  self->label = g_strdup (prism_egress_listener_get_label (listener));
  g_set_object (&self->audit, prism_egress_listener_get_audit (listener));
  self->check_server_name = prism_egress_listener_get_check_server_name (listener);
  self->policy = prism_egress_listener_dup_policy (listener, &self->policy_version);
  self->credentials = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < g_list_model_get_n_items (credentials); i++)
    g_ptr_array_add (self->credentials, g_list_model_get_item (credentials, i));
  g_queue_init (&self->waiting);
  g_queue_init (&self->records);
  read_limits (self, listener);

  if (!(socket != NULL ? adopt (self, socket, error)
                       : bind_to (self, prism_egress_listener_get_address (listener), error))
      || !find_out_where (self, error))
    {
      port_free (self);
      return NULL;
    }
  if (listen (self->watch.fd, BACKLOG) != 0)
    {
      fail (error, "the socket cannot be listened on", errno);
      port_free (self);
      return NULL;
    }
  g_mutex_lock (&engine->lock);
  g_hash_table_insert (engine->ports, listener, self);
  g_mutex_unlock (&engine->lock);
  prism_local_engine_watch (engine, &self->watch, EPOLLIN);
  return self;
}

char *
prism_local_port_dup_endpoint (PrismLocalPort *self)
{
  g_autofree char *text = NULL;

  if (self->address == NULL)
    return self->path != NULL ? g_strconcat ("unix:", self->path, NULL) : g_strdup ("unix:");
  text = g_inet_address_to_string (self->address);
  return g_strdup_printf (strchr (text, ':') != NULL ? "http://[%s]:%u" : "http://%s:%u", text, self->number);
}

gboolean
prism_local_port_is_loop (PrismLocalEngine *engine, GInetAddress *address, guint16 number)
{
  GHashTableIter iter;
  gpointer data;

  g_hash_table_iter_init (&iter, engine->ports);
  while (g_hash_table_iter_next (&iter, NULL, &data))
    {
      PrismLocalPort *port = data;

      /* Bound to all addresses, it is found at each of them. */
      if (port->address != NULL && !port->elsewhere && port->number == number
          && (g_inet_address_equal (port->address, address)
              || (g_inet_address_get_is_any (port->address) && g_inet_address_get_is_loopback (address))))
        return TRUE;
    }
  return FALSE;
}

/* --- requests -------------------------------------------------------------------- */

static void
count_request (PrismLocalPort *self)
{
  self->n_requests++;
  prism_local_count (&self->counters.active, 1);
  prism_local_count (&self->counters.total, 1);
}

gboolean
prism_local_port_begin_request (PrismLocalPort *self, PrismLocalConnection *connection, gboolean *too_many)
{
  *too_many = FALSE;
  if (self->n_requests < self->limits.most_requests && !prism_local_records_wait (self))
    {
      count_request (self);
      return TRUE;
    }
  if (self->waiting.length >= (guint)MIN (self->limits.most_requests * WAITING_TIMES, G_MAXINT))
    *too_many = TRUE;
  else
    g_queue_push_tail (&self->waiting, connection);
  return FALSE;
}

void
prism_local_port_end_request (PrismLocalPort *self)
{
  self->n_requests--;
  prism_local_count (&self->counters.active, -1);
  prism_local_port_next_request (self);
}

void
prism_local_port_next_request (PrismLocalPort *self)
{
  while (self->waiting.length > 0 && self->n_requests < self->limits.most_requests && !prism_local_records_wait (self))
    {
      PrismLocalConnection *next = g_queue_pop_head (&self->waiting);

      count_request (self);
      prism_local_connection_resume (next);
    }
}

/* --- policy, deadlines, end ------------------------------------------------------ */

static void
check_connections (PrismLocalPort *self, PrismEgressPolicy *rules)
{
  for (PrismLocalConnection *it = self->connections, *next; it != NULL; it = next)
    {
      next = it->next;
      prism_local_connection_check (it, rules);
    }
}

static void
policy_answered (gpointer asker, PrismLocalQuestion *question)
{
  PrismLocalPort *self = asker;
  g_autoptr (PrismEgressPolicy) none = prism_egress_policy_new_deny_all ();

  self->asked = NULL;
  check_connections (self, question->rules != NULL ? question->rules : none);
  prism_local_question_drop (question);
}

/* Where a resolver decides, it says what becomes of the connections that there are. */
void
prism_local_port_set_policy (PrismLocalPort *self, PrismEgressPolicy *policy, gint64 version)
{
  g_autoptr (PrismEgressPolicy) none = NULL;

  g_set_object (&self->policy, policy);
  self->policy_version = version;
  if (self->asked != NULL)
    prism_local_question_drop (g_steal_pointer (&self->asked));
  if (prism_egress_policy_get_kind (policy) == PRISM_EGRESS_POLICY_KIND_RESOLVER)
    {
      self->asked = prism_local_ask_policy (self->engine, policy, self, policy_answered);
      if (self->asked != NULL)
        return;
      none = prism_egress_policy_new_deny_all ();
    }
  check_connections (self, none != NULL ? none : policy);
}

void
prism_local_port_sweep (PrismLocalPort *self)
{
  if (self->paused != 0 && self->paused <= self->engine->now)
    {
      self->paused = 0;
      prism_local_engine_watch (self->engine, &self->watch, EPOLLIN);
    }
  else if (self->paused != 0)
    prism_local_engine_want (self->engine, self->paused);
  for (PrismLocalConnection *it = self->connections, *next; it != NULL; it = next)
    {
      gint64 deadline = prism_local_connection_deadline (it);

      next = it->next;
      if (deadline <= self->engine->now)
        prism_local_connection_expire (it);
      else
        prism_local_engine_want (self->engine, deadline);
    }
}

/* The address is free before the connections end, for whoever takes it next. */
void
prism_local_port_end (PrismLocalPort *self, const char *reason_id)
{
  PrismLocalEngine *engine = self->engine;
  g_autoptr (PrismEgressListener) listener = g_weak_ref_get (&self->alive);

  prism_local_engine_close (engine, &self->watch);
  if (self->asked != NULL)
    prism_local_question_drop (g_steal_pointer (&self->asked));
  if (self->path != NULL)
    unlink (self->path);
  g_clear_pointer (&self->path, g_free);
  g_queue_clear (&self->waiting);
  self->limits.most_requests = G_MAXINT;
  while (self->connections != NULL)
    prism_local_connection_end (self->connections, reason_id, "the listener was closed");
  prism_local_records_leave (self);
  g_mutex_lock (&engine->lock);
  g_hash_table_remove (engine->ports, self->listener);
  engine->ended.total += self->counters.total;
  engine->ended.sent += self->counters.sent;
  engine->ended.received += self->counters.received;
  engine->ended.denied += self->counters.denied;
  g_mutex_unlock (&engine->lock);
  port_free (self);
  if (listener != NULL)
    prism_egress_listener_closed (listener);
}

void
prism_local_ports_end (PrismLocalEngine *engine)
{
  GHashTableIter iter;
  gpointer port;

  for (;;)
    {
      g_hash_table_iter_init (&iter, engine->ports);
      if (!g_hash_table_iter_next (&iter, NULL, &port))
        return;
      prism_local_port_end (port, "stopped");
    }
}
