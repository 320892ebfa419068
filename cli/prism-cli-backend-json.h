/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-cli-json.h"

#include <libprism/prism.h>

G_BEGIN_DECLS

void prism_cli_json_backends (PrismJson *json, const char *key, PrismRegistry *registry, const char *const *names);
void prism_cli_json_egress_proxies (PrismJson *json,
                                    const char *key,
                                    PrismRegistry *registry,
                                    const char *const *names);

G_END_DECLS
