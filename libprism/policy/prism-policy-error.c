/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-policy-error.h"

#include "prism-error-private.h"

static const PrismErrorCodeName names[] = {
  { PRISM_POLICY_ERROR_FAILED, "ERR_PRISM_POLICY" },
  { PRISM_POLICY_ERROR_DENIED, "ERR_PRISM_EXECUTION_DENIED" },
  { PRISM_POLICY_ERROR_MALFORMED, "ERR_PRISM_POLICY_MALFORMED" },
  { PRISM_POLICY_ERROR_UNREADABLE, "ERR_PRISM_POLICY_UNREADABLE" },
  { PRISM_POLICY_ERROR_NOT_SUPPORTED, "ERR_PRISM_POLICY_NOT_SUPPORTED" },
  { PRISM_POLICY_ERROR_TIMEOUT, "ERR_PRISM_POLICY_TIMEOUT" },
  { PRISM_POLICY_ERROR_CANCELLED, "ERR_PRISM_POLICY_CANCELLED" },
  { PRISM_POLICY_ERROR_SUSPENDED, "ERR_PRISM_POLICY_SUSPENDED" },
  { 0, NULL },
};

/* Asked for before any error of the domain exists: that is when its names go in. */
/**
 * prism_policy_error_quark:
 *
 * The domain of [error@PolicyError].
 *
 * Returns: a quark
 *
 * Since: 1.0
 */
GQuark
prism_policy_error_quark (void)
{
  static gsize quark = 0;

  if (g_once_init_enter (&quark))
    {
      GQuark fresh = g_quark_from_static_string ("prism-policy-error-quark");

      prism_error_add_domain (fresh, names);
      g_once_init_leave (&quark, fresh);
    }
  return (GQuark)quark;
}
