/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pausing, the listener inside, where the agent's program is, and what is kept
 * out of messages. */
#include "prism-agent-ask-private.h"
#include "prism-agent-lifecycle-private.h"

#include "prism-fd-private.h"
#include "prism-operations-private.h"
#include "prism-sandbox-error-private.h"

#include <netinet/in.h>
#include <sys/auxv.h>
#include <sys/socket.h>

/* --- pause and resume: the subclass's, the status ours --- */

static char *
dup_origin (gpointer sandbox)
{
  return prism_sandbox_dup_backend_name (sandbox);
}

static const PrismMethod pause_method = {
  .name = "pause",
  .vfunc = G_STRUCT_OFFSET (PrismAgentSandboxClass, pause),
  .errors = &prism_sandbox_operation_errors,
  .dup_origin = dup_origin,
};

static const PrismMethod resume_method = {
  .name = "resume",
  .vfunc = G_STRUCT_OFFSET (PrismAgentSandboxClass, resume),
  .errors = &prism_sandbox_operation_errors,
  .dup_origin = dup_origin,
};

typedef struct
{
  PrismControlOperation *operation;
  PrismSandboxStatus from;
  PrismSandboxStatus to;
  const PrismMethod *method; /* of the subclass */
} Change;

static void
answer_change (PrismAgentSandbox *self, Change *change, const GError *error)
{
  if (error != NULL)
    prism_operation_fail (PRISM_OPERATION (change->operation), error);
  else if (prism_agent_lifecycle_change (prism_agent_sandbox_get_lifecycle (self), change->from, change->to))
    {
      prism_agent_channel_look_at_clocks (prism_agent_sandbox_get_channel (self));
      prism_control_operation_complete (change->operation);
    }
  else
    prism_operation_fail_literal (PRISM_OPERATION (change->operation), PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE,
                                  "the sandbox ended meanwhile");
}

static void
changed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autofree Change *change = user_data;
  g_autoptr (PrismControlOperation) operation = change->operation;
  g_autoptr (GError) error = NULL;
  prism_operation_finish (source, result, change->method, &error);
  answer_change (PRISM_AGENT_SANDBOX (source), change, error);
}

static void
change_status (PrismAgentSandbox *self, PrismControlOperation *operation, const PrismMethod *method, Change change)
{
  PrismOperation *inner = prism_control_operation_new (NULL);
  GCancellable *cancellable = prism_operation_get_cancellable (PRISM_OPERATION (operation));
  gint64 left = MAX (prism_operation_get_deadline (PRISM_OPERATION (operation)) - g_get_monotonic_time (), 1000) / 1000;
  change.operation = operation;
  change.method = method;
  if (prism_operation_get_may_block (PRISM_OPERATION (operation)))
    {
      g_autoptr (GError) error = NULL;
      prism_operation_run (inner, self, method, left, cancellable, &error);
      answer_change (self, &change, error);
      return;
    }
  g_object_ref (operation);
  prism_operation_start (inner, NULL, self, method, left, cancellable, changed, g_memdup2 (&change, sizeof change));
}

static void
agent_pause (PrismSandbox *sandbox, PrismControlOperation *operation)
{
  PrismAgentSandbox *self = PRISM_AGENT_SANDBOX (sandbox);
  g_autoptr (GError) error = NULL;
  if (!prism_agent_sandbox_check_running (self, &error))
    prism_operation_fail (PRISM_OPERATION (operation), error);
  else
    change_status (self, operation, &pause_method,
                   (Change){ .from = PRISM_SANDBOX_STATUS_RUNNING, .to = PRISM_SANDBOX_STATUS_STOPPED });
}

static void
agent_resume (PrismSandbox *sandbox, PrismControlOperation *operation)
{
  PrismAgentSandbox *self = PRISM_AGENT_SANDBOX (sandbox);
  PrismAgentLifecycle *lifecycle = prism_agent_sandbox_get_lifecycle (self);
  g_autoptr (GError) error = NULL;
  if (!prism_agent_lifecycle_check_owner (lifecycle, &error))
    {
      prism_operation_fail (PRISM_OPERATION (operation), error);
      return;
    }
  if (!prism_agent_lifecycle_is_paused (lifecycle))
    {
      prism_operation_fail_literal (PRISM_OPERATION (operation), PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE,
                                    "the sandbox is not paused");
      return;
    }
  prism_agent_channel_tell_resumed (prism_agent_sandbox_get_channel (self),
                                    prism_agent_lifecycle_claim_paused (lifecycle));
  change_status (self, operation, &resume_method,
                 (Change){ .from = PRISM_SANDBOX_STATUS_STOPPED, .to = PRISM_SANDBOX_STATUS_RUNNING });
}

void
prism_agent_sandbox_thaw (PrismAgentSandbox *self)
{
  g_autoptr (GError) error = NULL;
  prism_operation_run (prism_control_operation_new (NULL), self, &resume_method, PRISM_OPERATION_DEADLINE_MS, NULL,
                       &error);
  if (error != NULL)
    g_debug ("resuming before the end: %s", error->message);
}

void
prism_agent_pause_init_interface (PrismSandboxInterface *iface)
{
  iface->pause = agent_pause;
  iface->resume = agent_resume;
}

const char *
prism_agent_sandbox_find_limit (PrismAgentSandbox *self)
{
  PrismAgentSandboxClass *klass = PRISM_AGENT_SANDBOX_GET_CLASS (self);
  return klass->find_limit != NULL ? klass->find_limit (self) : NULL;
}

/* --- why it was lost --- */

char *
prism_agent_sandbox_dup_loss (PrismAgentSandbox *self)
{
  PrismAgentSandboxClass *klass = PRISM_AGENT_SANDBOX_GET_CLASS (self);
  PrismAgentChannel *channel = prism_agent_sandbox_get_channel (self);
  g_autoptr (GError) error = NULL;
  PrismAgentEnd end = prism_agent_channel_get_end (channel, &error);
  if (end == PRISM_AGENT_END_LOST && klass->explain_loss != NULL && prism_agent_channel_hung_up (channel))
    {
      g_autofree char *why = klass->explain_loss (self);
      if (why != NULL)
        return g_strdup_printf ("%s: %s", error->message, why);
    }
  return g_strdup (error != NULL ? error->message : "its end was not seen");
}

/* --- the listener --- */

/* It comes from inside: anything but a listening TCP socket on 127.0.0.1:@port is
 * a lie that a proxy must never accept on. */
static gboolean
is_listener (int fd, guint16 port)
{
  int domain = 0, type = 0, listening = 0;
  socklen_t size = sizeof domain, name_size = sizeof (struct sockaddr_in);
  struct sockaddr_in name = { 0 };
  return getsockopt (fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_INET
         && getsockopt (fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM
         && getsockopt (fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening == 1
         && getsockname (fd, (struct sockaddr *)&name, &name_size) == 0 && name.sin_family == AF_INET
         && name.sin_addr.s_addr == htonl (INADDR_LOOPBACK) && (port == 0 || name.sin_port == htons (port));
}

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

/* Whether it is in this process's own network namespace: then whoever is on the host
 * could come in by it. A kernel before 5.14 does not say, and the boundary's own
 * evidence has to do. */
static gboolean
is_in_own_network (int fd)
{
  guint64 theirs = 0, ours = 0;
  socklen_t size = sizeof theirs;
  prism_autofd int own = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return own >= 0 && getsockopt (fd, SOL_SOCKET, SO_NETNS_COOKIE, &theirs, &size) == 0
         && getsockopt (own, SOL_SOCKET, SO_NETNS_COOKIE, &ours, &size) == 0 && theirs == ours;
}

static gboolean
check_listener (PrismAgentChannel *channel, int fd, guint16 port, GError **error)
{
  if (!is_listener (fd, port))
    {
      prism_agent_channel_accuse (channel, "a listener that is none");
      prism_agent_channel_get_end (channel, error);
      return FALSE;
    }
  if (!is_in_own_network (fd))
    return TRUE;
  g_set_error_literal (
      error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
      "no listener inside: the sandbox is in this machine's own network, where everybody could use it");
  return FALSE;
}

/**
 * prism_agent_sandbox_listen:
 * @self: a sandbox
 * @port: on 127.0.0.1 inside
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Makes a listening socket in the sandbox's own network namespace. Whoever
 * accepts on its descriptor knows by that which sandbox is asking. Blocking.
 *
 * Returns: a descriptor that the caller closes, or -1
 *
 * Since: 1.0
 */
int
prism_agent_sandbox_listen (PrismAgentSandbox *self, guint16 port, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_AGENT_SANDBOX (self), -1);
  if (!prism_agent_sandbox_check_running (self, error))
    return -1;
  if (prism_agent_sandbox_is_framed (self)
      || (prism_agent_sandbox_get_hello (self)->features & PRISM_WIRE_FEATURE_LISTEN) == 0)
    {
      g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_SUPPORTED,
                           "no listener inside: no descriptor can be passed out of this sandbox");
      return -1;
    }
  PrismAgentAsk *ask = prism_agent_ask_new (self, NULL, PRISM_WIRE_LISTEN, "listener", NULL, NULL);
  prism_agent_frame_put (&ask->frame, port, 2);
  gint64 deadline = g_get_monotonic_time () + PRISM_OPERATION_DEADLINE_MS * 1000;
  prism_autofd int fd = -1;
  if (prism_agent_ask_wait (ask, deadline, cancellable, error))
    {
      fd = g_steal_fd (&ask->ticket->call.fd);
      if (!check_listener (ask->channel, fd, port, error))
        prism_clear_fd (&fd);
    }
  prism_agent_job_unref (&ask->job);
  return g_steal_fd (&fd);
}

/* --- the program --- */

/**
 * prism_agent_get_path:
 *
 * Where prism-agent is. PRISM_AGENT overrides it, except in a program that runs
 * with more rights than its caller has.
 *
 * Returns: (type filename): an absolute path
 *
 * Since: 1.0
 */
const char *
prism_agent_get_path (void)
{
  static gsize once;
  if (g_once_init_enter (&once))
    {
      const char *override = getauxval (AT_SECURE) == 0 ? g_getenv ("PRISM_AGENT") : NULL;
      char *path = override != NULL && g_path_is_absolute (override) ? g_strdup (override)
                                                                     : g_strdup (PRISM_LIBEXECDIR "/prism-agent");
      g_once_init_leave (&once, (gsize)path);
    }
  return (const char *)once;
}
