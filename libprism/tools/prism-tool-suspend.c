/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A call whose answer comes later: what it says meanwhile, what it finds when it is made again, and
 * how what began before is told from what was done. TRUST: the question is a model's; the answer was
 * checked against it when it was given, and is again here. */
#include "prism-tool-run-private.h"

#include "prism-action-private.h"
#include "prism-approval-suspend-private.h"
#include "prism-operation-private.h"
#include "prism-question-private.h"

#include <string.h>

#define MAX_OUTCOME 300

/* --- what it says ------------------------------------------------------------------------------------ */

gboolean
prism_tool_fail_suspended (PrismToolRun *run, PrismSuspension *suspension, GError **error)
{
  json_builder_set_member_name (run->metadata, "suspension");
  json_builder_begin_object (run->metadata);
  prism_tool_add_string (run, "id", prism_suspension_get_id (suspension));
  prism_tool_add_string (run, "reason", prism_suspension_get_reason (suspension));
  prism_tool_add_integer (run, "expiresAt", prism_suspension_get_expires_at (suspension));
  json_builder_end_object (run->metadata);
  return prism_tool_fail (error, PRISM_TOOL_ERROR_SUSPENDED,
                          "suspended (%s): nothing was done, and somebody is to answer; make the same call again then",
                          prism_suspension_get_id (suspension));
}

void
prism_tool_end_begun (PrismToolRun *run, const GError *error)
{
  g_autofree char *text = NULL;
  const char *outcome = "ok";

  if (error != NULL && g_error_matches (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_SUSPENDED))
    outcome = PRISM_SUSPENSION_OUTCOME_NOTHING;
  else if (error != NULL)
    outcome = text = prism_visible_text (error->message, MAX_OUTCOME, NULL);
  for (guint i = 0; i < run->begun->len; i++)
    {
      PrismSuspension *suspension = run->begun->pdata[i];
      g_autoptr (GError) wrong = NULL;

      if (!prism_suspensions_end (prism_suspension_get_store (suspension), prism_suspension_get_id (suspension),
                                  outcome, &wrong))
        g_warning ("%s ended, which could not be written down: %s", prism_suspension_get_id (suspension),
                   wrong->message);
    }
}

gboolean
prism_tool_reconcile (PrismToolRun *run, PrismSuspension *suspension)
{
  if (run->kind->prove == NULL || !run->kind->prove (run))
    return FALSE;
  prism_tool_add_boolean (run, "reconciled", TRUE);
  prism_tool_say (run, "%s was done before: what is there now proves it", run->kind->name);
  /* Somebody else may have said so meanwhile. */
  if (prism_suspension_get_state (suspension) == PRISM_SUSPENSION_STATE_STARTED)
    prism_suspensions_end (prism_suspension_get_store (suspension), prism_suspension_get_id (suspension),
                           "done, as what is there proves", NULL);
  return TRUE;
}

/* --- a question ------------------------------------------------------------------------------------------ */

static void
add_member (JsonBuilder *builder, const char *name, const char *value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_string_value (builder, value);
}

static void
add_strings (JsonBuilder *builder, const char *name, const char *const *strings)
{
  json_builder_set_member_name (builder, name);
  json_builder_begin_array (builder);
  for (guint i = 0; strings != NULL && strings[i] != NULL; i++)
    json_builder_add_string_value (builder, strings[i]);
  json_builder_end_array (builder);
}

static void
add_question (JsonBuilder *builder, PrismQuestion *question)
{
  json_builder_set_member_name (builder, PRISM_SUSPENSION_QUESTION_MEMBER);
  json_builder_begin_object (builder);
  add_member (builder, "question", prism_question_get_question (question));
  add_member (builder, "selectionMode", prism_question_get_multiple (question) ? "multiple" : "single");
  json_builder_set_member_name (builder, "allowCustom");
  json_builder_add_boolean_value (builder, prism_question_get_allow_custom (question));
  json_builder_set_member_name (builder, "customBytes");
  json_builder_add_int_value (builder, (gint64)prism_question_get_most_custom (question));
  json_builder_set_member_name (builder, "options");
  json_builder_begin_array (builder);
  for (guint i = 0; i < prism_question_get_n_options (question); i++)
    {
      json_builder_begin_object (builder);
      add_member (builder, "id", prism_question_get_option_id (question, i));
      add_member (builder, "label", prism_question_get_option_label (question, i));
      add_strings (builder, "pros", prism_question_get_option_pros (question, i));
      add_strings (builder, "cons", prism_question_get_option_cons (question, i));
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
}

static void
add_choice (JsonBuilder *builder, PrismQuestion *question)
{
  add_member (builder, "type", "string");
  json_builder_set_member_name (builder, "enum");
  json_builder_begin_array (builder);
  for (guint i = 0; i < prism_question_get_n_options (question); i++)
    json_builder_add_string_value (builder, prism_question_get_option_id (question, i));
  json_builder_end_array (builder);
}

/* What fits as an answer; and the question itself, for whoever shows it in its own way. */
static JsonNode *
make_schema (PrismQuestion *question)
{
  g_autoptr (JsonBuilder) builder = json_builder_new_immutable ();

  json_builder_begin_object (builder);
  add_member (builder, "type", "object");
  json_builder_set_member_name (builder, "properties");
  json_builder_begin_object (builder);
  if (!prism_question_get_multiple (question))
    {
      json_builder_set_member_name (builder, "selectedId");
      json_builder_begin_object (builder);
      add_choice (builder, question);
      json_builder_end_object (builder);
    }
  json_builder_set_member_name (builder, "selectedIds");
  json_builder_begin_object (builder);
  add_member (builder, "type", "array");
  json_builder_set_member_name (builder, "items");
  json_builder_begin_object (builder);
  add_choice (builder, question);
  json_builder_end_object (builder);
  json_builder_end_object (builder);
  if (prism_question_get_allow_custom (question))
    {
      json_builder_set_member_name (builder, "customText");
      json_builder_begin_object (builder);
      add_member (builder, "type", "string");
      json_builder_end_object (builder);
    }
  json_builder_end_object (builder);
  json_builder_set_member_name (builder, "additionalProperties");
  json_builder_add_boolean_value (builder, FALSE);
  add_question (builder, question);
  json_builder_end_object (builder);
  return json_builder_get_root (builder);
}

static PrismSuspension *
put_down (PrismToolRun *run, const PrismToolAsk *ask, PrismQuestion *question, gboolean *fresh, GError **error)
{
  PrismSuspensions *store = run->settings->suspensions;
  const char *const roots[] = { prism_tree_get_root (run->settings->tree), NULL };
  g_autoptr (PrismAction) action = prism_tool_make_action (run, ask);
  g_autofree char *binding = prism_action_dup_binding (action, prism_suspensions_get_bind_calls (store), NULL);
  g_autofree char *text = prism_question_to_text (question);
  g_autoptr (JsonNode) schema = make_schema (question);
  const PrismSuspensionTerms terms = {
    .reason = PRISM_SUSPENSION_REASON_QUESTION,
    .binding = binding,
    .run_id = prism_action_get_run_id (action),
    .session_id = prism_action_get_session_id (action),
    .call_id = prism_action_get_call_id (action),
    .text = text,
    .resume_schema = schema,
  };
  g_autoptr (GError) wrong = NULL;
  PrismSuspension *suspension = NULL;

  if (!prism_approval_out_of_reach (prism_suspensions_get_folder (store), roots, action))
    prism_tool_fail (error, PRISM_TOOL_ERROR_DENIED,
                     "the suspensions' folder %s lies in the tree, which could answer itself",
                     prism_suspensions_get_folder (store));
  else
    {
      suspension = prism_suspensions_suspend (store, &terms, fresh, &wrong);
      if (suspension == NULL)
        prism_tool_fail (error, PRISM_TOOL_ERROR_FAILED, "the question could not be put down: %s", wrong->message);
    }
  return suspension;
}

/* Through the question itself, which takes only what fits. */
static gboolean
take_answer (PrismQuestion *question, PrismSuspension *suspension, char ***ids, char **custom_text, GError **error)
{
  g_autoptr (JsonNode) node = json_from_string (prism_suspension_get_answer (suspension), NULL);
  JsonObject *answer = json_node_get_object (node);
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv) chosen = NULL;
  JsonArray *selected = NULL;

  if (json_object_has_member (answer, "selectedIds"))
    selected = json_object_get_array_member (answer, "selectedIds");
  for (guint i = 0; selected != NULL && i < json_array_get_length (selected); i++)
    g_strv_builder_add (builder, json_array_get_string_element (selected, i));
  chosen = g_strv_builder_end (builder);
  return prism_question_answer (question, (const char *const *)chosen,
                                selected == NULL ? json_object_get_string_member (answer, "customText") : NULL, error)
         && prism_question_wait (question, 0, NULL, ids, custom_text, error);
}

gboolean
prism_tool_await_answer (PrismToolRun *run,
                         const PrismToolAsk *ask,
                         PrismQuestion *question,
                         char ***ids,
                         char **custom_text,
                         GError **error)
{
  gboolean is_fresh = FALSE;
  g_autoptr (PrismSuspension) suspension = put_down (run, ask, question, &is_fresh, error);

  if (suspension == NULL)
    return FALSE;
  if (is_fresh)
    prism_operation_emit_about (PRISM_OPERATION (run->operation), prism_suspensions_emit_suspended,
                                run->settings->suspensions, suspension);
  switch (prism_suspension_get_state (suspension))
    {
    case PRISM_SUSPENSION_STATE_ANSWERED:
      return take_answer (question, suspension, ids, custom_text, error);
    case PRISM_SUSPENSION_STATE_PENDING:
      return prism_tool_fail_suspended (run, suspension, error);
    case PRISM_SUSPENSION_STATE_CANCELLED:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_DENIED, "the question was cancelled (%s); decide yourself",
                              prism_suspension_get_id (suspension));
    default:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_TIMEOUT, "nobody answered in time (%s)",
                              prism_suspension_get_id (suspension));
    }
}
