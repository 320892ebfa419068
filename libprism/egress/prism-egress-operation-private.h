/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-egress-proxy.h"
#include "prism-operation-private.h"

G_BEGIN_DECLS

PrismOperation *prism_egress_operation_new (PrismEgressListener *listener, PrismEgressPolicy *policy);

G_END_DECLS
