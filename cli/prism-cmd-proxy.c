/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prism proxy: the egress proxy alone, for what is started elsewhere. SIGHUP reads the
 * policy file anew and opens the audit file anew; what is wrong with the new file is
 * said, and the policy before holds. SIGINT and SIGTERM end it cleanly. A socket of a
 * service manager's is taken over (LISTEN_FDS), and it is told how things stand
 * (NOTIFY_SOCKET). */
#include "prism-cli-audit.h"
#include "prism-cli-property.h"
#include "prism-cli.h"

#include <errno.h>
#include <gio/gunixsocketaddress.h>
#include <glib-unix.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_PASSED 3 /* SD_LISTEN_FDS_START */

static struct
{
  char *policy, *listen, *audit, *attest, *attest_key;
  char **settings;
  gboolean deny_direct_egress, quiet;
} options;

static GOptionEntry entries[] = {
  { "policy", 0, 0, G_OPTION_ARG_FILENAME, &options.policy, N_ ("Policy file, whose egress and credentials hold"),
    N_ ("FILE") },
  { "listen", 0, 0, G_OPTION_ARG_FILENAME, &options.listen,
    N_ ("A loopback address, or a Unix socket (default: 127.0.0.1:3128)"), N_ ("ADDR:PORT|unix:PATH") },
  { "audit", 0, 0, G_OPTION_ARG_FILENAME, &options.audit, N_ ("Write each decision there"), N_ ("FILE") },
  { "attest", 0, 0, G_OPTION_ARG_FILENAME, &options.attest, N_ ("Write what the proxy says of itself there"),
    N_ ("FILE") },
  { "attest-key", 0, 0, G_OPTION_ARG_FILENAME, &options.attest_key, N_ ("Sign that with this Ed25519 key (PEM)"),
    N_ ("FILE") },
  { "deny-direct-egress", 0, 0, G_OPTION_ARG_NONE, &options.deny_direct_egress,
    N_ ("You see to it that its users have no other way out; it says so"), NULL },
  { "proxy-set", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.settings,
    N_ ("Any property of the egress proxy, such as trust-file=CA.pem"), N_ ("NAME=VALUE") },
  { "quiet", 'q', 0, G_OPTION_ARG_NONE, &options.quiet, N_ ("Say nothing but errors"), NULL },
  G_OPTION_ENTRY_NULL,
};

GOptionEntry *
prism_cmd_proxy_entries (void)
{
  return entries;
}

typedef struct
{
  PrismEgressProxy *proxy;
  PrismEgressListener *listener;
  PrismAuditLog *audit;
  GMainLoop *loop;
} Service;

/* --- what a service manager is told, and gives ---------------------------------------- */

static void
notify (const char *text)
{
  const char *path = g_getenv ("NOTIFY_SOCKET");
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  gsize length = path != NULL ? strlen (path) : 0;
  int fd;

  if (length == 0 || length >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@'))
    return;
  memcpy (address.sun_path, path, length);
  if (path[0] == '@')
    address.sun_path[0] = '\0';
  fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd >= 0
      && sendto (fd, text, strlen (text), MSG_NOSIGNAL, (struct sockaddr *)&address,
                 (socklen_t)(offsetof (struct sockaddr_un, sun_path) + length))
             < 0)
    prism_cli_message (_ ("proxy: telling the service manager: %s"), g_strerror (errno));
  if (fd >= 0)
    close (fd);
}

/* How many sockets were passed; -1 with a message if not one. */
static int
count_passed (void)
{
  const char *pid = g_getenv ("LISTEN_PID"), *fds = g_getenv ("LISTEN_FDS");
  gint64 owner = pid != NULL ? g_ascii_strtoll (pid, NULL, 10) : 0;

  if (fds == NULL || owner != getpid ())
    return 0;
  if (g_str_equal (fds, "1"))
    return 1;
  prism_cli_message (_ ("proxy: the service manager passed %s sockets; one is taken"), fds);
  return -1;
}

/* --- where ------------------------------------------------------------------------------ */

static GSocketAddress *
parse_listen (const char *text, GError **error)
{
  g_autofree char *host = NULL;
  guint port = 0;

  if (g_str_has_prefix (text, "unix:") && text[5] != '\0')
    return g_unix_socket_address_new (text + 5);
  if (!g_str_has_prefix (text, "unix:") && prism_egress_split_authority (text, &host, &port, NULL)
      && g_hostname_is_ip_address (host))
    return g_inet_socket_address_new_from_string (host, port);
  /* A port of 0 is any that is free, which no authority can say. */
  if (g_str_equal (text, "127.0.0.1:0") || g_str_equal (text, "[::1]:0"))
    return g_inet_socket_address_new_from_string (text[0] == '[' ? "::1" : "127.0.0.1", 0);
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               _ ("--listen %s: it is an address of this machine's loopback and a port, such as 127.0.0.1:3128, or "
                  "unix:PATH"),
               text);
  return NULL;
}

static PrismEgressListener *
make_listener (PrismEgressPolicy *policy, int passed, GError **error)
{
  g_autoptr (GSocketAddress) address = NULL;
  g_autoptr (GSocket) socket = NULL;

  if (passed > 0 && options.listen != NULL)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   _ ("--listen and a socket of the service manager contradict each other"));
      return NULL;
    }
  if (passed > 0)
    {
      socket = g_socket_new_from_fd (FIRST_PASSED, error);
      return socket != NULL ? prism_egress_listener_new_for_socket (socket, policy) : NULL;
    }
  address = parse_listen (options.listen != NULL ? options.listen : "127.0.0.1:3128", error);
  return address != NULL ? prism_egress_listener_new_for_address (address, policy) : NULL;
}

/* --- the policy --------------------------------------------------------------------------- */

static PrismEgressPolicy *
load_policy (PrismPolicyFile **file, GError **error)
{
  PrismEgressPolicy *policy;

  *file = prism_policy_file_new_for_path (options.policy, error);
  if (*file == NULL)
    return NULL;
  policy = prism_policy_file_get_egress_policy (*file);
  if (policy == NULL)
    g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_MALFORMED,
                 _ ("%s: it does not say what may be reached (it has no “egress”)"), options.policy);
  return policy;
}

static gboolean
add_credentials (PrismEgressListener *listener, PrismPolicyFile *file, GError **error)
{
  g_autoptr (GListModel) credentials = prism_policy_file_load_credentials (file, error);

  for (guint i = 0; credentials != NULL && i < g_list_model_get_n_items (credentials); i++)
    {
      g_autoptr (PrismCredential) credential = g_list_model_get_item (credentials, i);
      prism_egress_listener_add_credential (listener, credential);
    }
  return credentials != NULL;
}

/* Only those of the proxy; the file may be a sandbox's too. */
static void
set_limits (PrismEgressListener *listener, PrismLimits *limits)
{
  GObjectClass *klass = G_OBJECT_GET_CLASS (listener);
  g_auto (GStrv) names = limits != NULL ? prism_limits_list_names (limits) : NULL;

  if (limits != NULL)
    g_object_set (listener, "profile", prism_limits_get_profile (limits), NULL);
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (prism_limits_is_set (limits, names[i]) && g_object_class_find_property (klass, names[i]) != NULL)
      g_object_set (listener, names[i], prism_limits_get (limits, names[i]), NULL);
}

/* --- what it says of itself ------------------------------------------------------------------ */

/* As a whole or not at all: whoever reads it never sees half. */
static gboolean
write_attestation (Service *self, GError **error)
{
  g_autoptr (PrismAttestation) attestation = NULL;
  g_autofree char *json = NULL;

  if (options.attest == NULL)
    return TRUE;
  attestation = prism_egress_proxy_attest (self->proxy, NULL, error);
  if (attestation == NULL)
    return FALSE;
  json = prism_attestation_to_json (attestation);
  return g_file_set_contents_full (options.attest, json, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0644, error);
}

static gboolean
read_key (PrismEgressProxy *proxy, GError **error)
{
  g_autofree char *pem = NULL;
  gsize length = 0;

  if (options.attest_key == NULL)
    return TRUE;
  if (g_object_class_find_property (G_OBJECT_GET_CLASS (proxy), "attest-key") == NULL)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   _ ("--attest-key: this egress proxy cannot sign what it says"));
      return FALSE;
    }
  if (!g_file_get_contents (options.attest_key, &pem, &length, error))
    return FALSE;
  g_object_set (proxy, "attest-key", pem, NULL);
  explicit_bzero (pem, length);
  return TRUE;
}

/* --- signals ------------------------------------------------------------------------------------ */

static gboolean
reload (gpointer data)
{
  Service *self = data;
  g_autoptr (PrismPolicyFile) file = NULL;
  g_autoptr (GError) error = NULL;
  PrismEgressPolicy *policy;

  notify ("RELOADING=1");
  policy = load_policy (&file, &error);
  if (policy != NULL && prism_egress_proxy_set_policy (self->proxy, NULL, policy, NULL, &error)
      && (self->audit == NULL || prism_audit_log_reopen (self->audit, &error)) && write_attestation (self, &error))
    {
      if (!options.quiet)
        prism_cli_message (_ ("proxy: policy %s, version %u"), prism_egress_policy_get_fingerprint (policy),
                           (guint)prism_egress_proxy_get_policy_version (self->proxy));
    }
  else
    prism_cli_message (_ ("proxy: not reloaded: %s"), error->message);
  notify ("READY=1");
  return G_SOURCE_CONTINUE;
}

static gboolean
quit (gpointer data)
{
  g_main_loop_quit (((Service *)data)->loop);
  return G_SOURCE_CONTINUE;
}

/* --- running -------------------------------------------------------------------------------------- */

static gboolean
set_up (Service *self, GError **error)
{
  g_autoptr (PrismPolicyFile) file = NULL;
  PrismEgressPolicy *policy = load_policy (&file, error);
  int passed = count_passed ();

  if (policy == NULL || passed < 0)
    return FALSE;
  self->listener = make_listener (policy, passed, error);
  if (self->listener == NULL || !add_credentials (self->listener, file, error))
    return FALSE;
  set_limits (self->listener, prism_policy_file_get_limits (file));
  if (options.audit != NULL && (self->audit = prism_audit_log_new_for_path (options.audit, error)) == NULL)
    return FALSE;
  g_object_set (self->listener, "audit", self->audit, "deny-direct-egress", options.deny_direct_egress, NULL);
  self->proxy =
      prism_cli_make_egress_proxy (prism_registry_get_default (), (const char *const *)options.settings, error);
  if (self->proxy == NULL || !read_key (self->proxy, error))
    return FALSE;
  g_object_set (self->proxy, "listener", self->listener, NULL);
  return prism_egress_proxy_start (self->proxy, NULL, error) && write_attestation (self, error);
}

static gboolean
serve (Service *self, GError **error)
{
  g_autofree char *endpoint = prism_egress_proxy_dup_endpoint (self->proxy);
  guint sources[] = { g_unix_signal_add (SIGHUP, reload, self), g_unix_signal_add (SIGINT, quit, self),
                      g_unix_signal_add (SIGTERM, quit, self) };

  if (!options.quiet && (printf ("%s\n", endpoint) < 0 || fflush (stdout) != 0))
    prism_cli_message (_ ("writing the standard output: %s"), g_strerror (errno));
  notify ("READY=1");
  g_main_loop_run (self->loop);
  notify ("STOPPING=1");
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++)
    g_source_remove (sources[i]);
  return prism_egress_proxy_stop (self->proxy, NULL, error) && prism_cli_audit_flush (self->audit, error);
}

int
prism_cmd_proxy (int argc, char **argv)
{
  Service service = { .loop = NULL };
  g_autoptr (GError) error = NULL;
  gboolean good = prism_cli_parse (prism_cli_find_command ("proxy"), entries, FALSE, &argc, &argv, &error);

  if (good && (argc != 1 || options.policy == NULL))
    {
      g_set_error (&error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                   _ ("proxy: say prism proxy --policy FILE; “prism proxy --help” lists the rest"));
      good = FALSE;
    }
  service.loop = g_main_loop_new (NULL, FALSE);
  good = good && set_up (&service, &error) && serve (&service, &error);
  if (error != NULL)
    prism_cli_error (error);
  g_clear_object (&service.proxy);
  g_clear_object (&service.listener);
  g_clear_object (&service.audit);
  g_main_loop_unref (service.loop);
  return good ? 0 : PRISM_EXIT_FAILED;
}
