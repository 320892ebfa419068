/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-cli-child.h"
#include "prism-cli-health.h"
#include "prism-cli-json.h"
#include "prism-cli.h"

#include <errno.h>
#include <unistd.h>

/* Exit statuses of this command alone; see prism(1). */
enum
{
  DOCTOR_FINE = 0,
  DOCTOR_FAILED = 1,
  DOCTOR_NOTHING = 2,
  DOCTOR_UNANSWERED = 69,
  DOCTOR_INTERNAL = 70,
  DOCTOR_CONFIG = 78,
};

static gboolean as_json;

static GOptionEntry entries[] = {
  { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, N_ ("Print one JSON object"), NULL },
  G_OPTION_ENTRY_NULL,
};

GOptionEntry *
prism_cmd_doctor_entries (void)
{
  return entries;
}

static PrismHealthReport *
failed_report (const char *backend, const GError *error)
{
  PrismHealthReport *report = prism_health_report_new (backend);
  g_autoptr (PrismHealthCheck) check = prism_health_check_new ("plugin.load", PRISM_HEALTH_STATUS_FAIL, error->message,
                                                               _ ("see “prism inspect”"), PRISM_CONTROLS_NONE);

  prism_health_report_add (report, check);
  return report;
}

/* What cannot be loaded here without danger, or at all, is a report already. */
static void
sort_out (PrismRegistry *registry, const char *only, GListStore *reports, GStrvBuilder *names)
{
  g_autoptr (GPtrArray) infos = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GPtrArray) trials = NULL;
  g_auto (GStrv) all = prism_registry_list_backends (registry);
  g_autoptr (GHashTable) broken = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (registry)); i++)
    {
      g_autoptr (PrismPluginInfo) info = g_list_model_get_item (G_LIST_MODEL (registry), i);

      if (prism_plugin_info_get_state (info) == PRISM_PLUGIN_STATE_FOUND
          && (only == NULL || g_strv_contains (prism_plugin_info_get_backends (info), only)))
        g_ptr_array_add (infos, g_steal_pointer (&info));
    }

  trials = prism_cli_try_plugins (infos);
  for (guint i = 0; i < infos->len; i++)
    {
      const PrismCliTrial *trial = trials->pdata[i];
      const char *const *backends = prism_plugin_info_get_backends (infos->pdata[i]);

      for (guint j = 0; !trial->loaded && backends[j] != NULL; j++)
        {
          g_autoptr (PrismHealthReport) report = NULL;

          g_hash_table_add (broken, (gpointer)backends[j]);
          if (only != NULL && !g_str_equal (only, backends[j]))
            continue;
          report = failed_report (backends[j], trial->error);
          g_list_store_append (reports, report);
        }
    }

  for (guint i = 0; all[i] != NULL; i++)
    if (!g_hash_table_contains (broken, all[i]) && (only == NULL || g_str_equal (only, all[i])))
      g_strv_builder_add (names, all[i]);
}

static int
status_of (GListModel *reports)
{
  gboolean unanswered = FALSE;
  guint n = g_list_model_get_n_items (reports);

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (PrismHealthReport) report = g_list_model_get_item (reports, i);
      PrismHealthStatus status = prism_health_report_get_status (report);

      if (status == PRISM_HEALTH_STATUS_FAIL)
        return DOCTOR_FAILED;
      unanswered |= status == PRISM_HEALTH_STATUS_INCONCLUSIVE;
    }

  return n == 0 ? DOCTOR_NOTHING : unanswered ? DOCTOR_UNANSWERED : DOCTOR_FINE;
}

static gboolean
print_json (GListModel *reports, int status)
{
  g_autoptr (PrismJson) json = prism_json_new ();

  prism_json_begin_object (json, NULL);
  prism_json_integer (json, "status", status);
  prism_cli_json_reports (json, "backends", reports);
  prism_json_end_object (json);

  return prism_json_print (json, STDOUT_FILENO);
}

static int
show (GListModel *reports, int status)
{
  if (as_json)
    return print_json (reports, status) ? status : prism_cli_unwritten (errno);

  for (guint i = 0; i < g_list_model_get_n_items (reports); i++)
    {
      g_autoptr (PrismHealthReport) report = g_list_model_get_item (reports, i);

      prism_cli_print_report (report, "");
    }
  if (status == DOCTOR_NOTHING)
    prism_cli_message (_ ("no plug-in was found that provides a backend; “prism inspect” says where was looked"));

  return status;
}

/* Whether @name is known at all, be it as a refused plug-in's backend. */
static gboolean
check_name (PrismRegistry *registry, const char *name, GListStore *reports)
{
  g_auto (GStrv) all = prism_registry_list_backends (registry);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismHealthReport) report = NULL;

  if (g_strv_contains ((const char *const *)all, name))
    return TRUE;

  /* Nothing is loaded by this: nobody offers it, or who does is refused. */
  prism_registry_get_backend_type (registry, name, &error);
  if (g_error_matches (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_NOT_FOUND))
    {
      prism_cli_error (error);
      return FALSE;
    }
  report = failed_report (name, error);
  g_list_store_append (reports, report);

  return TRUE;
}

int
prism_cmd_doctor (int argc, char **argv)
{
  PrismRegistry *registry = prism_registry_get_default ();
  g_autoptr (GListStore) reports = g_list_store_new (PRISM_TYPE_HEALTH_REPORT);
  g_autoptr (GListModel) answers = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv) names = NULL;
  const char *only;

  if (!prism_cli_parse (prism_cli_find_command ("doctor"), entries, FALSE, &argc, &argv, &error))
    {
      prism_cli_error (error);
      return PRISM_EXIT_FAILED;
    }
  if (argc > 2)
    {
      prism_cli_message (_ ("doctor: one backend, or none for all of them"));
      return PRISM_EXIT_FAILED;
    }
  only = argc == 2 ? argv[1] : NULL;
  if (only != NULL && !check_name (registry, only, reports))
    return DOCTOR_CONFIG;

  sort_out (registry, only, reports, builder);
  names = g_strv_builder_end (builder);
  answers = prism_health_run (registry, (const char *const *)names, NULL, &error);
  if (answers == NULL)
    {
      prism_cli_error (error);
      return DOCTOR_INTERNAL;
    }
  for (guint i = 0; i < g_list_model_get_n_items (answers); i++)
    {
      g_autoptr (PrismHealthReport) report = g_list_model_get_item (answers, i);

      g_list_store_append (reports, report);
    }

  return show (G_LIST_MODEL (reports), status_of (G_LIST_MODEL (reports)));
}
