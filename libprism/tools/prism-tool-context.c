/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-tool-private.h"

struct _PrismToolContext
{
  GObject parent_instance;

  char *run_id, *session_id, *call_id;
};

/**
 * PrismToolContext:
 *
 * Who calls a tool: what approvals and their memory, events and progress belong to.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismToolContext, prism_tool_context, G_TYPE_OBJECT)

static guint progress_signal;

static void
prism_tool_context_finalize (GObject *object)
{
  PrismToolContext *self = PRISM_TOOL_CONTEXT (object);

  g_free (self->run_id);
  g_free (self->session_id);
  g_free (self->call_id);
  G_OBJECT_CLASS (prism_tool_context_parent_class)->finalize (object);
}

static void
prism_tool_context_class_init (PrismToolContextClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = prism_tool_context_finalize;
  /**
   * PrismToolContext::progress:
   * @self: the context
   * @message: how far the call is
   *
   * While a call is under way: in the context that was current when it began, or in the
   * calling thread if it is synchronous.
   *
   * Since: 1.0
   */
  progress_signal = g_signal_new ("progress", PRISM_TYPE_TOOL_CONTEXT, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                  G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
prism_tool_context_init (PrismToolContext *self)
{
}

/**
 * prism_tool_context_new:
 * @run_id: (nullable): names the run that the call is part of
 * @session_id: (nullable): names the session
 * @call_id: (nullable): names the call
 *
 * Says who calls.
 *
 * Returns: (transfer full): a context
 *
 * Since: 1.0
 */
PrismToolContext *
prism_tool_context_new (const char *run_id, const char *session_id, const char *call_id)
{
  PrismToolContext *self = g_object_new (PRISM_TYPE_TOOL_CONTEXT, NULL);

  self->run_id = g_strdup (run_id);
  self->session_id = g_strdup (session_id);
  self->call_id = g_strdup (call_id);
  return self;
}

/**
 * prism_tool_context_get_run_id:
 * @self: a context
 *
 * Gets the run's name.
 *
 * Returns: (transfer none) (nullable): the run's name
 *
 * Since: 1.0
 */
const char *
prism_tool_context_get_run_id (PrismToolContext *self)
{
  g_return_val_if_fail (PRISM_IS_TOOL_CONTEXT (self), NULL);
  return self->run_id;
}

/**
 * prism_tool_context_get_session_id:
 * @self: a context
 *
 * Gets the session's name.
 *
 * Returns: (transfer none) (nullable): the session's name
 *
 * Since: 1.0
 */
const char *
prism_tool_context_get_session_id (PrismToolContext *self)
{
  g_return_val_if_fail (PRISM_IS_TOOL_CONTEXT (self), NULL);
  return self->session_id;
}

/**
 * prism_tool_context_get_call_id:
 * @self: a context
 *
 * Gets the call's name.
 *
 * Returns: (transfer none) (nullable): the call's name
 *
 * Since: 1.0
 */
const char *
prism_tool_context_get_call_id (PrismToolContext *self)
{
  g_return_val_if_fail (PRISM_IS_TOOL_CONTEXT (self), NULL);
  return self->call_id;
}

void
prism_tool_context_emit_progress (PrismToolContext *self, const char *message)
{
  g_signal_emit (self, progress_signal, 0, message);
}
