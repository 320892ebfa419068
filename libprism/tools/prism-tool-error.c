/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-tool-error-private.h"

#include "prism-error-private.h"

static const PrismErrorCodeName names[] = {
  { PRISM_TOOL_ERROR_FAILED, "ERR_PRISM_TOOL_FAILED" },
  { PRISM_TOOL_ERROR_INVALID, "ERR_PRISM_TOOL_INVALID" },
  { PRISM_TOOL_ERROR_NOT_FOUND, "ERR_PRISM_TOOL_NOT_FOUND" },
  { PRISM_TOOL_ERROR_ESCAPE, "ERR_PRISM_TOOL_ESCAPE" },
  { PRISM_TOOL_ERROR_DENIED, "ERR_PRISM_EXECUTION_DENIED" },
  { PRISM_TOOL_ERROR_CONFLICT, "ERR_PRISM_TOOL_CONFLICT" },
  { PRISM_TOOL_ERROR_TYPE, "ERR_PRISM_TOOL_TYPE" },
  { PRISM_TOOL_ERROR_LIMIT, "ERR_PRISM_TOOL_LIMIT" },
  { PRISM_TOOL_ERROR_TIMEOUT, "ERR_PRISM_TOOL_TIMEOUT" },
  { PRISM_TOOL_ERROR_CANCELLED, "ERR_PRISM_TOOL_CANCELLED" },
  { PRISM_TOOL_ERROR_NOT_SUPPORTED, "ERR_PRISM_TOOL_NOT_SUPPORTED" },
  { PRISM_TOOL_ERROR_COMPOSITION, "ERR_PRISM_SANDBOX_CODING_COMPOSITION" },
  { PRISM_TOOL_ERROR_SUSPENDED, "ERR_PRISM_TOOL_SUSPENDED" },
  { PRISM_TOOL_ERROR_UNKNOWN, "ERR_PRISM_TOOL_UNKNOWN" },
  { 0, NULL },
};

/**
 * prism_tool_error_quark:
 *
 * The domain of [error@ToolError].
 *
 * Returns: a quark
 *
 * Since: 1.0
 */
GQuark
prism_tool_error_quark (void)
{
  static gsize quark = 0;

  if (g_once_init_enter (&quark))
    {
      GQuark fresh = g_quark_from_static_string ("prism-tool-error-quark");

      prism_error_add_domain (fresh, names);
      g_once_init_leave (&quark, fresh);
    }
  return (GQuark)quark;
}

const PrismOperationErrors prism_tool_operation_errors = {
  prism_tool_error_quark,     PRISM_TOOL_ERROR_FAILED,        PRISM_TOOL_ERROR_TIMEOUT,
  PRISM_TOOL_ERROR_CANCELLED, PRISM_TOOL_ERROR_NOT_SUPPORTED,
};

const char *
prism_tool_error_nick (PrismToolError code)
{
  static const char *const nicks[] = {
    [PRISM_TOOL_ERROR_FAILED] = "failed",
    [PRISM_TOOL_ERROR_INVALID] = "invalid",
    [PRISM_TOOL_ERROR_NOT_FOUND] = "not-found",
    [PRISM_TOOL_ERROR_ESCAPE] = "escape",
    [PRISM_TOOL_ERROR_DENIED] = "denied",
    [PRISM_TOOL_ERROR_CONFLICT] = "conflict",
    [PRISM_TOOL_ERROR_TYPE] = "type",
    [PRISM_TOOL_ERROR_LIMIT] = "limit",
    [PRISM_TOOL_ERROR_TIMEOUT] = "timeout",
    [PRISM_TOOL_ERROR_CANCELLED] = "cancelled",
    [PRISM_TOOL_ERROR_NOT_SUPPORTED] = "not-supported",
    [PRISM_TOOL_ERROR_COMPOSITION] = "composition",
    [PRISM_TOOL_ERROR_SUSPENDED] = "suspended",
    [PRISM_TOOL_ERROR_UNKNOWN] = "unknown",
  };

  return (guint)code < G_N_ELEMENTS (nicks) ? nicks[code] : "failed";
}
