/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-enums.h"

G_BEGIN_DECLS

#define PRISM_TYPE_HEALTH_CHECK (prism_health_check_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismHealthCheck, prism_health_check, PRISM, HEALTH_CHECK, GObject)

PRISM_AVAILABLE_IN_1_0
PrismHealthCheck  *prism_health_check_new          (const char        *id,
                                                    PrismHealthStatus  status,
                                                    const char        *summary,
                                                    const char        *remedy,
                                                    PrismControls      controls);
PRISM_AVAILABLE_IN_1_0
const char        *prism_health_check_get_id       (PrismHealthCheck  *self);
PRISM_AVAILABLE_IN_1_0
PrismHealthStatus  prism_health_check_get_status   (PrismHealthCheck  *self);
PRISM_AVAILABLE_IN_1_0
const char        *prism_health_check_get_summary  (PrismHealthCheck  *self);
PRISM_AVAILABLE_IN_1_0
const char        *prism_health_check_get_remedy   (PrismHealthCheck  *self);
PRISM_AVAILABLE_IN_1_0
PrismControls      prism_health_check_get_controls (PrismHealthCheck  *self);

/* A report is a GListModel of its checks. */
#define PRISM_TYPE_HEALTH_REPORT (prism_health_report_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismHealthReport, prism_health_report, PRISM, HEALTH_REPORT, GObject)

PRISM_AVAILABLE_IN_1_0
PrismHealthReport *prism_health_report_new          (const char        *backend_name);
PRISM_AVAILABLE_IN_1_0
void               prism_health_report_add          (PrismHealthReport *self,
                                                     PrismHealthCheck  *check);
PRISM_AVAILABLE_IN_1_0
PrismHealthStatus  prism_health_report_get_status   (PrismHealthReport *self);
PRISM_AVAILABLE_IN_1_0
PrismControls      prism_health_report_get_enforced (PrismHealthReport *self);

G_END_DECLS
