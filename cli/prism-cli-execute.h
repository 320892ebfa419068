/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-cli-options.h"

G_BEGIN_DECLS

int prism_cli_execute (PrismCliOptions *options);
int prism_cli_fail (const PrismCliOptions *options, const GError *error);

G_END_DECLS
