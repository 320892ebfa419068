/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A call from its arguments to its answer. TRUST: the arguments are a model's; they were
 * parsed, and are checked against the tool's schema here before anything else happens. */
#include "prism-tool-run-private.h"

#include <string.h>

#include "prism-action-private.h"
#include "prism-decision-private.h"
#include "prism-operation-private.h"

#define MAX_RULE 300

gint64
prism_tool_limit (const PrismToolRun *run, PrismToolLimit limit)
{
  return run->settings->limits[limit];
}

/* --- saying ---------------------------------------------------------------------------- */

void
prism_tool_say (PrismToolRun *run, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  prism_tool_result_add_text (run->result, text);
}

void
prism_tool_add_string (PrismToolRun *run, const char *name, const char *value)
{
  json_builder_set_member_name (run->metadata, name);
  if (value == NULL)
    json_builder_add_null_value (run->metadata);
  else
    {
      g_autofree char *valid = g_utf8_make_valid (value, -1);
      json_builder_add_string_value (run->metadata, valid);
    }
}

void
prism_tool_add_integer (PrismToolRun *run, const char *name, gint64 value)
{
  json_builder_set_member_name (run->metadata, name);
  json_builder_add_int_value (run->metadata, value);
}

void
prism_tool_add_boolean (PrismToolRun *run, const char *name, gboolean value)
{
  json_builder_set_member_name (run->metadata, name);
  json_builder_add_boolean_value (run->metadata, value);
}

gboolean
prism_tool_fail (GError **error, PrismToolError code, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, PRISM_TOOL_ERROR, (int)code, text);
  return FALSE;
}

void
prism_tool_take_fault (GError **error, GError *fault)
{
  static const PrismToolError codes[] = {
    [PRISM_TREE_FAULT_FAILED] = PRISM_TOOL_ERROR_FAILED,       [PRISM_TREE_FAULT_INVALID] = PRISM_TOOL_ERROR_INVALID,
    [PRISM_TREE_FAULT_NOT_FOUND] = PRISM_TOOL_ERROR_NOT_FOUND, [PRISM_TREE_FAULT_ESCAPE] = PRISM_TOOL_ERROR_ESCAPE,
    [PRISM_TREE_FAULT_DENIED] = PRISM_TOOL_ERROR_DENIED,       [PRISM_TREE_FAULT_EXISTS] = PRISM_TOOL_ERROR_CONFLICT,
    [PRISM_TREE_FAULT_TYPE] = PRISM_TOOL_ERROR_TYPE,           [PRISM_TREE_FAULT_LIMIT] = PRISM_TOOL_ERROR_LIMIT,
    [PRISM_TREE_FAULT_CANCELLED] = PRISM_TOOL_ERROR_CANCELLED, [PRISM_TREE_FAULT_LOST] = PRISM_TOOL_ERROR_FAILED,
    [PRISM_TREE_FAULT_CHANGED] = PRISM_TOOL_ERROR_CONFLICT,    [PRISM_TREE_FAULT_TIMEOUT] = PRISM_TOOL_ERROR_TIMEOUT,
    [PRISM_TREE_FAULT_UNKNOWN] = PRISM_TOOL_ERROR_UNKNOWN,
  };
  PrismToolError code = PRISM_TOOL_ERROR_FAILED;

  if (fault->domain == PRISM_TREE_FAULT && (guint)fault->code < G_N_ELEMENTS (codes))
    code = codes[fault->code];
  g_set_error_literal (error, PRISM_TOOL_ERROR, (int)code, fault->message);
  g_error_free (fault);
}

/* --- arguments ------------------------------------------------------------------------------ */

const char *
prism_tool_get_string (PrismToolRun *run, const char *name)
{
  return json_object_has_member (run->arguments, name) ? json_object_get_string_member (run->arguments, name) : NULL;
}

gint64
prism_tool_get_integer (PrismToolRun *run, const char *name, gint64 otherwise)
{
  return json_object_has_member (run->arguments, name) ? json_object_get_int_member (run->arguments, name) : otherwise;
}

gboolean
prism_tool_get_boolean (PrismToolRun *run, const char *name, gboolean otherwise)
{
  return json_object_has_member (run->arguments, name) ? json_object_get_boolean_member (run->arguments, name)
                                                       : otherwise;
}

JsonArray *
prism_tool_get_array (PrismToolRun *run, const char *name)
{
  return json_object_has_member (run->arguments, name) ? json_object_get_array_member (run->arguments, name) : NULL;
}

gboolean
prism_tool_get_bounded (PrismToolRun *run, const char *name, PrismToolLimit limit, gint64 *value, GError **error)
{
  gint64 most = prism_tool_limit (run, limit);

  *value = prism_tool_get_integer (run, name, most);
  if (*value <= most)
    return TRUE;
  return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT,
                          "%s: %" G_GINT64_FORMAT " is more than %" G_GINT64_FORMAT " (%s); send at most that", name,
                          *value, most, prism_tool_limit_rows[limit].name);
}

/* --- what listeners are told ----------------------------------------------------------------------- */

typedef struct
{
  void (*emit) (PrismComposition *self, const char *what, const char *which, const char *call_id);
  PrismComposition *composition;
  PrismDecision *decision; /* NULL: it is no denial */
  char *what, *which, *call_id;
} Event;

static void
event_emit (gpointer data)
{
  Event *event = data;

  if (event->decision != NULL)
    prism_composition_emit_denied (event->composition, event->what, event->decision, event->call_id);
  else
    event->emit (event->composition, event->what, event->which, event->call_id);
}

static void
event_free (gpointer data)
{
  Event *event = data;

  g_object_unref (event->composition);
  g_clear_object (&event->decision);
  g_free (event->what);
  g_free (event->which);
  g_free (event->call_id);
  g_free (event);
}

/* Takes what @event points to, where that is an object. */
static void
tell (PrismToolRun *run, Event event)
{
  PrismToolContext *context = prism_tool_operation_get_context (run->operation);
  g_autoptr (PrismDecision) decision = event.decision;
  g_autoptr (PrismComposition) composition = g_weak_ref_get (&run->settings->composition);
  Event *kept;

  if (composition == NULL)
    return;
  kept = g_new (Event, 1);
  *kept = (Event){ event.emit,
                   g_steal_pointer (&composition),
                   g_steal_pointer (&decision),
                   g_strdup (event.what),
                   g_strdup (event.which),
                   g_strdup (context != NULL ? prism_tool_context_get_call_id (context) : NULL) };
  prism_operation_emit (PRISM_OPERATION (run->operation), event_emit, kept, event_free, NULL, NULL);
}

void
prism_tool_changed (PrismToolRun *run, const char *path, const char *operation)
{
  tell (run, (Event){ .emit = prism_composition_emit_file_changed, .what = (char *)path, .which = (char *)operation });
}

void
prism_tool_worktree_changed (PrismToolRun *run, const char *action, const char *path)
{
  tell (run, (Event){ .emit = prism_composition_emit_worktree_changed, .what = (char *)action, .which = (char *)path });
}

/* --- permission --------------------------------------------------------------------------------- */

static PrismPolicy *
policy_of (PrismToolRun *run)
{
  const char *name = run->kind->name;
  PrismPolicy *own;

  /* Another name for a tool is no way round its policy. */
  if (g_str_equal (name, "bash"))
    name = "shell";
  else if (g_str_equal (name, "ls"))
    name = "repo_list";
  own = g_hash_table_lookup (run->settings->policies, name);
  return own != NULL ? own : run->settings->policy;
}

PrismAction *
prism_tool_make_action (PrismToolRun *run, const PrismToolAsk *ask)
{
  PrismAction *action = prism_action_new (ask->kind, ask->operation);
  PrismToolContext *context = prism_tool_operation_get_context (run->operation);
  const char *arguments = prism_tool_operation_get_arguments (run->operation);
  const char *root = prism_tree_get_root (run->settings->tree);
  g_autoptr (GBytes) bytes = g_bytes_new (arguments, strlen (arguments));

  prism_action_set_effect (action, ask->effect);
  prism_action_set_risk (action, ask->risk);
  if (ask->paths != NULL)
    prism_action_set_paths (action, (const char *const *)ask->paths);
  if (ask->command != NULL)
    prism_action_set_command (action, *ask->command);
  if (ask->argv != NULL)
    prism_action_set_argv (action, ask->argv);
  if (ask->command != NULL || ask->argv != NULL)
    prism_action_set_directory (action, root);
  prism_action_set_arguments (action, bytes);
  prism_action_set_summary (action, ask->summary);
  prism_action_set_identity (action, context != NULL ? prism_tool_context_get_run_id (context) : NULL,
                             context != NULL ? prism_tool_context_get_session_id (context) : NULL,
                             run->settings->sandbox_id);
  prism_action_set_call_id (action, context != NULL ? prism_tool_context_get_call_id (context) : NULL);
  if (run->settings->sandboxed)
    prism_action_set_tree (action, root, run->settings->workspace);
  return action;
}

/* --- what is held ------------------------------------------------------------------------------- */

static void
leave_all (PrismToolRun *run)
{
  for (guint i = 0; i < run->entered->len; i++)
    prism_tool_settings_leave (run->settings, run->entered->pdata[i]);
  g_ptr_array_set_size (run->entered, 0);
}

static gint
compare_paths (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* Always in the same order, so that two that want the same two do not wait for each other. */
static gboolean
enter_all (PrismToolRun *run, char **paths, GError **error)
{
  g_autoptr (GPtrArray) sorted = g_ptr_array_new ();

  for (guint i = 0; paths[i] != NULL; i++)
    g_ptr_array_add (sorted, paths[i]);
  g_ptr_array_sort (sorted, compare_paths);
  for (guint i = 0; i < sorted->len; i++)
    {
      if (i > 0 && g_str_equal (sorted->pdata[i], sorted->pdata[i - 1]))
        continue;
      if (!prism_tool_settings_enter (run->settings, sorted->pdata[i], run->cancellable))
        return prism_tool_fail (error, PRISM_TOOL_ERROR_CANCELLED, "cancelled");
      g_ptr_array_add (run->entered, g_strdup (sorted->pdata[i]));
    }
  return TRUE;
}

/* What changes paths has them for itself before anybody is asked: what is then asked about is
 * what the one before has left. git and commands look after themselves. */
static gboolean
take_paths (PrismToolRun *run, const PrismToolAsk *ask, GError **error)
{
  gboolean changes = ask->effect != PRISM_EFFECT_NONE && ask->command == NULL && ask->argv == NULL;
  GError *fault = NULL;
  PrismTree *held;

  if (ask->paths == NULL)
    return TRUE;
  leave_all (run);
  if (changes && !enter_all (run, ask->paths, error))
    return FALSE;
  held = prism_tree_hold (run->settings->tree, (const char *const *)ask->paths,
                          changes ? PRISM_PATH_INTENT_REMOVE : PRISM_PATH_INTENT_READ, &fault);
  if (held == NULL)
    {
      prism_tool_take_fault (error, fault);
      return FALSE;
    }
  g_object_unref (run->tree);
  run->tree = held;
  return TRUE;
}

static gboolean
verify_paths (PrismToolRun *run, GError **error)
{
  GError *fault = NULL;

  if (prism_tree_verify (run->tree, &fault))
    return TRUE;
  prism_tool_take_fault (error, fault);
  return FALSE;
}

/* A policy that looks the names up itself has to find what is held here. */
static gboolean
say_objects (PrismToolRun *run, const PrismToolAsk *ask, PrismAction *action, GError **error)
{
  const char *const root[] = { prism_tree_get_root (run->settings->tree), NULL };
  gboolean runs = (ask->command != NULL || ask->argv != NULL) && run->settings->place == run->settings->tree;
  g_autoptr (GArray) objects = g_array_new (FALSE, FALSE, sizeof (PrismPathIdentity));
  g_autoptr (PrismTree) directory = NULL;
  GError *fault = NULL;

  for (guint i = 0; ask->paths != NULL && ask->paths[i] != NULL; i++)
    {
      const PrismPathIdentity *object = prism_tree_get_object (run->tree, i);
      if (object == NULL)
        return TRUE;
      g_array_append_vals (objects, object, 1);
    }
  if (runs)
    directory = prism_tree_hold (run->settings->tree, root, PRISM_PATH_INTENT_READ, &fault);
  if (fault != NULL)
    {
      prism_tool_take_fault (error, fault);
      return FALSE;
    }
  prism_action_set_objects (action, (const PrismPathIdentity *)(gpointer)objects->data, objects->len,
                            directory != NULL ? prism_tree_get_object (directory, 0) : NULL);
  return TRUE;
}

/* What a policy puts in the place of what was asked is held to the same root. */
static gboolean
take_modified (PrismToolRun *run, const PrismToolAsk *ask, PrismAction *modified, GError **error)
{
  const char *const *paths = prism_action_get_paths (modified);
  const char *command = prism_action_get_command (modified);

  for (guint i = 0; ask->paths != NULL && paths != NULL && ask->paths[i] != NULL && paths[i] != NULL; i++)
    {
      char *path = prism_tool_resolve (run, paths[i], error);
      if (path == NULL)
        return FALSE;
      g_free (ask->paths[i]);
      ask->paths[i] = path;
    }
  if (ask->command != NULL && command != NULL)
    {
      g_free (*ask->command);
      *ask->command = g_strdup (command);
    }
  return paths == NULL || take_paths (run, ask, error);
}

/* Takes @decision, as the other two do. */
static gboolean
deny_suspended (PrismToolRun *run, PrismDecision *decision, GError **error)
{
  prism_tool_fail_suspended (run, prism_decision_get_suspension (decision), error);
  g_object_unref (decision);
  return FALSE;
}

static gboolean
deny_used (PrismToolRun *run, PrismDecision *decision, GError **error)
{
  g_set_object (&run->used, prism_decision_get_suspension (decision));
  prism_tool_fail (error, PRISM_TOOL_ERROR_UNKNOWN, "%s", prism_decision_get_reason (decision));
  g_object_unref (decision);
  return FALSE;
}

/* Takes @decision. */
static gboolean
deny (PrismToolRun *run, PrismDecision *decision, GError **error)
{
  const char *reason = prism_decision_get_reason (decision), *remedy = prism_decision_get_remedy (decision);
  const char *id = prism_decision_get_reason_id (decision), *which = prism_decision_get_rule (decision);
  g_autofree char *rule = which != NULL ? prism_visible_text (which, MAX_RULE, NULL) : NULL;

  if (g_strcmp0 (id, PRISM_REASON_APPROVAL_SUSPENDED) == 0)
    return deny_suspended (run, decision, error);
  if (g_strcmp0 (id, PRISM_REASON_APPROVAL_USED) == 0)
    return deny_used (run, decision, error);
  prism_tool_fail (error, PRISM_TOOL_ERROR_DENIED, "denied (%s): %s%s%s%s%s", id != NULL ? id : "policy",
                   reason != NULL ? reason : "the policy says no", rule != NULL ? "; rule: " : "",
                   rule != NULL ? rule : "", remedy != NULL ? "; " : "", remedy != NULL ? remedy : "");
  tell (run, (Event){ .what = (char *)run->kind->name, .decision = decision });
  return FALSE;
}

static gboolean
deny_unanswered (PrismToolRun *run, const GError *wrong, GError **error)
{
  g_autofree char *reason = g_strdup_printf ("the policy gave no answer: %s", wrong->message);

  return deny (run, prism_decision_new_deny ("policy-failed", reason), error);
}

gboolean
prism_tool_authorize (PrismToolRun *run, const PrismToolAsk *ask, GError **error)
{
  PrismPolicy *policy = policy_of (run);
  g_autoptr (PrismAction) action = NULL;
  g_autoptr (PrismDecision) decision = NULL;
  g_autoptr (GError) wrong = NULL;

  if (run->settings->read_only && ask->effect != PRISM_EFFECT_NONE)
    return deny (run, prism_decision_new_deny ("read-only", "these tools only look"), error);
  if (!take_paths (run, ask, error))
    return FALSE;
  if (policy == NULL)
    return TRUE;
  action = prism_tool_make_action (run, ask);
  if (!say_objects (run, ask, action, error))
    return FALSE;
  decision = prism_policy_check (policy, action, run->cancellable, &wrong);
  if (decision != NULL && prism_decision_get_allowed (decision) && prism_decision_get_suspension (decision) != NULL)
    g_ptr_array_add (run->begun, g_object_ref (prism_decision_get_suspension (decision)));
  if (g_cancellable_is_cancelled (run->cancellable))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_CANCELLED, "cancelled");
  if (decision == NULL)
    return deny_unanswered (run, wrong, error);
  if (!prism_decision_get_allowed (decision))
    return deny (run, g_steal_pointer (&decision), error);
  if (prism_decision_get_modified (decision) != NULL
      && !take_modified (run, ask, prism_decision_get_modified (decision), error))
    return FALSE;
  return verify_paths (run, error);
}

/* --- the tree -------------------------------------------------------------------------------------- */

gboolean
prism_tool_check_read (PrismToolRun *run, const char *path, GBytes *now, GError **error)
{
  g_autofree char *note = NULL;
  g_autofree char *hash = NULL;
  g_autofree char *shown = NULL;

  if (!run->settings->read_before_write || now == NULL || prism_tool_get_boolean (run, "force", FALSE))
    return TRUE;
  note = prism_tool_settings_dup_note (run->settings, path);
  hash = g_compute_checksum_for_bytes (G_CHECKSUM_SHA256, now);
  if (note != NULL && g_str_equal (note, hash))
    return TRUE;
  shown = prism_tool_show (run, path);
  return prism_tool_fail (error, PRISM_TOOL_ERROR_CONFLICT,
                          note == NULL ? "%s was not read yet: call read first, or send \"force\": true"
                                       : "%s changed since it was read: read it again, or send \"force\": true",
                          shown);
}

/* --- a run -------------------------------------------------------------------------------------------- */

/* Parsed once for the life of the process: the rows are the library's own, and few. */
static JsonObject *
schema_of (const PrismToolKind *kind)
{
  static GMutex lock;
  static GHashTable *schemas;
  JsonNode *schema;

  g_mutex_lock (&lock);
  if (schemas == NULL)
    schemas = g_hash_table_new (NULL, NULL);
  schema = g_hash_table_lookup (schemas, kind);
  if (schema == NULL)
    {
      schema = json_from_string (kind->schema, NULL);
      json_node_seal (schema);
      g_hash_table_insert (schemas, (gpointer)kind, schema);
    }
  g_mutex_unlock (&lock);
  return json_node_get_object (schema);
}

static gboolean
check_arguments (PrismToolRun *run, GError **error)
{
  if (run->kind->accept != NULL)
    run->kind->accept (run->arguments);
  return prism_tool_schema_check (schema_of (run->kind), run->arguments, error);
}

static void
answer (PrismToolRun *run, const GError *error)
{
  if (error != NULL && g_error_matches (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_CANCELLED))
    {
      g_object_unref (run->metadata);
      prism_operation_fail (PRISM_OPERATION (run->operation), error);
      return;
    }
  if (error != NULL)
    prism_tool_result_set_error (run->result, error);
  json_builder_end_object (run->metadata);
  prism_tool_result_take_metadata (run->result, run->metadata);
  prism_tool_operation_complete (run->operation, run->result);
}

void
prism_tool_run (PrismToolSettings *settings, const PrismToolKind *kind, PrismToolOperation *operation)
{
  PrismToolRun run = { .settings = settings, .kind = kind, .operation = operation };
  g_autoptr (GError) error = NULL;

  run.cancellable = prism_operation_get_cancellable (PRISM_OPERATION (operation));
  run.arguments = prism_tool_operation_get_object (operation);
  run.result = prism_tool_result_new ();
  run.metadata = json_builder_new_immutable ();
  json_builder_begin_object (run.metadata);
  run.tree = g_object_ref (settings->tree);
  run.entered = g_ptr_array_new_with_free_func (g_free);
  run.begun = g_ptr_array_new_with_free_func (g_object_unref);
  if (check_arguments (&run, &error) && !kind->run (&run, &error) && run.used != NULL
      && prism_tool_reconcile (&run, run.used))
    g_clear_error (&error);
  prism_tool_end_begun (&run, error);
  leave_all (&run);
  answer (&run, error);
  g_ptr_array_unref (run.entered);
  g_ptr_array_unref (run.begun);
  g_clear_object (&run.used);
  g_object_unref (run.tree);
  g_object_unref (run.result);
}
