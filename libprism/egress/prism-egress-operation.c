/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-egress-operation-private.h"

struct _PrismEgressOperation
{
  PrismOperation parent_instance;

  PrismEgressListener *listener;
  PrismEgressPolicy *policy;
};

/**
 * PrismEgressOperation:
 *
 * Asks an egress proxy to start, to stop, to listen, to end a listener, or to
 * decide by another policy.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismEgressOperation, prism_egress_operation, PRISM_TYPE_OPERATION)

static void
prism_egress_operation_finalize (GObject *object)
{
  PrismEgressOperation *self = PRISM_EGRESS_OPERATION (object);

  g_clear_object (&self->listener);
  g_clear_object (&self->policy);
  G_OBJECT_CLASS (prism_egress_operation_parent_class)->finalize (object);
}

static void
prism_egress_operation_class_init (PrismEgressOperationClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = prism_egress_operation_finalize;
}

static void
prism_egress_operation_init (PrismEgressOperation *self)
{
}

PrismOperation *
prism_egress_operation_new (PrismEgressListener *listener, PrismEgressPolicy *policy)
{
  PrismEgressOperation *self = g_object_new (PRISM_TYPE_EGRESS_OPERATION, NULL);

  g_set_object (&self->listener, listener);
  g_set_object (&self->policy, policy);
  return PRISM_OPERATION (self);
}

/**
 * prism_egress_operation_get_listener:
 * @self: an operation
 *
 * Gets `add_listener`, `remove_listener`, `set_policy`: which one.
 *
 * Returns: (transfer none) (nullable): `add_listener`, `remove_listener`,
 *   `set_policy`: which one
 *
 * Since: 1.0
 */
PrismEgressListener *
prism_egress_operation_get_listener (PrismEgressOperation *self)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_OPERATION (self), NULL);

  return self->listener;
}

/**
 * prism_egress_operation_get_policy:
 * @self: an operation
 *
 * Gets `set_policy`: the policy to decide by.
 *
 * Returns: (transfer none) (nullable): `set_policy`: the policy to decide by
 *
 * Since: 1.0
 */
PrismEgressPolicy *
prism_egress_operation_get_policy (PrismEgressOperation *self)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_OPERATION (self), NULL);

  return self->policy;
}

/**
 * prism_egress_operation_complete:
 * @self: an operation that was not answered
 *
 * Answers that it is done.
 *
 * Since: 1.0
 */
void
prism_egress_operation_complete (PrismEgressOperation *self)
{
  g_return_if_fail (PRISM_IS_EGRESS_OPERATION (self));

  /* The listener itself: so that one which came too late can be ended. */
  if (self->listener != NULL)
    prism_operation_answer (PRISM_OPERATION (self), g_object_ref (self->listener), g_object_unref);
  else
    prism_operation_answer (PRISM_OPERATION (self), GINT_TO_POINTER (TRUE), NULL);
}
