/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-egress-rule.h"
#include "prism-host-pattern-private.h"

G_BEGIN_DECLS

struct _PrismEgressRule
{
  gatomicrefcount refs;
  PrismEgressScheme scheme;
  guint16 port; /* 0 = any */
  gboolean any; /* every host: the one rule of allow-all */
  PrismEgressRuleFlags flags;
  PrismHostPattern pattern;
  char *host; /* as it is written: with the dot of a domain; "*" for any */
  char *line;
  char *origin;
};

/* The rule behind allow-all: `*|*|*|0`. */
PrismEgressRule *prism_egress_rule_new_any (void);

/* http, https or `*`. */
const char *prism_egress_scheme_to_text (PrismEgressScheme scheme);

/* Sets PRISM_EGRESS_ERROR_POLICY: "TEXT: why", with @text cut and made printable. */
void prism_egress_set_malformed (GError **error, const char *what, const char *text, gsize length, const char *why);

G_END_DECLS
