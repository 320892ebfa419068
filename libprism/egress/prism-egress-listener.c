/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a proxy listens on and by what it decides there. The policy in force and
 * its version are one thing under one lock: whoever reads them, in whichever
 * thread, has a pair that belongs together. */
#include "prism-egress-listener-private.h"

#include "prism-bounds.h"
#include "prism-egress-limits-private.h"
#include "prism-egress-proxy-private.h"
#include "prism-enum-types.h"

#include <gio/gunixsocketaddress.h>
#include <string.h>

typedef enum
{
  STATE_NEW,
  STATE_TAKEN, /* a proxy has it */
  STATE_OPEN,
  STATE_CLOSED,
} State;

struct _PrismEgressListener
{
  GObject parent_instance;

  GSocketAddress *address;
  GSocket *socket;
  char *label;
  PrismAuditLog *audit;
  PrismLimitsProfile profile;
  gboolean check_server_name;
  gboolean deny_direct_egress;
  gint64 limits[PRISM_N_EGRESS_LIMITS];
  gboolean limit_set[PRISM_N_EGRESS_LIMITS];
  GListStore *credentials;

  GMutex lock; /* for what follows */
  State state;
  PrismEgressProxy *proxy;
  PrismEgressPolicy *policy;
  gint64 policy_version;
  char *endpoint;
  GDateTime *started_at;
};

enum
{
  PROP_0,
  PROP_ADDRESS,
  PROP_SOCKET,
  PROP_POLICY,
  PROP_LABEL,
  PROP_AUDIT,
  PROP_PROFILE,
  PROP_CHECK_SERVER_NAME,
  PROP_DENY_DIRECT_EGRESS,
  PROP_CREDENTIALS,
  PROP_ENDPOINT,
  PROP_POLICY_VERSION,
  PROP_STARTED_AT,
  PROP_FIRST_LIMIT,
  N_PROPERTIES = PROP_FIRST_LIMIT + PRISM_N_EGRESS_LIMITS
};

static GParamSpec *properties[N_PROPERTIES];

/**
 * PrismEgressListener:
 *
 * A way into an egress proxy: an address or a socket to listen on, and the
 * policy, credentials, label and limits that hold there. A sandbox has one of its
 * own, so that what comes in by it needs no other proof of whom it is from.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismEgressListener, prism_egress_listener, G_TYPE_OBJECT)

static gint64
limit_of (PrismEgressListener *self, guint i)
{
  gint64 value = 0, least, most;

  if (self->limit_set[i])
    return self->limits[i];
  prism_param_spec_get_bounds (properties[PROP_FIRST_LIMIT + i], self->profile, &value, &least, &most);
  return value;
}

static gboolean
is_new (PrismEgressListener *self)
{
  gboolean fresh;

  g_mutex_lock (&self->lock);
  fresh = self->state == STATE_NEW;
  g_mutex_unlock (&self->lock);
  return fresh;
}

static void
prism_egress_listener_get_property (GObject *object, guint property_id, GValue *value, GParamSpec *pspec)
{
  PrismEgressListener *self = PRISM_EGRESS_LISTENER (object);
  gint64 version;

  switch (property_id)
    {
    case PROP_ADDRESS:
      g_value_set_object (value, self->address);
      break;
    case PROP_SOCKET:
      g_value_set_object (value, self->socket);
      break;
    case PROP_POLICY:
      g_value_take_object (value, prism_egress_listener_dup_policy (self, NULL));
      break;
    case PROP_LABEL:
      g_value_set_string (value, self->label);
      break;
    case PROP_AUDIT:
      g_value_set_object (value, self->audit);
      break;
    case PROP_PROFILE:
      g_value_set_enum (value, self->profile);
      break;
    case PROP_CHECK_SERVER_NAME:
      g_value_set_boolean (value, self->check_server_name);
      break;
    case PROP_DENY_DIRECT_EGRESS:
      g_value_set_boolean (value, self->deny_direct_egress);
      break;
    case PROP_CREDENTIALS:
      g_value_set_object (value, self->credentials);
      break;
    case PROP_ENDPOINT:
      g_value_take_string (value, prism_egress_listener_dup_endpoint (self));
      break;
    case PROP_POLICY_VERSION:
      g_object_unref (prism_egress_listener_dup_policy (self, &version));
      g_value_set_int64 (value, version);
      break;
    case PROP_STARTED_AT:
      g_value_take_boxed (value, prism_egress_listener_get_started_at (self));
      break;
    default:
      if (property_id < PROP_FIRST_LIMIT)
        G_OBJECT_WARN_INVALID_PROPERTY_ID (object, property_id, pspec);
      else
        g_value_set_int64 (value, limit_of (self, property_id - PROP_FIRST_LIMIT));
    }
}

static void
prism_egress_listener_set_property (GObject *object, guint property_id, const GValue *value, GParamSpec *pspec)
{
  PrismEgressListener *self = PRISM_EGRESS_LISTENER (object);

  if (!is_new (self))
    {
      g_critical ("egress listener: %s cannot change any more: a proxy has it", pspec->name);
      return;
    }
  switch (property_id)
    {
    case PROP_ADDRESS:
      self->address = g_value_dup_object (value);
      break;
    case PROP_SOCKET:
      self->socket = g_value_dup_object (value);
      break;
    case PROP_POLICY:
      self->policy = g_value_dup_object (value);
      break;
    case PROP_LABEL:
      g_free (self->label);
      self->label = g_value_dup_string (value);
      break;
    case PROP_AUDIT:
      g_set_object (&self->audit, g_value_get_object (value));
      break;
    case PROP_PROFILE:
      self->profile = g_value_get_enum (value);
      break;
    case PROP_CHECK_SERVER_NAME:
      self->check_server_name = g_value_get_boolean (value);
      break;
    case PROP_DENY_DIRECT_EGRESS:
      self->deny_direct_egress = g_value_get_boolean (value);
      break;
    default:
      if (property_id < PROP_FIRST_LIMIT)
        {
          G_OBJECT_WARN_INVALID_PROPERTY_ID (object, property_id, pspec);
          break;
        }
      self->limits[property_id - PROP_FIRST_LIMIT] = g_value_get_int64 (value);
      self->limit_set[property_id - PROP_FIRST_LIMIT] = TRUE;
    }
}

static void
prism_egress_listener_constructed (GObject *object)
{
  PrismEgressListener *self = PRISM_EGRESS_LISTENER (object);

  if (self->policy == NULL)
    self->policy = prism_egress_policy_new_deny_all ();
  G_OBJECT_CLASS (prism_egress_listener_parent_class)->constructed (object);
}

/* Nobody holds it any more: the proxy stops listening on it. */
static void
prism_egress_listener_dispose (GObject *object)
{
  PrismEgressListener *self = PRISM_EGRESS_LISTENER (object);
  g_autoptr (PrismEgressProxy) proxy = prism_egress_listener_dup_proxy (self);

  if (proxy != NULL)
    {
      prism_egress_listener_let_go (self);
      prism_egress_proxy_end_listener (proxy, self);
    }
  G_OBJECT_CLASS (prism_egress_listener_parent_class)->dispose (object);
}

static void
prism_egress_listener_finalize (GObject *object)
{
  PrismEgressListener *self = PRISM_EGRESS_LISTENER (object);

  g_clear_object (&self->address);
  g_clear_object (&self->socket);
  g_clear_object (&self->credentials);
  g_clear_object (&self->audit);
  g_clear_object (&self->policy);
  g_clear_pointer (&self->started_at, g_date_time_unref);
  g_free (self->label);
  g_free (self->endpoint);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (prism_egress_listener_parent_class)->finalize (object);
}

static void
install_limits (void)
{
  for (guint i = 0; prism_egress_limits[i].name != NULL; i++)
    {
      const PrismLimitRow *row = &prism_egress_limits[i];
      GParamSpec *pspec = g_param_spec_int64 (row->name, NULL, row->blurb, G_MININT64, G_MAXINT64,
                                              row->standard.initial, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);

      prism_param_spec_set_bounds (pspec, PRISM_LIMITS_PROFILE_STANDARD, row->standard.initial, row->standard.least,
                                   row->standard.most);
      prism_param_spec_set_bounds (pspec, PRISM_LIMITS_PROFILE_STRICT, row->strict.initial, row->strict.least,
                                   row->strict.most);
      properties[PROP_FIRST_LIMIT + i] = pspec;
    }
}

static void
install_places (void)
{
  const GParamFlags once = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  /**
   * PrismEgressListener:address:
   *
   * Where to listen: an address of this machine's loopback, whose port may be 0
   * for any that is free, or a Unix socket's path.
   *
   * Since: 1.0
   */
  properties[PROP_ADDRESS] = g_param_spec_object ("address", NULL, NULL, G_TYPE_SOCKET_ADDRESS, once);
  /**
   * PrismEgressListener:socket:
   *
   * A socket that listens already, such as one that a sandbox passed out.
   *
   * Since: 1.0
   */
  properties[PROP_SOCKET] = g_param_spec_object ("socket", NULL, NULL, G_TYPE_SOCKET, once);
  /**
   * PrismEgressListener:policy:
   *
   * The policy in force; everything is denied if none is given.
   *
   * Since: 1.0
   */
  properties[PROP_POLICY] = g_param_spec_object ("policy", NULL, NULL, PRISM_TYPE_EGRESS_POLICY, once);
}

static void
install_options (void)
{
  const GParamFlags option = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;

  /**
   * PrismEgressListener:label:
   *
   * What audit records call whoever comes in here: a sandbox's id.
   *
   * Since: 1.0
   */
  properties[PROP_LABEL] = g_param_spec_string ("label", NULL, NULL, NULL, option);
  /**
   * PrismEgressListener:audit:
   *
   * Where the decisions made here are written down, besides
   * [signal@EgressProxy::audit].
   *
   * Since: 1.0
   */
  properties[PROP_AUDIT] = g_param_spec_object ("audit", NULL, NULL, PRISM_TYPE_AUDIT_LOG, option);
  /**
   * PrismEgressListener:profile:
   *
   * Which defaults and bounds the limits have.
   *
   * Since: 1.0
   */
  properties[PROP_PROFILE] =
      g_param_spec_enum ("profile", NULL, NULL, PRISM_TYPE_LIMITS_PROFILE, PRISM_LIMITS_PROFILE_STANDARD, option);
  /**
   * PrismEgressListener:check-server-name:
   *
   * Whether a tunnel's TLS has to name the host that the tunnel was opened to.
   *
   * Since: 1.0
   */
  properties[PROP_CHECK_SERVER_NAME] = g_param_spec_boolean ("check-server-name", NULL, NULL, TRUE, option);
  /**
   * PrismEgressListener:deny-direct-egress:
   *
   * Whether whoever sets it up says that those who come in here have no other way
   * out. Attestations repeat it.
   *
   * Since: 1.0
   */
  properties[PROP_DENY_DIRECT_EGRESS] = g_param_spec_boolean ("deny-direct-egress", NULL, NULL, FALSE, option);
}

static void
install_state (void)
{
  const GParamFlags state = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  /**
   * PrismEgressListener:credentials:
   *
   * The credentials that requests get here.
   *
   * Since: 1.0
   */
  properties[PROP_CREDENTIALS] = g_param_spec_object ("credentials", NULL, NULL, G_TYPE_LIST_MODEL, state);
  /**
   * PrismEgressListener:endpoint:
   *
   * Where it listens, as a proxy variable says it; %NULL before and after.
   *
   * Since: 1.0
   */
  properties[PROP_ENDPOINT] = g_param_spec_string ("endpoint", NULL, NULL, NULL, state);
  /**
   * PrismEgressListener:policy-version:
   *
   * How often the policy was changed.
   *
   * Since: 1.0
   */
  properties[PROP_POLICY_VERSION] =
      g_param_spec_int64 ("policy-version", NULL, NULL, 0, PRISM_SAFE_INTEGER_MAX, 0, state);
  /**
   * PrismEgressListener:started-at:
   *
   * When it began to listen.
   *
   * Since: 1.0
   */
  properties[PROP_STARTED_AT] = g_param_spec_boxed ("started-at", NULL, NULL, G_TYPE_DATE_TIME, state);
}

/**
 * PrismEgressListener:concurrent-connections:
 *
 * Connections at once.
 *
 * Since: 1.0
 */

/**
 * PrismEgressListener:connection-idle-ms:
 *
 * Time without a byte either way, ms.
 *
 * Since: 1.0
 */

/**
 * PrismEgressListener:redirect-hops:
 *
 * Requests that one request may become.
 *
 * Since: 1.0
 */

/**
 * PrismEgressListener:request-bytes:
 *
 * Bytes out, of one request or tunnel.
 *
 * Since: 1.0
 */

/**
 * PrismEgressListener:request-head-ms:
 *
 * Time until a request's head is there, ms.
 *
 * Since: 1.0
 */

/**
 * PrismEgressListener:response-bytes:
 *
 * Bytes back, of one request or tunnel.
 *
 * Since: 1.0
 */

/**
 * PrismEgressListener:rules-per-policy:
 *
 * Rules of a policy.
 *
 * Since: 1.0
 */

/**
 * PrismEgressListener:transfer-time-ms:
 *
 * Time of one request or tunnel, ms.
 *
 * Since: 1.0
 */

static void
prism_egress_listener_class_init (PrismEgressListenerClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = prism_egress_listener_get_property;
  object_class->set_property = prism_egress_listener_set_property;
  object_class->constructed = prism_egress_listener_constructed;
  object_class->dispose = prism_egress_listener_dispose;
  object_class->finalize = prism_egress_listener_finalize;

  install_places ();
  install_options ();
  install_state ();
  install_limits ();
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);
}

static void
prism_egress_listener_init (PrismEgressListener *self)
{
  self->check_server_name = TRUE;
  self->credentials = g_list_store_new (PRISM_TYPE_CREDENTIAL);
}

/**
 * prism_egress_listener_new_for_address:
 * @address: a loopback address, or a Unix socket's path
 * @policy: the policy in force from the start
 *
 * Makes a listener that listens nowhere yet.
 *
 * Returns: (transfer full): a listener that listens nowhere yet
 *
 * Since: 1.0
 */
PrismEgressListener *
prism_egress_listener_new_for_address (GSocketAddress *address, PrismEgressPolicy *policy)
{
  g_return_val_if_fail (G_IS_SOCKET_ADDRESS (address) && PRISM_IS_EGRESS_POLICY (policy), NULL);

  return g_object_new (PRISM_TYPE_EGRESS_LISTENER, "address", address, "policy", policy, NULL);
}

/**
 * prism_egress_listener_new_for_socket:
 * @socket: a socket that listens
 * @policy: the policy in force from the start
 *
 * Makes a listener for it.
 *
 * Returns: (transfer full): a listener for it
 *
 * Since: 1.0
 */
PrismEgressListener *
prism_egress_listener_new_for_socket (GSocket *socket, PrismEgressPolicy *policy)
{
  g_return_val_if_fail (G_IS_SOCKET (socket) && PRISM_IS_EGRESS_POLICY (policy), NULL);

  return g_object_new (PRISM_TYPE_EGRESS_LISTENER, "socket", socket, "policy", policy, NULL);
}

/**
 * prism_egress_listener_add_credential:
 * @self: a listener that no proxy has yet
 * @credential: a credential; of two for one host the first is used
 *
 * Adds a credential that is stamped on requests to its host.
 *
 * Since: 1.0
 */
void
prism_egress_listener_add_credential (PrismEgressListener *self, PrismCredential *credential)
{
  g_return_if_fail (PRISM_IS_EGRESS_LISTENER (self) && PRISM_IS_CREDENTIAL (credential));
  g_return_if_fail (is_new (self));

  g_list_store_append (self->credentials, credential);
}

/* --- checking ------------------------------------------------------------------ */

static const char *
check_place (PrismEgressListener *self)
{
  if ((self->address != NULL) == (self->socket != NULL))
    return "it takes either an address or a socket";
  if (self->address == NULL || G_IS_UNIX_SOCKET_ADDRESS (self->address))
    return NULL;
  if (!G_IS_INET_SOCKET_ADDRESS (self->address))
    return "an address is one of TCP or a Unix socket";
  if (!g_inet_address_get_is_loopback (g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (self->address))))
    return "the address is not one of the loopback; a proxy for other machines would be theirs to use";
  return NULL;
}

gboolean
prism_egress_listener_check_policy (PrismEgressListener *self, PrismEgressPolicy *policy, GError **error)
{
  gint64 most = prism_egress_listener_get_limit (self, "rules-per-policy");
  guint n = prism_egress_policy_get_rules (policy)->len;

  if (n <= most)
    return TRUE;
  g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_LIMIT,
               "a policy of %u rules: rules-per-policy allows %" G_GINT64_FORMAT, n, most);
  return FALSE;
}

/**
 * prism_egress_listener_check:
 * @self: a listener
 * @error: return location for an error
 *
 * Everything that can be wrong with it before it listens: where, the limits, the
 * size of its policy.
 *
 * Returns: whether a proxy would take it
 *
 * Since: 1.0
 */
gboolean
prism_egress_listener_check (PrismEgressListener *self, GError **error)
{
  g_autoptr (PrismEgressPolicy) policy = NULL;
  const char *wrong;

  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self), FALSE);

  wrong = check_place (self);
  if (wrong != NULL)
    {
      g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY, "egress listener: %s", wrong);
      return FALSE;
    }
  policy = prism_egress_listener_dup_policy (self, NULL);
  return prism_object_check_bounds (G_OBJECT (self), self->profile, error)
         && prism_egress_listener_check_policy (self, policy, error);
}

/* --- what it was made of --------------------------------------------------------- */

/**
 * prism_egress_listener_get_address:
 * @self: a listener
 *
 * Tells where to listen.
 *
 * Returns: (transfer none) (nullable): where to listen
 *
 * Since: 1.0
 */
GSocketAddress *
prism_egress_listener_get_address (PrismEgressListener *self)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self), NULL);

  return self->address;
}

/**
 * prism_egress_listener_get_socket:
 * @self: a listener
 *
 * Gets a socket that listens already.
 *
 * Returns: (transfer none) (nullable): a socket that listens already
 *
 * Since: 1.0
 */
GSocket *
prism_egress_listener_get_socket (PrismEgressListener *self)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self), NULL);

  return self->socket;
}

/**
 * prism_egress_listener_get_label:
 * @self: a listener
 *
 * Tells what audit records call whoever comes in here.
 *
 * Returns: (nullable): what audit records call whoever comes in here
 *
 * Since: 1.0
 */
const char *
prism_egress_listener_get_label (PrismEgressListener *self)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self), NULL);

  return self->label;
}

/**
 * prism_egress_listener_get_audit:
 * @self: a listener
 *
 * Tells where the decisions made here are written down.
 *
 * Returns: (transfer none) (nullable): where the decisions made here are written down
 *
 * Since: 1.0
 */
PrismAuditLog *
prism_egress_listener_get_audit (PrismEgressListener *self)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self), NULL);

  return self->audit;
}

/**
 * prism_egress_listener_get_check_server_name:
 * @self: a listener
 *
 * Tells whether a tunnel's TLS has to name the tunnel's host.
 *
 * Returns: whether a tunnel's TLS has to name the tunnel's host
 *
 * Since: 1.0
 */
gboolean
prism_egress_listener_get_check_server_name (PrismEgressListener *self)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self), TRUE);

  return self->check_server_name;
}

/**
 * prism_egress_listener_get_deny_direct_egress:
 * @self: a listener
 *
 * Tells whether those who come in here are said to have no other way out.
 *
 * Returns: whether those who come in here are said to have no other way out
 *
 * Since: 1.0
 */
gboolean
prism_egress_listener_get_deny_direct_egress (PrismEgressListener *self)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self), FALSE);

  return self->deny_direct_egress;
}

/**
 * prism_egress_listener_get_limit:
 * @self: a listener
 * @name: a limit's name, such as `concurrent-connections`
 *
 * Gets its value, in the unit that the name says; -1 if there is no such limit.
 *
 * Returns: its value, in the unit that the name says; -1 if there is no such limit
 *
 * Since: 1.0
 */
gint64
prism_egress_listener_get_limit (PrismEgressListener *self, const char *name)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self) && name != NULL, -1);

  for (guint i = 0; prism_egress_limits[i].name != NULL; i++)
    if (g_str_equal (prism_egress_limits[i].name, name))
      return limit_of (self, i);
  return -1;
}

/**
 * prism_egress_listener_get_credentials:
 * @self: a listener
 *
 * Gets a list of [class@Credential].
 *
 * Returns: (transfer none): a list of [class@Credential]
 *
 * Since: 1.0
 */
GListModel *
prism_egress_listener_get_credentials (PrismEgressListener *self)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self), NULL);

  return G_LIST_MODEL (self->credentials);
}

/* --- state --------------------------------------------------------------------- */

gboolean
prism_egress_listener_take (PrismEgressListener *self, PrismEgressProxy *proxy, GError **error)
{
  gboolean fresh;

  g_mutex_lock (&self->lock);
  fresh = self->state == STATE_NEW;
  if (fresh)
    {
      self->state = STATE_TAKEN;
      self->proxy = g_object_ref (proxy);
    }
  g_mutex_unlock (&self->lock);
  if (!fresh)
    g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_STATE,
                 "the egress listener was added to a proxy before; make a new one");
  return fresh;
}

void
prism_egress_listener_take_own (PrismEgressListener *self)
{
  g_mutex_lock (&self->lock);
  if (self->state == STATE_NEW || self->state == STATE_CLOSED)
    {
      self->state = STATE_TAKEN;
      g_clear_pointer (&self->endpoint, g_free);
      g_clear_pointer (&self->started_at, g_date_time_unref);
    }
  g_mutex_unlock (&self->lock);
}

void
prism_egress_listener_let_go (PrismEgressListener *self)
{
  g_autoptr (PrismEgressProxy) proxy = NULL;

  g_mutex_lock (&self->lock);
  proxy = g_steal_pointer (&self->proxy);
  g_mutex_unlock (&self->lock);
}

PrismEgressProxy *
prism_egress_listener_dup_proxy (PrismEgressListener *self)
{
  PrismEgressProxy *proxy;

  g_mutex_lock (&self->lock);
  proxy = self->proxy != NULL ? g_object_ref (self->proxy) : NULL;
  g_mutex_unlock (&self->lock);
  return proxy;
}

/**
 * prism_egress_listener_dup_endpoint:
 * @self: a listener
 *
 * Tells where it listens, such as `http://127.0.0.1:3128`; %NULL unless it does.
 *
 * Returns: (nullable): where it listens, such as `http://127.0.0.1:3128`; %NULL
 *   unless it does
 *
 * Since: 1.0
 */
char *
prism_egress_listener_dup_endpoint (PrismEgressListener *self)
{
  char *endpoint;

  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self), NULL);

  g_mutex_lock (&self->lock);
  endpoint = self->state == STATE_OPEN ? g_strdup (self->endpoint) : NULL;
  g_mutex_unlock (&self->lock);
  return endpoint;
}

/**
 * prism_egress_listener_get_started_at:
 * @self: a listener
 *
 * Tells when it began to listen.
 *
 * Returns: (transfer full) (nullable): when it began to listen
 *
 * Since: 1.0
 */
GDateTime *
prism_egress_listener_get_started_at (PrismEgressListener *self)
{
  GDateTime *started_at;

  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self), NULL);

  g_mutex_lock (&self->lock);
  started_at = self->started_at != NULL ? g_date_time_ref (self->started_at) : NULL;
  g_mutex_unlock (&self->lock);
  return started_at;
}

/**
 * prism_egress_listener_dup_policy:
 * @self: a listener
 * @version: (out) (optional): how often it was changed
 *
 * Gets the policy in force.
 *
 * Returns: (transfer full): the policy in force
 *
 * Since: 1.0
 */
PrismEgressPolicy *
prism_egress_listener_dup_policy (PrismEgressListener *self, gint64 *version)
{
  PrismEgressPolicy *policy;

  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self), NULL);

  g_mutex_lock (&self->lock);
  policy = g_object_ref (self->policy);
  if (version != NULL)
    *version = self->policy_version;
  g_mutex_unlock (&self->lock);
  return policy;
}

/**
 * prism_egress_listener_opened:
 * @self: a listener
 * @endpoint: where it listens, such as `http://127.0.0.1:3128`
 *
 * For the proxy that it was added to: connections are accepted from here on.
 *
 * Since: 1.0
 */
void
prism_egress_listener_opened (PrismEgressListener *self, const char *endpoint)
{
  gboolean taken;

  g_return_if_fail (PRISM_IS_EGRESS_LISTENER (self) && endpoint != NULL);

  g_mutex_lock (&self->lock);
  taken = self->state == STATE_TAKEN;
  if (taken)
    {
      self->state = STATE_OPEN;
      self->endpoint = g_strdup (endpoint);
      self->started_at = g_date_time_new_now_utc ();
    }
  g_mutex_unlock (&self->lock);
  g_return_if_fail (taken);
}

/**
 * prism_egress_listener_apply_policy:
 * @self: a listener
 * @policy: the policy in force from here on
 *
 * For the proxy that it was added to: what is decided after this is decided by
 * @policy.
 *
 * Returns: its version
 *
 * Since: 1.0
 */
gint64
prism_egress_listener_apply_policy (PrismEgressListener *self, PrismEgressPolicy *policy)
{
  g_autoptr (PrismEgressPolicy) before = NULL;
  gint64 version;

  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self) && PRISM_IS_EGRESS_POLICY (policy), -1);

  g_mutex_lock (&self->lock);
  before = g_steal_pointer (&self->policy);
  self->policy = g_object_ref (policy);
  version = ++self->policy_version;
  g_mutex_unlock (&self->lock);
  return version;
}

/**
 * prism_egress_listener_closed:
 * @self: a listener
 *
 * For the proxy that it was added to: no byte goes through it any more.
 *
 * Since: 1.0
 */
void
prism_egress_listener_closed (PrismEgressListener *self)
{
  g_return_if_fail (PRISM_IS_EGRESS_LISTENER (self));

  g_mutex_lock (&self->lock);
  self->state = STATE_CLOSED;
  g_mutex_unlock (&self->lock);
  prism_egress_listener_let_go (self);
}
