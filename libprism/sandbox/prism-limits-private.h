/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-limits.h"

G_BEGIN_DECLS

/* A sandbox uses them now. */
void prism_limits_freeze (PrismLimits *self);

G_END_DECLS
