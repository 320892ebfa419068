/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-enums.h"

G_BEGIN_DECLS

/* Default and bounds per profile, attached to a GParamSpec: GObject clamps or
 * drops what is out of a pspec's own range, so numeric options accept every
 * gint64, keep what was given, and creation refuses all offenders at once. */
PRISM_AVAILABLE_IN_1_0
void     prism_param_spec_set_bounds (GParamSpec         *pspec,
                                      PrismLimitsProfile  profile,
                                      gint64              default_value,
                                      gint64              minimum,
                                      gint64              maximum);
PRISM_AVAILABLE_IN_1_0
gboolean prism_param_spec_get_bounds (GParamSpec         *pspec,
                                      PrismLimitsProfile  profile,
                                      gint64             *default_value,
                                      gint64             *minimum,
                                      gint64             *maximum);
/* The same by a property's name, for languages that cannot hand over a GParamSpec. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_object_get_bounds     (GObject            *object,
                                      const char         *property,
                                      PrismLimitsProfile  profile,
                                      gint64             *default_value,
                                      gint64             *minimum,
                                      gint64             *maximum);
/* Every bounded property of @object that is out of range, in one error. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_object_check_bounds   (GObject            *object,
                                      PrismLimitsProfile  profile,
                                      GError            **error);

G_END_DECLS
