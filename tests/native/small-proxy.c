/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "small-proxy.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_HELD 32

/* One thread for each listener. */
typedef struct
{
  SmallProxy *proxy;
  GWeakRef listener;
  GSocket *socket;
  PrismAuditLog *audit;
  char *label;
  int wake; /* an eventfd: 1 = end, the rest = look at the policy */
  gint ending;
  int held[MAX_HELD];
  char *held_host[MAX_HELD];
  guint n_held;
  GThread *thread;
} Port;

struct _SmallProxy
{
  GObject parent_instance;
  GMutex lock; /* for all that follows, the ports' connections too */
  GCond changed;
  GHashTable *ports; /* PrismEgressListener, not owned -> Port */
  GWeakRef latest;
  gboolean refuse;
};

static void small_proxy_iface_init (PrismEgressProxyInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (SmallProxy,
                               small_proxy,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_EGRESS_PROXY, small_proxy_iface_init))

/* --- connections ------------------------------------------------------------------- */

static gboolean
read_head (int fd, char *head, gsize size)
{
  gsize length = 0;

  while (length < size - 1)
    {
      gssize n = recv (fd, head + length, size - 1 - length, 0);
      if (n <= 0)
        return FALSE;
      length += (gsize)n;
      head[length] = '\0';
      if (strstr (head, "\r\n\r\n") != NULL)
        return TRUE;
    }
  return FALSE;
}

/* TRUE: the connection is kept. @host is a buffer of 256 bytes. */
static gboolean
answer (Port *port, int fd, char *host)
{
  g_autoptr (PrismEgressListener) listener = g_weak_ref_get (&port->listener);
  g_autoptr (PrismEgressPolicy) policy = NULL;
  g_autoptr (PrismAuditRecord) record = NULL;
  g_autofree char *body = NULL, *text = NULL;
  char head[4096], path[256] = "";
  PrismEgressRule *rule;

  if (listener == NULL || !read_head (fd, head, sizeof head)
      || sscanf (head, "GET http://%255[^/ ]/%255[^ ]", host, path) < 1)
    return FALSE;
  policy = prism_egress_listener_dup_policy (listener, NULL);
  rule = prism_egress_policy_match (policy, host, 80, PRISM_EGRESS_SCHEME_HTTP);
  record = prism_audit_record_new (rule != NULL ? PRISM_AUDIT_DECISION_ALLOW : PRISM_AUDIT_DECISION_DENY, host, 80,
                                   PRISM_EGRESS_SCHEME_HTTP);
  prism_audit_record_set_client (record, NULL, port->label);
  if (port->audit != NULL)
    prism_audit_log_add (port->audit, record);
  prism_egress_proxy_audit (PRISM_EGRESS_PROXY (port->proxy), record);
  if (rule != NULL && g_str_has_suffix (path, "hold"))
    return TRUE;
  body = g_strdup_printf ("%s %s\n", rule != NULL ? "allowed" : "denied", host);
  text = g_strdup_printf ("HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
                          rule != NULL ? "200 OK" : "403 Forbidden", strlen (body), body);
  if (send (fd, text, strlen (text), MSG_NOSIGNAL) < 0)
    g_test_message ("small proxy: %s", g_strerror (errno));
  return FALSE;
}

static void
take (Port *port, int fd)
{
  char host[256] = "";

  if (!answer (port, fd, host) || port->n_held == MAX_HELD)
    {
      close (fd);
      return;
    }
  g_mutex_lock (&port->proxy->lock);
  port->held[port->n_held] = fd;
  port->held_host[port->n_held++] = g_strdup (host);
  g_cond_broadcast (&port->proxy->changed);
  g_mutex_unlock (&port->proxy->lock);
}

/* Those that the policy does not allow any more; all of them at the end. */
static void
cut (Port *port)
{
  g_autoptr (PrismEgressListener) listener = g_weak_ref_get (&port->listener);
  g_autoptr (PrismEgressPolicy) policy =
      listener != NULL ? prism_egress_listener_dup_policy (listener, NULL) : prism_egress_policy_new_deny_all ();
  guint kept = 0;

  g_mutex_lock (&port->proxy->lock);
  for (guint i = 0; i < port->n_held; i++)
    if (!g_atomic_int_get (&port->ending)
        && prism_egress_policy_match (policy, port->held_host[i], 80, PRISM_EGRESS_SCHEME_HTTP) != NULL)
      {
        port->held[kept] = port->held[i];
        port->held_host[kept++] = port->held_host[i];
      }
    else
      {
        close (port->held[i]);
        g_free (port->held_host[i]);
      }
  port->n_held = kept;
  g_cond_broadcast (&port->proxy->changed);
  g_mutex_unlock (&port->proxy->lock);
}

static gpointer
serve (gpointer data)
{
  Port *port = data;

  while (!g_atomic_int_get (&port->ending))
    {
      struct pollfd fds[] = { { .fd = port->wake, .events = POLLIN },
                              { .fd = g_socket_get_fd (port->socket), .events = POLLIN } };
      guint64 count;

      if (poll (fds, 2, -1) < 0)
        continue;
      if (fds[0].revents != 0 && read (port->wake, &count, sizeof count) == sizeof count)
        cut (port);
      if (fds[1].revents != 0 && !g_atomic_int_get (&port->ending))
        {
          int fd = accept4 (fds[1].fd, NULL, NULL, SOCK_CLOEXEC);
          if (fd >= 0)
            take (port, fd);
        }
    }
  return NULL;
}

static void
wake (Port *port)
{
  const guint64 one = 1;

  if (write (port->wake, &one, sizeof one) != sizeof one)
    g_error ("eventfd: %s", g_strerror (errno));
}

static void
port_free (gpointer data)
{
  Port *port = data;

  g_atomic_int_set (&port->ending, TRUE);
  wake (port);
  g_thread_join (port->thread);
  cut (port);
  g_socket_close (port->socket, NULL);
  g_object_unref (port->socket);
  g_clear_object (&port->audit);
  g_weak_ref_clear (&port->listener);
  close (port->wake);
  g_free (port->label);
  g_free (port);
}

/* --- the interface ------------------------------------------------------------------- */

static const char *
small_proxy_get_name (PrismEgressProxy *proxy)
{
  return "small";
}

static void
do_nothing (PrismEgressProxy *proxy, PrismEgressOperation *operation)
{
  prism_egress_operation_complete (operation);
}

static void
small_proxy_add_listener (PrismEgressProxy *proxy, PrismEgressOperation *operation)
{
  SmallProxy *self = SMALL_PROXY (proxy);
  PrismEgressListener *listener = prism_egress_operation_get_listener (operation);
  PrismAuditLog *audit = prism_egress_listener_get_audit (listener);
  Port *port;

  if (self->refuse)
    {
      self->refuse = FALSE;
      prism_operation_fail_literal (PRISM_OPERATION (operation), PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_FAILED,
                                    "not today");
      return;
    }
  port = g_new0 (Port, 1);
  port->proxy = self;
  g_weak_ref_init (&port->listener, listener);
  g_weak_ref_set (&self->latest, listener);
  port->socket = g_object_ref (prism_egress_listener_get_socket (listener));
  port->audit = audit != NULL ? g_object_ref (audit) : NULL;
  port->label = g_strdup (prism_egress_listener_get_label (listener));
  port->wake = eventfd (0, EFD_CLOEXEC);
  port->thread = g_thread_new ("small-proxy", serve, port);
  g_mutex_lock (&self->lock);
  g_hash_table_insert (self->ports, listener, port);
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
  prism_egress_listener_opened (listener, "http://127.0.0.1:3128");
  prism_egress_operation_complete (operation);
}

static void
small_proxy_remove_listener (PrismEgressProxy *proxy, PrismEgressOperation *operation)
{
  SmallProxy *self = SMALL_PROXY (proxy);
  PrismEgressListener *listener = prism_egress_operation_get_listener (operation);
  gpointer port = NULL;

  g_mutex_lock (&self->lock);
  g_hash_table_steal_extended (self->ports, listener, NULL, &port);
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
  if (port != NULL)
    port_free (port);
  prism_egress_listener_closed (listener);
  prism_egress_operation_complete (operation);
}

static void
small_proxy_set_policy (PrismEgressProxy *proxy, PrismEgressOperation *operation)
{
  SmallProxy *self = SMALL_PROXY (proxy);
  PrismEgressListener *listener = prism_egress_operation_get_listener (operation);
  Port *port;

  prism_egress_listener_apply_policy (listener, prism_egress_operation_get_policy (operation));
  g_mutex_lock (&self->lock);
  port = g_hash_table_lookup (self->ports, listener);
  if (port != NULL)
    wake (port);
  g_mutex_unlock (&self->lock);
  prism_egress_operation_complete (operation);
}

static void
small_proxy_iface_init (PrismEgressProxyInterface *iface)
{
  iface->get_name = small_proxy_get_name;
  iface->start = do_nothing;
  iface->stop = do_nothing;
  iface->add_listener = small_proxy_add_listener;
  iface->remove_listener = small_proxy_remove_listener;
  iface->set_policy = small_proxy_set_policy;
}

/* --- the object ------------------------------------------------------------------------ */

static void
small_proxy_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  g_value_set_object (value, NULL);
}

static void
small_proxy_finalize (GObject *object)
{
  SmallProxy *self = SMALL_PROXY (object);

  g_hash_table_unref (self->ports);
  g_weak_ref_clear (&self->latest);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
  G_OBJECT_CLASS (small_proxy_parent_class)->finalize (object);
}

static void
small_proxy_class_init (SmallProxyClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = small_proxy_get_property;
  object_class->finalize = small_proxy_finalize;
  g_object_class_override_property (object_class, 1, "listener");
}

static void
small_proxy_init (SmallProxy *self)
{
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
  g_weak_ref_init (&self->latest, NULL);
  self->ports = g_hash_table_new_full (NULL, NULL, NULL, port_free);
}

SmallProxy *
small_proxy_new (void)
{
  return g_object_new (SMALL_TYPE_PROXY, NULL);
}

static guint
count_listeners (SmallProxy *self)
{
  return g_hash_table_size (self->ports);
}

static guint
count_held (SmallProxy *self)
{
  GHashTableIter iter;
  gpointer port;
  guint n = 0;

  g_hash_table_iter_init (&iter, self->ports);
  while (g_hash_table_iter_next (&iter, NULL, &port))
    n += ((Port *)port)->n_held;
  return n;
}

guint
small_proxy_count_listeners (SmallProxy *self)
{
  guint n;

  g_mutex_lock (&self->lock);
  n = count_listeners (self);
  g_mutex_unlock (&self->lock);
  return n;
}

static void
wait_for (SmallProxy *self, guint (*count) (SmallProxy *self), guint n)
{
  gint64 deadline = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;

  g_mutex_lock (&self->lock);
  while (count (self) != n && g_cond_wait_until (&self->changed, &self->lock, deadline))
    ;
  g_assert_cmpuint (count (self), ==, n);
  g_mutex_unlock (&self->lock);
}

void
small_proxy_wait_listeners (SmallProxy *self, guint n)
{
  wait_for (self, count_listeners, n);
}

void
small_proxy_wait_held (SmallProxy *self, guint n)
{
  wait_for (self, count_held, n);
}

PrismEgressListener *
small_proxy_dup_latest (SmallProxy *self)
{
  return g_weak_ref_get (&self->latest);
}

void
small_proxy_refuse_next (SmallProxy *self)
{
  self->refuse = TRUE;
}
