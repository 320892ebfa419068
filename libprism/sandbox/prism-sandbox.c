/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-sandbox-private.h"

#include "prism-enum-types.h"
#include "prism-error.h"
#include "prism-home-private.h"
#include "prism-operations-private.h"
#include "prism-sandbox-error-private.h"

/* Longer than any cleanup-deadline-ms: the backend answers first, and better. */
#define CLOSE_DEADLINE_MS 150000
#define MAX_GRACE_MS      30000

/**
 * PrismSandbox:
 *
 * A place where commands run and files are, and from which they do not get out.
 *
 * A method that is not implemented answers NOT_SUPPORTED. Paths are inside the
 * sandbox; a relative one is taken from the workspace. Every operation but
 * `exec` has a deadline of 30 s unless its description says otherwise.
 *
 * Since: 1.0
 */
G_DEFINE_INTERFACE (PrismSandbox, prism_sandbox, G_TYPE_OBJECT)

static guint tree_progress_signal;

static void
prism_sandbox_default_init (PrismSandboxInterface *iface)
{
  const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  /**
   * PrismSandbox:id:
   *
   * Names this sandbox among all of its backend's.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface, g_param_spec_string ("id", NULL, NULL, NULL, flags));
  /**
   * PrismSandbox:backend-name:
   *
   * What made it.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface, g_param_spec_string ("backend-name", NULL, NULL, NULL, flags));
  /**
   * PrismSandbox:status:
   *
   * Its state.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (
      iface, g_param_spec_enum ("status", NULL, NULL, PRISM_TYPE_SANDBOX_STATUS, PRISM_SANDBOX_STATUS_RUNNING, flags));
  /**
   * PrismSandbox:workspace:
   *
   * Where the workspace is inside.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface, g_param_spec_string ("workspace", NULL, NULL, NULL, flags));
  /**
   * PrismSandbox:capabilities:
   *
   * What it contains, computed from what was applied.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface,
                                       g_param_spec_boxed ("capabilities", NULL, NULL, PRISM_TYPE_CAPABILITIES, flags));
  /**
   * PrismSandbox:reference:
   *
   * What [method@Backend.connect_sandbox] takes.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface, g_param_spec_string ("reference", NULL, NULL, NULL, flags));

  /**
   * PrismSandbox::tree-progress:
   * @self: the sandbox
   * @entries: entries that are done
   * @bytes: bytes that are done
   * @total_bytes: bytes in all; 0 = not known
   *
   * While a tree goes in or out: in the context that was current when that call
   * began, or in the calling thread if it is synchronous.
   *
   * Since: 1.0
   */
  tree_progress_signal = g_signal_new ("tree-progress", PRISM_TYPE_SANDBOX, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                       G_TYPE_NONE, 3, G_TYPE_UINT64, G_TYPE_UINT64, G_TYPE_UINT64);
  prism_home_watch_interface (PRISM_TYPE_SANDBOX, sizeof (PrismSandboxInterface));
}

void
prism_sandbox_emit_tree_progress (PrismSandbox *self, guint64 entries, guint64 bytes, guint64 total_bytes)
{
  g_signal_emit (self, tree_progress_signal, 0, entries, bytes, total_bytes);
}

static char *
dup_string (PrismSandbox *self, const char *name)
{
  char *value = NULL;

  g_object_get (self, name, &value, NULL);
  return value;
}

/**
 * prism_sandbox_dup_id:
 * @self: a sandbox
 *
 * Returns: (transfer full): names it among all of its backend's
 *
 * Since: 1.0
 */
char *
prism_sandbox_dup_id (PrismSandbox *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  return dup_string (self, "id");
}

/**
 * prism_sandbox_dup_backend_name:
 * @self: a sandbox
 *
 * Returns: (transfer full): what made it
 *
 * Since: 1.0
 */
char *
prism_sandbox_dup_backend_name (PrismSandbox *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  return dup_string (self, "backend-name");
}

/**
 * prism_sandbox_get_status:
 * @self: a sandbox
 *
 * Returns: its state
 *
 * Since: 1.0
 */
PrismSandboxStatus
prism_sandbox_get_status (PrismSandbox *self)
{
  PrismSandboxStatus status = PRISM_SANDBOX_STATUS_FAILED;

  g_return_val_if_fail (PRISM_IS_SANDBOX (self), PRISM_SANDBOX_STATUS_FAILED);

  g_object_get (self, "status", &status, NULL);
  return status;
}

/**
 * prism_sandbox_dup_workspace:
 * @self: a sandbox
 *
 * Returns: (transfer full) (type filename): where the workspace is inside
 *
 * Since: 1.0
 */
char *
prism_sandbox_dup_workspace (PrismSandbox *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  return dup_string (self, "workspace");
}

/**
 * prism_sandbox_dup_capabilities:
 * @self: a sandbox
 *
 * Returns: (transfer full): what it contains
 *
 * Since: 1.0
 */
PrismCapabilities *
prism_sandbox_dup_capabilities (PrismSandbox *self)
{
  PrismCapabilities *capabilities = NULL;

  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);

  g_object_get (self, "capabilities", &capabilities, NULL);
  /* One that says nothing has nothing. */
  return capabilities != NULL ? capabilities : prism_capabilities_new (PRISM_CONTROLS_NONE, NULL);
}

/**
 * prism_sandbox_dup_reference:
 * @self: a sandbox
 *
 * Returns: (transfer full) (nullable): what [method@Backend.connect_sandbox] takes
 *
 * Since: 1.0
 */
char *
prism_sandbox_dup_reference (PrismSandbox *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  return dup_string (self, "reference");
}

char *
sandbox_dup_origin (gpointer self)
{
  return prism_sandbox_dup_backend_name (self);
}

/* --- pause ---------------------------------------------------------------------- */

static const PrismMethod pause_method = {
  .name = "pause",
  .iface = prism_sandbox_get_type,
  .vfunc = G_STRUCT_OFFSET (PrismSandboxInterface, pause),
  .flags = PRISM_METHOD_NONE,
  .errors = &prism_sandbox_operation_errors,
  .dup_origin = sandbox_dup_origin,
};

/**
 * prism_sandbox_pause:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Freezes every process inside; running becomes stopped.
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_pause (PrismSandbox *self, GCancellable *cancellable, GError **error)
{
  PrismOperation *operation;
  gpointer value;

  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  operation = prism_control_operation_new (NULL);
  value = prism_operation_run (operation, self, &pause_method, PRISM_OPERATION_DEADLINE_MS, cancellable, error);
  return value != NULL;
}

/**
 * prism_sandbox_pause_async:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.pause], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_pause_async (PrismSandbox *self,
                           GCancellable *cancellable,
                           GAsyncReadyCallback callback,
                           gpointer user_data)
{
  PrismOperation *operation;

  g_return_if_fail (PRISM_IS_SANDBOX (self));

  operation = prism_control_operation_new (NULL);
  prism_operation_start (operation, self, &pause_method, PRISM_OPERATION_DEADLINE_MS, cancellable,
                         prism_sandbox_pause_async, callback, user_data);
}

/**
 * prism_sandbox_pause_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_pause_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_finish (self, result, prism_sandbox_pause_async, error) != NULL;
}

/* --- resume --------------------------------------------------------------------- */

static const PrismMethod resume_method = {
  .name = "resume",
  .iface = prism_sandbox_get_type,
  .vfunc = G_STRUCT_OFFSET (PrismSandboxInterface, resume),
  .flags = PRISM_METHOD_NONE,
  .errors = &prism_sandbox_operation_errors,
  .dup_origin = sandbox_dup_origin,
};

/**
 * prism_sandbox_resume:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Thaws what was paused.
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_resume (PrismSandbox *self, GCancellable *cancellable, GError **error)
{
  PrismOperation *operation;
  gpointer value;

  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  operation = prism_control_operation_new (NULL);
  value = prism_operation_run (operation, self, &resume_method, PRISM_OPERATION_DEADLINE_MS, cancellable, error);
  return value != NULL;
}

/**
 * prism_sandbox_resume_async:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.resume], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_resume_async (PrismSandbox *self,
                            GCancellable *cancellable,
                            GAsyncReadyCallback callback,
                            gpointer user_data)
{
  PrismOperation *operation;

  g_return_if_fail (PRISM_IS_SANDBOX (self));

  operation = prism_control_operation_new (NULL);
  prism_operation_start (operation, self, &resume_method, PRISM_OPERATION_DEADLINE_MS, cancellable,
                         prism_sandbox_resume_async, callback, user_data);
}

/**
 * prism_sandbox_resume_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_resume_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_finish (self, result, prism_sandbox_resume_async, error) != NULL;
}

/* --- stop ----------------------------------------------------------------------- */

static const PrismMethod stop_method = {
  .name = "stop",
  .iface = prism_sandbox_get_type,
  .vfunc = G_STRUCT_OFFSET (PrismSandboxInterface, stop),
  .flags = PRISM_METHOD_KEEPS_WORKING,
  .errors = &prism_sandbox_operation_errors,
  .dup_origin = sandbox_dup_origin,
};

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_stop (PrismSandbox *self, gint64 grace_ms, GError **error)
{
  if (grace_ms < -1 || grace_ms > MAX_GRACE_MS)
    {
      g_set_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE,
                   "grace of %" G_GINT64_FORMAT " ms (allowed: 0 to %d)", grace_ms, MAX_GRACE_MS);
      return NULL;
    }
  return prism_control_operation_new (&(PrismControlRequest){ .grace_ms = grace_ms });
}

/**
 * prism_sandbox_stop:
 * @self: a sandbox
 * @grace_ms: time between SIGTERM and SIGKILL, ms; -1 = the sandbox's `stop-grace-ms`
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Ends every process inside, gently first; running becomes stopped. Nothing
 * happens to one that is stopped or removed.
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_stop (PrismSandbox *self, gint64 grace_ms, GCancellable *cancellable, GError **error)
{
  PrismOperation *operation;
  gpointer value;

  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  operation = new_stop (self, grace_ms, error);
  if (operation == NULL)
    return FALSE;
  value = prism_operation_run (operation, self, &stop_method, MAX_GRACE_MS + PRISM_OPERATION_DEADLINE_MS, cancellable,
                               error);
  return value != NULL;
}

/**
 * prism_sandbox_stop_async:
 * @self: a sandbox
 * @grace_ms: time between SIGTERM and SIGKILL, ms; -1 = the sandbox's `stop-grace-ms`
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.stop], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_stop_async (
    PrismSandbox *self, gint64 grace_ms, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_SANDBOX (self));

  operation = new_stop (self, grace_ms, &error);
  if (operation == NULL)
    {
      g_task_report_error (self, callback, user_data, prism_sandbox_stop_async, error);
      return;
    }
  prism_operation_start (operation, self, &stop_method, MAX_GRACE_MS + PRISM_OPERATION_DEADLINE_MS, cancellable,
                         prism_sandbox_stop_async, callback, user_data);
}

/**
 * prism_sandbox_stop_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_stop_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_finish (self, result, prism_sandbox_stop_async, error) != NULL;
}

/* --- kill ----------------------------------------------------------------------- */

static const PrismMethod kill_method = {
  .name = "kill",
  .iface = prism_sandbox_get_type,
  .vfunc = G_STRUCT_OFFSET (PrismSandboxInterface, kill),
  .flags = PRISM_METHOD_KEEPS_WORKING,
  .errors = &prism_sandbox_operation_errors,
  .dup_origin = sandbox_dup_origin,
};

/**
 * prism_sandbox_kill:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Ends every process inside at once; running becomes stopped. Nothing happens
 * to one that is removed.
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_kill (PrismSandbox *self, GCancellable *cancellable, GError **error)
{
  PrismOperation *operation;
  gpointer value;

  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  operation = prism_control_operation_new (NULL);
  value = prism_operation_run (operation, self, &kill_method, PRISM_OPERATION_DEADLINE_MS, cancellable, error);
  return value != NULL;
}

/**
 * prism_sandbox_kill_async:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.kill], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_kill_async (PrismSandbox *self,
                          GCancellable *cancellable,
                          GAsyncReadyCallback callback,
                          gpointer user_data)
{
  PrismOperation *operation;

  g_return_if_fail (PRISM_IS_SANDBOX (self));

  operation = prism_control_operation_new (NULL);
  prism_operation_start (operation, self, &kill_method, PRISM_OPERATION_DEADLINE_MS, cancellable,
                         prism_sandbox_kill_async, callback, user_data);
}

/**
 * prism_sandbox_kill_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Returns: whether it was done
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_kill_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_finish (self, result, prism_sandbox_kill_async, error) != NULL;
}

/* --- close ---------------------------------------------------------------------- */

static const PrismMethod close_method = {
  .name = "close",
  .iface = prism_sandbox_get_type,
  .vfunc = G_STRUCT_OFFSET (PrismSandboxInterface, close),
  .flags = PRISM_METHOD_KEEPS_WORKING | PRISM_METHOD_CANCEL_ENDS_WAIT,
  .errors = &prism_sandbox_operation_errors,
  .dup_origin = sandbox_dup_origin,
};

/**
 * prism_sandbox_close:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Ends the sandbox and removes all of it: no process, mount, file or socket
 * stays. May be called any number of times. Cancelling ends the wait, not the
 * work. Bounded by the limit `cleanup-deadline-ms`.
 *
 * Returns: whether nothing is left
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_close (PrismSandbox *self, GCancellable *cancellable, GError **error)
{
  PrismOperation *operation;
  gpointer value;

  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  operation = prism_control_operation_new (NULL);
  value = prism_operation_run (operation, self, &close_method, CLOSE_DEADLINE_MS, cancellable, error);
  return value != NULL;
}

/**
 * prism_sandbox_close_async:
 * @self: a sandbox
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Sandbox.close], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_sandbox_close_async (PrismSandbox *self,
                           GCancellable *cancellable,
                           GAsyncReadyCallback callback,
                           gpointer user_data)
{
  PrismOperation *operation;

  g_return_if_fail (PRISM_IS_SANDBOX (self));

  operation = prism_control_operation_new (NULL);
  prism_operation_start (operation, self, &close_method, CLOSE_DEADLINE_MS, cancellable, prism_sandbox_close_async,
                         callback, user_data);
}

/**
 * prism_sandbox_close_finish:
 * @self: a sandbox
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Returns: whether nothing is left
 *
 * Since: 1.0
 */
gboolean
prism_sandbox_close_finish (PrismSandbox *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return prism_operation_finish (self, result, prism_sandbox_close_async, error) != NULL;
}
