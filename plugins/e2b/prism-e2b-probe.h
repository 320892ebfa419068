/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What doctor says of the service: whether there is a key, whether the service answers and
 * takes it, whether the clocks agree, and whether the template is known. Nothing is made for
 * it, and so nothing costs. */
#pragma once

#include "prism-e2b-client.h"

G_BEGIN_DECLS

/* Blocking. */
void prism_e2b_probe (PrismE2bClient *client,
                      const PrismE2bOptions *options,
                      PrismOperation *operation,
                      PrismHealthReport *report);
/* Instead, where there can be no client. */
void prism_e2b_probe_without (const GError *error, PrismHealthReport *report);

G_END_DECLS
