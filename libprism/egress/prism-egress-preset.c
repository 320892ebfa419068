/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The presets that data/presets holds. They are compiled in, so nothing that a
 * user or an environment variable can change decides what a preset allows; and
 * registered on first use, so they cost a start nothing. */
#include "prism-egress-policy.h"

#include "prism-presets.h"

#include <json-glib/json-glib.h>
#include <string.h>

#define FOLDER "/libprism/presets"
#define SUFFIX ".json"

static GResource *
presets (void)
{
  static gsize once = 0;

  if (g_once_init_enter (&once))
    {
      _prism_presets_register_resource ();
      g_once_init_leave (&once, 1);
    }
  return _prism_presets_get_resource ();
}

/* org.example.api -> api.example.org */
static char *
turn_host (const char *written)
{
  g_auto (GStrv) labels = g_strsplit (written, ".", -1);
  guint n = g_strv_length (labels);

  for (guint i = 0; i < n / 2; i++)
    {
      char *label = labels[i];

      labels[i] = labels[n - 1 - i];
      labels[n - 1 - i] = label;
    }
  return g_strjoinv (".", labels);
}

static PrismEgressRule *
read_rule (const char *preset, JsonObject *object, GError **error)
{
  g_autofree char *host = turn_host (json_object_get_string_member (object, "host"));
  g_autofree char *origin = g_strdup_printf ("preset %s: %s", preset, json_object_get_string_member (object, "reason"));
  gboolean plain = g_str_equal (json_object_get_string_member (object, "scheme"), "http");
  g_autoptr (PrismEgressRule) rule = prism_egress_rule_new (
      host, (guint)json_object_get_int_member (object, "port"),
      plain ? PRISM_EGRESS_SCHEME_HTTP : PRISM_EGRESS_SCHEME_HTTPS, PRISM_EGRESS_RULE_FLAGS_NONE, error);

  return rule != NULL ? prism_egress_rule_with_origin (rule, origin) : NULL;
}

static GBytes *
find_preset (const char *name, GError **error)
{
  g_autofree char *path = g_strconcat (FOLDER "/", name, SUFFIX, NULL);
  g_auto (GStrv) names = NULL;
  g_autofree char *list = NULL;
  GBytes *bytes = NULL;

  if (*name != '\0' && strchr (name, '/') == NULL)
    bytes = g_resource_lookup_data (presets (), path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
  if (bytes != NULL)
    return bytes;
  names = prism_egress_policy_list_presets ();
  list = g_strjoinv (", ", names);
  g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY,
               "no egress preset is called \"%.100s\"; there are: %s", name, list);
  return NULL;
}

static int
compare_names (gconstpointer a, gconstpointer b, gpointer unused)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/**
 * prism_egress_policy_list_presets:
 *
 * Gets the names of all presets, sorted.
 *
 * Returns: (transfer full) (array zero-terminated=1): the names of all presets,
 *   sorted
 *
 * Since: 1.0
 */
char **
prism_egress_policy_list_presets (void)
{
  char **names = g_resource_enumerate_children (presets (), FOLDER, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
  guint n = names != NULL ? g_strv_length (names) : 0;

  for (guint i = 0; i < n; i++)
    names[i][strlen (names[i]) - strlen (SUFFIX)] = '\0';
  g_qsort_with_data (names, (int)n, sizeof *names, compare_names, NULL);
  return names;
}

/**
 * prism_egress_policy_load_preset:
 * @name: a preset's name
 * @error: return location for an error
 *
 * Gets its rules, whose origin says what each is for; %NULL with %PRISM_EGRESS_ERROR_POLICY if
 * there is no such preset.
 *
 * Returns: (transfer container) (element-type PrismEgressRule): its rules, whose
 *   origin says what each is for; %NULL with %PRISM_EGRESS_ERROR_POLICY if there
 *   is no such preset
 *
 * Since: 1.0
 */
GPtrArray *
prism_egress_policy_load_preset (const char *name, GError **error)
{
  g_autoptr (GPtrArray) rules = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_egress_rule_unref);
  g_autoptr (JsonParser) parser = json_parser_new_immutable ();
  g_autoptr (GBytes) bytes = NULL;
  JsonArray *array;

  g_return_val_if_fail (name != NULL, NULL);

  bytes = find_preset (name, error);
  if (bytes == NULL
      || !json_parser_load_from_data (parser, g_bytes_get_data (bytes, NULL), (gssize)g_bytes_get_size (bytes), error))
    return NULL;
  array = json_object_get_array_member (json_node_get_object (json_parser_get_root (parser)), "rules");
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      PrismEgressRule *rule = read_rule (name, json_array_get_object_element (array, i), error);

      if (rule == NULL)
        return NULL;
      g_ptr_array_add (rules, rule);
    }
  return g_steal_pointer (&rules);
}
