/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stable words for why. What each means is in docs/policy-format. */
#pragma once

#include "prism-action-private.h"
#include "prism-decision.h"

G_BEGIN_DECLS

#define PRISM_REASON_NO_ROOTS               "no-roots"
#define PRISM_REASON_READ_ONLY              "read-only"
#define PRISM_REASON_PATH_OUTSIDE_ROOTS     "path-outside-roots"
#define PRISM_REASON_RULE_DENIED            "rule-denied"
#define PRISM_REASON_DEFAULT_DENY           "default-deny"
#define PRISM_REASON_LIMIT                  "limit"
#define PRISM_REASON_ENVIRONMENT            "environment"
#define PRISM_REASON_APPROVAL_REQUIRED      "approval-required"
#define PRISM_REASON_APPROVAL_DENIED        "approval-denied"
#define PRISM_REASON_APPROVAL_DENIED_CACHED "approval-denied-cached"
#define PRISM_REASON_APPROVAL_TIMED_OUT     "approval-timed-out"
#define PRISM_REASON_APPROVAL_CANCELLED     "approval-cancelled"
#define PRISM_REASON_APPROVAL_SUSPENDED     "approval-suspended"
#define PRISM_REASON_APPROVAL_USED          "approval-used"

G_END_DECLS
