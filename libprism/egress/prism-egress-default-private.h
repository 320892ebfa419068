/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who makes the process's own proxy, prism_egress_proxy_dup_default(). */
#pragma once

#include "prism-egress-proxy.h"

G_BEGIN_DECLS

/* Makes a proxy that listens nowhere by itself. Starts nothing. */
typedef PrismEgressProxy *(*PrismEgressFactory) (GError **error);

/* For the folder that knows the plug-ins. */
void prism_egress_default_set_factory (PrismEgressFactory factory);

G_END_DECLS
