/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a proxy listens on and by what it decides there: what it is made of. */
#include "prism-egress-listener-private.h"

#include "prism-egress-proxy-private.h"
#include "prism-enum-types.h"

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

static gboolean
is_new (PrismEgressListener *self)
{
  gboolean fresh;

  g_mutex_lock (&self->lock);
  fresh = self->state == PRISM_EGRESS_LISTENER_NEW;
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
        g_value_set_int64 (value, prism_egress_listener_nth_limit (self, property_id - PROP_FIRST_LIMIT));
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
  prism_egress_listener_install_limits (&properties[PROP_FIRST_LIMIT]);
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
