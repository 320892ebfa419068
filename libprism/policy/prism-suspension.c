/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One suspension as its files say it is at this moment. TRUST: they are the owner's, and are read
 * as if they were not: what is malformed is an error, and never a yes. */
#include "prism-suspension-private.h"

#include "prism-enum-types.h"
#include "prism-error-private.h"
#include "prism-json-private.h"

#include <string.h>

/* A clock that was set back: what was asked later than now, by more than this, is too old. */
#define CLOCK_SLACK_MS (5 * 60 * 1000)

enum
{
  TEXT_ID,
  TEXT_REASON,
  TEXT_TEXT,
  TEXT_RESUME_SCHEMA,
  TEXT_RUN_ID,
  TEXT_SESSION_ID,
  TEXT_CALL_ID,
  TEXT_ANSWER,
  TEXT_ANSWERED_BY,
  TEXT_OUTCOME,
  N_TEXTS
};

struct _PrismSuspension
{
  GObject parent_instance;

  char *texts[N_TEXTS];
  gint64 asked_at, expires_at;
  PrismSuspensionState state;
  JsonNode *resume_schema;
  PrismSuspensions *store;
};

enum
{
  PROP_0,
  PROP_STATE,
  PROP_ASKED_AT,
  PROP_EXPIRES_AT,
  PROP_TEXTS,
  N_PROPS = PROP_TEXTS + N_TEXTS
};

static GParamSpec *props[N_PROPS];

static const PrismErrorCodeName names[] = {
  { PRISM_DURABLE_ERROR_FAILED, "ERR_PRISM_DURABLE" },
  { PRISM_DURABLE_ERROR_INVALID, "ERR_PRISM_DECISION_INVALID" },
  { PRISM_DURABLE_ERROR_STATE, "ERR_PRISM_DECISION_STATE" },
  { PRISM_DURABLE_ERROR_NOT_FOUND, "ERR_PRISM_DECISION_NOT_FOUND" },
  { PRISM_DURABLE_ERROR_LIMIT, "ERR_PRISM_LIFECYCLE_LIMIT" },
  { PRISM_DURABLE_ERROR_UNSAFE, "ERR_PRISM_DECISION_UNSAFE" },
  { 0, NULL },
};

/**
 * prism_durable_error_quark:
 *
 * The domain of [error@DurableError].
 *
 * Returns: a quark
 *
 * Since: 1.0
 */
GQuark
prism_durable_error_quark (void)
{
  static gsize quark = 0;

  if (g_once_init_enter (&quark))
    {
      GQuark fresh = g_quark_from_static_string ("prism-durable-error-quark");

      prism_error_add_domain (fresh, names);
      g_once_init_leave (&quark, fresh);
    }
  return (GQuark)quark;
}

/**
 * PrismSuspension:
 *
 * Something that waits until a person answers: an action that needs approval, or a question. It is
 * kept in a folder ([class@Suspensions]), so that neither who asks nor who answers has to be there
 * meanwhile. An object says how it was when it was read.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismSuspension, prism_suspension, G_TYPE_OBJECT)

static void
prism_suspension_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismSuspension *self = PRISM_SUSPENSION (object);

  if (id >= PROP_TEXTS && id < N_PROPS)
    g_value_set_string (value, self->texts[id - PROP_TEXTS]);
  else if (id == PROP_STATE)
    g_value_set_enum (value, self->state);
  else if (id == PROP_ASKED_AT)
    g_value_set_int64 (value, self->asked_at);
  else if (id == PROP_EXPIRES_AT)
    g_value_set_int64 (value, self->expires_at);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
prism_suspension_finalize (GObject *object)
{
  PrismSuspension *self = PRISM_SUSPENSION (object);

  for (guint i = 0; i < N_TEXTS; i++)
    g_free (self->texts[i]);
  g_clear_pointer (&self->resume_schema, json_node_unref);
  g_clear_object (&self->store);
  G_OBJECT_CLASS (prism_suspension_parent_class)->finalize (object);
}

static void
install_texts (void)
{
  const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  /**
   * PrismSuspension:id:
   *
   * What it is called by: safe as a file name.
   *
   * Since: 1.0
   */
  props[PROP_TEXTS + TEXT_ID] = g_param_spec_string ("id", NULL, NULL, NULL, readable);
  /**
   * PrismSuspension:reason:
   *
   * Why it waits: `approval`, or `ask_user_decision`.
   *
   * Since: 1.0
   */
  props[PROP_TEXTS + TEXT_REASON] = g_param_spec_string ("reason", NULL, NULL, NULL, readable);
  /**
   * PrismSuspension:text:
   *
   * What is asked, in lines that are safe to show.
   *
   * Since: 1.0
   */
  props[PROP_TEXTS + TEXT_TEXT] = g_param_spec_string ("text", NULL, NULL, NULL, readable);
  /**
   * PrismSuspension:resume-schema:
   *
   * The JSON Schema of an answer. A question is in it, as `x-prism-ask-user-decision`.
   *
   * Since: 1.0
   */
  props[PROP_TEXTS + TEXT_RESUME_SCHEMA] = g_param_spec_string ("resume-schema", NULL, NULL, NULL, readable);
  /**
   * PrismSuspension:run-id:
   *
   * The run that asked.
   *
   * Since: 1.0
   */
  props[PROP_TEXTS + TEXT_RUN_ID] = g_param_spec_string ("run-id", NULL, NULL, NULL, readable);
  /**
   * PrismSuspension:session-id:
   *
   * The session that asked.
   *
   * Since: 1.0
   */
  props[PROP_TEXTS + TEXT_SESSION_ID] = g_param_spec_string ("session-id", NULL, NULL, NULL, readable);
  /**
   * PrismSuspension:call-id:
   *
   * The call that asked.
   *
   * Since: 1.0
   */
  props[PROP_TEXTS + TEXT_CALL_ID] = g_param_spec_string ("call-id", NULL, NULL, NULL, readable);
  /**
   * PrismSuspension:answer:
   *
   * The answer.
   *
   * Since: 1.0
   */
  props[PROP_TEXTS + TEXT_ANSWER] = g_param_spec_string ("answer", NULL, NULL, NULL, readable);
  /**
   * PrismSuspension:answered-by:
   *
   * Who answered, or cancelled.
   *
   * Since: 1.0
   */
  props[PROP_TEXTS + TEXT_ANSWERED_BY] = g_param_spec_string ("answered-by", NULL, NULL, NULL, readable);
  /**
   * PrismSuspension:outcome:
   *
   * How it ended.
   *
   * Since: 1.0
   */
  props[PROP_TEXTS + TEXT_OUTCOME] = g_param_spec_string ("outcome", NULL, NULL, NULL, readable);
}

static void
prism_suspension_class_init (PrismSuspensionClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  object_class->get_property = prism_suspension_get_property;
  object_class->finalize = prism_suspension_finalize;
  install_texts ();
  /**
   * PrismSuspension:state:
   *
   * How far it was when it was read.
   *
   * Since: 1.0
   */
  props[PROP_STATE] =
      g_param_spec_enum ("state", NULL, NULL, PRISM_TYPE_SUSPENSION_STATE, PRISM_SUSPENSION_STATE_PENDING, readable);
  /**
   * PrismSuspension:asked-at:
   *
   * When it was asked, in milliseconds since 1970.
   *
   * Since: 1.0
   */
  props[PROP_ASKED_AT] = g_param_spec_int64 ("asked-at", NULL, NULL, 0, G_MAXINT64, 0, readable);
  /**
   * PrismSuspension:expires-at:
   *
   * When an answer comes too late, and so does what was allowed and did not begin, in milliseconds
   * since 1970.
   *
   * Since: 1.0
   */
  props[PROP_EXPIRES_AT] = g_param_spec_int64 ("expires-at", NULL, NULL, 0, G_MAXINT64, 0, readable);
  g_object_class_install_properties (object_class, N_PROPS, props);
}

static void
prism_suspension_init (PrismSuspension *self)
{
}

/* --- reading -------------------------------------------------------------------------------- */

gint64
prism_suspension_now_ms (void)
{
  return g_get_real_time () / 1000;
}

static JsonObject *
parse (const char *text, const char *what, JsonNode **node, GError **error)
{
  const PrismJsonFaults faults = { PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_FAILED, what };

  *node = prism_json_parse (text, strlen (text), &faults, error);
  if (*node != NULL && !JSON_NODE_HOLDS_OBJECT (*node))
    {
      prism_json_set_fault (&faults, error, "", "is no object");
      g_clear_pointer (node, json_node_unref);
    }
  return *node != NULL ? json_node_get_object (*node) : NULL;
}

static const char *
get_string (JsonObject *object, const char *name)
{
  return prism_json_get_string (json_object_get_member (object, name));
}

static gint64
get_time (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_INT64
             ? json_node_get_int (node)
             : 0;
}

static gboolean
bad (const char *what, GError **error)
{
  g_set_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_FAILED, "suspensions: %s is not as it should be", what);
  return FALSE;
}

static gboolean
read_asked (PrismSuspension *self, const char *text, GError **error)
{
  g_autoptr (JsonNode) node = NULL;
  JsonObject *object = parse (text, "what is asked", &node, error);
  JsonNode *schema;

  if (object == NULL)
    return FALSE;
  schema = json_object_get_member (object, "resumeSchema");
  self->texts[TEXT_REASON] = g_strdup (get_string (object, "reason"));
  self->texts[TEXT_TEXT] = g_strdup (get_string (object, "text"));
  self->texts[TEXT_RUN_ID] = g_strdup (get_string (object, "runId"));
  self->texts[TEXT_SESSION_ID] = g_strdup (get_string (object, "sessionId"));
  self->texts[TEXT_CALL_ID] = g_strdup (get_string (object, "callId"));
  self->asked_at = get_time (object, "askedAt");
  self->expires_at = get_time (object, "expiresAt");
  if (get_time (object, "version") != 1 || self->texts[TEXT_REASON] == NULL || self->texts[TEXT_TEXT] == NULL
      || schema == NULL || !JSON_NODE_HOLDS_OBJECT (schema) || self->asked_at <= 0 || self->expires_at < self->asked_at)
    return bad ("what is asked", error);
  self->resume_schema = json_node_ref (schema);
  self->texts[TEXT_RESUME_SCHEMA] = json_to_string (schema, FALSE);
  return TRUE;
}

gboolean
prism_suspension_is_late (PrismSuspension *self)
{
  gint64 now = prism_suspension_now_ms ();

  return now > self->expires_at || now < self->asked_at - CLOCK_SLACK_MS;
}

static gboolean
read_answer (PrismSuspension *self, const char *text, GError **error)
{
  g_autoptr (JsonNode) node = NULL;
  JsonObject *object = parse (text, "the answer", &node, error);
  JsonNode *answer;
  const char *decision;

  if (object == NULL)
    return FALSE;
  self->texts[TEXT_ANSWERED_BY] = g_strdup (get_string (object, "by"));
  if (json_object_has_member (object, "cancelled"))
    {
      self->state = PRISM_SUSPENSION_STATE_CANCELLED;
      return TRUE;
    }
  answer = json_object_get_member (object, "answer");
  if (answer == NULL || !JSON_NODE_HOLDS_OBJECT (answer) || self->texts[TEXT_ANSWERED_BY] == NULL)
    return bad ("the answer", error);
  self->texts[TEXT_ANSWER] = json_to_string (answer, FALSE);
  decision = get_string (json_node_get_object (answer), "decision");
  if (!g_str_equal (self->texts[TEXT_REASON], PRISM_SUSPENSION_REASON_APPROVAL))
    self->state = PRISM_SUSPENSION_STATE_ANSWERED;
  else if (g_strcmp0 (decision, "allow") != 0)
    self->state = PRISM_SUSPENSION_STATE_DENIED;
  else
    self->state = prism_suspension_is_late (self) ? PRISM_SUSPENSION_STATE_EXPIRED : PRISM_SUSPENSION_STATE_ALLOWED;
  return TRUE;
}

static gboolean
read_end (PrismSuspension *self, const char *text, GError **error)
{
  g_autoptr (JsonNode) node = NULL;
  JsonObject *object = parse (text, "the end", &node, error);

  if (object == NULL)
    return FALSE;
  self->texts[TEXT_OUTCOME] = g_strdup (get_string (object, "outcome"));
  return self->texts[TEXT_OUTCOME] != NULL || bad ("the end", error);
}

static void
read_nothing (PrismSuspension *self)
{
  self->texts[TEXT_REASON] = g_strdup ("forgotten");
  self->texts[TEXT_TEXT] = g_strdup ("");
  self->texts[TEXT_RESUME_SCHEMA] = g_strdup ("{}");
}

/* In the order of how final they are: what another process does meanwhile is found later, never
 * undone. */
PrismSuspension *
prism_suspension_load (int folder, const char *id, PrismSuspensions *store, GError **error)
{
  g_autoptr (PrismSuspension) self = g_object_new (PRISM_TYPE_SUSPENSION, NULL);
  char *texts[PRISM_SUSPENSION_N_PARTS] = { NULL };
  GError *wrong = NULL;

  for (int part = 0; part < PRISM_SUSPENSION_N_PARTS && wrong == NULL; part++)
    texts[part] = prism_suspension_get (folder, id, (PrismSuspensionPart)part, &wrong);
  self->texts[TEXT_ID] = g_strdup (id);
  self->store = g_object_ref (store);
  if (wrong == NULL && texts[PRISM_SUSPENSION_ASKED] != NULL)
    read_asked (self, texts[PRISM_SUSPENSION_ASKED], &wrong);
  else if (wrong == NULL)
    read_nothing (self);
  if (wrong == NULL && texts[PRISM_SUSPENSION_ANSWER] != NULL && texts[PRISM_SUSPENSION_ASKED] != NULL)
    read_answer (self, texts[PRISM_SUSPENSION_ANSWER], &wrong);
  else if (wrong == NULL)
    self->state = prism_suspension_is_late (self) ? PRISM_SUSPENSION_STATE_EXPIRED : PRISM_SUSPENSION_STATE_PENDING;
  if (wrong == NULL && texts[PRISM_SUSPENSION_END] != NULL)
    read_end (self, texts[PRISM_SUSPENSION_END], &wrong);
  if (texts[PRISM_SUSPENSION_END] != NULL)
    self->state = PRISM_SUSPENSION_STATE_ENDED;
  else if (texts[PRISM_SUSPENSION_BEGUN] != NULL)
    self->state = PRISM_SUSPENSION_STATE_STARTED;
  for (int part = 0; part < PRISM_SUSPENSION_N_PARTS; part++)
    g_free (texts[part]);
  if (wrong == NULL)
    return g_steal_pointer (&self);
  g_propagate_prefixed_error (error, wrong, "%s: ", id);
  return NULL;
}

PrismSuspensions *
prism_suspension_get_store (PrismSuspension *self)
{
  return self->store;
}

JsonNode *
prism_suspension_get_schema (PrismSuspension *self)
{
  return self->resume_schema;
}

/* --- what there is to read ------------------------------------------------------------------------ */

/**
 * prism_suspension_get_id:
 * @self: a suspension
 *
 * Gets what it is called by.
 *
 * Returns: (transfer none): what it is called by
 *
 * Since: 1.0
 */
const char *
prism_suspension_get_id (PrismSuspension *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSION (self), NULL);

  return self->texts[TEXT_ID];
}

/**
 * prism_suspension_get_reason:
 * @self: a suspension
 *
 * Gets why it waits: `approval`, or `ask_user_decision`.
 *
 * Returns: (transfer none): why it waits
 *
 * Since: 1.0
 */
const char *
prism_suspension_get_reason (PrismSuspension *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSION (self), NULL);

  return self->texts[TEXT_REASON];
}

/**
 * prism_suspension_get_text:
 * @self: a suspension
 *
 * Gets what is asked, in lines that are safe to show.
 *
 * Returns: (transfer none): what is asked
 *
 * Since: 1.0
 */
const char *
prism_suspension_get_text (PrismSuspension *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSION (self), NULL);

  return self->texts[TEXT_TEXT];
}

/**
 * prism_suspension_get_resume_schema:
 * @self: a suspension
 *
 * Gets the JSON Schema of an answer.
 *
 * Returns: (transfer none): a JSON object
 *
 * Since: 1.0
 */
const char *
prism_suspension_get_resume_schema (PrismSuspension *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSION (self), NULL);

  return self->texts[TEXT_RESUME_SCHEMA];
}

/**
 * prism_suspension_get_run_id:
 * @self: a suspension
 *
 * Gets the run that asked.
 *
 * Returns: (transfer none) (nullable): the run that asked
 *
 * Since: 1.0
 */
const char *
prism_suspension_get_run_id (PrismSuspension *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSION (self), NULL);

  return self->texts[TEXT_RUN_ID];
}

/**
 * prism_suspension_get_session_id:
 * @self: a suspension
 *
 * Gets the session that asked.
 *
 * Returns: (transfer none) (nullable): the session that asked
 *
 * Since: 1.0
 */
const char *
prism_suspension_get_session_id (PrismSuspension *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSION (self), NULL);

  return self->texts[TEXT_SESSION_ID];
}

/**
 * prism_suspension_get_call_id:
 * @self: a suspension
 *
 * Gets the call that asked.
 *
 * Returns: (transfer none) (nullable): the call that asked
 *
 * Since: 1.0
 */
const char *
prism_suspension_get_call_id (PrismSuspension *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSION (self), NULL);

  return self->texts[TEXT_CALL_ID];
}

/**
 * prism_suspension_get_answer:
 * @self: a suspension
 *
 * Gets the answer.
 *
 * Returns: (transfer none) (nullable): a JSON object
 *
 * Since: 1.0
 */
const char *
prism_suspension_get_answer (PrismSuspension *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSION (self), NULL);

  return self->texts[TEXT_ANSWER];
}

/**
 * prism_suspension_get_answered_by:
 * @self: a suspension
 *
 * Gets who answered, or cancelled.
 *
 * Returns: (transfer none) (nullable): who answered
 *
 * Since: 1.0
 */
const char *
prism_suspension_get_answered_by (PrismSuspension *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSION (self), NULL);

  return self->texts[TEXT_ANSWERED_BY];
}

/**
 * prism_suspension_get_outcome:
 * @self: a suspension
 *
 * Gets how it ended.
 *
 * Returns: (transfer none) (nullable): how it ended
 *
 * Since: 1.0
 */
const char *
prism_suspension_get_outcome (PrismSuspension *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSION (self), NULL);

  return self->texts[TEXT_OUTCOME];
}

/**
 * prism_suspension_get_state:
 * @self: a suspension
 *
 * Gets how far it was when it was read.
 *
 * Returns: how far it was
 *
 * Since: 1.0
 */
PrismSuspensionState
prism_suspension_get_state (PrismSuspension *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSION (self), PRISM_SUSPENSION_STATE_EXPIRED);

  return self->state;
}

/**
 * prism_suspension_get_asked_at:
 * @self: a suspension
 *
 * Gets when it was asked.
 *
 * Returns: milliseconds since 1970
 *
 * Since: 1.0
 */
gint64
prism_suspension_get_asked_at (PrismSuspension *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSION (self), 0);

  return self->asked_at;
}

/**
 * prism_suspension_get_expires_at:
 * @self: a suspension
 *
 * Gets when it is too late.
 *
 * Returns: milliseconds since 1970
 *
 * Since: 1.0
 */
gint64
prism_suspension_get_expires_at (PrismSuspension *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSION (self), 0);

  return self->expires_at;
}
