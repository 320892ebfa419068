/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-cli-child.h"
#include "prism-cli-health.h"
#include "prism-cli-json.h"
#include "prism-cli-property.h"
#include "prism-cli-proxy-test.h"
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

static gboolean as_json, reap;
static char **settings;
static gint removed = -1; /* by --reap */

static GOptionEntry entries[] = {
  { "set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &settings, N_ ("Of the backend that is named: one of its properties"),
    N_ ("NAME=VALUE") },
  { "reap", 0, 0, G_OPTION_ARG_NONE, &reap, N_ ("Remove what dead programs left there, first"), NULL },
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

/* What is looked at, and how that went. */
typedef struct
{
  PrismRegistry *registry;
  const char *only;    /* NULL: everything */
  GListStore *reports; /* of backends */
  GListStore *proxies; /* of egress proxies */
  GStrvBuilder *names; /* backends that can be asked */
  guint n_broken;      /* reports on backends that could not be asked: they come first */
  gboolean usual_holds;
} Doctor;

/* What an engine that is not installed, or a service without a key, says of itself is no
 * fault of this machine, as long as nobody asked for that one and what “prism run” takes
 * by itself is there. */
static gboolean
is_fault (const Doctor *self, GListModel *reports, guint position)
{
  return self->only != NULL || !self->usual_holds || reports != G_LIST_MODEL (self->reports)
         || position < self->n_broken;
}

static gboolean
is_wanted (const Doctor *self, const char *name)
{
  return self->only == NULL || g_str_equal (self->only, name);
}

static gboolean
offers_wanted (const Doctor *self, const char *const *names)
{
  for (guint i = 0; names[i] != NULL; i++)
    if (is_wanted (self, names[i]))
      return TRUE;
  return FALSE;
}

static void
note_broken (const Doctor *self, GListStore *reports, const char *const *names, const GError *error, GHashTable *broken)
{
  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autoptr (PrismHealthReport) report = failed_report (names[i], error);

      g_hash_table_add (broken, (gpointer)names[i]);
      if (is_wanted (self, names[i]))
        g_list_store_append (reports, report);
    }
}

/* What cannot be loaded here without danger, or at all, is a report already. */
static void
sort_out (Doctor *self, GHashTable *broken_backends, GHashTable *broken_proxies)
{
  g_autoptr (GPtrArray) infos = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GPtrArray) trials = NULL;

  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (self->registry)); i++)
    {
      g_autoptr (PrismPluginInfo) info = g_list_model_get_item (G_LIST_MODEL (self->registry), i);

      if (prism_plugin_info_get_state (info) == PRISM_PLUGIN_STATE_FOUND
          && (offers_wanted (self, prism_plugin_info_get_backends (info))
              || offers_wanted (self, prism_plugin_info_get_egress_proxies (info))))
        g_ptr_array_add (infos, g_steal_pointer (&info));
    }

  trials = prism_cli_try_plugins (infos);
  for (guint i = 0; i < infos->len; i++)
    {
      const PrismCliTrial *trial = trials->pdata[i];

      if (trial->loaded)
        continue;
      note_broken (self, self->reports, prism_plugin_info_get_backends (infos->pdata[i]), trial->error,
                   broken_backends);
      note_broken (self, self->proxies, prism_plugin_info_get_egress_proxies (infos->pdata[i]), trial->error,
                   broken_proxies);
    }
}

/* Proxies are tried here and now; backends are asked all together later. */
static void
examine (Doctor *self)
{
  g_autoptr (GHashTable) broken_backends = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) broken_proxies = g_hash_table_new (g_str_hash, g_str_equal);
  g_auto (GStrv) backends = prism_registry_list_backends (self->registry);
  g_auto (GStrv) proxies = prism_registry_list_egress_proxies (self->registry);

  sort_out (self, broken_backends, broken_proxies);
  for (guint i = 0; backends[i] != NULL; i++)
    if (!g_hash_table_contains (broken_backends, backends[i]) && is_wanted (self, backends[i]))
      g_strv_builder_add (self->names, backends[i]);
  for (guint i = 0; proxies[i] != NULL; i++)
    if (!g_hash_table_contains (broken_proxies, proxies[i]) && is_wanted (self, proxies[i]))
      {
        g_autoptr (PrismHealthReport) report = prism_cli_test_egress_proxy (self->registry, proxies[i]);

        g_list_store_append (self->proxies, report);
      }
}

static int
status_of (const Doctor *self)
{
  GListModel *models[] = { G_LIST_MODEL (self->reports), G_LIST_MODEL (self->proxies) };
  gboolean unanswered = FALSE;
  guint total = 0;

  for (guint i = 0; i < G_N_ELEMENTS (models); i++)
    for (guint j = 0; j < g_list_model_get_n_items (models[i]); j++, total++)
      {
        g_autoptr (PrismHealthReport) report = g_list_model_get_item (models[i], j);
        PrismHealthStatus status = prism_health_report_get_status (report);

        if (status == PRISM_HEALTH_STATUS_FAIL && is_fault (self, models[i], j))
          return DOCTOR_FAILED;
        unanswered |= status == PRISM_HEALTH_STATUS_INCONCLUSIVE && is_fault (self, models[i], j);
      }

  return total == 0 ? DOCTOR_NOTHING : unanswered ? DOCTOR_UNANSWERED : DOCTOR_FINE;
}

static gboolean
print_json (const Doctor *self, int status)
{
  g_autoptr (PrismJson) json = prism_json_new ();

  prism_json_begin_object (json, NULL);
  prism_json_integer (json, "status", status);
  if (removed >= 0)
    prism_json_integer (json, "removed", removed);
  prism_cli_json_reports (json, "backends", G_LIST_MODEL (self->reports));
  prism_cli_json_proxy_reports (json, "proxies", G_LIST_MODEL (self->proxies));
  prism_json_end_object (json);

  return prism_json_print (json, STDOUT_FILENO);
}

static int
show (const Doctor *self)
{
  int status = status_of (self);

  if (as_json)
    return print_json (self, status) ? status : prism_cli_unwritten (errno);

  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (self->reports)); i++)
    {
      g_autoptr (PrismHealthReport) report = g_list_model_get_item (G_LIST_MODEL (self->reports), i);

      prism_cli_print_report (report, "");
    }
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (self->proxies)); i++)
    {
      g_autoptr (PrismHealthReport) report = g_list_model_get_item (G_LIST_MODEL (self->proxies), i);

      prism_cli_print_proxy_report (report, "");
    }
  if (removed >= 0)
    g_print (ngettext ("%d leftover was removed\n", "%d leftovers were removed\n", (gulong)removed), removed);
  if (status == DOCTOR_NOTHING)
    prism_cli_message (_ ("no plug-in was found that provides a backend; “prism inspect” says where was looked"));

  return status;
}

/* Whether the name is known at all, be it as what a refused plug-in offers. */
static gboolean
check_name (Doctor *self)
{
  g_auto (GStrv) backends = prism_registry_list_backends (self->registry);
  g_auto (GStrv) proxies = prism_registry_list_egress_proxies (self->registry);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismHealthReport) report = NULL;

  if (g_strv_contains ((const char *const *)backends, self->only)
      || g_strv_contains ((const char *const *)proxies, self->only))
    return TRUE;

  /* Nothing is loaded by this: nobody offers it, or who does is refused. */
  if (prism_registry_get_backend_type (self->registry, self->only, &error) == G_TYPE_INVALID
      && g_error_matches (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_NOT_FOUND))
    {
      prism_cli_error (error);
      return FALSE;
    }
  report = failed_report (self->only, error);
  g_list_store_append (self->reports, report);

  return TRUE;
}

static gboolean
ask_backends (Doctor *self)
{
  g_auto (GStrv) names = g_strv_builder_end (self->names);
  g_autoptr (GError) error = NULL;
  g_autoptr (GListModel) answers = prism_health_run (self->registry, (const char *const *)names, NULL, &error);

  if (answers == NULL)
    {
      prism_cli_error (error);
      return FALSE;
    }
  self->n_broken = g_list_model_get_n_items (G_LIST_MODEL (self->reports));
  for (guint i = 0; i < g_list_model_get_n_items (answers); i++)
    {
      g_autoptr (PrismHealthReport) report = g_list_model_get_item (answers, i);
      PrismHealthStatus status = prism_health_report_get_status (report);

      self->usual_holds |= g_str_equal (names[i], PRISM_CLI_USUAL_BACKEND)
                           && (status == PRISM_HEALTH_STATUS_PASS || status == PRISM_HEALTH_STATUS_WARN);
      g_list_store_append (self->reports, report);
    }
  return TRUE;
}

/* One backend as it is set: its leftovers, and its report. */
static int
look_at_one (Doctor *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismHealthReport) report = NULL;
  g_autoptr (PrismBackend) backend =
      prism_cli_make_backend (self->registry, self->only, (const char *const *)settings, &error);

  if (backend == NULL)
    {
      prism_cli_error (error);
      return DOCTOR_CONFIG;
    }
  if (reap && (removed = prism_backend_reap (backend, NULL, &error)) < 0)
    {
      prism_cli_error (error);
      return DOCTOR_FAILED;
    }
  report = prism_backend_probe (backend, NULL, &error);
  if (report == NULL)
    report = failed_report (self->only, error);
  g_list_store_append (self->reports, report);
  return show (self);
}

int
prism_cmd_doctor (int argc, char **argv)
{
  g_autoptr (GListStore) reports = g_list_store_new (PRISM_TYPE_HEALTH_REPORT);
  g_autoptr (GListStore) proxies = g_list_store_new (PRISM_TYPE_HEALTH_REPORT);
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();
  g_autoptr (GError) error = NULL;
  Doctor self = { prism_registry_get_default (), NULL, reports, proxies, names, 0, FALSE };

  if (!prism_cli_parse (prism_cli_find_command ("doctor"), entries, FALSE, &argc, &argv, &error))
    {
      prism_cli_error (error);
      return PRISM_EXIT_FAILED;
    }
  if (argc > 2)
    {
      prism_cli_message (_ ("doctor: one backend or egress proxy, or none for all of them"));
      return PRISM_EXIT_FAILED;
    }
  self.only = argc == 2 ? argv[1] : NULL;
  if (self.only == NULL && (reap || settings != NULL))
    {
      prism_cli_message (_ ("doctor: --set and --reap are of one backend: name it"));
      return PRISM_EXIT_FAILED;
    }
  if (self.only != NULL && !check_name (&self))
    return DOCTOR_CONFIG;
  if (reap || settings != NULL)
    return look_at_one (&self);

  examine (&self);
  return ask_backends (&self) ? show (&self) : DOCTOR_INTERNAL;
}
