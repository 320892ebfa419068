/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-action.h"
#include "prism-decision.h"

G_BEGIN_DECLS

/**
 * PrismApprovalAnswer:
 * @PRISM_APPROVAL_ANSWER_DENY: no
 * @PRISM_APPROVAL_ANSWER_ALLOW: yes
 * @PRISM_APPROVAL_ANSWER_ALLOW_ALWAYS: yes, and the same action needs no further answer
 *   for as long as the run lasts (with a cache of scope session, the session)
 *
 * What somebody says who was asked.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_APPROVAL_ANSWER_DENY,
  PRISM_APPROVAL_ANSWER_ALLOW,
  PRISM_APPROVAL_ANSWER_ALLOW_ALWAYS,
} PrismApprovalAnswer;

/* Properties, read-only: action, rule, reason-id, reason, can-remember, pending. Answered
 * once, from any thread; what is dropped without an answer is denied. */
#define PRISM_TYPE_APPROVAL_REQUEST (prism_approval_request_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismApprovalRequest, prism_approval_request, PRISM, APPROVAL_REQUEST, GObject)

PRISM_AVAILABLE_IN_1_0
PrismAction   *prism_approval_request_get_action       (PrismApprovalRequest *self);
PRISM_AVAILABLE_IN_1_0
const char    *prism_approval_request_get_rule         (PrismApprovalRequest *self);
PRISM_AVAILABLE_IN_1_0
const char    *prism_approval_request_get_reason_id    (PrismApprovalRequest *self);
PRISM_AVAILABLE_IN_1_0
const char    *prism_approval_request_get_reason       (PrismApprovalRequest *self);
PRISM_AVAILABLE_IN_1_0
gboolean       prism_approval_request_get_can_remember (PrismApprovalRequest *self);
PRISM_AVAILABLE_IN_1_0
gboolean       prism_approval_request_get_pending      (PrismApprovalRequest *self);
PRISM_AVAILABLE_IN_1_0
char          *prism_approval_request_dup_text         (PrismApprovalRequest *self);
PRISM_AVAILABLE_IN_1_0
gboolean       prism_approval_request_respond          (PrismApprovalRequest *self,
                                                        PrismApprovalAnswer   answer);
PRISM_AVAILABLE_IN_1_0
gboolean       prism_approval_request_refuse           (PrismApprovalRequest *self,
                                                        const char           *reason);

G_END_DECLS
