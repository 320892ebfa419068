/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ask_user_decision. TRUST: what a model asks is shown to a person: bounded, without control
 * characters, so that it cannot look like something else. */
#include "prism-tool-table-private.h"

#include <string.h>

#include "prism-operation-private.h"
#include "prism-question-private.h"

#define MOST_LABEL 512
#define MOST_ID    64

static gboolean
check_text (const char *text, gsize most, gboolean lines, const char *what, GError **error)
{
  gboolean changed = FALSE;
  g_autofree char *shown = NULL;

  if (strlen (text) > most)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "%s: more than %" G_GSIZE_FORMAT " bytes", what, most);
  if (lines)
    {
      g_autofree char *flat = g_strdelimit (g_strdup (text), "\n\t", ' ');
      shown = prism_visible_text (flat, G_MAXINT, &changed);
    }
  else
    shown = prism_visible_text (text, G_MAXINT, &changed);
  return !changed
         || prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "%s: has control characters; send plain text", what);
}

static gboolean
is_id (const char *id)
{
  gsize length = strlen (id);

  return length > 0 && length <= MOST_ID && g_ascii_isalpha (id[0])
         && strspn (id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == length;
}

static char **
get_bullets (JsonObject *option, const char *name, GError **error)
{
  JsonArray *array = json_object_has_member (option, name) ? json_object_get_array_member (option, name) : NULL;
  guint length = array != NULL ? json_array_get_length (array) : 0;
  g_auto (GStrv) bullets = g_new0 (char *, length + 1);

  for (guint i = 0; i < length; i++)
    {
      const char *text = json_array_get_string_element (array, i);
      if (!check_text (text, MOST_LABEL, FALSE, name, error))
        return NULL;
      bullets[i] = g_strdup (text);
    }
  return g_steal_pointer (&bullets);
}

static gboolean
add_option (PrismToolRun *run, PrismQuestion *question, JsonObject *option, GError **error)
{
  const char *id = json_object_get_string_member (option, "id");
  const char *label = json_object_get_string_member (option, "label");
  g_auto (GStrv) pros = NULL;
  g_auto (GStrv) cons = NULL;

  if (!is_id (id))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID,
                            "options: an id is a letter, then letters, digits, _ and -");
  for (guint i = 0; i < prism_question_get_n_options (question); i++)
    if (g_str_equal (prism_question_get_option_id (question, i), id))
      return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "options: two have the id %s", id);
  if (!check_text (label, MOST_LABEL, FALSE, "label", error))
    return FALSE;
  pros = get_bullets (option, "pros", error);
  cons = pros != NULL ? get_bullets (option, "cons", error) : NULL;
  if (cons == NULL)
    return FALSE;
  prism_question_add_option (question, id, label, (const char *const *)pros, (const char *const *)cons);
  return TRUE;
}

static PrismQuestion *
make_question (PrismToolRun *run, GError **error)
{
  const char *text = prism_tool_get_string (run, "question");
  JsonArray *options = prism_tool_get_array (run, "options");
  gsize most = (gsize)prism_tool_limit (run, PRISM_TOOL_LIMIT_QUESTION_BYTES);
  g_autoptr (PrismQuestion) question = NULL;

  if (!check_text (text, most, TRUE, "question", error))
    return NULL;
  if ((gint64)json_array_get_length (options) > prism_tool_limit (run, PRISM_TOOL_LIMIT_OPTIONS))
    {
      prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "options: send at most %" G_GINT64_FORMAT,
                       prism_tool_limit (run, PRISM_TOOL_LIMIT_OPTIONS));
      return NULL;
    }
  question = prism_question_new (text, g_strcmp0 (prism_tool_get_string (run, "selectionMode"), "multiple") == 0,
                                 prism_tool_get_boolean (run, "allowCustom", FALSE), most);
  if (prism_tool_operation_get_context (run->operation) != NULL)
    prism_question_set_call_id (question,
                                prism_tool_context_get_call_id (prism_tool_operation_get_context (run->operation)));
  for (guint i = 0; i < json_array_get_length (options); i++)
    if (!add_option (run, question, json_array_get_object_element (options, i), error))
      return NULL;
  return g_steal_pointer (&question);
}

static void
emit_question (gpointer composition, gpointer question)
{
  prism_composition_emit_question (composition, question);
}

static gboolean
ask_person (PrismToolRun *run, PrismQuestion *question, GError **error)
{
  g_autoptr (PrismComposition) composition = g_weak_ref_get (&run->settings->composition);

  if (composition == NULL || !prism_composition_emit_question (composition, NULL))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_NOT_SUPPORTED,
                            "there is nobody to ask; decide, and say what was decided and why");
  prism_operation_emit_about (PRISM_OPERATION (run->operation), emit_question, composition, question);
  return TRUE;
}

static const char *
label_of (PrismQuestion *question, const char *id)
{
  for (guint i = 0; i < prism_question_get_n_options (question); i++)
    if (g_str_equal (prism_question_get_option_id (question, i), id))
      return prism_question_get_option_label (question, i);
  return id;
}

static void
add_options (PrismToolRun *run, PrismQuestion *question)
{
  json_builder_set_member_name (run->metadata, "options");
  json_builder_begin_array (run->metadata);
  for (guint i = 0; i < prism_question_get_n_options (question); i++)
    {
      json_builder_begin_object (run->metadata);
      prism_tool_add_string (run, "id", prism_question_get_option_id (question, i));
      prism_tool_add_string (run, "label", prism_question_get_option_label (question, i));
      json_builder_end_object (run->metadata);
    }
  json_builder_end_array (run->metadata);
}

static void
answer_chosen (PrismToolRun *run, PrismQuestion *question, char **ids)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (ids[1] == NULL)
    prism_tool_add_string (run, "selectedId", ids[0]);
  json_builder_set_member_name (run->metadata, "selectedIds");
  json_builder_begin_array (run->metadata);
  for (char **id = ids; *id != NULL; id++)
    json_builder_add_string_value (run->metadata, *id);
  json_builder_end_array (run->metadata);
  json_builder_set_member_name (run->metadata, "selectedLabels");
  json_builder_begin_array (run->metadata);
  for (char **id = ids; *id != NULL; id++)
    {
      json_builder_add_string_value (run->metadata, label_of (question, *id));
      g_string_append_printf (text, "%s%s (%s)", id > ids ? ", " : "the user chose ", label_of (question, *id), *id);
    }
  json_builder_end_array (run->metadata);
  prism_tool_result_add_text (run->result, text->str);
}

gboolean
prism_tool_run_ask (PrismToolRun *run, GError **error)
{
  const PrismToolAsk ask = {
    .kind = "ask_user_decision", .operation = "ask", .risk = PRISM_RISK_MEDIUM, .effect = PRISM_EFFECT_NONE
  };
  g_autoptr (PrismQuestion) question = make_question (run, error);
  gint64 timeout_s = prism_tool_limit (run, PRISM_TOOL_LIMIT_QUESTION_TIMEOUT_S);
  g_auto (GStrv) ids = NULL;
  g_autofree char *custom = NULL;

  if (question == NULL || !prism_tool_authorize (run, &ask, error))
    return FALSE;
  if (run->settings->suspensions != NULL
          ? !prism_tool_await_answer (run, &ask, question, &ids, &custom, error)
          : !ask_person (run, question, error)
                || !prism_question_wait (question, timeout_s, run->cancellable, &ids, &custom, error))
    return FALSE;
  prism_tool_add_string (run, "question", prism_question_get_question (question));
  add_options (run, question);
  if (ids != NULL)
    answer_chosen (run, question, ids);
  else
    {
      prism_tool_add_string (run, "customText", custom);
      prism_tool_say (run, "the user answered: %s", custom);
    }
  return TRUE;
}
