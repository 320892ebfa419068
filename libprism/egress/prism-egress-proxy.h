/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-attestation.h"
#include "prism-audit-record.h"
#include "prism-egress-listener.h"
#include "prism-egress-stats.h"
#include "prism-operation.h"

G_BEGIN_DECLS

/* start, stop, add_listener, remove_listener, set_policy: which getters mean
 * something is said at each method. */
#define PRISM_TYPE_EGRESS_OPERATION (prism_egress_operation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismEgressOperation, prism_egress_operation, PRISM, EGRESS_OPERATION, PrismOperation)

PRISM_AVAILABLE_IN_1_0
PrismEgressListener *prism_egress_operation_get_listener (PrismEgressOperation *self);
PRISM_AVAILABLE_IN_1_0
PrismEgressPolicy *prism_egress_operation_get_policy (PrismEgressOperation *self);
PRISM_AVAILABLE_IN_1_0
void prism_egress_operation_complete (PrismEgressOperation *self);

#define PRISM_TYPE_EGRESS_PROXY (prism_egress_proxy_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_INTERFACE (PrismEgressProxy, prism_egress_proxy, PRISM, EGRESS_PROXY, GObject)

/**
 * PrismEgressProxyInterface:
 * @get_name: its name, which starts the messages of all its errors
 * @start: makes it ready; binds its own listener, if it has one, and calls
 *   prism_egress_listener_opened()
 * @stop: closes every listener and connection; started again or not, it leaves
 *   nothing behind. Not begun is success
 * @add_listener: the operation's listener, which was checked: binds it or adopts
 *   its socket, calls prism_egress_listener_opened(), and holds no reference that
 *   would keep it alive
 * @remove_listener: the operation's listener: no byte goes through it after the
 *   answer; calls prism_egress_listener_closed()
 * @set_policy: the operation's listener and policy: calls
 *   prism_egress_listener_apply_policy() and cuts what it no longer allows
 * @dup_stats: (nullable): the numbers of one listener, or of all of them together
 * @sign_attestation: (nullable): signs what the library says of the listener; without it
 *   attestations are not signed
 *
 * What an implementation gives. Property to override: listener, its own, which
 * start opens; %NULL if it has none. Options are the type's own GObject properties.
 *
 * Since: 1.0
 */
struct _PrismEgressProxyInterface
{
  GTypeInterface parent_iface;

  const char *(*get_name) (PrismEgressProxy *self);
  void (*start) (PrismEgressProxy *self, PrismEgressOperation *operation);
  void (*stop) (PrismEgressProxy *self, PrismEgressOperation *operation);
  void (*add_listener) (PrismEgressProxy *self, PrismEgressOperation *operation);
  void (*remove_listener) (PrismEgressProxy *self, PrismEgressOperation *operation);
  void (*set_policy) (PrismEgressProxy *self, PrismEgressOperation *operation);
  PrismEgressStats *(*dup_stats) (PrismEgressProxy *self, PrismEgressListener *listener);
  PrismAttestation *(*sign_attestation) (PrismEgressProxy *self, PrismAttestation *attestation, GError **error);

  /*< private >*/
  gpointer padding[8];
};

/* The process's own, which ends with its last listener. */
PRISM_AVAILABLE_IN_1_0
PrismEgressProxy *prism_egress_proxy_dup_default (GError **error);
PRISM_AVAILABLE_IN_1_0
const char *prism_egress_proxy_get_name (PrismEgressProxy *self);
PRISM_AVAILABLE_IN_1_0
PrismEgressListener *prism_egress_proxy_dup_listener (PrismEgressProxy *self);
/* Of its own listener. */
PRISM_AVAILABLE_IN_1_0
char *prism_egress_proxy_dup_endpoint (PrismEgressProxy *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_egress_proxy_get_policy_version (PrismEgressProxy *self);
/* Of one listener; NULL: of its own, or of all. */
PRISM_AVAILABLE_IN_1_0
PrismAttestation *prism_egress_proxy_attest (PrismEgressProxy *self, PrismEgressListener *listener, GError **error);
PRISM_AVAILABLE_IN_1_0
PrismEgressStats *prism_egress_proxy_dup_stats (PrismEgressProxy *self, PrismEgressListener *listener);
/* For the implementation; any thread. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_proxy_audit (PrismEgressProxy *self, const PrismAuditRecord *record);

PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_proxy_start (PrismEgressProxy *self, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_egress_proxy_start_async (PrismEgressProxy *self,
                                     GCancellable *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_proxy_start_finish (PrismEgressProxy *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_proxy_stop (PrismEgressProxy *self, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_egress_proxy_stop_async (PrismEgressProxy *self,
                                    GCancellable *cancellable,
                                    GAsyncReadyCallback callback,
                                    gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_proxy_stop_finish (PrismEgressProxy *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_proxy_add_listener (PrismEgressProxy *self,
                                          PrismEgressListener *listener,
                                          GCancellable *cancellable,
                                          GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_egress_proxy_add_listener_async (PrismEgressProxy *self,
                                            PrismEgressListener *listener,
                                            GCancellable *cancellable,
                                            GAsyncReadyCallback callback,
                                            gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_proxy_add_listener_finish (PrismEgressProxy *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_proxy_remove_listener (PrismEgressProxy *self,
                                             PrismEgressListener *listener,
                                             GCancellable *cancellable,
                                             GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_egress_proxy_remove_listener_async (PrismEgressProxy *self,
                                               PrismEgressListener *listener,
                                               GCancellable *cancellable,
                                               GAsyncReadyCallback callback,
                                               gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_proxy_remove_listener_finish (PrismEgressProxy *self, GAsyncResult *result, GError **error);

/* Of one listener; NULL: of its own. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_proxy_set_policy (PrismEgressProxy *self,
                                        PrismEgressListener *listener,
                                        PrismEgressPolicy *policy,
                                        GCancellable *cancellable,
                                        GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_egress_proxy_set_policy_async (PrismEgressProxy *self,
                                          PrismEgressListener *listener,
                                          PrismEgressPolicy *policy,
                                          GCancellable *cancellable,
                                          GAsyncReadyCallback callback,
                                          gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_proxy_set_policy_finish (PrismEgressProxy *self, GAsyncResult *result, GError **error);

G_END_DECLS
