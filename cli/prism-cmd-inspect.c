/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-cli-child.h"
#include "prism-cli-health.h"
#include "prism-cli-json.h"
#include "prism-cli-names.h"
#include "prism-cli.h"

#include <errno.h>
#include <json-glib/json-glib.h>
#include <string.h>
#include <unistd.h>

static gboolean as_json;

static GOptionEntry entries[] = {
  { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, N_ ("Print one JSON object"), NULL },
  G_OPTION_ENTRY_NULL,
};

GOptionEntry *
prism_cmd_inspect_entries (void)
{
  return entries;
}

/* One plug-in, and what came of loading it. */
typedef struct
{
  PrismPluginInfo *info;
  PrismPluginState state;
  const GError *error;
  JsonNode *details;  /* what the trial printed; NULL: it was not loaded */
  GListModel *health; /* what its backends can do here; NULL: not asked */
} Row;

static void
row_free (Row *row)
{
  g_object_unref (row->info);
  g_clear_pointer (&row->details, json_node_unref);
  g_clear_object (&row->health);
  g_free (row);
}

static gboolean
is_asked_for (PrismPluginInfo *info, const char *only)
{
  return only == NULL || g_str_equal (prism_plugin_info_get_name (info), only)
         || g_strv_contains (prism_plugin_info_get_backends (info), only)
         || g_strv_contains (prism_plugin_info_get_egress_proxies (info), only);
}

static GPtrArray *
collect (PrismRegistry *registry, const char *only)
{
  GPtrArray *rows = g_ptr_array_new_with_free_func ((GDestroyNotify)row_free);

  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (registry)); i++)
    {
      g_autoptr (PrismPluginInfo) info = g_list_model_get_item (G_LIST_MODEL (registry), i);
      Row *row;

      if (!is_asked_for (info, only))
        continue;
      row = g_new0 (Row, 1);
      row->state = prism_plugin_info_get_state (info);
      row->error = prism_plugin_info_get_error (info);
      row->info = g_steal_pointer (&info);
      g_ptr_array_add (rows, row);
    }

  return rows;
}

/* Returns the trials, which own the errors that rows point to. */
static GPtrArray *
try_rows (GPtrArray *rows)
{
  g_autoptr (GPtrArray) infos = g_ptr_array_new ();
  GPtrArray *trials;
  guint next = 0;

  for (guint i = 0; i < rows->len; i++)
    if (((Row *)rows->pdata[i])->state == PRISM_PLUGIN_STATE_FOUND)
      g_ptr_array_add (infos, ((Row *)rows->pdata[i])->info);
  trials = prism_cli_try_plugins (infos);

  for (guint i = 0; i < rows->len; i++)
    {
      Row *row = rows->pdata[i];
      const PrismCliTrial *trial;

      if (row->state != PRISM_PLUGIN_STATE_FOUND)
        continue;
      trial = trials->pdata[next++];
      row->state = trial->loaded ? PRISM_PLUGIN_STATE_LOADED : PRISM_PLUGIN_STATE_REFUSED;
      row->error = trial->error;
      if (trial->loaded)
        row->details = json_from_string (trial->json, NULL);
    }

  return trials;
}

/* A member of what the trial printed; NULL if there is no such array. */
static JsonNode *
get_detail (const Row *row, const char *name)
{
  JsonNode *node = row->details != NULL && JSON_NODE_HOLDS_OBJECT (row->details)
                       ? json_object_get_member (json_node_get_object (row->details), name)
                       : NULL;

  return node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? node : NULL;
}

static void
json_detail (PrismJson *json, const Row *row, const char *name)
{
  JsonNode *node = get_detail (row, name);
  g_autofree char *text = node != NULL ? json_to_string (node, FALSE) : NULL;

  prism_json_raw (json, name, text != NULL ? text : "[]");
}

/* Returns an exit status. */
static int
print_json (GPtrArray *rows)
{
  g_autoptr (PrismJson) json = prism_json_new ();

  prism_json_begin_object (json, NULL);
  prism_json_begin_array (json, "plugins");
  for (guint i = 0; i < rows->len; i++)
    {
      Row *row = rows->pdata[i];
      g_autofree char *state = prism_cli_enum_nick (PRISM_TYPE_PLUGIN_STATE, row->state);

      prism_json_begin_object (json, NULL);
      prism_json_string (json, "name", prism_plugin_info_get_name (row->info));
      prism_json_string (json, "version", prism_plugin_info_get_version (row->info));
      prism_json_string (json, "licence", prism_plugin_info_get_licence (row->info));
      prism_json_string (json, "description", prism_plugin_info_get_description (row->info));
      prism_json_string (json, "abi", prism_plugin_info_get_abi (row->info));
      prism_json_string (json, "manifest", prism_plugin_info_get_manifest (row->info));
      prism_json_string (json, "module", prism_plugin_info_get_module (row->info));
      prism_json_strv (json, "offers", prism_plugin_info_get_backends (row->info));
      prism_json_strv (json, "egress_proxies", prism_plugin_info_get_egress_proxies (row->info));
      prism_json_string (json, "state", state);
      prism_json_error (json, "error", row->error);
      json_detail (json, row, "backends");
      json_detail (json, row, "proxies");
      if (row->health != NULL)
        prism_cli_json_reports (json, "health", row->health);
      else
        prism_json_null (json, "health");
      prism_json_end_object (json);
    }
  prism_json_end_array (json);
  prism_json_end_object (json);
  return prism_json_print (json, STDOUT_FILENO) ? 0 : prism_cli_unwritten (errno);
}

static const char *
member (JsonObject *object, const char *name)
{
  return json_object_has_member (object, name) ? json_object_get_string_member_with_default (object, name, NULL) : NULL;
}

static JsonArray *
array_member (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
}

static guint
length_of (JsonArray *array)
{
  return array != NULL ? json_array_get_length (array) : 0;
}

static void
append_choices (GString *line, JsonArray *choices)
{
  for (guint i = 0; i < length_of (choices); i++)
    g_string_append_printf (line, "%s%s", i > 0 ? "|" : ": ", json_array_get_string_element (choices, i));
}

/* Where the strict profile has bounds of its own. */
static void
append_strict (GString *line, JsonObject *property)
{
  JsonNode *node = json_object_get_member (property, "bounds");
  JsonObject *bounds = node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  JsonNode *standard = bounds != NULL ? json_object_get_member (bounds, "standard") : NULL;
  JsonNode *strict = bounds != NULL ? json_object_get_member (bounds, "strict") : NULL;
  static const char *const names[] = { "minimum", "maximum", "default" };
  char *numbers[G_N_ELEMENTS (names)];
  JsonObject *object;

  if (standard == NULL || strict == NULL || json_node_equal (standard, strict) || !JSON_NODE_HOLDS_OBJECT (strict))
    return;
  object = json_node_get_object (strict);
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    numbers[i] = g_strdup_printf ("%" G_GINT64_FORMAT, json_object_get_int_member_with_default (object, names[i], 0));
  g_string_append_printf (line, _ ("; strict: %s … %s, default %s"), numbers[0], numbers[1], numbers[2]);
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    g_free (numbers[i]);
}

static void
print_property (JsonObject *property)
{
  const char *description = member (property, "description");
  const char *standard = member (property, "default");
  const char *range = member (property, "range");
  g_autoptr (GString) line = g_string_new (NULL);
  g_autofree char *visible = NULL;

  g_string_append_printf (line, "      %s=%s", member (property, "name"), member (property, "type"));
  append_choices (line, array_member (property, "choices"));
  if (range != NULL)
    g_string_append_printf (line, " (%s)", range);
  if (standard != NULL)
    g_string_append_printf (line, _ (", default %s"), standard);
  append_strict (line, property);
  if (!json_object_get_boolean_member_with_default (property, "settable", TRUE))
    g_string_append (line, _ (", set by a program only"));
  if (description != NULL)
    g_string_append_printf (line, "\n          %s", description);
  visible = prism_cli_visible (line->str);
  g_print ("%s\n", visible);
}

static void
print_properties (JsonArray *properties)
{
  for (guint i = 0; i < length_of (properties); i++)
    print_property (json_array_get_object_element (properties, i));
  if (length_of (properties) == 0)
    g_print (_ ("      nothing to set\n"));
}

static void
print_backends (const Row *row)
{
  JsonNode *node = get_detail (row, "backends");
  JsonArray *backends = node != NULL ? json_node_get_array (node) : NULL;

  for (guint i = 0; i < length_of (backends); i++)
    {
      JsonObject *backend = json_array_get_object_element (backends, i);

      g_print (_ ("    backend %s, set with --set NAME=VALUE:\n"), member (backend, "name"));
      print_properties (array_member (backend, "properties"));
    }
}

static void
print_capability (JsonObject *proxy, const char *name, const char *yes, const char *no)
{
  JsonNode *node = json_object_get_member (proxy, "capabilities");
  gboolean can = node != NULL && JSON_NODE_HOLDS_OBJECT (node)
                 && json_object_get_boolean_member_with_default (json_node_get_object (node), name, FALSE);

  g_print ("      %s\n", can ? yes : no);
}

static void
print_egress_proxies (const Row *row)
{
  JsonNode *node = get_detail (row, "proxies");
  JsonArray *proxies = node != NULL ? json_node_get_array (node) : NULL;

  for (guint i = 0; i < length_of (proxies); i++)
    {
      JsonObject *proxy = json_array_get_object_element (proxies, i);

      g_print (_ ("    egress proxy %s, set with --proxy-set NAME=VALUE:\n"), member (proxy, "name"));
      print_properties (array_member (proxy, "properties"));
      g_print (_ ("    what the egress proxy %s can do:\n"), member (proxy, "name"));
      print_capability (proxy, "statistics", _ ("counts what goes through"), _ ("does not count what goes through"));
      print_capability (proxy, "signed_attestations", _ ("signs what it says of itself, if it has a key"),
                        _ ("cannot sign what it says of itself"));
      g_print (_ ("    limits of each of its listeners, set by a program:\n"));
      print_properties (array_member (proxy, "limits"));
    }
}

static const char *
state_word (PrismPluginState state)
{
  switch (state)
    {
    case PRISM_PLUGIN_STATE_LOADED:
      return _ ("fine");
    case PRISM_PLUGIN_STATE_SHADOWED:
      return _ ("shadowed");
    case PRISM_PLUGIN_STATE_REFUSED:
      return _ ("refused");
    case PRISM_PLUGIN_STATE_FOUND:
    default:
      return _ ("found");
    }
}

static void
print_visible (const char *format, const char *text)
{
  g_autofree char *visible = text != NULL ? prism_cli_visible (text) : NULL;
  g_autofree char *line = NULL;

  if (visible == NULL)
    return;
  line = g_strdup_printf ("    %s %s\n", format, visible);
  g_print ("%s", line);
}

static void
print_row (const Row *row)
{
  const char *style = prism_cli_style (STDOUT_FILENO, row->state == PRISM_PLUGIN_STATE_LOADED    ? "\033[32m"
                                                      : row->state == PRISM_PLUGIN_STATE_REFUSED ? "\033[31m"
                                                                                                 : "\033[33m");
  const char *version = prism_plugin_info_get_version (row->info);
  const char *description = prism_plugin_info_get_description (row->info);
  g_autofree char *name = prism_cli_visible (prism_plugin_info_get_name (row->info));

  g_print ("%s %s%s%s%s%s\n", name, version != NULL ? version : "", version != NULL ? " " : "", style,
           state_word (row->state), *style != '\0' ? "\033[0m" : "");
  if (description != NULL && *description != '\0')
    g_print ("    %s\n", description);
  if (row->error != NULL)
    print_visible (_ ("because:"), row->error->message);
  if (row->state == PRISM_PLUGIN_STATE_SHADOWED)
    print_visible (_ ("because:"), _ ("a folder that is searched earlier has a plug-in of the same name"));
  print_visible (_ ("manifest:"), prism_plugin_info_get_manifest (row->info));
  print_visible (_ ("module:"), prism_plugin_info_get_module (row->info));
  print_visible (_ ("licence:"), prism_plugin_info_get_licence (row->info));
  print_backends (row);
  print_egress_proxies (row);
  for (guint i = 0; row->health != NULL && i < g_list_model_get_n_items (row->health); i++)
    {
      g_autoptr (PrismHealthReport) report = g_list_model_get_item (row->health, i);

      prism_cli_print_report (report, "    ");
    }
}

/* Only of what was asked for by name: it takes as long as making sandboxes does. */
static void
ask_health (PrismRegistry *registry, GPtrArray *rows)
{
  for (guint i = 0; i < rows->len; i++)
    {
      Row *row = rows->pdata[i];

      if (row->state == PRISM_PLUGIN_STATE_LOADED)
        row->health = prism_health_run (registry, prism_plugin_info_get_backends (row->info), NULL, NULL);
    }
}

static void
print_folders (void)
{
  g_print (
      _ ("No plug-in was found. Plug-ins are looked for in %s, and in the folders that PRISM_PLUGIN_PATH names.\n"),
      PRISM_PLUGINSDIR);
}

int
prism_cmd_inspect (int argc, char **argv)
{
  PrismRegistry *registry = prism_registry_get_default ();
  g_autoptr (GPtrArray) rows = NULL;
  g_autoptr (GPtrArray) trials = NULL;
  g_autoptr (GError) error = NULL;
  const char *only;
  int status;

  if (!prism_cli_parse (prism_cli_find_command ("inspect"), entries, FALSE, &argc, &argv, &error))
    {
      prism_cli_error (error);
      return PRISM_EXIT_FAILED;
    }
  if (argc > 2)
    {
      prism_cli_message (_ ("inspect: one plug-in, backend or egress proxy, or none for all of them"));
      return PRISM_EXIT_FAILED;
    }

  only = argc == 2 ? argv[1] : NULL;
  rows = collect (registry, only);
  if (only != NULL && rows->len == 0)
    {
      prism_cli_message (
          _ ("inspect: there is no plug-in, backend or egress proxy “%s”; “prism inspect” lists what there is"), only);
      return PRISM_EXIT_FAILED;
    }

  trials = try_rows (rows);
  if (only != NULL)
    ask_health (registry, rows);
  if (as_json && (status = print_json (rows)) != 0)
    return status;
  if (!as_json && rows->len == 0)
    print_folders ();
  for (guint i = 0; !as_json && i < rows->len; i++)
    print_row (rows->pdata[i]);

  return only != NULL && ((Row *)rows->pdata[0])->state == PRISM_PLUGIN_STATE_REFUSED ? 1 : 0;
}
