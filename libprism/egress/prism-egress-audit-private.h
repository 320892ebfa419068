/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a proxy's records get from its threads to whoever listens. */
#pragma once

#include "prism-egress-proxy.h"

G_BEGIN_DECLS

/* Adds the signal. */
void prism_egress_audit_install (GType iface);

/* Records arrive in the context that is current now; the first call decides. */
void prism_egress_audit_begin (PrismEgressProxy *proxy);

/* The same, in the default context, whatever is current. */
void prism_egress_audit_begin_default (PrismEgressProxy *proxy);

G_END_DECLS
