/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A call's operation. TRUST: the arguments are what a model wrote; they are read as JSON,
 * strictly, before an implementation sees them. */
#include "prism-tool-operation-private.h"

#include <string.h>

struct _PrismToolOperation
{
  PrismOperation parent_instance;

  char *arguments;
  JsonNode *node;
  PrismToolContext *context;
};

/**
 * PrismToolOperation:
 *
 * Asks a tool to do something.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismToolOperation, prism_tool_operation, PRISM_TYPE_OPERATION)

static void
prism_tool_operation_finalize (GObject *object)
{
  PrismToolOperation *self = PRISM_TOOL_OPERATION (object);

  g_free (self->arguments);
  g_clear_pointer (&self->node, json_node_unref);
  g_clear_object (&self->context);
  G_OBJECT_CLASS (prism_tool_operation_parent_class)->finalize (object);
}

static void
prism_tool_operation_class_init (PrismToolOperationClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = prism_tool_operation_finalize;
}

static void
prism_tool_operation_init (PrismToolOperation *self)
{
}

PrismOperation *
prism_tool_operation_new (const char *arguments, JsonNode *node, PrismToolContext *context)
{
  PrismToolOperation *self = g_object_new (PRISM_TYPE_TOOL_OPERATION, NULL);

  self->arguments = g_strdup (arguments);
  self->node = json_node_ref (node);
  g_set_object (&self->context, context);
  return PRISM_OPERATION (self);
}

JsonObject *
prism_tool_operation_get_object (PrismToolOperation *self)
{
  return json_node_get_object (self->node);
}

/**
 * prism_tool_operation_get_arguments:
 * @self: an operation
 *
 * Gets the arguments.
 *
 * Returns: (transfer none): a JSON object
 *
 * Since: 1.0
 */
const char *
prism_tool_operation_get_arguments (PrismToolOperation *self)
{
  g_return_val_if_fail (PRISM_IS_TOOL_OPERATION (self), NULL);
  return self->arguments;
}

/**
 * prism_tool_operation_get_context:
 * @self: an operation
 *
 * Gets who calls.
 *
 * Returns: (transfer none) (nullable): who calls
 *
 * Since: 1.0
 */
PrismToolContext *
prism_tool_operation_get_context (PrismToolOperation *self)
{
  g_return_val_if_fail (PRISM_IS_TOOL_OPERATION (self), NULL);
  return self->context;
}

typedef struct
{
  PrismToolContext *context;
  char *message;
} Report;

static void
report_free (gpointer data)
{
  Report *report = data;

  g_object_unref (report->context);
  g_free (report->message);
  g_free (report);
}

static void
report_emit (gpointer data)
{
  Report *report = data;

  prism_tool_context_emit_progress (report->context, report->message);
}

/**
 * prism_tool_operation_report:
 * @self: an operation that was not answered
 * @message: a line
 *
 * Tells who waits how far it is. From any thread.
 *
 * Since: 1.0
 */
void
prism_tool_operation_report (PrismToolOperation *self, const char *message)
{
  Report *report;

  g_return_if_fail (PRISM_IS_TOOL_OPERATION (self));
  g_return_if_fail (message != NULL);

  if (self->context == NULL)
    return;
  report = g_new (Report, 1);
  *report = (Report){ g_object_ref (self->context), g_utf8_make_valid (message, -1) };
  prism_operation_emit (PRISM_OPERATION (self), report_emit, report, report_free, NULL, NULL);
}

/**
 * prism_tool_operation_complete:
 * @self: an operation that was not answered
 * @result: a result, failed or not
 *
 * Answers.
 *
 * Since: 1.0
 */
void
prism_tool_operation_complete (PrismToolOperation *self, PrismToolResult *result)
{
  g_return_if_fail (PRISM_IS_TOOL_OPERATION (self));
  g_return_if_fail (PRISM_IS_TOOL_RESULT (result));

  prism_operation_answer (PRISM_OPERATION (self), g_object_ref (result), g_object_unref);
}
