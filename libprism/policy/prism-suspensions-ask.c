/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Putting a question down, or finding it there: one for each binding at a time. */
#include "prism-suspension-private.h"

#include "prism-fd-private.h"

#include <string.h>

#define MAX_TIMEOUT_MS (365 * 24 * 60 * 60 * G_GINT64_CONSTANT (1000))
#define MAX_NUMBER     999999

static JsonNode *
make_asked (PrismSuspensions *self, const PrismSuspensionTerms *terms)
{
  g_autoptr (JsonBuilder) builder = json_builder_new_immutable ();
  gint64 now = prism_suspension_now_ms ();

  json_builder_begin_object (builder);
  prism_suspension_add_integer (builder, "version", 1);
  prism_suspension_add_string (builder, "reason", terms->reason);
  prism_suspension_add_string (builder, "binding", terms->binding);
  prism_suspension_add_integer (builder, "askedAt", now);
  prism_suspension_add_integer (builder, "expiresAt", now + prism_suspensions_get_timeout_ms (self));
  prism_suspension_add_string (builder, "runId", terms->run_id);
  prism_suspension_add_string (builder, "sessionId", terms->session_id);
  prism_suspension_add_string (builder, "callId", terms->call_id);
  prism_suspension_add_string (builder, "text", terms->text);
  if (terms->data != NULL)
    {
      json_builder_set_member_name (builder, "data");
      json_builder_add_value (builder, json_node_ref (terms->data));
    }
  json_builder_set_member_name (builder, "resumeSchema");
  json_builder_add_value (builder, json_node_ref (terms->resume_schema));
  json_builder_end_object (builder);
  return json_builder_get_root (builder);
}

/* How many there are, and the highest number of those that are bound to @binding; -1: none. */
static gboolean
survey (int folder, const char *binding, gint64 *highest, guint *n, GError **error)
{
  g_autoptr (GPtrArray) ids = prism_suspension_scan (folder, error);

  *highest = -1;
  *n = 0;
  if (ids == NULL)
    return FALSE;
  *n = ids->len;
  for (guint i = 0; i < ids->len; i++)
    {
      const char *id = ids->pdata[i];

      if (strncmp (id, binding, PRISM_SUSPENSION_BINDING) == 0)
        *highest = MAX (*highest, g_ascii_strtoll (id + PRISM_SUSPENSION_BINDING + 1, NULL, 10));
    }
  return TRUE;
}

static char *
make_id (const char *binding, gint64 number)
{
  return g_strdup_printf ("%.*s-%" G_GINT64_FORMAT, PRISM_SUSPENSION_BINDING, binding, number);
}

/* One that is over says nothing to the next call, unless it is for this very one; and a no lasts as
 * long as a yes would have. */
static gboolean
still_holds (PrismSuspensions *self, PrismSuspension *suspension)
{
  PrismSuspensionState state = prism_suspension_get_state (suspension);

  if (state == PRISM_SUSPENSION_STATE_ENDED
      && g_strcmp0 (prism_suspension_get_outcome (suspension), PRISM_SUSPENSION_OUTCOME_NOTHING) == 0)
    return FALSE;
  return prism_suspensions_get_bind_calls (self)
         || (state != PRISM_SUSPENSION_STATE_STARTED && state != PRISM_SUSPENSION_STATE_ENDED
             && state != PRISM_SUSPENSION_STATE_EXPIRED && !prism_suspension_is_late (suspension));
}

/* NULL without an error: none that holds. */
static PrismSuspension *
find_in (PrismSuspensions *self, int folder, const char *binding, gint64 *highest, guint *n, GError **error)
{
  g_autofree char *id = NULL;
  g_autoptr (PrismSuspension) suspension = NULL;

  if (!survey (folder, binding, highest, n, error) || *highest < 0)
    return NULL;
  id = make_id (binding, *highest);
  suspension = prism_suspension_load (folder, id, self, error);
  return suspension != NULL && still_holds (self, suspension) ? g_steal_pointer (&suspension) : NULL;
}

static gboolean
check_terms (PrismSuspensions *self, const PrismSuspensionTerms *terms, GError **error)
{
  if (prism_suspensions_get_bind_calls (self) && (terms->run_id == NULL || terms->call_id == NULL))
    g_set_error_literal (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_INVALID,
                         "suspensions: an answer is for one call, and this one has no run id or no call id");
  else if (prism_suspensions_get_timeout_ms (self) < 1 || prism_suspensions_get_timeout_ms (self) > MAX_TIMEOUT_MS)
    g_set_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_LIMIT,
                 "suspensions: timeout-ms is %" G_GINT64_FORMAT "; it is from 1 to %" G_GINT64_FORMAT,
                 prism_suspensions_get_timeout_ms (self), MAX_TIMEOUT_MS);
  else
    return TRUE;
  return FALSE;
}

/* Two that ask the same at the same time find the same number; one of them puts it there, and the
 * other one then finds it. */
static PrismSuspension *
suspend_in (PrismSuspensions *self, int folder, const PrismSuspensionTerms *terms, gboolean *fresh, GError **error)
{
  g_autoptr (JsonNode) asked = make_asked (self, terms);
  g_autofree char *text = json_to_string (asked, FALSE);
  GError *wrong = NULL;

  for (guint tries = 0; tries < 100; tries++)
    {
      gint64 highest;
      guint n;
      g_autofree char *id = NULL;
      PrismSuspension *known = find_in (self, folder, terms->binding, &highest, &n, &wrong);

      if (known != NULL || wrong != NULL)
        {
          if (wrong != NULL)
            g_propagate_error (error, wrong);
          return known;
        }
      if (n >= PRISM_SUSPENSION_MOST || highest >= MAX_NUMBER)
        {
          g_set_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_LIMIT,
                       "suspensions: %s has %u already; forget what is over", prism_suspensions_get_folder (self), n);
          return NULL;
        }
      id = make_id (terms->binding, highest + 1);
      if (prism_suspension_put (folder, id, PRISM_SUSPENSION_ASKED, text, &wrong))
        {
          *fresh = TRUE;
          return prism_suspension_load (folder, id, self, error);
        }
      if (wrong != NULL)
        {
          g_propagate_error (error, wrong);
          return NULL;
        }
    }
  g_set_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_FAILED, "suspensions: %s does not come to rest",
               prism_suspensions_get_folder (self));
  return NULL;
}

PrismSuspension *
prism_suspensions_suspend (PrismSuspensions *self, const PrismSuspensionTerms *terms, gboolean *fresh, GError **error)
{
  prism_autofd int folder = -1;

  *fresh = FALSE;
  if (!check_terms (self, terms, error))
    return NULL;
  folder = prism_suspensions_open (self, TRUE, error);
  if (folder < 0)
    return NULL;
  return suspend_in (self, folder, terms, fresh, error);
}
