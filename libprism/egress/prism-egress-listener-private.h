/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-egress-listener.h"

G_BEGIN_DECLS

/* It belongs to @proxy from here on: what it is made of is fixed. FALSE if it was
 * added before. Holds the proxy until prism_egress_listener_let_go(). */
gboolean prism_egress_listener_take (PrismEgressListener *self, PrismEgressProxy *proxy, GError **error);

/* The same for a proxy's own, which does not hold the proxy and may be opened again. */
void prism_egress_listener_take_own (PrismEgressListener *self);

void prism_egress_listener_let_go (PrismEgressListener *self);

/* Of the proxy it belongs to; NULL if it belongs to none. */
PrismEgressProxy *prism_egress_listener_dup_proxy (PrismEgressListener *self);

/* Whether a policy fits in the listener's limits. */
gboolean prism_egress_listener_check_policy (PrismEgressListener *self, PrismEgressPolicy *policy, GError **error);

G_END_DECLS
