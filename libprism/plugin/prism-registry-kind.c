/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-registry-kind-private.h"

#include "prism-egress-proxy.h"
#include "prism-registry.h"

static const char *
find_missing_of_backend (gpointer data)
{
  const PrismBackendInterface *iface = data;

  if (iface->get_name == NULL)
    return "get_name";
  if (iface->probe == NULL)
    return "probe";
  return iface->create_sandbox == NULL ? "create_sandbox" : NULL;
}

static const char *
find_missing_of_egress_proxy (gpointer data)
{
  const PrismEgressProxyInterface *iface = data;

  if (iface->get_name == NULL)
    return "get_name";
  if (iface->start == NULL)
    return "start";
  if (iface->stop == NULL)
    return "stop";
  if (iface->add_listener == NULL)
    return "add_listener";
  if (iface->remove_listener == NULL)
    return "remove_listener";
  return iface->set_policy == NULL ? "set_policy" : NULL;
}

const PrismRegistryKind prism_registry_backends = {
  .get_iface = prism_backend_get_type,
  .noun = "backend",
  .key = "Backends",
  .get_offered = prism_plugin_info_get_backends,
  .find_missing = find_missing_of_backend,
};

const PrismRegistryKind prism_registry_egress_proxies = {
  .get_iface = prism_egress_proxy_get_type,
  .noun = "egress proxy",
  .key = "EgressProxies",
  .get_offered = prism_plugin_info_get_egress_proxies,
  .find_missing = find_missing_of_egress_proxy,
};

static gboolean
check_interface_properties (const PrismRegistryKind *kind, GObjectClass *klass, GError **error)
{
  gpointer iface = g_type_default_interface_ref (kind->get_iface ());
  guint n = 0;
  g_autofree GParamSpec **pspecs = g_object_interface_list_properties (iface, &n);
  gboolean good = TRUE;

  for (guint i = 0; i < n && good; i++)
    {
      /* Of the class or its parents; an interface's own is not looked at. */
      good = g_object_class_find_property (klass, pspecs[i]->name) != NULL;
      if (!good)
        g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_TYPE,
                     "the type %s does not override the property “%s” of %s", G_OBJECT_CLASS_NAME (klass),
                     pspecs[i]->name, g_type_name (kind->get_iface ()));
    }
  g_type_default_interface_unref (iface);

  return good;
}

static gboolean
check_methods (const PrismRegistryKind *kind, GObjectClass *klass, GError **error)
{
  const char *missing = kind->find_missing (g_type_interface_peek (klass, kind->get_iface ()));

  if (missing == NULL)
    return TRUE;
  g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_TYPE,
               "the type %s does not implement %s(), which every %s has to", G_OBJECT_CLASS_NAME (klass), missing,
               kind->noun);
  return FALSE;
}

static gboolean
check_instantiable (GType type, GError **error)
{
  if (type == G_TYPE_INVALID || type == G_TYPE_NONE || g_type_name (type) == NULL)
    g_set_error_literal (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_TYPE,
                         "the type could not be registered with GObject: most often because another plug-in or the "
                         "program has a type of the same name; type names carry their plug-in's name");
  else if (!G_TYPE_IS_OBJECT (type)
           || (!g_type_is_a (type, PRISM_TYPE_BACKEND) && !g_type_is_a (type, PRISM_TYPE_EGRESS_PROXY)))
    g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_TYPE,
                 "the type %s does not implement the interface PrismBackend, nor PrismEgressProxy", g_type_name (type));
  else if (G_TYPE_IS_ABSTRACT (type))
    g_set_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_TYPE, "the type %s is abstract", g_type_name (type));
  else
    return TRUE;
  return FALSE;
}

const PrismRegistryKind *
prism_registry_kind_of (GType type, GError **error)
{
  const PrismRegistryKind *kind;
  gpointer klass;
  gboolean good;

  if (!check_instantiable (type, error))
    return NULL;
  kind = g_type_is_a (type, PRISM_TYPE_BACKEND) ? &prism_registry_backends : &prism_registry_egress_proxies;
  klass = g_type_class_ref (type);
  good = check_methods (kind, klass, error) && check_interface_properties (kind, klass, error);
  g_type_class_unref (klass);
  return good ? kind : NULL;
}
