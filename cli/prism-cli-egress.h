/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-cli-json.h"
#include "prism-cli-options.h"

G_BEGIN_DECLS

/* What the options and the policy file together let be reached. */
gboolean prism_cli_egress_apply (const PrismCliOptions *options, PrismSandboxSpec *spec, GError **error);

/* TEXT is HOST=HEADER:ENVNAME. */
PrismCredential *prism_cli_egress_credential (const char *text, GError **error);

/* Its rules as [{rule, origin}], presets expanded. */
void prism_cli_egress_json_rules (PrismJson *json, const char *key, PrismEgressPolicy *policy);

G_END_DECLS
