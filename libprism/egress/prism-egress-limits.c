/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-egress-limits-private.h"

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
