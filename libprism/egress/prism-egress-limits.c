/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What one listener may use: the table, and the properties of the listener that say it. */
#include "prism-egress-listener-private.h"

#include "prism-bounds.h"

#include <string.h>

#define MIB  (G_GINT64_CONSTANT (1) << 20)
#define GIB  (G_GINT64_CONSTANT (1) << 30)
#define SAFE PRISM_SAFE_INTEGER_MAX

/* Deadlines for a head and for silence are on in either: without them a few
 * slow peers hold every connection. */
const PrismLimitRow prism_egress_limits[] = {
  { "concurrent-connections", { 256, 1, 65536 }, { 32, 1, 256 }, "Connections at once" },
  { "request-bytes", { 0, 0, SAFE }, { 64 * MIB, 1, GIB }, "Bytes out, of one request or tunnel" },
  { "response-bytes", { 0, 0, SAFE }, { 64 * MIB, 1, GIB }, "Bytes back, of one request or tunnel" },
  { "transfer-time-ms", { 0, 0, SAFE }, { 600000, 1, 3600000 }, "Time of one request or tunnel, ms" },
  { "rules-per-policy", { 65536, 1, 65536 }, { 128, 1, 1024 }, "Rules of a policy" },
  { "redirect-hops", { 5, 1, 10 }, { 5, 1, 10 }, "Requests that one request may become" },
  { "request-head-ms", { 10000, 1, 60000 }, { 10000, 1, 60000 }, "Time until a request's head is there, ms" },
  { "connection-idle-ms", { 300000, 1, 86400000 }, { 60000, 1, 600000 }, "Time without a byte either way, ms" },
  { NULL, { 0, 0, 0 }, { 0, 0, 0 }, NULL },
};

G_STATIC_ASSERT (G_N_ELEMENTS (prism_egress_limits) == PRISM_N_EGRESS_LIMITS + 1);

static GParamSpec *limits[PRISM_N_EGRESS_LIMITS];

/**
 * PrismEgressListener:concurrent-connections:
 *
 * Connections at once.
 *
 * Since: 1.0
 */

/**
 * PrismEgressListener:connection-idle-ms:
 *
 * Time without a byte either way, ms.
 *
 * Since: 1.0
 */

/**
 * PrismEgressListener:redirect-hops:
 *
 * Requests that one request may become.
 *
 * Since: 1.0
 */

/**
 * PrismEgressListener:request-bytes:
 *
 * Bytes out, of one request or tunnel.
 *
 * Since: 1.0
 */

/**
 * PrismEgressListener:request-head-ms:
 *
 * Time until a request's head is there, ms.
 *
 * Since: 1.0
 */

/**
 * PrismEgressListener:response-bytes:
 *
 * Bytes back, of one request or tunnel.
 *
 * Since: 1.0
 */

/**
 * PrismEgressListener:rules-per-policy:
 *
 * Rules of a policy.
 *
 * Since: 1.0
 */

/**
 * PrismEgressListener:transfer-time-ms:
 *
 * Time of one request or tunnel, ms.
 *
 * Since: 1.0
 */

void
prism_egress_listener_install_limits (GParamSpec **properties)
{
  for (guint i = 0; prism_egress_limits[i].name != NULL; i++)
    {
      const PrismLimitRow *row = &prism_egress_limits[i];
      GParamSpec *pspec = g_param_spec_int64 (row->name, NULL, row->blurb, G_MININT64, G_MAXINT64,
                                              row->standard.initial, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);

      prism_param_spec_set_bounds (pspec, PRISM_LIMITS_PROFILE_STANDARD, row->standard.initial, row->standard.least,
                                   row->standard.most);
      prism_param_spec_set_bounds (pspec, PRISM_LIMITS_PROFILE_STRICT, row->strict.initial, row->strict.least,
                                   row->strict.most);
      properties[i] = limits[i] = pspec;
    }
}

gint64
prism_egress_listener_nth_limit (PrismEgressListener *self, guint i)
{
  gint64 value = 0, least, most;

  if (self->limit_set[i])
    return self->limits[i];
  prism_param_spec_get_bounds (limits[i], self->profile, &value, &least, &most);
  return value;
}

/**
 * prism_egress_listener_get_limit:
 * @self: a listener
 * @name: a limit's name, such as `concurrent-connections`
 *
 * Gets its value, in the unit that the name says; -1 if there is no such limit.
 *
 * Returns: its value, in the unit that the name says; -1 if there is no such limit
 *
 * Since: 1.0
 */
gint64
prism_egress_listener_get_limit (PrismEgressListener *self, const char *name)
{
  g_return_val_if_fail (PRISM_IS_EGRESS_LISTENER (self) && name != NULL, -1);

  for (guint i = 0; prism_egress_limits[i].name != NULL; i++)
    if (g_str_equal (prism_egress_limits[i].name, name))
      return prism_egress_listener_nth_limit (self, i);
  return -1;
}
