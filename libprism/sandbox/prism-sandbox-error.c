/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-sandbox-error-private.h"

#include "prism-error-private.h"

static const PrismErrorCodeName sandbox_names[] = {
  { PRISM_SANDBOX_ERROR_FAILED, "ERR_PRISM_SANDBOX_FAILED" },
  { PRISM_SANDBOX_ERROR_INVALID, "ERR_PRISM_SANDBOX_INVALID" },
  { PRISM_SANDBOX_ERROR_STATE, "ERR_PRISM_SANDBOX_STATE" },
  { PRISM_SANDBOX_ERROR_LIMIT, "ERR_PRISM_SANDBOX_LIMIT" },
  { PRISM_SANDBOX_ERROR_TIMEOUT, "ERR_PRISM_SANDBOX_TIMEOUT" },
  { PRISM_SANDBOX_ERROR_CANCELLED, "ERR_PRISM_SANDBOX_CANCELLED" },
  { PRISM_SANDBOX_ERROR_UNAVAILABLE, "ERR_PRISM_SANDBOX_UNAVAILABLE" },
  { PRISM_SANDBOX_ERROR_REFUSED, "ERR_PRISM_SANDBOX_REFUSED" },
  { PRISM_SANDBOX_ERROR_LOST, "ERR_PRISM_SANDBOX_LOST" },
  { PRISM_SANDBOX_ERROR_EXECUTION, "ERR_PRISM_SANDBOX_EXECUTION" },
  { PRISM_SANDBOX_ERROR_CLI, "ERR_PRISM_SANDBOX_CLI" },
  { PRISM_SANDBOX_ERROR_NOT_SUPPORTED, "ERR_PRISM_SANDBOX_NOT_SUPPORTED" },
  { PRISM_SANDBOX_ERROR_NOT_FOUND, "ERR_PRISM_SANDBOX_NOT_FOUND" },
  { PRISM_SANDBOX_ERROR_NOT_EXECUTABLE, "ERR_PRISM_SANDBOX_NOT_EXECUTABLE" },
  { PRISM_SANDBOX_ERROR_DENIED, "ERR_PRISM_SANDBOX_DENIED" },
  { 0, NULL },
};

static const PrismErrorCodeName tree_names[] = {
  { PRISM_ANY_CODE, "ERR_PRISM_SANDBOX_TAR" },
  { 0, NULL },
};

static const PrismErrorCodeName process_names[] = {
  { PRISM_PROCESS_ERROR_FAILED, "ERR_PRISM_PROCESS_FAILED" },
  { PRISM_PROCESS_ERROR_POLICY, "ERR_PRISM_PROCESS_POLICY" },
  { PRISM_PROCESS_ERROR_OWNERSHIP, "ERR_PRISM_PROCESS_OWNERSHIP" },
  { PRISM_PROCESS_ERROR_STATE, "ERR_PRISM_PROCESS_STATE" },
  { PRISM_PROCESS_ERROR_LIMIT, "ERR_PRISM_PROCESS_LIMIT" },
  { PRISM_PROCESS_ERROR_UNSUPPORTED, "ERR_PRISM_PROCESS_UNSUPPORTED" },
  { PRISM_PROCESS_ERROR_PTY_UNSUPPORTED, "ERR_PRISM_PROCESS_PTY_UNSUPPORTED" },
  { PRISM_PROCESS_ERROR_PTY_BACKEND, "ERR_PRISM_PROCESS_PTY_BACKEND" },
  { PRISM_PROCESS_ERROR_PTY_LIMIT, "ERR_PRISM_PROCESS_PTY_LIMIT" },
  { 0, NULL },
};

/* A domain's quark is asked for before any error of it exists, so that is when
 * its names go in. */
#define DEFINE_DOMAIN(area)                                                                                            \
  GQuark prism_##area##_error_quark (void)                                                                             \
  {                                                                                                                    \
    static gsize quark = 0;                                                                                            \
    if (g_once_init_enter (&quark))                                                                                    \
      {                                                                                                                \
        GQuark fresh = g_quark_from_static_string ("prism-" #area "-error-quark");                                     \
        prism_error_add_domain (fresh, area##_names);                                                                  \
        g_once_init_leave (&quark, fresh);                                                                             \
      }                                                                                                                \
    return (GQuark)quark;                                                                                              \
  }

/**
 * prism_sandbox_error_quark:
 *
 * The domain of [error@SandboxError].
 *
 * Returns: a quark
 *
 * Since: 1.0
 */
/**
 * prism_process_error_quark:
 *
 * The domain of [error@ProcessError].
 *
 * Returns: a quark
 *
 * Since: 1.0
 */
/**
 * prism_tree_error_quark:
 *
 * The domain of [error@TreeError].
 *
 * Returns: a quark
 *
 * Since: 1.0
 */
DEFINE_DOMAIN (sandbox)
DEFINE_DOMAIN (tree)
DEFINE_DOMAIN (process)

const PrismOperationErrors prism_sandbox_operation_errors = {
  prism_sandbox_error_quark,     PRISM_SANDBOX_ERROR_FAILED,        PRISM_SANDBOX_ERROR_TIMEOUT,
  PRISM_SANDBOX_ERROR_CANCELLED, PRISM_SANDBOX_ERROR_NOT_SUPPORTED,
};
