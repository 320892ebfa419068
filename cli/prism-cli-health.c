/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Health reports, for scripts and for people. */
#include "prism-cli-health.h"

#include "prism-cli-names.h"
#include "prism-cli.h"

#include <unistd.h>

static char *
backend_name (PrismHealthReport *report)
{
  char *name;

  g_object_get (report, "backend-name", &name, NULL);
  return name;
}

static void
add_controls (PrismJson *json, const char *key, PrismControls controls)
{
  g_auto (GStrv) nicks = prism_cli_flags_nicks (PRISM_TYPE_CONTROLS, controls);

  prism_json_strv (json, key, (const char *const *)nicks);
}

static PrismControls
missing_controls (PrismHealthReport *report)
{
  return ((PRISM_CONTROLS_WORKSPACE << 1) - 1) & ~prism_health_report_get_enforced (report);
}

static void
add_checks (PrismJson *json, PrismHealthReport *report)
{
  prism_json_begin_array (json, "checks");
  for (guint j = 0; j < g_list_model_get_n_items (G_LIST_MODEL (report)); j++)
    {
      g_autoptr (PrismHealthCheck) check = g_list_model_get_item (G_LIST_MODEL (report), j);
      g_autofree char *nick = prism_cli_enum_nick (PRISM_TYPE_HEALTH_STATUS, prism_health_check_get_status (check));

      prism_json_begin_object (json, NULL);
      prism_json_string (json, "id", prism_health_check_get_id (check));
      prism_json_string (json, "status", nick);
      prism_json_string (json, "summary", prism_health_check_get_summary (check));
      prism_json_string (json, "remedy", prism_health_check_get_remedy (check));
      add_controls (json, "controls", prism_health_check_get_controls (check));
      prism_json_end_object (json);
    }
  prism_json_end_array (json);
}

static void
begin_report (PrismJson *json, PrismHealthReport *report)
{
  g_autofree char *name = backend_name (report);
  g_autofree char *word = prism_cli_enum_nick (PRISM_TYPE_HEALTH_STATUS, prism_health_report_get_status (report));

  prism_json_begin_object (json, NULL);
  prism_json_string (json, "name", name);
  prism_json_string (json, "status", word);
}

/* An array with one object for each of @reports. */
void
prism_cli_json_reports (PrismJson *json, const char *key, GListModel *reports)
{
  prism_json_begin_array (json, key);
  for (guint i = 0; i < g_list_model_get_n_items (reports); i++)
    {
      g_autoptr (PrismHealthReport) report = g_list_model_get_item (reports, i);

      begin_report (json, report);
      add_controls (json, "enforced", prism_health_report_get_enforced (report));
      add_controls (json, "missing", missing_controls (report));
      add_checks (json, report);
      prism_json_end_object (json);
    }
  prism_json_end_array (json);
}

/* The same of egress proxies, which enforce what their policies say. */
void
prism_cli_json_proxy_reports (PrismJson *json, const char *key, GListModel *reports)
{
  prism_json_begin_array (json, key);
  for (guint i = 0; i < g_list_model_get_n_items (reports); i++)
    {
      g_autoptr (PrismHealthReport) report = g_list_model_get_item (reports, i);

      begin_report (json, report);
      add_checks (json, report);
      prism_json_end_object (json);
    }
  prism_json_end_array (json);
}

static const char *
status_word (PrismHealthStatus status, const char **style)
{
  static const char *const styles[] = { "\033[32m", "\033[33m", "\033[31m", "\033[2m", "\033[33m" };
  const char *const words[] = { _ ("pass"), _ ("warn"), _ ("fail"), _ ("skipped"), _ ("no answer") };

  *style = prism_cli_style (STDOUT_FILENO, styles[status]);

  return words[status];
}

static void
print_line (const char *indent, const char *more, PrismHealthStatus status, const char *label, const char *text)
{
  g_autofree char *visible = prism_cli_visible (text);
  const char *style;
  const char *word = status_word (status, &style);

  g_print ("%s%s%s%s%s  %s%s%s\n", indent, more, style, word, *style != '\0' ? "\033[0m" : "", label,
           *label != '\0' ? ": " : "", visible);
}

static void
print_checks (PrismHealthReport *report, const char *indent)
{
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (report)); i++)
    {
      g_autoptr (PrismHealthCheck) check = g_list_model_get_item (G_LIST_MODEL (report), i);
      const char *remedy = prism_health_check_get_remedy (check);
      PrismHealthStatus status = prism_health_check_get_status (check);

      print_line (indent, "  ", status, prism_health_check_get_id (check), prism_health_check_get_summary (check));
      if (status != PRISM_HEALTH_STATUS_PASS && remedy != NULL)
        {
          g_autofree char *visible = prism_cli_visible (remedy);

          g_print (_ ("%s        to do: %s\n"), indent, visible);
        }
    }
}

/* Each line after @indent. */
void
prism_cli_print_report (PrismHealthReport *report, const char *indent)
{
  g_autofree char *name = backend_name (report);
  g_auto (GStrv) enforced = prism_cli_flags_nicks (PRISM_TYPE_CONTROLS, prism_health_report_get_enforced (report));
  g_auto (GStrv) missing = prism_cli_flags_nicks (PRISM_TYPE_CONTROLS, missing_controls (report));
  g_autofree char *has = g_strjoinv (", ", enforced);
  g_autofree char *lacks = g_strjoinv (", ", missing);
  g_autofree char *text = NULL;

  if (missing[0] == NULL)
    text = g_strdup_printf (_ ("enforces %s"), has);
  else if (enforced[0] == NULL)
    text = g_strdup_printf (_ ("enforces nothing here; missing: %s"), lacks);
  else
    text = g_strdup_printf (_ ("enforces %s; missing: %s"), has, lacks);
  print_line (indent, "", prism_health_report_get_status (report), name, text);

  print_checks (report, indent);
}

void
prism_cli_print_proxy_report (PrismHealthReport *report, const char *indent)
{
  g_autofree char *name = backend_name (report);

  print_line (indent, "", prism_health_report_get_status (report), name, _ ("egress proxy"));
  print_checks (report, indent);
}
