/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TRUST: the question is a model's and the answer a person's: both have bounds, and neither
 * has control characters. */
#include "prism-question-private.h"

#include "prism-action.h"

#include <string.h>

struct _PrismQuestion
{
  GObject parent_instance;

  char *question;
  gboolean multiple, allow_custom;
  gsize most_custom;
  GArray *options; /* PrismQuestionOption */

  char *call_id;

  GMutex lock;
  GCond changed;
  gboolean settled;
  char **ids;
  char *custom_text, *reason;
};

enum
{
  PROP_PENDING = 1,
};

static GParamSpec *pending_pspec;

/**
 * PrismQuestion:
 *
 * What a model wants a person to decide.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismQuestion, prism_question, G_TYPE_OBJECT)

static void
clear_option (gpointer data)
{
  PrismQuestionOption *option = data;

  g_free (option->id);
  g_free (option->label);
  g_strfreev (option->pros);
  g_strfreev (option->cons);
}

static void
prism_question_finalize (GObject *object)
{
  PrismQuestion *self = PRISM_QUESTION (object);

  g_free (self->question);
  g_free (self->call_id);
  g_array_unref (self->options);
  g_strfreev (self->ids);
  g_free (self->custom_text);
  g_free (self->reason);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
  G_OBJECT_CLASS (prism_question_parent_class)->finalize (object);
}

static void
prism_question_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  g_value_set_boolean (value, prism_question_get_pending (PRISM_QUESTION (object)));
}

static void
prism_question_class_init (PrismQuestionClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = prism_question_finalize;
  object_class->get_property = prism_question_get_property;
  /**
   * PrismQuestion:pending:
   *
   * Whether an answer is still wanted. It notifies in the thread where that changes: of who
   * answers, or of the call that is cancelled or waits no longer.
   *
   * Since: 1.0
   */
  pending_pspec = g_param_spec_boolean ("pending", NULL, NULL, TRUE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_property (object_class, PROP_PENDING, pending_pspec);
}

static void
prism_question_init (PrismQuestion *self)
{
  self->options = g_array_new (FALSE, FALSE, sizeof (PrismQuestionOption));
  g_array_set_clear_func (self->options, clear_option);
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
}

PrismQuestion *
prism_question_new (const char *question, gboolean multiple, gboolean allow_custom, gsize most_custom)
{
  PrismQuestion *self = g_object_new (PRISM_TYPE_QUESTION, NULL);

  self->question = g_strdup (question);
  self->multiple = multiple;
  self->allow_custom = allow_custom;
  self->most_custom = most_custom;
  return self;
}

void
prism_question_add_option (
    PrismQuestion *self, const char *id, const char *label, const char *const *pros, const char *const *cons)
{
  PrismQuestionOption option = { g_strdup (id), g_strdup (label), g_strdupv ((char **)pros),
                                 g_strdupv ((char **)cons) };

  g_array_append_val (self->options, option);
}

/**
 * prism_question_get_question:
 * @self: a question
 *
 * Gets what is asked.
 *
 * Returns: (transfer none): what is asked
 *
 * Since: 1.0
 */
const char *
prism_question_get_question (PrismQuestion *self)
{
  g_return_val_if_fail (PRISM_IS_QUESTION (self), NULL);
  return self->question;
}

/**
 * prism_question_get_call_id:
 * @self: a question
 *
 * Gets which call asks.
 *
 * Returns: (transfer none) (nullable): the id in the call's context
 *
 * Since: 1.0
 */
const char *
prism_question_get_call_id (PrismQuestion *self)
{
  g_return_val_if_fail (PRISM_IS_QUESTION (self), NULL);
  return self->call_id;
}

gsize
prism_question_get_most_custom (PrismQuestion *self)
{
  return self->most_custom;
}

void
prism_question_set_call_id (PrismQuestion *self, const char *call_id)
{
  self->call_id = g_strdup (call_id);
}

/**
 * prism_question_get_pending: (get-property pending)
 * @self: a question
 *
 * Tells whether an answer is still wanted.
 *
 * Returns: whether an answer is wanted
 *
 * Since: 1.0
 */
gboolean
prism_question_get_pending (PrismQuestion *self)
{
  gboolean pending;

  g_return_val_if_fail (PRISM_IS_QUESTION (self), FALSE);

  g_mutex_lock (&self->lock);
  pending = !self->settled;
  g_mutex_unlock (&self->lock);
  return pending;
}

/**
 * prism_question_get_multiple:
 * @self: a question
 *
 * Tells whether more than one option may be chosen.
 *
 * Returns: whether more than one may be chosen
 *
 * Since: 1.0
 */
gboolean
prism_question_get_multiple (PrismQuestion *self)
{
  g_return_val_if_fail (PRISM_IS_QUESTION (self), FALSE);
  return self->multiple;
}

/**
 * prism_question_get_allow_custom:
 * @self: a question
 *
 * Tells whether text of the person's own is an answer.
 *
 * Returns: whether text is an answer
 *
 * Since: 1.0
 */
gboolean
prism_question_get_allow_custom (PrismQuestion *self)
{
  g_return_val_if_fail (PRISM_IS_QUESTION (self), FALSE);
  return self->allow_custom;
}

/**
 * prism_question_get_n_options:
 * @self: a question
 *
 * Counts the options.
 *
 * Returns: how many there are
 *
 * Since: 1.0
 */
guint
prism_question_get_n_options (PrismQuestion *self)
{
  g_return_val_if_fail (PRISM_IS_QUESTION (self), 0);
  return self->options->len;
}

static const PrismQuestionOption *
get_option (PrismQuestion *self, guint option)
{
  static const PrismQuestionOption none;

  return option < self->options->len ? &g_array_index (self->options, PrismQuestionOption, option) : &none;
}

/**
 * prism_question_get_option_id:
 * @self: a question
 * @option: which option, from 0
 *
 * Gets what an option is answered by.
 *
 * Returns: (transfer none) (nullable): its id
 *
 * Since: 1.0
 */
const char *
prism_question_get_option_id (PrismQuestion *self, guint option)
{
  g_return_val_if_fail (PRISM_IS_QUESTION (self), NULL);
  return get_option (self, option)->id;
}

/**
 * prism_question_get_option_label:
 * @self: a question
 * @option: which option, from 0
 *
 * Gets what an option is shown as.
 *
 * Returns: (transfer none) (nullable): its label
 *
 * Since: 1.0
 */
const char *
prism_question_get_option_label (PrismQuestion *self, guint option)
{
  g_return_val_if_fail (PRISM_IS_QUESTION (self), NULL);
  return get_option (self, option)->label;
}

/**
 * prism_question_get_option_pros:
 * @self: a question
 * @option: which option, from 0
 *
 * Gets what speaks for an option.
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): sentences
 *
 * Since: 1.0
 */
const char *const *
prism_question_get_option_pros (PrismQuestion *self, guint option)
{
  g_return_val_if_fail (PRISM_IS_QUESTION (self), NULL);
  return (const char *const *)get_option (self, option)->pros;
}

/**
 * prism_question_get_option_cons:
 * @self: a question
 * @option: which option, from 0
 *
 * Gets what speaks against an option.
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): sentences
 *
 * Since: 1.0
 */
const char *const *
prism_question_get_option_cons (PrismQuestion *self, guint option)
{
  g_return_val_if_fail (PRISM_IS_QUESTION (self), NULL);
  return (const char *const *)get_option (self, option)->cons;
}

/* Each line of it apart: a line break is the question's own, any other control character is shown. */
static void
append_lines (GString *text, const char *lines)
{
  g_auto (GStrv) line = g_strsplit (lines, "\n", -1);

  for (guint i = 0; line[i] != NULL; i++)
    {
      g_autofree char *shown = prism_visible_text (line[i], 0, NULL);

      g_string_append_printf (text, "%s\n", shown);
    }
}

static void
append_bullets (GString *text, char **bullets, char sign)
{
  for (guint i = 0; bullets != NULL && bullets[i] != NULL; i++)
    {
      g_autofree char *shown = prism_visible_text (bullets[i], 0, NULL);

      g_string_append_printf (text, "    %c %s\n", sign, shown);
    }
}

/**
 * prism_question_to_text:
 * @self: a question
 *
 * Gets all of it as text for a person: the question, then each option with its id, its label and what
 * speaks for (`+`) and against it (`-`). Control and bidirectional characters are shown, not obeyed.
 *
 * Returns: (transfer full): lines, each with its end
 *
 * Since: 1.0
 */
char *
prism_question_to_text (PrismQuestion *self)
{
  GString *text;

  g_return_val_if_fail (PRISM_IS_QUESTION (self), NULL);

  text = g_string_new (NULL);
  append_lines (text, self->question);
  for (guint i = 0; i < self->options->len; i++)
    {
      const PrismQuestionOption *option = get_option (self, i);
      g_autofree char *label = prism_visible_text (option->label, 0, NULL);

      g_string_append_printf (text, "- %s: %s\n", option->id, label);
      append_bullets (text, option->pros, '+');
      append_bullets (text, option->cons, '-');
    }
  return g_string_free (text, FALSE);
}

static gboolean
refuse (GError **error, const char *message)
{
  g_set_error_literal (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_INVALID, message);
  return FALSE;
}

static gboolean
has_option (PrismQuestion *self, const char *id)
{
  for (guint i = 0; i < self->options->len; i++)
    if (g_str_equal (get_option (self, i)->id, id))
      return TRUE;
  return FALSE;
}

static gboolean
check_ids (PrismQuestion *self, const char *const *ids, GError **error)
{
  if (ids[1] != NULL && !self->multiple)
    return refuse (error, "one option is to be chosen");
  for (guint i = 0; ids[i] != NULL; i++)
    {
      if (!has_option (self, ids[i]))
        return refuse (error, "an option is chosen that there is not");
      for (guint k = 0; k < i; k++)
        if (g_str_equal (ids[i], ids[k]))
          return refuse (error, "an option is chosen twice");
    }
  return TRUE;
}

static gboolean
check_custom (PrismQuestion *self, const char *text, GError **error)
{
  if (!self->allow_custom)
    return refuse (error, "only an option is an answer to this question");
  if (strlen (text) > self->most_custom || !g_utf8_validate (text, -1, NULL))
    return refuse (error, "the text is too long, or no UTF-8");
  for (const char *p = text; *p != '\0'; p++)
    if (((guchar)*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7f)
      return refuse (error, "the text has control characters");
  return TRUE;
}

/**
 * prism_question_answer:
 * @self: a question that was not answered
 * @ids: (nullable) (array zero-terminated=1): ids of options, or
 * @custom_text: (nullable): text of the person's own
 * @error: return location for an error
 *
 * Answers, from any thread. An answer that does not fit is refused, and the question stays.
 *
 * Returns: whether this is the answer
 *
 * Since: 1.0
 */
gboolean
prism_question_answer (PrismQuestion *self, const char *const *ids, const char *custom_text, GError **error)
{
  gboolean chosen = ids != NULL && ids[0] != NULL, written = custom_text != NULL && custom_text[0] != '\0';
  gboolean first;

  g_return_val_if_fail (PRISM_IS_QUESTION (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (chosen == written)
    return refuse (error, "an answer is options or text: one of the two");
  if (chosen ? !check_ids (self, ids, error) : !check_custom (self, custom_text, error))
    return FALSE;
  g_mutex_lock (&self->lock);
  first = !self->settled;
  if (first)
    {
      self->settled = TRUE;
      self->ids = chosen ? g_strdupv ((char **)ids) : NULL;
      self->custom_text = written ? g_strdup (custom_text) : NULL;
      g_cond_broadcast (&self->changed);
    }
  g_mutex_unlock (&self->lock);
  if (first)
    g_object_notify_by_pspec (G_OBJECT (self), pending_pspec);
  return first || refuse (error, "the question was answered already, or is asked no more");
}

/**
 * prism_question_dismiss:
 * @self: a question
 * @reason: (nullable): why, for the model to read
 *
 * Says that nobody will answer. From any thread; after an answer it does nothing.
 *
 * Since: 1.0
 */
void
prism_question_dismiss (PrismQuestion *self, const char *reason)
{
  gboolean first;

  g_return_if_fail (PRISM_IS_QUESTION (self));

  g_mutex_lock (&self->lock);
  first = !self->settled;
  if (first)
    {
      self->settled = TRUE;
      self->reason = g_strdup (reason);
      g_cond_broadcast (&self->changed);
    }
  g_mutex_unlock (&self->lock);
  if (first)
    g_object_notify_by_pspec (G_OBJECT (self), pending_pspec);
}

static void
wake (GCancellable *cancellable, gpointer data)
{
  PrismQuestion *self = data;

  g_mutex_lock (&self->lock);
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
}

gboolean
prism_question_wait (
    PrismQuestion *self, gint64 timeout_s, GCancellable *cancellable, char ***ids, char **custom_text, GError **error)
{
  gint64 ends = g_get_monotonic_time () + timeout_s * G_USEC_PER_SEC;
  gboolean late = FALSE, withdrawn;
  gulong id = cancellable != NULL ? g_cancellable_connect (cancellable, G_CALLBACK (wake), self, NULL) : 0;
  gboolean answered;

  g_mutex_lock (&self->lock);
  while (!self->settled && !late && !g_cancellable_is_cancelled (cancellable))
    late = !g_cond_wait_until (&self->changed, &self->lock, ends);
  answered = self->ids != NULL || self->custom_text != NULL;
  *ids = g_strdupv (self->ids);
  *custom_text = g_strdup (self->custom_text);
  if (!answered && self->settled)
    g_set_error (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_DENIED, "nobody answered%s%s",
                 self->reason != NULL ? ": " : "", self->reason != NULL ? self->reason : "");
  else if (!answered && !g_cancellable_is_cancelled (cancellable))
    g_set_error (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_TIMEOUT, "nobody answered within %" G_GINT64_FORMAT " s",
                 timeout_s);
  else if (!answered)
    g_set_error_literal (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_CANCELLED, "cancelled");
  withdrawn = !self->settled;
  self->settled = TRUE;
  g_mutex_unlock (&self->lock);
  if (withdrawn)
    g_object_notify_by_pspec (G_OBJECT (self), pending_pspec);
  if (id != 0)
    g_cancellable_disconnect (cancellable, id);
  return answered;
}
