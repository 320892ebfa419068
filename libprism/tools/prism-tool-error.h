/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-types.h"

G_BEGIN_DECLS

/**
 * PRISM_TOOL_ERROR:
 *
 * Since: 1.0
 */
#define PRISM_TOOL_ERROR (prism_tool_error_quark ())
PRISM_AVAILABLE_IN_1_0
GQuark prism_tool_error_quark (void);

/**
 * PrismToolError:
 * @PRISM_TOOL_ERROR_FAILED: something else; the message says what
 * @PRISM_TOOL_ERROR_INVALID: the arguments are not what the tool takes; the message says
 *   what to send instead
 * @PRISM_TOOL_ERROR_NOT_FOUND: what was named is not there
 * @PRISM_TOOL_ERROR_ESCAPE: a path leads out of the tree
 * @PRISM_TOOL_ERROR_DENIED: the policy says no, or a person does
 * @PRISM_TOOL_ERROR_CONFLICT: the tree is not as the call supposed: no match or more than
 *   one, something is there already, a file changed since it was read
 * @PRISM_TOOL_ERROR_TYPE: not that kind of thing: a folder where a file is wanted, or bytes
 *   that are no text
 * @PRISM_TOOL_ERROR_LIMIT: more than a limit; the message names it
 * @PRISM_TOOL_ERROR_TIMEOUT: the time was over
 * @PRISM_TOOL_ERROR_CANCELLED: cancelled
 * @PRISM_TOOL_ERROR_NOT_SUPPORTED: not here
 * @PRISM_TOOL_ERROR_COMPOSITION: the parts do not make one workspace
 * @PRISM_TOOL_ERROR_SUSPENDED: nothing was done: somebody is to answer, and the call is to be made
 *   again then
 * @PRISM_TOOL_ERROR_UNKNOWN: whether the call was done is not known: it began before, or the sandbox
 *   did not answer
 *
 * What can be wrong with a tool's call.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_TOOL_ERROR_FAILED,
  PRISM_TOOL_ERROR_INVALID,
  PRISM_TOOL_ERROR_NOT_FOUND,
  PRISM_TOOL_ERROR_ESCAPE,
  PRISM_TOOL_ERROR_DENIED,
  PRISM_TOOL_ERROR_CONFLICT,
  PRISM_TOOL_ERROR_TYPE,
  PRISM_TOOL_ERROR_LIMIT,
  PRISM_TOOL_ERROR_TIMEOUT,
  PRISM_TOOL_ERROR_CANCELLED,
  PRISM_TOOL_ERROR_NOT_SUPPORTED,
  PRISM_TOOL_ERROR_COMPOSITION,
  PRISM_TOOL_ERROR_SUSPENDED,
  PRISM_TOOL_ERROR_UNKNOWN,
} PrismToolError;

G_END_DECLS
