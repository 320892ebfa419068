/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-egress-flight-private.h"
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
  PrismEgressResolver *resolver; /* kind resolver only, and then what it said */
  PrismEgressAnswers answers;
};

G_END_DECLS
