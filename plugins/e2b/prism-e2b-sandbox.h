/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-e2b-client.h"

G_BEGIN_DECLS

#define PRISM_TYPE_E2B_SANDBOX (prism_e2b_sandbox_get_type ())
G_DECLARE_FINAL_TYPE (PrismE2bSandbox, prism_e2b_sandbox, PRISM, E2B_SANDBOX, GObject)

/* Blocking, both. A create whose answer was lost is looked for by its label, and what is
 * found is destroyed and told of. */
PrismSandbox *prism_e2b_sandbox_create (PrismE2bClient *client,
                                        const PrismE2bOptions *options,
                                        PrismCreateOperation *operation,
                                        GError **error);
/* A running or a paused one, which stays as it is. */
PrismSandbox *prism_e2b_sandbox_connect (PrismE2bClient *client,
                                         const PrismE2bOptions *options,
                                         const char *reference,
                                         GCancellable *cancellable,
                                         GError **error);
/* References of all that carry this library's label. */
char **prism_e2b_sandboxes_list (PrismE2bClient *client, GCancellable *cancellable, GError **error);

G_END_DECLS
