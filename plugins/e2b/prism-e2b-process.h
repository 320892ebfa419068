/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command that nobody waits for, with its streams as pipes of this process: what the
 * service sends is written into them, and read no faster than they are. */
#pragma once

#include "prism-e2b-sandbox-private.h"

G_BEGIN_DECLS

#define PRISM_TYPE_E2B_PROCESS (prism_e2b_process_get_type ())
G_DECLARE_FINAL_TYPE (PrismE2bProcess, prism_e2b_process, PRISM, E2B_PROCESS, GObject)

/* Answers @operation once it runs: @spec is what begins it. */
void prism_e2b_process_begin (PrismE2bSandbox *sandbox,
                              const PrismE2bRunSpec *spec,
                              const char *fingerprint,
                              PrismProcessOperation *operation);

G_END_DECLS
