/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-types.h"

G_BEGIN_DECLS

/**
 * PRISM_POLICY_ERROR:
 *
 * Since: 1.0
 */
#define PRISM_POLICY_ERROR (prism_policy_error_quark ())
PRISM_AVAILABLE_IN_1_0
GQuark prism_policy_error_quark (void);

/**
 * PrismPolicyError:
 * @PRISM_POLICY_ERROR_FAILED: something else; the message says what
 * @PRISM_POLICY_ERROR_DENIED: the policy says no
 * @PRISM_POLICY_ERROR_MALFORMED: a policy file is not as it should be; the message
 *   names the member by its path
 * @PRISM_POLICY_ERROR_UNREADABLE: a policy file, or one that it names, cannot be read
 * @PRISM_POLICY_ERROR_NOT_SUPPORTED: a policy asks for what is not there
 * @PRISM_POLICY_ERROR_TIMEOUT: a policy did not answer in time
 * @PRISM_POLICY_ERROR_CANCELLED: the caller cancelled before there was a decision
 * @PRISM_POLICY_ERROR_SUSPENDED: somebody is to answer, and may take longer than this lives
 *
 * What can be wrong with a policy.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_POLICY_ERROR_FAILED,
  PRISM_POLICY_ERROR_DENIED,
  PRISM_POLICY_ERROR_MALFORMED,
  PRISM_POLICY_ERROR_UNREADABLE,
  PRISM_POLICY_ERROR_NOT_SUPPORTED,
  PRISM_POLICY_ERROR_TIMEOUT,
  PRISM_POLICY_ERROR_CANCELLED,
  PRISM_POLICY_ERROR_SUSPENDED,
} PrismPolicyError;

G_END_DECLS
