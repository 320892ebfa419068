/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An approval that outlives who asks.
 *
 * Nothing happens before the question is kept, and nothing before it is kept that it began: a yes
 * begins one thing once, whoever dies in between. The policy has just been asked, today's; an answer
 * that is there answers its question and never undoes its denial. */
#include "prism-approval-suspend-private.h"

#include "prism-action-private.h"
#include "prism-approval-store-private.h"
#include "prism-decision-private.h"
#include "prism-path-guard.h"

#include <stdlib.h>

static PrismDecision *
deny (const char *id, PrismDecision *question, PrismSuspension *suspension, const char *format, ...)
    G_GNUC_PRINTF (4, 5);

static PrismDecision *
deny (const char *id, PrismDecision *question, PrismSuspension *suspension, const char *format, ...)
{
  g_autofree char *reason = NULL;
  va_list arguments;

  va_start (arguments, format);
  reason = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  return g_object_new (PRISM_TYPE_DECISION, "verdict", PRISM_VERDICT_DENY, "reason-id", id, "reason", reason, "rule",
                       prism_decision_get_rule (question), "remedy",
                       suspension == NULL ? prism_decision_get_remedy (question) : NULL, "suspension", suspension,
                       NULL);
}

/* --- where the answers are ------------------------------------------------------------------------ */

/* As it is once links are followed, of which the last parts may not be there yet. */
static char *
resolve (const char *path)
{
  g_autofree char *clean = g_canonicalize_filename (path, "/");
  g_autofree char *parent = NULL;
  g_autofree char *real_parent = NULL;
  g_autofree char *name = NULL;
  char *real = realpath (clean, NULL);

  if (real != NULL || g_str_equal (clean, "/"))
    return real != NULL ? real : g_strdup ("/");
  parent = g_path_get_dirname (clean);
  name = g_path_get_basename (clean);
  real_parent = resolve (parent);
  return g_build_filename (real_parent, name, NULL);
}

static gboolean
has (const char *root, const char *folder)
{
  g_autofree char *real = resolve (root);

  return prism_path_is_inside (folder, real);
}

gboolean
prism_approval_out_of_reach (const char *folder, const char *const *roots, PrismAction *action)
{
  const char *workspace = prism_action_get_workspace (action);
  g_autofree char *real = folder != NULL && g_path_is_absolute (folder) ? resolve (folder) : NULL;

  if (real == NULL)
    return TRUE; /* nothing is kept there */
  if (prism_action_get_tree_root (action) != NULL)
    return workspace == NULL || !has (workspace, real);
  for (guint i = 0; roots != NULL && roots[i] != NULL; i++)
    if (has (roots[i], real))
      return FALSE;
  return TRUE;
}

/* --- asking ------------------------------------------------------------------------------------------ */

static const char schema[] = "{\"type\":\"object\",\"properties\":{\"decision\":{\"type\":\"string\",\"enum\":"
                             "[\"allow\",\"deny\"]}},\"required\":[\"decision\"],\"additionalProperties\":false}";

/* For programs; people read the text. Of the action there is only what tells them what it is: its
 * words may be a secret's. */
static JsonNode *
make_data (PrismAction *action, PrismDecision *question)
{
  g_autoptr (JsonBuilder) builder = json_builder_new_immutable ();

  json_builder_begin_object (builder);
  prism_suspension_add_string (builder, "kind", prism_action_get_kind (action));
  prism_suspension_add_string (builder, "operation", prism_action_get_operation (action));
  prism_suspension_add_string (builder, "reasonId", prism_decision_get_reason_id (question));
  json_builder_end_object (builder);
  return json_builder_get_root (builder);
}

static PrismSuspension *
put_down (PrismSuspensions *suspensions,
          PrismAction *action,
          const char *directory_identity,
          PrismDecision *question,
          gboolean *fresh,
          GError **error)
{
  g_autofree char *binding =
      prism_action_dup_binding (action, prism_suspensions_get_bind_calls (suspensions), directory_identity);
  g_autofree char *text = prism_approval_dup_text (action, question);
  g_autoptr (JsonNode) resume = json_from_string (schema, NULL);
  g_autoptr (JsonNode) data = make_data (action, question);
  const PrismSuspensionTerms terms = {
    .reason = PRISM_SUSPENSION_REASON_APPROVAL,
    .binding = binding,
    .run_id = prism_action_get_run_id (action),
    .session_id = prism_action_get_session_id (action),
    .call_id = prism_action_get_call_id (action),
    .text = text,
    .data = data,
    .resume_schema = resume,
  };

  return prism_suspensions_suspend (suspensions, &terms, fresh, error);
}

/* --- what it says ---------------------------------------------------------------------------------------- */

static PrismDecision *
say_used (PrismDecision *question, PrismSuspension *suspension)
{
  const char *id = prism_suspension_get_id (suspension), *outcome = prism_suspension_get_outcome (suspension);

  if (outcome == NULL)
    return deny (PRISM_REASON_APPROVAL_USED, question, suspension,
                 "this call began before (%s), and nobody knows whether it was done: look, and make a new call", id);
  return deny (PRISM_REASON_APPROVAL_USED, question, suspension,
               "this call is over (%s: %s): an answer is for one call, so make a new one", id, outcome);
}

static PrismDecision *
say_no (PrismDecision *question, PrismSuspension *suspension)
{
  const char *id = prism_suspension_get_id (suspension);
  g_autofree char *by = prism_suspension_get_answered_by (suspension) != NULL
                            ? prism_visible_text (prism_suspension_get_answered_by (suspension), 100, NULL)
                            : g_strdup ("somebody");

  switch (prism_suspension_get_state (suspension))
    {
    case PRISM_SUSPENSION_STATE_DENIED:
      return deny (PRISM_REASON_APPROVAL_DENIED, question, suspension, "%s said no to it (%s)", by, id);
    case PRISM_SUSPENSION_STATE_CANCELLED:
      return deny (PRISM_REASON_APPROVAL_CANCELLED, question, suspension, "%s cancelled it (%s)", by, id);
    case PRISM_SUSPENSION_STATE_EXPIRED:
      return deny (PRISM_REASON_APPROVAL_TIMED_OUT, question, suspension, "nobody answered in time (%s)", id);
    case PRISM_SUSPENSION_STATE_STARTED:
    case PRISM_SUSPENSION_STATE_ENDED:
      return say_used (question, suspension);
    default:
      return deny (PRISM_REASON_APPROVAL_SUSPENDED, question, suspension,
                   "suspended as %s: nothing was done; make the same call again when somebody has allowed it", id);
    }
}

static PrismDecision *
say_yes (PrismAction *action, PrismDecision *question, PrismSuspension *suspension)
{
  return g_object_new (PRISM_TYPE_DECISION, "verdict", PRISM_VERDICT_ALLOW, "rule", prism_decision_get_rule (question),
                       "exclusive", prism_action_is_shell (action), "suspension", suspension, NULL);
}

PrismDecision *
prism_approval_suspend (PrismSuspensions *suspensions,
                        const char *const *roots,
                        PrismAction *action,
                        const char *directory_identity,
                        PrismDecision *question,
                        GCancellable *cancellable,
                        PrismSuspension **fresh)
{
  g_autoptr (PrismSuspension) suspension = NULL;
  g_autoptr (GError) error = NULL;
  gboolean is_fresh;

  if (!prism_approval_out_of_reach (prism_suspensions_get_folder (suspensions), roots, action))
    return deny (PRISM_REASON_APPROVAL_REQUIRED, question, NULL,
                 "%s, and the suspensions' folder %s lies where the action could answer itself",
                 prism_decision_get_reason (question), prism_suspensions_get_folder (suspensions));
  /* The second time only if another one began meanwhile what this one was about to. */
  for (guint tries = 0; tries < 2; tries++)
    {
      g_clear_object (&suspension);
      suspension = put_down (suspensions, action, directory_identity, question, &is_fresh, &error);
      if (suspension == NULL)
        break;
      if (is_fresh)
        g_set_object (fresh, suspension);
      if (prism_suspension_get_state (suspension) != PRISM_SUSPENSION_STATE_ALLOWED)
        return say_no (question, suspension);
      if (g_cancellable_is_cancelled (cancellable))
        return deny (PRISM_REASON_APPROVAL_CANCELLED, question, suspension, "cancelled before it began");
      if (prism_suspensions_begin (suspensions, suspension, &error))
        return say_yes (action, question, suspension);
      if (error != NULL)
        break;
    }
  return deny (PRISM_REASON_APPROVAL_REQUIRED, question, NULL, "%s, and that could not be put down: %s",
               prism_decision_get_reason (question), error != NULL ? error->message : "others began it meanwhile");
}
