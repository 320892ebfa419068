/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

/* Starts an egress proxy, asks it for what it has to refuse and for what it has to
 * let through, and says how it went. Nothing leaves this machine. */
PrismHealthReport *prism_cli_test_egress_proxy (PrismRegistry *registry, const char *name);

G_END_DECLS
