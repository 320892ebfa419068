/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-egress-error.h"

G_BEGIN_DECLS

/**
 * PrismEgressScheme:
 * @PRISM_EGRESS_SCHEME_ANY: whatever is spoken
 * @PRISM_EGRESS_SCHEME_HTTP: plain HTTP, which the proxy forwards
 * @PRISM_EGRESS_SCHEME_HTTPS: a CONNECT tunnel, or a request that the proxy upgrades to TLS
 *
 * Which way of asking a rule is for.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_EGRESS_SCHEME_ANY,
  PRISM_EGRESS_SCHEME_HTTP,
  PRISM_EGRESS_SCHEME_HTTPS,
} PrismEgressScheme;

/**
 * PrismEgressRuleFlags:
 * @PRISM_EGRESS_RULE_FLAGS_NONE: nothing special
 * @PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE: the host may have an address that is not public
 * @PRISM_EGRESS_RULE_FLAGS_UPGRADE: plain HTTP to the proxy goes out as HTTPS
 *
 * What else a rule of the way out allows.
 *
 * Since: 1.0
 */
typedef enum /*< flags >*/
{
  PRISM_EGRESS_RULE_FLAGS_NONE = 0,
  PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE = 1 << 0,
  PRISM_EGRESS_RULE_FLAGS_UPGRADE = 1 << 1,
} PrismEgressRuleFlags;

#define PRISM_TYPE_EGRESS_RULE (prism_egress_rule_get_type ())
PRISM_AVAILABLE_IN_1_0
GType prism_egress_rule_get_type (void) G_GNUC_CONST;

PRISM_AVAILABLE_IN_1_0
PrismEgressRule *prism_egress_rule_new (
    const char *host, guint port, PrismEgressScheme scheme, PrismEgressRuleFlags flags, GError **error);
PRISM_AVAILABLE_IN_1_0
GPtrArray *prism_egress_rule_parse (const char *text, PrismEgressRuleFlags flags, GError **error);
PRISM_AVAILABLE_IN_1_0
PrismEgressRule *prism_egress_rule_with_origin (const PrismEgressRule *self, const char *origin);
PRISM_AVAILABLE_IN_1_0
PrismEgressRule *prism_egress_rule_ref (PrismEgressRule *self);
PRISM_AVAILABLE_IN_1_0
void prism_egress_rule_unref (PrismEgressRule *self);

PRISM_AVAILABLE_IN_1_0
const char *prism_egress_rule_get_host (const PrismEgressRule *self);
PRISM_AVAILABLE_IN_1_0
guint prism_egress_rule_get_port (const PrismEgressRule *self);
PRISM_AVAILABLE_IN_1_0
PrismEgressScheme prism_egress_rule_get_scheme (const PrismEgressRule *self);
PRISM_AVAILABLE_IN_1_0
PrismEgressRuleFlags prism_egress_rule_get_flags (const PrismEgressRule *self);
PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_rule_get_allow_private (const PrismEgressRule *self);
PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_rule_get_upgrade (const PrismEgressRule *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_egress_rule_get_origin (const PrismEgressRule *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_egress_rule_get_line (const PrismEgressRule *self);
PRISM_AVAILABLE_IN_1_0
gboolean
prism_egress_rule_matches (const PrismEgressRule *self, const char *host, guint port, PrismEgressScheme scheme);
PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_rule_allows_address (const PrismEgressRule *self, GInetAddress *address);

PRISM_AVAILABLE_IN_1_0
char *prism_egress_normalize_host (const char *host, GError **error);
PRISM_AVAILABLE_IN_1_0
gboolean prism_egress_split_authority (const char *authority, char **host, guint *port, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismEgressRule, prism_egress_rule_unref)

G_END_DECLS
