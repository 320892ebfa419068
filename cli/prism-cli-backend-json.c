/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A backend's properties as JSON: what `prism inspect` shows. */
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
  prism_json_string (json, "default", standard);
  prism_json_string (json, "range", choices ? NULL : range);
  if (choices)
    prism_json_strv (json, "choices", (const char *const *)words);
  else
    prism_json_null (json, "choices");
  add_bounds (json, pspec);
  prism_json_end_object (json);
}

/* An array with one object for each of @names, whose plug-ins are loaded. */
void
prism_cli_json_backends (PrismJson *json, const char *key, PrismRegistry *registry, const char *const *names)
{
  prism_json_begin_array (json, key);
  for (guint i = 0; names[i] != NULL; i++)
    {
      GType type = prism_registry_get_backend_type (registry, names[i], NULL);
      g_autofree GParamSpec **pspecs = NULL;
      guint n = 0;

      if (type == G_TYPE_INVALID)
        continue;
      pspecs = prism_cli_list_properties (type, &n);
      prism_json_begin_object (json, NULL);
      prism_json_string (json, "name", names[i]);
      prism_json_string (json, "type_name", g_type_name (type));
      prism_json_begin_array (json, "properties");
      for (guint j = 0; j < n; j++)
        add_property (json, pspecs[j]);
      prism_json_end_array (json);
      prism_json_end_object (json);
    }
  prism_json_end_array (json);
}
