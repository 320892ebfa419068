/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-registry.h"

G_BEGIN_DECLS

/* Asks several backends what they can enforce here: 5 s for each, 10 s in all. */
PRISM_AVAILABLE_IN_1_0
GListModel *prism_health_run        (PrismRegistry       *registry,
                                     const char * const  *backends,
                                     GCancellable        *cancellable,
                                     GError             **error);
PRISM_AVAILABLE_IN_1_0
void        prism_health_run_async  (PrismRegistry       *registry,
                                     const char * const  *backends,
                                     GCancellable        *cancellable,
                                     GAsyncReadyCallback  callback,
                                     gpointer             user_data);
PRISM_AVAILABLE_IN_1_0
GListModel *prism_health_run_finish (GAsyncResult        *result,
                                     GError             **error);

G_END_DECLS
