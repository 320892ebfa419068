/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-egress-error-private.h"

#include "prism-error-private.h"

static const PrismErrorCodeName names[] = {
  { PRISM_EGRESS_ERROR_FAILED, "ERR_PRISM_EGRESS_FAILED" },
  { PRISM_EGRESS_ERROR_DENIED, "ERR_PRISM_EGRESS_DENIED" },
  { PRISM_EGRESS_ERROR_DNS, "ERR_PRISM_EGRESS_DNS" },
  { PRISM_EGRESS_ERROR_LIMIT, "ERR_PRISM_EGRESS_LIMIT" },
  { PRISM_EGRESS_ERROR_POLICY, "ERR_PRISM_EGRESS_POLICY" },
  { PRISM_EGRESS_ERROR_ATTESTATION, "ERR_PRISM_EGRESS_ATTESTATION" },
  { PRISM_EGRESS_ERROR_STATE, "ERR_PRISM_EGRESS_STATE" },
  { PRISM_EGRESS_ERROR_TIMEOUT, "ERR_PRISM_EGRESS_TIMEOUT" },
  { PRISM_EGRESS_ERROR_CANCELLED, "ERR_PRISM_EGRESS_CANCELLED" },
  { PRISM_EGRESS_ERROR_NOT_SUPPORTED, "ERR_PRISM_EGRESS_NOT_SUPPORTED" },
  { 0, NULL },
};

/* Asked for before any error of the domain exists: that is when its names go in. */
/**
 * prism_egress_error_quark:
 *
 * The domain of [error@EgressError].
 *
 * Returns: a quark
 *
 * Since: 1.0
 */
GQuark
prism_egress_error_quark (void)
{
  static gsize quark = 0;

  if (g_once_init_enter (&quark))
    {
      GQuark fresh = g_quark_from_static_string ("prism-egress-error-quark");

      prism_error_add_domain (fresh, names);
      g_once_init_leave (&quark, fresh);
    }
  return (GQuark)quark;
}

const PrismOperationErrors prism_egress_operation_errors = {
  prism_egress_error_quark,     PRISM_EGRESS_ERROR_FAILED,        PRISM_EGRESS_ERROR_TIMEOUT,
  PRISM_EGRESS_ERROR_CANCELLED, PRISM_EGRESS_ERROR_NOT_SUPPORTED,
};
