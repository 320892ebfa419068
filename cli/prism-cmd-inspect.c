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
  JsonNode *backends; /* what the trial printed; NULL: it was not loaded */
  GListModel *health; /* what its backends can do here; NULL: not asked */
} Row;

static void
row_free (Row *row)
{
  g_object_unref (row->info);
  g_clear_pointer (&row->backends, json_node_unref);
  g_clear_object (&row->health);
  g_free (row);
}

static gboolean
is_asked_for (PrismPluginInfo *info, const char *only)
{
  return only == NULL || g_str_equal (prism_plugin_info_get_name (info), only)
         || g_strv_contains (prism_plugin_info_get_backends (info), only);
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
        row->backends = json_from_string (trial->json, NULL);
    }

  return trials;
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
      g_autofree char *details = row->backends != NULL ? json_to_string (row->backends, FALSE) : NULL;

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
      prism_json_raw (json, "backends", details != NULL ? details : "[]");
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

static void
print_property (JsonObject *property)
{
  const char *description = member (property, "description");
  const char *standard = member (property, "default");
  const char *range = member (property, "range");
  g_autoptr (GString) line = g_string_new (NULL);
  g_autofree char *visible = NULL;
  JsonNode *choices = json_object_get_member (property, "choices");

  g_string_append_printf (line, "      %s=%s", member (property, "name"), member (property, "type"));
  if (choices != NULL && JSON_NODE_HOLDS_ARRAY (choices))
    {
      JsonArray *array = json_node_get_array (choices);

      g_string_append (line, ": ");
      for (guint i = 0; i < json_array_get_length (array); i++)
        g_string_append_printf (line, "%s%s", i > 0 ? "|" : "", json_array_get_string_element (array, i));
    }
  if (range != NULL)
    g_string_append_printf (line, " (%s)", range);
  if (standard != NULL)
    g_string_append_printf (line, _ (", default %s"), standard);
  if (description != NULL)
    g_string_append_printf (line, "\n          %s", description);
  visible = prism_cli_visible (line->str);
  g_print ("%s\n", visible);
}

static void
print_backends (JsonNode *node)
{
  JsonArray *backends = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;

  for (guint i = 0; backends != NULL && i < json_array_get_length (backends); i++)
    {
      JsonObject *backend = json_array_get_object_element (backends, i);
      JsonArray *properties = json_object_get_array_member (backend, "properties");

      g_print (_ ("    backend %s, set with --set NAME=VALUE:\n"), member (backend, "name"));
      for (guint j = 0; j < json_array_get_length (properties); j++)
        print_property (json_array_get_object_element (properties, j));
      if (json_array_get_length (properties) == 0)
        g_print (_ ("      nothing to set\n"));
    }
}

static void
print_egress_proxies (PrismPluginInfo *info)
{
  const char *const *names = prism_plugin_info_get_egress_proxies (info);

  for (guint i = 0; names[i] != NULL; i++)
    g_print (_ ("    egress proxy %s, set with --proxy-set NAME=VALUE\n"), names[i]);
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
  if (row->backends != NULL)
    print_backends (row->backends);
  print_egress_proxies (row->info);
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
      prism_cli_message (_ ("inspect: one plug-in or backend, or none for all of them"));
      return PRISM_EXIT_FAILED;
    }

  only = argc == 2 ? argv[1] : NULL;
  rows = collect (registry, only);
  if (only != NULL && rows->len == 0)
    {
      prism_cli_message (_ ("inspect: there is no plug-in or backend “%s”; “prism inspect” lists what there is"), only);
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
