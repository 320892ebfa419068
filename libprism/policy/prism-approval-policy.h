/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-approval-request.h"
#include "prism-command-rule.h"
#include "prism-policy.h"
#include "prism-suspensions.h"

G_BEGIN_DECLS

/**
 * PrismApprovalCache:
 * @PRISM_APPROVAL_CACHE_NONE: nothing but what somebody said to allow always
 * @PRISM_APPROVAL_CACHE_RUN: every answer, for the action's run
 * @PRISM_APPROVAL_CACHE_SESSION: every answer, for the action's session
 *
 * Which answers are remembered. An action without the identity that is asked for is not.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_APPROVAL_CACHE_NONE,
  PRISM_APPROVAL_CACHE_RUN,
  PRISM_APPROVAL_CACHE_SESSION,
} PrismApprovalCache;

/* Properties: roots (GStrv), read-only, deny-metacharacters (default TRUE), approval-cache,
 * approval-timeout-ms (default 30000; 0 = no deadline).
 * Signal: approval-requested (PrismApprovalRequest). */
#define PRISM_TYPE_APPROVAL_POLICY (prism_approval_policy_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismApprovalPolicy, prism_approval_policy, PRISM, APPROVAL_POLICY, GObject)

PRISM_AVAILABLE_IN_1_0
PrismApprovalPolicy *prism_approval_policy_new                 (const char * const  *roots);
PRISM_AVAILABLE_IN_1_0
const char * const  *prism_approval_policy_get_roots           (PrismApprovalPolicy *self);
PRISM_AVAILABLE_IN_1_0
gboolean             prism_approval_policy_get_read_only       (PrismApprovalPolicy *self);
PRISM_AVAILABLE_IN_1_0
gboolean             prism_approval_policy_get_deny_metacharacters (PrismApprovalPolicy *self);
PRISM_AVAILABLE_IN_1_0
PrismApprovalCache   prism_approval_policy_get_approval_cache  (PrismApprovalPolicy *self);
PRISM_AVAILABLE_IN_1_0
gint64               prism_approval_policy_get_approval_timeout_ms (PrismApprovalPolicy *self);
PRISM_AVAILABLE_IN_1_0
void                 prism_approval_policy_add_rule            (PrismApprovalPolicy *self,
                                                                PrismCommandRule    *rule);
PRISM_AVAILABLE_IN_1_0
GPtrArray           *prism_approval_policy_get_rules           (PrismApprovalPolicy *self);
PRISM_AVAILABLE_IN_1_0
PrismDecision       *prism_approval_policy_evaluate            (PrismApprovalPolicy *self,
                                                                PrismAction         *action);
PRISM_AVAILABLE_IN_1_0
void                 prism_approval_policy_set_suspensions     (PrismApprovalPolicy *self,
                                                                PrismSuspensions    *suspensions);
PRISM_AVAILABLE_IN_1_0
PrismSuspensions    *prism_approval_policy_get_suspensions     (PrismApprovalPolicy *self);
PRISM_AVAILABLE_IN_1_0
void                 prism_approval_policy_forget              (PrismApprovalPolicy *self);

G_END_DECLS
