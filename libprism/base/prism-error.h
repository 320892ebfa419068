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
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_LIMIT_ERROR_RANGE,
  PRISM_LIMIT_ERROR_UNKNOWN,
} PrismLimitError;

/**
 * prism_error_get_code_name:
 * @error: an error
 *
 * The exact `ERR_PRISM_…` name of @error. A backend's errors carry the name
 * that its plug-in registered; see prism_error_set_code_name().
 *
 * Returns: (transfer none) (nullable): the name, or %NULL for a foreign error
 *
 * Since: 1.0
 */
PRISM_AVAILABLE_IN_1_0
const char *prism_error_get_code_name (const GError *error);

G_END_DECLS
