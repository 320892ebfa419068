/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the rule for a place in a time that does not grow with their number: a
 * table of hosts and domains, which is asked once for every label of the name. */
#pragma once

#include "prism-egress-rule-private.h"

G_BEGIN_DECLS

typedef struct _PrismRuleIndex PrismRuleIndex;

/* Borrows the rules, which outlive it. */
PrismRuleIndex *prism_rule_index_new (PrismEgressRule *const *rules, guint n_rules);
void prism_rule_index_free (PrismRuleIndex *self);

/* The most specific rule: an exact host before a domain, a longer domain before
 * a shorter one, then a port before any port, then a scheme before any scheme.
 * Of two that say the same place the one with more flags. */
PrismEgressRule *
prism_rule_index_find (const PrismRuleIndex *self, const PrismHost *host, guint16 port, PrismEgressScheme scheme);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismRuleIndex, prism_rule_index_free)

G_END_DECLS
