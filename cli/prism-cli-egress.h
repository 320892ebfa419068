/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-cli-options.h"

G_BEGIN_DECLS

/* What the options and the policy file together let be reached. */
gboolean prism_cli_egress_apply (const PrismCliOptions *options, PrismSandboxSpec *spec, GError **error);

/* TEXT is HOST=HEADER:ENVNAME. */
PrismCredential *prism_cli_egress_credential (const char *text, GError **error);

G_END_DECLS
