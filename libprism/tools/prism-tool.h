/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-action.h"
#include "prism-operation.h"
#include "prism-tool-result.h"

G_BEGIN_DECLS

/* Who calls: run-id, session-id, call-id, all of them optional. Emits `progress` while a
 * call is under way. */
#define PRISM_TYPE_TOOL_CONTEXT (prism_tool_context_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismToolContext, prism_tool_context, PRISM, TOOL_CONTEXT, GObject)

PRISM_AVAILABLE_IN_1_0
PrismToolContext *prism_tool_context_new (const char *run_id, const char *session_id, const char *call_id);
PRISM_AVAILABLE_IN_1_0
const char *prism_tool_context_get_run_id (PrismToolContext *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_tool_context_get_session_id (PrismToolContext *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_tool_context_get_call_id (PrismToolContext *self);

/* call: do it. */
#define PRISM_TYPE_TOOL_OPERATION (prism_tool_operation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismToolOperation, prism_tool_operation, PRISM, TOOL_OPERATION, PrismOperation)

PRISM_AVAILABLE_IN_1_0
const char *prism_tool_operation_get_arguments (PrismToolOperation *self);
PRISM_AVAILABLE_IN_1_0
PrismToolContext *prism_tool_operation_get_context (PrismToolOperation *self);
/* Tells who waits how far it is; any thread. */
PRISM_AVAILABLE_IN_1_0
void prism_tool_operation_report (PrismToolOperation *self, const char *message);
PRISM_AVAILABLE_IN_1_0
void prism_tool_operation_complete (PrismToolOperation *self, PrismToolResult *result);

#define PRISM_TYPE_TOOL (prism_tool_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_INTERFACE (PrismTool, prism_tool, PRISM, TOOL, GObject)

/**
 * PrismToolInterface:
 * @call: does what the operation's arguments say (a JSON object, which was parsed already)
 *   and completes with a result; what is wrong with the call is a result that failed, and
 *   the operation itself fails only where no answer can be given
 *
 * What an implementation gives. Properties to override: name, description, input-schema,
 * effect, exclusive.
 *
 * Since: 1.0
 */
struct _PrismToolInterface
{
  GTypeInterface parent_iface;

  void (*call) (PrismTool *self, PrismToolOperation *operation);

  /*< private >*/
  gpointer padding[8];
};

PRISM_AVAILABLE_IN_1_0
char *prism_tool_dup_name (PrismTool *self);
PRISM_AVAILABLE_IN_1_0
char *prism_tool_dup_description (PrismTool *self);
/* JSON Schema of the arguments, an object. */
PRISM_AVAILABLE_IN_1_0
char *prism_tool_dup_input_schema (PrismTool *self);
PRISM_AVAILABLE_IN_1_0
PrismEffect prism_tool_get_effect (PrismTool *self);
/* Nothing else of the turn runs beside it. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_tool_get_exclusive (PrismTool *self);

PRISM_AVAILABLE_IN_1_0
PrismToolResult *prism_tool_call (
    PrismTool *self, const char *arguments, PrismToolContext *context, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_tool_call_async (PrismTool *self,
                            const char *arguments,
                            PrismToolContext *context,
                            GCancellable *cancellable,
                            GAsyncReadyCallback callback,
                            gpointer user_data);
PRISM_AVAILABLE_IN_1_0
PrismToolResult *prism_tool_call_finish (PrismTool *self, GAsyncResult *result, GError **error);

G_END_DECLS
