/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-egress-policy.h"
#include "prism-rule-index-private.h"

G_BEGIN_DECLS

struct _PrismEgressPolicy
{
  GObject parent_instance;

  PrismEgressPolicyKind kind;
  GPtrArray *rules; /* PrismEgressRule */
  char **presets;
  char *fingerprint;
  PrismRuleIndex *index;
};

G_END_DECLS
