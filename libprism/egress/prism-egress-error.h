/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-types.h"

G_BEGIN_DECLS

/**
 * PRISM_EGRESS_ERROR:
 *
 * Since: 1.0
 */
#define PRISM_EGRESS_ERROR (prism_egress_error_quark ())
PRISM_AVAILABLE_IN_1_0
GQuark prism_egress_error_quark (void);

/**
 * PrismEgressError:
 * @PRISM_EGRESS_ERROR_FAILED: something else; the message says what
 * @PRISM_EGRESS_ERROR_DENIED: no rule allows it
 * @PRISM_EGRESS_ERROR_DNS: a name could not be resolved, or not to an address that may be reached
 * @PRISM_EGRESS_ERROR_LIMIT: a limit of the proxy is used up
 * @PRISM_EGRESS_ERROR_POLICY: a host, port, rule, preset, credential or request is malformed
 * @PRISM_EGRESS_ERROR_ATTESTATION: there is no evidence, or it does not hold
 * @PRISM_EGRESS_ERROR_STATE: the proxy or listener is not in a state that allows this
 * @PRISM_EGRESS_ERROR_TIMEOUT: the operation's deadline passed
 * @PRISM_EGRESS_ERROR_CANCELLED: the caller cancelled
 * @PRISM_EGRESS_ERROR_NOT_SUPPORTED: this proxy does not have that operation
 *
 * What can go wrong on the way out.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_EGRESS_ERROR_FAILED,
  PRISM_EGRESS_ERROR_DENIED,
  PRISM_EGRESS_ERROR_DNS,
  PRISM_EGRESS_ERROR_LIMIT,
  PRISM_EGRESS_ERROR_POLICY,
  PRISM_EGRESS_ERROR_ATTESTATION,
  PRISM_EGRESS_ERROR_STATE,
  PRISM_EGRESS_ERROR_TIMEOUT,
  PRISM_EGRESS_ERROR_CANCELLED,
  PRISM_EGRESS_ERROR_NOT_SUPPORTED,
} PrismEgressError;

G_END_DECLS
