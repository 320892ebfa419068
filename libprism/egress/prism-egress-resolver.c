/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A resolver is the embedding program's own code. It may fail, hang or answer
 * nonsense; each of these is an error, and an error denies. */
#include "prism-egress-resolver.h"

#include "prism-egress-error-private.h"
#include "prism-egress-policy.h"
#include "prism-home-private.h"

#define DEADLINE_MS 5000

/**
 * PrismEgressResolver:
 *
 * Says what may be reached at the time it is asked: for a policy that lives in a
 * database, in a service, or in a person's answer.
 *
 * Since: 1.0
 */
G_DEFINE_INTERFACE (PrismEgressResolver, prism_egress_resolver, G_TYPE_OBJECT)

static void
prism_egress_resolver_default_init (PrismEgressResolverInterface *iface)
{
  prism_home_watch_interface (PRISM_TYPE_EGRESS_RESOLVER, sizeof (PrismEgressResolverInterface));
}

/* --- the operation ----------------------------------------------------------- */

struct _PrismResolveOperation
{
  PrismOperation parent_instance;
};

/**
 * PrismResolveOperation:
 *
 * Asks a resolver for the rules of now.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismResolveOperation, prism_resolve_operation, PRISM_TYPE_OPERATION)

static void
prism_resolve_operation_class_init (PrismResolveOperationClass *klass)
{
}

static void
prism_resolve_operation_init (PrismResolveOperation *self)
{
}

/**
 * prism_resolve_operation_complete:
 * @self: an operation that was not answered
 * @rules: (array zero-terminated=1): rules as [func@EgressRule.parse] reads them;
 *   none denies everything
 *
 * Answers. One malformed rule makes the whole answer an error.
 *
 * Since: 1.0
 */
void
prism_resolve_operation_complete (PrismResolveOperation *self, const char *const *rules)
{
  g_autoptr (GError) error = NULL;
  PrismEgressPolicy *policy;

  g_return_if_fail (PRISM_IS_RESOLVE_OPERATION (self));
  g_return_if_fail (rules != NULL);

  policy = prism_egress_policy_new_static (rules, &error);
  if (policy != NULL)
    prism_operation_answer (PRISM_OPERATION (self), policy, g_object_unref);
  else
    prism_operation_fail (PRISM_OPERATION (self), error);
}

/* --- resolve ------------------------------------------------------------------- */

static const PrismMethod resolve_method = {
  .name = "resolve",
  .iface = prism_egress_resolver_get_type,
  .vfunc = G_STRUCT_OFFSET (PrismEgressResolverInterface, resolve),
  .flags = PRISM_METHOD_CANCEL_ENDS_WAIT,
  .errors = &prism_egress_operation_errors,
};

static PrismOperation *
new_operation (void)
{
  return g_object_new (PRISM_TYPE_RESOLVE_OPERATION, NULL);
}

/**
 * prism_egress_resolver_resolve:
 * @self: a resolver
 * @cancellable: (nullable): a cancellable
 * @error: return location for an error
 *
 * Asks for the rules of now, and waits no longer than five seconds.
 *
 * Returns: (transfer full): a static policy; %NULL on any failure, which denies
 *
 * Since: 1.0
 */
PrismEgressPolicy *
prism_egress_resolver_resolve (PrismEgressResolver *self, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_RESOLVER (self), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return prism_operation_run (new_operation (), self, &resolve_method, DEADLINE_MS, cancellable, error);
}

/**
 * prism_egress_resolver_resolve_async:
 * @self: a resolver
 * @cancellable: (nullable): a cancellable
 * @callback: (scope async): called in the context that is current now
 * @user_data: for @callback
 *
 * As [method@EgressResolver.resolve], without waiting for it.
 *
 * Since: 1.0
 */
void
prism_egress_resolver_resolve_async (PrismEgressResolver *self,
                                     GCancellable *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer user_data)
{
  g_return_if_fail (PRISM_IS_EGRESS_RESOLVER (self));

  prism_operation_start (new_operation (), NULL, self, &resolve_method, DEADLINE_MS, cancellable, callback, user_data);
}

/**
 * prism_egress_resolver_resolve_finish:
 * @self: a resolver
 * @result: what the callback was given
 * @error: return location for an error
 *
 * Gets a static policy; %NULL on any failure, which denies.
 *
 * Returns: (transfer full): a static policy; %NULL on any failure, which denies
 *
 * Since: 1.0
 */
PrismEgressPolicy *
prism_egress_resolver_resolve_finish (PrismEgressResolver *self, GAsyncResult *result, GError **error)
{
  return prism_operation_finish (self, result, &resolve_method, error);
}
