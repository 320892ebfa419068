/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-limit-private.h"

G_BEGIN_DECLS

#define PRISM_N_EGRESS_LIMITS 8

/* What one listener of the proxy may use, by profile; 0 = counted and not cut.
 * Ends with a NULL name. */
extern const PrismLimitRow prism_egress_limits[];

G_END_DECLS
