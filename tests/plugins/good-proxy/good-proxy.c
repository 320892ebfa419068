/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An egress proxy with an option of each sort. It counts nothing and signs nothing,
 * which a proxy need not do. */
#include <libprism/prism-plugin.h>

typedef struct
{
  GObject parent_instance;
} FixtureGoodProxy;

typedef struct
{
  GObjectClass parent_class;
} FixtureGoodProxyClass;

enum
{
  PROP_LISTENER = 1,
  PROP_SIZE,
  PROP_PLACE,
  PROP_KEY,
  N_PROPS
};

GType fixture_good_proxy_get_type (void);
static void fixture_good_proxy_iface_init (PrismEgressProxyInterface *iface);

G_DEFINE_TYPE_WITH_CODE (FixtureGoodProxy,
                         fixture_good_proxy,
                         G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (PRISM_TYPE_EGRESS_PROXY, fixture_good_proxy_iface_init))

static const char *
get_name (PrismEgressProxy *self)
{
  return "good-proxy";
}

static void
complete (PrismEgressProxy *self, PrismEgressOperation *operation)
{
  prism_egress_operation_complete (operation);
}

static void
add_listener (PrismEgressProxy *self, PrismEgressOperation *operation)
{
  prism_operation_fail_literal (PRISM_OPERATION (operation), PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_NOT_SUPPORTED,
                                "this proxy of the tests listens nowhere");
}

static void
fixture_good_proxy_iface_init (PrismEgressProxyInterface *iface)
{
  iface->get_name = get_name;
  iface->start = complete;
  iface->stop = complete;
  iface->add_listener = add_listener;
  iface->remove_listener = complete;
  iface->set_policy = complete;
}

static void
set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
}

static void
get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
}

static void
fixture_good_proxy_class_init (FixtureGoodProxyClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamSpec *properties[N_PROPS] = { NULL };
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;

  object_class->set_property = set_property;
  object_class->get_property = get_property;
  properties[PROP_LISTENER] =
      g_param_spec_object ("listener", NULL, "A listener of its own", PRISM_TYPE_EGRESS_LISTENER, flags);
  properties[PROP_SIZE] = g_param_spec_int64 ("size", NULL, "How large", G_MININT64, G_MAXINT64, 7, flags);
  properties[PROP_PLACE] = g_param_spec_string ("place", NULL, "Where it is", "here", flags | G_PARAM_CONSTRUCT_ONLY);
  properties[PROP_KEY] = g_param_spec_string ("key", NULL, "A secret", NULL, G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS);
  prism_param_spec_set_bounds (properties[PROP_SIZE], PRISM_LIMITS_PROFILE_STANDARD, 7, 1, 100);
  prism_param_spec_set_bounds (properties[PROP_SIZE], PRISM_LIMITS_PROFILE_STRICT, 6, 1, 10);
  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
fixture_good_proxy_init (FixtureGoodProxy *self)
{
}

static void
good_proxy_load (PrismRegistry *registry)
{
  prism_registry_add_type (registry, "good-proxy", fixture_good_proxy_get_type (), 50, NULL);
}

PRISM_PLUGIN_DEFINE (good-proxy, "1.2.3", "LGPL-2.1-or-later", good_proxy_load);
