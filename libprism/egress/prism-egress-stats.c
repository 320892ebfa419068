/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-egress-stats.h"

struct _PrismEgressStats
{
  gint64 active_connections;
  gint64 total_connections;
  gint64 bytes_sent;
  gint64 bytes_received;
  gint64 denied;
};

/**
 * PrismEgressStats:
 *
 * What went through a listener of an egress proxy, or through all of them, at
 * one moment.
 *
 * Since: 1.0
 */
G_DEFINE_BOXED_TYPE (PrismEgressStats, prism_egress_stats, prism_egress_stats_copy, prism_egress_stats_free)

/**
 * prism_egress_stats_new:
 * @active_connections: connections that are open
 * @total_connections: connections since the start
 * @bytes_sent: bytes that went out
 * @bytes_received: bytes that came back
 * @denied: requests that were refused
 *
 * Makes the numbers.
 *
 * Returns: (transfer full): the numbers
 *
 * Since: 1.0
 */
PrismEgressStats *
prism_egress_stats_new (
    gint64 active_connections, gint64 total_connections, gint64 bytes_sent, gint64 bytes_received, gint64 denied)
{
  PrismEgressStats *self = g_new (PrismEgressStats, 1);

  *self = (PrismEgressStats){ active_connections, total_connections, bytes_sent, bytes_received, denied };
  return self;
}

/**
 * prism_egress_stats_copy:
 * @self: numbers
 *
 * Gets a copy.
 *
 * Returns: (transfer full): a copy
 *
 * Since: 1.0
 */
PrismEgressStats *
prism_egress_stats_copy (const PrismEgressStats *self)
{
  PrismEgressStats *copy;

  g_return_val_if_fail (self != NULL, NULL);

  copy = g_new (PrismEgressStats, 1);
  *copy = *self;
  return copy;
}

/**
 * prism_egress_stats_free:
 * @self: (transfer full): numbers
 *
 * Frees them.
 *
 * Since: 1.0
 */
void
prism_egress_stats_free (PrismEgressStats *self)
{
  g_return_if_fail (self != NULL);

  g_free (self);
}

/**
 * prism_egress_stats_get_active_connections:
 * @self: numbers
 *
 * Gets connections that are open.
 *
 * Returns: connections that are open
 *
 * Since: 1.0
 */
gint64
prism_egress_stats_get_active_connections (const PrismEgressStats *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->active_connections;
}

/**
 * prism_egress_stats_get_total_connections:
 * @self: numbers
 *
 * Gets connections since the start.
 *
 * Returns: connections since the start
 *
 * Since: 1.0
 */
gint64
prism_egress_stats_get_total_connections (const PrismEgressStats *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->total_connections;
}

/**
 * prism_egress_stats_get_bytes_sent:
 * @self: numbers
 *
 * Gets bytes that went out.
 *
 * Returns: bytes that went out
 *
 * Since: 1.0
 */
gint64
prism_egress_stats_get_bytes_sent (const PrismEgressStats *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->bytes_sent;
}

/**
 * prism_egress_stats_get_bytes_received:
 * @self: numbers
 *
 * Gets bytes that came back.
 *
 * Returns: bytes that came back
 *
 * Since: 1.0
 */
gint64
prism_egress_stats_get_bytes_received (const PrismEgressStats *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->bytes_received;
}

/**
 * prism_egress_stats_get_total_bytes:
 * @self: numbers
 *
 * Gets bytes both ways.
 *
 * Returns: bytes both ways
 *
 * Since: 1.0
 */
gint64
prism_egress_stats_get_total_bytes (const PrismEgressStats *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->bytes_sent + self->bytes_received;
}

/**
 * prism_egress_stats_get_denied:
 * @self: numbers
 *
 * Gets requests that were refused.
 *
 * Returns: requests that were refused
 *
 * Since: 1.0
 */
gint64
prism_egress_stats_get_denied (const PrismEgressStats *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->denied;
}
