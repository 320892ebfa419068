/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-backend.h"

#include "prism-home-private.h"
#include "prism-operations-private.h"
#include "prism-sandbox-error-private.h"
#include "prism-sandbox-spec-private.h"

/**
 * PrismBackend:
 *
 * What makes sandboxes. Its options are the implementing type's own GObject
 * properties; [func@param_spec_get_bounds] tells their ranges.
 *
 * A method that is not implemented answers NOT_SUPPORTED.
 *
 * Since: 1.0
 */
G_DEFINE_INTERFACE (PrismBackend, prism_backend, G_TYPE_OBJECT)

/* A slow machine may take its whole startup-timeout-ms; then the backend still
 * has to clean up and say why. */
#define CLEAN_UP_MS 30000

static guint workspace_progress_signal;

static void
prism_backend_default_init (PrismBackendInterface *iface)
{
  /**
   * PrismBackend::workspace-progress:
   * @self: the backend
   * @entries: entries that are done
   * @bytes: bytes that are done
   * @total_bytes: bytes in all; 0 = not known
   *
   * While a sandbox is made and its workspace is copied to another machine: in the
   * context that was current when that call began, or in the calling thread if it is
   * synchronous.
   *
   * Since: 1.0
   */
  workspace_progress_signal = g_signal_new ("workspace-progress", PRISM_TYPE_BACKEND, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                            NULL, G_TYPE_NONE, 3, G_TYPE_UINT64, G_TYPE_UINT64, G_TYPE_UINT64);
  prism_home_watch_interface (PRISM_TYPE_BACKEND, sizeof (PrismBackendInterface));
}

void
prism_backend_emit_workspace_progress (gpointer backend, guint64 entries, guint64 bytes, guint64 total_bytes)
{
  g_signal_emit (backend, workspace_progress_signal, 0, entries, bytes, total_bytes);
}

static void
ask_name (gpointer self, const char *what, GValue *value)
{
  g_value_set_string (value, PRISM_BACKEND_GET_IFACE (self)->get_name (self));
}

/* A script's, from another thread than its own; as nobody owns what a name is, it is kept. */
static const char *
ask_name_elsewhere (PrismBackend *self)
{
  g_auto (GValue) value = G_VALUE_INIT;
  const char *name;

  g_value_init (&value, G_TYPE_STRING);
  prism_home_ask (self, ask_name, "name", &value);
  name = g_value_get_string (&value);
  return name != NULL ? g_intern_string (name) : G_OBJECT_TYPE_NAME (self);
}

/**
 * prism_backend_get_name:
 * @self: a backend
 *
 * Gets its name, as the registry knows it; the messages of all its errors start with it.
 *
 * Returns: (transfer none): its name, as the registry knows it; the messages of
 *   all its errors start with it
 *
 * Since: 1.0
 */
const char *
prism_backend_get_name (PrismBackend *self)
{
  PrismBackendInterface *iface;
  const PrismHome *home;

  g_return_val_if_fail (PRISM_IS_BACKEND (self), NULL);

  iface = PRISM_BACKEND_GET_IFACE (self);
  home = prism_home_of (self);
  if (iface->get_name == NULL)
    return G_OBJECT_TYPE_NAME (self);
  return home == NULL || home->thread == g_thread_self () ? iface->get_name (self) : ask_name_elsewhere (self);
}

/**
 * prism_backend_prepare:
 * @self: a backend, with its properties set
 *
 * Says that a sandbox is about to be asked for. A backend that can then begins what
 * does not depend on the specification, while the caller goes on to compose that.
 *
 * This is a hint, and never needed: it does not block or fail, whatever goes wrong
 * is told by the sandbox's creation, and nothing is promised. What was begun ends
 * with the backend at the latest.
 *
 * Since: 1.0
 */
void
prism_backend_prepare (PrismBackend *self)
{
  PrismBackendInterface *iface;
  const PrismHome *home;

  g_return_if_fail (PRISM_IS_BACKEND (self));

  iface = PRISM_BACKEND_GET_IFACE (self);
  home = prism_home_of (self);
  /* A script's is not worth a wait for its own thread. */
  if (iface->prepare != NULL && (home == NULL || home->thread == g_thread_self ()))
    iface->prepare (self);
}

static void
ask_remote (gpointer self, const char *what, GValue *value)
{
  g_value_set_boolean (value, PRISM_BACKEND_GET_IFACE (self)->is_remote (self));
}

/**
 * prism_backend_is_remote:
 * @self: a backend
 *
 * Tells whether its sandboxes run on another machine. Then a folder of this one can be
 * copied there (%PRISM_WORKSPACE_MODE_COPY), and come back by
 * [method@Sandbox.export_tree]; it cannot be there itself, and neither can mounts of
 * host paths. A specification without a workspace has an empty folder in its place.
 *
 * Returns: whether they run elsewhere
 *
 * Since: 1.0
 */
gboolean
prism_backend_is_remote (PrismBackend *self)
{
  PrismBackendInterface *iface;
  const PrismHome *home;
  g_auto (GValue) value = G_VALUE_INIT;

  g_return_val_if_fail (PRISM_IS_BACKEND (self), FALSE);

  iface = PRISM_BACKEND_GET_IFACE (self);
  home = prism_home_of (self);
  if (iface->is_remote == NULL)
    return FALSE;
  if (home == NULL || home->thread == g_thread_self ())
    return iface->is_remote (self);
  g_value_init (&value, G_TYPE_BOOLEAN);
  prism_home_ask (self, ask_remote, "is_remote", &value);
  return g_value_get_boolean (&value);
}

static char *
backend_dup_origin (gpointer self)
{
  return g_strdup (prism_backend_get_name (self));
}

/* A sandbox that came too late is not left running. */
static void
close_sandbox (gpointer sandbox)
{
  prism_sandbox_close_async (sandbox, NULL, NULL, NULL);
}

static gint64
create_deadline (PrismSandboxSpec *spec)
{
  return prism_limits_get (prism_sandbox_spec_get_limits (spec), "startup-timeout-ms") + CLEAN_UP_MS;
}

#define BACKEND_METHOD(method, flags, discard)                                                                         \
  PRISM_METHOD (prism_backend_get_type, PrismBackendInterface, method, flags, &prism_sandbox_operation_errors,         \
                backend_dup_origin, discard)

/* --- probe ---------------------------------------------------------------------- */

static const PrismMethod probe_method = BACKEND_METHOD (probe, PRISM_METHOD_NONE, NULL);

/**
 * prism_backend_probe:
 * @self: a backend
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Finds out what this backend can enforce on this machine, by doing it.
 *
 * Returns: (transfer full): what was found
 *
 * Since: 1.0
 */
PrismHealthReport *
prism_backend_probe (PrismBackend *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_BACKEND (self), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (prism_probe_operation_new (), self, &probe_method, PRISM_OPERATION_DEADLINE_MS,
                              cancellable, error);
}

/**
 * prism_backend_probe_async:
 * @self: a backend
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Backend.probe], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_backend_probe_async (PrismBackend *self,
                           GCancellable *cancellable,
                           GAsyncReadyCallback callback,
                           gpointer user_data)
{
  g_return_if_fail (PRISM_IS_BACKEND (self));

  prism_operation_start (prism_probe_operation_new (), NULL, self, &probe_method, PRISM_OPERATION_DEADLINE_MS,
                         cancellable, callback, user_data);
}

/**
 * prism_backend_probe_finish:
 * @self: a backend
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells what was found.
 *
 * Returns: (transfer full): what was found
 *
 * Since: 1.0
 */
PrismHealthReport *
prism_backend_probe_finish (PrismBackend *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &probe_method, error);
}

/* --- create_sandbox ------------------------------------------------------------- */

static const PrismMethod create_sandbox_method = BACKEND_METHOD (create_sandbox, PRISM_METHOD_NONE, close_sandbox);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_create_sandbox (PrismBackend *self, PrismSandboxSpec *spec, GError **error)
{
  if (!prism_sandbox_spec_check (spec, error))
    return NULL;
  prism_sandbox_spec_freeze (spec);
  return prism_create_operation_new (spec, NULL);
}

/**
 * prism_backend_create_sandbox:
 * @self: a backend
 * @spec: what is asked for; frozen from here on
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Makes a sandbox. What cannot be enforced is refused, all offenders in one
 * error, before any side effect; whatever fails later leaves nothing behind.
 *
 * Returns: (transfer full): a running sandbox
 *
 * Since: 1.0
 */
PrismSandbox *
prism_backend_create_sandbox (PrismBackend *self, PrismSandboxSpec *spec, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_BACKEND (self), NULL);
  g_return_val_if_fail (PRISM_IS_SANDBOX_SPEC (spec), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (new_create_sandbox (self, spec, error), self, &create_sandbox_method,
                              create_deadline (spec), cancellable, error);
}

/**
 * prism_backend_create_sandbox_async:
 * @self: a backend
 * @spec: what is asked for; frozen from here on
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Backend.create_sandbox], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_backend_create_sandbox_async (PrismBackend *self,
                                    PrismSandboxSpec *spec,
                                    GCancellable *cancellable,
                                    GAsyncReadyCallback callback,
                                    gpointer user_data)
{
  PrismOperation *operation;
  GError *error = NULL;

  g_return_if_fail (PRISM_IS_BACKEND (self));
  g_return_if_fail (PRISM_IS_SANDBOX_SPEC (spec));

  operation = new_create_sandbox (self, spec, &error);
  prism_operation_start (operation, error, self, &create_sandbox_method, create_deadline (spec), cancellable, callback,
                         user_data);
}

/**
 * prism_backend_create_sandbox_finish:
 * @self: a backend
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Gets a running sandbox.
 *
 * Returns: (transfer full): a running sandbox
 *
 * Since: 1.0
 */
PrismSandbox *
prism_backend_create_sandbox_finish (PrismBackend *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &create_sandbox_method, error);
}

/* --- connect_sandbox ------------------------------------------------------------ */

static const PrismMethod connect_sandbox_method = BACKEND_METHOD (connect_sandbox, PRISM_METHOD_NONE, NULL);

/* Checks what is asked, and makes an operation of it. */
static PrismOperation *
new_connect_sandbox (PrismBackend *self, const char *reference, GError **error)
{
  return prism_create_operation_new (NULL, reference);
}

/**
 * prism_backend_connect_sandbox:
 * @self: a backend
 * @reference: a sandbox's reference
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Connects to a sandbox that lives on its own (%PRISM_LIFETIME_DETACHED),
 * after attesting that it is the one that @reference names.
 *
 * Returns: (transfer full): the sandbox
 *
 * Since: 1.0
 */
PrismSandbox *
prism_backend_connect_sandbox (PrismBackend *self, const char *reference, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_BACKEND (self), NULL);
  g_return_val_if_fail (reference != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (new_connect_sandbox (self, reference, error), self, &connect_sandbox_method,
                              PRISM_OPERATION_DEADLINE_MS, cancellable, error);
}

/**
 * prism_backend_connect_sandbox_async:
 * @self: a backend
 * @reference: a sandbox's reference
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Backend.connect_sandbox], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_backend_connect_sandbox_async (PrismBackend *self,
                                     const char *reference,
                                     GCancellable *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer user_data)
{
  g_return_if_fail (PRISM_IS_BACKEND (self));
  g_return_if_fail (reference != NULL);

  prism_operation_start (new_connect_sandbox (self, reference, NULL), NULL, self, &connect_sandbox_method,
                         PRISM_OPERATION_DEADLINE_MS, cancellable, callback, user_data);
}

/**
 * prism_backend_connect_sandbox_finish:
 * @self: a backend
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Gets the sandbox.
 *
 * Returns: (transfer full): the sandbox
 *
 * Since: 1.0
 */
PrismSandbox *
prism_backend_connect_sandbox_finish (PrismBackend *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &connect_sandbox_method, error);
}

/* --- list_sandboxes ------------------------------------------------------------- */

static const PrismMethod list_sandboxes_method = BACKEND_METHOD (list_sandboxes, PRISM_METHOD_NONE, NULL);

/**
 * prism_backend_list_sandboxes:
 * @self: a backend
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Lists the sandboxes of this backend that are there, those of dead hosts
 * among them.
 *
 * Returns: (transfer full) (array zero-terminated=1): their references
 *
 * Since: 1.0
 */
char **
prism_backend_list_sandboxes (PrismBackend *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_BACKEND (self), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (prism_list_operation_new (), self, &list_sandboxes_method, PRISM_OPERATION_DEADLINE_MS,
                              cancellable, error);
}

/**
 * prism_backend_list_sandboxes_async:
 * @self: a backend
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Backend.list_sandboxes], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_backend_list_sandboxes_async (PrismBackend *self,
                                    GCancellable *cancellable,
                                    GAsyncReadyCallback callback,
                                    gpointer user_data)
{
  g_return_if_fail (PRISM_IS_BACKEND (self));

  prism_operation_start (prism_list_operation_new (), NULL, self, &list_sandboxes_method, PRISM_OPERATION_DEADLINE_MS,
                         cancellable, callback, user_data);
}

/**
 * prism_backend_list_sandboxes_finish:
 * @self: a backend
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Gets their references.
 *
 * Returns: (transfer full) (array zero-terminated=1): their references
 *
 * Since: 1.0
 */
char **
prism_backend_list_sandboxes_finish (PrismBackend *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &list_sandboxes_method, error);
}

/* --- reap ----------------------------------------------------------------------- */

static const PrismMethod reap_method = BACKEND_METHOD (reap, PRISM_METHOD_NONE, NULL);

/**
 * prism_backend_reap:
 * @self: a backend
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Removes what dead hosts left behind.
 *
 * Returns: how many leftovers were removed; -1 on error
 *
 * Since: 1.0
 */
gint
prism_backend_reap (PrismBackend *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_BACKEND (self), -1);
  g_return_val_if_fail (error == NULL || *error == NULL, -1);

  return prism_reap_answer (prism_operation_run (prism_reap_operation_new (), self, &reap_method,
                                                 PRISM_OPERATION_DEADLINE_MS, cancellable, error));
}

/**
 * prism_backend_reap_async:
 * @self: a backend
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@Backend.reap], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_backend_reap_async (PrismBackend *self,
                          GCancellable *cancellable,
                          GAsyncReadyCallback callback,
                          gpointer user_data)
{
  g_return_if_fail (PRISM_IS_BACKEND (self));

  prism_operation_start (prism_reap_operation_new (), NULL, self, &reap_method, PRISM_OPERATION_DEADLINE_MS,
                         cancellable, callback, user_data);
}

/**
 * prism_backend_reap_finish:
 * @self: a backend
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Tells how many leftovers were removed; -1 on error.
 *
 * Returns: how many leftovers were removed; -1 on error
 *
 * Since: 1.0
 */
gint
prism_backend_reap_finish (PrismBackend *self, GAsyncResult *result, GError **error)
{
  return prism_reap_answer (prism_operation_finish (self, result, &reap_method, error));
}
