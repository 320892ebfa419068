/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The base of every backend that gets prism-agent running inside a boundary.
 * TRUST. The subclass is trusted; the agent is not: see the channel. */
#include "prism-agent-sandbox.h"

#include "prism-agent-egress-private.h"
#include "prism-agent-process-private.h"
#include "prism-agent-setup-private.h"
#include "prism-limits-private.h"
#include "prism-operation-private.h"
#include "prism-redactor.h"
#include "prism-sandbox-error.h"
#include "prism-sandbox-spec-private.h"

#include <gio/gunixconnection.h>

typedef struct
{
  PrismSandboxSpec *spec;
  GIOStream *connection;
  gboolean framed;
  gboolean harden;
  gboolean prepared; /* its set-up was sent */
  char **environment;
  char *backend_name;
  char *id;
  char *workspace;
  char *reference;
  GMutex lock; /* for capabilities and connection */
  PrismCapabilities *capabilities;

  PrismRedactor *redactor; /* NULL: there are no secrets */

  PrismAgentLimits limits;
  PrismAgentChannel *channel;
  gint started; /* atomic */
  PrismAgentHello hello;
  PrismAgentAdmission admission;
  PrismAgentLifecycle lifecycle;
  PrismAgentEgress egress;
  gint64 wall_deadline;
  gint64 age_ms;
  GPtrArray *processes; /* PrismAgentProcess, under the lock; the oldest first */
} PrismAgentSandboxPrivate;

enum
{
  PROP_0,
  PROP_SPEC,
  PROP_CONNECTION,
  PROP_FRAMED,
  PROP_HARDEN,
  PROP_ENVIRONMENT,
  N_OWN_PROPS,
  PROP_ID = N_OWN_PROPS,
  PROP_BACKEND_NAME,
  PROP_WORKSPACE,
  PROP_REFERENCE,
  PROP_STATUS,
  PROP_CAPABILITIES,
};

static GParamSpec *props[N_OWN_PROPS];

static void prism_agent_sandbox_init_interface (PrismSandboxInterface *iface);

/**
 * PrismAgentSandbox:
 *
 * The base of every backend that gets prism-agent running inside a boundary: a
 * subclass hands over a connected stream and says how to end what it made. All
 * the rest is done here.
 *
 * A subclass keeps what its `terminate` needs until finalize: a sandbox that is
 * dropped without being closed is terminated after its dispose began, unless its
 * lifetime is detached: then it lives on until its wall time.
 *
 * Since: 1.0
 */
G_DEFINE_ABSTRACT_TYPE_WITH_CODE (PrismAgentSandbox,
                                  prism_agent_sandbox,
                                  G_TYPE_OBJECT,
                                  G_ADD_PRIVATE (PrismAgentSandbox)
                                      G_IMPLEMENT_INTERFACE (PRISM_TYPE_SANDBOX, prism_agent_sandbox_init_interface))

static PrismAgentSandboxPrivate *
priv_of (PrismAgentSandbox *self)
{
  return prism_agent_sandbox_get_instance_private (self);
}

/* --- what the other parts ask --- */

gboolean
prism_agent_sandbox_check_running (PrismAgentSandbox *self, GError **error)
{
  PrismAgentSandboxPrivate *priv = priv_of (self);
  if (!prism_agent_lifecycle_check_running (&priv->lifecycle, error))
    return FALSE;
  if (g_atomic_int_get (&priv->started))
    return TRUE;
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE, "the sandbox has not started yet");
  return FALSE;
}

PrismAgentChannel *
prism_agent_sandbox_get_channel (PrismAgentSandbox *self)
{
  return priv_of (self)->channel;
}

const PrismAgentLimits *
prism_agent_sandbox_get_limits (PrismAgentSandbox *self)
{
  return &priv_of (self)->limits;
}

PrismAgentAdmission *
prism_agent_sandbox_get_admission (PrismAgentSandbox *self)
{
  return &priv_of (self)->admission;
}

PrismAgentLifecycle *
prism_agent_sandbox_get_lifecycle (PrismAgentSandbox *self)
{
  return &priv_of (self)->lifecycle;
}

PrismAgentEgress *
prism_agent_sandbox_get_egress (PrismAgentSandbox *self)
{
  return &priv_of (self)->egress;
}

gboolean
prism_agent_sandbox_is_framed (PrismAgentSandbox *self)
{
  return priv_of (self)->framed;
}

const PrismAgentHello *
prism_agent_sandbox_get_hello (PrismAgentSandbox *self)
{
  return &priv_of (self)->hello;
}

gint64
prism_agent_sandbox_get_wall_deadline (PrismAgentSandbox *self)
{
  return priv_of (self)->wall_deadline;
}

const char *
prism_agent_sandbox_get_workspace (PrismAgentSandbox *self)
{
  return priv_of (self)->workspace;
}

char *
prism_agent_sandbox_redact (PrismAgentSandbox *self, const char *text)
{
  PrismRedactor *redactor = priv_of (self)->redactor;
  return redactor != NULL ? prism_redactor_redact (redactor, text) : g_strdup (text);
}

void
prism_agent_sandbox_forget_stream (PrismAgentSandbox *self)
{
  PrismAgentSandboxPrivate *priv = priv_of (self);
  g_mutex_lock (&priv->lock);
  g_autoptr (GIOStream) connection = g_steal_pointer (&priv->connection);
  g_mutex_unlock (&priv->lock);
  if (connection != NULL)
    g_io_stream_close (connection, NULL, NULL);
}

/* --- its processes --- */

/* Ended ones that can still be asked for; running ones are bounded by max-processes. */
#define REMEMBERED 16

static gboolean
has_ended (PrismAgentProcess *process)
{
  PrismAgentChild *child = prism_agent_process_get_child (process);
  g_mutex_lock (&child->lock);
  gboolean ended = child->ended;
  g_mutex_unlock (&child->lock);
  return ended;
}

void
prism_agent_sandbox_remember (PrismAgentSandbox *self, PrismAgentProcess *process)
{
  PrismAgentSandboxPrivate *priv = priv_of (self);
  g_autoptr (PrismAgentProcess) forgotten = NULL;
  guint ended = 0, oldest = G_MAXUINT;
  g_mutex_lock (&priv->lock);
  for (guint i = 0; i < priv->processes->len; i++)
    if (has_ended (g_ptr_array_index (priv->processes, i)))
      {
        oldest = MIN (oldest, i);
        ended++;
      }
  if (ended >= REMEMBERED)
    forgotten = g_ptr_array_steal_index (priv->processes, oldest);
  g_ptr_array_add (priv->processes, g_object_ref (process));
  g_mutex_unlock (&priv->lock);
}

static guint
find_process_locked (PrismAgentSandboxPrivate *priv, const char *reference)
{
  for (guint i = 0; i < priv->processes->len; i++)
    if (g_str_equal (prism_agent_process_get_child (g_ptr_array_index (priv->processes, i))->reference, reference))
      return i;
  return G_MAXUINT;
}

void
prism_agent_sandbox_forget (PrismAgentSandbox *self, const char *reference)
{
  PrismAgentSandboxPrivate *priv = priv_of (self);
  g_autoptr (PrismAgentProcess) forgotten = NULL;
  g_mutex_lock (&priv->lock);
  guint i = find_process_locked (priv, reference);
  if (i != G_MAXUINT)
    forgotten = g_ptr_array_steal_index (priv->processes, i);
  g_mutex_unlock (&priv->lock);
}

PrismAgentProcess *
prism_agent_sandbox_recall (PrismAgentSandbox *self, const char *reference)
{
  PrismAgentSandboxPrivate *priv = priv_of (self);
  g_mutex_lock (&priv->lock);
  guint i = find_process_locked (priv, reference);
  PrismAgentProcess *process = i != G_MAXUINT ? g_object_ref (g_ptr_array_index (priv->processes, i)) : NULL;
  g_mutex_unlock (&priv->lock);
  return process;
}

/* --- starting --- */

static void
lost_arrived (const GError *error, gpointer user_data)
{
  g_autoptr (PrismAgentSandbox) self = g_weak_ref_get (user_data);
  if (self != NULL)
    prism_agent_lifecycle_fail (&priv_of (self)->lifecycle, PRISM_AGENT_END_LOST, error);
}

static void
weak_ref_free (gpointer data)
{
  g_weak_ref_clear (data);
  g_free (data);
}

static gboolean
open_channel (PrismAgentSandbox *self, GError **error)
{
  PrismAgentSandboxPrivate *priv = priv_of (self);
  priv->framed = priv->framed || !G_IS_UNIX_CONNECTION (priv->connection);
  int fd = prism_agent_stream_open (priv->connection, error);
  if (fd < 0)
    return FALSE;
  priv->channel = prism_agent_channel_new (fd, !priv->framed);
  GWeakRef *weak = g_new0 (GWeakRef, 1);
  g_weak_ref_init (weak, self);
  prism_agent_channel_set_lost (priv->channel, lost_arrived, weak, weak_ref_free);
  return TRUE;
}

static gboolean
send_setup (PrismAgentSandbox *self, GError **error)
{
  PrismAgentSandboxPrivate *priv = priv_of (self);
  g_auto (PrismAgentFrame) frame = { 0 };
  prism_agent_setup_write (&frame, priv->spec, (const char *const *)priv->environment, priv->workspace, &priv->limits,
                           priv->age_ms, priv->harden);
  if (frame.overflow)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT,
                   "the sandbox's environment is larger than %u KiB", PRISM_WIRE_MAX_PAYLOAD / 1024);
      return FALSE;
    }
  if (prism_agent_channel_send (priv->channel, &frame, NULL))
    return TRUE;
  prism_agent_channel_get_end (priv->channel, error);
  return FALSE;
}

/* Without network=egress there is nothing to do. */
static gboolean
open_egress (PrismAgentSandbox *self, GCancellable *cancellable, GError **error)
{
  PrismAgentSandboxPrivate *priv = priv_of (self);
  if (prism_sandbox_spec_get_network (priv->spec) != PRISM_NETWORK_MODE_EGRESS)
    return TRUE;
  g_autoptr (PrismCapabilities) capabilities = prism_sandbox_dup_capabilities (PRISM_SANDBOX (self));
  gboolean restricted = capabilities != NULL && prism_capabilities_get_egress_restricted (capabilities);
  return prism_agent_egress_open (&priv->egress, self, priv->id, restricted, cancellable, error);
}

/**
 * prism_agent_sandbox_prepare:
 * @self: a sandbox that has not started
 * @error: return location for an error
 *
 * Sends the agent its set-up before it has said hello, for a backend that made the
 * connection and starts the agent of this very version on its other end: the agent
 * finds the set-up there and need not be woken for it. Not needed:
 * prism_agent_sandbox_start() does what has not been done. Does not wait. Where it
 * fails, close the sandbox.
 *
 * Returns: whether it was sent, or will be when there is room
 *
 * Since: 1.0
 */
gboolean
prism_agent_sandbox_prepare (PrismAgentSandbox *self, GError **error)
{
  g_return_val_if_fail (PRISM_IS_AGENT_SANDBOX (self), FALSE);
  PrismAgentSandboxPrivate *priv = priv_of (self);
  g_return_val_if_fail (priv->channel == NULL && priv->spec != NULL && priv->connection != NULL, FALSE);

  priv->prepared = open_channel (self, error) && send_setup (self, error);
  return priv->prepared;
}

/* What the agent can do is known once it has said hello. */
static gboolean
greet (PrismAgentSandbox *self, gint64 deadline, GCancellable *cancellable, GError **error)
{
  PrismAgentSandboxPrivate *priv = priv_of (self);

  if (!priv->prepared && !open_channel (self, error))
    return FALSE;
  if (!prism_agent_channel_greet (priv->channel, deadline, cancellable, &priv->hello, error))
    return FALSE;
  priv->framed = priv->framed || (priv->hello.features & PRISM_WIRE_FEATURE_FDS) == 0;
  return priv->prepared || send_setup (self, error);
}

/**
 * prism_agent_sandbox_start:
 * @self: a sandbox that has not started
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Waits for the agent's hello, for no longer than the limit
 * `startup-timeout-ms`, and sends it its set-up, if that was not done. With
 * network=egress it also opens the way out, through a listener of the sandbox's own
 * that ends with it; set the capabilities before. Blocking: for a worker thread, or a
 * create_sandbox operation that may block. Where it fails, close the sandbox: what the subclass made is ended
 * by its `terminate`.
 *
 * Returns: whether commands can be run now
 *
 * Since: 1.0
 */
gboolean
prism_agent_sandbox_start (PrismAgentSandbox *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_AGENT_SANDBOX (self), FALSE);
  PrismAgentSandboxPrivate *priv = priv_of (self);
  g_return_val_if_fail ((priv->prepared || priv->channel == NULL) && priv->spec != NULL && priv->connection != NULL,
                        FALSE);

  gint64 deadline = g_get_monotonic_time () + priv->limits.startup_timeout_ms * 1000;
  if (!greet (self, deadline, cancellable, error))
    return FALSE;
  if (priv->limits.wall_time_ms > 0)
    priv->wall_deadline = g_get_monotonic_time () + MAX (priv->limits.wall_time_ms - priv->age_ms, 1) * 1000;
  g_atomic_int_set (&priv->started, TRUE);
  return prism_agent_clock_start (self, &priv->lifecycle, error) && open_egress (self, cancellable, error);
}

/**
 * prism_agent_sandbox_set_age:
 * @self: a sandbox that has not started
 * @age_ms: how long ago it was made, by an earlier host
 *
 * For a subclass whose backend connects to a sandbox that is there: the limit
 * `wall-time-ms` counts from the making, not from the connection.
 *
 * Since: 1.0
 */
void
prism_agent_sandbox_set_age (PrismAgentSandbox *self, gint64 age_ms)
{
  g_return_if_fail (PRISM_IS_AGENT_SANDBOX (self));
  g_return_if_fail (age_ms >= 0);
  priv_of (self)->age_ms = age_ms;
}

/**
 * prism_agent_sandbox_set_capabilities:
 * @self: a sandbox
 * @capabilities: what was applied and what a probe saw of it
 *
 * For the subclass, before anybody else has the sandbox.
 *
 * Since: 1.0
 */
void
prism_agent_sandbox_set_capabilities (PrismAgentSandbox *self, PrismCapabilities *capabilities)
{
  g_return_if_fail (PRISM_IS_AGENT_SANDBOX (self));
  g_return_if_fail (capabilities != NULL);
  PrismAgentSandboxPrivate *priv = priv_of (self);
  g_mutex_lock (&priv->lock);
  PrismCapabilities *old = priv->capabilities;
  priv->capabilities = prism_capabilities_ref (capabilities);
  g_mutex_unlock (&priv->lock);
  if (old != NULL)
    prism_capabilities_unref (old);
  g_object_notify (G_OBJECT (self), "capabilities");
}

/**
 * prism_agent_sandbox_get_spec:
 * @self: a sandbox
 *
 * Tells what it was made of.
 *
 * Returns: (transfer none): what it was made of
 *
 * Since: 1.0
 */
PrismSandboxSpec *
prism_agent_sandbox_get_spec (PrismAgentSandbox *self)
{
  g_return_val_if_fail (PRISM_IS_AGENT_SANDBOX (self), NULL);
  return priv_of (self)->spec;
}

/**
 * prism_agent_sandbox_lost:
 * @self: a sandbox
 * @error: what happened to it
 *
 * For the subclass: it saw the boundary end. Everything pending ends as lost, and
 * the sandbox is terminated in the background.
 *
 * Since: 1.0
 */
void
prism_agent_sandbox_lost (PrismAgentSandbox *self, const GError *error)
{
  g_return_if_fail (PRISM_IS_AGENT_SANDBOX (self));
  g_return_if_fail (error != NULL);
  prism_agent_lifecycle_fail (&priv_of (self)->lifecycle, PRISM_AGENT_END_LOST, error);
}

/* --- stop, kill, close --- */

static void
agent_stop (PrismSandbox *sandbox, PrismControlOperation *operation)
{
  PrismAgentSandboxPrivate *priv = priv_of (PRISM_AGENT_SANDBOX (sandbox));
  gint64 grace = prism_control_operation_get_grace_ms (operation);
  prism_agent_lifecycle_end (&priv->lifecycle, PRISM_SANDBOX_STATUS_STOPPED,
                             grace < 0 ? priv->limits.stop_grace_ms : grace, operation);
}

static void
agent_kill (PrismSandbox *sandbox, PrismControlOperation *operation)
{
  PrismAgentSandboxPrivate *priv = priv_of (PRISM_AGENT_SANDBOX (sandbox));
  prism_agent_lifecycle_end (&priv->lifecycle, PRISM_SANDBOX_STATUS_STOPPED, 0, operation);
}

static void
agent_close (PrismSandbox *sandbox, PrismControlOperation *operation)
{
  PrismAgentSandboxPrivate *priv = priv_of (PRISM_AGENT_SANDBOX (sandbox));
  prism_agent_lifecycle_end (&priv->lifecycle, PRISM_SANDBOX_STATUS_REMOVED, 0, operation);
}

static void
prism_agent_sandbox_init_interface (PrismSandboxInterface *iface)
{
  iface->exec = prism_agent_exec;
  iface->stop = agent_stop;
  iface->kill = agent_kill;
  iface->close = agent_close;
  prism_agent_processes_init_interface (iface);
  prism_agent_pause_init_interface (iface);
  prism_agent_egress_init_interface (iface);
  prism_agent_files_init_interface (iface);
  prism_agent_trees_init_interface (iface);
}

/* --- the object --- */

static void
prism_agent_sandbox_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismAgentSandboxPrivate *priv = priv_of (PRISM_AGENT_SANDBOX (object));
  switch (id)
    {
    case PROP_SPEC:
      priv->spec = g_value_dup_object (value);
      break;
    case PROP_CONNECTION:
      priv->connection = g_value_dup_object (value);
      break;
    case PROP_FRAMED:
      priv->framed = g_value_get_boolean (value);
      break;
    case PROP_HARDEN:
      priv->harden = g_value_get_boolean (value);
      break;
    case PROP_ENVIRONMENT:
      priv->environment = g_value_dup_boxed (value);
      break;
    case PROP_ID:
      priv->id = g_value_dup_string (value);
      break;
    case PROP_BACKEND_NAME:
      priv->backend_name = g_value_dup_string (value);
      break;
    case PROP_WORKSPACE:
      priv->workspace = g_value_dup_string (value);
      break;
    case PROP_REFERENCE:
      priv->reference = g_value_dup_string (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_agent_sandbox_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismAgentSandboxPrivate *priv = priv_of (PRISM_AGENT_SANDBOX (object));
  switch (id)
    {
    case PROP_SPEC:
      g_value_set_object (value, priv->spec);
      break;
    case PROP_FRAMED:
      g_value_set_boolean (value, priv->framed);
      break;
    case PROP_HARDEN:
      g_value_set_boolean (value, priv->harden);
      break;
    case PROP_ENVIRONMENT:
      g_value_set_boxed (value, priv->environment);
      break;
    case PROP_ID:
      g_value_set_string (value, priv->id);
      break;
    case PROP_BACKEND_NAME:
      g_value_set_string (value, priv->backend_name);
      break;
    case PROP_WORKSPACE:
      g_value_set_string (value, priv->workspace);
      break;
    case PROP_REFERENCE:
      g_value_set_string (value, priv->reference);
      break;
    case PROP_STATUS:
      if (g_atomic_int_get (&priv->started) && prism_agent_lifecycle_check_owner (&priv->lifecycle, NULL))
        prism_agent_channel_look (priv->channel);
      g_value_set_enum (value, prism_agent_lifecycle_get_status (&priv->lifecycle));
      break;
    case PROP_CAPABILITIES:
      g_mutex_lock (&priv->lock);
      g_value_set_boxed (value, priv->capabilities);
      g_mutex_unlock (&priv->lock);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
take_limits (PrismAgentLimits *limits, PrismLimits *from)
{
  limits->startup_timeout_ms = prism_limits_get (from, "startup-timeout-ms");
  limits->wall_time_ms = prism_limits_get (from, "wall-time-ms");
  limits->idle_timeout_ms = prism_limits_get (from, "idle-timeout-ms");
  limits->max_fds = prism_limits_get (from, "max-fds");
  limits->max_commands = prism_limits_get (from, "max-commands");
  limits->max_concurrent_execs = prism_limits_get (from, "max-concurrent-execs");
  limits->max_processes = prism_limits_get (from, "max-processes");
  limits->max_file_bytes = prism_limits_get (from, "max-file-bytes");
  limits->max_export_entries = prism_limits_get (from, "max-export-entries");
  limits->max_export_bytes = prism_limits_get (from, "max-export-bytes");
  limits->max_output_bytes = prism_limits_get (from, "max-output-bytes");
  limits->stop_grace_ms = prism_limits_get (from, "stop-grace-ms");
  limits->cleanup_deadline_ms = prism_limits_get (from, "cleanup-deadline-ms");
}

static void
take_secrets (PrismAgentSandboxPrivate *priv)
{
  const char *const *secrets = prism_sandbox_spec_get_secrets (priv->spec);
  if (secrets == NULL || secrets[0] == NULL)
    return;
  priv->redactor = prism_redactor_new ();
  prism_redactor_add_environment (priv->redactor, secrets);
}

static void
prism_agent_sandbox_constructed (GObject *object)
{
  PrismAgentSandbox *self = PRISM_AGENT_SANDBOX (object);
  PrismAgentSandboxPrivate *priv = priv_of (self);
  G_OBJECT_CLASS (prism_agent_sandbox_parent_class)->constructed (object);
  if (priv->spec == NULL)
    priv->spec = prism_sandbox_spec_new (NULL);
  prism_sandbox_spec_freeze (priv->spec);
  if (priv->workspace == NULL)
    priv->workspace = g_strdup (prism_sandbox_spec_get_sandbox_path (priv->spec));
  if (priv->id == NULL)
    priv->id = g_uuid_string_random ();
  take_secrets (priv);
  take_limits (&priv->limits, prism_sandbox_spec_get_limits (priv->spec));
  prism_agent_admission_init (&priv->admission, priv->limits.max_concurrent_execs, priv->limits.max_processes,
                              priv->limits.max_commands);
  priv->lifecycle.has_boundary = priv->connection != NULL;
  priv->lifecycle.detached = prism_sandbox_spec_get_lifetime (priv->spec) == PRISM_LIFETIME_DETACHED;
}

static void
prism_agent_sandbox_dispose (GObject *object)
{
  /* It lives on for as long as terminate() takes, and comes here once more. */
  if (prism_agent_lifecycle_dispose (&priv_of (PRISM_AGENT_SANDBOX (object))->lifecycle))
    return;
  G_OBJECT_CLASS (prism_agent_sandbox_parent_class)->dispose (object);
}

static void
prism_agent_sandbox_finalize (GObject *object)
{
  PrismAgentSandboxPrivate *priv = priv_of (PRISM_AGENT_SANDBOX (object));
  if (priv->channel != NULL)
    {
      g_autoptr (GError) error =
          g_error_new_literal (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST, "the sandbox was dropped");
      prism_agent_channel_end (priv->channel, PRISM_AGENT_END_CLOSED, error);
      prism_agent_channel_unref (priv->channel);
    }
  prism_agent_egress_clear (&priv->egress);
  prism_agent_lifecycle_clear (&priv->lifecycle);
  prism_agent_admission_clear (&priv->admission);
  g_ptr_array_unref (priv->processes);
  g_clear_pointer (&priv->capabilities, prism_capabilities_unref);
  g_clear_object (&priv->connection);
  g_clear_object (&priv->spec);
  g_clear_object (&priv->redactor);
  g_strfreev (priv->environment);
  g_free (priv->backend_name);
  g_free (priv->id);
  g_free (priv->workspace);
  g_free (priv->reference);
  g_mutex_clear (&priv->lock);
  G_OBJECT_CLASS (prism_agent_sandbox_parent_class)->finalize (object);
}

static void
no_terminate (PrismAgentSandbox *self, PrismControlOperation *operation)
{
  prism_control_operation_complete (operation);
}

static void
install_own_properties (GObjectClass *object_class)
{
  const GParamFlags once = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;
  /**
   * PrismAgentSandbox:spec:
   *
   * What it is made of; frozen.
   *
   * Since: 1.0
   */
  props[PROP_SPEC] = g_param_spec_object ("spec", NULL, NULL, PRISM_TYPE_SANDBOX_SPEC, once);
  /**
   * PrismAgentSandbox:connection:
   *
   * The connected stream to the agent. Descriptors pass over a unix socket's
   * connection; any other stream is framed. Without one there is no boundary to
   * end, and it cannot start.
   *
   * Since: 1.0
   */
  props[PROP_CONNECTION] = g_param_spec_object ("connection", NULL, NULL, G_TYPE_IO_STREAM,
                                                G_PARAM_WRITABLE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);
  /**
   * PrismAgentSandbox:framed:
   *
   * Standard streams go in frames even where descriptors could pass.
   *
   * Since: 1.0
   */
  props[PROP_FRAMED] = g_param_spec_boolean ("framed", NULL, NULL, FALSE, once);
  /**
   * PrismAgentSandbox:harden:
   *
   * Whether the agent is to load its system call filter and enter its own scope
   * at set-up, where the launcher did not do so already.
   *
   * Since: 1.0
   */
  props[PROP_HARDEN] = g_param_spec_boolean ("harden", NULL, NULL, TRUE, once);
  /**
   * PrismAgentSandbox:environment:
   *
   * What commands have of the boundary itself, such as an image's variables, each as
   * NAME=VALUE: they take the place of the base environment's of the same name, and the
   * specification's take theirs.
   *
   * Since: 1.0
   */
  props[PROP_ENVIRONMENT] = g_param_spec_boxed ("environment", NULL, NULL, G_TYPE_STRV, once);
  g_object_class_install_properties (object_class, N_OWN_PROPS, props);
}

/* An interface's read-only property, given once by the subclass. */
static void
override_once (GObjectClass *object_class, guint id, const char *name)
{
  g_object_class_install_property (
      object_class, id,
      g_param_spec_string (name, NULL, NULL, NULL,
                           G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS));
}

/**
 * PrismAgentSandbox:backend-name:
 *
 * The name of the backend that made it.
 *
 * Since: 1.0
 */
/**
 * PrismAgentSandbox:id:
 *
 * What names this sandbox among all of its backend's.
 *
 * Since: 1.0
 */
/**
 * PrismAgentSandbox:reference:
 *
 * What [method@Backend.connect_sandbox] takes.
 *
 * Since: 1.0
 */
/**
 * PrismAgentSandbox:workspace:
 *
 * Where the workspace is inside.
 *
 * Since: 1.0
 */

static void
prism_agent_sandbox_class_init (PrismAgentSandboxClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  object_class->set_property = prism_agent_sandbox_set_property;
  object_class->get_property = prism_agent_sandbox_get_property;
  object_class->constructed = prism_agent_sandbox_constructed;
  object_class->dispose = prism_agent_sandbox_dispose;
  object_class->finalize = prism_agent_sandbox_finalize;
  klass->terminate = no_terminate;
  /* While the sandbox starts there is time for it; when its first command has ended
   * somebody waits. */
  g_type_class_unref (g_type_class_ref (PRISM_TYPE_RESULT));

  install_own_properties (object_class);
  override_once (object_class, PROP_ID, "id");
  override_once (object_class, PROP_BACKEND_NAME, "backend-name");
  override_once (object_class, PROP_WORKSPACE, "workspace");
  override_once (object_class, PROP_REFERENCE, "reference");
  g_object_class_override_property (object_class, PROP_STATUS, "status");
  g_object_class_override_property (object_class, PROP_CAPABILITIES, "capabilities");
}

static void
prism_agent_sandbox_init (PrismAgentSandbox *self)
{
  PrismAgentSandboxPrivate *priv = priv_of (self);
  g_mutex_init (&priv->lock);
  priv->processes = g_ptr_array_new_with_free_func (g_object_unref);
  priv->wall_deadline = G_MAXINT64;
  prism_agent_lifecycle_init (&priv->lifecycle, self);
  prism_agent_egress_init (&priv->egress);
}
