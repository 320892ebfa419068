/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-egress-proxy.h"

G_BEGIN_DECLS

/* @listener, or the proxy's own; an error with @code if there is neither. */
PrismEgressListener *
prism_egress_proxy_choose_listener (PrismEgressProxy *self, PrismEgressListener *listener, int code, GError **error);

/* remove_listener, without anybody who waits for it, from wherever. */
void prism_egress_proxy_end_listener (PrismEgressProxy *self, PrismEgressListener *listener);

G_END_DECLS
