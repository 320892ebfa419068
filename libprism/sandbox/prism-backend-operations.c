/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations of a backend: what is asked, and how it is answered. */
#include "prism-call-private.h"
#include "prism-operations-private.h"

#include "prism-sandbox.h"

void
prism_operation_answer_object (gpointer self, gpointer object)
{
  prism_operation_answer (PRISM_OPERATION (self), g_object_ref (object), g_object_unref);
}

void
prism_operation_answer_done (gpointer self)
{
  prism_operation_answer (PRISM_OPERATION (self), GINT_TO_POINTER (TRUE), NULL);
}

/* --- probe ---------------------------------------------------------------------- */

struct _PrismProbeOperation
{
  PrismOperation parent_instance;
};

/**
 * PrismProbeOperation:
 *
 * Asks a backend what it can do on this machine.
 *
 * Since: 1.0
 */
PRISM_DEFINE_OPERATION (PrismProbeOperation, prism_probe_operation)

static void
prism_probe_operation_clear (PrismProbeOperation *self)
{
}

PrismOperation *
prism_probe_operation_new (void)
{
  return g_object_new (PRISM_TYPE_PROBE_OPERATION, NULL);
}

/**
 * prism_probe_operation_complete:
 * @self: an operation that was not answered
 * @report: what was found
 *
 * Answers with what was found.
 *
 * Since: 1.0
 */
void
prism_probe_operation_complete (PrismProbeOperation *self, PrismHealthReport *report)
{
  g_return_if_fail (PRISM_IS_PROBE_OPERATION (self));
  g_return_if_fail (PRISM_IS_HEALTH_REPORT (report));

  prism_operation_answer_object (self, report);
}

/* --- create, connect ------------------------------------------------------------- */

struct _PrismCreateOperation
{
  PrismOperation parent_instance;
  PrismSandboxSpec *spec;
  char *reference;
};

/**
 * PrismCreateOperation:
 *
 * Asks a backend for a sandbox: a new one, or one that exists.
 *
 * Since: 1.0
 */
PRISM_DEFINE_OPERATION (PrismCreateOperation, prism_create_operation)

static void
prism_create_operation_clear (PrismCreateOperation *self)
{
  g_clear_object (&self->spec);
  g_free (self->reference);
}

PrismOperation *
prism_create_operation_new (PrismSandboxSpec *spec, const char *reference)
{
  PrismCreateOperation *self = g_object_new (PRISM_TYPE_CREATE_OPERATION, NULL);

  g_set_object (&self->spec, spec);
  self->reference = g_strdup (reference);
  return PRISM_OPERATION (self);
}

/**
 * prism_create_operation_get_spec:
 * @self: an operation
 *
 * Gets `create_sandbox`: what is asked for; it was checked and is frozen.
 *
 * Returns: (transfer none) (nullable): `create_sandbox`: what is asked for; it
 *   was checked and is frozen
 *
 * Since: 1.0
 */
PrismSandboxSpec *
prism_create_operation_get_spec (PrismCreateOperation *self)
{
  g_return_val_if_fail (PRISM_IS_CREATE_OPERATION (self), NULL);
  return self->spec;
}

/**
 * prism_create_operation_get_reference:
 * @self: an operation
 *
 * Gets `connect_sandbox`: which one.
 *
 * Returns: (transfer none) (nullable): `connect_sandbox`: which one
 *
 * Since: 1.0
 */
const char *
prism_create_operation_get_reference (PrismCreateOperation *self)
{
  g_return_val_if_fail (PRISM_IS_CREATE_OPERATION (self), NULL);
  return self->reference;
}

/**
 * prism_create_operation_progress:
 * @self: an operation
 * @entries: entries that are done
 * @bytes: bytes that are done
 * @total_bytes: bytes in all; 0 = not known
 *
 * `create_sandbox`, of a backend that copies the workspace to another machine: emits
 * [signal@Backend::workspace-progress] in the caller's context, and starts the
 * operation's deadline anew: what moves is not late. May be called from any thread; a
 * few times a second are enough.
 *
 * Since: 1.0
 */
void
prism_create_operation_progress (PrismCreateOperation *self, guint64 entries, guint64 bytes, guint64 total_bytes)
{
  g_return_if_fail (PRISM_IS_CREATE_OPERATION (self));

  prism_operation_emit_progress (PRISM_OPERATION (self), prism_backend_emit_workspace_progress,
                                 prism_operation_get_call (PRISM_OPERATION (self))->self, entries, bytes, total_bytes);
}

static gboolean
has_what_is_required (PrismCreateOperation *self, PrismSandbox *sandbox, GError **error)
{
  PrismControls required = self->spec != NULL ? prism_sandbox_spec_get_require (self->spec) : PRISM_CONTROLS_NONE;
  g_autoptr (PrismCapabilities) real = NULL;

  if (required == PRISM_CONTROLS_NONE)
    return TRUE;
  real = prism_sandbox_dup_capabilities (sandbox);
  return prism_capabilities_check_required (real, required, error);
}

/**
 * prism_create_operation_complete:
 * @self: an operation that was not answered
 * @sandbox: a running sandbox. If nobody waits for it any more, it is closed.
 *
 * A sandbox that says itself that it lacks what the spec requires is closed, and
 * the caller is told so: a backend need not look, and may not overlook it.
 *
 * Since: 1.0
 */
void
prism_create_operation_complete (PrismCreateOperation *self, PrismSandbox *sandbox)
{
  g_autoptr (GError) error = NULL;

  g_return_if_fail (PRISM_IS_CREATE_OPERATION (self));
  g_return_if_fail (PRISM_IS_SANDBOX (sandbox));

  if (has_what_is_required (self, sandbox, &error))
    {
      prism_operation_answer_object (self, sandbox);
      return;
    }
  prism_operation_fail (PRISM_OPERATION (self), error);
  prism_sandbox_close_async (sandbox, NULL, NULL, NULL);
}

/* --- list, reap --------------------------------------------------------------------- */

struct _PrismListOperation
{
  PrismOperation parent_instance;
};

/**
 * PrismListOperation:
 *
 * Asks a backend which sandboxes there are.
 *
 * Since: 1.0
 */
PRISM_DEFINE_OPERATION (PrismListOperation, prism_list_operation)

static void
prism_list_operation_clear (PrismListOperation *self)
{
}

PrismOperation *
prism_list_operation_new (void)
{
  return g_object_new (PRISM_TYPE_LIST_OPERATION, NULL);
}

/**
 * prism_list_operation_complete:
 * @self: an operation that was not answered
 * @references: (array zero-terminated=1): references, as
 *   [method@Backend.connect_sandbox] takes them
 *
 * Answers with what there is.
 *
 * Since: 1.0
 */
void
prism_list_operation_complete (PrismListOperation *self, const char *const *references)
{
  g_return_if_fail (PRISM_IS_LIST_OPERATION (self));
  g_return_if_fail (references != NULL);

  prism_operation_answer (PRISM_OPERATION (self), g_strdupv ((char **)references), (GDestroyNotify)g_strfreev);
}

struct _PrismReapOperation
{
  PrismOperation parent_instance;
};

/**
 * PrismReapOperation:
 *
 * Asks a backend to remove what dead hosts left behind.
 *
 * Since: 1.0
 */
PRISM_DEFINE_OPERATION (PrismReapOperation, prism_reap_operation)

static void
prism_reap_operation_clear (PrismReapOperation *self)
{
}

PrismOperation *
prism_reap_operation_new (void)
{
  return g_object_new (PRISM_TYPE_REAP_OPERATION, NULL);
}

gint
prism_reap_answer (gpointer value)
{
  return value != NULL ? (gint)(GPOINTER_TO_UINT (value) - 1) : -1;
}

/**
 * prism_reap_operation_complete:
 * @self: an operation that was not answered
 * @removed: how many leftovers were removed
 *
 * Answers with how much was removed.
 *
 * Since: 1.0
 */
void
prism_reap_operation_complete (PrismReapOperation *self, guint removed)
{
  g_return_if_fail (PRISM_IS_REAP_OPERATION (self));
  g_return_if_fail (removed < G_MAXINT);

  prism_operation_answer (PRISM_OPERATION (self), GUINT_TO_POINTER (removed + 1), NULL);
}
