/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* edit: texts in a file, all of them or none. */
#include "prism-tool-table-private.h"

#include <string.h>

#include "prism-text-edit-private.h"

/* Models send the edits as JSON in a string, or one edit without the array. */
void
prism_tool_accept_edit (JsonObject *arguments)
{
  JsonNode *edits = json_object_get_member (arguments, "edits");

  if (edits != NULL && JSON_NODE_HOLDS_VALUE (edits) && json_node_get_value_type (edits) == G_TYPE_STRING)
    {
      JsonNode *parsed = json_from_string (json_node_get_string (edits), NULL);
      if (parsed != NULL && JSON_NODE_HOLDS_ARRAY (parsed))
        json_object_set_member (arguments, "edits", parsed);
      else
        g_clear_pointer (&parsed, json_node_unref);
    }
  else if (edits == NULL && json_object_has_member (arguments, "oldText")
           && json_object_has_member (arguments, "newText"))
    {
      JsonObject *one = json_object_new ();
      JsonArray *array = json_array_new ();
      json_object_set_member (one, "oldText", json_object_dup_member (arguments, "oldText"));
      json_object_set_member (one, "newText", json_object_dup_member (arguments, "newText"));
      json_object_remove_member (arguments, "oldText");
      json_object_remove_member (arguments, "newText");
      json_array_add_object_element (array, one);
      json_object_set_array_member (arguments, "edits", array);
    }
}

static gboolean
get_edits (PrismToolRun *run, GArray *edits, GError **error)
{
  JsonArray *array = prism_tool_get_array (run, "edits");
  gint64 most = prism_tool_limit (run, PRISM_TOOL_LIMIT_EDITS);
  gint64 most_bytes = prism_tool_limit (run, PRISM_TOOL_LIMIT_EDIT_INPUT_BYTES), bytes = 0;

  if ((gint64)json_array_get_length (array) > most)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT,
                            "edits: %u are more than %" G_GINT64_FORMAT " (edits); send them in several calls",
                            json_array_get_length (array), most);
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      JsonObject *object = json_array_get_object_element (array, i);
      PrismTextEdit edit = { json_object_get_string_member (object, "oldText"),
                             json_object_get_string_member (object, "newText") };
      bytes += (gint64)(strlen (edit.old_text) + strlen (edit.new_text));
      g_array_append_val (edits, edit);
    }
  if (bytes > most_bytes)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT,
                            "edits: %" G_GINT64_FORMAT " bytes are more than %" G_GINT64_FORMAT " (edit-input-bytes)",
                            bytes, most_bytes);
  return TRUE;
}

static gboolean
refuse (const PrismTextEdited *edited, const char *shown, GError **error)
{
  switch (edited->outcome)
    {
    case PRISM_TEXT_EDIT_BINARY:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_TYPE, "%s is not edited: %s; change it with the shell", shown,
                              edited->reason);
    case PRISM_TEXT_EDIT_NO_MATCH:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_CONFLICT,
                              "edits[%u]: oldText is not in %s (0 matches); send it exactly as the file has it, blanks "
                              "included%s%s",
                              edited->edit, shown, edited->near != NULL ? "; lines that look like it:" : "",
                              edited->near != NULL ? edited->near : "");
    case PRISM_TEXT_EDIT_AMBIGUOUS:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_CONFLICT,
                              "edits[%u]: oldText is in %s %s%u times; send more of the lines around it", edited->edit,
                              shown, edited->count >= 1000 ? "at least " : "", edited->count);
    case PRISM_TEXT_EDIT_OVERLAP:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_CONFLICT,
                              "edits[%u] and edits[%u] overlap in %s; send them as one", edited->other, edited->edit,
                              shown);
    case PRISM_TEXT_EDIT_EMPTY:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "edits[%u].oldText: is empty; send what is there",
                              edited->edit);
    default:
      return prism_tool_fail (error, PRISM_TOOL_ERROR_CONFLICT, "the edits change nothing in %s", shown);
    }
}

static GBytes *
read_all (PrismToolRun *run, const char *path, const char *shown, GError **error)
{
  gint64 most = prism_tool_limit (run, PRISM_TOOL_LIMIT_EDIT_FILE_BYTES);
  GError *fault = NULL;
  g_autoptr (GBytes) bytes = prism_tree_read (run->tree, path, 0, most + 1, run->cancellable, &fault);

  if (bytes == NULL)
    {
      prism_tool_take_fault (error, fault);
      return NULL;
    }
  if ((gint64)g_bytes_get_size (bytes) > most)
    {
      prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "%s: more than %" G_GINT64_FORMAT " bytes (edit-file-bytes)",
                       shown, most);
      return NULL;
    }
  return g_steal_pointer (&bytes);
}

static void
answer_edited (PrismToolRun *run, const PrismTextEdited *edited, guint blocks, const char *shown)
{
  g_autofree char *diff = g_utf8_make_valid (edited->diff, -1);

  prism_tool_say (run, "replaced %u block%s in %s%s\n%s", blocks, blocks == 1 ? "" : "s", shown,
                  edited->fuzzy ? " (not exactly as sent: blanks or signs differ)" : "", diff);
  prism_tool_add_string (run, "path", shown);
  prism_tool_add_string (run, "diff", edited->diff);
  prism_tool_add_string (run, "patch", edited->patch);
  prism_tool_add_integer (run, "firstChangedLine", (gint64)edited->first_line);
  if (edited->fuzzy)
    prism_tool_add_boolean (run, "fuzzy", TRUE);
}

static gboolean
edit_file (PrismToolRun *run, const char *path, GArray *edits, GError **error)
{
  g_autofree char *shown = prism_tool_show (run, path);
  g_autoptr (GBytes) bytes = read_all (run, path, shown, error);
  PrismTextEdited edited;
  GError *fault = NULL;
  gboolean done;

  if (bytes == NULL || !prism_tool_check_read (run, path, bytes, error))
    return FALSE;
  prism_text_edit (bytes, (const PrismTextEdit *)(const void *)edits->data, edits->len,
                   prism_tool_get_boolean (run, "fuzzy", FALSE), shown, &edited);
  done = edited.outcome == PRISM_TEXT_EDIT_DONE ? TRUE : refuse (&edited, shown, error);
  if (done && !prism_tree_write (run->tree, path, edited.bytes, 0, run->cancellable, &fault)
      && !prism_tool_settle_write (run, path, edited.bytes, &fault))
    {
      prism_tool_take_fault (error, fault);
      done = FALSE;
    }
  if (done)
    {
      prism_tool_settings_note (run->settings, path, edited.bytes);
      prism_tool_changed (run, path, "edit");
      answer_edited (run, &edited, edits->len, shown);
    }
  prism_text_edited_clear (&edited);
  return done;
}

gboolean
prism_tool_run_edit (PrismToolRun *run, GError **error)
{
  g_autoptr (GArray) edits = g_array_new (FALSE, FALSE, sizeof (PrismTextEdit));
  char *paths[2] = { prism_tool_dup_path (run, "path", error), NULL };
  const PrismToolAsk ask = { .kind = "edit",
                             .operation = "edit",
                             .risk = PRISM_RISK_MEDIUM,
                             .effect = PRISM_EFFECT_LOCAL_MUTATION,
                             .paths = paths };
  gboolean may = paths[0] != NULL && get_edits (run, edits, error) && prism_tool_authorize (run, &ask, error);
  g_autofree char *path = paths[0];

  return may && edit_file (run, path, edits, error);
}
