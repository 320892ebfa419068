/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-types.h"

G_BEGIN_DECLS

/**
 * PRISM_TYPE_OPERATION:
 *
 * Since: 1.0
 */
#define PRISM_TYPE_OPERATION (prism_operation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_DERIVABLE_TYPE (PrismOperation, prism_operation, PRISM, OPERATION, GObject)

/* Sealed: only the kinds that this library defines derive from it. */
struct _PrismOperationClass
{
  GObjectClass parent_class;

  /*< private >*/
  gpointer padding[8];
};

/**
 * PrismOperationFunc: (skip)
 * @self: whose method was called
 * @operation: what is to be answered
 *
 * Does an operation's work, and may block while it does.
 *
 * Since: 1.0
 */
typedef void (*PrismOperationFunc) (gpointer        self,
                                    PrismOperation *operation);

PRISM_AVAILABLE_IN_1_0
GCancellable *prism_operation_get_cancellable  (PrismOperation *self);
PRISM_AVAILABLE_IN_1_0
gint64        prism_operation_get_deadline     (PrismOperation *self);
PRISM_AVAILABLE_IN_1_0
gboolean      prism_operation_get_completed    (PrismOperation *self);
PRISM_AVAILABLE_IN_1_0
gboolean      prism_operation_get_may_block    (PrismOperation *self);
PRISM_AVAILABLE_IN_1_0
void          prism_operation_fail             (PrismOperation *self,
                                                const GError   *error);
PRISM_AVAILABLE_IN_1_0
void          prism_operation_fail_literal     (PrismOperation *self,
                                                GQuark          domain,
                                                int             code,
                                                const char     *message);
PRISM_AVAILABLE_IN_1_0
void          prism_operation_run_in_thread    (PrismOperation     *self,
                                                PrismOperationFunc  func);

G_END_DECLS
