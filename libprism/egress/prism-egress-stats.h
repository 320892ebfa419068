/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-types.h"

G_BEGIN_DECLS

#define PRISM_TYPE_EGRESS_STATS (prism_egress_stats_get_type ())
PRISM_AVAILABLE_IN_1_0
GType prism_egress_stats_get_type (void) G_GNUC_CONST;

PRISM_AVAILABLE_IN_1_0
PrismEgressStats *prism_egress_stats_new (
    gint64 active_connections, gint64 total_connections, gint64 bytes_sent, gint64 bytes_received, gint64 denied);
PRISM_AVAILABLE_IN_1_0
PrismEgressStats *prism_egress_stats_copy (const PrismEgressStats *self);
PRISM_AVAILABLE_IN_1_0
void prism_egress_stats_free (PrismEgressStats *self);

PRISM_AVAILABLE_IN_1_0
gint64 prism_egress_stats_get_active_connections (const PrismEgressStats *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_egress_stats_get_total_connections (const PrismEgressStats *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_egress_stats_get_bytes_sent (const PrismEgressStats *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_egress_stats_get_bytes_received (const PrismEgressStats *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_egress_stats_get_total_bytes (const PrismEgressStats *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_egress_stats_get_denied (const PrismEgressStats *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismEgressStats, prism_egress_stats_free)

G_END_DECLS
