/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What waits for an answer, in a folder that outlives who asked.
 *
 * An answer is bound to what was asked to the letter (and, unless bind-calls is off, to the very
 * call), counts once, until it expires, and only begins what today's policy would ask about too.
 * Whatever cannot be read, is too late or is taken already is a no. */
#include "prism-suspension-private.h"

#include "prism-fd-private.h"

#include <string.h>

#define DEFAULT_TIMEOUT_MS (24 * 60 * 60 * G_GINT64_CONSTANT (1000))
#define MAX_BY             200
#define MAX_OUTCOME        1000

struct _PrismSuspensions
{
  GObject parent_instance;

  char *folder;
  gboolean bind_calls;
  gint64 timeout_ms;
};

enum
{
  PROP_0,
  PROP_FOLDER,
  PROP_BIND_CALLS,
  PROP_TIMEOUT_MS,
  N_PROPS
};

static GParamSpec *props[N_PROPS];
static guint suspended_signal, answered_signal;

/**
 * PrismSuspensions:
 *
 * A folder of what waits for an answer. A policy that has one
 * ([method@ApprovalPolicy.set_suspensions]) does not wait for who is asked: it puts the question down
 * there and denies with `approval-suspended`. Once somebody answered, be it in another process
 * and after this one is gone, the same action is allowed, once.
 *
 * It reads and writes small files, and waits for them to be kept: not for a main loop's thread where
 * the folder may be slow. It must lie outside of what sandboxes can write, or they would answer
 * themselves.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismSuspensions, prism_suspensions, G_TYPE_OBJECT)

static void
prism_suspensions_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismSuspensions *self = PRISM_SUSPENSIONS (object);

  switch (id)
    {
    case PROP_FOLDER:
      self->folder = g_value_dup_string (value);
      break;
    case PROP_BIND_CALLS:
      self->bind_calls = g_value_get_boolean (value);
      break;
    case PROP_TIMEOUT_MS:
      self->timeout_ms = g_value_get_int64 (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_suspensions_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismSuspensions *self = PRISM_SUSPENSIONS (object);

  switch (id)
    {
    case PROP_FOLDER:
      g_value_set_string (value, self->folder);
      break;
    case PROP_BIND_CALLS:
      g_value_set_boolean (value, self->bind_calls);
      break;
    case PROP_TIMEOUT_MS:
      g_value_set_int64 (value, self->timeout_ms);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_suspensions_finalize (GObject *object)
{
  g_free (PRISM_SUSPENSIONS (object)->folder);
  G_OBJECT_CLASS (prism_suspensions_parent_class)->finalize (object);
}

static void
install_signals (void)
{
  /**
   * PrismSuspensions::suspended:
   * @self: the suspensions
   * @suspension: what waits
   *
   * This process put something down. In the context that was current when the check or the call
   * began, or in the calling thread of a synchronous one.
   *
   * Since: 1.0
   */
  suspended_signal = g_signal_new ("suspended", PRISM_TYPE_SUSPENSIONS, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                   G_TYPE_NONE, 1, PRISM_TYPE_SUSPENSION);
  /**
   * PrismSuspensions::answered:
   * @self: the suspensions
   * @suspension: what was answered, or cancelled
   *
   * By this object, in the thread that answers.
   *
   * Since: 1.0
   */
  answered_signal = g_signal_new ("answered", PRISM_TYPE_SUSPENSIONS, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                  G_TYPE_NONE, 1, PRISM_TYPE_SUSPENSION);
}

static void
prism_suspensions_class_init (PrismSuspensionsClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags fixed = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_CONSTRUCT_ONLY;

  object_class->set_property = prism_suspensions_set_property;
  object_class->get_property = prism_suspensions_get_property;
  object_class->finalize = prism_suspensions_finalize;
  /**
   * PrismSuspensions:folder:
   *
   * Where they are: an absolute path. It is made, with mode 0700, when the first is put down.
   *
   * Since: 1.0
   */
  props[PROP_FOLDER] = g_param_spec_string ("folder", NULL, NULL, NULL, fixed);
  /**
   * PrismSuspensions:bind-calls:
   *
   * Whether an answer is for one call, which is known by its run, session and call id and is made
   * again after the answer; what has none of these is not suspended then. If not, an answer is for
   * whichever call next does the very same.
   *
   * Since: 1.0
   */
  props[PROP_BIND_CALLS] = g_param_spec_boolean ("bind-calls", NULL, NULL, TRUE, fixed);
  /**
   * PrismSuspensions:timeout-ms:
   *
   * How long after it was asked an answer counts and may begin, in milliseconds, from 1 to a
   * year. Out of that range nothing is suspended.
   *
   * Since: 1.0
   */
  props[PROP_TIMEOUT_MS] =
      g_param_spec_int64 ("timeout-ms", NULL, NULL, G_MININT64, G_MAXINT64, DEFAULT_TIMEOUT_MS, fixed);
  g_object_class_install_properties (object_class, N_PROPS, props);
  install_signals ();
}

static void
prism_suspensions_init (PrismSuspensions *self)
{
}

/**
 * prism_suspensions_new:
 * @folder: an absolute path
 *
 * Opens a folder of suspensions; nothing is read or made yet.
 *
 * Returns: (transfer full): suspensions
 *
 * Since: 1.0
 */
PrismSuspensions *
prism_suspensions_new (const char *folder)
{
  g_return_val_if_fail (folder != NULL, NULL);

  return g_object_new (PRISM_TYPE_SUSPENSIONS, "folder", folder, NULL);
}

/**
 * prism_suspensions_get_folder:
 * @self: suspensions
 *
 * Gets where they are.
 *
 * Returns: (transfer none) (nullable): an absolute path
 *
 * Since: 1.0
 */
const char *
prism_suspensions_get_folder (PrismSuspensions *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSIONS (self), NULL);

  return self->folder;
}

/**
 * prism_suspensions_get_bind_calls:
 * @self: suspensions
 *
 * Tells whether an answer is for one call.
 *
 * Returns: whether an answer is for one call
 *
 * Since: 1.0
 */
gboolean
prism_suspensions_get_bind_calls (PrismSuspensions *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSIONS (self), TRUE);

  return self->bind_calls;
}

/**
 * prism_suspensions_get_timeout_ms:
 * @self: suspensions
 *
 * Gets how long an answer counts.
 *
 * Returns: milliseconds
 *
 * Since: 1.0
 */
gint64
prism_suspensions_get_timeout_ms (PrismSuspensions *self)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSIONS (self), 0);

  return self->timeout_ms;
}

/* --- the folder -------------------------------------------------------------------------------- */

int
prism_suspensions_open (PrismSuspensions *self, gboolean make, GError **error)
{
  if (self->folder != NULL && g_path_is_absolute (self->folder))
    return prism_suspension_folder_open (self->folder, make, error);
  g_set_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_FAILED,
               "suspensions: the folder has to be an absolute path, and is %s",
               self->folder != NULL ? self->folder : "not set");
  return -1;
}

static int
compare_asked (gconstpointer a, gconstpointer b)
{
  PrismSuspension *const *one = a, *const *other = b;
  gint64 apart = prism_suspension_get_asked_at (*one) - prism_suspension_get_asked_at (*other);

  return apart < 0 ? -1 : apart > 0 ? 1 : strcmp (prism_suspension_get_id (*one), prism_suspension_get_id (*other));
}

/**
 * prism_suspensions_list:
 * @self: suspensions
 * @error: return location for an error
 *
 * Reads all of them, in the order in which they were asked. A folder that is not there has none.
 *
 * Returns: (transfer full) (element-type PrismSuspension): all of them
 *
 * Since: 1.0
 */
GPtrArray *
prism_suspensions_list (PrismSuspensions *self, GError **error)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GPtrArray) ids = NULL;
  GError *wrong = NULL;
  prism_autofd int folder = -1;

  g_return_val_if_fail (PRISM_IS_SUSPENSIONS (self), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  folder = prism_suspensions_open (self, FALSE, &wrong);
  if (folder < 0 && wrong == NULL)
    return g_steal_pointer (&all);
  ids = folder >= 0 ? prism_suspension_scan (folder, &wrong) : NULL;
  for (guint i = 0; wrong == NULL && i < ids->len; i++)
    {
      PrismSuspension *suspension = prism_suspension_load (folder, ids->pdata[i], self, &wrong);

      if (suspension != NULL)
        g_ptr_array_add (all, suspension);
    }
  if (wrong != NULL)
    {
      g_propagate_error (error, wrong);
      return NULL;
    }
  g_ptr_array_sort (all, compare_asked);
  return g_steal_pointer (&all);
}

static PrismSuspension *
not_found (const char *id, GError **error)
{
  g_autofree char *valid = g_utf8_make_valid (id, MIN (strlen (id), 100));

  g_set_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_NOT_FOUND, "suspensions: nothing is called “%s” there",
               valid);
  return NULL;
}

/* *@folder stays open where there is an answer. */
static PrismSuspension *
load (PrismSuspensions *self, const char *id, int *folder, GError **error)
{
  g_autofree char *asked = NULL;
  PrismSuspension *suspension = NULL;
  GError *wrong = NULL;

  if (!prism_suspension_is_id (id))
    return not_found (id, error);
  *folder = prism_suspensions_open (self, FALSE, &wrong);
  asked = *folder >= 0 ? prism_suspension_get (*folder, id, PRISM_SUSPENSION_ASKED, &wrong) : NULL;
  if (asked != NULL)
    suspension = prism_suspension_load (*folder, id, self, &wrong);
  else if (wrong == NULL)
    not_found (id, &wrong);
  if (suspension != NULL)
    return suspension;
  prism_clear_fd (folder);
  g_propagate_error (error, wrong);
  return NULL;
}

/**
 * prism_suspensions_look_up:
 * @self: suspensions
 * @id: what it is called by
 * @error: return location for an error
 *
 * Reads one of them.
 *
 * Returns: (transfer full): how it is now
 *
 * Since: 1.0
 */
PrismSuspension *
prism_suspensions_look_up (PrismSuspensions *self, const char *id, GError **error)
{
  prism_autofd int folder = -1;

  g_return_val_if_fail (PRISM_IS_SUSPENSIONS (self), NULL);
  g_return_val_if_fail (id != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return load (self, id, &folder, error);
}

/* --- answering ------------------------------------------------------------------------------------ */

static const char *
state_words (PrismSuspensionState state)
{
  static const char *const words[] = {
    [PRISM_SUSPENSION_STATE_PENDING] = "waits for an answer",
    [PRISM_SUSPENSION_STATE_ALLOWED] = "is allowed already",
    [PRISM_SUSPENSION_STATE_ANSWERED] = "is answered already",
    [PRISM_SUSPENSION_STATE_DENIED] = "is denied already",
    [PRISM_SUSPENSION_STATE_CANCELLED] = "is cancelled",
    [PRISM_SUSPENSION_STATE_EXPIRED] = "is too old",
    [PRISM_SUSPENSION_STATE_STARTED] = "has begun",
    [PRISM_SUSPENSION_STATE_ENDED] = "is over",
  };

  return words[state];
}

static gboolean
wrong_state (PrismSuspension *suspension, GError **error)
{
  g_set_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_STATE, "suspensions: %s %s",
               prism_suspension_get_id (suspension), state_words (prism_suspension_get_state (suspension)));
  return FALSE;
}

/* Puts @part there, and says what else it is if that is taken. */
static gboolean
put_once (PrismSuspensions *self, int folder, const char *id, PrismSuspensionPart part, JsonNode *node, GError **error)
{
  g_autofree char *text = json_to_string (node, FALSE);
  g_autoptr (PrismSuspension) now = NULL;
  GError *wrong = NULL;

  if (prism_suspension_put (folder, id, part, text, &wrong))
    return TRUE;
  if (wrong == NULL)
    now = prism_suspension_load (folder, id, self, &wrong);
  if (now != NULL)
    return wrong_state (now, error);
  g_propagate_error (error, wrong);
  return FALSE;
}

void
prism_suspension_add_string (JsonBuilder *builder, const char *name, const char *value)
{
  if (value == NULL)
    return;
  json_builder_set_member_name (builder, name);
  json_builder_add_string_value (builder, value);
}

void
prism_suspension_add_integer (JsonBuilder *builder, const char *name, gint64 value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_int_value (builder, value);
}

/* @answer: NULL: it is cancelled. */
static JsonNode *
make_answer (JsonNode *answer, const char *by)
{
  g_autoptr (JsonBuilder) builder = json_builder_new_immutable ();

  json_builder_begin_object (builder);
  prism_suspension_add_integer (builder, "version", 1);
  prism_suspension_add_integer (builder, "at", prism_suspension_now_ms ());
  prism_suspension_add_string (builder, "by", by);
  json_builder_set_member_name (builder, answer != NULL ? "answer" : "cancelled");
  if (answer != NULL)
    json_builder_add_value (builder, json_node_ref (answer));
  else
    json_builder_add_boolean_value (builder, TRUE);
  json_builder_end_object (builder);
  return json_builder_get_root (builder);
}

static gboolean
check_by (const char *by, GError **error)
{
  if (*by != '\0' && strlen (by) <= MAX_BY && g_utf8_validate (by, -1, NULL))
    return TRUE;
  g_set_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_INVALID,
               "suspensions: who answers is a text of 1 to %d bytes", MAX_BY);
  return FALSE;
}

/* @answer: NULL: nobody will. */
static gboolean
settle (PrismSuspensions *self, const char *id, const char *answer, const char *by, GError **error)
{
  g_autoptr (PrismSuspension) suspension = NULL;
  g_autoptr (PrismSuspension) settled = NULL;
  g_autoptr (JsonNode) read = NULL;
  g_autoptr (JsonNode) record = NULL;
  gboolean good = check_by (by, error);
  prism_autofd int folder = -1;

  if (good)
    suspension = load (self, id, &folder, error);
  if (suspension == NULL)
    return FALSE;
  good = prism_suspension_get_state (suspension) == PRISM_SUSPENSION_STATE_PENDING || wrong_state (suspension, error);
  if (good && answer != NULL)
    good = (read = prism_suspension_read_answer (suspension, answer, error)) != NULL;
  if (good)
    {
      record = make_answer (read, by);
      good = put_once (self, folder, id, PRISM_SUSPENSION_ANSWER, record, error);
    }
  if (good)
    settled = prism_suspension_load (folder, id, self, NULL);
  if (settled != NULL)
    g_signal_emit (self, answered_signal, 0, settled);
  return good;
}

/**
 * prism_suspensions_answer:
 * @self: suspensions
 * @id: one that waits
 * @answer: a JSON object that fits its resume schema: for an approval `{"decision": "allow"}` or
 *   `{"decision": "deny"}`, for a question `{"selectedIds": ["a"]}` or `{"customText": "..."}`
 * @by: who says so, to be told later
 * @error: return location for an error
 *
 * Answers, from any process, once. What is allowed begins when the same call is made again.
 *
 * Returns: whether this is the answer
 *
 * Since: 1.0
 */
gboolean
prism_suspensions_answer (PrismSuspensions *self, const char *id, const char *answer, const char *by, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSIONS (self), FALSE);
  g_return_val_if_fail (id != NULL && answer != NULL && by != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return settle (self, id, answer, by, error);
}

/**
 * prism_suspensions_cancel:
 * @self: suspensions
 * @id: one that waits
 * @by: who says so
 * @error: return location for an error
 *
 * Says that it is not asked any more: nobody can answer it then.
 *
 * Returns: whether it waited until now
 *
 * Since: 1.0
 */
gboolean
prism_suspensions_cancel (PrismSuspensions *self, const char *id, const char *by, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SUSPENSIONS (self), FALSE);
  g_return_val_if_fail (id != NULL && by != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return settle (self, id, NULL, by, error);
}

/* --- beginning and ending ---------------------------------------------------------------------------- */

static JsonNode *
make_mark (const char *outcome)
{
  g_autoptr (JsonBuilder) builder = json_builder_new_immutable ();

  json_builder_begin_object (builder);
  prism_suspension_add_integer (builder, "version", 1);
  prism_suspension_add_integer (builder, "at", prism_suspension_now_ms ());
  prism_suspension_add_string (builder, "outcome", outcome);
  json_builder_end_object (builder);
  return json_builder_get_root (builder);
}

gboolean
prism_suspensions_begin (PrismSuspensions *self, PrismSuspension *suspension, GError **error)
{
  g_autoptr (JsonNode) mark = make_mark (NULL);
  g_autofree char *text = json_to_string (mark, FALSE);
  prism_autofd int folder = prism_suspensions_open (self, FALSE, error);

  if (folder < 0)
    return FALSE;
  return prism_suspension_put (folder, prism_suspension_get_id (suspension), PRISM_SUSPENSION_BEGUN, text, error);
}

/**
 * prism_suspensions_end:
 * @self: suspensions
 * @id: one that began
 * @outcome: a word or a sentence: `ok`, or what went wrong
 * @error: return location for an error
 *
 * Writes down how it ended. The tools do so by themselves; it is for those who ask a policy
 * and then act themselves. What began and has no end is unknown to whoever comes later.
 *
 * Returns: whether it had no end until now
 *
 * Since: 1.0
 */
gboolean
prism_suspensions_end (PrismSuspensions *self, const char *id, const char *outcome, GError **error)
{
  g_autoptr (PrismSuspension) suspension = NULL;
  g_autofree char *valid = NULL;
  g_autoptr (JsonNode) mark = NULL;
  gboolean good;
  prism_autofd int folder = -1;

  g_return_val_if_fail (PRISM_IS_SUSPENSIONS (self), FALSE);
  g_return_val_if_fail (id != NULL && outcome != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  suspension = load (self, id, &folder, error);
  if (suspension == NULL)
    return FALSE;
  valid = g_utf8_make_valid (outcome, MIN (strlen (outcome), MAX_OUTCOME));
  mark = make_mark (valid);
  good = prism_suspension_get_state (suspension) == PRISM_SUSPENSION_STATE_STARTED || wrong_state (suspension, error);
  good = good && put_once (self, folder, id, PRISM_SUSPENSION_END, mark, error);
  return good;
}

/**
 * prism_suspensions_forget:
 * @self: suspensions
 * @id: one that is over: neither waits nor is allowed
 * @error: return location for an error
 *
 * Removes what is known of it. The same call may then be asked about anew.
 *
 * Returns: whether it is gone
 *
 * Since: 1.0
 */
gboolean
prism_suspensions_forget (PrismSuspensions *self, const char *id, GError **error)
{
  g_autoptr (PrismSuspension) suspension = NULL;
  PrismSuspensionState state;
  gboolean good;
  prism_autofd int folder = -1;

  g_return_val_if_fail (PRISM_IS_SUSPENSIONS (self), FALSE);
  g_return_val_if_fail (id != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  suspension = load (self, id, &folder, error);
  if (suspension == NULL)
    return FALSE;
  state = prism_suspension_get_state (suspension);
  good = (state != PRISM_SUSPENSION_STATE_PENDING && state != PRISM_SUSPENSION_STATE_ALLOWED)
         || wrong_state (suspension, error);
  good = good && prism_suspension_drop (folder, id, error);
  return good;
}

void
prism_suspensions_emit_suspended (gpointer self, gpointer suspension)
{
  g_signal_emit (self, suspended_signal, 0, suspension);
}
