/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-egress-resolver.h"
#include "prism-egress-rule.h"

G_BEGIN_DECLS

/**
 * PrismEgressPolicyKind:
 * @PRISM_EGRESS_POLICY_KIND_DENY_ALL: nothing may be reached
 * @PRISM_EGRESS_POLICY_KIND_ALLOW_ALL: everything public may be reached; restricts nothing
 * @PRISM_EGRESS_POLICY_KIND_STATIC: what the rules say may be reached
 * @PRISM_EGRESS_POLICY_KIND_RESOLVER: what a [iface@EgressResolver] says at the time
 *
 * Who decides what may be reached.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_EGRESS_POLICY_KIND_DENY_ALL,
  PRISM_EGRESS_POLICY_KIND_ALLOW_ALL,
  PRISM_EGRESS_POLICY_KIND_STATIC,
  PRISM_EGRESS_POLICY_KIND_RESOLVER,
} PrismEgressPolicyKind;

#define PRISM_TYPE_EGRESS_POLICY (prism_egress_policy_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismEgressPolicy, prism_egress_policy, PRISM, EGRESS_POLICY, GObject)

PRISM_AVAILABLE_IN_1_0
PrismEgressPolicy *prism_egress_policy_new_deny_all (void);
PRISM_AVAILABLE_IN_1_0
PrismEgressPolicy *prism_egress_policy_new_allow_all (void);
PRISM_AVAILABLE_IN_1_0
PrismEgressPolicy *prism_egress_policy_new_static (const char *const *rules, GError **error);
PRISM_AVAILABLE_IN_1_0
PrismEgressPolicy *prism_egress_policy_new_for_rules (PrismEgressRule *const *rules,
                                                      gsize n_rules,
                                                      const char *const *presets,
                                                      GError **error);

PRISM_AVAILABLE_IN_1_0
PrismEgressPolicy *prism_egress_policy_new_resolver (PrismEgressResolver *resolver);

PRISM_AVAILABLE_IN_1_0
PrismEgressPolicyKind prism_egress_policy_get_kind (PrismEgressPolicy *self);
PRISM_AVAILABLE_IN_1_0
GPtrArray *prism_egress_policy_get_rules (PrismEgressPolicy *self);
PRISM_AVAILABLE_IN_1_0
const char *const *prism_egress_policy_get_presets (PrismEgressPolicy *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_egress_policy_get_fingerprint (PrismEgressPolicy *self);
PRISM_AVAILABLE_IN_1_0
PrismEgressRule *
prism_egress_policy_match (PrismEgressPolicy *self, const char *host, guint port, PrismEgressScheme scheme);

PRISM_AVAILABLE_IN_1_0
PrismEgressResolver *prism_egress_policy_get_resolver (PrismEgressPolicy *self);

/* For a resolver's policy: the static one of now. Any other is its own answer. */
PRISM_AVAILABLE_IN_1_0
PrismEgressPolicy *prism_egress_policy_resolve (PrismEgressPolicy *self, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_egress_policy_resolve_async (PrismEgressPolicy *self,
                                        GCancellable *cancellable,
                                        GAsyncReadyCallback callback,
                                        gpointer user_data);
PRISM_AVAILABLE_IN_1_0
PrismEgressPolicy *prism_egress_policy_resolve_finish (PrismEgressPolicy *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
char **prism_egress_policy_list_presets (void);
PRISM_AVAILABLE_IN_1_0
GPtrArray *prism_egress_policy_load_preset (const char *name, GError **error);

G_END_DECLS
