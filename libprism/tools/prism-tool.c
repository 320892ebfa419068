/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-tool.h"

#include <string.h>

#include "prism-enum-types.h"
#include "prism-home-private.h"
#include "prism-json-private.h"
#include "prism-tool-error-private.h"
#include "prism-tool-operation-private.h"

/* What the largest write may be, as JSON may escape it. */
#define MAX_ARGUMENTS (200 * 1024 * 1024)

/**
 * PrismTool:
 *
 * Something that an agent can ask for by name, with arguments in JSON.
 *
 * Since: 1.0
 */
G_DEFINE_INTERFACE (PrismTool, prism_tool, G_TYPE_OBJECT)

static void
prism_tool_default_init (PrismToolInterface *iface)
{
  const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  /**
   * PrismTool:name:
   *
   * What it is called by.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface, g_param_spec_string ("name", NULL, NULL, NULL, flags));
  /**
   * PrismTool:description:
   *
   * What it does, for a model to read.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface, g_param_spec_string ("description", NULL, NULL, NULL, flags));
  /**
   * PrismTool:input-schema:
   *
   * The JSON Schema of its arguments.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface, g_param_spec_string ("input-schema", NULL, NULL, NULL, flags));
  /**
   * PrismTool:effect:
   *
   * What it may change.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (
      iface, g_param_spec_enum ("effect", NULL, NULL, PRISM_TYPE_EFFECT, PRISM_EFFECT_EXTERNAL_MUTATION, flags));
  /**
   * PrismTool:exclusive:
   *
   * Whether nothing else of a turn runs beside it.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface, g_param_spec_boolean ("exclusive", NULL, NULL, FALSE, flags));
  prism_home_watch_interface (PRISM_TYPE_TOOL, sizeof (PrismToolInterface));
}

static char *
dup_string (PrismTool *self, const char *name)
{
  g_auto (GValue) value = G_VALUE_INIT;

  g_value_init (&value, G_TYPE_STRING);
  prism_home_get (self, name, &value);
  return g_value_dup_string (&value);
}

/**
 * prism_tool_dup_name:
 * @self: a tool
 *
 * Gets what it is called by.
 *
 * Returns: (transfer full) (nullable): what it is called by
 *
 * Since: 1.0
 */
char *
prism_tool_dup_name (PrismTool *self)
{
  g_return_val_if_fail (PRISM_IS_TOOL (self), NULL);
  return dup_string (self, "name");
}

/**
 * prism_tool_dup_description:
 * @self: a tool
 *
 * Gets what it does.
 *
 * Returns: (transfer full) (nullable): what it does
 *
 * Since: 1.0
 */
char *
prism_tool_dup_description (PrismTool *self)
{
  g_return_val_if_fail (PRISM_IS_TOOL (self), NULL);
  return dup_string (self, "description");
}

/**
 * prism_tool_dup_input_schema:
 * @self: a tool
 *
 * Gets the JSON Schema of its arguments.
 *
 * Returns: (transfer full) (nullable): a JSON object
 *
 * Since: 1.0
 */
char *
prism_tool_dup_input_schema (PrismTool *self)
{
  g_return_val_if_fail (PRISM_IS_TOOL (self), NULL);
  return dup_string (self, "input-schema");
}

/**
 * prism_tool_get_effect:
 * @self: a tool
 *
 * Gets what it may change.
 *
 * Returns: what it may change
 *
 * Since: 1.0
 */
PrismEffect
prism_tool_get_effect (PrismTool *self)
{
  g_auto (GValue) value = G_VALUE_INIT;

  g_return_val_if_fail (PRISM_IS_TOOL (self), PRISM_EFFECT_EXTERNAL_MUTATION);

  g_value_init (&value, PRISM_TYPE_EFFECT);
  g_value_set_enum (&value, PRISM_EFFECT_EXTERNAL_MUTATION);
  prism_home_get (self, "effect", &value);
  return (PrismEffect)g_value_get_enum (&value);
}

/**
 * prism_tool_get_exclusive:
 * @self: a tool
 *
 * Tells whether nothing else of a turn runs beside it.
 *
 * Returns: whether it wants to be alone
 *
 * Since: 1.0
 */
gboolean
prism_tool_get_exclusive (PrismTool *self)
{
  g_auto (GValue) value = G_VALUE_INIT;

  g_return_val_if_fail (PRISM_IS_TOOL (self), TRUE);

  g_value_init (&value, G_TYPE_BOOLEAN);
  prism_home_get (self, "exclusive", &value);
  return g_value_get_boolean (&value);
}

/* --- call ------------------------------------------------------------------------ */

static char *
dup_origin (gpointer self)
{
  return prism_tool_dup_name (self);
}

static const PrismMethod call_method = PRISM_METHOD (
    prism_tool_get_type, PrismToolInterface, call, PRISM_METHOD_NONE, &prism_tool_operation_errors, dup_origin, NULL);

/* An object, or NULL and why it is none. */
static JsonNode *
parse_arguments (const char *arguments, GError **error)
{
  const PrismJsonFaults faults = { PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_INVALID, "arguments" };
  g_autoptr (JsonNode) node = NULL;

  node = prism_json_parse_up_to (arguments, strlen (arguments), MAX_ARGUMENTS, &faults, error);
  if (node != NULL && !JSON_NODE_HOLDS_OBJECT (node))
    {
      g_set_error_literal (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_INVALID,
                           "arguments: send one JSON object, as {\"path\": \"README.md\"}");
      return NULL;
    }
  return g_steal_pointer (&node);
}

/**
 * prism_tool_call:
 * @self: a tool
 * @arguments: a JSON object that fits the tool's schema
 * @context: (nullable): who calls
 * @cancellable: (nullable): a cancellable; it ends what the tool does
 * @error: return location for an error
 *
 * Calls a tool, and waits until it is done. What is wrong with the call, and what the tool
 * could not do, is a result that failed; an error is set only where there is no answer, as
 * after a cancellation.
 *
 * Returns: (transfer full): what it answered
 *
 * Since: 1.0
 */
PrismToolResult *
prism_tool_call (
    PrismTool *self, const char *arguments, PrismToolContext *context, GCancellable *cancellable, GError **error)
{
  g_autoptr (JsonNode) node = NULL;
  g_autoptr (GError) wrong = NULL;

  g_return_val_if_fail (PRISM_IS_TOOL (self), NULL);
  g_return_val_if_fail (arguments != NULL, NULL);
  g_return_val_if_fail (context == NULL || PRISM_IS_TOOL_CONTEXT (context), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  node = parse_arguments (arguments, &wrong);
  if (node == NULL)
    return prism_tool_result_new_failure (PRISM_TOOL_ERROR_INVALID, wrong->message);
  return prism_operation_run (prism_tool_operation_new (arguments, node, context), self, &call_method,
                              PRISM_OPERATION_NO_DEADLINE, cancellable, error);
}

/* Tagged as the others are. */
static void
answer_wrong (PrismTool *self, const GError *wrong, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, callback, user_data);

  g_task_set_source_tag (task, (gpointer)&call_method);
  g_task_return_pointer (task, prism_tool_result_new_failure (PRISM_TOOL_ERROR_INVALID, wrong->message),
                         g_object_unref);
}

/**
 * prism_tool_call_async:
 * @self: a tool
 * @arguments: a JSON object that fits the tool's schema
 * @context: (nullable): who calls
 * @cancellable: (nullable): a cancellable; it ends what the tool does
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Tool.call], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_tool_call_async (PrismTool *self,
                       const char *arguments,
                       PrismToolContext *context,
                       GCancellable *cancellable,
                       GAsyncReadyCallback callback,
                       gpointer user_data)
{
  g_autoptr (JsonNode) node = NULL;
  g_autoptr (GError) wrong = NULL;

  g_return_if_fail (PRISM_IS_TOOL (self));
  g_return_if_fail (arguments != NULL);
  g_return_if_fail (context == NULL || PRISM_IS_TOOL_CONTEXT (context));

  node = parse_arguments (arguments, &wrong);
  if (node == NULL)
    answer_wrong (self, wrong, callback, user_data);
  else
    prism_operation_start (prism_tool_operation_new (arguments, node, context), NULL, self, &call_method,
                           PRISM_OPERATION_NO_DEADLINE, cancellable, callback, user_data);
}

/**
 * prism_tool_call_finish:
 * @self: a tool
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Gets the answer.
 *
 * Returns: (transfer full): what it answered
 *
 * Since: 1.0
 */
PrismToolResult *
prism_tool_call_finish (PrismTool *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &call_method, error);
}
