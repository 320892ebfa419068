/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The proxy as the library knows it. All work is the engine's; what is asked here
 * is handed to it, and answered from there. Without a start there is no thread and
 * no descriptor; the end of the object ends them. */
#include "prism-local-egress.h"

#include "prism-local-connection.h"

struct _PrismLocalEgress
{
  GObject parent_instance;

  PrismEgressListener *listener;
  GResolver *resolver;
  char *trust_file;
  char *parent_proxy;
  char *attest_key; /* PEM */

  GMutex lock; /* for what follows */
  PrismLocalEngine *engine;
};

enum
{
  PROP_0,
  PROP_LISTENER,
  PROP_RESOLVER,
  PROP_TRUST_FILE,
  PROP_PARENT_PROXY,
  PROP_ATTEST_KEY,
  N_PROPERTIES
};

static GParamSpec *properties[N_PROPERTIES];

static void egress_iface_init (PrismEgressProxyInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (PrismLocalEgress,
                               prism_local_egress,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_EGRESS_PROXY, egress_iface_init))

/* --- the engine ------------------------------------------------------------------ */

static PrismLocalEngine *
dup_engine (PrismLocalEgress *self)
{
  PrismLocalEngine *engine;

  g_mutex_lock (&self->lock);
  engine = self->engine != NULL ? prism_local_engine_ref (self->engine) : NULL;
  g_mutex_unlock (&self->lock);
  return engine;
}

static void
end_engine (PrismLocalEgress *self)
{
  PrismLocalEngine *engine;

  g_mutex_lock (&self->lock);
  engine = g_steal_pointer (&self->engine);
  g_mutex_unlock (&self->lock);
  if (engine == NULL)
    return;
  prism_local_engine_quit (engine);
  prism_local_engine_unref (engine);
}

/* http://HOST:PORT */
static gboolean
read_parent (PrismLocalEgress *self, PrismLocalSettings *settings, GError **error)
{
  guint port = 0;

  if (self->parent_proxy == NULL)
    return TRUE;
  if (g_str_has_prefix (self->parent_proxy, "http://")
      && prism_egress_split_authority (self->parent_proxy + 7, &settings->parent_host, &port, NULL) && port != 0)
    {
      settings->parent_port = (guint16)port;
      return TRUE;
    }
  g_clear_pointer (&settings->parent_host, g_free);
  g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY, "egress: parent-proxy is not http://HOST:PORT");
  return FALSE;
}

static PrismLocalEngine *
start_engine (PrismLocalEgress *self, GError **error)
{
  PrismLocalSettings settings = { self->resolver, self->trust_file, NULL, 0 };
  PrismLocalEngine *engine;

  if (!read_parent (self, &settings, error))
    return NULL;
  g_mutex_lock (&self->lock);
  if (self->engine == NULL)
    self->engine = prism_local_engine_new (G_OBJECT (self), &settings, error);
  engine = self->engine != NULL ? prism_local_engine_ref (self->engine) : NULL;
  g_mutex_unlock (&self->lock);
  g_free (settings.parent_host);
  return engine;
}

/* --- what is asked ---------------------------------------------------------------- */

typedef struct
{
  PrismEgressOperation *operation;
  PrismEgressListener *listener;
} Asked;

static void
answer (Asked *asked, GError *error)
{
  if (error != NULL)
    {
      prism_operation_fail (PRISM_OPERATION (asked->operation), error);
      g_error_free (error);
    }
  else
    prism_egress_operation_complete (asked->operation);
  g_object_unref (asked->operation);
  g_clear_object (&asked->listener);
  g_free (asked);
}

static void
hand_over (PrismLocalEngine *engine,
           PrismEgressOperation *operation,
           PrismEgressListener *listener,
           PrismLocalCommand run)
{
  Asked *asked = g_new0 (Asked, 1);

  asked->operation = g_object_ref (operation);
  g_set_object (&asked->listener, listener);
  if (engine == NULL || !prism_local_engine_call (engine, run, asked))
    answer (asked, g_error_new (PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_STATE, "the proxy was not started"));
}

static void
run_open (PrismLocalEngine *engine, gpointer data)
{
  Asked *asked = data;
  GError *error = NULL;
  g_autofree char *endpoint = NULL;
  PrismLocalPort *port = g_hash_table_lookup (engine->ports, asked->listener);

  if (port == NULL)
    {
      port = prism_local_port_open (engine, asked->listener, &error);
      endpoint = port != NULL ? prism_local_port_dup_endpoint (port) : NULL;
      if (endpoint != NULL)
        prism_egress_listener_opened (asked->listener, endpoint);
    }
  answer (asked, error);
}

static void
run_close (PrismLocalEngine *engine, gpointer data)
{
  Asked *asked = data;
  PrismLocalPort *port = g_hash_table_lookup (engine->ports, asked->listener);

  if (port != NULL)
    prism_local_port_end (port, "listener-closed");
  else
    prism_egress_listener_closed (asked->listener);
  answer (asked, NULL);
}

static void
run_set_policy (PrismLocalEngine *engine, gpointer data)
{
  Asked *asked = data;
  PrismEgressPolicy *policy = prism_egress_operation_get_policy (asked->operation);
  PrismLocalPort *port = g_hash_table_lookup (engine->ports, asked->listener);
  GError *error = NULL;

  if (port != NULL)
    prism_local_port_set_policy (port, policy, prism_egress_listener_apply_policy (asked->listener, policy));
  else
    error = g_error_new (PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_STATE, "the listener is not open");
  answer (asked, error);
}

static const char *
local_egress_get_name (PrismEgressProxy *proxy)
{
  return "egress";
}

static void
local_egress_start (PrismEgressProxy *proxy, PrismEgressOperation *operation)
{
  PrismLocalEgress *self = PRISM_LOCAL_EGRESS (proxy);
  g_autoptr (GError) error = NULL;
  PrismLocalEngine *engine = start_engine (self, &error);

  if (engine == NULL)
    prism_operation_fail (PRISM_OPERATION (operation), error);
  else if (self->listener == NULL)
    prism_egress_operation_complete (operation);
  else
    hand_over (engine, operation, self->listener, run_open);
  g_clear_pointer (&engine, prism_local_engine_unref);
}

static void
local_egress_stop (PrismEgressProxy *proxy, PrismEgressOperation *operation)
{
  end_engine (PRISM_LOCAL_EGRESS (proxy));
  prism_egress_operation_complete (operation);
}

static void
local_egress_add_listener (PrismEgressProxy *proxy, PrismEgressOperation *operation)
{
  PrismLocalEngine *engine = dup_engine (PRISM_LOCAL_EGRESS (proxy));

  hand_over (engine, operation, prism_egress_operation_get_listener (operation), run_open);
  g_clear_pointer (&engine, prism_local_engine_unref);
}

static void
local_egress_remove_listener (PrismEgressProxy *proxy, PrismEgressOperation *operation)
{
  PrismLocalEngine *engine = dup_engine (PRISM_LOCAL_EGRESS (proxy));
  PrismEgressListener *listener = prism_egress_operation_get_listener (operation);

  if (engine != NULL)
    hand_over (engine, operation, listener, run_close);
  else
    {
      prism_egress_listener_closed (listener);
      prism_egress_operation_complete (operation);
    }
  g_clear_pointer (&engine, prism_local_engine_unref);
}

static void
local_egress_set_policy (PrismEgressProxy *proxy, PrismEgressOperation *operation)
{
  PrismLocalEngine *engine = dup_engine (PRISM_LOCAL_EGRESS (proxy));

  hand_over (engine, operation, prism_egress_operation_get_listener (operation), run_set_policy);
  g_clear_pointer (&engine, prism_local_engine_unref);
}

/* --- what is looked at ------------------------------------------------------------ */

static void
add_counters (PrismLocalCounters *sum, const PrismLocalCounters *counters)
{
  sum->active += prism_local_counted (&counters->active);
  sum->total += prism_local_counted (&counters->total);
  sum->sent += prism_local_counted (&counters->sent);
  sum->received += prism_local_counted (&counters->received);
  sum->denied += prism_local_counted (&counters->denied);
}

static PrismEgressStats *
local_egress_dup_stats (PrismEgressProxy *proxy, PrismEgressListener *listener)
{
  PrismLocalEngine *engine = dup_engine (PRISM_LOCAL_EGRESS (proxy));
  PrismLocalCounters sum = { 0 };
  GHashTableIter iter;
  gpointer key, port;

  if (engine != NULL)
    {
      g_mutex_lock (&engine->lock);
      if (listener == NULL)
        add_counters (&sum, &engine->ended);
      g_hash_table_iter_init (&iter, engine->ports);
      while (g_hash_table_iter_next (&iter, &key, &port))
        if (listener == NULL || key == (gpointer)listener)
          add_counters (&sum, &((PrismLocalPort *)port)->counters);
      g_mutex_unlock (&engine->lock);
      prism_local_engine_unref (engine);
    }
  return prism_egress_stats_new (sum.active, sum.total, sum.sent, sum.received, sum.denied);
}

static PrismAttestation *
local_egress_sign_attestation (PrismEgressProxy *proxy, PrismAttestation *attestation, GError **error)
{
  PrismLocalEgress *self = PRISM_LOCAL_EGRESS (proxy);

  return self->attest_key != NULL ? prism_attestation_sign (attestation, self->attest_key, error)
                                  : g_object_ref (attestation);
}

static void
egress_iface_init (PrismEgressProxyInterface *iface)
{
  iface->get_name = local_egress_get_name;
  iface->start = local_egress_start;
  iface->stop = local_egress_stop;
  iface->add_listener = local_egress_add_listener;
  iface->remove_listener = local_egress_remove_listener;
  iface->set_policy = local_egress_set_policy;
  iface->dup_stats = local_egress_dup_stats;
  iface->sign_attestation = local_egress_sign_attestation;
}

/* --- the object ------------------------------------------------------------------ */

static void
prism_local_egress_get_property (GObject *object, guint property_id, GValue *value, GParamSpec *pspec)
{
  PrismLocalEgress *self = PRISM_LOCAL_EGRESS (object);

  switch (property_id)
    {
    case PROP_LISTENER:
      g_value_set_object (value, self->listener);
      break;
    case PROP_RESOLVER:
      g_value_set_object (value, self->resolver);
      break;
    case PROP_TRUST_FILE:
      g_value_set_string (value, self->trust_file);
      break;
    case PROP_PARENT_PROXY:
      g_value_set_string (value, self->parent_proxy);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, property_id, pspec);
    }
}

static void
wipe_key (PrismLocalEgress *self)
{
  if (self->attest_key != NULL)
    explicit_bzero (self->attest_key, strlen (self->attest_key));
  g_clear_pointer (&self->attest_key, g_free);
}

static void
prism_local_egress_set_property (GObject *object, guint property_id, const GValue *value, GParamSpec *pspec)
{
  PrismLocalEgress *self = PRISM_LOCAL_EGRESS (object);

  switch (property_id)
    {
    case PROP_LISTENER:
      g_clear_object (&self->listener);
      self->listener = g_value_dup_object (value);
      break;
    case PROP_RESOLVER:
      g_clear_object (&self->resolver);
      self->resolver = g_value_dup_object (value);
      break;
    case PROP_TRUST_FILE:
      g_free (self->trust_file);
      self->trust_file = g_value_dup_string (value);
      break;
    case PROP_PARENT_PROXY:
      g_free (self->parent_proxy);
      self->parent_proxy = g_value_dup_string (value);
      break;
    case PROP_ATTEST_KEY:
      wipe_key (self);
      self->attest_key = g_value_dup_string (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, property_id, pspec);
    }
}

static void
prism_local_egress_finalize (GObject *object)
{
  PrismLocalEgress *self = PRISM_LOCAL_EGRESS (object);

  end_engine (self);
  wipe_key (self);
  g_clear_object (&self->listener);
  g_clear_object (&self->resolver);
  g_free (self->trust_file);
  g_free (self->parent_proxy);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (prism_local_egress_parent_class)->finalize (object);
}

static void
prism_local_egress_class_init (PrismLocalEgressClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags option = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;

  object_class->get_property = prism_local_egress_get_property;
  object_class->set_property = prism_local_egress_set_property;
  object_class->finalize = prism_local_egress_finalize;

  /* The interface says that it can be read; here it can be given too, before the start. */
  properties[PROP_LISTENER] = g_param_spec_object ("listener", NULL, "A listener of its own, which start opens",
                                                   PRISM_TYPE_EGRESS_LISTENER, option);
  properties[PROP_RESOLVER] = g_param_spec_object (
      "resolver", NULL, "Who resolves names; the system if there is none given", G_TYPE_RESOLVER, option);
  properties[PROP_TRUST_FILE] = g_param_spec_string (
      "trust-file", NULL, "Certificates to trust in upgraded requests, instead of the system's (PEM)", NULL, option);
  properties[PROP_PARENT_PROXY] = g_param_spec_string (
      "parent-proxy", NULL, "http://HOST:PORT, where there is no direct way out; it resolves names, unscreened", NULL,
      option);
  properties[PROP_ATTEST_KEY] =
      g_param_spec_string ("attest-key", NULL, "Ed25519 private key that signs attestations (PEM)", NULL,
                           G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);
}

static void
prism_local_egress_init (PrismLocalEgress *self)
{
  g_mutex_init (&self->lock);
}
