/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-e2b-probe.h"

#include <string.h>

#define MOST_SKEW_S 60
#define PUBLIC      "base" /* every account has it */

static void
add (PrismHealthReport *report,
     const char *id,
     PrismHealthStatus status,
     const char *summary,
     const char *remedy,
     PrismControls controls)
{
  g_autoptr (PrismHealthCheck) check = prism_health_check_new (id, status, summary, remedy, controls);
  prism_health_report_add (report, check);
}

void
prism_e2b_probe_without (const GError *error, PrismHealthReport *report)
{
  add (report, "e2b.key", PRISM_HEALTH_STATUS_FAIL, error->message,
       "set E2B_API_KEY, or --set api-key=KEY where no one else reads the command line", PRISM_CONTROLS_NONE);
}

static gboolean
ask (PrismE2bClient *client,
     const char *path,
     const char *what,
     PrismE2bReply *reply,
     PrismOperation *operation,
     GError **error)
{
  PrismE2bRequest request = {
    .plane = PRISM_E2B_PLANE_CONTROL,
    .method = "GET",
    .path = path,
    .what = what,
    .idempotent = TRUE,
    .deadline = prism_operation_get_deadline (operation),
  };

  return prism_e2b_client_call (client, &request, reply, prism_operation_get_cancellable (operation), error);
}

/* Its times are in its own clock, which is asked for with them: a difference is survived. */
static void
check_clock (gint64 date_us, PrismHealthReport *report)
{
  gint64 skew = (g_get_real_time () - date_us) / G_USEC_PER_SEC;
  g_autofree char *summary = NULL;

  if (date_us == 0)
    {
      add (report, "e2b.clock", PRISM_HEALTH_STATUS_SKIPPED, "the service does not say what time it is",
           "look whether this machine's clock is right", PRISM_CONTROLS_NONE);
      return;
    }
  summary = g_strdup_printf ("this machine's clock is %" G_GINT64_FORMAT " s %s the service's", ABS (skew),
                             skew < 0 ? "behind" : "before");
  if (ABS (skew) <= MOST_SKEW_S)
    add (report, "e2b.clock", PRISM_HEALTH_STATUS_PASS, "this machine's clock and the service's agree", NULL,
         PRISM_CONTROLS_NONE);
  else
    add (report, "e2b.clock", PRISM_HEALTH_STATUS_WARN, summary,
         "set the clock (timedatectl set-ntp true): certificates are checked against it", PRISM_CONTROLS_NONE);
}

static gboolean
has_text (JsonNode *list, const char *wanted)
{
  JsonArray *array = prism_http_json_array (list);

  for (guint i = 0; array != NULL && i < json_array_get_length (array); i++)
    if (g_strcmp0 (prism_http_json_text (json_array_get_element (array, i)), wanted) == 0)
      return TRUE;
  return FALSE;
}

/* By its id or one of its names, with or without a tag. */
static gboolean
is_listed (JsonNode *answer, const char *name)
{
  JsonArray *array = prism_http_json_array (answer);
  g_autofree char *plain = g_strndup (name, strcspn (name, ":"));

  for (guint i = 0; array != NULL && i < json_array_get_length (array); i++)
    {
      JsonNode *template = json_array_get_element (array, i);

      if (g_strcmp0 (prism_http_json_text (prism_http_json_get (template, "templateID", NULL)), plain) == 0
          || has_text (prism_http_json_get (template, "aliases", NULL), plain)
          || has_text (prism_http_json_get (template, "names", NULL), plain))
        return TRUE;
    }
  return FALSE;
}

static void
check_template (PrismE2bClient *client, const char *name, PrismOperation *operation, PrismHealthReport *report)
{
  g_auto (PrismE2bReply) reply = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) answer = NULL;
  g_autofree char *summary = NULL;
  const char *remedy = "look at the property template: it is an id, or a name, of the account's, or a public one; "
                       "whether it is there is known for certain when a sandbox is made of it";

  if (strcmp (name, PUBLIC) == 0)
    {
      add (report, "e2b.template", PRISM_HEALTH_STATUS_PASS, "sandboxes are made of base, which every account has",
           NULL, PRISM_CONTROLS_NONE);
      return;
    }
  if (ask (client, "/templates", "list the templates", &reply, operation, &error))
    answer = prism_http_json_parse (reply.body, NULL);
  if (prism_http_json_array (answer) == NULL)
    {
      summary = g_strdup_printf ("the service does not tell which templates there are%s%s", error != NULL ? ": " : "",
                                 error != NULL ? error->message : "");
      add (report, "e2b.template", PRISM_HEALTH_STATUS_SKIPPED, summary, remedy, PRISM_CONTROLS_NONE);
      return;
    }
  if (is_listed (answer, name))
    {
      summary = g_strdup_printf ("the template %s is one of the account's", name);
      add (report, "e2b.template", PRISM_HEALTH_STATUS_PASS, summary, NULL, PRISM_CONTROLS_NONE);
      return;
    }
  summary = g_strdup_printf ("the template %s is none of the account's own", name);
  add (report, "e2b.template", PRISM_HEALTH_STATUS_WARN, summary, remedy, PRISM_CONTROLS_NONE);
}

void
prism_e2b_probe (PrismE2bClient *client,
                 const PrismE2bOptions *options,
                 PrismOperation *operation,
                 PrismHealthReport *report)
{
  g_auto (PrismE2bReply) reply = { 0 };
  g_autoptr (GError) error = NULL;
  gboolean late;

  add (report, "e2b.key", PRISM_HEALTH_STATUS_PASS, "there is an API key", NULL, PRISM_CONTROLS_NONE);
  if (ask (client, "/v2/sandboxes?limit=1", "reach the service", &reply, operation, &error))
    {
      add (report, "e2b.service", PRISM_HEALTH_STATUS_PASS, "the service answers, and takes the key", NULL,
           PRISM_CONTROLS_FILESYSTEM | PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_PROCESS | PRISM_CONTROLS_EGRESS
               | PRISM_CONTROLS_WORKSPACE);
      check_clock (reply.date_us, report);
      check_template (client, options->template_name != NULL ? options->template_name : PUBLIC, operation, report);
      return;
    }
  late = g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT);
  add (report, "e2b.service", late ? PRISM_HEALTH_STATUS_INCONCLUSIVE : PRISM_HEALTH_STATUS_FAIL, error->message,
       "check the key, the network, and the properties domain and api-url", PRISM_CONTROLS_NONE);
}
