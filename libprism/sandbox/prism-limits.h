/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-enums.h"

G_BEGIN_DECLS

#define PRISM_TYPE_LIMITS (prism_limits_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismLimits, prism_limits, PRISM, LIMITS, GObject)

PRISM_AVAILABLE_IN_1_0
PrismLimits        *prism_limits_new         (PrismLimitsProfile   profile);
/* The same values, not in use by anything. */
PRISM_AVAILABLE_IN_1_0
PrismLimits        *prism_limits_copy        (PrismLimits         *self);
PRISM_AVAILABLE_IN_1_0
PrismLimitsProfile  prism_limits_get_profile (PrismLimits         *self);
PRISM_AVAILABLE_IN_1_0
gboolean            prism_limits_set         (PrismLimits         *self,
                                              const char          *name,
                                              gint64               value,
                                              GError             **error);
/* "512M", "60s", "250ms": K, M and G are binary; a plain number is in the limit's own unit. */
PRISM_AVAILABLE_IN_1_0
gboolean            prism_limits_set_string  (PrismLimits         *self,
                                              const char          *name,
                                              const char          *value,
                                              GError             **error);
PRISM_AVAILABLE_IN_1_0
gint64              prism_limits_get         (PrismLimits         *self,
                                              const char          *name);
/* Whether the caller set it: what was set and cannot be enforced is refused, what is a default is reported. */
PRISM_AVAILABLE_IN_1_0
gboolean            prism_limits_is_set      (PrismLimits         *self,
                                              const char          *name);
PRISM_AVAILABLE_IN_1_0
char              **prism_limits_list_names  (PrismLimits         *self);
PRISM_AVAILABLE_IN_1_0
gboolean            prism_limits_check       (PrismLimits         *self,
                                              GError             **error);

G_END_DECLS
