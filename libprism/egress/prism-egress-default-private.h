/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The process's one proxy. It is held weakly: listeners hold it, and it ends with
 * the last of them. */
#pragma once

#include "prism-egress-proxy.h"

G_BEGIN_DECLS

/* Makes a proxy that listens nowhere by itself. Starts nothing. */
typedef PrismEgressProxy *(*PrismEgressFactory) (GError **error);

/* For the folder that knows the plug-ins. */
void prism_egress_default_set_factory (PrismEgressFactory factory);

/* The one there is, or a new one; its caller starts it, which is done already if
 * it was. NOT_SUPPORTED where nothing can make one. */
PrismEgressProxy *prism_egress_default_dup_proxy (GError **error);

G_END_DECLS
