/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text that a tool answers with comes from files and commands: it is made valid UTF-8
 * here, as everybody who gets it takes it for that. */
#include "prism-tool-result-private.h"

#include "prism-tool-error-private.h"

typedef struct
{
  char *text;    /* or */
  GBytes *bytes; /* of */
  char *type;
} Part;

struct _PrismToolResult
{
  GObject parent_instance;

  GArray *parts;
  JsonNode *facts; /* sealed; or */
  char *metadata;  /* what it is as text, made when it is asked for */
  gboolean failed;
  PrismToolError code;
  char *message;
};

/**
 * PrismToolResult:
 *
 * What a tool answers: text and images, facts about them as JSON, and whether it failed.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismToolResult, prism_tool_result, G_TYPE_OBJECT)

static void
part_clear (gpointer data)
{
  Part *part = data;

  g_free (part->text);
  g_free (part->type);
  g_clear_pointer (&part->bytes, g_bytes_unref);
}

static void
prism_tool_result_finalize (GObject *object)
{
  PrismToolResult *self = PRISM_TOOL_RESULT (object);

  g_array_unref (self->parts);
  g_clear_pointer (&self->facts, json_node_unref);
  g_free (self->metadata);
  g_free (self->message);
  G_OBJECT_CLASS (prism_tool_result_parent_class)->finalize (object);
}

static void
prism_tool_result_class_init (PrismToolResultClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = prism_tool_result_finalize;
}

static void
prism_tool_result_init (PrismToolResult *self)
{
  self->parts = g_array_new (FALSE, FALSE, sizeof (Part));
  g_array_set_clear_func (self->parts, part_clear);
}

/**
 * prism_tool_result_new:
 *
 * Makes an empty result.
 *
 * Returns: (transfer full): a result
 *
 * Since: 1.0
 */
PrismToolResult *
prism_tool_result_new (void)
{
  return g_object_new (PRISM_TYPE_TOOL_RESULT, NULL);
}

/**
 * prism_tool_result_new_text:
 * @text: text
 *
 * Makes a result of one text.
 *
 * Returns: (transfer full): a result
 *
 * Since: 1.0
 */
PrismToolResult *
prism_tool_result_new_text (const char *text)
{
  PrismToolResult *self = prism_tool_result_new ();

  prism_tool_result_add_text (self, text);
  return self;
}

/**
 * prism_tool_result_new_failure:
 * @code: what kind of failure
 * @message: what is wrong and what to send instead
 *
 * Makes a result that failed.
 *
 * Returns: (transfer full): a result
 *
 * Since: 1.0
 */
PrismToolResult *
prism_tool_result_new_failure (PrismToolError code, const char *message)
{
  PrismToolResult *self = prism_tool_result_new ();

  prism_tool_result_set_failure (self, code, message);
  return self;
}

void
prism_tool_result_take_text (PrismToolResult *self, char *text)
{
  Part part = { .text = text };

  g_array_append_val (self->parts, part);
}

/**
 * prism_tool_result_add_text:
 * @self: a result
 * @text: text; what is no UTF-8 in it is replaced by U+FFFD
 *
 * Adds a part.
 *
 * Since: 1.0
 */
void
prism_tool_result_add_text (PrismToolResult *self, const char *text)
{
  g_return_if_fail (PRISM_IS_TOOL_RESULT (self));
  g_return_if_fail (text != NULL);

  prism_tool_result_take_text (self, g_utf8_make_valid (text, -1));
}

/**
 * prism_tool_result_add_image:
 * @self: a result
 * @bytes: an image file's content
 * @mime_type: its type, as `image/png`
 *
 * Adds a part.
 *
 * Since: 1.0
 */
void
prism_tool_result_add_image (PrismToolResult *self, GBytes *bytes, const char *mime_type)
{
  Part part;

  g_return_if_fail (PRISM_IS_TOOL_RESULT (self));
  g_return_if_fail (bytes != NULL && mime_type != NULL);

  part = (Part){ .bytes = g_bytes_ref (bytes), .type = g_strdup (mime_type) };
  g_array_append_val (self->parts, part);
}

void
prism_tool_result_take_metadata (PrismToolResult *self, JsonBuilder *builder)
{
  g_clear_pointer (&self->facts, json_node_unref);
  g_clear_pointer (&self->metadata, g_free);
  self->facts = json_builder_get_root (builder);
  json_node_seal (self->facts);
  g_object_unref (builder);
}

/**
 * prism_tool_result_set_metadata:
 * @self: a result
 * @json: a JSON object
 * @error: return location for an error
 *
 * Sets the facts that a program reads.
 *
 * Returns: whether @json is an object
 *
 * Since: 1.0
 */
gboolean
prism_tool_result_set_metadata (PrismToolResult *self, const char *json, GError **error)
{
  g_autoptr (JsonNode) node = NULL;

  g_return_val_if_fail (PRISM_IS_TOOL_RESULT (self), FALSE);
  g_return_val_if_fail (json != NULL, FALSE);

  node = json_from_string (json, NULL);
  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    {
      g_set_error_literal (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_INVALID, "metadata: no JSON object");
      return FALSE;
    }
  g_clear_pointer (&self->facts, json_node_unref);
  g_free (self->metadata);
  self->metadata = json_to_string (node, FALSE);
  return TRUE;
}

/**
 * prism_tool_result_set_failure:
 * @self: a result
 * @code: what kind of failure
 * @message: what is wrong and what to send instead
 *
 * Makes it one that failed; what was added stays, as a partial answer.
 *
 * Since: 1.0
 */
void
prism_tool_result_set_failure (PrismToolResult *self, PrismToolError code, const char *message)
{
  g_return_if_fail (PRISM_IS_TOOL_RESULT (self));
  g_return_if_fail (message != NULL);

  self->failed = TRUE;
  self->code = code;
  g_free (self->message);
  self->message = g_utf8_make_valid (message, -1);
}

void
prism_tool_result_set_error (PrismToolResult *self, const GError *error)
{
  prism_tool_result_set_failure (
      self, error->domain == PRISM_TOOL_ERROR ? (PrismToolError)error->code : PRISM_TOOL_ERROR_FAILED, error->message);
}

/**
 * prism_tool_result_get_failed:
 * @self: a result
 *
 * Tells whether the tool failed.
 *
 * Returns: whether it failed
 *
 * Since: 1.0
 */
gboolean
prism_tool_result_get_failed (PrismToolResult *self)
{
  g_return_val_if_fail (PRISM_IS_TOOL_RESULT (self), FALSE);
  return self->failed;
}

/**
 * prism_tool_result_get_code:
 * @self: a result that failed
 *
 * Gets the kind of failure.
 *
 * Returns: the kind of failure
 *
 * Since: 1.0
 */
PrismToolError
prism_tool_result_get_code (PrismToolResult *self)
{
  g_return_val_if_fail (PRISM_IS_TOOL_RESULT (self), PRISM_TOOL_ERROR_FAILED);
  return self->code;
}

/**
 * prism_tool_result_get_message:
 * @self: a result
 *
 * Gets what is wrong, and what to send instead.
 *
 * Returns: (transfer none) (nullable): what is wrong; %NULL where it did not fail
 *
 * Since: 1.0
 */
const char *
prism_tool_result_get_message (PrismToolResult *self)
{
  g_return_val_if_fail (PRISM_IS_TOOL_RESULT (self), NULL);
  return self->message;
}

/**
 * prism_tool_result_get_n_parts:
 * @self: a result
 *
 * Counts its parts.
 *
 * Returns: how many parts it has
 *
 * Since: 1.0
 */
guint
prism_tool_result_get_n_parts (PrismToolResult *self)
{
  g_return_val_if_fail (PRISM_IS_TOOL_RESULT (self), 0);
  return self->parts->len;
}

static Part *
get_part (PrismToolResult *self, guint part)
{
  return part < self->parts->len ? &g_array_index (self->parts, Part, part) : NULL;
}

/**
 * prism_tool_result_get_part_text:
 * @self: a result
 * @part: which part, from 0
 *
 * Gets a part that is text.
 *
 * Returns: (transfer none) (nullable): its text
 *
 * Since: 1.0
 */
const char *
prism_tool_result_get_part_text (PrismToolResult *self, guint part)
{
  g_return_val_if_fail (PRISM_IS_TOOL_RESULT (self), NULL);
  return get_part (self, part) != NULL ? get_part (self, part)->text : NULL;
}

/**
 * prism_tool_result_get_part_image:
 * @self: a result
 * @part: which part, from 0
 *
 * Gets a part that is an image.
 *
 * Returns: (transfer none) (nullable): its bytes
 *
 * Since: 1.0
 */
GBytes *
prism_tool_result_get_part_image (PrismToolResult *self, guint part)
{
  g_return_val_if_fail (PRISM_IS_TOOL_RESULT (self), NULL);
  return get_part (self, part) != NULL ? get_part (self, part)->bytes : NULL;
}

/**
 * prism_tool_result_get_part_type:
 * @self: a result
 * @part: which part, from 0
 *
 * Gets what kind of image a part is.
 *
 * Returns: (transfer none) (nullable): a MIME type; %NULL where the part is text
 *
 * Since: 1.0
 */
const char *
prism_tool_result_get_part_type (PrismToolResult *self, guint part)
{
  g_return_val_if_fail (PRISM_IS_TOOL_RESULT (self), NULL);
  return get_part (self, part) != NULL ? get_part (self, part)->type : NULL;
}

/**
 * prism_tool_result_dup_text:
 * @self: a result
 *
 * Gets all its text, a line end between parts.
 *
 * Returns: (transfer full): text, perhaps empty
 *
 * Since: 1.0
 */
char *
prism_tool_result_dup_text (PrismToolResult *self)
{
  g_autoptr (GString) text = g_string_new (NULL);

  g_return_val_if_fail (PRISM_IS_TOOL_RESULT (self), NULL);

  for (guint i = 0; i < self->parts->len; i++)
    {
      const Part *part = get_part (self, i);
      if (part->text == NULL)
        continue;
      if (text->len > 0 && text->str[text->len - 1] != '\n')
        g_string_append_c (text, '\n');
      g_string_append (text, part->text);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/**
 * prism_tool_result_get_metadata:
 * @self: a result
 *
 * Gets the facts that a program reads.
 *
 * Returns: (transfer none): a JSON object
 *
 * Since: 1.0
 */
const char *
prism_tool_result_get_metadata (PrismToolResult *self)
{
  g_return_val_if_fail (PRISM_IS_TOOL_RESULT (self), NULL);

  if (self->facts != NULL && g_atomic_pointer_get (&self->metadata) == NULL)
    {
      char *text = json_to_string (self->facts, FALSE);
      if (!g_atomic_pointer_compare_and_exchange (&self->metadata, NULL, text))
        g_free (text);
    }
  return self->metadata != NULL ? self->metadata : "{}";
}

static void
build_part (JsonBuilder *builder, const Part *part)
{
  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "type");
  json_builder_add_string_value (builder, part->text != NULL ? "text" : "image");
  if (part->text != NULL)
    {
      json_builder_set_member_name (builder, "text");
      json_builder_add_string_value (builder, part->text);
    }
  else
    {
      gsize size;
      const guchar *data = g_bytes_get_data (part->bytes, &size);
      g_autofree char *base64 = g_base64_encode (data, size);
      json_builder_set_member_name (builder, "mime_type");
      json_builder_add_string_value (builder, part->type);
      json_builder_set_member_name (builder, "data");
      json_builder_add_string_value (builder, base64);
    }
  json_builder_end_object (builder);
}

/**
 * prism_tool_result_to_json:
 * @self: a result
 *
 * Puts all of it into one JSON object: `content`, `metadata`, and `error`, which is null or
 * has `code` and `message`.
 *
 * Returns: (transfer full): JSON
 *
 * Since: 1.0
 */
char *
prism_tool_result_to_json (PrismToolResult *self)
{
  g_autoptr (JsonBuilder) builder = json_builder_new_immutable ();
  g_autoptr (JsonNode) root = NULL;

  g_return_val_if_fail (PRISM_IS_TOOL_RESULT (self), NULL);

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "content");
  json_builder_begin_array (builder);
  for (guint i = 0; i < self->parts->len; i++)
    build_part (builder, get_part (self, i));
  json_builder_end_array (builder);
  json_builder_set_member_name (builder, "metadata");
  json_builder_add_value (builder, json_from_string (prism_tool_result_get_metadata (self), NULL));
  json_builder_set_member_name (builder, "error");
  if (self->failed)
    {
      json_builder_begin_object (builder);
      json_builder_set_member_name (builder, "code");
      json_builder_add_string_value (builder, prism_tool_error_nick (self->code));
      json_builder_set_member_name (builder, "message");
      json_builder_add_string_value (builder, self->message);
      json_builder_end_object (builder);
    }
  else
    json_builder_add_null_value (builder);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);
  return json_to_string (root, FALSE);
}
