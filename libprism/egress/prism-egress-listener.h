/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-audit-log.h"
#include "prism-credential.h"
#include "prism-egress-policy.h"
#include "prism-enums.h"

G_BEGIN_DECLS

/* A way into the proxy, with its own policy, credentials, label, limits and
 * counters. Properties: address or socket, label, audit, profile, one for each limit,
 * check-server-name; they are fixed once the listener was added to a proxy. */
#define PRISM_TYPE_EGRESS_LISTENER (prism_egress_listener_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismEgressListener, prism_egress_listener, PRISM, EGRESS_LISTENER, GObject)

PRISM_AVAILABLE_IN_1_0
PrismEgressListener *prism_egress_listener_new_for_address (GSocketAddress *address, PrismEgressPolicy *policy);
PRISM_AVAILABLE_IN_1_0
PrismEgressListener *prism_egress_listener_new_for_socket (GSocket *socket, PrismEgressPolicy *policy);
PRISM_AVAILABLE_IN_1_0
void prism_egress_listener_add_credential (PrismEgressListener *self, PrismCredential *credential);
PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_listener_check (PrismEgressListener *self, GError **error);

PRISM_AVAILABLE_IN_1_0
GSocketAddress *prism_egress_listener_get_address (PrismEgressListener *self);
PRISM_AVAILABLE_IN_1_0
GSocket *prism_egress_listener_get_socket (PrismEgressListener *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_egress_listener_get_label (PrismEgressListener *self);
PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_listener_get_check_server_name (PrismEgressListener *self);
PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_listener_get_deny_direct_egress (PrismEgressListener *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_egress_listener_get_limit (PrismEgressListener *self, const char *name);
/* The proxy keeps a reference of its own for records that are made while the listener goes. */
PRISM_AVAILABLE_IN_1_0
PrismAuditLog *prism_egress_listener_get_audit (PrismEgressListener *self);
PRISM_AVAILABLE_IN_1_0
GListModel *prism_egress_listener_get_credentials (PrismEgressListener *self);

/* State; any thread. */
PRISM_AVAILABLE_IN_1_0
char *prism_egress_listener_dup_endpoint (PrismEgressListener *self);
PRISM_AVAILABLE_IN_1_0
GDateTime *prism_egress_listener_get_started_at (PrismEgressListener *self);
PRISM_AVAILABLE_IN_1_0
PrismEgressPolicy *prism_egress_listener_dup_policy (PrismEgressListener *self, gint64 *version);

/* For the proxy that it was added to, and nobody else; any thread. */
PRISM_AVAILABLE_IN_1_0
void prism_egress_listener_opened (PrismEgressListener *self, const char *endpoint);
PRISM_AVAILABLE_IN_1_0
gint64 prism_egress_listener_apply_policy (PrismEgressListener *self, PrismEgressPolicy *policy);
PRISM_AVAILABLE_IN_1_0
void prism_egress_listener_closed (PrismEgressListener *self);

G_END_DECLS
