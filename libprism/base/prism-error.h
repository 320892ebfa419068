/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-enums.h"

G_BEGIN_DECLS

/**
 * PRISM_LIMIT_ERROR:
 *
 * Since: 1.0
 */
#define PRISM_LIMIT_ERROR (prism_limit_error_quark ())
PRISM_AVAILABLE_IN_1_0
GQuark prism_limit_error_quark (void);

/**
 * PrismLimitError:
 * @PRISM_LIMIT_ERROR_RANGE: a limit is out of its range; the message names each one and its bounds
 * @PRISM_LIMIT_ERROR_UNKNOWN: there is no limit of that name
 * @PRISM_LIMIT_ERROR_FROZEN: the limits are in use by a sandbox and cannot change any more
 *
 * What can be wrong with a limit.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_LIMIT_ERROR_RANGE,
  PRISM_LIMIT_ERROR_UNKNOWN,
  PRISM_LIMIT_ERROR_FROZEN,
} PrismLimitError;

/* Any code of the domain, for those who register names and explanations. */
/**
 * PRISM_ANY_CODE:
 *
 * Stands for every code of a domain.
 *
 * Since: 1.0
 */
#define PRISM_ANY_CODE (-1)

PRISM_AVAILABLE_IN_1_0
const char *prism_error_get_code_name (const GError *error);
PRISM_AVAILABLE_IN_1_0
void        prism_error_add_code_name (GQuark        domain,
                                       int           code,
                                       const char   *origin,
                                       const char   *name);
PRISM_AVAILABLE_IN_1_0
void        prism_explain_add         (GQuark        domain,
                                       int           code,
                                       const char   *origin,
                                       const char   *id,
                                       const char   *text,
                                       const char   *hint);

G_END_DECLS
