/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What plug-ins provide, as JSON: what `prism inspect` shows. */
#include "prism-cli-backend-json.h"

#include "prism-cli-property.h"

#include <string.h>

static const char *
type_word (GType type)
{
  if (type == G_TYPE_STRING)
    return "string";
  if (type == G_TYPE_BOOLEAN)
    return "boolean";
  if (type == G_TYPE_FILE)
    return "path";
  if (type == G_TYPE_STRV)
    return "list";
  if (type == G_TYPE_DOUBLE)
    return "number";
  if (G_TYPE_IS_ENUM (type))
    return "enum";
  if (G_TYPE_IS_FLAGS (type))
    return "flags";
  if (g_value_type_transformable (type, G_TYPE_INT64))
    return "integer";

  return g_type_name (type);
}

static void
add_bounds (PrismJson *json, GParamSpec *pspec)
{
  static const struct
  {
    PrismLimitsProfile profile;
    const char *name;
  } profiles[] = { { PRISM_LIMITS_PROFILE_STANDARD, "standard" }, { PRISM_LIMITS_PROFILE_STRICT, "strict" } };
  gint64 standard, minimum, maximum;

  if (!prism_param_spec_get_bounds (pspec, PRISM_LIMITS_PROFILE_STANDARD, &standard, &minimum, &maximum))
    {
      prism_json_null (json, "bounds");
      return;
    }

  prism_json_begin_object (json, "bounds");
  for (guint i = 0; i < G_N_ELEMENTS (profiles); i++)
    if (prism_param_spec_get_bounds (pspec, profiles[i].profile, &standard, &minimum, &maximum))
      {
        prism_json_begin_object (json, profiles[i].name);
        prism_json_integer (json, "default", standard);
        prism_json_integer (json, "minimum", minimum);
        prism_json_integer (json, "maximum", maximum);
        prism_json_end_object (json);
      }
  prism_json_end_object (json);
}

static void
add_property (PrismJson *json, GParamSpec *pspec)
{
  g_autofree char *standard = prism_cli_property_default (pspec);
  g_autofree char *range = prism_cli_property_range (pspec);
  gboolean choices = G_TYPE_IS_ENUM (pspec->value_type) || G_TYPE_IS_FLAGS (pspec->value_type);
  g_auto (GStrv) words = choices && range != NULL ? g_strsplit (range, ", ", -1) : NULL;

  prism_json_begin_object (json, NULL);
  prism_json_string (json, "name", pspec->name);
  prism_json_string (json, "type", type_word (pspec->value_type));
  prism_json_string (json, "description", g_param_spec_get_blurb (pspec));
  prism_json_boolean (json, "settable", prism_cli_property_is_settable (pspec));
  prism_json_string (json, "default", standard);
  prism_json_string (json, "range", choices ? NULL : range);
  if (choices)
    prism_json_strv (json, "choices", (const char *const *)words);
  else
    prism_json_null (json, "choices");
  add_bounds (json, pspec);
  prism_json_end_object (json);
}

static void
add_properties (PrismJson *json, const char *key, GType type, gboolean (*is_wanted) (GParamSpec *pspec))
{
  guint n = 0;
  g_autofree GParamSpec **pspecs = prism_cli_list_properties (type, &n);

  prism_json_begin_array (json, key);
  for (guint i = 0; i < n; i++)
    if (is_wanted == NULL || is_wanted (pspecs[i]))
      add_property (json, pspecs[i]);
  prism_json_end_array (json);
}

static void
begin_type (PrismJson *json, const char *name, GType type)
{
  prism_json_begin_object (json, NULL);
  prism_json_string (json, "name", name);
  prism_json_string (json, "type_name", g_type_name (type));
  add_properties (json, "properties", type, NULL);
}

/* An array with one object for each of @names, whose plug-ins are loaded. */
void
prism_cli_json_backends (PrismJson *json, const char *key, PrismRegistry *registry, const char *const *names)
{
  prism_json_begin_array (json, key);
  for (guint i = 0; names[i] != NULL; i++)
    {
      GType type = prism_registry_get_backend_type (registry, names[i], NULL);

      if (type == G_TYPE_INVALID)
        continue;
      begin_type (json, names[i], type);
      prism_json_end_object (json);
    }
  prism_json_end_array (json);
}

static gboolean
is_limit (GParamSpec *pspec)
{
  gint64 standard, minimum, maximum;

  return prism_param_spec_get_bounds (pspec, PRISM_LIMITS_PROFILE_STANDARD, &standard, &minimum, &maximum);
}

/* What a proxy may leave out. The class is loaded: its plug-in checked it. */
static void
add_capabilities (PrismJson *json, GType type)
{
  gpointer klass = g_type_class_ref (type);
  const PrismEgressProxyInterface *iface = g_type_interface_peek (klass, PRISM_TYPE_EGRESS_PROXY);

  prism_json_begin_object (json, "capabilities");
  prism_json_boolean (json, "statistics", iface->dup_stats != NULL);
  prism_json_boolean (json, "signed_attestations", iface->sign_attestation != NULL);
  prism_json_end_object (json);
  g_type_class_unref (klass);
}

/* As the backends; and what every listener of a proxy is held to. */
void
prism_cli_json_egress_proxies (PrismJson *json, const char *key, PrismRegistry *registry, const char *const *names)
{
  prism_json_begin_array (json, key);
  for (guint i = 0; names[i] != NULL; i++)
    {
      GType type = prism_registry_get_egress_proxy_type (registry, names[i], NULL);

      if (type == G_TYPE_INVALID)
        continue;
      begin_type (json, names[i], type);
      add_capabilities (json, type);
      add_properties (json, "limits", PRISM_TYPE_EGRESS_LISTENER, is_limit);
      prism_json_end_object (json);
    }
  prism_json_end_array (json);
}
