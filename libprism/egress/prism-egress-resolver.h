/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-egress-error.h"
#include "prism-operation.h"

G_BEGIN_DECLS

/* resolve: the rules of now, as rule strings. */
#define PRISM_TYPE_RESOLVE_OPERATION (prism_resolve_operation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismResolveOperation, prism_resolve_operation, PRISM, RESOLVE_OPERATION, PrismOperation)

PRISM_AVAILABLE_IN_1_0
void prism_resolve_operation_complete (PrismResolveOperation *self, const char *const *rules);

#define PRISM_TYPE_EGRESS_RESOLVER (prism_egress_resolver_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_INTERFACE (PrismEgressResolver, prism_egress_resolver, PRISM, EGRESS_RESOLVER, GObject)

/* What an implementation gives: today's rules. It has five seconds; what fails,
 * is late or is malformed denies. */
struct _PrismEgressResolverInterface
{
  GTypeInterface parent_iface;

  void (*resolve) (PrismEgressResolver *self, PrismResolveOperation *operation);

  /*< private >*/
  gpointer padding[8];
};

PRISM_AVAILABLE_IN_1_0
PrismEgressPolicy *prism_egress_resolver_resolve (PrismEgressResolver *self, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_egress_resolver_resolve_async (PrismEgressResolver *self,
                                          GCancellable *cancellable,
                                          GAsyncReadyCallback callback,
                                          gpointer user_data);
PRISM_AVAILABLE_IN_1_0
PrismEgressPolicy *
prism_egress_resolver_resolve_finish (PrismEgressResolver *self, GAsyncResult *result, GError **error);

G_END_DECLS
