/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A way out, in the words that the service has for it: lists of names and addresses that
 * are allowed, all else denied. No I/O.
 *
 * What those lists cannot say is refused, all of it at once, and never widened: the service
 * knows no ports (a name is let through on 80 and 443, an address on all of them), no
 * private addresses, no IPv6, and reads names of nothing but HTTP and TLS. */
#pragma once

#include <libprism/prism.h>

#include "prism-e2b-json.h"

G_BEGIN_DECLS

typedef struct
{
  GPtrArray *allow;   /* char *: addresses, names and *.names */
  gboolean open;      /* everything public */
  gboolean has_names; /* so that the service lets 8.8.8.8 through for their DNS */
} PrismE2bNetwork;

void prism_e2b_network_clear (PrismE2bNetwork *self);

/* @policy: (nullable): no way out. REFUSED names every rule that cannot be said. */
gboolean prism_e2b_network_init (PrismE2bNetwork *self, PrismEgressPolicy *policy, GError **error);

/* The members of a create request: `network` and `allow_internet_access`. */
void prism_e2b_network_add_to_create (const PrismE2bNetwork *self, JsonObject *request);
/* The body of the request that changes it: everything, since what is left out is cleared. */
GBytes *prism_e2b_network_to_update (const PrismE2bNetwork *self);

/* Whether the service's own description of a sandbox says the same; else @why. */
gboolean prism_e2b_network_matches (const PrismE2bNetwork *self, JsonNode *detail, const char **why);

PrismControls prism_e2b_network_get_controls (const PrismE2bNetwork *self);
char *prism_e2b_network_dup_evidence (const PrismE2bNetwork *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismE2bNetwork, prism_e2b_network_clear)

G_END_DECLS
