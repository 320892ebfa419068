/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-suspension.h"

G_BEGIN_DECLS

/**
 * PrismVerdict:
 * @PRISM_VERDICT_ALLOW: it may happen
 * @PRISM_VERDICT_DENY: it may not
 * @PRISM_VERDICT_ASK: only if somebody who is asked says yes. A check's decision is
 *   never that: it is what [method@ApprovalPolicy.evaluate] says before it asks
 *
 * What a policy says to an action.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_VERDICT_ALLOW,
  PRISM_VERDICT_DENY,
  PRISM_VERDICT_ASK,
} PrismVerdict;

/* Properties: verdict, allowed, reason-id (a stable word), reason (a sentence), rule
 * (which rule decided), remedy (what would allow it), exclusive (nothing else of the turn
 * runs beside it), cached (a remembered answer), modified (do this in its place),
 * suspension (what waits for an answer, or was answered). */
#define PRISM_TYPE_DECISION (prism_decision_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismDecision, prism_decision, PRISM, DECISION, GObject)

PRISM_AVAILABLE_IN_1_0
PrismDecision *prism_decision_new_allow     (void);
PRISM_AVAILABLE_IN_1_0
PrismDecision *prism_decision_new_deny      (const char    *reason_id,
                                             const char    *reason);
PRISM_AVAILABLE_IN_1_0
PrismVerdict   prism_decision_get_verdict   (PrismDecision *self);
PRISM_AVAILABLE_IN_1_0
gboolean       prism_decision_get_allowed   (PrismDecision *self);
PRISM_AVAILABLE_IN_1_0
const char    *prism_decision_get_reason_id (PrismDecision *self);
PRISM_AVAILABLE_IN_1_0
const char    *prism_decision_get_reason    (PrismDecision *self);
PRISM_AVAILABLE_IN_1_0
const char    *prism_decision_get_rule      (PrismDecision *self);
PRISM_AVAILABLE_IN_1_0
const char    *prism_decision_get_remedy    (PrismDecision *self);
PRISM_AVAILABLE_IN_1_0
gboolean       prism_decision_get_exclusive (PrismDecision *self);
PRISM_AVAILABLE_IN_1_0
gboolean       prism_decision_get_cached    (PrismDecision *self);
PRISM_AVAILABLE_IN_1_0
PrismAction   *prism_decision_get_modified  (PrismDecision *self);
PRISM_AVAILABLE_IN_1_0
PrismSuspension *prism_decision_get_suspension (PrismDecision *self);
PRISM_AVAILABLE_IN_1_0
gboolean       prism_decision_enforce       (PrismDecision *self,
                                             GError       **error);

G_END_DECLS
