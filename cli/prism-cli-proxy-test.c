/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The egress proxy on trial: a listener on loopback, one rule, and an origin of ours.
 * What the proxy answers is text to us, and has a bound; each wait has one too. */
#include "prism-cli-proxy-test.h"

#include <gio/gio.h>
#include <glib/gi18n.h>
#include <string.h>

#define PATIENCE_S 10
#define MAX_ANSWER 8192

static const char greeting[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nprism";

typedef struct
{
  PrismHealthReport *report;
  PrismEgressProxy *proxy;
  PrismEgressListener *listener;
  PrismAuditLog *audit;
  GSocket *origin;
  guint16 port; /* the origin's */
} Trial;

static void
trial_clear (Trial *self)
{
  g_clear_object (&self->listener);
  g_clear_object (&self->proxy);
  g_clear_object (&self->audit);
  g_clear_object (&self->origin);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Trial, trial_clear)

static void
add (Trial *self, const char *id, gboolean good, const char *summary, const char *remedy)
{
  g_autoptr (PrismHealthCheck) check = prism_health_check_new (
      id, good ? PRISM_HEALTH_STATUS_PASS : PRISM_HEALTH_STATUS_FAIL, summary, remedy, PRISM_CONTROLS_EGRESS);

  prism_health_report_add (self->report, check);
}

static GSocketAddress *
loopback (guint16 port)
{
  g_autoptr (GInetAddress) address = g_inet_address_new_loopback (G_SOCKET_FAMILY_IPV4);

  return g_inet_socket_address_new (address, port);
}

static GSocket *
new_socket (GError **error)
{
  GSocket *socket = g_socket_new (G_SOCKET_FAMILY_IPV4, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT, error);

  if (socket != NULL)
    g_socket_set_timeout (socket, PATIENCE_S);
  return socket;
}

static gboolean
open_origin (Trial *self, GError **error)
{
  g_autoptr (GSocketAddress) any = loopback (0);
  g_autoptr (GSocketAddress) own = NULL;

  self->origin = new_socket (error);
  if (self->origin == NULL || !g_socket_bind (self->origin, any, FALSE, error)
      || !g_socket_listen (self->origin, error))
    return FALSE;
  own = g_socket_get_local_address (self->origin, error);
  if (own == NULL)
    return FALSE;
  self->port = g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (own));
  return TRUE;
}

/* Exactly the origin is allowed. */
static gboolean
open_listener (Trial *self, GError **error)
{
  g_autoptr (GSocketAddress) any = loopback (0);
  g_autoptr (PrismEgressPolicy) policy = NULL;
  PrismEgressRule *rules[1];

  rules[0] = prism_egress_rule_new ("127.0.0.1", self->port, PRISM_EGRESS_SCHEME_HTTP,
                                    PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE, error);
  if (rules[0] == NULL)
    return FALSE;
  policy = prism_egress_policy_new_for_rules (rules, 1, NULL, error);
  prism_egress_rule_unref (rules[0]);
  if (policy == NULL)
    return FALSE;
  self->audit = prism_audit_log_new ();
  self->listener = prism_egress_listener_new_for_address (any, policy);
  g_object_set (self->listener, "audit", self->audit, NULL);
  return prism_egress_proxy_start (self->proxy, NULL, error)
         && prism_egress_proxy_add_listener (self->proxy, self->listener, NULL, error);
}

static GSocket *
dial (Trial *self, GError **error)
{
  g_autofree char *endpoint = prism_egress_listener_dup_endpoint (self->listener);
  g_autoptr (GSocketConnectable) place = endpoint != NULL ? g_network_address_parse_uri (endpoint, 80, error) : NULL;
  g_autoptr (GSocketAddress) address = NULL;
  g_autoptr (GSocket) socket = NULL;

  if (place == NULL)
    return NULL;
  address = loopback (g_network_address_get_port (G_NETWORK_ADDRESS (place)));
  socket = new_socket (error);
  return socket != NULL && g_socket_connect (socket, address, NULL, error) ? g_steal_pointer (&socket) : NULL;
}

/* Whoever is first: the proxy at the origin, or its answer. */
static gboolean
proxy_came (Trial *self, GSocket *client)
{
  GPollFD fds[] = { { g_socket_get_fd (self->origin), G_IO_IN, 0 }, { g_socket_get_fd (client), G_IO_IN, 0 } };

  return g_poll (fds, G_N_ELEMENTS (fds), PATIENCE_S * 1000) > 0 && fds[0].revents != 0;
}

static gboolean
serve (Trial *self, GError **error)
{
  g_autoptr (GSocket) peer = g_socket_accept (self->origin, NULL, error);
  char head[MAX_ANSWER];
  gsize length = 0;

  if (peer == NULL)
    return FALSE;
  g_socket_set_timeout (peer, PATIENCE_S);
  while (g_strstr_len (head, (gssize)length, "\r\n\r\n") == NULL && length < sizeof head)
    {
      gssize n = g_socket_receive (peer, head + length, sizeof head - length, NULL, error);

      if (n <= 0)
        return n == 0;
      length += (gsize)n;
    }
  return g_socket_send (peer, greeting, sizeof greeting - 1, NULL, error) > 0;
}

/* What the proxy answers to one request. */
static char *
ask (Trial *self, const char *place, GError **error)
{
  g_autofree char *request =
      g_strdup_printf ("GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", place, place);
  g_autoptr (GSocket) client = dial (self, error);
  g_autoptr (GString) answer = g_string_new (NULL);
  char bytes[1024];
  gssize n = 1;

  if (client == NULL || g_socket_send (client, request, strlen (request), NULL, error) < 0)
    return NULL;
  if (proxy_came (self, client) && !serve (self, error))
    return NULL;
  while (answer->len < MAX_ANSWER && (n = g_socket_receive (client, bytes, sizeof bytes, NULL, error)) > 0)
    g_string_append_len (answer, bytes, n);
  return n < 0 ? NULL : g_string_free (g_steal_pointer (&answer), FALSE);
}

static char *
first_line (const char *answer)
{
  return g_strndup (answer, MIN (strcspn (answer, "\r\n"), 200));
}

static void
check_denied (Trial *self)
{
  static const char place[] = "denied.invalid";
  const char *remedy = _ ("do not use this proxy: what no rule allows must be refused; tell whoever made it");
  g_autoptr (GError) error = NULL;
  g_autofree char *answer = ask (self, place, &error);
  g_autofree char *line = answer != NULL ? first_line (answer) : NULL;
  g_autofree char *summary = NULL;

  if (answer != NULL && g_str_has_prefix (answer, "HTTP/1.1 403 ")
      && strstr (answer, "ERR_PRISM_EGRESS_DENIED") != NULL)
    {
      add (self, "egress.denies", TRUE, _ ("a host that no rule allows is refused"), NULL);
      return;
    }
  summary =
      g_strdup_printf (_ ("a host that no rule allows was not refused: %s"), line != NULL ? line : error->message);
  add (self, "egress.denies", FALSE, summary, remedy);
}

static void
check_allowed (Trial *self)
{
  g_autofree char *place = g_strdup_printf ("127.0.0.1:%u", self->port);
  g_autoptr (GError) error = NULL;
  g_autofree char *answer = ask (self, place, &error);
  g_autofree char *line = answer != NULL ? first_line (answer) : NULL;
  g_autofree char *summary = NULL;

  if (answer != NULL && g_str_has_prefix (answer, "HTTP/1.1 200 ") && g_str_has_suffix (answer, "prism"))
    {
      add (self, "egress.allows", TRUE, _ ("what a rule allows is reached"), NULL);
      return;
    }
  summary = g_strdup_printf (_ ("what a rule allows was not reached: %s"), line != NULL ? line : error->message);
  add (self, "egress.allows", FALSE, summary,
       _ ("see whether a firewall on this machine stands between its own programs on 127.0.0.1"));
}

/* After its end, when everything is counted. */
static void
check_audit (Trial *self)
{
  gint64 allowed = prism_audit_log_get_allowed (self->audit), denied = prism_audit_log_get_denied (self->audit);
  g_autofree char *summary = NULL;

  if (allowed == 1 && denied == 1)
    {
      add (self, "egress.audit", TRUE, _ ("both decisions were written down"), NULL);
      return;
    }
  summary = g_strdup_printf (_ ("of one allowed and one denied request, %s and %s were written down"),
                             allowed == 1 ? "1" : "0", denied == 1 ? "1" : "0");
  add (self, "egress.audit", FALSE, summary, _ ("do not rely on --audit with this proxy; tell whoever made it"));
}

PrismHealthReport *
prism_cli_test_egress_proxy (PrismRegistry *registry, const char *name)
{
  g_auto (Trial) self = { .report = prism_health_report_new (name) };
  g_autoptr (GError) error = NULL;

  self.proxy = prism_registry_create_egress_proxy (registry, name, &error);
  if (self.proxy == NULL)
    {
      add (&self, "plugin.load", FALSE, error->message, _ ("see “prism inspect”"));
      return self.report;
    }
  if (!open_origin (&self, &error) || !open_listener (&self, &error))
    {
      add (&self, "egress.start", FALSE, error->message,
           _ ("see that the loopback interface is up (ip link set lo up) and that descriptors are left (ulimit -n)"));
      return self.report;
    }
  add (&self, "egress.start", TRUE, _ ("starts, and listens on loopback"), NULL);
  check_denied (&self);
  check_allowed (&self);
  if (prism_egress_proxy_stop (self.proxy, NULL, &error))
    check_audit (&self);
  else
    add (&self, "egress.stop", FALSE, error->message, _ ("tell whoever made this proxy"));
  return self.report;
}
