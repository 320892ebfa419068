/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-cli-json.h"

#include <libprism/prism.h>

G_BEGIN_DECLS

void prism_cli_json_reports (PrismJson *json, const char *key, GListModel *reports);
void prism_cli_print_report (PrismHealthReport *report, const char *indent);

void prism_cli_json_proxy_reports (PrismJson *json, const char *key, GListModel *reports);
void prism_cli_print_proxy_report (PrismHealthReport *report, const char *indent);

G_END_DECLS
